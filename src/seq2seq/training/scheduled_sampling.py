"""Scheduled sampling: the decoder reads its own predictions in training, as it will when it translates.

At step t the decoder reads, in place of the reference's token y_{t-1}, with probability e a token drawn from
its own distribution p(y_{t-1} | ...) of the step before, given all that it has read so far. What it is to
predict is the reference, so gradients flow through the states and not through the draw. Bengio, Vinyals,
Jaitly and Shazeer, "Scheduled sampling for sequence prediction with recurrent neural networks", 2015, whose
linear schedule is used: e grows from 0 with the optimizer step i,

    e_i = probability * min(1, i / ramp_steps).
"""

import torch
from torch import Tensor, nn

from seq2seq.data.batch import Batch
from seq2seq.training.losses import LossSums
from seq2seq.training.minimum_risk import draw_token


class ScheduledSampling:
    """The cross-entropy above as `objective` of a `TranslationModule`.

    Args:
        probability: Maximum probability that a token is the decoder's own.
        ramp_steps: Optimizer steps until then; 0: from the beginning.
    """

    def __init__(self, *, probability: float = 0.25, ramp_steps: int = 0) -> None:
        if not 0 <= probability <= 1 or ramp_steps < 0:
            raise ValueError(
                f"probability={probability}, ramp_steps={ramp_steps}: a probability from 0 to 1 and a number of "
                "steps are needed"
            )
        self.probability, self.ramp_steps = probability, ramp_steps

    def __call__(self, module: nn.Module, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the sums of a batch, and the attention weights (B, T, S)."""
        share = self.probability
        if self.ramp_steps:
            share *= min(1.0, module.global_step / self.ramp_steps)
        source, decoder, given = batch.source, module.model.decoder, batch.target_input
        memory = module.model.encode(source.ids, source.lengths, source.is_token)
        state, features, weights = decoder.initial_state(memory), [], []
        is_own = (torch.rand(given.shape, device=given.device) < share) & batch.target_is_token
        for step, tokens in enumerate(given.unbind(dim=1)):
            own = is_own[:, step].nonzero()[:, 0] if step else ()
            if len(own):  # logits of detached features: nothing flows through the draw
                logits = decoder.output(features[-1][own].detach())
                drawn = draw_token(logits, torch.rand(len(own), device=given.device))
                tokens = tokens.index_put((own,), drawn)  # noqa: PLW2901 - what is read in its place
            of_step, state, of_attention = decoder.step(tokens, state, memory)
            features.append(of_step)
            weights.append(of_attention)
        looked = None if weights[0] is None else torch.stack(weights, dim=1)
        return module.cross_entropy(batch, torch.stack(features, dim=1)), looked
