"""Losses: token cross-entropy, with label smoothing and R-Drop, and guided alignment.

Losses are sums and counts over real tokens, so that means are exact over ragged batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from seq2seq.data.batch import Batch, EncodedSplit, SourceBatch
from seq2seq.data.text import split_words
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.vocabulary import SPECIALS, UNKNOWN_ID
from seq2seq.decoding.stepper import place_of_top
from seq2seq.evaluation.alignment import GoldAlignment, word_indices

CHUNK_ROWS = 512
"""Tokens whose logits are computed at a time: few enough for the processor's caches."""
GRADIENT_CHUNKS = 2
"""Chunks whose gradients in bfloat16 are kept together."""


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
        sums = _CrossEntropy.apply(features, output.weight, output.bias, targets, label_smoothing)
    return LossSums(sums[0].detach(), sums[1], sums[2], is_token.sum())


class _CrossEntropy(torch.autograd.Function):
    """Cross-entropy over the vocabulary that never holds all logits.

    Gradients are made chunk by chunk together with the loss, so that logits exist for one chunk at a time, in a
    place that is used again. Under autocast the products take its type and the softmax is in float32. The
    smoothed labels have the same share on every token, so that mean logits and the gradients of these shares
    are products with the mean of W. Can be differentiated once.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        device = features.device.type
        product = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else features.dtype
        precise = torch.promote_types(product, torch.float32)
        with torch.autocast(device, enabled=False):
            wide, w, b = features.to(product), weight.to(product), bias.to(product)
            size, exact = min(CHUNK_ROWS, len(features)), product == precise
            probabilities = torch.empty(size, len(weight), dtype=precise, device=features.device)
            # gradients in a short format are kept for several chunks, whose share in that of W is one product
            several = size if exact else min(GRADIENT_CHUNKS * size, len(features))
            kept = probabilities if exact else wide.new_empty(several, len(weight))
            nll = torch.zeros((), dtype=precise, device=features.device)
            smoothed, num_correct = nll.clone(), torch.zeros_like(nll, dtype=torch.int64)
            mean_weight, mean_bias = weight.mean(dim=0, dtype=precise), bias.mean(dtype=precise)
            wanted = any(ctx.needs_input_grad)
            if wanted:
                of_features = torch.empty_like(features)
                of_weight = torch.zeros_like(weight, dtype=precise)
                of_bias = torch.zeros_like(bias, dtype=precise)
            for start in range(0, len(features), size):
                chunk, target = wide[start : start + size], targets[start : start + size].unsqueeze(1)
                p = probabilities[: len(chunk)]  # (n, V)
                logits = kept[start % several :][: len(chunk)]
                torch.addmm(b, chunk, w.T, out=logits)
                if not exact:
                    p.copy_(logits)
                chosen, of_target = place_of_top(p).unsqueeze(1), p.gather(1, target)
                greatest = p.gather(1, chosen)
                torch.softmax(p, dim=1, out=p)
                normalizer = greatest - p.gather(1, chosen).log()
                nll += (normalizer - of_target).sum()
                smoothed += (normalizer - (1 - smoothing) * of_target).sum()
                num_correct += (chosen == target).sum()
                if not wanted:
                    continue
                # the gradient of logits: probabilities less labels
                p.scatter_add_(1, target, p.new_full((1, 1), smoothing - 1).expand_as(target))
                of_bias += p.sum(dim=0)
                if not exact:
                    logits.copy_(p)
                of_features[start : start + size] = logits @ w
                end = start + len(chunk)
                if end % several == 0 or end == len(features):
                    rows = slice((end - 1) // several * several, end)
                    of_weight += kept[: rows.stop - rows.start].T @ wide[rows]
            if smoothing:
                sum_features = features.sum(dim=0, dtype=precise)
                smoothed -= smoothing * (sum_features @ mean_weight + len(features) * mean_bias)
                if wanted:
                    of_features -= (smoothing * mean_weight).to(features.dtype)
                    of_weight -= smoothing / len(weight) * sum_features
                    of_bias -= smoothing / len(weight) * len(features)
        if wanted:
            ctx.gradients = of_features, of_weight.to(weight.dtype), of_bias.to(bias.dtype)
        ctx.mark_non_differentiable(nll, num_correct)
        return nll, smoothed, num_correct

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: Any, gradient: Tensor, __: Any) -> tuple[Tensor | None, ...]:
        of_features, of_weight, of_bias = ctx.gradients
        scale = gradient.to(of_weight.dtype)
        return of_features * scale.to(of_features.dtype), of_weight * scale, of_bias * scale, None, None


def twice(batch: Batch) -> Batch:
    """Return every pair of a batch twice, as R-Drop needs it: the whole batch, then the whole batch again."""
    source = SourceBatch(batch.source.ids.repeat(2, 1), batch.source.lengths.repeat(2))
    targets = batch.target_input.repeat(2, 1), batch.target_output.repeat(2, 1)
    return Batch(source, *targets, batch.target_lengths.repeat(2), batch.sentence_ids.repeat(2))


def drop_words(batch: Batch, probability: float) -> Batch:
    """Return a batch in which tokens of the source and of the target input are ``<unk>`` at random.

    Word dropout (Iyyer et al. 2015; Bowman et al. 2016 for the decoder's input). The tokens that are to be
    predicted stay, and so do ``<bos>``, ``<eos>`` and padding.
    """

    def dropped(ids: Tensor) -> Tensor:
        chosen = torch.rand(ids.shape, device=ids.device) < probability
        return ids.masked_fill(chosen & (ids >= len(SPECIALS)), UNKNOWN_ID)

    source = replace(batch.source, ids=dropped(batch.source.ids))
    return replace(batch, source=source, target_input=dropped(batch.target_input))


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Gold links of a pair, and the word that each of its tokens belongs to, ``<eos>`` left out."""

    gold: GoldAlignment
    source_words: list[int | None]
    target_words: list[int | None]

    @classmethod
    def of(
        cls, split: EncodedSplit, index: int, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
    ) -> "AlignedPair":
        """Return a pair of a split that has links; the tokens of a side may have been cut."""
        pair = split.pairs[index]
        sides = [
            word_indices(tokenizer.tokens(text), split_words(text))[: len(ids)]
            for tokenizer, text, ids in (
                (source_tokenizer, pair.source, split.source[index]),
                (target_tokenizer, pair.target, split.target[index]),
            )
        ]
        return cls(GoldAlignment.from_links(pair.alignment or (), pair.possible), *sides)


class GuidedAlignment:
    """The loss of attention against gold links.

    Chen, Matusov, Khadivi and Peter, "Guided alignment training for topic-aware neural machine translation",
    2016. With a(t, j) the attention weight of target token t on source token j, and q(t) a distribution over
    the source tokens that are linked with t, it is

        - sum over t, j of q(t, j) log a(t, j)

    over the target tokens that have links: equal shares on the tokens of the words that the word of t is
    linked with, by sure links if there are any, else by possible ones.

    Args:
        split: The training split; pairs without links are left out.
        tokenizers: Of source and target.
    """

    def __init__(self, split: EncodedSplit, tokenizers: Sequence[Tokenizer]) -> None:
        self._split, self._tokenizers = split, tokenizers
        self._cells: dict[int, list[tuple[int, int, float]]] = {}

    def loss(self, weights: Tensor, batch: Batch) -> Tensor:
        """Return the sum for a batch with attention weights (B, T, S).

        A weight of zero, as sparse attention has, counts as the least number that there is.
        """
        wanted = self.wanted(batch).to(weights)
        return -(wanted * weights.clamp_min(torch.finfo(weights.dtype).tiny).log()).sum()

    def wanted(self, batch: Batch) -> Tensor:
        """Return q (B, T, S); rows of zeros for tokens without links."""
        found = np.zeros((*batch.target_output.shape, batch.source.ids.shape[1]), np.float32)
        for matrix, index in zip(found, batch.sentence_ids.tolist(), strict=True):
            if index not in self._cells:
                self._cells[index] = self._shares(index)
            for row, column, share in self._cells[index]:
                matrix[row, column] = share
        return torch.from_numpy(found)

    def _shares(self, index: int) -> list[tuple[int, int, float]]:
        """Return row, column and value of what is not zero in q of a pair."""
        if self._split.pairs[index].alignment is None:
            return []
        pair = AlignedPair.of(self._split, index, *self._tokenizers)
        cells = []
        for row, target in enumerate(pair.target_words):
            of_links = (
                [at for at, source in enumerate(pair.source_words) if (source, target) in links]
                for links in (pair.gold.sure, pair.gold.possible)
            )
            linked = next(filter(None, of_links), [])
            cells += [(row, at, 1 / len(linked)) for at in linked]
        return cells


def cross_entropy_definition(
    features: Tensor, output: nn.Linear, targets: Tensor, is_token: Tensor, label_smoothing: float
) -> Tensor:
    """Return what `token_cross_entropy` minimises, by torch's own function: the definition."""
    logits = output(features[is_token])
    return F.cross_entropy(logits, targets[is_token], reduction="sum", label_smoothing=label_smoothing)
