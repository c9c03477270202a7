"""Token cross-entropy as sums and a count, so that means are exact over ragged batches."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real tokens of a batch, or of several.

    Attributes:
        nll: negative log-likelihood in nats, unsmoothed.
        smoothed: cross-entropy against the smoothed labels: what training minimises.
        num_correct: tokens that the model ranks first.
        num_tokens: real tokens.
    """

    nll: Tensor
    smoothed: Tensor
    num_correct: Tensor
    num_tokens: Tensor

    def __add__(self, other: "LossSums") -> "LossSums":
        return LossSums(
            self.nll + other.nll,
            self.smoothed + other.smoothed,
            self.num_correct + other.num_correct,
            self.num_tokens + other.num_tokens,
        )

    def detach(self) -> "LossSums":
        """The sums without their graph."""
        return LossSums(
            self.nll.detach(), self.smoothed.detach(), self.num_correct, self.num_tokens
        )

    def metrics(self) -> dict[str, Tensor]:
        """Loss in nats a token, perplexity and accuracy."""
        loss = self.nll / self.num_tokens
        return {
            "loss": loss,
            "perplexity": loss.exp(),
            "accuracy": self.num_correct / self.num_tokens,
        }


def token_cross_entropy(
    features: Float[Tensor, "B T R"],
    output: nn.Linear,
    targets: Int[Tensor, "B T"],
    is_token: Bool[Tensor, "B T"],
    *,
    label_smoothing: float,
) -> LossSums:
    """Cross-entropy of the target tokens.

    With label smoothing eps, the label is (1 - eps) on the target and eps / V on every token
    (Szegedy et al. 2016).

    Args:
        features: of every target position.
        output: turns features into logits.
        targets: token ids.
        is_token: False on padding, which does not count.
        label_smoothing: eps.
    """
    logits = output(features[is_token])
    kept = targets[is_token]
    log_probabilities = torch.log_softmax(logits.float() if logits.itemsize < 4 else logits, dim=-1)
    nll = -log_probabilities.gather(1, kept.unsqueeze(1)).sum()
    smoothed = nll
    if label_smoothing:
        uniform = -log_probabilities.mean(dim=-1).sum()
        smoothed = (1 - label_smoothing) * nll + label_smoothing * uniform
    num_correct = (logits.detach().argmax(dim=-1) == kept).sum()
    return LossSums(nll, smoothed, num_correct, is_token.sum())
