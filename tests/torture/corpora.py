"""Part 5: odd corpora, each with a one-line message or a defined result."""

import gzip
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tests.torture.victims import log_of, run_child

LINES = "".join(f"the cat number {n} sleeps .\n" for n in range(20))
FRENCH = "".join(f"le chat numéro {n} dort .\n" for n in range(20))
BOTH = LINES.encode(), FRENCH.encode()

TRAINS, REFUSED = 0, 2
SCORES = "validation  BLEU"
TOO_FEW = "too few"

CORPORA: dict[str, tuple[bytes, bytes, int, str]] = {
    "ordinary": (*BOTH, TRAINS, SCORES),
    "crlf": (LINES.replace("\n", "\r\n").encode(), BOTH[1], TRAINS, SCORES),
    "lone carriage returns": (LINES.replace("\n", "\r").encode(), BOTH[1], REFUSED, "lines"),
    "byte order mark": (b"\xef\xbb\xbf" + BOTH[0], BOTH[1], TRAINS, SCORES),
    "two byte order marks": (b"\xef\xbb\xbf" * 2 + BOTH[0], BOTH[1], TRAINS, SCORES),
    "utf-16": (LINES.encode("utf-16"), BOTH[1], REFUSED, "is not UTF-8"),
    "latin-1": (BOTH[0], FRENCH.encode("latin-1"), REFUSED, "line 1: byte 0xe9 is not UTF-8"),
    "nul": (LINES.replace("cat", "c\0t").encode(), BOTH[1], TRAINS, SCORES),
    "only nul": (b"\0\n" * 20, BOTH[1], REFUSED, TOO_FEW),
    "line separators": (LINES.replace("cat", "c\u2028t").encode(), BOTH[1], TRAINS, SCORES),
    "next line": (LINES.replace("cat", "c\x85t\x0b\x0c").encode(), BOTH[1], TRAINS, SCORES),
    "decomposed": (BOTH[0], unicodedata.normalize("NFD", FRENCH).encode(), TRAINS, SCORES),
    "composed": (BOTH[0], unicodedata.normalize("NFC", FRENCH).encode(), TRAINS, SCORES),
    "tabs": (LINES.replace(" ", "\t").encode(), BOTH[1], TRAINS, SCORES),
    "gzip": (gzip.compress(BOTH[0]), gzip.compress(BOTH[1]), TRAINS, SCORES),
    "cut gzip": (gzip.compress(BOTH[0])[:-9], BOTH[1], REFUSED, "damaged gzip"),
    "gzip of nothing": (gzip.compress(b""), BOTH[1], REFUSED, "is empty"),
    "gzip header only": (b"\x1f\x8b", BOTH[1], REFUSED, "damaged gzip"),
    "zero bytes": (b"", BOTH[1], REFUSED, "is empty"),
    "both empty": (b"", b"", REFUSED, "is empty"),
    "one newline": (b"\n", b"\n", REFUSED, ""),
    "only blank lines": (b" \n\t\n\n" * 7, b"x\ny\nz\n" * 7, REFUSED, "no training pair is left"),
    "one line short": (BOTH[0], BOTH[1].rpartition(b"le")[0], REFUSED, "lines"),
    "no final newline": (BOTH[0].rstrip(), BOTH[1].rstrip(), TRAINS, SCORES),
    "one sentence": (b"a cat .\n", b"un chat .\n", REFUSED, TOO_FEW),
    "two sentences": (b"a cat .\na dog .\n", b"un chat .\nun chien .\n", TRAINS, SCORES),
    "one token": (b"cat\ndog\n", b"chat\nchien\n", TRAINS, SCORES),
    "one sentence again and again": (b"a cat .\n" * 1000, b"un chat .\n" * 1000, REFUSED, TOO_FEW),
    "all too long": (b"a " * 200 + b"\n" + b"b " * 200 + b"\n", b"a\nb\n", REFUSED, "pair is left"),
    "specials as words": (LINES.replace("cat", "<eos> <pad>").encode(), BOTH[1], TRAINS, SCORES),
    "space marks": (LINES.replace("cat", "\u2581").encode(), BOTH[1], TRAINS, SCORES),
    "emoji and marks": ("🦊\u200d\u0301\ufeff a\n".encode() * 9 + b"b\n", b"x\n" * 10, TRAINS, ""),
    "right to left": (("שלום \u202eabc\n" * 9 + "b\n").encode(), b"x\n" * 10, TRAINS, ""),
    "binary": (bytes(range(256)) * 9, BOTH[1], REFUSED, "is not UTF-8"),
    "surrogates": (LINES.replace("cat", "\ud800").encode("utf-8", "surrogatepass"), BOTH[1],
                   REFUSED, "is not UTF-8"),
}  # fmt: skip
"""Source file, target file, exit status, and a part of what is said."""


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Train on each; words and subwords take turns. Then wrong kinds of files."""
    keep = max(round(1 / share), 1)
    for index, (name, (source, target, status, words)) in enumerate(CORPORA.items()):
        if index % keep:
            continue
        place = folder / f"corpus{index}"
        place.mkdir(parents=True)
        (place / "a.en").write_bytes(source)
        (place / "a.fr").write_bytes(target)
        tokenizer = ("word", "unigram")[index % 2] if status == REFUSED else "word"
        yield name, _train(place, place / "a.en", place / "a.fr", tokenizer, status, words)
    yield from _odd_files(folder / "odd")


def _odd_files(folder: Path) -> Iterator[tuple[str, list[str]]]:
    folder.mkdir(parents=True)
    good = folder / "good.fr"
    good.write_bytes(BOTH[1])
    (folder / "folder.en").mkdir()
    (folder / "loop.en").symlink_to(folder / "loop.en")
    refused = {
        folder / "folder.en": "is a folder",
        folder / "absent.en": "does not exist",
        folder / "loop.en": "cannot be read",
        Path("/dev/null"): "is empty",
        folder / ("x" * 300): "cannot be read",
    }
    for index, (path, words) in enumerate(refused.items()):
        place = folder / f"place{index}"
        yield path.name[:20], _train(place, path, good, "word", REFUSED, words)
    warned = "WARNING: source and target are the same"
    copy = good.with_name("copy.fr")
    shutil.copyfile(good, copy)
    yield "same on both sides", _train(folder / "same", good, copy, "word", TRAINS, warned)
    yield "one file twice", _train(folder / "twice", good, good, "word", REFUSED, "give two files")


def _train(
    place: Path, source: Path, target: Path, tokenizer: str, status: int, words: str
) -> list[str]:
    overrides = [
        "data=parallel", f"data.train.source='{source}'", f"data.train.target='{target}'",
        "data.source_language=en", "data.target_language=fr", "data.validation.fraction=0.2",
        f"data.tokenizer.name={tokenizer}", "data.tokenizer.joint=false", "trainer.max_steps=2",
    ]  # fmt: skip
    run_dir = place / "runs" / "run"
    found = run_child(run_dir, overrides)
    said = log_of(run_dir).read_text()
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if found != status or words not in said or len(errors) != (status == REFUSED):
        return [f"exit status {found}: {said[-1500:]}"]
    return ["a traceback"] if "Traceback" in said else []
