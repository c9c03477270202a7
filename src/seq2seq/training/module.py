"""The Lightning module: a thin wrapper with one shared step."""

import time
from collections.abc import Iterable
from typing import Any

import lightning.pytorch as pl
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.evaluation.metrics import scores_of
from seq2seq.model.decoder import Unrolled
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import Batch
from seq2seq.text.codec import TextCodec
from seq2seq.text.store import EncodedSplit
from seq2seq.training.attention_measures import AttentionMeasures
from seq2seq.training.guidance import Guidance
from seq2seq.training.loss import LossSums, token_cross_entropy
from seq2seq.training.module_state import RESUMED, as_state, module_state
from seq2seq.training.non_finite import NonFiniteGuard, require_finite_validation
from seq2seq.training.optimisation import Optimisation
from seq2seq.training.process_group import ALONE, ProcessGroup
from seq2seq.training.step_gradient import StepGradient, total_sums
from seq2seq.training.word_dropout import drop_words


class TranslationModule(pl.LightningModule):
    """Trains a `Seq2Seq`.

    Logs ``train/…`` every `log_every` optimiser steps (sums over the steps between) and
    ``validation/…`` after each validation: loss in nats a token, perplexity, accuracy, and the
    quick `METRICS` of the greedy translations; with them ``attention/…`` and ``alignment/…``, see
    `AttentionMeasures`.

    Args:
        model: the model.
        optimisation: optimiser and schedule.
        label_smoothing: see `token_cross_entropy`.
        word_dropout: see `drop_words`.
        guidance: turns links of the training split into a loss of the attention; None for none.
        r_drop: `divergence` of `token_cross_entropy`; above 0 every batch is read twice, under two
            dropout masks.
        gradient_clip: greatest L2 norm of the gradient; None for no bound.
        log_every: optimiser steps between two logged training values.
        skip_nonfinite: steps with a NaN or infinite loss or gradient that are left out.
        validation: the split whose references the translations are scored against.
        target_codec: turns the translations into text.
        bounds: how long they may be.
        attention_measures: of the validation split.
        job: the processes that train together, each on its share of every batch.
    """

    def __init__(
        self,
        model: Seq2Seq,
        *,
        optimisation: Optimisation,
        label_smoothing: float,
        word_dropout: float,
        r_drop: float,
        guidance: Guidance | None,
        gradient_clip: float | None,
        log_every: int,
        skip_nonfinite: int,
        validation: EncodedSplit,
        target_codec: TextCodec,
        bounds: LengthBounds,
        attention_measures: AttentionMeasures,
        job: ProcessGroup = ALONE,
    ) -> None:
        super().__init__()
        self.model = model
        self._optimisation = optimisation
        self._label_smoothing = label_smoothing
        self._word_dropout = word_dropout
        self._r_drop = r_drop
        self._guidance = guidance
        self._gradient_clip = gradient_clip
        self._log_every = log_every
        self._job = job
        self._step = StepGradient(job)
        self.guard = NonFiniteGuard(skip_nonfinite, job)
        self._validation = validation
        self._target_codec = target_codec
        self._bounds = bounds
        self._attention_measures = attention_measures
        self._train_sums: LossSums | None = None
        self._train_since = 0.0
        self._validation_sums: LossSums | None = None
        self.translations: dict[int, str] = {}
        """The greedy translations of the latest validation, by sentence id."""

    def teacher_forced(self, batch: Batch) -> Unrolled:
        """Features and attention of a batch."""
        source = batch.source
        return self.model(
            source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths
        )

    def _loss_sums(self, batch: Batch, unrolled: Unrolled, *, divergence: float = 0.0) -> LossSums:
        return token_cross_entropy(
            unrolled.features,
            self.model.decoder.output,
            batch.target_output,
            batch.target_is_token,
            label_smoothing=self._label_smoothing,
            divergence=divergence,
        )

    def training_step(self, batch: Batch, batch_index: int) -> torch.Tensor:  # noqa: ARG002
        """Smoothed loss of a batch, see `StepGradient`."""
        self.guard.look_at(batch)
        if self._r_drop:
            batch = batch.twice()
        if self._word_dropout:
            batch = drop_words(batch, self._word_dropout)
        unrolled = self.teacher_forced(batch)
        sums = self._loss_sums(batch, unrolled, divergence=self._r_drop)
        if self._guidance is not None:
            sums = self._guidance.added(sums, unrolled.weights, batch)
        return self._step.add(sums)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the sums since the last logged values."""
        checkpoint[RESUMED] = as_state(self.guard.num_skipped, self._train_sums)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on with the sums; a new epoch begins its own."""
        state = module_state(checkpoint)
        self.guard.num_skipped = state.num_skipped
        self._train_sums = state.sums_on(self.model.device)

    def on_train_start(self) -> None:
        """Measure speed from here on."""
        self._train_since = time.perf_counter()

    def on_train_epoch_start(self) -> None:
        """Measure speed without the validation before."""
        self._train_sums, self._train_since = None, time.perf_counter()

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,  # noqa: ARG002
        gradient_clip_algorithm: str | None = None,  # noqa: ARG002
    ) -> None:
        """Finish the gradient of the step, clip it by its norm, and log the norm before."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        bound = torch.inf if self._gradient_clip is None else self._gradient_clip
        accumulate = self.trainer.accumulate_grad_batches
        sums = self._step.end()
        self._train_sums = self._train_sums + sums if self._train_sums else sums
        norm = self._step.scale(parameters, sums, accumulate=accumulate, bound=bound)
        is_scaled = self.trainer.precision == "16-mixed"  # its scaler leaves infinite steps out
        shown = None if is_scaled else norm
        if not self.guard.end_step(sums.smoothed, shown, self.global_step + 1):
            optimizer.zero_grad(set_to_none=True)  # the optimiser passes over such parameters
        if (self.global_step + 1) % self._log_every == 0 or self.trainer.is_last_batch:
            self._log_training(norm)

    def _log_training(self, gradient_norm: torch.Tensor) -> None:
        sums = self._train_sums
        if sums is None:
            return
        seconds = time.perf_counter() - self._train_since
        values = {f"train/{name}": float(value) for name, value in sums.metrics().items()}
        values["train/gradient_norm"] = float(gradient_norm)
        num_readings = 2 if self._r_drop else 1  # of every token
        values["train/tokens_per_second"] = float(sums.num_tokens) / num_readings / seconds
        values["train/learning_rate"] = self.trainer.optimizers[0].param_groups[0]["lr"]
        self.log_dict(values, logger=False)
        # Lightning would write them after the checkpoint of this step, and a resumed run never
        values["epoch"] = float(self.current_epoch)
        for logger in self.loggers:
            logger.log_metrics(values, self.global_step + 1)
        self._train_sums, self._train_since = None, time.perf_counter()

    def on_validation_epoch_start(self) -> None:
        """Begin with empty sums."""
        self._validation_sums, self.translations = None, {}
        self._attention_measures.reset()

    def validation_step(self, batch: Batch, batch_index: int) -> None:  # noqa: ARG002
        """Loss, attention and greedy translations of a batch."""
        unrolled = self.teacher_forced(batch)
        sums = self._loss_sums(batch, unrolled)
        require_finite_validation(sums.nll, batch)
        self._attention_measures.add(unrolled.weights, batch)
        self._validation_sums = self._validation_sums + sums if self._validation_sums else sums
        hypotheses = greedy_search(self.model, batch.source, bounds=self._bounds)
        for index, hypothesis in zip(batch.sentence_ids.tolist(), hypotheses, strict=True):
            self.translations[index] = self._target_codec.decode(hypothesis.ids)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the whole split."""
        if self._validation_sums is None:
            return
        self._attention_measures.gather(self._job)
        gathered = self._job.gather(list(self.translations.items()))
        self.translations = {index: text for share in gathered for index, text in share}
        self.log("step", float(self.global_step))
        for name, value in total_sums(self._validation_sums, self._job).metrics().items():
            self.log(f"validation/{name}", value)
        self.log_dict(self._attention_measures.metrics())
        hypotheses = list(self.translations.values())
        references = [self._validation.pairs[index].target for index in self.translations]
        language = self._target_codec.tokenizer.language
        for name, score in scores_of(hypotheses, references, language, only_quick=True).items():
            self.log(f"validation/{name}", score)

    def configure_optimizers(self) -> Any:
        """Optimiser, and a schedule by steps; that by validations is `PlateauSchedule`."""
        optimiser, schedule = self.fresh_optimisation()
        if schedule is None:
            return optimiser
        return {
            "optimizer": optimiser,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def fresh_optimisation(
        self, parameters: Iterable[nn.Parameter] | None = None
    ) -> tuple[Optimizer, LambdaLR | None]:
        """An optimiser over some parameters, or all, and its schedule if that is by steps."""
        optimiser = self._optimisation.build_optimiser(parameters or self.parameters())
        if self._optimisation.schedule == "plateau":
            return optimiser, None
        return optimiser, self._optimisation.build_step_schedule(optimiser)
