"""Part 8: every file that holds JSON, with odd values in every field: one line, or a result."""

import hashlib
import io
import json
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

from seq2seq.decoding.resumable_output import ResumableOutput
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError
from seq2seq.experiments.report import print_rows
from seq2seq.plain_text import one_line
from seq2seq.runs.run_record import finished_scores
from seq2seq.runs.summary import summary
from seq2seq.storage.digests import file_digests, value_digest
from seq2seq.sweeps.comparison import as_csv, as_markdown, compare_runs, write_report
from seq2seq.tensorboard.plugin.views import _description
from seq2seq.tensorboard.record_format import MAGIC, RecordError, decode_record
from tests.torture.limits import limited
from tests.torture.odd import variants
from tests.torture.victims import log_of, run_child

CONTROLS = {chr(code) for code in [*range(32), *range(127, 160)]} - {"\n"}
Door = Callable[[bytes], str]


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Bring files with odd fields to the functions that read them."""
    run_dir = folder / "runs" / "run"
    if run_child(run_dir, ["data.tokenizer.name=word", "data.tokenizer.lowercase=true"]):
        raise AssertionError(log_of(run_dir).read_text())
    for name, value, door, part in [
        *_run_files(folder, run_dir),
        *_model_files(folder, run_dir / "model"),
        *_others(folder),
    ]:
        for what, content in variants(value, share * part, seed=len(name)):
            yield f"{name}, {what}", _judge(door, content)


def _judge(door: Door, content: bytes) -> list[str]:
    with limited() as wrong:
        wrong.extend(_opened(door, content))
    return wrong


def _opened(door: Door, content: bytes) -> list[str]:
    try:
        said = door(content)
    except (InputError, RecordError) as error:
        said = one_line(str(error))
        wrong = ["more than a line"] if "\n" in str(error) else []
        wrong += ["a line without end"] if len(said) > 1000 else []
    except Exception as error:
        return [f"{type(error).__name__}: {error!s:.300}"]
    else:
        wrong = []
    if CONTROLS & set(said):
        wrong.append(f"control signs: {said!r:.300}")
    return wrong


def _run_files(folder: Path, run_dir: Path) -> Iterator[tuple[str, dict, Door, float]]:
    """The files of a run, read beside an honest one."""
    honest, odd = folder / "compared" / "honest", folder / "compared" / "odd"
    for place in (honest, odd):
        shutil.copytree(run_dir, place)
    ledger = json.loads((odd / "ledger.json").read_text())
    other = ledger | {"fingerprint": "other", "seed": 2}
    other["config"] = other["config"] | {"name": "x", "seed": 2, "init_from": "=y"}
    row = json.loads((odd / "translations" / "test.jsonl").read_text().splitlines()[0])
    yield "ledger.json", other, _compared(odd / "ledger.json", honest.parent), 0.1
    (odd / "ledger.json").write_text(json.dumps(other))
    yield "test.jsonl", row, _compared(odd / "translations" / "test.jsonl", honest.parent), 1
    metrics = json.loads((run_dir / "metrics.json").read_text())

    def show(content: bytes) -> str:
        (odd / "metrics.json").write_bytes(content)
        return summary(finished_scores(odd) or {}, odd)

    yield "metrics.json", metrics, show, 1


def _compared(path: Path, folder: Path) -> Door:
    """Compare the runs; the honest one is always shown."""
    place, rest = path.parent, path.read_bytes().partition(b"\n")[2]
    calls = iter(range(1 << 30))

    def compare(content: bytes) -> str:
        lines = rest if path.suffix == ".jsonl" else b""
        (place / path.name).write_bytes(content + b"\n" + lines)
        report = compare_runs([folder])
        if not any(run.folder.name == "honest" for each in report.groups for run in each.runs):
            raise AssertionError("the honest run is not shown")
        if next(calls) % 50 == 0:
            write_report(report, folder.parent / "report")
        csv = as_csv(report)
        if any(cell[:1] in "=+@" for cell in csv.replace("\n", ",").split(",") if cell):
            raise AssertionError(f"a formula: {csv}")
        with redirect_stdout(io.StringIO()) as shown:
            print_rows(report.rows, report.notes)
        return shown.getvalue() + as_markdown(report) + csv

    return compare


def _model_files(folder: Path, model: Path) -> Iterator[tuple[str, dict, Door, float]]:
    """The files of a model; all digests are right, but where they are the odd field."""
    for name in ("model.json", "spec", "bounds", "source.json", "target.json", "model.safetensors"):
        copy = folder / f"model_{name}"
        shutil.copytree(model, copy)
        file = "model.json" if name in {"spec", "bounds"} else name
        weights = (model / "model.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", weights[:8])
        value = json.loads(
            weights[8 : 8 + length] if name == "model.safetensors" else (model / file).read_bytes()
        )
        if name in {"spec", "bounds"}:
            value = value[name]
        part = 0.15 if name == "model.safetensors" else 1
        yield name, value, _translated(copy, name, weights[8 + length :]), part


def _translated(copy: Path, name: str, tensors: bytes) -> Door:
    header = json.loads((copy / "model.json").read_text())

    def translate(content: bytes) -> str:
        if name in {"spec", "bounds"}:
            described = json.dumps(header | {name: "@"}).replace('"@"', content.decode("latin-1"))
            (copy / "model.json").write_text(_sealed(described, name))
        elif name == "model.json":
            (copy / name).write_bytes(content)
        else:
            sized = struct.pack("<Q", len(content)) + content + tensors
            (copy / name).write_bytes(sized if name.endswith("tensors") else content)
            (copy / "model.json").unlink()
            digests = {"sha256": file_digests(copy)}
            (copy / "model.json").write_text(json.dumps(header | digests))
        return Translator.load(copy).translate(["a dog"])[0].text

    return translate


def _sealed(described: str, name: str) -> str:
    """A header with the digest of its sizes or bounds, where they are JSON at all."""
    try:
        values = json.loads(described)
        return described.replace(values[f"{name}_sha256"], value_digest(values[name]))
    except (ValueError, RecursionError):
        return described


def _others(folder: Path) -> Iterator[tuple[str, dict, Door, float]]:
    output, progress = folder / "out", folder / "out.progress"
    options = {"--beam": 1, "model": ["ab"], "--alpha": 0.5}
    output.write_text("A\n")

    def resume(content: bytes) -> str:
        progress.write_bytes(content)
        with ResumableOutput(output, options, resume=True) as found:
            return str(found.num_lines)

    digest = hashlib.sha256(b"a\n").hexdigest()
    state = {"lines": 1, "bytes": 2, "input_sha256": digest, "conditions": options, "version": 1}
    yield "out.progress", state, resume, 1
    header = {"source": ["a", "b"], "target": ["c"], "score": -1.5, "bleu": 10.0}

    def record(content: bytes) -> str:
        inner = struct.pack("<I", len(content)) + content + bytes(4)
        return "".join(decode_record(MAGIC + b"\x01" + zlib.compress(inner)).source[:0])

    yield "attention record", header | {"alignment": [[0, 0], [1, 0]]}, record, 1
    tag = {"version": 1, "sentence": "s", "kind": "beam", "rank": 0, "text": "t"}
    yield "tag", tag, lambda content: str(len(_description(content))), 1
