"""Write the pages of the website into a folder, from which any builder of MkDocs' kind makes HTML.

    python scripts/write_pages.py FOLDER

Copies docs/, and adds what is generated: the keys, the commands, the notebooks with their outputs, and the model that
translates on the home page. Formulas become MathML, and links to source files addresses of the repository.
"""

import argparse
import base64
import html
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from latex2mathml.converter import convert

ROOT = Path(__file__).parents[1]
INTERNAL = (ROOT / "docs/contributing/words.md",)
"""Pages for those who write them."""
NOTEBOOKS = ("attention", "attention.zh", "training", "score")
MADE = {
    "conf": "reference/keys.md",
    "src/seq2seq/cli/main.py": "reference/commands.md",
    **{f"notebooks/{name}.ipynb": f"tutorials/{name}.md" for name in NOTEBOOKS},
}
"""The page that is made of each file or folder of the repository; a link to it leads to the page."""


def write_pages(folder: Path) -> None:
    """Write all pages, pictures and styles, and remove what an earlier call wrote; equal files stay untouched."""
    pages = {
        path.relative_to(ROOT / "docs").as_posix(): path
        for path in (ROOT / "docs").rglob("*")
        if path.is_file() and path not in INTERNAL
    }
    contents: dict[str, bytes | str] = {name: path.read_bytes() for name, path in pages.items()}
    contents |= {f"reference/{name}.md": page() for name, page in REFERENCE.items()}
    for name in NOTEBOOKS:
        text, shown = notebook_page(name)
        contents |= {f"tutorials/{name}.md": text} | {
            f"tutorials/{path}": content for path, content in shown.items()
        }
    for model in (ROOT / "data/models").glob("everyday-*"):
        contents[f"live/{model.name}.html"] = live_page(model)
    for name, content in contents.items():
        if name.endswith(".md"):
            text = content.decode() if isinstance(content, bytes) else content
            text = outside_code(text, with_formulas)
            contents[name] = outside_blocks(text, lambda part, name=name: with_links(part, name))
    for name, content in contents.items():
        path, data = folder / name, content.encode() if isinstance(content, str) else content
        if not (path.is_file() and path.read_bytes() == data):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in contents:
            path.unlink()


def live_page(model: Path) -> str:
    """Return the page on which a shipped model translates the first example of its card."""
    from seq2seq.export.card import examples
    from seq2seq.export.translating_page import export_page

    return export_page(model, examples(model)[0])


def outside_blocks(text: str, change: Callable[[str], str]) -> str:
    """Return Markdown with everything but its fenced blocks changed."""
    parts = re.split(r"(?ms)(^ *```.*?^ *```$)", text)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return Markdown with everything but its code, in blocks and in lines, changed."""

    def lines(part: str) -> str:
        pieces = re.split(r"(`+[^`]+`+)", part)
        return "".join(piece if place % 2 else change(piece) for place, piece in enumerate(pieces))

    return outside_blocks(text, lines)


def with_formulas(text: str) -> str:
    """Return Markdown with MathML for ``$…$`` and ``$$…$$``."""

    def mathml(formula: str, display: str) -> str:
        made = convert(" ".join(formula.split()), display=display)
        # what Markdown would take for its own, as entities
        return re.sub(
            r">[^<]+<", lambda found: re.sub(r"[*_|`\[\]\\]", lambda c: f"&#{ord(c[0])};", found[0]), made
        )

    text = re.sub(r"(?s)\$\$(.+?)\$\$", lambda found: f"<div>{mathml(found[1], 'block')}</div>", text)
    return re.sub(
        r"\$(?! )([^$]+?)(?<! )\$", lambda found: f"<span>{mathml(found[1], 'inline')}</span>", text
    )


def with_links(text: str, name: str) -> str:
    """Return Markdown whose links to files outside docs/ lead to the page made of them, else to the repository.

    While the repository has no address, the latter are plain text.

    Args:
        text: Of the page.
        name: Its path in docs/.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project["urls"]["Source"]

    def replace(match: re.Match[str]) -> str:
        label, link = match[1], match[2]
        path = link.partition("#")[0]
        if "://" in link or not path:
            return match[0]
        target = Path(os.path.normpath(ROOT / "docs" / Path(name).parent / path))
        if target.is_relative_to(ROOT / "docs"):
            return match[0]
        place = target.relative_to(ROOT).as_posix()
        if place in MADE:
            page = Path(os.path.relpath(MADE[place], Path(name).parent)).as_posix()
            return f"[{label}]({page}{link.removeprefix(path)})"
        if "OWNER" not in repository:
            return f"[{label}]({repository.rstrip('/')}/blob/main/{place})"
        if "`" in label:
            return label
        return f"`{place}`" if Path(place).name in label else f"{label} (`{place}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", replace, text)


def keys_page():
    """Return the page of all configuration keys, from the files of conf/ and their comments."""
    lines = [
        "# All keys",
        "",
        "Made from the files in `conf/`. `key=value` on the command line changes a key, `group=choice` chooses a "
        "file. Keys of a node with `_target_` are arguments of that class; `+key=value` gives one that the file "
        "does not list.",
        "",
    ]
    files = [ROOT / "conf/config.yaml", *sorted(ROOT.glob("conf/*/*.yaml"))]
    group, ranges = None, {key: words for path in files for key, words in ranges_of(path)}
    for path in files:
        if path.parent.name in ("hydra", "paths"):
            continue
        if path.parent.name != group:
            group = path.parent.name
            lines += [f"## {group if group != 'conf' else 'The root'}", ""]
        about, rows = read_keys(path, group)
        if path.name != "config.yaml":
            lines += [f"### `{group}={path.stem}`", ""]
        lines += [*about, ""]
        if rows:
            lines += ["| key | default | range | meaning |", "| --- | --- | --- | --- |"]
            lines += [
                f"| `{key}` | {value} | {ranges.get(key, '')} | {comment} |" for key, value, comment in rows
            ]
            lines += [""]
    return "\n".join(lines)


def ranges_of(path):
    """Yield the keys of a file whose values have bounds or choices, with these in words."""
    from omegaconf import OmegaConf

    from hydra_checked import bounded, in_words, leaves, objects
    from hydra_checked.program import package_of
    from seq2seq.settings.config import stored
    from seq2seq.settings.root import Root

    package = "" if path.name == "config.yaml" else package_of(path).replace("_global_", "")
    nodes = OmegaConf.to_container(OmegaConf.load(path))
    kinds = [(key, stored().get(target, {})) for key, _, target in objects(nodes, package)]
    for key, own in [*kinds, *([("", bounded(Root, {}))] if path.name == "config.yaml" else [])]:
        yield from ((name, in_words(kind)) for name, kind in leaves(own, key))


def read_keys(path, group):
    """Return the comment lines at the start of a YAML file, and its (key, default, comment)."""
    package, about, rows, stack = [] if group == "conf" else [group], [], [], []
    in_defaults, in_about = False, True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# @package"):
            name = line.split()[-1]
            package = [] if name == "_global_" else name.split(".")
            continue
        if line.startswith("#"):
            if in_about:
                text = line.removeprefix("# ").removeprefix("#")
                about.append(f"    {text.strip()}" if text.startswith("  ") else text)
            continue
        found = re.match(r"( *)([\w.-]+):(?: +(.*?))?(?:\s+# (.*))?$", line)
        if line.startswith("defaults:"):
            in_defaults, in_about = True, False
        elif line and line[0] not in " -":
            in_defaults = False
        if in_defaults or not found:
            continue
        in_about = False
        indent, key, value, comment = len(found[1]), found[2], found[3], found[4] or ""
        if value and value.startswith("# "):
            value, comment = None, value[2:]
        while stack and stack[-1][0] >= indent:
            stack.pop()
        dotted = ".".join([*package, *(name for _, name in stack), key])
        stack.append((indent, key))
        if not value or key == "_partial_" or dotted.startswith("hydra"):
            if comment and not value:
                rows.append((dotted, "", cell(comment)))
            continue
        rows.append((dotted, code(value), cell(comment)))
    return spaced(about), rows


def spaced(lines):
    """Return lines with blank ones around indented lines, which are code."""
    found, code = [], False
    for line in lines:
        if line.startswith("    ") != code:
            found.append("")
            code = not code
        found.append(line)
    return found


def code(value):
    """Return a value as code for a cell of a Markdown table; a long one may be broken after its commas."""
    text = cell(value)
    return f"`{re.sub(r',(?=[^ ])', ',` `', text) if len(text) > 60 else text}`"


def cell(text):
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").strip()


def commands_page():
    """Return the page of commands: targets of make, and the help of every command."""
    from seq2seq.cli.main import COMMANDS, command
    from seq2seq.cli.parser import parser_of

    os.environ["COLUMNS"] = "100"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*## (.*)$", makefile, re.MULTILINE)
    lines = ["# Commands", "", "Made from the help of each command.", "", "## make", ""]
    lines += ["| target | what it does |", "| --- | --- |"]
    lines += [f"| `make {name}` | {cell(text)} |" for name, text in targets]
    lines += [""]
    for name, about in COMMANDS.items():
        lines += [f"## seq2seq {name}", "", f"{about[0].upper()}{about[1:]}.", ""]
        if name == "train":
            lines += [
                "The same as `python train.py`: see [all keys](keys.md) and [configuration](configuration.md).",
                "",
            ]
            continue
        lines += ["```text", parser_of(name, command(name)).format_help().rstrip(), "```", ""]
    return "\n".join(lines)


def notebook_page(name):
    """Return a notebook as Markdown, and by file name the images and the interactive pages that it shows."""
    cells = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    parts, shown = [], {}
    for cell_of_notebook in cells:
        source = "".join(cell_of_notebook["source"])
        if "REPOSITORY" in source:  # for hosted notebooks
            continue
        if cell_of_notebook["cell_type"] == "markdown":
            source = re.sub(r"\[!\[Open in Colab\].*\n*", "", source)
            source = re.sub(r"\]\(\.\./(?!docs/)", "](../../", source)
            source = re.sub(r"(?m)^(#.*)\$\\sqrt (\w)\$", r"\1√\2", source)  # no formulas in the contents
            parts.append(source.replace("](../docs/", "](../").replace(".ipynb)", ".md)"))
            continue
        parts.append(f"```python\n{source}\n```")
        text = ""
        for output in cell_of_notebook.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                path = f"{name}_{len(shown) + 1}.png"
                shown[path] = base64.b64decode(data["image/png"])
                parts.append(f"![Output of the cell above]({path})")
            elif "text/html" in data:
                # as a file of its own: the checksums of its scripts hold for it as it is
                path = f"{name}_{len(shown) + 1}.html"
                before, srcdoc, after = re.split(r'srcdoc="([^"]*)"', "".join(data["text/html"]))
                shown[path] = html.unescape(srcdoc)
                parts.append(f'<div class="cell-output">{before}src="{path}"{after}</div>')
            else:
                text += "".join(output.get("text", data.get("text/plain", "")))
        if text:
            parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n", shown


REFERENCE = {"keys": keys_page, "commands": commands_page}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the pages, which holds nothing else")
    sys.path.insert(0, str(ROOT / "src"))
    write_pages(parser.parse_args().folder)
