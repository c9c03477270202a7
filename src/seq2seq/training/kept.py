"""Which checkpoint is kept, and why a training ended."""

import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch

from lightning_exact_resume import ResumeState, callbacks_of, lengths, out_of_time, read_checkpoint
from seq2seq.common.progress import warn
from seq2seq.common.written import claim
from seq2seq.training.resume import START_AGAIN, in_own_words


def judge_of(trainer: pl.Trainer) -> Any:
    """Return the first callback that has kept a checkpoint for its score; None if none has."""
    judges = (each for each in trainer.checkpoint_callbacks if getattr(each, "monitor", None))
    return next((each for each in judges if Path(getattr(each, "best_model_path", "")).is_file()), None)


@in_own_words(START_AGAIN)
def checkpoint_to_keep(trainer: pl.Trainer, *last: Path) -> dict[str, Any] | None:
    """Return the checkpoint of the model to keep: ``best.ckpt``, of the first callback that compares scores.

    Without one, that of the last step. None says that the weights of the module are to be kept: without checkpoints, or
    if a callback has changed them after the last one.

    Args:
        trainer: After `fit`.
        last: Where the checkpoint of the last step may be.
    """
    found_last = (read_checkpoint(path) for path in last if path.is_file())
    of_last_step = next((each for each in found_last if each["global_step"] == trainer.global_step), None)
    is_changed = of_last_step is not None and _is_changed(trainer, of_last_step["state_dict"])
    if (judge := judge_of(trainer)) is None:
        return None if is_changed else of_last_step
    found = Path(judge.best_model_path)
    best = found.with_name("best.ckpt")
    is_there = best.is_file() and best.samefile(found)
    if not is_there and trainer.is_global_zero:  # one of several, with a name of its own
        partial = best.with_name("best.ckpt.partial")
        claim(best, partial)
        partial.unlink(missing_ok=True)
        try:
            os.link(found, partial)
        except OSError:  # a file system without links
            shutil.copyfile(found, partial)
        os.replace(partial, best)
    if is_changed and trainer.is_global_zero:
        warn(
            "a callback has changed the weights at the end of the training, after the last validation, and best.ckpt, "
            "which is exported, does not have them: callbacks.checkpoint.monitor=null exports them"
        )
    return read_checkpoint(best)


def _is_changed(trainer: pl.Trainer, saved: dict[str, torch.Tensor]) -> bool:
    """Return whether the weights, after steps of this process, are not those that were saved after the last step."""
    callbacks = callbacks_of(trainer)
    first = next((each.first_step for each in callbacks if isinstance(each, ResumeState)), None)
    if first is None or first == trainer.global_step:
        return False
    weights = trainer.lightning_module.state_dict()
    return any(
        not torch.equal(weights[name].cpu(), value.cpu()) for name, value in saved.items() if name in weights
    )


def kept_in_words(trainer: pl.Trainer, kept: Mapping[str, Any] | None) -> str:
    """Return of which step the checkpoint is that is kept (None: the weights of the last step), and for which score."""
    judge, last = judge_of(trainer), trainer.global_step
    step = last if kept is None else kept["global_step"]
    if judge is None:
        wanted = filter(None, (getattr(each, "monitor", None) for each in trainer.checkpoint_callbacks))
        return f"step {step:,} of {last:,}" + "".join(f"; none was compared by {each}" for each in wanted)
    best, better = judge.best_model_score, "lowest" if judge.mode == "min" else "highest"
    return f"step {step:,} of {last:,}, with the {better} {judge.monitor}, {float(best):.4g}"


def end_in_words(trainer: pl.Trainer) -> str | None:
    """Return why a training ended before the length that it was to have; None: it did not."""
    step, total, optimizer = trainer.global_step, lengths(trainer)["step"], trainer.optimizers[0]
    if not trainer.should_stop or 0 <= total <= step:
        return None
    reasons = (getattr(each, "stopping_reason_message", None) for each in callbacks_of(trainer))
    why = f"by early stopping: {next(filter(None, reasons), 'a callback asked for it')}"
    if out_of_time(trainer):
        rate, given = optimizer.param_groups[0]["lr"], optimizer.defaults.get("lr", math.nan)
        why = f"by trainer.max_time, at a learning rate of {rate:.3g} ({given:.3g} is given); a longer time goes on"
    of_total = f" of {total:,}" if total > 0 else ""
    return f"at step {step:,}{of_total}, {why.removesuffix(' Signaling Trainer to stop.')}"
