"""Scheduled sampling: predictions of the decoder are some of its inputs in training, as in translation.

With probability e, the input of step t is a token sampled from the distribution that the decoder predicted at step
t - 1, in place of the reference token y_{t-1}. The targets are the reference. Gradients pass through states, not
through sampled tokens. Bengio, Vinyals, Jaitly and Shazeer, "Scheduled sampling for sequence prediction with recurrent
neural networks", 2015, with their linear schedule over optimizer steps i:

    e_i = probability * min(1, i / ramp_steps)
"""

import torch
from torch import Tensor

from seq2seq.common.numbers import NotNegative, Share, require_bounds
from seq2seq.data.batch import Batch
from seq2seq.training.losses import LossSums
from seq2seq.training.objectives.minimum_risk import draw_token
from seq2seq.training.objectives.objective import Trained


class ScheduledSampling:
    """Cross-entropy with scheduled sampling as `objective` of a `TranslationModule`.

    Args:
        probability: Maximum probability that an input token is sampled.
        ramp_steps: Number of optimizer steps until this probability is reached; 0: from the first step.

    Raises:
        InputError: See `require_bounds`.
    """

    def __init__(self, *, probability: Share = 0.25, ramp_steps: NotNegative = 0) -> None:
        self.probability, self.ramp_steps = probability, ramp_steps
        require_bounds(self)

    def __call__(self, module: Trained, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the loss of a batch, and the attention weights (B, T, h, S)."""
        probability = self.probability
        if self.ramp_steps:
            probability *= min(1.0, module.global_step / self.ramp_steps)
        decoder, given = module.model.decoder, batch.target_input
        memory = module.model.encode(batch.source)
        state, features, weights = decoder.initial_state(memory), list[Tensor](), list[Tensor]()
        is_sampled = (torch.rand(given.shape, device=given.device) < probability) & batch.target_is_token
        is_sampled[:, 0] = False  # <bos>
        for step, tokens in enumerate(given.unbind(dim=1)):
            rows = is_sampled[:, step].nonzero()[:, 0]
            if len(rows):
                logits = decoder.output(features[-1][rows].detach())  # no gradient through sampled tokens
                sampled = draw_token(logits, torch.rand(len(rows), device=given.device))
                tokens = tokens.index_put((rows,), sampled)  # noqa: PLW2901 - the new input of the step
            step_features, state, step_weights = decoder.step(tokens, state, memory)
            features.append(step_features)
            if step_weights is not None:
                weights.append(step_weights)
        all_weights = torch.stack(weights, dim=1) if weights else None
        return module.cross_entropy(batch, torch.stack(features, dim=1)), all_weights
