"""Greedy search, and what all searches share: hypotheses, and a decoder step of all of them, with a model or an ensemble.

Shapes: B sentences of the batch, N sentences still in the search, W hypotheses of each (1 in greedy search), V
vocabulary size, S source length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.attention.masking import at_least_float32
from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.errors import NotFinite
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which must have the same vocabularies."""

TokenChooser = Callable[[Tensor, Tensor, int], Tensor]
"""Function of log-probabilities (n, V), their sentences (n,) and the position of the token, from 0; returns tokens (n,)."""

ROWS = 128
"""Number of hypotheses whose logits are computed at once, so that these fit into the caches of the CPU."""
GROUP_SIZE = 64
"""Number of adjacent elements in a group of `argmax`."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation found by a search.

    Attributes:
        ids: Target token ids, ending with ``<eos>`` unless the maximum length was reached.
        score: Natural logarithm of the probability of the ids given the source.
        weights: Attention weights (len(ids), source length) on the CPU; (len(ids), 0) for a model without attention.
        heads: Attention weights of each head (heads, len(ids), source length), see `seq2seq.decoding.forced`; None if
            they were not requested or there is a single head.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor
    heads: Tensor | None = None


def greedy_search(
    models: Models, source: SourceBatch, *, limits: LengthLimits = DEFAULT_LIMITS
) -> list[Hypothesis]:
    """Translate a batch of sentences with the most probable token at each step.

    Examples:
        >>> from seq2seq.models.folder import load_model_folder
        >>> saved = load_model_folder("grammar-en-fr")
        >>> ids = saved.source_tokenizer.encode("I see the dog.")
        >>> (hypothesis,) = greedy_search(saved.model, SourceBatch.from_sentences([ids]))
        >>> saved.target_tokenizer.decode(hypothesis.ids)
        'Je vois le chien.'

    Args:
        models: A model, or the members of an ensemble.
        source: The sentences (B).
        limits: Minimum and maximum length of a translation, relative to the source length.

    Returns:
        One hypothesis per sentence.
    """
    return decode_stepwise(models, source, lambda log_probs, *_: argmax(log_probs), limits=limits)


@torch.no_grad()
def decode_stepwise(
    models: Models, source: SourceBatch, choose: TokenChooser, *, limits: LengthLimits
) -> list[Hypothesis]:
    """Translate a batch of sentences with the tokens that `choose` returns.

    The limits of a sentence depend on its length only, so its translation does not depend on the other sentences
    of the batch.
    """
    stepper = Stepper(models, source, limits)  # encodes the source
    tokens = torch.full_like(stepper.sentences, BEGIN_ID)  # the previous ones (N,)
    ids, scores, weights = (
        list[Tensor](),
        list[Tensor](),
        list[Tensor](),
    )  # of each step, in the rows of the batch

    def next_tokens(log_probs: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
        chosen = choose(log_probs, sentences, len(ids))
        return chosen, log_probs.gather(1, chosen.unsqueeze(1)).squeeze(1)

    def in_batch(part: Tensor, fill: int = 0) -> Tensor:
        whole = part.new_full((len(source.lengths), *part.shape[1:]), fill)
        return whole.index_copy_(0, stepper.sentences, part)

    while len(tokens):
        (tokens, log_probs), step_weights = stepper.step(tokens.unsqueeze(1), next_tokens)
        ids.append(in_batch(tokens, PADDING_ID))
        scores.append(in_batch(log_probs))
        weights.append(in_batch(step_weights.squeeze(1)))
        kept = (~stepper.is_end(tokens)).nonzero().squeeze(1)
        stepper.select(kept)
        tokens = tokens[kept]

    found = torch.stack(ids, dim=1)
    lengths, totals = (found != PADDING_ID).sum(dim=1), torch.stack(scores).sum(dim=0)
    columns = found, totals, torch.stack(weights, dim=1).cpu(), lengths, source.lengths
    return [
        Hypothesis(tuple(row[:length]), score, matrix[:length, :width])
        for row, score, matrix, length, width in zip(
            *(each if each is columns[2] else each.tolist() for each in columns), strict=True
        )
    ]


class Stepper:
    """The memories and decoder states of the sentences in a search.

    All N sentences have the same number W of hypotheses. The hypotheses of a sentence share its memory, which is not
    repeated. Probabilities and attention weights are averaged over the members of an ensemble.

    Args:
        models: A model, or the members of an ensemble.
        source: The source sentences (B).
        limits: Minimum and maximum length of a translation.

    Attributes:
        sentences: Index in the batch of each sentence that is still in the search (N,); at first all.
        max_lengths: Maximum length of the translation of each sentence of the batch (B,).
        length: Number of tokens of the hypotheses.
    """

    def __init__(self, models: Models, source: SourceBatch, limits: LengthLimits) -> None:
        self._members = [models] if isinstance(models, Seq2Seq) else list(models)
        self._memories = [model.encode(source) for model in self._members]
        self._states = [
            model.decoder.initial_state(memory)
            for model, memory in zip(self._members, self._memories, strict=True)
        ]
        self._min_lengths, self.max_lengths = limits.minimum(source.lengths), limits.maximum(source.lengths)
        self.sentences, self.length = torch.arange(len(source.lengths), device=source.ids.device), 0

    @property
    def dtype(self) -> torch.dtype:
        """The data type of log-probabilities."""
        return torch.promote_types(self._states[0][0].dtype, torch.float32)

    def step(
        self,
        tokens: Tensor,
        choose: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
        active: Tensor | None = None,
    ) -> tuple[list[Tensor], Tensor]:
        """Compute one step of all hypotheses, and choose their next tokens.

        Args:
            tokens: Previous token of each hypothesis (N, W).
            choose: Function of the log-probabilities of the next tokens (n, V), which it may modify, and the sentences
                (n,) of n hypotheses, for `ROWS` at a time; returns tensors of n rows.
            active: Indices of the hypotheses to choose for, among all N W (R,); None: all.

        Returns:
            What `choose` returns, of all these hypotheses (R, …); attention weights (N, W, S), averaged over heads and
            members with attention; S = 0 if no member has attention.

        Raises:
            NotFinite: A probability is NaN.
        """
        self.length += 1
        active = torch.arange(tokens.numel(), device=tokens.device) if active is None else active
        features, weights, chosen = list[Tensor](), list[Tensor](), list[tuple[Tensor, ...]]()
        for index, (model, memory) in enumerate(zip(self._members, self._memories, strict=True)):
            found, self._states[index], of_heads = model.decoder.step(
                tokens.flatten(), self._states[index], memory
            )
            features.append(found[active])
            if of_heads is not None:
                weights.append(of_heads.mean(dim=1))
        for rows in torch.arange(len(active), device=tokens.device).split(ROWS):
            logits = (
                model.decoder.output(each[rows]) for model, each in zip(self._members, features, strict=True)
            )
            logs = [at_least_float32(each).log_softmax(dim=-1) for each in logits]
            log_probs = logs[0]
            if len(logs) > 1:  # log of the mean probability of the members
                log_probs = torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))
            check_numbers(log_probs[:, END_ID])  # one NaN makes the whole row NaN
            sentences = self.sentences[active[rows] // tokens.shape[1]]
            forbid_specials(log_probs, too_short=self.length < self._min_lengths[sentences])
            chosen.append(choose(log_probs, sentences))
        mean = (
            torch.stack(weights).mean(dim=0)
            if weights
            else tokens.new_empty(tokens.numel(), 0, dtype=self.dtype)
        )
        return [torch.cat(parts) for parts in zip(*chosen, strict=True)], mean.unflatten(0, tokens.shape)

    def is_end(self, tokens: Tensor) -> Tensor:
        """Return whether the hypotheses (N, …) end with these tokens: they are ``<eos>``, or the last that may be."""
        is_longest = self.max_lengths[self.sentences] <= self.length
        return (tokens == END_ID) | is_longest.view(-1, *[1] * (tokens.ndim - 1))

    def select(self, kept: Tensor, parents: Tensor | None = None) -> None:
        """Select sentences and hypotheses for the next step.

        Args:
            kept: Indices of the sentences to keep, among the N.
            parents: Index of the hypothesis, among the W of its sentence, that each of X new hypotheses continues
                (N, X); None: each hypothesis continues itself.
        """
        rows = torch.arange(len(self._states[0][0]), device=kept.device).view(
            len(self.sentences), -1
        )  # (N, W)
        rows = rows if parents is None else rows[:, :1] + parents
        if len(kept) < len(rows):
            self.sentences, rows = self.sentences[kept], rows[kept]
            self._memories = [memory.select(kept) for memory in self._memories]
        elif parents is None:
            return
        self._states = [tuple(part[rows.flatten()] for part in state) for state in self._states]


def argmax(numbers: Tensor) -> Tensor:
    """Compute `torch.argmax` over the last axis, several times as fast if this axis is long."""
    num_whole = numbers.shape[-1] // GROUP_SIZE * GROUP_SIZE
    if num_whole <= GROUP_SIZE:
        return numbers.argmax(dim=-1)
    grouped = numbers[..., :num_whole].unflatten(-1, (-1, GROUP_SIZE))
    group = grouped.amax(dim=-1).argmax(dim=-1, keepdim=True)
    in_group = grouped.gather(-2, group.unsqueeze(-1).expand(*group.shape, GROUP_SIZE)).squeeze(-2)
    rest = numbers[..., num_whole:]
    positions = torch.cat([in_group, rest], dim=-1).argmax(dim=-1)
    start = torch.where(positions < GROUP_SIZE, group.squeeze(-1) * GROUP_SIZE, num_whole - GROUP_SIZE)
    return start + positions


def check_numbers(log_probabilities: Tensor) -> None:
    """Raise `NotFinite` if a log-probability is NaN."""
    if log_probabilities.isnan().any():
        raise NotFinite("the model computes NaN: its weights are damaged, or too large for the precision")


def forbid_specials(log_probabilities: Tensor, too_short: Tensor) -> None:
    """Set log-probabilities of ``<pad>``, ``<bos>`` and, where `too_short`, ``<eos>`` to -inf, in place."""
    log_probabilities[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    log_probabilities[..., END_ID].masked_fill_(too_short, -torch.inf)
