"""Files of pairs in every format, and what is in doubt."""

import csv
import gzip
import io
import json
import re
import zipfile

import polib
import pytest

import bitext
from bitext import Columns, FormatError, holds_pairs, read_lines, sniff
from bitext.kinds import HINTS
from bitext.kinds import refusal as refusal_of

PAIRS = [
    ("A dog & a cat.", "Un chien et un chat."),
    ("He runs.", "Il court."),
    ("She sings.", "Elle chante."),
]


def read(folder, content, name="pairs.txt", languages=("en", "fr"), **options):
    """Return the pairs of a file, as tuples."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    wanted = options.get("source_column"), options.get("target_column")
    columns = Columns(languages, wanted, prefix="data.", say=print)
    return [(pair.source, pair.target) for pair in bitext.read(path, columns)]


def refusal(folder, content, **options):
    with pytest.raises(FormatError) as caught:
        read(folder, content, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(*columns, mark="\t"):
    return "".join(mark.join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def as_csv(rows, **options):
    file = io.StringIO(newline="")
    csv.writer(file, **options).writerows(rows)
    return file.getvalue()


SOURCES, TARGETS = zip(*PAIRS, strict=True)
UNITS = "".join(
    f'<tu><tuv xml:lang="FR-fr"><seg>{b}</seg></tuv><tuv xml:lang="en-GB"><seg>{a.replace("&", "&amp;")}</seg></tuv></tu>'
    for a, b in PAIRS
)
TMX = f'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header/><body>{UNITS}</body></tmx>'
XLIFF = (
    '<?xml version="1.0"?><xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="en" '
    'target-language="fr-FR" original="a"><body>'
    + "".join(
        f"<trans-unit id='{i}'><source>{a.replace('&', '&amp;<x id=&quot;1&quot;/>')}</source><note>n</note>"
        f"<target state='final'>{b}</target></trans-unit>".replace("&quot;", '"')
        for i, (a, b) in enumerate(PAIRS)
    )
    + "</body></file></xliff>"
)
MARKED = [
    "".join(f"<mrk mtype='seg' mid='{i}'>{side.replace('&', '&amp;')}</mrk>" for i, side in enumerate(sides))
    for sides in zip(*PAIRS, strict=True)
]
XLIFF_OF_SEGMENTS = (
    '<!-- <generated> --><xliff version="1.2"><file source-language="en" target-language="fr"><body><trans-unit><source>A B C'
    f"</source><seg-source><g>{MARKED[0]}</g></seg-source><target>{MARKED[1]}</target></trans-unit></body></file></xliff>"
)
XLIFF2 = (
    '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="fr" trgLang="en"><file id="f">'
    + "".join(
        f"<unit id='u{i}'><segment><source>{b[:3]}<pc id='1'>{b[3:]}</pc></source><target>{a.replace('&', '&amp;')}</target>"
        "</segment></unit>"
        for i, (a, b) in enumerate(PAIRS)
    )
    + "</file></xliff>"
)
WMT = (
    '<?xml version="1.0"?><dataset id="d"><collection id="g"><doc id="1" origlang="en"><src lang="en"><p>'
    + "".join(f'<seg id="{i}">{a.replace("&", "&amp;")}</seg>' for i, (a, _) in enumerate(PAIRS))
    + '</p></src><ref lang="fr" translator="B"><p>'
    + "".join(f'<seg id="{i}">{b}</seg>' for i, (_, b) in enumerate(PAIRS))
    + '</p></ref><hyp lang="fr" system="s"><p><seg id="0">?</seg></p></hyp></doc></collection></dataset>'
)
PO = '# A comment\nmsgid ""\nmsgstr ""\n"Language: fr\\n"\n\n' + "".join(
    f'#: file.c:1\nmsgid "{a[:3]}"\n"{a[3:]}"\nmsgstr "{b}"\n\n' for a, b in PAIRS
) + '#, fuzzy\nmsgid "x"\nmsgstr "y"\n\nmsgid "untranslated"\nmsgstr ""\n'  # fmt: skip
OPUS = io.BytesIO()
with zipfile.ZipFile(OPUS, "w") as archive:
    for name, lines in (
        ("README", ["a"]),
        ("X.en-fr.en", SOURCES),
        ("X.en-fr.fr", TARGETS),
        ("X.en-fr.xml", ["<x/>"]),
    ):
        archive.writestr(name, "\n".join(lines) + "\n")

ALL = {
    "tabs": rows(SOURCES, TARGETS),
    "tabs and a third column": rows(SOURCES, TARGETS, ["CC-BY"] * 3),
    "tatoeba.org": rows([1, 2, 3], SOURCES, [11, 12, 13], TARGETS),
    "header": rows(["target", *TARGETS], ["source", *SOURCES]),
    "header of languages": rows(["id", *"123"], ["French", *TARGETS], ["English", *SOURCES]),
    "bars": rows(SOURCES, TARGETS, mark=" ||| "),
    "csv": as_csv([("sentence_eng_Latn", "sentence_fra_Latn"), *PAIRS]),
    "csv of words": as_csv([("English words/sentences", "French words/sentences"), *PAIRS]),
    "csv with semicolons": as_csv([("n", "tgt", "src"), *((1, b, a) for a, b in PAIRS)], delimiter=";"),
    "quoted tabs": as_csv(PAIRS, delimiter="\t", quoting=csv.QUOTE_ALL),
    "quoted line ends": as_csv(
        [[cell.replace(" ", "\n", 1) for cell in pair] for pair in PAIRS], delimiter="\t"
    ),
    "byte order mark": b"\xef\xbb\xbf" + as_csv([("en", "fr"), *PAIRS]).encode(),
    "json lines": "".join(json.dumps({"id": 1, "translation": {"en": a, "fr": b}}) + "\n" for a, b in PAIRS),
    "json list": json.dumps([{"fr": b, "en": a} for a, b in PAIRS], indent=1),
    "tmx": TMX,
    "tmx in utf-16": TMX.replace('?xml version="1.0"', '?xml version="1.0" encoding="utf-16"').encode(
        "utf-16"
    ),
    "tmx after comments": TMX.replace("<!D", "<!-- <a@b.org> --><?a <b?><!D").replace(
        'g"', "g\" [<!ENTITY a '<b>'>]"
    ),
    "xliff": XLIFF,
    "xliff of segments": XLIFF_OF_SEGMENTS,
    "xliff 2, turned": XLIFF2,
    "wmt": WMT,
    "opus": OPUS.getvalue(),
}


@pytest.mark.parametrize("kind", ALL)
def test_every_format_gives_the_same_pairs(kind, tmp_path):
    assert read(tmp_path, ALL[kind]) == PAIRS


def test_catalogs_of_gettext(tmp_path):
    assert read(tmp_path, PO, "fr.po") == PAIRS
    polib.pofile(PO).save_as_mofile(str(tmp_path / "fr.mo"))
    binary = (tmp_path / "fr.mo").read_bytes()
    for content in (binary, gzip.compress(binary)):
        assert sorted(read(tmp_path, content, "fr.mo")) == sorted(PAIRS)
    latin = PO.replace("Language", 'Content-Type: text/plain; charset=ISO-8859-1\\n"\n"Language')
    assert read(tmp_path, latin.replace("Il court", "Été").encode("latin-1"))[1][1] == "Été."
    assert read(tmp_path, PO, languages=("fr", "en")) == [pair[::-1] for pair in PAIRS]
    assert "data.target_language=fr" in refusal(tmp_path, PO, languages=("en", "de"))
    of_none = of_plurals("").replace("one", "x").replace('"several"\n', '"several"\nmsgstr "y"\n')
    assert read(tmp_path, of_none, "fr.po") == [("x", "y")] * 2
    assert "translated" in refusal(tmp_path, 'msgid ""\nmsgstr ""\n\nmsgid "a"\nmsgstr ""\n')


def of_plurals(rule, *forms):
    header = f'"Plural-Forms: {rule}\\n"\n' if rule else ""
    texts = "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    return (
        f'msgid ""\nmsgstr ""\n"Language: fr\\n"\n{header}\nmsgid "one"\nmsgid_plural "several"\n{texts}\n'
        f'msgctxt "b"\nmsgid "one"\nmsgid_plural "several"\n{texts}'
    )


@pytest.mark.parametrize(
    ("rule", "forms", "pair"),
    [
        (
            "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : 4;",
            "abcdef",
            "bd",
        ),
        ("nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);", "abc", "ab"),
        (
            'nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 :"\n" n%100==3 || n%100==4 ? 3 : 0);',
            "abcd",
            "ba",
        ),
        ("nplurals=1; plural=0;", "a", "aa"),
        ("nplurals=2; plural=(n != 1);", "ab", "ab"),
        ("nplurals=3; plural=(n == 1 ? 0 : 2);", ["a", "b"], ["a", ""]),
        ("", "abc", "ac"),
    ],
)
def test_plurals_of_gettext_are_chosen_by_the_rule_of_the_catalog(rule, forms, pair, tmp_path):
    content = of_plurals(rule, *forms)
    expected = [*zip(("one", "several"), pair, strict=True)] * 2
    assert read(tmp_path, content, "fr.po") == expected
    polib.pofile(content).save_as_mofile(str(tmp_path / "fr.mo"))
    assert read(tmp_path, (tmp_path / "fr.mo").read_bytes(), "fr.mo") == expected


@pytest.mark.parametrize(
    "rule", ["nplurals=INTEGER; plural=EXPRESSION;", "nplurals=2", "nplurals=2; plural=n/0;", "a; plural=99"]
)
def test_a_damaged_rule_of_plurals_is_refused_where_there_are_plurals(rule, tmp_path):
    assert "is no rule of Plural-Forms" in refusal(tmp_path, of_plurals(rule, "a", "b"))
    assert read(tmp_path, PO.replace('fr\\n"', f'fr\\n"\n"Plural-Forms: {rule}\\n"', 1), "fr.po") == PAIRS


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"translation": [{"en": a, "fr": b} for a, b in PAIRS], "n": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path, (tmp_path / "a.parquet").read_bytes()) == PAIRS


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (rows([1, 2, 3], [5, 6, 7], TARGETS, SOURCES), (4, 3)),
        (as_csv([("a", "b"), *PAIRS]), ("a", "b")),
        (as_csv(PAIRS), (1, 2)),
        (as_csv([("fr", "en"), *PAIRS]), (1, 2)),
        (json.dumps([{"q": a, "x": {"y": b}} for a, b in PAIRS]), ("q", "x.y")),
    ],
)
def test_columns_are_chosen_by_name_or_number(content, columns, tmp_path):
    name = "pairs.csv" if "," in content.splitlines()[0] else "pairs.tsv"
    assert read(tmp_path, content, name, source_column=columns[0], target_column=columns[1]) == PAIRS


def test_null_is_blank_and_long_lines_and_line_ends_in_cells_are_read(tmp_path):
    assert read(tmp_path, '{"en": "A.", "fr": null}\n{"en": "B.", "fr": "C."}\n{"fr": "D."}\n') == [
        ("A.", ""), ("B.", "C."), ("", "D."),
    ]  # fmt: skip
    long = "word " * 40_000
    assert read(tmp_path, as_csv([("en", "fr"), (long, "a\nb"), ("x", 'say ""')])) == [
        (long, "a b"),
        ("x", 'say ""'),
    ]
    assert read(tmp_path, '"Yes," he said.\t"Oui"\n"No."\t"Non."\n') == [
        ('"Yes," he said.', '"Oui"'),
        ('"No."', '"Non."'),
    ]


@pytest.mark.parametrize("kind", ["tabs", "header", "bars", "csv", "quoted tabs", "json lines"])
@pytest.mark.parametrize("end", ["\n", "\r\n\n"])
def test_a_blank_line_is_no_row(kind, end, tmp_path):
    first, rest = ALL[kind].split("\n", 1)
    assert read(tmp_path, f"{first}\n{end}{rest}{end}") == PAIRS
    assert holds_pairs(str(tmp_path / "pairs.txt")) is (kind != "csv")  # a table by its name alone


def test_a_row_of_blank_cells_is_a_pair_and_the_number_of_a_line_counts_blank_lines(tmp_path):
    assert read(tmp_path, "a\tb\n \t\n\nc\td\n") == [("a", "b"), (" ", ""), ("c", "d")]
    assert "line 4: no tab" in refusal(tmp_path, "a\tb\n\nc\td\ne\n")


def test_null_of_other_programs_is_blank_and_a_line_for_excel_is_no_row(tmp_path):
    assert read(tmp_path, '{"en": "A.", "fr": NaN}\n{"en": "nan", "fr": "C."}\n') == [
        ("A.", ""),
        ("nan", "C."),
    ]
    table = as_csv([("en", "fr"), *PAIRS], delimiter=";")
    assert read(tmp_path, f"sep=;\r\n{table}", name="a.csv") == PAIRS


REGIONS = "".join(
    f'<tu><tuv xml:lang="en"><seg>{i}</seg></tuv><tuv xml:lang="zh-CN"><seg>简{i}</seg></tuv>{more}</tu>'
    for i, more in enumerate(('<tuv xml:lang="zh-TW"><seg>繁0</seg></tuv>', "", '<tuv xml:lang="zh-TW"><seg>繁2</seg></tuv>'))
)  # fmt: skip


def test_a_region_or_script_of_a_language_is_taken_where_the_file_has_it(tmp_path):
    content = f"<tmx><body>{REGIONS}</body></tmx>"
    assert read(tmp_path, content, languages=("en", "zh_TW")) == [("0", "繁0"), ("2", "繁2")]
    assert "zh-CN and zh-TW" in refusal(tmp_path, content, languages=("en", "zh"))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for ending, line in (("en", "A."), ("pt", "B."), ("pt_BR", "C.")):
            archive.writestr(f"X.{ending}", f"{line}\n")
    assert read(tmp_path, (tmp_path / "a.zip").read_bytes(), languages=("en", "pt-BR")) == [("A.", "C.")]
    assert read(tmp_path, (tmp_path / "a.zip").read_bytes(), languages=("en", "pt")) == [("A.", "B.")]


@pytest.mark.parametrize(
    ("content", "state"), [(XLIFF, "needs-translation"), (XLIFF, "new"), (XLIFF2, "initial")]
)
def test_what_xliff_calls_untranslated_is_blank(content, state, tmp_path):
    place, attribute = (
        ("<target state='final'>", "target state=") if content is XLIFF else ("<segment>", "segment state=")
    )
    pairs = read(tmp_path, content.replace(place, f"<{attribute}'{state}'>", 1))
    assert [bool(source and target) for source, target in pairs] == [False, True, True]


def test_the_variant_of_a_language_is_the_one_that_is_asked_for(tmp_path):
    def variants(*codes):
        parts = "".join(f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in ("en", *codes))
        return TMX.replace(UNITS, f"<tu>{parts}</tu>")

    for codes, wanted, found in (
        (("pt-PT", "pt-BR"), "pt-BR", "pt-BR"), (("pt-PT", "pt-BR"), "pt_PT", "pt-PT"), (("zh-CN", "zh-TW"), "zh-Hant-TW", "zh-TW"),
        (("pt-BR", "pt"), "pt", "pt"), (("pt-BR",), "pt", "pt-BR"), (("pt-PT",), "pt-BR", "pt-PT"), (("sr-Cyrl", "sr-Latn"), "sr_Latn", "sr-Latn"),
    ):  # fmt: skip
        assert read(tmp_path, variants(*codes), languages=("en", wanted)) == [("en", found)]
    assert "pt-PT and pt-BR" in refusal(tmp_path, variants("pt-PT", "pt-BR"), languages=("en", "pt"))
    table = as_csv([("pt_PT", "en", "pt_BR"), ("a", "b", "c")])
    assert read(tmp_path, table, languages=("en", "pt-BR")) == [("b", "c")]


DOUBTFUL = {
    **{
        f"a column of {name}": (rows([text.format(n) for n in range(10, 30)], [f"A {n}." for n in range(20)], [f"Un {n}." for n in range(20)]), "column 1")
        for name, text in (("powers", "{}.5E-5"), ("large powers", "1e+{}"), ("shares", "{} %"), ("ids", "news-{}"), ("times", "00:00:{},120"))
    },
    "a column of labels": (rows(["train", "test"] * 50, [f"A {n}." for n in range(100)], [f"Un {n}." for n in range(100)]), "labels"),
    "a column with a missing number": (rows([0.5, "nan", "-inf"], SOURCES, TARGETS), "column 1"),
    "utf-16 without a mark": (rows(SOURCES, TARGETS).encode("utf-16-le"), "iconv"),
    "numbers": (rows([1, 2, 3], SOURCES, TARGETS), "data.source_column"),
    "addresses": (rows(["https://a.b/c"] * 3, ["https://a.b/d"] * 3, SOURCES, TARGETS), "data.source_column"),
    "one value": (rows(["eng"] * 12, SOURCES * 4, TARGETS * 4), "data.source_column"),
    "two columns of a language": (as_csv([("text_en", "title_en", "text_fr"), *[(*pair, "x") for pair in PAIRS]]), "_column"),
    "unknown fields": ('{"a": "x", "b": "y"}\n' * 2, "data.source_column"),
    "json of one language": ('{\n "hello": "Hello",\n "menu": {"bye": "Bye"}\n}\n', "keys"),
    "json of one language, on one line": ('{"hello": "Hello", "bye": "Bye"}', "keys"),
    "list in a field": ('{"en": ["x"], "fr": "y"}\n', "list"),
    "lines that are not json": ('{"en": "x", "fr": "y"}\nx\n', "line 2"),
    "open quote": ('en,fr\n"a,b\n', "line 2"),
    "other languages": (TMX.replace("FR-fr", "de"), "data.target_language"),
    "damaged markup": (TMX[:-20], "damaged"),
    "a unit outside of its file": ("<xliff version='1.2'><trans-unit><source>a</source></trans-unit></xliff>", "damaged"),
    "a row with a further column": (rows(SOURCES, TARGETS) + "Yes,\tI know.\tOui, je sais.\n", "line 4"),
    "other xml": ('<?xml version="1.0"?><a/>', "XML"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3", "pdftotext"),
    "tar": (b"a\0".ljust(257, b"\0") + b"ustar\0", "tar -xf"),
    "archive of other languages": (OPUS.getvalue(), "X.en-fr.en", ("en", "de")),
    "subtitles": ("1\n00:00:01,000 --> 00:00:02,000\nA dog.\n", "times"),
    "talks with tags": ("<url>http://a.b</url>\n<keywords>a</keywords>\nA dog.\n", "grep -v"),
    "parliament with tags": ("<CHAPTER ID=1>\nA dog.\n", "grep -v"),
    "utf-16 without mark": (rows(SOURCES, TARGETS).encode("utf-16-le"), "iconv -f UTF-16LE"),
    "picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08", "binary"),
    "utf-32": (rows(SOURCES, TARGETS).encode("utf-32"), "iconv -f UTF-32"),
    "sgml": ('<srcset setid="a">\n<seg id="1">A</seg>', "one of the target"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DOUBTFUL)
def test_what_is_in_doubt_is_refused_with_the_way(kind, tmp_path):
    content, way, *languages = DOUBTFUL[kind]
    name = "pairs.csv" if isinstance(content, str) and "text_en" in content else "pairs.x"
    assert way in refusal(tmp_path, content, name=name, languages=(languages or [("en", "fr")])[0])


def test_columns_are_given_together_and_exist(tmp_path):
    assert "both" in refusal(tmp_path, ALL["tabs"], source_column=1)
    assert "source_column=3" in refusal(tmp_path, ALL["tabs"], source_column=3, target_column=1)
    assert "source_column=x" in refusal(tmp_path, ALL["csv"], source_column="x", target_column=1)


def test_a_first_line_that_may_be_a_header_is_told_where_columns_have_numbers(tmp_path, capsys):
    """A header that names no language cannot be told from a pair."""
    content = as_csv([("a note", "another note"), *PAIRS])
    pairs = read(tmp_path, content, name="pairs.csv", source_column=1, target_column=2)
    assert len(pairs) == len(PAIRS) + 1
    assert "'a note,another note', is a pair" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_number_with_the_name_of_a_language_is_no_text(kind, tmp_path):
    sentences = [f"I see {n} dogs" for n in range(12)], [f"Saya lihat {n} anjing" for n in range(12)]
    numbered = {"id": range(12), "english": sentences[0], "indonesia": sentences[1]}
    table = [dict(zip(numbered, row, strict=True)) for row in zip(*numbered.values(), strict=True)]
    content = {
        "csv": rows(*([name, *cells] for name, cells in numbered.items()), mark=","),
        "json": "".join(f"{json.dumps(row)}\n" for row in table),
    }[kind]
    said = refusal(tmp_path, content, name=f"a.{kind}", languages=("en", "id"))
    assert "id has only numbers" in said
    chosen = {"source_column": "english", "target_column": "indonesia"}
    assert read(tmp_path, content, name=f"a.{kind}", languages=("en", "id"), **chosen)[0] == (
        "I see 0 dogs",
        "Saya lihat 0 anjing",
    )


@pytest.mark.parametrize(
    ("member", "word"),
    [("word/document.xml", "Word"), ("xl/workbook.xml", "CSV"), ("content.xml", "OpenDocument")],
)
def test_documents_of_office_programs_are_no_text(member, word, tmp_path):
    path = tmp_path / "a.en"
    with zipfile.ZipFile(path, "w") as archive:
        for name in (member, "META-INF/manifest.xml"):
            if member in {name, "content.xml"}:
                archive.writestr(name, "x")
    with pytest.raises(FormatError, match=word):
        read_lines(path)


@pytest.mark.parametrize("kind", ["json lines", "tmx", "wmt", "tmx in utf-16", "tmx after comments"])
def test_other_formats_are_never_read_as_plain_text(kind, tmp_path):
    path = tmp_path / "a.en"
    path.write_bytes(ALL[kind] if isinstance(ALL[kind], bytes) else ALL[kind].encode())
    with pytest.raises(FormatError, match="of one language"):
        read_lines(path)


@pytest.mark.parametrize("number", ["9", "1"])
def test_segments_of_xliff_whose_numbers_tell_no_pairs_are_one_text(number, tmp_path):
    """A target that has no source, and two of one source: nothing is lost."""
    content = XLIFF_OF_SEGMENTS.replace(f"mid='2'>{TARGETS[2]}", f"mid='{number}'>{TARGETS[2]}")
    assert read(tmp_path, content) == [("A B C", " ".join(TARGETS))]


def test_who_reads_plain_text_is_never_given_a_key_of_training():
    """It may be `seq2seq translate`, which has none."""
    for kind in HINTS:
        assert not re.search(r"\bdata[.=]", str(refusal_of("a.x", kind)))


@pytest.mark.parametrize(
    "code",
    [
        "<x id='LINE_BREAK' ctype='lb'/>", "<x id='1' ctype='x-html-br'/>", "<x id='1' equiv-text='&lt;br/&gt;'/>",
        "<ph id='1' type='fmt' subType='xlf:lb'/>", "<ph id='1' subType='xlf:pb'/>", "<ph id='1' disp='&lt;br&gt;'/>",
        "<ph type='lb'>&lt;br/&gt;</ph>", "<ph>&lt;BR class='a'&gt;</ph>", "<ph x='1'>\\n</ph>", "<it pos='begin' type='pb'/>",
        "<br/>", "<ph>\n</ph>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["tmx", "xliff", "xliff 2, turned"])
def test_a_code_for_a_line_end_is_a_space_and_no_other_code_is(kind, code, tmp_path):
    others = "<!-- lb --><x ctype='bold'/><ph type='image'>a</ph><ph id='b' subType='xlf:b' disp='&lt;b&gt;'/><bpt>&lt;br</bpt>"
    content = ALL[kind].replace("He", f"H{others}e").replace("runs", f"ru{code}ns")
    assert read(tmp_path, content) == [PAIRS[0], ("He ru ns.", PAIRS[1][1]), PAIRS[2]]


NO_SENTENCES = {
    "talks": ("<url>http://example.org</url>\n<speaker>A</speaker>\nThank you.\n", "grep -v"),
    "subtitles": ("1\r\n00:00:01,000 --> 00:00:04,000\r\nHello.\r\n", "subtitles"),
    "web subtitles": ("WEBVTT\n\n00:01.000 --> 00:04.000\nHello.\n", "subtitles"),
    "front matter": ("---\ntitle: A\nlang: en\n---\nHello.\n", "---"),
    "utf-16, little": ("A line.\nÉtoile.\n".encode("utf-16-le"), "iconv -f UTF-16LE"),
    "utf-32": ("A line.\n".encode("utf-32"), "iconv -f UTF-32"),
    "utf-16, big": ("A line.\nÉtoile.\n".encode("utf-16-be"), "iconv -f UTF-16BE"),
    "a catalog with a long comment": ("# A translator\n" * 2000 + PO, "of one language"),
    "json of one language": ('{\n "hello": "Hello",\n "menu": {"bye": "Bye"}\n}\n', "keys"),
    "html after a comment": ("<!-- <p> --><!doctype html><html>", "HTML"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_SENTENCES)
def test_text_that_begins_with_no_sentences_is_refused_with_the_way(kind, tmp_path):
    content, way = NO_SENTENCES[kind]
    (tmp_path / "a.en").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=way):
        read_lines(tmp_path / "a.en")


def test_the_way_for_standard_input_names_no_file():
    """It can be copied: the converter reads standard input, too."""
    assert str(refusal_of("standard input", "UTF-16")).endswith("iconv -f UTF-16 -t UTF-8")
    assert "-layout b/a.pdf" in str(refusal_of("b/a.pdf", "PDF"))
    assert "zstd -d b/a.zst, or pip install" in str(refusal_of("b/a.zst", sniff(b"\x28\xb5\x2f\xfd")))


def test_segments_without_a_root_are_read(tmp_path):
    (tmp_path / "a.sgm").write_text(
        '<DOC docid="x">\n<p>\n<seg id="1">A &amp; b.</seg>\n<seg id="2">C.</seg>\n</p></DOC>\n'
    )
    assert read_lines(tmp_path / "a.sgm") == ["A & b.", "C."]


@pytest.mark.parametrize(
    "line",
    [
        "<b>bold</b> text",
        "--- a dash",
        "1",
        "WEBVTTs",
        "00:01",
        "<doc>",
        "<url> is down",
        "<3 see <url>",
        "{braces}",
        "[1] a note",
        "msgid is a word",
        "{",
        "<",
        "[]",
        "< 5",
    ],
)
def test_plain_text_may_begin_like_another_format(line, tmp_path):
    (tmp_path / "a.en").write_text(f"{line}\nSecond.\n")
    assert read_lines(tmp_path / "a.en") == [line, "Second."]


def test_segments_of_wmt_whose_numbers_begin_again_are_all_read(tmp_path):
    again = WMT.replace('<seg id="2">', '<seg id="0">')
    assert read(tmp_path, again) == PAIRS


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("a <x b", "a <x b"), ("x<y and y>z", "x<y and y>z"), ("5 < 6", "5 < 6"), ("<b>bold</b>", "<b>bold</b>"),
        ("&lt;b&gt; &amp;amp; &eacute;", "<b> &amp; é"), ("<title>a</title> b <!-- c", "<title>a</title> b <!-- c"),
        ("two\n lines", "two lines"), ("", ""), ("R&D", "R&D"),
    ],
)  # fmt: skip
def test_no_text_of_wmt_sgml_is_lost(written, text, tmp_path):
    (tmp_path / "a.sgm").write_text(
        f'<srcset><doc>\n<SEG id="1">{written}</SEG><seg id="2">b</seg></doc></srcset>\n'
    )
    assert read_lines(tmp_path / "a.sgm") == [text, "b"]


@pytest.mark.parametrize("end", ['\n<seg id="2">b</seg></doc>', "</doc></srcset>"])
def test_a_segment_of_wmt_sgml_without_end_is_refused_with_its_line(end, tmp_path):
    (tmp_path / "a.sgm").write_text(f'<srcset><doc>\n<seg id="1">a{end}')
    with pytest.raises(FormatError, match=r"a\.sgm:2: .*</seg>"):
        read_lines(tmp_path / "a.sgm")


def test_files_of_other_languages_in_an_xliff_document_are_left_out(tmp_path, capsys):
    def file(source, target, *texts):
        units = "<trans-unit><source>{}</source><target>{}</target></trans-unit>".format(*texts)
        return f'<file source-language="{source}" target-language="{target}"><body>{units}</body></file>'

    content = (
        "<xliff>" + file("en", "de", "Dog", "Hund") + file("en", "fr", "Cat", "Chat")
        + file("fr", "en", "Oui", "Yes") + "</xliff>"
    )  # fmt: skip
    assert read(tmp_path, content) == [("Cat", "Chat"), ("Yes", "Oui")]
    assert "1 unit of en, de left out" in capsys.readouterr().out
    assert "en, de" in refusal(tmp_path, "<xliff>" + file("en", "de", "Dog", "Hund") + "</xliff>")


@pytest.mark.parametrize(
    ("content", "name"),
    [("en,fr\nNo,Non\nYes, I see,Oui\n", "a.csv"), ("en\tfr\nNo\tNon\nYes\tI see\tOui\n", "a.tsv")],
)
def test_a_row_that_is_longer_than_the_header_is_refused(content, name, tmp_path):
    assert "line 3: 3 columns, where the header has 2" in refusal(tmp_path, content, name=name)
    assert read(tmp_path, "en\tfr\nNo\tNon\t\n", "b.tsv") == [("No", "Non")]


def test_segments_without_numbers_are_told_by_their_place(tmp_path):
    content = (
        '<dataset><doc><src lang="en"><seg>One</seg><seg>Two</seg></src>'
        '<ref lang="fr"><seg>Un</seg><seg>Deux</seg></ref></doc></dataset>'
    )
    assert read(tmp_path, content) == [("One", "Un"), ("Two", "Deux")]
