"""Beam search and sampling, length penalties, and the options of a search.

Beam search follows the hypotheses of many sentences at once, step by step (`Stepper`), records its choices
(`Trace`), and reads the translations off them at the end. Shapes: B sentences of the batch, N sentences still
searched, W hypotheses of each, V vocabulary, S source length.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.greedy import follow_choices, greedy_search
from seq2seq.decoding.stepper import FULL, Hypothesis, Models, Stepper, forbid, top_k
from seq2seq.errors import InputError
from seq2seq.models.limits import DEFAULT_LIMITS, LONGEST, LengthLimits


@dataclass(frozen=True, slots=True)
class LengthPenalty:
    """What a log-probability is divided by, so that long hypotheses are not at a disadvantage.

    - ``none``: 1
    - ``average``: the number of tokens l
    - ``gnmt``: ((5 + l) / 6) ^ alpha (Wu et al. 2016, equation 14, without their coverage term)

    Attributes:
        name: one of the above.
        alpha: exponent of ``gnmt``, at least 0: 0 is no penalty.

    Raises:
        ValueError: no such penalty, or a negative exponent.
    """

    name: str = "none"
    alpha: float = 0.6

    def __post_init__(self) -> None:
        if self.name not in PENALTIES:
            raise ValueError(f"no length penalty {self.name!r}: choose {', '.join(PENALTIES)}")
        if not self.alpha >= 0:
            raise ValueError(f"the exponent of a length penalty is at least 0, not {self.alpha}")

    def apply(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """The values by which hypotheses are ranked."""
        if self.name == "none":
            return scores
        if self.name == "average":
            return scores / lengths
        return scores / ((5 + lengths) / 6) ** self.alpha


PENALTIES = ("none", "average", "gnmt")


def cut(ids: list[int]) -> list[int]:
    """The first `LONGEST` ids, with a line of warning where there are more."""
    if len(ids) > LONGEST:
        message = f"WARNING: of a line of {len(ids):,} tokens the first {LONGEST:,} are translated"
        print(message, file=sys.stderr)
    return ids[:LONGEST]


@dataclass(frozen=True, slots=True)
class Step:
    """The choices of one step.

    Attributes:
        sentences: which sentences of the batch took part (N).
        origins: for each hypothesis that went in, which choice of the step before it was (N, W).
        weights: attention of each hypothesis that went in (N, W, S).
        parents: for each choice, the hypothesis that it continues (N, X).
        tokens: for each choice, its token (N, X).
    """

    sentences: Tensor
    origins: Tensor
    weights: Tensor
    parents: Tensor
    tokens: Tensor


class Trace:
    """The steps of a search."""

    def __init__(self, source_lengths: Tensor) -> None:
        self._source_lengths = source_lengths
        self.steps: list[Step] = []

    def hypotheses(
        self,
        sentences: Tensor,
        lengths: Tensor,
        choices: Tensor,
        scores: Tensor,
    ) -> list[Hypothesis]:
        """Follow hypotheses of some sentences and lengths back from their last choice."""
        ids, weights = self._followed(sentences, lengths, choices)
        widths = self._source_lengths[sentences].tolist()
        columns = zip(ids.tolist(), scores.tolist(), weights, lengths.tolist(), widths, strict=True)
        return [
            Hypothesis(tuple(row[:length]), score, row_weights[:length, :width])
            for row, score, row_weights, length, width in columns
        ]

    def _followed(self, sentences: Tensor, lengths: Tensor, choices: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (H, T) and weights (H, T, S) on the CPU; zeros after the last token."""
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
    """How to draw.

    Attributes:
        temperature: the logits are divided by it; small values come close to greedy search.
        top_k: draw among the likeliest so many tokens only; None for all.
        seed: of the random numbers.

    Raises:
        ValueError: the temperature is not above 0, or `top_k` below 1.
    """

    temperature: float = 1.0
    top_k: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"the temperature is above 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k is at least 1, not {self.top_k}")


def sample_search(
    models: Models,
    source: SourceBatch,
    sampling: Sampling,
    *,
    numbers: Sequence[int],
    limits: LengthLimits = DEFAULT_LIMITS,
) -> list[Hypothesis]:
    """Translate a batch by drawing every token; scores are those of the model at temperature 1.

    The random numbers of a sentence are a function of its number, the seed and the step alone, so
    that the sentences beside it do not matter.
    """
    num_steps = int(limits.maximum(source.lengths).max())
    drawn = [np.random.default_rng((sampling.seed, n)).random(num_steps) for n in numbers]
    uniform = torch.tensor(np.stack(drawn), dtype=torch.float32, device=source.ids.device)

    def choose(logits: Tensor, sentences: Tensor, step: int) -> Tensor:
        return draw(logits, uniform[sentences, step], sampling)

    return follow_choices(models, source, choose, limits=limits)


def draw(logits: Tensor, uniform: Tensor, sampling: Sampling) -> Tensor:
    """The token at which the cumulative probability first exceeds a number from [0, 1)."""
    scaled = logits / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        least = scaled.topk(sampling.top_k).values[:, -1:]
        scaled = scaled.masked_fill(scaled < least, -torch.inf)
    cumulative = scaled.softmax(dim=-1).cumsum(dim=-1)
    # below the total whatever the rounding, so that a token of probability 0 is never drawn
    at = uniform.to(cumulative.dtype).clamp(max=1 - 1e-6) * cumulative[:, -1]
    return torch.searchsorted(cumulative, at.unsqueeze(1), right=True).squeeze(1)


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
    prune: float | None = None,
) -> list[list[Hypothesis]]:
    """Return the `num_best` hypotheses of each sentence of a batch, the best first.

    The rules. At every step the best `size` continuations of a sentence's hypotheses are chosen among
    all hypotheses and tokens, by log-probability. One that ends (by ``<eos>``, or at the greatest
    length) is finished and keeps its place: the beam is narrower by one from then on. Finished
    hypotheses are ranked by their log-probability over the length penalty.

    A hypothesis leaves the beam once it cannot be among the `num_best` any more. A log-probability
    only falls, and the penalty divides it by something that only grows with the length. So nothing
    that begins with a hypothesis of log-probability s can rank above s over the penalty of the
    greatest length. Where that does not exceed the `num_best`-th best finished hypothesis, it leaves.
    It is below all hypotheses of its step that may yet be ranked: they lose nothing by it. What would
    come after one that has left is not computed. A sentence without hypotheses leaves the batch.

    With `prune` a continuation leaves, too, whose log-probability is more than so much below that of
    the best one of its sentence and step (relative threshold pruning, Freitag and Al-Onaizan 2017,
    equation 1, there with probabilities). That may lose what would have been the best.

    There are fewer only where there are no more. `size` is K, the hypotheses of a sentence that are
    followed; `prefixes` are the target tokens with which each translation has to begin; `prune` is
    in nats, None for nothing.

    Raises:
        ValueError: `num_best` is not between 1 and `size`.
    """
    if not 1 <= num_best <= size:
        raise ValueError(f"{num_best} best of a beam of {size}: give 1 to {size}")
    prefixes = prefixes or [[]] * len(source.lengths)
    search = _Search(models, source, size, num_best, penalty, limits, prefixes, prune)
    while len(search.sentences):
        search.advance()
    return search.best()


class _Finished:
    """The finished hypotheses of every sentence, in K columns and one more for what is none."""

    def __init__(self, num_sentences: int, size: int, like: Tensor) -> None:
        shape = (num_sentences, size + 1)
        self.ranks = like.new_full(shape, -torch.inf)
        self.scores = like.new_zeros(shape)
        self.lengths = torch.zeros(shape, dtype=torch.long, device=like.device)
        self.choices = torch.zeros_like(self.lengths)
        self.counts = torch.zeros_like(self.lengths[:, 0])
        self._size = size

    def add(
        self,
        sentences: Tensor,
        ended: Tensor,
        scores: Tensor,
        ranks: Tensor,
        step: int,
    ) -> None:
        """Put the choices that have ended into the next free columns."""
        places = self.counts[sentences].unsqueeze(1) + ended.cumsum(dim=1) - 1
        cells = (sentences.unsqueeze(1), torch.where(ended, places, self._size))
        self.ranks[cells] = ranks
        self.scores[cells] = scores
        self.lengths[cells] = step
        self.choices[cells] = torch.arange(ended.shape[1], device=ended.device).expand_as(ended)
        self.counts[sentences] += ended.sum(dim=1)

    def best(self, num_best: int) -> tuple[Tensor, Tensor]:
        """Ranks and columns of the best of each sentence, the best first."""
        return self.ranks[:, : self._size].topk(num_best)


class _Search:
    """The state of a search; N sentences are still in it, with W hypotheses each."""

    def __init__(
        self,
        models: Models,
        source: SourceBatch,
        size: int,
        num_best: int,
        penalty: LengthPenalty,
        limits: LengthLimits,
        prefixes: list[list[int]],
        prune: float | None,
    ) -> None:
        self._size, self._num_best, self._penalty = size, num_best, penalty
        self._prune = math.inf if prune is None else prune
        self._stepper, self._trace = Stepper(models, source, size), Trace(source.lengths)
        self._prefixes = _Prefixes(prefixes, source.ids.device)
        self._least = limits.minimum(source.lengths)
        self._greatest = torch.maximum(limits.maximum(source.lengths), self._prefixes.lengths + 1)
        self._step = 0
        self.sentences = torch.arange(len(source.lengths), device=source.ids.device)
        self._tokens = torch.full_like(self.sentences, BEGIN_ID).unsqueeze(1)
        self._origins = torch.zeros_like(self._tokens)
        self._scores = torch.zeros_like(self._tokens, dtype=self._stepper.dtype)
        self._finished = _Finished(len(self.sentences), size, self._scores)

    def advance(self) -> None:
        """One step of all sentences."""
        self._step += 1
        live = (self._scores.flatten() > -torch.inf).nonzero().squeeze(1)
        sentences = self.sentences[live // self._scores.shape[1]]
        too_short = self._step < self._least[sentences]

        def choose(log_probabilities: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
            forbid(log_probabilities, too_short[rows])
            self._prefixes.force(log_probabilities, sentences[rows], self._step)
            return top_k(log_probabilities, min(self._size, log_probabilities.shape[-1]))

        best, ids, weights = self._stepper.advance(self._tokens, live, choose)
        scores, parents, tokens = self._continuations(best, ids, live)
        self._trace.steps.append(Step(self.sentences, self._origins, weights, parents, tokens))
        greatest = self._greatest[self.sentences].unsqueeze(1)
        ended = ((tokens == END_ID) | (greatest == self._step)) & (scores > -torch.inf)
        ranks = self._penalty.apply(scores, torch.full_like(tokens, self._step))
        self._finished.add(self.sentences, ended, scores, ranks, self._step)
        attainable = self._penalty.apply(scores, greatest)
        to_beat = self._finished.best(self._num_best)[0][self.sentences, -1:]
        left = ended | (attainable <= to_beat) | (scores < scores[:, :1] - self._prune)
        self._go_on_with(scores.masked_fill(left, -torch.inf), parents, tokens)

    def _continuations(self, best: Tensor, ids: Tensor, live: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, parents and tokens of the best, as many as the beam has free places (N, X).

        `live` are the places, among all N W, of the hypotheses that have not left; `best` and `ids` (R, K) the
        log-probabilities and the tokens of their best continuations.
        """
        best += self._scores.flatten()[live].unsqueeze(1)
        shape = (self._scores.numel(), best.shape[1])
        candidates = best.new_full(shape, -torch.inf).index_copy(0, live, best)
        every = ids.new_zeros(shape).index_copy(0, live, ids).view(len(self.sentences), -1)
        candidates = candidates.view_as(every)
        scores, places = candidates.topk(min(self._size, candidates.shape[1]), dim=1)
        num_free = self._size - self._finished.counts[self.sentences]
        taken = torch.arange(scores.shape[1], device=scores.device) >= num_free.unsqueeze(1)
        return (
            scores.masked_fill(taken, -torch.inf),
            places // best.shape[1],
            every.gather(1, places),
        )

    def _go_on_with(self, scores: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """Drop the hypotheses of score -inf at the end, and sentences that have no others."""
        num_live = (scores > -torch.inf).sum(dim=1)
        has_live = num_live > 0
        is_full = bool(has_live.sum() > FULL * len(has_live))
        kept = None if is_full else has_live.nonzero().squeeze(1)
        self._scores, self._origins = scores.topk(max(int(num_live.max()), 1), dim=1)
        self._tokens = tokens.gather(1, self._origins)
        self._stepper.follow(kept, parents.gather(1, self._origins))
        if kept is not None:
            self.sentences = self.sentences[kept]
            self._scores, self._origins = self._scores[kept], self._origins[kept]
            self._tokens = self._tokens[kept]

    def best(self) -> list[list[Hypothesis]]:
        """The best finished hypotheses of each sentence."""
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
    """Target tokens that the translations have to begin with."""

    def __init__(self, prefixes: list[list[int]], device: torch.device) -> None:
        self.lengths = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        self._num_steps = max(map(len, prefixes), default=0)
        padded = [prefix + [PADDING_ID] * (self._num_steps - len(prefix)) for prefix in prefixes]
        self._ids = torch.tensor(padded, dtype=torch.long, device=device)

    def force(self, logits: Tensor, sentences: Tensor, step: int) -> None:
        """Exclude, in place, all but the next token of the prefix from those inside of it."""
        if step > self._num_steps:
            return
        inside = (step <= self.lengths[sentences]).nonzero().squeeze(1)
        ids = self._ids[sentences[inside], step - 1].unsqueeze(1)
        forced = torch.full_like(logits[inside], -torch.inf)
        logits[inside] = forced.scatter(1, ids, logits[inside].gather(1, ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How to search for translations.

    Attributes:
        beam_size: hypotheses that are followed; 1 is greedy search.
        num_best: hypotheses wanted of each sentence.
        penalty: how hypotheses of different lengths are compared.
        min_length: target tokens of a source token at least.
        max_length: the same at most, and 10 more; None for what the model was trained for.
        sampling: draw the tokens instead; None to search.
        prune: nats that the others may be below the best hypothesis, see `beam`; None for any.

    Raises:
        ValueError: the values do not go together.
    """

    beam_size: int = 1
    num_best: int = 1
    penalty: LengthPenalty = NO_PENALTY
    min_length: float = 0.0
    max_length: float | None = None
    sampling: Sampling | None = None
    prune: float | None = None

    def __post_init__(self) -> None:
        self.limits(DEFAULT_LIMITS)
        if not 1 <= self.num_best <= self.beam_size:
            if self.beam_size < 1:
                raise ValueError(f"beam size {self.beam_size}: give 1 (greedy search) or more")
            raise ValueError(
                f"{self.num_best} best of a beam of {self.beam_size}: give 1 to {self.beam_size}"
            )
        if self.prune is not None and not 0 < self.prune < math.inf:
            raise ValueError(f"what is pruned is more than 0 nats below the best, not {self.prune}")
        if self.sampling is not None and self.beam_size > 1:
            raise ValueError(f"sampling follows one hypothesis, not a beam of {self.beam_size}")

    def limits(self, of_model: LengthLimits) -> LengthLimits:
        """How long translations may be, by this search and by those of a model's training split."""
        if self.max_length is not None:
            of_model = LengthLimits(max_ratio=self.max_length)
        return replace(of_model, min_ratio=self.min_length)


GREEDY = Search()


def search_from_options(
    *,
    length_penalty: str = "none",
    length_penalty_alpha: float = 0.6,
    sampling: Mapping[str, Any] | None = None,
    **values: Any,
) -> Search:
    """The search that the options of a program describe; `values` are those of `Search`.

    Raises:
        InputError: a value is out of range, or two do not go together.
    """
    try:
        penalty = LengthPenalty(length_penalty, length_penalty_alpha)
        drawn = None if sampling is None else Sampling(**sampling)
        return Search(penalty=penalty, sampling=drawn, **values)
    except ValueError as error:
        raise InputError(str(error)) from error


def run_search(
    models: Models,
    source: SourceBatch,
    search: Search,
    *,
    numbers: Sequence[int],
    limits: LengthLimits = DEFAULT_LIMITS,
    prefixes: list[list[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence of a batch, the best first.

    `numbers` are those of `sample_search`, `limits` those of the model, and `prefixes` what each
    translation has to begin with.

    Raises:
        ValueError: sampled translations are to begin with something.
    """
    limits = search.limits(limits)
    if search.sampling is not None:
        if prefixes is not None:
            raise ValueError("sampling takes no prefixes")
        drawn = sample_search(models, source, search.sampling, numbers=numbers, limits=limits)
        return [[hypothesis] for hypothesis in drawn]
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
        prune=search.prune,
    )
