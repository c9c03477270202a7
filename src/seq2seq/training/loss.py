"""Token cross-entropy as sums and a count, so that means are exact over ragged batches."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.training.cross_entropy import vocabulary_cross_entropy


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real tokens of a batch, or of several.

    Attributes:
        nll: negative log-likelihood in nats, unsmoothed.
        smoothed: cross-entropy against the smoothed labels, with the divergence of two readings
            where it is asked for: what training minimises.
        num_correct: tokens that greedy search would choose.
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
    divergence: float = 0.0,
) -> LossSums:
    """Cross-entropy of the target tokens.

    Args:
        features: of every target position.
        output: turns features into logits.
        targets: token ids.
        is_token: False on padding, which does not count.
        label_smoothing: see `vocabulary_cross_entropy`.
        divergence: the same; the second half of the batch reads the first half again.
    """
    nll, smoothed, num_correct = vocabulary_cross_entropy(
        features[is_token],
        output.weight,
        output.bias,
        targets[is_token],
        label_smoothing=label_smoothing,
        divergence=divergence,
    )
    return LossSums(nll, smoothed, num_correct, is_token.sum())
