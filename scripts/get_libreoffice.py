"""Make a corpus of sentence pairs from the help of LibreOffice: English and another of its languages.

    python scripts/get_libreoffice.py de                     # Debian's packages, by apt-get download
    python scripts/get_libreoffice.py fr --packages FOLDER   # .deb files that you have
    python scripts/get_libreoffice.py ja --installed /usr/share/libreoffice/help

The help (MPL-2.0) is HTML, and a paragraph has the same id in every language, so that the pairs need no aligner. The
result, `en-de.tsv`, has the columns split, page, source and target; beside it `en-de.json` has versions, counts and
SHA-256. Train on it with `data=libreoffice data.target_language=de`.
"""

import argparse
import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex
from lxml import etree, html

from seq2seq.common.errors import InputError
from seq2seq.data.languages import is_unspaced

FOLDER = "data/cache/libreoffice"
"""Where `data=libreoffice` looks for the files."""
HELD_OUT = 1000
"""Number of validation pairs, and of test pairs."""
WORDS = 3, 60
"""Minimum and maximum number of words of a sentence."""
CHARACTERS = 2, 180
"""The same in characters, for languages without spaces."""

PACKAGE = "libreoffice-help-"
DEBIAN_12 = "4:7.4.7-1+deb12u14"
RESULTS = {
    ("de", DEBIAN_12): (18_354, "70c2f4079f6e7e610edc3d61f5bd3080f59324d6cd80a6202f4fc9a7c924ee85"),
    ("fr", DEBIAN_12): (18_081, "a49f0c4c75d16e2ce3a73a736315fb00320c281975c6148c2346e51ab03ef2bf"),
    ("zh", DEBIAN_12): (12_822, "19283b6319c918bdd2f153e713edd94bc46c25610301f542fff55165fc631ee8"),
}
"""Number of training pairs and SHA-256 of the file, by language and version of Debian's packages."""


# --- the packages ---


def run(command: list[str], folder: Path) -> None:
    """Run a program in a folder.

    Raises:
        InputError: It is missing or fails.
    """
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise InputError(
            f"{command[0]} is missing: this needs Debian or Ubuntu; elsewhere install LibreOffice with its "
            "help and give --installed FOLDER"
        ) from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.startswith("E:")] or [
            error.stderr.strip()
        ]
        hint = " (was apt-get update ever run here?)" if command[0] == "apt-get" else ""
        raise InputError(f"{' '.join(command)} failed{hint}: {lines[0][:200]}") from error


def unpacked(names: list[str], packages: Path | None, folder: Path) -> tuple[Path, dict[str, str]]:
    """Fetch packages, or find them in a folder of .deb files, and unpack them.

    Returns:
        The folder of the help in all languages, and the version of each package.
    """
    if packages is None:
        packages = folder / "packages"
        packages.mkdir()
        run(["apt-get", "download", *names], packages)
    versions = {}
    for name in names:
        files = sorted(packages.glob(f"{name}_*.deb"))
        if len(files) != 1:
            raise InputError(f"{packages} has {len(files)} files {name}_*.deb, 1 is needed")
        run(["dpkg-deb", "-x", str(files[0].resolve()), str(folder)], folder)
        versions[name] = files[0].name.split("_")[1].replace("%3a", ":")
    return folder / "usr" / "share" / "libreoffice" / "help", versions


def pages_of(help_folder: Path, language: str) -> Path:
    """Return the folder of the pages of a language: ``en-US``, ``de``, ``zh-CN``.

    Raises:
        InputError: There is no such folder.
    """
    found = {path.name.lower(): path for path in help_folder.glob("*/") if (path / "text").is_dir()}
    if language not in found:
        raise InputError(
            f"{help_folder} has no help in {language}; it has {', '.join(sorted(found)) or 'none'}"
        )
    return found[language] / "text"


# --- from HTML to text ---

CODE = {"code", "codeintable", "smathcode", "example", "related", "image", "bug"}
"""Classes of paragraphs, and of parts of them, that are no prose."""


def text_of(element: Any) -> str | None:
    """Return the text of a paragraph; None if it has code or a picture.

    Where the text depends on the system or the application, it is that of the default.
    """
    parts = [element.text or ""]
    for child in element:
        kind = child.get("class") if isinstance(child.tag, str) else None
        if kind in CODE or child.tag == "img":
            return None
        if child.tag == "br":
            parts.append(" ")
        elif isinstance(child.tag, str) and not (child.get("hidden") and kind):  # not MAC, CALC, …
            inside = text_of(child)
            if inside is None:
                return None
            parts.append(inside)
        parts.append(child.tail or "")
    return "".join(parts)


def paragraphs(page: Path) -> dict[str, str]:
    """Return the text of the paragraphs of a page by their ids; ids that occur twice are left out."""
    tree = html.parse(str(page), html.HTMLParser(encoding="utf-8"))
    elements = tree.xpath("//*[starts-with(@id, 'par_') or starts-with(@id, 'hd_')]")
    counts = Counter(element.get("id") for element in elements)
    found = {}
    for element in elements:
        if counts[element.get("id")] == 1 and element.get("class") not in CODE:
            text = text_of(element)
            if text is not None:
                found[element.get("id")] = " ".join(unicodedata.normalize("NFC", text).split())
    return found


# --- which pairs are kept ---

NO_PROSE = regex.compile(
    r"[\\{}<>|=_~^$@#*\[\]•]|://|www\.|\w\(|\w/\w+/|(?<!\w)/\w|\.[a-z]{3,4}\b|%\w|\w:\w|;.*;.*;|\bclick$"
)
"""Code, formulas, addresses, file names, lists of arguments, and sentences that end in the picture of a button."""
MENU_PATH = regex.compile(r"\p{Lu}[^.:]* [-–—] \p{Lu}|[▸→‣]")
"""A path in a menu, such as Edit - Paste."""
SENTENCE_END = regex.compile(r"[\p{Sentence_Terminal}:：…]['\"”’»“)）」』\s]*$")
LATIN_WORD = regex.compile(r"\p{Latin}+|\p{L}")
"""A word of Latin letters, or another letter, so that names of programs do not outweigh Chinese characters."""


def is_prose(text: str, language: str) -> bool:
    """Return whether a text is prose of moderate length, without code, addresses and names of files."""
    if is_unspaced(language):
        fits, share = CHARACTERS[0] <= len(text) <= CHARACTERS[1], 0.6
    else:
        fits, share = WORDS[0] <= len(text.split()) <= WORDS[1], 0.8
    letters = len(regex.findall(r"[\p{L}\p{M}\s]", text))
    return fits and letters > share * len(text) and not NO_PROSE.search(text)


def is_sentence(text: str) -> bool:
    """Return whether a text ends as sentences do; headings and cells of tables do not."""
    return SENTENCE_END.search(text) is not None


def is_translated(source: str, target: str) -> bool:
    """Return whether a target is more than a copy: fewer than half of its words are words of the source."""
    known = set(LATIN_WORD.findall(source.casefold()))
    words = LATIN_WORD.findall(target.casefold())
    return 2 * sum(word in known for word in words) < len(words)


def near(text: str) -> str:
    """Return what near-duplicates have in common: a text without case, digits, punctuation and spaces."""
    return regex.sub(r"[\p{P}\p{S}\p{Z}\p{N}]+", "", text.casefold())


def all_pairs(source: Path, target: Path, language: str) -> Iterator[tuple[str, str, str]]:
    """Yield page, source and target of the paragraphs that two languages share, filtered."""
    for page in sorted(path.relative_to(source).as_posix() for path in source.rglob("*.html")):
        if not (target / page).is_file():
            continue
        sources, targets = paragraphs(source / page), paragraphs(target / page)
        for name, text in sources.items():
            translation = targets.get(name, "")
            numbers = [Counter(regex.findall(r"\d+", each)) for each in (text, translation)]
            if (
                is_prose(text, "en")
                and is_prose(translation, language)
                and not MENU_PATH.search(text)
                and is_translated(text, translation)
                and is_sentence(text) == is_sentence(translation)
                and numbers[0] == numbers[1]
            ):
                yield page, text, translation


def of_usual_length(pairs: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return the pairs whose ratio of lengths is within a factor of two of the median."""
    ratios = [len(target) / len(source) for _, source, target in pairs]
    usual = statistics.median(ratios) if ratios else 1.0
    return [pair for pair, ratio in zip(pairs, ratios, strict=True) if usual / 2 <= ratio <= usual * 2]


# --- splits ---


def splits(pairs: list[tuple[str, str, str]]) -> dict[str, list[tuple[str, str, str]]]:
    """Return the pairs of each split: no page and no near-duplicate is in two splits.

    The pages are taken in the order of their hashes, which depend on their names only: first for the test split, until
    it has `HELD_OUT` pairs, then for validation, the rest for training. Test and validation have sentences only, training
    also headings and cells of tables. A pair is left out where its source or its target, compared by `near`, is in an
    earlier split, and where both are those of a pair of the same split.
    """
    pages: dict[bytes, list[tuple[str, str, str]]] = {}
    for pair in pairs:
        pages.setdefault(hashlib.sha256(pair[0].encode()).digest(), []).append(pair)
    rest = iter(sorted(pages))
    found: dict[str, list[tuple[str, str, str]]] = {}
    used: set[str] = set()
    for split, size in (("test", HELD_OUT), ("validation", HELD_OUT), ("train", len(pairs))):
        kept: dict[tuple[str, str], tuple[str, str, str]] = {}
        while len(kept) < size and (page := next(rest, None)) is not None:
            for pair in pages[page]:
                sides = near(pair[1]), near(pair[2])
                if used.isdisjoint(sides) and (split == "train" or is_sentence(pair[1])):
                    kept.setdefault(sides, pair)
        found[split] = list(kept.values())[:size]
        used.update(near(text) for pair in found[split] for text in pair[1:])
    return {split: found[split] for split in ("train", "validation", "test")}


# --- the program ---


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "language", help="de, fr, zh, ja, cs, pt-BR, …, as Debian's packages libreoffice-help-… end"
    )
    given = parser.add_mutually_exclusive_group()
    given.add_argument("--packages", type=Path, metavar="FOLDER", help="folder with both .deb files")
    given.add_argument("--installed", type=Path, metavar="FOLDER", help="folder of the help: en-US, de, …")
    parser.add_argument(
        "--output", type=Path, default=Path(FOLDER), metavar="FOLDER", help="default: %(default)s"
    )
    return parser.parse_args(arguments)


def make(options: argparse.Namespace) -> str:
    """Write the corpus and its description; return a line for the user."""
    language = options.language.lower()
    package = {"zh": "zh-cn", "pt": "pt", "en": "en-gb"}.get(language, language)
    names = [f"{PACKAGE}en-us", f"{PACKAGE}{package}"]
    with tempfile.TemporaryDirectory() as folder:
        if options.installed:
            help_folder, versions = options.installed, {}
        else:
            help_folder, versions = unpacked(names, options.packages, Path(folder))
        sides = [pages_of(help_folder, code) for code in ("en-us", package)]
        found = splits(of_usual_length(list(all_pairs(*sides, language))))
    counts = {split: len(pairs) for split, pairs in found.items()}
    if not all(counts.values()):
        raise InputError(f"{help_folder}: too few pairs in {language}: {counts}")
    text = "".join("\t".join((split, *pair)) + "\n" for split, pairs in found.items() for pair in pairs)
    digest = hashlib.sha256(text.encode()).hexdigest()
    expected = RESULTS.get((language, versions.get(names[0], "")))
    if expected is not None and len(set(versions.values())) == 1 and expected != (counts["train"], digest):
        raise InputError(
            f"{counts['train']:,} training pairs with SHA-256 {digest}, not {expected[0]:,} with {expected[1]}: "
            "a package or this program is not the published one"
        )
    path = options.output / f"en-{language}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    note = {"versions": versions, "pairs": counts, "sha256": digest, "license": "MPL-2.0"}
    for file, content in ((path.with_suffix(".json"), json.dumps(note, indent=2) + "\n"), (path, text)):
        part = file.with_name(f"{file.name}.part")
        part.write_text(content, encoding="utf-8", newline="\n")
        shutil.move(part, file)
    checked = "as published" if expected else "a version whose SHA-256 is not known"
    return f"{path}: {counts['train']:,} training, {counts['validation']:,} validation, {counts['test']:,} test pairs ({checked})"


def main(arguments: list[str] | None = None) -> None:
    """Run the program."""
    try:
        print(make(parse(arguments)))
    except (InputError, OSError, etree.LxmlError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from error


if __name__ == "__main__":
    main()
