"""Beam search and sampling, length penalties, and the options of a search.

Beam search extends the hypotheses of all sentences of a batch by one token per step (`Stepper`), records the choices
of each step (`Trace`), and reads the translations from this record at the end. Shapes: B sentences of the batch, N
sentences still in the search, W hypotheses of each, X choices of a step, V vocabulary size, S source length.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Le
from torch import Tensor

from seq2seq.common.errors import InputError
from seq2seq.common.numbers import NotNegative, Positive, Ratio, Weight, require_bounds
from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, PADDING_ID
from seq2seq.decoding import BeamSize, PenaltyName
from seq2seq.decoding.greedy import Stepper, greedy_search
from seq2seq.decoding.hypothesis import Hypothesis, Models
from seq2seq.models.limits import DEFAULT_LIMITS, MAX_TOKENS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq

GROUP_SIZE = 64
"""Number of adjacent elements in a group of `top_k`."""


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """Length penalty: a divisor of log-probabilities that compensates for the length of hypotheses.

    With l the number of tokens, the divisor is

    - ``none``: 1
    - ``average``: l
    - ``gnmt``: ((5 + l) / 6) ^ alpha (Wu et al. 2016, equation 14, without their coverage penalty)

    Attributes:
        name: One of the above.
        alpha: Exponent of ``gnmt``; 0: no penalty.

    Raises:
        InputError: See `require_bounds`.
    """

    name: PenaltyName = "none"
    alpha: Weight = 0.6

    def __post_init__(self) -> None:
        require_bounds(self)

    def apply(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """Return the scores for ranking: log-probabilities divided by the penalty of their lengths."""
        if self.name == "none":
            return scores
        if self.name == "average":
            return scores / lengths
        return scores / ((5 + lengths) / 6) ** self.alpha


def cut(ids: list[int]) -> list[int]:
    """Return the first `MAX_TOKENS` ids; print a warning if there are more."""
    if len(ids) > MAX_TOKENS:
        message = f"WARNING: of a line of {len(ids):,} tokens the first {MAX_TOKENS:,} are translated"
        print(message, file=sys.stderr)
    return ids[:MAX_TOKENS]


@dataclass(frozen=True, slots=True)
class Step:
    """The choices of one step.

    Attributes:
        sentences: Indices of the sentences in the batch (N).
        origins: Index of each hypothesis among the choices of the previous step (N, W).
        weights: Attention weights of each hypothesis (N, W, S).
        parents: Index of the hypothesis that each choice continues (N, X).
        tokens: Token of each choice (N, X).
    """

    sentences: Tensor
    origins: Tensor
    weights: Tensor
    parents: Tensor
    tokens: Tensor


class Trace:
    """The record of the steps of a search.

    Args:
        source_lengths: Number of tokens of each source sentence (B,).
    """

    def __init__(self, source_lengths: Tensor) -> None:
        self._source_lengths = source_lengths
        self.steps: list[Step] = []

    def hypotheses(
        self, sentences: Tensor, lengths: Tensor, choices: Tensor, scores: Tensor
    ) -> list[Hypothesis]:
        """Return hypotheses from their last choice, by following parents backwards.

        Args:
            sentences: Index of the sentence of each of H hypotheses (H,).
            lengths: Number of tokens of each (H,).
            choices: Index of the last choice of each (H,).
            scores: Log-probability of each (H,).
        """
        ids, weights = self._follow(sentences, lengths, choices)
        widths = self._source_lengths[sentences].tolist()
        columns = zip(ids.tolist(), scores.tolist(), weights, lengths.tolist(), widths, strict=True)
        return [
            Hypothesis(tuple(row[:length]), score, row_weights[:length, :width])
            for row, score, row_weights, length, width in columns
        ]

    def _follow(self, sentences: Tensor, lengths: Tensor, choices: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens (H, T) and weights (H, T, S) on the CPU, with zeros after the last token."""
        num_sources, num_columns = len(self._source_lengths), self.steps[0].weights.shape[-1]
        ids = sentences.new_zeros(len(sentences), len(self.steps))
        weights = self.steps[0].weights.new_zeros(*ids.shape, num_columns)
        places = sentences.new_zeros(num_sources)
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            places[step.sentences] = torch.arange(len(step.sentences), device=places.device)
            present = (lengths > number).nonzero().squeeze(1)
            rows, chosen = places[sentences[present]], choices[present]
            parents = step.parents[rows, chosen]
            ids[present, number] = step.tokens[rows, chosen]
            weights[present, number] = step.weights[rows, parents]
            choices = choices.index_put((present,), step.origins[rows, parents])
        return ids.cpu(), weights.cpu()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Options of sampling.

    Attributes:
        temperature: Divisor of the logits; with small values, sampling approaches greedy search.
        top_k: Number of most probable tokens to sample from, of equal ones those of smaller ids; None: all tokens.
        seed: Seed of the random numbers.

    Raises:
        InputError: See `require_bounds`.
    """

    temperature: Annotated[float, Ge(1e-6), Le(10**6)] = 1.0  # quotients of logits stay finite numbers
    top_k: Positive | None = None
    seed: NotNegative = 1

    def __post_init__(self) -> None:
        require_bounds(self)


def sample_search(
    models: Models,
    source: SourceBatch,
    sampling: Sampling,
    *,
    numbers: Sequence[int],
    limits: LengthLimits = DEFAULT_LIMITS,
) -> list[Hypothesis]:
    """Translate a batch of sentences by sampling each token; the scores are log-probabilities at temperature 1.

    The random numbers of a sentence depend on its number, the seed and the step only, not on the other sentences of
    the batch.

    Returns:
        One hypothesis per sentence.
    """
    num_steps = int(limits.maximum(source.lengths).max())
    samples = [np.random.default_rng((sampling.seed, n)).random(num_steps) for n in numbers]
    uniform = torch.tensor(np.stack(samples), dtype=torch.float32, device=source.ids.device)

    def choose(logits: Tensor, sentences: Tensor, step: int) -> Tensor:
        return sample_tokens(logits, uniform[sentences, step], sampling)

    return greedy_search(models, source, limits=limits, choose=choose)


def sample_tokens(logits: Tensor, uniform: Tensor, sampling: Sampling) -> Tensor:
    """Return the first tokens (n,) whose cumulative probability exceeds `uniform` (n,), numbers in [0, 1)."""
    scaled = logits / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        least = scaled.topk(sampling.top_k).values[:, -1:]
        is_least, room = scaled == least, sampling.top_k - (scaled > least).sum(dim=-1, keepdim=True)
        left_out = (scaled < least) | (is_least & (is_least.cumsum(dim=-1) > room))
        scaled = scaled.masked_fill(left_out, -torch.inf)
    cumulative = scaled.softmax(dim=-1).cumsum(dim=-1)
    # less than the total after rounding, so that a token of probability 0 is never sampled
    threshold = uniform.to(cumulative.dtype).clamp(max=1 - 1e-6) * cumulative[:, -1]
    return torch.searchsorted(cumulative, threshold.unsqueeze(1), right=True).squeeze(1)


NO_PENALTY = LengthPenalty()


@torch.no_grad()
def beam_search(
    models: Models,
    source: SourceBatch,
    *,
    size: int,
    num_best: int = 1,
    penalty: LengthPenalty = NO_PENALTY,
    limits: LengthLimits = DEFAULT_LIMITS,
    prefixes: list[list[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `num_best` best hypotheses of each sentence of a batch, the best first.

    Examples:
        >>> from seq2seq.models.folder import load_model_folder
        >>> saved = load_model_folder("grammar-en-fr")
        >>> ids = saved.source_tokenizer.encode("I see the dog.")
        >>> ((best, second),) = beam_search(saved.model, SourceBatch.from_sentences([ids]), size=5, num_best=2)
        >>> saved.target_tokenizer.decode(best.ids), best.score > second.score
        ('Je vois le chien.', True)

    At each step, the `size` continuations (hypothesis and token) of a sentence with the highest log-probability are
    selected. A continuation that ends, by ``<eos>`` or at the maximum length, is finished, and the beam of the
    sentence becomes narrower by one. Finished hypotheses are ranked by log-probability divided by the length penalty.

    A hypothesis is removed when it can no longer be among the `num_best`. Log-probabilities decrease and penalties
    increase with the length. Therefore no continuation of a hypothesis with log-probability s can have a rank above
    s divided by the penalty of the maximum length. If this is not more than the rank of the `num_best`-th finished
    hypothesis, the hypothesis is removed. This loses none of the `num_best` best; since the beam then has a place for
    another hypothesis, it may find a better one. A sentence without hypotheses is removed from the batch.

    Args:
        models: A model, or the members of an ensemble.
        source: The sentences (B).
        size: Beam size K.
        num_best: Number of hypotheses to return per sentence; fewer if fewer exist.
        penalty: Length penalty.
        limits: Minimum and maximum length of a translation, relative to the source length.
        prefixes: Target tokens at the beginning of each translation; None: none.

    Raises:
        InputError: `num_best` is not between 1 and `size`.
    """
    if not 1 <= num_best <= size:
        raise InputError(f"{num_best} best of a beam of {size}: give 1 to {size}")
    prefixes = prefixes or [[]] * len(source.lengths)
    search = _Search(models, source, size, num_best, penalty, limits, prefixes)
    while search.is_open:
        search.advance()
    return search.best()


def top_k(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Compute `torch.topk` over the last axis, several times as fast if this axis is long.

    The n largest values are in the n groups with the largest maxima, or in the remainder after the last full group.

    Returns:
        Values and indices (…, count), in descending order.
    """
    num_groups = numbers.shape[-1] // GROUP_SIZE
    if num_groups <= count:
        return numbers.topk(count)
    grouped = numbers[..., : num_groups * GROUP_SIZE].unflatten(-1, (num_groups, GROUP_SIZE))
    groups = grouped.amax(dim=-1).topk(count).indices
    in_groups = grouped.gather(-2, groups.unsqueeze(-1).expand(*groups.shape, GROUP_SIZE)).flatten(-2)
    rest = numbers[..., num_groups * GROUP_SIZE :]
    values, positions = torch.cat([in_groups, rest], dim=-1).topk(count)
    groups = torch.nn.functional.pad(
        groups, (0, 1), value=num_groups
    )  # the remainder is the group after the last
    starts = groups.gather(-1, positions // GROUP_SIZE) * GROUP_SIZE
    return values, starts + positions % GROUP_SIZE


class _Finished:
    """The finished hypotheses of all sentences: K columns, and one for values that are not used."""

    def __init__(self, num_sentences: int, size: int, like: Tensor) -> None:
        shape = (num_sentences, size + 1)
        self.ranks = like.new_full(shape, -torch.inf)
        self.scores = like.new_zeros(shape)
        self.lengths = torch.zeros(shape, dtype=torch.long, device=like.device)
        self.choices = torch.zeros_like(self.lengths)
        self.counts = torch.zeros_like(self.lengths[:, 0])
        self._size = size

    def add(self, sentences: Tensor, ended: Tensor, scores: Tensor, ranks: Tensor, step: int) -> None:
        """Store the choices that have ended in the next free columns."""
        places = self.counts[sentences].unsqueeze(1) + ended.cumsum(dim=1) - 1
        cells = (sentences.unsqueeze(1), torch.where(ended, places, self._size))
        self.ranks[cells] = ranks
        self.scores[cells] = scores
        self.lengths[cells] = step
        self.choices[cells] = torch.arange(ended.shape[1], device=ended.device).expand_as(ended)
        self.counts[sentences] += ended.sum(dim=1)

    def best(self, num_best: int) -> tuple[Tensor, Tensor]:
        """Return ranks and columns of the best hypotheses of each sentence (B, num_best), the best first."""
        return self.ranks[:, : self._size].topk(num_best)


class _Search:
    """The state of a beam search, with N sentences and W hypotheses of each."""

    def __init__(
        self,
        models: Models,
        source: SourceBatch,
        size: int,
        num_best: int,
        penalty: LengthPenalty,
        limits: LengthLimits,
        prefixes: list[list[int]],
    ) -> None:
        self._size, self._num_best, self._penalty = size, num_best, penalty
        self._stepper, self._trace = Stepper(models, source, limits), Trace(source.lengths)
        self._prefixes = _Prefixes(prefixes, source.ids.device)
        self._stepper.max_lengths = torch.maximum(self._stepper.max_lengths, self._prefixes.lengths + 1)
        self._tokens = torch.full_like(self._stepper.sentences, BEGIN_ID).unsqueeze(1)
        self._origins = torch.zeros_like(self._tokens)
        first = models if isinstance(models, Seq2Seq) else models[0]
        dtype = torch.promote_types(next(first.parameters()).dtype, torch.float32)
        self._scores = torch.zeros_like(self._tokens, dtype=dtype)
        self._finished = _Finished(len(self._tokens), size, self._scores)

    @property
    def is_open(self) -> bool:
        """Whether a sentence is still in the search."""
        return len(self._tokens) > 0

    def advance(self) -> None:
        """Compute one step of all sentences."""
        stepper, active = self._stepper, (self._scores.flatten() > -torch.inf).nonzero().squeeze(1)

        def most_probable(log_probs: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
            self._prefixes.force(log_probs, sentences, stepper.length)
            return top_k(log_probs, min(self._size, log_probs.shape[-1]))

        (best, ids), weights = stepper.step(self._tokens, most_probable, active)
        scores, parents, tokens = self._continuations(best, ids, active)
        self._trace.steps.append(Step(stepper.sentences, self._origins, weights, parents, tokens))
        ended = stepper.is_end(tokens) & (scores > -torch.inf)
        ranks = self._penalty.apply(scores, torch.full_like(tokens, stepper.length))
        self._finished.add(stepper.sentences, ended, scores, ranks, stepper.length)
        attainable = self._penalty.apply(scores, stepper.max_lengths[stepper.sentences].unsqueeze(1))
        to_beat = self._finished.best(self._num_best)[0][stepper.sentences, -1:]
        removed = ended | (attainable <= to_beat)
        self._select(scores.masked_fill(removed, -torch.inf), parents, tokens)

    def _continuations(self, best: Tensor, ids: Tensor, active: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return scores, parents and tokens (N, X) of the best continuations of each sentence.

        Args:
            best: Log-probabilities of the best continuations of each active hypothesis (R, K).
            ids: Tokens of these continuations (R, K).
            active: Indices of the active hypotheses among all N W (R,).
        """
        best += self._scores.flatten()[active].unsqueeze(1)
        shape = (self._scores.numel(), best.shape[1])
        candidates = best.new_full(shape, -torch.inf).index_copy(0, active, best)
        tokens = ids.new_zeros(shape).index_copy(0, active, ids).view(len(self._tokens), -1)
        candidates = candidates.view_as(tokens)
        scores, places = candidates.topk(min(self._size, candidates.shape[1]), dim=1)
        num_free = self._size - self._finished.counts[self._stepper.sentences]
        taken = torch.arange(scores.shape[1], device=scores.device) >= num_free.unsqueeze(1)
        return (scores.masked_fill(taken, -torch.inf), places // best.shape[1], tokens.gather(1, places))

    def _select(self, scores: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """Remove hypotheses with score -inf, as far as the shape (N, W) allows, and sentences without others."""
        num_active = (scores > -torch.inf).sum(dim=1)
        kept = num_active.nonzero().squeeze(1)
        scores, origins = scores.topk(max(int(num_active.max()), 1), dim=1)
        self._stepper.select(kept, parents.gather(1, origins))
        self._scores, self._origins, self._tokens = (
            each[kept] for each in (scores, origins, tokens.gather(1, origins))
        )

    def best(self) -> list[list[Hypothesis]]:
        """Return the best finished hypotheses of each sentence."""
        ranks, columns = self._finished.best(self._num_best)
        found = ranks > -torch.inf
        sentences, _ = found.nonzero(as_tuple=True)
        cells = (sentences, columns[found])
        hypotheses = iter(
            self._trace.hypotheses(
                sentences,
                self._finished.lengths[cells],
                self._finished.choices[cells],
                self._finished.scores[cells],
            )
        )
        return [list(islice(hypotheses, count)) for count in found.sum(dim=1).tolist()]


class _Prefixes:
    """Target tokens at the beginning of the translations."""

    def __init__(self, prefixes: list[list[int]], device: torch.device) -> None:
        self.lengths = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        self._num_steps = max(map(len, prefixes), default=0)
        padded = [prefix + [PADDING_ID] * (self._num_steps - len(prefix)) for prefix in prefixes]
        self._ids = torch.tensor(padded, dtype=torch.long, device=device)

    def force(self, logits: Tensor, sentences: Tensor, step: int) -> None:
        """Set the logits of all tokens except the next token of the prefix to -inf, in place."""
        if step > self._num_steps:
            return
        inside = (step <= self.lengths[sentences]).nonzero().squeeze(1)
        ids = self._ids[sentences[inside], step - 1].unsqueeze(1)
        forced = torch.full_like(logits[inside], -torch.inf)
        logits[inside] = forced.scatter(1, ids, logits[inside].gather(1, ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Options of a search.

    Attributes:
        beam_size: Beam size; 1: greedy search.
        num_best: Number of hypotheses per sentence.
        penalty: Length penalty.
        min_ratio: Minimum number of target tokens per source token; None: that of the model.
        max_ratio: Maximum number of target tokens per source token, plus 10 tokens; None: the limits of the model.
        sampling: Options of sampling; None: greedy or beam search.

    Raises:
        InputError: See `require_bounds`; or values contradict each other.
    """

    beam_size: BeamSize = 1
    num_best: Positive = 1
    penalty: LengthPenalty = NO_PENALTY
    min_ratio: Ratio | None = None
    max_ratio: Ratio | None = None
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        require_bounds(self)
        self.limits(LengthLimits(max_ratio=1e6))
        if self.num_best > self.beam_size:
            raise InputError(
                f"{self.num_best} best of a beam of {self.beam_size}: give 1 to {self.beam_size}"
            )
        if self.sampling is not None and self.beam_size > 1:
            raise InputError(f"sampling follows one hypothesis, not a beam of {self.beam_size}")

    def limits(self, of_model: LengthLimits) -> LengthLimits:
        """Return the length limits of this search, given the limits of the model.

        Raises:
            InputError: The minimum of long sentences is above their maximum.
        """
        if self.max_ratio is not None:
            of_model = LengthLimits(min_ratio=of_model.min_ratio, max_ratio=self.max_ratio)
        found = of_model if self.min_ratio is None else replace(of_model, min_ratio=self.min_ratio)
        if self.min_ratio is not None and found.min_ratio > found.max_ratio:
            raise InputError(
                f"at least {found.min_ratio:g} target tokens per source token contradict at most {found.max_ratio:g}: lower "
                "the minimum ratio, or raise the maximum ratio"
            )
        return found


GREEDY = Search()


def search_from_options(
    *,
    length_penalty: PenaltyName = "none",
    length_penalty_alpha: float = 0.6,
    sampling: Mapping[str, Any] | None = None,
    **values: Any,
) -> Search:
    """Return a search from the options of a command or configuration.

    `sampling` has the arguments of `Sampling`; None: no sampling. `values` are other arguments of `Search`.
    """
    penalty = LengthPenalty(length_penalty, length_penalty_alpha)
    return Search(penalty=penalty, sampling=None if sampling is None else Sampling(**sampling), **values)


def search_of(decoding: Mapping[str, Any]) -> Search:
    """Return the search of a configuration, by its node ``decoding``, which may be of version 0.4."""
    alpha = decoding.get("length_penalty_alpha", decoding.get("alpha", 0.6))
    earlier = {"name": decoding.get("length_penalty", "none"), "alpha": alpha}
    return Search(
        beam_size=decoding.get("beam_size", 1), penalty=LengthPenalty(**(decoding.get("penalty") or earlier))
    )


def run_search(
    models: Models,
    source: SourceBatch,
    search: Search,
    *,
    numbers: Sequence[int],
    limits: LengthLimits = DEFAULT_LIMITS,
    prefixes: list[list[int]] | None = None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence of a batch, the best first.

    The number of each sentence is that of `sample_search`.

    Raises:
        InputError: `prefixes` are given for sampling.
    """
    limits = search.limits(limits)
    if search.sampling is not None:
        if prefixes is not None:
            raise InputError("sampling takes no prefixes")
        samples = sample_search(models, source, search.sampling, numbers=numbers, limits=limits)
        return [[hypothesis] for hypothesis in samples]
    if search.beam_size == 1 and prefixes is None:
        return [[h] for h in greedy_search(models, source, limits=limits)]
    return beam_search(
        models,
        source,
        size=search.beam_size,
        num_best=search.num_best,
        penalty=search.penalty,
        limits=limits,
        prefixes=prefixes,
    )
