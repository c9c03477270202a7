"""Token cross-entropy as sums and a count, so that means are exact over ragged batches."""

from dataclasses import dataclass, fields, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.training.cross_entropy import vocabulary_cross_entropy


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real tokens of a batch, or of several.

    Attributes:
        nll: negative log-likelihood in nats, unsmoothed.
        smoothed: cross-entropy against the smoothed labels, with the divergence of two readings
            and the guidance where they are asked for: what training minimises.
        num_correct: tokens that greedy search would choose.
        num_tokens: real tokens.
        guidance: cross-entropy of the attention against links, see `seq2seq.training.guidance`.
        num_guided: tokens that have such links.
    """

    nll: Tensor
    smoothed: Tensor
    num_correct: Tensor
    num_tokens: Tensor
    guidance: Tensor
    num_guided: Tensor

    def __add__(self, other: "LossSums") -> "LossSums":
        names = [each.name for each in fields(LossSums)]
        return LossSums(*(getattr(self, name) + getattr(other, name) for name in names))

    def detach(self) -> "LossSums":
        """The sums without their graph."""
        return LossSums(*(getattr(self, each.name).detach() for each in fields(LossSums)))

    def guided(self, guidance: Tensor, num_guided: Tensor, weight: float) -> "LossSums":
        """With the loss of the attention, which training minimises, too, times a weight."""
        smoothed = self.smoothed + weight * guidance
        return replace(self, smoothed=smoothed, guidance=guidance, num_guided=num_guided)

    def metrics(self) -> dict[str, Tensor]:
        """Loss in nats a token, perplexity and accuracy; the guidance in nats a guided token."""
        loss = self.nll / self.num_tokens
        guidance = {"guidance": self.guidance / self.num_guided} if self.num_guided else {}
        return guidance | {
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
    none = nll.new_zeros(())
    return LossSums(nll, smoothed, num_correct, is_token.sum(), none, none.long())
