"""Part 9: checkpoints with the right digest and something odd inside: one line, or a training."""

import json
import math
import random
import shutil
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from seq2seq.errors import InputError
from seq2seq.runs import fit, resuming
from seq2seq.storage.typed_json import converted
from seq2seq.training.checkpoint_file import read_checkpoint, write_checkpoint
from tests.torture.odd import paths, replaced
from tests.torture.victims import log_of, run_child

ODD = (
    None, True, 0, -1, -2, 1, 2**31, 2**53 + 1, 2**64, 10**400, 0.5, -0.5, 1e308, math.nan,
    math.inf, -math.inf, 1 + 2j, "", "x", "\x1b[31m", "[/x]", b"x", "a" * 100_000, [], [1], (),
    (1, 2), {}, {"x": 1}, {1: {}}, set(), OrderedDict(), torch.Size([1]), torch.float32,
    torch.zeros(0), torch.tensor(math.nan), torch.zeros(3, dtype=torch.int64),
    torch.zeros(1).expand(10**12), torch.zeros(2, 3).to_sparse(),
    torch.zeros(2, dtype=torch.complex64),
)  # fmt: skip
SHARE = 0.1
"""Of the cases there are: they are tens of thousands."""

RECORDED = "judged.json"
EVERY = 40
"""Of so many that pass every comparison, and are odd outside the conditions, one is trained on."""

STYLES = {
    "cosine": ["optim.schedule=cosine", "trainer.skip_nonfinite=1"],
    "plateau": [
        "optim.schedule=plateau", "optim.warmup_steps=0", "optim.averaging=ema",
        "trainer.early_stopping=3", "trainer.accumulate=3", "trainer.checkpoint_every=1",
        "trainer.max_steps=5",
    ],
    "sgd": ["optim.optimiser=sgd", "trainer.monitor=last"],
}  # fmt: skip


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Make checkpoints odd field by field, and in two fields."""
    for name, overrides in list(STYLES.items())[: max(round(len(STYLES) * share), 1)]:
        honest = folder / name / "run"
        if run_child(honest, overrides):
            raise AssertionError(log_of(honest).read_text())
        (honest / "metrics.json").unlink()
        more = [*overrides[:-1], "trainer.max_steps=9"] if name == "plateau" else overrides
        judged = folder / name / RECORDED
        status = run_child(
            honest,
            [*more, "trainer.max_epochs=4"],
            hook=lambda judged=judged: _judge_in_place(judged, share * SHARE),
            most_seconds=1800,
        )
        if status or not judged.exists():
            raise AssertionError(log_of(honest).read_text())
        found = json.loads(judged.read_text())
        yield from ((f"{name}, {what}", wrong) for what, wrong in found["refused"])
        number = 0
        for what, changes in found["accepted"]:
            number += changes[0][0][0] != "conditions"
            wrong = (
                _trained(folder / name, number, changes, more)
                if number % EVERY == EVERY - 1
                else []
            )
            yield f"{name}, {what}", wrong


def _judge_in_place(judged: Path, share: float) -> None:
    """In a training that continues, compare odd copies of its checkpoint before it goes on."""
    compare = fit.require_same_form

    def compare_all(content: dict[str, Any], *arguments: Any, **options: Any) -> None:
        refused, accepted = [], []
        for what, changes in _cases(content, share):
            odd = _changed(content, changes)
            try:
                with resuming.continuable(Path("last.ckpt"), odd):
                    converted(odd, resuming._Checkpoint)
                    compare(odd, *arguments, **options)
                accepted.append((what, changes))
            except InputError as error:
                wrong = ["more than a line"] if "\n" in str(error) or len(str(error)) > 600 else []
                refused.append((what, wrong))
            except Exception as error:
                refused.append((what, [f"{type(error).__name__}: {error!s:.300}"]))
        places = [(what, [(path, place) for path, place in each]) for what, each in accepted]
        judged.write_text(json.dumps({"refused": refused, "accepted": places}))
        compare(content, *arguments, **options)

    fit.require_same_form = compare_all


def _cases(content: dict[str, Any], share: float) -> Iterator[tuple[str, list]]:
    """What is odd: places in the checkpoint, and in `ODD`; None to leave the place out."""
    generator = random.Random(9)
    places = [*range(len(ODD)), None]
    cases = [(path, place) for path in paths(content) for place in places]
    for path, place in generator.sample(cases, max(round(len(cases) * share), 1)):
        odd_one = "absent" if place is None else repr(ODD[place])[:30]
        what = f"{'.'.join(map(str, path))}: {odd_one}"
        yield what, [(path, place)]
        other, second = generator.choice(cases)
        if other[: len(path)] != path and path[: len(other)] != other:
            yield f"{what}, and {'.'.join(map(str, other))}", [(path, place), (other, second)]


def _changed(content: dict[str, Any], changes: list) -> dict[str, Any]:
    for path, place in sorted(changes, key=lambda change: repr(change[0]), reverse=True):
        odd = None if place is None else ODD[place]
        content = replaced(content, tuple(path), odd, leave_out=place is None)
    return content


def _trained(folder: Path, number: int, changes: list, overrides: list[str]) -> list[str]:
    """Go on from such a checkpoint: whatever becomes of it, it is no traceback."""
    run_dir = folder / f"odd{number}" / "run"
    shutil.copytree(folder / "run", run_dir, ignore=shutil.ignore_patterns("metrics.json", "model"))
    last = run_dir / "checkpoints" / "last.ckpt"
    write_checkpoint(last, _changed(read_checkpoint(last), changes))
    status = run_child(run_dir, [*overrides, "trainer.max_epochs=5"])
    said = log_of(run_dir).read_text()
    shutil.rmtree(run_dir)
    return [said[-1500:]] if "Traceback" in said or status not in {0, 1, 2} else []
