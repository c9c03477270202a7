"""The loss: token cross-entropy, with label smoothing and R-Drop.

It is kept as sums and counts over real tokens, so that means over batches of different sizes are exact.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from seq2seq.training.chunked_cross_entropy import ChunkedCrossEntropy


@dataclass(frozen=True, slots=True)
class LossSums:
    """Sums over the real target tokens of a batch.

    An optimizer step minimizes the sum of `objective` over its batches and processes, divided by the sum of
    `num_tokens`.

    Attributes:
        nll: Negative log-likelihood in nats, without label smoothing.
        objective: What is minimized, with a gradient: cross-entropy with label smoothing, plus the divergence of
            R-Drop; or the objective of `TranslationModule`.
        num_correct: Number of tokens to which the model gives the highest probability.
        num_tokens: Number of real tokens, above 0.
    """

    nll: Tensor
    objective: Tensor
    num_correct: Tensor
    num_tokens: Tensor

    def stacked(self) -> Tensor:
        """Return the four sums as one detached tensor (4,), at least in float32."""
        precise = torch.promote_types(self.nll.dtype, torch.float32)
        parts = self.nll, self.objective, self.num_correct, self.num_tokens
        return torch.stack([part.detach().to(precise) for part in parts])


def metrics_of(sums: Tensor) -> dict[str, Tensor]:
    """Return loss (nats per token), perplexity and token accuracy from sums of `LossSums.stacked`."""
    nll, _, num_correct, num_tokens = sums
    loss = nll / num_tokens
    return {"loss": loss, "perplexity": loss.exp(), "token_accuracy": num_correct / num_tokens}


def token_cross_entropy(
    features: Tensor,
    output: nn.Linear,
    targets: Tensor,
    is_token: Tensor,
    *,
    label_smoothing: float = 0.0,
    rdrop_alpha: float = 0.0,
) -> LossSums:
    """Return the sum of the cross-entropies of the target tokens under softmax(W f + b).

    With label smoothing eps (Szegedy et al. 2016), the target probability is eps / V for each token of the vocabulary,
    plus 1 - eps for the correct one. R-Drop with alpha (Liang et al. 2021) needs a batch whose second half is a copy of
    the first. For each token and its copy, with distributions p and q, it adds alpha / 2 (KL(p, q) + KL(q, p)).

    Args:
        features: Features f of every target position (B, T, R).
        output: Layer with W (V, R) and b (V), or without b; one with a ``forward`` of its own is called as it is.
        targets: Token ids (B, T).
        is_token: True on real tokens (B, T); padding is not counted.
        label_smoothing: eps.
        rdrop_alpha: alpha; 0: no R-Drop.
    """
    features, targets = features[is_token], targets[is_token]
    if rdrop_alpha or not _is_linear(output):
        logits = output(features)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        log_probs = logits.log_softmax(dim=-1)
        token_nll = -log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
        nll, num_correct = token_nll.detach().sum(), (log_probs.argmax(dim=1) == targets).sum()
        token_loss = (1 - label_smoothing) * token_nll - label_smoothing * log_probs.mean(dim=1)
        objective = token_loss.sum()
        if rdrop_alpha:
            log_p, log_q = log_probs.chunk(2)
            kl = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()  # KL(p, q) + KL(q, p)
            objective = objective + rdrop_alpha / 2 * kl
    else:
        bias = output.weight.new_zeros(len(output.weight)) if output.bias is None else output.bias
        nll, objective, num_correct = ChunkedCrossEntropy.apply(
            features, output.weight, bias, targets, label_smoothing
        )
    return LossSums(nll, objective, num_correct, is_token.sum())


def _is_linear(output: nn.Module) -> bool:
    """Return whether a layer computes W f + b with the weight that it shows: no hook makes the weight when it is called."""
    if type(output).forward is not nn.Linear.forward:
        return False
    return isinstance(output.weight, nn.Parameter) or is_parametrized(output, "weight")
