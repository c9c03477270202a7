"""Words that the table of docs/contributing/words.md replaces, and British spellings, occur nowhere."""

import json
import re
import tokenize
from pathlib import Path

from tests.conftest import ROOT

PAGE = ROOT / "docs/contributing/words.md"
TABLE = PAGE.read_text(encoding="utf-8").split("| --- | --- |")[1]
WORDS = [re.sub("^an? ", "", row) for row in re.findall(r"^\| (.+?) \|", TABLE, re.MULTILINE)]
PATTERN = re.compile(rf"\b(?:{'|'.join(WORDS)})s?\b", re.IGNORECASE)
BRITISH = re.compile(
    "colour|behaviour|favour|flavour|honour|neighbour|licence|centre|judgement|catalogue|dialogue|artefact|spelt$|^grey"
    "|(normal|token|initial|optim|organ|recogn|serial|summar|minim|maxim|util|vector|real|general|regular|visual|quant"
    "|symmetr|emphas|standard|random|local|memor|synchron|custom|categor|penal)is(e|ing|ation)"
    "|(label|model|travel|signal)l(ed|ing)|analys(e|ed|es|ing)$"
)
ALLOWED = {"cancellederror", "licence"}
"""A class of asyncio, and a file name in foreign archives."""


def texts(path):
    """Yield (line, text) of comments and strings of Python, sources of notebook cells, and all lines of other files."""
    if path.suffix == ".py":
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                    yield token.start[0], token.string
    elif path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            yield number, "".join(cell["source"])
    else:
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)


def test_words_that_we_do_not_use_are_not_used():
    files = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "mkdocs.yml",
        ROOT / "Makefile",
        ROOT / "train.py",
    ]
    files += [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "conf").rglob("*.yaml"),
        *(ROOT / "scripts").glob("*.py"),
    ]
    files += [each for end in ("py", "js") for each in (ROOT / "src").rglob(f"*.{end}")]
    files += [each for end in ("py", "js", "md") for each in (ROOT / "packages").glob(f"*/**/*.{end}")]
    files += (ROOT / "notebooks").glob("*.ipynb")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {used[0]}"
        for path in files
        if path != PAGE
        for number, text in texts(path)
        if (used := PATTERN.search(text))
    ]
    assert not found, "\n".join(found)


def test_spelling_is_american():
    places = (
        "README.md",
        "CONTRIBUTING.md",
        "mkdocs.yml",
        "Makefile",
        "train.py",
        "examples",
        "docs",
        "conf",
        "scripts",
    )
    paths = [ROOT / name for name in (*places, "src", "packages", "tests", "benchmarks", "notebooks")]
    files = [path for place in paths for path in ([place] if place.is_file() else place.rglob("*"))]
    found = {
        path.relative_to(ROOT): words
        for path in files
        if path.suffix in {".md", ".yaml", ".yml", ".py", ".js", ".css", ".html", ".ipynb"}
        or path.name == "Makefile"
        if path != Path(__file__).resolve() and "results" not in path.parts
        if (
            words := {*filter(BRITISH.search, set(re.findall("[a-z]+", path.read_text("utf-8").lower())))}
            - ALLOWED
        )
    }
    assert not found
