"""Callback that logs how predictions depend on the attention weights, and whether weights and effects agree."""

from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

from seq2seq.common.numbers import Positive
from seq2seq.data.batch import Batch
from seq2seq.data.datamodule import prepared_of
from seq2seq.data.vocabulary import END_ID
from seq2seq.decoding.effect import leave_one_out
from seq2seq.decoding.forced import force_decode
from seq2seq.models.decoder import attentions_of
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.studies.faithfulness import effect_statistics
from seq2seq.studies.interventions import tokens_that_stay

LONGEST = 100
"""Maximum number of tokens of a sentence; the time grows with its third power."""

CAUSES = {
    "erase_top1_flips": "most_attended_erased",
    "erase_random_flips": "another_erased",
    "no_context_flips": "no_context",
}
"""Names of scalars, and the changes of the weights of a step: a scalar is the share of predictions that change."""


class FaithfulnessLogger(Callback):
    """Log shares of predictions that change with the weights of their step, and `effect_statistics`, at validations.

    Args:
        sentences: Number of validation sentences, from the start of the split; those of more than 100 tokens are left out.
    """

    def __init__(self, sentences: Positive = 16) -> None:
        self.sentences = sentences

    def on_validation_batch_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, batch: Any, batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:  # fmt: skip
        """Log before the first batch, when averaged weights are in their place."""
        data, model = prepared_of(trainer), getattr(pl_module, "model", None)
        is_due = batch_idx == dataloader_idx == 0 and trainer.is_global_zero and not trainer.sanity_checking
        if not is_due or data is None or not trainer.loggers or not isinstance(model, Seq2Seq):
            return
        split = data.validation
        places = [
            place
            for place in range(min(self.sentences, len(split)))
            if all(0 < len(side[place]) <= LONGEST for side in (split.source, split.target))
        ]
        if places and model.decoder.has_attention:
            values = faithfulness_of(model, Batch.from_split(split, places).to(pl_module.device))
            for logger in trainer.loggers:
                for name, value in values.items():
                    logger.log_metrics({f"val_attention/{name}": value}, trainer.global_step)


def faithfulness_of(model: Seq2Seq, batch: Batch) -> dict[str, float]:
    """Return how weights and effects agree on sentence pairs, and the shares of predictions that change, by name."""
    forced = force_decode(model, batch)
    if not all(each.weights.isfinite().all() for each in forced):
        return {}  # training fails at the next loss
    weights = [each.weights.double().numpy() for each in forced]
    values = effect_statistics(weights, leave_one_out(model, batch))
    if attentions_of(model.decoder):
        stays, _ = tokens_that_stay(model, batch, seed=0, changes=[*CAUSES.values()])
        of_words = stays.transpose(1, 2)[batch.target_is_token & (batch.target_output != END_ID)]
        values |= dict(zip(CAUSES, (1 - of_words.float().mean(dim=0)).tolist(), strict=True))
    return values
