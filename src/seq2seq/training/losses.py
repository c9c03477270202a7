"""Losses: token cross-entropy, with label smoothing and R-Drop.

Losses are sums and counts over real tokens, so that means are exact over ragged batches.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.training.chunked_cross_entropy import ChunkedCrossEntropy


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real tokens of a batch, or of several.

    Attributes:
        nll: Negative log-likelihood in nats, unsmoothed.
        smoothed: What training minimises: cross-entropy with smoothed labels, and the divergence of R-Drop.
        num_correct: Tokens that greedy search would choose.
        num_tokens: Real tokens.
    """

    nll: Tensor
    smoothed: Tensor
    num_correct: Tensor
    num_tokens: Tensor

    def stacked(self) -> Tensor:
        """Return nll, num_correct and num_tokens as one detached tensor (3,) in float64."""
        parts = self.nll, self.num_correct, self.num_tokens
        return torch.stack([part.detach().to(torch.float64) for part in parts])


def metrics_of(sums: Tensor) -> dict[str, Tensor]:
    """Return loss in nats a token, perplexity and accuracy of what `LossSums.stacked` returned."""
    nll, num_correct, num_tokens = sums
    loss = nll / num_tokens
    return {"loss": loss, "perplexity": loss.exp(), "accuracy": num_correct / num_tokens}


def token_cross_entropy(
    features: Tensor,
    output: nn.Linear,
    targets: Tensor,
    is_token: Tensor,
    *,
    label_smoothing: float = 0.0,
    divergence: float = 0.0,
) -> LossSums:
    """Return the cross-entropy of target tokens under softmax(W f + b), summed.

    With label smoothing eps the label is (1 - eps) on the target and eps / V on every token (Szegedy et al.
    2016). With a divergence alpha the second half of the batch is the first half again under another dropout
    mask, p and q the two distributions of a token, and alpha / 2 (KL(p, q) + KL(q, p)) is added for each such
    pair (R-Drop, Liang et al. 2021).

    Args:
        features: Of every target position (B, T, R).
        output: W and b.
        targets: Token ids (B, T).
        is_token: False on padding, which does not count (B, T).
        label_smoothing: eps.
        divergence: alpha; 0: none.
    """
    features, targets = features[is_token], targets[is_token]
    if divergence:
        logits = output(features)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        logs = logits.log_softmax(dim=-1)
        nll = -logs.gather(1, targets.unsqueeze(1)).squeeze(1)
        smoothed = (1 - label_smoothing) * nll - label_smoothing * logs.mean(dim=1)
        p, q = logs.chunk(2)
        apart = ((p.exp() - q.exp()) * (p - q)).sum()  # KL(p, q) + KL(q, p)
        sums = nll.sum(), smoothed.sum() + divergence / 2 * apart, (logs.argmax(1) == targets).sum()
    else:
        sums = ChunkedCrossEntropy.apply(features, output.weight, output.bias, targets, label_smoothing)
    return LossSums(sums[0].detach(), sums[1], sums[2], is_token.sum())
