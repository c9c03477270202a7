"""Part 7: logs of anybody in the Attention tab and its page: answers and pages, small and soon."""

import json
import math
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tensorboard.backend.application import TensorBoardWSGIApp
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from torch.utils.tensorboard import SummaryWriter
from werkzeug.test import Client

from seq2seq.errors import InputError
from seq2seq.tensorboard.export import export_run
from seq2seq.tensorboard.records import log_attention
from tests.loaders import PLUGINS, flags_of, provider_of
from tests.torture import odd
from tests.torture.limits import limited

ROUTE = "/data/plugin/attention"
MOST_BYTES, MOST_PAGE = 1 << 27, 1 << 28
DESCRIPTION = {"version": 1, "sentence": "s", "kind": "k", "rank": 0, "text": "x"}
HEADER = {
    "source": ["a", "b"], "target": ["c"], "score": -1.0, "bleu": 5.0, "alignment": [[0, 0]],
}  # fmt: skip
NAMES = (
    "constructor", "__proto__", "toString", "<script>alert(1)</script>", "</script>", "<!--",
    "../..", "a\0b", "\x1b[31m", "\u202e", "🦊" * 90, "", " ", "%2e%2e", "a&tag=b", "NaN",
)  # fmt: skip
WALL_TIMES = (math.nan, math.inf, -math.inf, 1e308, -1.0, 0.0)
STEPS = (0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))


def packed(header: bytes, planes: bytes, version: int = 1) -> bytes:
    """The bytes of a record."""
    content = struct.pack("<I", len(header)) + header + planes
    return b"ATTN" + bytes([version]) + zlib.compress(content)


GOOD = packed(json.dumps(HEADER).encode(), bytes(4))
WIDE = packed(
    json.dumps(
        HEADER | {"source": ["a"] * 2048, "target": ["b"] * 2048, "alignment": None}
    ).encode(),
    bytes(2 * 2048**2),
)
LINKED = packed(json.dumps(HEADER | {"alignment": [[0, 0]] * 10**6}).encode(), bytes(4))
TENSORS: dict[str, Callable[[], TensorProto]] = {
    "none": lambda: TensorProto(dtype=7),
    "two": lambda: TensorProto(dtype=7, string_val=[GOOD, GOOD]),
    "two of shape 2": lambda: TensorProto(
        dtype=7, string_val=[GOOD, GOOD], tensor_shape=_shape(2)
    ),
    "one of shape 1": lambda: TensorProto(dtype=7, string_val=[GOOD], tensor_shape=_shape(1)),
    "one of shape 1000": lambda: TensorProto(dtype=7, string_val=[b"x"], tensor_shape=_shape(1000)),
    "one of no shape": lambda: TensorProto(dtype=7, string_val=[GOOD], tensor_shape=_shape(0)),
    "negative shape": lambda: TensorProto(dtype=7, string_val=[GOOD], tensor_shape=_shape(-2)),
    "number": lambda: TensorProto(dtype=1, float_val=[1.0]),
    "numbers": lambda: TensorProto(dtype=3, int_val=[1, 2], tensor_shape=_shape(2)),
    "content": lambda: TensorProto(dtype=1, tensor_content=b"abc", tensor_shape=_shape(1)),
    "no type": lambda: TensorProto(string_val=[GOOD]),
    "odd type": lambda: TensorProto(dtype=99, string_val=[GOOD]),
    "text": lambda: TensorProto(dtype=7, string_val=[b"no record"]),
    "later version": lambda: TensorProto(dtype=7, string_val=[packed(b"{}", b"", version=2)]),
    "long zeros": lambda: TensorProto(dtype=7, string_val=[packed(b"{}", bytes(1 << 26))]),
    "many links": lambda: TensorProto(dtype=7, string_val=[LINKED]),
    "deep": lambda: TensorProto(dtype=7, string_val=[packed(b"[" * 10**6, b"")]),
    "wide": lambda: TensorProto(dtype=7, string_val=[WIDE]),
}  # fmt: skip


def _shape(size: int) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size)])


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Logs with one odd thing each, with one drawn at random, and routes nobody offers."""
    cases = list(_cases())
    keep = max(round(1 / share), 1)
    for index, (name, values) in enumerate(cases[::keep]):
        yield name, _judge(folder / f"case{index}", values)
    variants = list(_variants(share))
    for index in range(0, len(variants), 40):  # a log of forty odd tags
        some = variants[index : index + 40]
        wrong = _judge(folder / f"log{index}", [value for _, value in some])
        for name, _ in some:
            yield name, wrong


Value = tuple[str, bytes, TensorProto, int, float]
"""Tag, what it says of itself, its tensor, step and time."""


def _cases() -> Iterator[tuple[str, list[Value]]]:
    plain, good = json.dumps(DESCRIPTION).encode(), TENSORS["one of no shape"]()
    for name, tensor in TENSORS.items():
        yield f"tensor {name}", [("odd", plain, tensor(), 1, 1.0)]
    for wall_time in WALL_TIMES:
        yield f"time {wall_time}", [("odd", plain, _record(GOOD), 1, wall_time)]
    for step in STEPS:
        yield f"step {step}", [("odd", plain, _record(GOOD), step, 1.0)]
    for name in NAMES:
        about = json.dumps(DESCRIPTION | {"kind": name, "sentence": name, "text": name}).encode()
        yield f"name {name[:20]!r}", [(name or "x", about, _record(GOOD), 1, 1.0)]
    yield "forty wide ones", [("odd", plain, _record(WIDE), step, 1.0) for step in range(40)]
    yield "damaged ones", [("odd", plain, _record(b"ATTN\x01x"), step, 1.0) for step in range(5000)]
    yield "many tags", [(f"tag{number}", plain, good, 1, 1.0) for number in range(2000)]


def _record(content: bytes) -> TensorProto:
    return TensorProto(dtype=7, string_val=[content])


def _variants(share: float) -> Iterator[tuple[str, Value]]:
    generator = random.Random(5)
    for name, content in odd.variants(DESCRIPTION, share, 6):
        yield f"description {name}", ("", content, _record(GOOD), 1, 1.0)
    about = json.dumps(DESCRIPTION).encode()
    for name, content in odd.variants(HEADER, share, 7):
        yield f"header {name}", ("", about, _record(packed(content, bytes(4))), 1, 1.0)
    for number in range(max(round(200 * share), 1)):
        damaged = bytearray(GOOD)
        for _ in range(generator.randrange(1, 4)):
            damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        content = bytes(damaged[: generator.randrange(1, 2 * len(damaged))])
        value = ("", about, _record(content), generator.choice(STEPS), generator.choice(WALL_TIMES))
        yield f"damage {number}", value


def _judge(folder: Path, values: list[Value]) -> list[str]:
    """What is wrong with index, views, routes and page of a log with these, and with a good tag."""
    _write(folder / "run", values)
    with limited() as wrong:
        wrong.extend(_shown(folder) + _page(folder))
    return wrong


def _shown(folder: Path) -> list[str]:
    flags = flags_of(folder)
    wrong: list[str] = []
    with provider_of("slow", flags) as provider:
        client = Client(TensorBoardWSGIApp(flags, PLUGINS, provider))
        index = _answer(client, "index", {}, wrong)
        tags = [tag["tag"] for run in index.get("runs", ()) for tag in run["tags"]]
        for tag in tags[:50]:
            view = _answer(client, "view", {"run": "run", "tag": tag}, wrong)
            for step in {*view.get("steps", ())[:2], 7}:
                query = {"run": "run", "tag": tag, "step": str(step)}
                _answer(client, "view", query, wrong)
            if tag == "good/forced" and len(view.get("frames", ())) != 1:
                wrong.append("the good record is not shown")
    if "good/forced" not in tags:
        wrong.append("the good tag is not listed")
    return wrong


def _write(folder: Path, values: list[Value]) -> None:
    with SummaryWriter(str(folder)) as writer:
        log_attention(writer, "good", [[1.0]], ["a"], ["b"], 1)
        for number, (tag, content, tensor, step, wall_time) in enumerate(values):
            about = SummaryMetadata.PluginData(plugin_name="attention", content=content)
            metadata = SummaryMetadata(plugin_data=about, data_class=2)
            value = Summary.Value(tag=tag or f"odd{number}", metadata=metadata, tensor=tensor)
            event = Event(step=step, wall_time=wall_time, summary=Summary(value=[value]))
            writer.file_writer.event_writer.add_event(event)


def _answer(client: Client, route: str, query: dict[str, str], wrong: list[str]) -> dict[str, Any]:
    """A JSON answer that a browser can read, of a bounded size."""
    answer = client.get(f"{ROUTE}/{route}", query_string=query)
    if answer.status_code != 200 or len(answer.data) > MOST_BYTES:
        wrong.append(f"{route} {query}: {answer.status_code}, {len(answer.data):,} bytes")
        return {}
    try:
        return json.loads(answer.text, parse_constant=_refuse)
    except ValueError as error:
        wrong.append(f"{route} {query}: {error}")
        return {}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} in JSON")


def _page(folder: Path) -> list[str]:
    try:
        content = export_run(folder)
    except InputError as error:
        return [f"no page: {error}"]
    except Exception as error:
        return [f"{type(error).__name__}: {error!s:.300}"]
    scripts = content.count("<script"), content.count("</script")
    is_whole = scripts == (2, 2) and "<!--" not in content and len(content) < MOST_PAGE
    return [] if is_whole else [f"{len(content):,} bytes, {scripts} scripts"]
