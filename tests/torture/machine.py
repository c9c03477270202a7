"""What the machine may do to a run: no space, no memory, no folder, two at once, a queue."""

import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from seq2seq.training.checkpoint_file import newest_checkpoint
from seq2seq.training.module import TranslationModule
from tests.torture.comparison import differences, left_by
from tests.torture.signals import wait_for
from tests.torture.victims import command, log_of, main, run_child, start, wait

Act = Callable[[], float | None]

NAN_SAID = "step 11: the gradient is NaN or infinite on training sentences"


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Every case, each with what is wrong about it; or a share of them."""
    whole = folder / "undisturbed" / "run"
    run_child(whole)
    cases: dict[str, Callable[[], list[str]]] = {
        "full disk": lambda: _acted(folder / "full", whole, _fill_the_disk, "free some space"),
        "folder removed": lambda: _folder_removed(folder / "removed" / "run"),
        "event file removed": lambda: _events_removed(folder / "events" / "run"),
        "other conditions": lambda: _other_conditions(whole),
        "NaN": lambda: _acted(folder / "nan", whole, _spoil_the_loss, NAN_SAID),
        "NaN, left out": lambda: _left_out(folder / "left_out" / "run"),
        "no folder": lambda: _no_folder(folder),
        "SLURM": lambda: _requeued(folder / "slurm" / "run", whole),
        "no memory": lambda: _acted(folder / "memory", whole, _end_the_memory, "batch of 8 sent"),
        "two at once": lambda: _two_at_once(folder / "two" / "run"),
        "SIGUSR1": lambda: _asked(folder / "asked" / "run", whole),
        "all damaged": lambda: _all_damaged(folder / "damaged" / "run"),
    }
    keep = max(round(1 / share), 1)
    for index, (name, judge) in enumerate(cases.items()):
        if index % keep == 0:
            yield name, judge()


def _acted(folder: Path, whole: Path, act: Act, words: str) -> list[str]:
    run_dir = folder / "run"
    status = run_child(run_dir, hook=lambda: _at_step(10, act))
    return _refused(status, 1, words, run_dir) or _continues(run_dir, whole)


def _at_step(step: int, act: Act) -> None:
    """In the child: act once, while that step is computed."""
    original = TranslationModule.training_step

    def training_step(self, batch, batch_index):
        loss = original(self, batch, batch_index)
        if self.global_step == step:
            result = act()
            loss = loss if result is None else loss * result
        return loss

    TranslationModule.training_step = training_step


def _fill_the_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def _spoil_the_loss() -> float:
    return float("nan")


def _end_the_memory() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")


def _refused(found: int, status: int, words: str, run_dir: Path) -> list[str]:
    said = log_of(run_dir).read_text()
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    right = found == status and len(errors) == 1 and words in errors[0]
    return [] if right and "Traceback" not in said else [f"exit status {found}: {said[-1500:]}"]


def _continues(run_dir: Path, whole: Path) -> list[str]:
    """The checkpoint before is intact, and the same command ends as if nothing had been."""
    found = newest_checkpoint(run_dir / "checkpoints")
    if found is None or found[0].name != "last.ckpt":
        return ["the last checkpoint is not intact"]
    if run_child(run_dir):
        return [log_of(run_dir).read_text()[-1500:]]
    return differences(left_by(whole), left_by(run_dir))


def _left_out(run_dir: Path) -> list[str]:
    options = ["trainer.skip_nonfinite=1"]
    status = run_child(run_dir, options, hook=lambda: _at_step(10, _spoil_the_loss))
    said = log_of(run_dir).read_text()
    right = status == 0 and "step left out (1 of 1)" in said
    return [] if right else [f"exit status {status}: {said[-1500:]}"]


def _folder_removed(run_dir: Path) -> list[str]:
    act = lambda: shutil.rmtree(run_dir)  # noqa: E731
    status = run_child(run_dir, hook=lambda: _at_step(10, act))
    return _refused(status, 1, "cannot be written to", run_dir)


def _events_removed(run_dir: Path) -> list[str]:
    def act() -> None:
        for path in run_dir.glob("events*"):
            path.unlink()

    status = run_child(run_dir, hook=lambda: _at_step(10, act))
    there = list(run_dir.glob("events*")) and (run_dir / "metrics.json").exists()
    return [] if status == 0 and there else [log_of(run_dir).read_text()[-1500:]]


def _no_folder(folder: Path) -> list[str]:
    file = folder / "file"
    file.write_text("")
    log = folder / "no_folder"
    options = [*command(folder / "x" / "run"), f"runs_dir={file}"]
    status = wait(start(lambda: main(options), log.with_name("run.out")))
    return _refused(status, 2, "cannot be made", log.with_name("run"))


def _two_at_once(run_dir: Path) -> list[str]:
    options = command(run_dir, ["trainer.max_epochs=400"])
    first = start(lambda: main(options), log_of(run_dir))
    wait_for(run_dir / "checkpoints" / "last.ckpt")
    second = run_dir.with_name("second")
    status = wait(start(lambda: main(options), log_of(second)))
    os.kill(first, signal.SIGKILL)
    wait(first)
    return _refused(status, 2, "is being trained by another process", second)


def _asked(run_dir: Path, whole: Path) -> list[str]:
    act = lambda: os.kill(os.getpid(), signal.SIGUSR1)  # noqa: E731
    status = run_child(run_dir, hook=lambda: _at_step(10, act))
    if status or "step 11: checkpoint written" not in log_of(run_dir).read_text():
        return [f"exit status {status}: {log_of(run_dir).read_text()[-1500:]}"]
    return differences(left_by(whole), left_by(run_dir))


def _requeued(run_dir: Path, whole: Path) -> list[str]:
    called = run_dir.with_name("called")
    tools = run_dir.with_name("bin")
    tools.mkdir(parents=True)
    (tools / "scontrol").write_text(f'#!/bin/sh\necho "$@" > {called}\n')
    (tools / "scontrol").chmod(0o755)

    def hook() -> None:
        os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
        os.environ |= {"SLURM_JOB_ID": "77", "SLURM_NTASKS": "1", "SLURM_PROCID": "0"}
        os.environ |= {"SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_JOB_NAME": "train"}
        _at_step(10, lambda: os.kill(os.getpid(), signal.SIGUSR1))

    status = run_child(run_dir, hook=hook)
    if status != 128 + signal.SIGUSR1 or called.read_text() != "requeue 77\n":
        return [f"exit status {status}: {log_of(run_dir).read_text()[-1500:]}"]
    return _continues(run_dir, whole)


def _all_damaged(run_dir: Path) -> list[str]:
    run_child(run_dir)
    (run_dir / "metrics.json").unlink()
    for path in (run_dir / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:-5])
    return _refused(run_child(run_dir), 1, "all checkpoints are damaged", run_dir)


def _other_conditions(whole: Path) -> list[str]:
    run_dir = whole.parents[1] / "conditions" / "run"
    shutil.copytree(whole, run_dir)
    (run_dir / "metrics.json").unlink()
    before = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    wrong = []
    for override, words in {
        "data.tokenizer.min_frequency=2": "data.tokenizer.min_frequency=1, not 2",
        "data.seed=2": "another corpus",
        "model.num_layers=2": "model.num_layers=1, not 2",
        "seed=2": "resume.force=true",
        "resume=never": "resume=never",
    }.items():
        log_of(run_dir).unlink(missing_ok=True)
        wrong += _refused(run_child(run_dir, [override]), 2, words, run_dir)
        if before != {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}:
            wrong.append(f"{override}: refused, but the folder was changed")
    return wrong
