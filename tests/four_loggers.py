"""One run with every logger leaves the same scalars in all: `make loggers`, which installs them.

python -m tests.four_loggers
"""

import csv
import json
import struct
import sys
import tempfile
from pathlib import Path

from mlflow.tracking import MlflowClient
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto.wandb_internal_pb2 import Record

import seq2seq

STEP = "trainer/global_step"


def of_tensorboard(run):
    events = EventAccumulator(str(run), size_guidance={"scalars": 0}, purge_orphaned_data=False)
    events.Reload()
    pictures = {tag: len(events.Images(tag)) for tag in events.images.Keys()}
    scalars = {
        tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.scalars.Keys()
    }
    return scalars, pictures


def of_csv(run):
    found = {}
    with (run / "metrics.csv").open() as file:
        for row in csv.DictReader(file):
            step = int(row.pop("step"))
            for tag, value in row.items():
                if value:
                    found.setdefault(tag, []).append((step, float(value)))
    return found, {}


def of_mlflow(run):
    client = MlflowClient(f"sqlite:///{run.parent / 'mlflow.db'}")
    (logged,) = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert logged.data.params["attention.kind"] == "global"
    assert logged.info.status == "FINISHED"
    series = {
        tag: [(e.step, e.value) for e in client.get_metric_history(logged.info.run_id, tag)]
        for tag in logged.data.metrics
    }
    files = [file.path for file in client.list_artifacts(logged.info.run_id, "images")]
    assert files
    assert not Path("mlruns").exists()
    return series, files


def records_of(content):
    """The records of an offline run: a log as LevelDB has it, after seven bytes."""
    place, parts = 7, b""
    while place + 7 <= len(content):
        room = 2**15 - place % 2**15
        if room < 7:
            place += room
            continue
        _, size, kind = struct.unpack_from("<IHB", content, place)
        if not kind:
            return
        parts += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in {1, 4}:  # whole, or the last part
            record, parts = Record.FromString(parts), b""
            yield record


def of_wandb(run):
    (path,) = run.glob("wandb/offline-run-*/*.wandb")
    series, pictures = {}, {}
    for record in records_of(path.read_bytes()):
        items = [((item.key, *item.nested_key), item.value_json) for item in record.history.item]
        row = {"/".join(filter(None, key)): json.loads(value) for key, value in items}
        step = row.pop(STEP, None)
        for tag, value in row.items():
            picture, _, part = tag.rpartition("/")
            if part == "_type":
                pictures[picture] = pictures.get(picture, 0) + 1
            elif tag[0] != "_" and f"{picture}/_type" not in row:
                series.setdefault(tag, []).append((step, value))
    return series, pictures


def differences(expected, found):
    """Tags whose steps or values differ; TensorBoard's are in float32."""
    for tag in sorted(expected.keys() | found.keys()):
        one, other = sorted(expected.get(tag, [])), sorted(found.get(tag, []))
        close = all(abs(a[1] - b[1]) <= 1e-6 * abs(b[1]) for a, b in zip(one, other, strict=False))
        if [step for step, _ in one] != [step for step, _ in other] or not close:
            yield f"{tag}: {len(one)} values in TensorBoard, {len(other)} here"


def main():
    """Train, read, compare."""
    with tempfile.TemporaryDirectory(prefix="four loggers ") as folder:
        overrides = ("debug=fast", "logger=[tensorboard,csv,mlflow,wandb]", "trainer.log_every=1")
        run = seq2seq.train(*overrides, "trainer.max_epochs=2", f"runs_dir='{folder}'").folder
        scalars, pictures = of_tensorboard(run)
        print(f"tensorboard {len(scalars)} scalars, {sum(pictures.values())} pictures")
        wrong = []
        for name, read in (("csv", of_csv), ("mlflow", of_mlflow), ("wandb", of_wandb)):
            others, shown = read(run)
            print(f"{name:<11} {len(others)} scalars, pictures of {len(shown)} names")
            wrong += [f"{name}: {line}" for line in differences(scalars, others)]
            if name == "wandb" and shown != pictures:
                wrong.append(f"wandb: pictures {shown}, not {pictures}")
    print("\n".join(wrong) or "the same in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
