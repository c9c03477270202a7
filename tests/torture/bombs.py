"""Part 5: texts that would fill the machine, and servers that never end: one line, and soon."""

import bz2
import gzip
import lzma
import random
import threading
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import ThreadingHTTPServer
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.evaluation.pharaoh import read_pharaoh
from seq2seq.text.corpus import Shard, read_lines, read_tab_separated
from seq2seq.text.download import Checksum, Patience, download
from seq2seq.text.huggingface import HubDataset, HubSplits
from seq2seq.text.lines import stream_lines
from seq2seq.text.shards import chunks
from seq2seq.text.vectors import read_vectors
from seq2seq.text.vocabulary import SPECIALS, Vocabulary
from tests.file_server import Files
from tests.torture.limits import limited
from tests.torture.victims import log_of, run_child, start, wait

MEBIBYTE = 1 << 20

COMPRESS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def _stream(path: Path) -> list[str]:
    with path.open("rb") as file:
        return list(stream_lines(file))


def _large(path: Path) -> list[str]:
    return [line for chunk in chunks([Shard(path, path)]) for line in chunk.texts()[0]]


def _vectors(path: Path) -> object:
    return read_vectors(path, Vocabulary([*SPECIALS, "a"]), 1)


def _dataset(path: Path) -> object:
    dataset = HubDataset(str(path.parent.absolute()), None, None, None, ("a", "b"))
    return HubSplits(dataset).pairs("split", "train")


READERS: dict[str, Callable[[Path], object]] = {
    "corpus": read_lines,
    "columns": read_tab_separated,
    "alignments": read_pharaoh,
    "store": _large,
    "translator": _stream,
    "vectors": _vectors,
    "dataset": _dataset,
}

BOMBS: dict[str, tuple[str, bytes, int]] = {
    "line.gz": ("gz", b"\0" * 64, 192),
    "line.bz2": ("bz2", b"a" * 64, 192),
    "line.xz": ("xz", b" " * 64, 192),
    "lines.gz": ("gz", b"\n" * 64, 192),
    "lines.xz": ("xz", b"a 1\n" * 16, 192),
    "words.bz2": ("bz2", b"the same sentence for ever .\n", 192),
}
"""Compression; what is repeated until it has 16 MiB; how often these are repeated: 3 GiB."""


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Every bomb for every reader and for programs; random texts; servers."""
    paths = list(_bombs(folder))
    cases = [(path, reader) for path in paths for reader in READERS]
    keep = max(round(1 / share), 1)
    for path, reader in cases[::keep]:
        name = f"{path.parent.name}, {reader}"
        if (path.name, reader) != ("pairs.zip", "translator"):  # zip is no way to send a stream
            yield name, _bounded(lambda path=path, reader=reader: READERS[reader](path), folder)
    for path in paths[:: min(keep, len(paths))]:
        yield f"{path.parent.name}, train.py", _trained(path, folder)
    generator = random.Random(11)
    for index in range(max(round(120 * share), 1)):
        yield f"text {index}", _random_text(generator, folder / "random")
    yield from _servers(folder / "server", generator, max(round(20 * share), 1))


def _bombs(folder: Path) -> Iterator[Path]:
    for name, (kind, unit, count) in BOMBS.items():
        piece = COMPRESS[kind](unit * (16 * MEBIBYTE // len(unit)))
        path = folder / name.replace(".", "_") / f"train.csv.{name}"
        path.parent.mkdir(parents=True)
        path.write_bytes(piece * count)
        yield path
    sparse = folder / "sparse" / "train.csv"
    sparse.parent.mkdir()
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    yield sparse
    for name, unit in (("zipped_line", b"\0"), ("zipped_lines", b"a\tb\n")):
        path = folder / name / "pairs.zip"
        path.parent.mkdir()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("pairs.txt", unit * (300 * MEBIBYTE // len(unit)))
        yield path


def _bounded(action: Callable[[], object], folder: Path) -> list[str]:
    """What is wrong with how a child refuses."""
    said = folder / "said"
    said.unlink(missing_ok=True)

    def refuse() -> int:
        try:
            action()
        except InputError as error:
            print(error)
            return 2
        return 0

    status = wait(start(refuse, said))
    text = said.read_text()
    right = status == 2 and text.count("\n") == 1
    return [] if right else [f"status {status}: {text[-1500:]}"]


def _trained(path: Path, folder: Path) -> list[str]:
    place = folder / "trained" / path.parent.name
    place.mkdir(parents=True)
    target = place / "target"
    target.write_text("a\n" * 20)
    run_dir = place / "runs" / "run"
    status = run_child(run_dir, [
        "data=parallel", f"data.train.source='{path}'", f"data.train.target='{target}'",
        "data.source_language=en", "data.target_language=fr", "data.validation.fraction=0.2",
        f"data.store='{place / 'store'}'",
    ])  # fmt: skip
    said = log_of(run_dir).read_text()
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    right = status == 2 and len(errors) == 1 and "Traceback" not in said
    return [] if right else [f"status {status}: {said[-1500:]}"]


def _random_text(generator: random.Random, folder: Path) -> list[str]:
    """A text near the bounds, which are said anew here, is read whole, or refused."""
    folder.mkdir(exist_ok=True)
    kind, longest = generator.choice(list(COMPRESS)), MEBIBYTE
    lines = [_words(generator) for _ in range(int(generator.paretovariate(0.4)) % 3000 + 1)]
    too_long = bomb = False
    match generator.randrange(4):
        case 0:  # a line of about the greatest length somewhere
            length = longest + generator.choice([-1, 0, 1, 2, 65_535, 65_536, 5 * MEBIBYTE])
            too_long = length > longest
            lines.insert(generator.randrange(len(lines) + 1), b"a" * length)
        case 1:  # more of the same than any text has
            bomb = kind != "plain"
            lines += [lines[0] * 9] * (12 * MEBIBYTE // (9 * len(lines[0])))
        case 2:  # large, and text
            lines *= 1 + MEBIBYTE // sum(map(len, lines))
    content = b"\n".join(lines) + b"\n" * generator.randrange(2) or b"\n"
    cut = generator.randrange(
        len(content) + 1
    )  # compressed files may be several, one after another
    path = folder / "text"
    path.write_bytes(COMPRESS[kind](content[:cut]) + COMPRESS[kind](content[cut:]))
    wrong = []
    for name in ("corpus", "store", "translator"):
        try:
            found = READERS[name](path)
            right = not (too_long or bomb) and "\n".join(found).encode() == content.removesuffix(
                b"\n"
            )
        except InputError as error:
            right = (too_long or bomb) and "\n" not in str(error)
        if not right:
            wrong.append(f"{name}: {kind}, {len(lines):,} lines, {too_long=}, {bomb=}")
    return wrong


def _words(generator: random.Random) -> bytes:
    return b" ".join(b"%x" % generator.getrandbits(40) for _ in range(generator.randrange(1, 30)))


FAULTS = ("", "truncated", "slow", "endless", "dripping", "no headers", "wrong bytes", "no range",
          "404", "503", "416")  # fmt: skip


def _servers(folder: Path, generator: random.Random, count: int) -> Iterator[tuple[str, list[str]]]:
    """Servers with faults in any order: the file or one line, and never more than it can be."""
    folder.mkdir()
    content = generator.randbytes(200_000)
    right = Checksum("sha256", sha256(content).hexdigest(), 250_000)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.content, server.faults, server.requests = {"/f": content}, [], []
    server.released = threading.Event()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/f"
    for index in range(count):
        faults = [generator.choice(FAULTS) for _ in range(6)]
        server.faults[:] = faults
        with limited() as wrong:
            wrong.extend(_fetched(address, folder / f"file{index}", right, content))
        sizes = [path.stat().st_size for path in folder.iterdir()]
        if max(sizes, default=0) > 250_000 + (1 << 16):
            wrong.append(f"{sizes} bytes")
        yield f"server {index}: {', '.join(faults)}", wrong
    server.released.set()
    server.shutdown()


def _fetched(address: str, target: Path, right: Checksum, content: bytes) -> list[str]:
    patience = Patience(attempts=3, pause=0.01, timeout=0.5)
    try:
        download(address, target, right, progress=lambda *_: None, patience=patience)
    except InputError as error:
        return ["more than a line"] if "\n" in str(error) else []
    return [] if target.read_bytes() == content else ["another content"]
