"""`scripts/get_libreoffice.py` on pages of this file, and `data=libreoffice`."""

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import unicodedata

import pytest

from seq2seq.common.errors import InputError
from seq2seq.data import LibreOfficeHelp
from seq2seq.data.text import SentencePair
from tests.conftest import ROOT

NAMES = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "flint",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
]
NAMEN = [
    "Adler",
    "Biber",
    "Chamois",
    "Dachs",
    "Elster",
    "Falke",
    "Gans",
    "Hase",
    "Iltis",
    "Jaguar",
    "Kauz",
    "Luchs",
]


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("get_libreoffice", ROOT / "scripts" / "get_libreoffice.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HELD_OUT", 6)
    return module


def page(paragraphs):
    return f"<html><body>{''.join(paragraphs)}</body></html>"


def write_help(folder, special=()):
    """Write 40 pages in two languages: own sentences, near-duplicates of the next page's, and `special` on the first."""
    for number in range(40):
        sides = {"en-US": [], "de": []}
        for line, (noun, name) in enumerate(zip(NAMES[:4], NAMEN[:4], strict=True)):
            word = NAMES[number % 12] + "abcd"[number // 12]
            sides["en-US"].append(
                f'<p id="par_id{line}" dir="auto">The <span class="emph">{word}</span> opens {noun} &amp; files.</p>'
            )
            sides["de"].append(
                f'<p id="par_id{line}" dir="auto">Das {word}tier  öffnet\n {name} und Dateien.</p>'
            )
        for other in (
            number,
            (number + 1) % 40,
        ):  # the second is that of the next page but for case and digits
            mark = str(number) if other != number else ""
            sides["en-US"].append(
                f'<p id="par_n{other}">Click {"x" * other}a button {mark} NOW.</p>'.replace("  ", " ")
            )
            sides["de"].append(f'<p id="par_n{other}">Klicken Sie auf {"y" * other}a {mark} hier.</p>')
        if number == 0:
            for place, (english, german) in enumerate(special):
                sides["en-US"].append(f'<p id="par_s{place}">{english}</p>')
                sides["de"].append(f'<p id="par_s{place}">{german}</p>')
        for language, paragraphs in sides.items():
            path = folder / language / "text" / "shared" / f"{number:05}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page(paragraphs), encoding="utf-8")


def make(script, folder, help_folder, *options):
    script.main(["de", "--installed", str(help_folder), "--output", str(folder), *options])
    return [line.split("\t") for line in (folder / "en-de.tsv").read_text(encoding="utf-8").splitlines()]


def plain(text):
    """Return a text without case, digits, punctuation and spaces, by other means than the script."""
    return "".join(each for each in text.lower() if unicodedata.category(each)[0] in "LM")


def test_splits_share_no_page_and_no_near_duplicate_and_are_the_same_again(tmp_path, script):
    write_help(tmp_path / "help")
    rows = make(script, tmp_path / "a", tmp_path / "help")
    make(script, tmp_path / "b", tmp_path / "help")
    for name in ("en-de.tsv", "en-de.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    by_split = {name: [row[1:] for row in rows if row[0] == name] for name in ("train", "validation", "test")}
    assert len(by_split["validation"]) == len(by_split["test"]) == 6
    assert len(by_split["train"]) > 100
    for first, second in (("train", "test"), ("train", "validation"), ("validation", "test")):
        for column in range(3):
            sides = [
                {plain(row[column]) if column else row[0] for row in by_split[each]}
                for each in (first, second)
            ]
            assert sides[0].isdisjoint(sides[1])
    pairs = [(plain(row[2]), plain(row[3])) for row in rows]
    assert len(pairs) == len(set(pairs))
    note = json.loads((tmp_path / "a" / "en-de.json").read_text())
    assert note["pairs"] == {name: len(found) for name, found in by_split.items()}
    assert all("amp;" not in row[2] and "  " not in row[3] for row in rows)


MADE = sorted((ROOT / "data/cache/libreoffice").glob("en-*.tsv"))
"""What `scripts/get_libreoffice.py` has made in this clone."""


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_the_corpus_in_this_clone_is_as_published_and_no_test_page_is_in_training(path, script):
    note = json.loads(path.with_suffix(".json").read_text())
    published = script.RESULTS.get((path.stem.removeprefix("en-"), *set(note["versions"].values())))
    assert published in (None, (note["pairs"]["train"], hashlib.sha256(path.read_bytes()).hexdigest()))
    seen = [{}, {}, {}]  # page, source, target -> the split that has it
    for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        split, page, *texts = line.split("\t")
        for column, text in enumerate(
            [page, *("".join(filter(str.isalpha, each.lower())) for each in texts)]
        ):
            assert seen[column].setdefault(text, split) == split, line


SPECIAL = {
    "menu path": ("Choose <span class='menuitem'>Edit - Paste</span> now.", "Wählen Sie <b>Bearbeiten – Einfügen</b> hier."),
    "code": ("Use <span class='code'>a = b</span> for it.", "Benutzen Sie <span class='code'>a = b</span> dafür."),
    "formula": ("The result is =SUM(A1) in here.", "Das Ergebnis lautet =SUM(A1) an dieser Stelle."),
    "not translated": ("This text is still in English.", "This text is still in English."),
    "nearly not translated": ("The whole text is in English here.", "Der whole text is in English here."),
    "too short": ("Click here.", "Klicken Sie bitte hier."),
    "picture": ("Click on <img src='a.png'/> to start.", "Klicken Sie auf <img src='a.png'/> zum Starten."),
    "other numbers": ("There are 3 of these things.", "Es gibt von diesen Dingen 4 Stück."),
    "address": ("See https://example.org for more text.", "Siehe https://example.org für weiteren Inhalt."),
    "other length": ("Click the icon.", "Klicken Sie " + "immer und immer wieder, " * 9 + "bitte."),
    "missing": ("There is no translation of this.", ""),
}  # fmt: skip


def test_what_is_no_sentence_pair_is_left_out(tmp_path, script):
    kept = (
        "Press <span class='switchinline'><span hidden='true' class='MAC'>Command</span>"
        "<span hidden='true'>Ctrl</span></span> and drag it.",
        "Drücken Sie <span class='switchinline'><span hidden='true' class='MAC'>Befehl</span>"
        "<span hidden='true'>Strg</span></span> beim Ziehen.",
    )
    write_help(tmp_path / "help", [kept, *SPECIAL.values()])
    found = [row[2:] for row in make(script, tmp_path, tmp_path / "help") if row[1].endswith("/00000.html")]
    special = [row for row in found if not re.match("The |Click [x]*a", row[0])]
    assert special == [["Press Ctrl and drag it.", "Drücken Sie Strg beim Ziehen."]]


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_packages_give_what_their_folder_gives(tmp_path, script):
    write_help(tmp_path / "help")
    for language, name in (("en-US", "en-us"), ("de", "de")):
        tree = tmp_path / name
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN" / "control").write_text(
            f"Package: libreoffice-help-{name}\nVersion: 1.0\nArchitecture: all\nMaintainer: a\nDescription: b\n"
        )
        shutil.copytree(tmp_path / "help" / language, tree / "usr/share/libreoffice/help" / language)
        target = tmp_path / f"libreoffice-help-{name}_4%3a1.0_all.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-b", tree, target], check=True, capture_output=True
        )
    script.main(["de", "--packages", str(tmp_path), "--output", str(tmp_path / "a")])
    make(script, tmp_path / "b", tmp_path / "help")
    assert (tmp_path / "a" / "en-de.tsv").read_bytes() == (tmp_path / "b" / "en-de.tsv").read_bytes()
    assert (
        json.loads((tmp_path / "a" / "en-de.json").read_text())["versions"]["libreoffice-help-de"] == "4:1.0"
    )

    script.RESULTS["de", "4:1.0"] = (1, "0")  # another result than the one that is known for a version
    (tmp_path / "a" / "en-de.tsv").unlink()
    with pytest.raises(SystemExit) as caught:
        script.main(["de", "--packages", str(tmp_path), "--output", str(tmp_path / "a")])
    assert caught.value.code == 2
    assert not (tmp_path / "a" / "en-de.tsv").exists()


@pytest.mark.parametrize("options", [["--packages", "absent"], ["--installed", "absent"]])
def test_missing_packages_are_one_line_and_status_2(options, script, capsys):
    with pytest.raises(SystemExit) as caught:
        script.main(["de", *options])
    assert caught.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_corpus_reads_both_directions_and_names_the_command_that_makes_it(tmp_path):
    (tmp_path / "en-de.tsv").write_text(
        "train\tp\tA b.\tX y.\ntrain\tp\tC.\tZ.\nvalidation\tq\tD.\tU.\ntest\tr\tE.\tV.\n"
    )
    corpus = LibreOfficeHelp(root=str(tmp_path), source_language="en", target_language="de")
    assert corpus.read().train[0] == SentencePair("A b.", "X y.")
    turned = LibreOfficeHelp(
        root=str(tmp_path), source_language="de", target_language="en", train_pairs=1
    ).read()
    assert turned.train == [SentencePair("X y.", "A b.")]
    assert turned.test == [SentencePair("V.", "E.")]
    with pytest.raises(InputError, match=r"get_libreoffice\.py fr"):
        LibreOfficeHelp(root=str(tmp_path), source_language="en", target_language="fr").read()


def test_the_first_pairs_have_the_links_of_the_whole_file_and_are_held_out_of_all(tmp_path):
    train = "".join(f"train\tp\tA {n}.\tX {n}.\n" for n in range(12))
    (tmp_path / "en-de.tsv").write_text(f"{train}validation\tq\tD.\tU.\n")
    (tmp_path / "links.txt").write_text("0-0\n" * 12)
    given = {"root": str(tmp_path), "source_language": "en", "target_language": "de", "max_examples": 3}
    first = LibreOfficeHelp(**given, alignments=str(tmp_path / "links.txt")).splits.train
    assert [(pair.source, pair.alignment) for pair in first] == [(f"A {n}.", ((0, 0),)) for n in range(3)]
    (tmp_path / "en-de.tsv").write_text(train)
    held = LibreOfficeHelp(**given, split={"validation": 2, "test": 4}).splits
    assert [len(each) for each in (held.train, held.validation, held.test)] == [3, 2, 3]


def test_links_of_words_are_written_by_the_words_of_the_text():
    from scripts.align_libreoffice import in_text

    pair = SentencePair("Close it, please.", "Bitte schließen.")  # Close it , please . / Bitte schließen .
    forward = frozenset({(0, 1), (3, 0), (4, 2), (1, 1)})
    backward = frozenset({(0, 1), (3, 0), (4, 2)})
    assert in_text([forward], [backward], [pair]) == ["0-1 1?1 2-0 2-1"]
    chinese = SentencePair("Close it.", "关闭它。")  # Close it . / 关 闭 它 。
    links = frozenset({(0, 0), (0, 1), (1, 2), (2, 3)})
    assert in_text([links], [links], [chinese]) == ["0-0 0-1 1-2 1-3"]


@pytest.mark.parametrize("language", ["th", "km"])
def test_a_language_without_words_has_no_links_in_pharaoh_format(language, monkeypatch, tmp_path):
    from scripts import align_libreoffice

    monkeypatch.setattr("sys.argv", ["align_libreoffice.py", language, "--folder", str(tmp_path)])
    with pytest.raises(InputError, match="without spaces"):
        align_libreoffice.main()
