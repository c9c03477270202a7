"""R-Drop: the cross-entropy of a pair that is read twice, and the divergence of the two predictions."""

from torch import Tensor, nn

from seq2seq.attention.masking import at_least_float32
from seq2seq.training.losses import LossSums


def rdrop_cross_entropy(
    features: Tensor, output: nn.Module, targets: Tensor, is_token: Tensor, *,
    label_smoothing: float = 0.0, alpha: float,
) -> LossSums:  # fmt: skip
    """Return the sums of `token_cross_entropy` for a batch whose second half is a copy of the first.

    For each token and its copy, with distributions p and q, the objective has alpha / 2 (KL(p, q) + KL(q, p)) in addition
    (Liang et al. 2021). The logits of all tokens exist at once.
    """
    features, targets = features[is_token], targets[is_token]
    log_probs = at_least_float32(output(features)).log_softmax(dim=-1)
    token_nll = -log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
    token_loss = (1 - label_smoothing) * token_nll - label_smoothing * log_probs.mean(dim=1)
    log_p, log_q = log_probs.chunk(2)
    kl = ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum()  # KL(p, q) + KL(q, p)
    num_correct = (log_probs.argmax(dim=1) == targets).sum()
    return LossSums(token_nll.detach().sum(), token_loss.sum() + alpha / 2 * kl, num_correct, is_token.sum())
