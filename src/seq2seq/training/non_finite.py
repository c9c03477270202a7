"""Watches that losses and gradients are numbers, and remembers what was computed last."""

import torch
from torch import Tensor

from seq2seq.errors import TrainingFailed
from seq2seq.text.batch import Batch
from seq2seq.training.process_group import ALONE, ProcessGroup

NUM_NAMED = 20
"""Sentences that a message names at most."""


class NonFiniteGuard:
    """Finds the optimiser step whose loss or gradient is NaN or infinite.

    Args:
        max_skipped: such steps that are left out before training stops.
        job: the processes that train together.
    """

    def __init__(self, max_skipped: int, job: ProcessGroup = ALONE) -> None:
        self._max_skipped = max_skipped
        self._job = job
        self.num_skipped = 0
        self._sentence_ids: list[Tensor] = []
        self.shape = "no batch"
        """Size of the batch that was computed last."""

    def look_at(self, batch: Batch) -> None:
        """Remember a batch of the step that is going to be computed."""
        self._sentence_ids.append(batch.sentence_ids)
        self.shape = (
            f"{len(batch)} sentences x ({batch.source.ids.shape[1]} source + "
            f"{batch.target_input.shape[1]} target tokens)"
        )

    def end_step(self, loss: Tensor, gradient_norm: Tensor | None, step: int) -> bool:
        """Whether the step may be taken; the same in all processes, as the arguments are.

        Args:
            loss: of the step.
            gradient_norm: norm of the gradient; None where an infinite one is no defect, as with
                the loss scaling of float16.
            step: number of the step, for the message.

        Raises:
            TrainingFailed: it may not, and no more steps may be left out.
        """
        ids, self._sentence_ids = self._sentence_ids, []
        total = loss if gradient_norm is None else loss + gradient_norm
        if total.isfinite():
            return True
        what = "gradient" if loss.isfinite() else "loss"
        everyone = [torch.tensor(each) for each in self._job.gather(torch.cat(ids).tolist())]
        message = (
            f"step {step}: the {what} is NaN or infinite on training sentences {_named(everyone)}"
        )
        if self.num_skipped >= self._max_skipped:
            raise TrainingFailed(
                f"{message}; the checkpoints before are kept: lower optim.learning_rate or "
                "trainer.gradient_clip, or allow trainer.skip_nonfinite=N such steps"
            )
        self.num_skipped += 1
        print(f"WARNING: {message}; step left out ({self.num_skipped} of {self._max_skipped})")
        return False


def require_finite_validation(nll: Tensor, batch: Batch) -> None:
    """Refuse a validation loss that is no number.

    Raises:
        TrainingFailed: naming the sentences.
    """
    if not nll.isfinite():
        raise TrainingFailed(
            "the validation loss is NaN or infinite on validation sentences "
            f"{_named([batch.sentence_ids])}; this model is not saved, the checkpoints before are "
            "kept: lower optim.learning_rate"
        )


def _named(sentence_ids: list[Tensor]) -> str:
    ids = torch.cat(sentence_ids).tolist()
    more = f" and {len(ids) - NUM_NAMED} more" if len(ids) > NUM_NAMED else ""
    return ", ".join(map(str, ids[:NUM_NAMED])) + more
