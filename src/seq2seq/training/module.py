"""The steps of the Lightning module: of training, of validation, and the optimizer's."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_value_, clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from lightning_exact_resume import ParameterGroups
from seq2seq.attention.masking import length_mask
from seq2seq.data.batch import Batch
from seq2seq.decoding.greedy import greedy_search
from seq2seq.training.hooks import ConfiguredModule
from seq2seq.training.losses import LossSums, token_cross_entropy
from seq2seq.training.resume import refusing_wrong_parts


class TranslationModule(ConfiguredModule):
    """Trains a `Seq2Seq` on batches of `seq2seq.data.Batch`; its arguments, and what it logs: `ConfiguredModule`.

    Lightning's loop calls, for each batch, `training_step`, ``zero_grad()`` (in the first batch of a step) and ``backward``,
    and for each step of the optimizer `configure_gradient_clipping`, ``optimizer.step()`` and the schedule. By default
    `objective` is `teacher_forcing`, `step_mean` is a `StepMean`, and the optimizer is Adam.
    """

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of a batch (teacher forcing)."""
        return self.model(batch)

    def teacher_forcing(self, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the cross-entropy of the reference tokens and ``<eos>``, each after those before it, and the weights."""
        features, weights = self(batch)
        return self.cross_entropy(batch, features), weights

    def cross_entropy(self, batch: Batch, features: Tensor) -> LossSums:
        """Return the training loss of a batch, with label smoothing as configured."""
        is_token = length_mask(batch.target_lengths, batch.target_output.shape[1])
        inputs = features, self.model.decoder.output, batch.target_output, is_token
        return token_cross_entropy(*inputs, label_smoothing=self.label_smoothing)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the objective of a batch, as its part of the mean over all target tokens of the optimizer step."""
        sums, _ = self.objective(self, batch)  # `teacher_forcing`, and so `token_cross_entropy`, by default
        return self.step_mean.add(batch_idx, sums, self)

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip the gradient as the trainer says, and leave the step out if it is NaN or infinite."""
        parameters = [each for group in optimizer.param_groups for each in group["params"]]
        norm = get_total_norm([each.grad for each in parameters if each.grad is not None])
        if gradient_clip_val and gradient_clip_algorithm == "value":
            clip_grad_value_(parameters, gradient_clip_val)
        elif gradient_clip_val:  # Lightning's own clipping refuses Adam with fused=true, the default
            clip_grads_with_norm_(parameters, gradient_clip_val, norm)
        # the only values that a step waits for; `ConfiguredModule` logs them
        self.step_sums = torch.stack([*self.step_mean.sums, norm]).cpu().double()
        if not self.step_sums.isfinite().all():
            optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without gradient

    def configure_optimizers(self) -> Any:
        """Create the optimizer and its schedule."""
        takes_names = isinstance(self.optimizer_factory, ParameterGroups)
        with refusing_wrong_parts():
            optimizer = self.optimizer_factory(
                self.model.named_parameters() if takes_names else self.parameters()
            )
            return {"optimizer": optimizer} | self.schedule.configuration(optimizer, self.trainer)

    def validation_step(self, batch: Batch, batch_idx: int) -> Tensor | None:
        """Add loss, links and greedy translations of a batch; return its attention weights (B, T, h, S), for callbacks."""
        features, weights = self(batch)
        is_token = length_mask(batch.target_lengths, batch.target_output.shape[1])
        losses = token_cross_entropy(features, self.model.decoder.output, batch.target_output, is_token)
        self.scores.add(batch, losses, weights)
        if self.scores.has_texts:  # tokenizers and references
            self.scores.add_translations(batch, greedy_search(self.model, batch.source, limits=self.limits))
        return weights

    test_step = validation_step
