"""Beam search over a batch: the whole beam of every sentence in one step of the decoder.

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
"""

import math
from itertools import islice

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds, LengthPenalty
from seq2seq.decoding.stepper import Models, Stepper, forbid
from seq2seq.decoding.top_k import top_k
from seq2seq.decoding.trace import Step, Trace
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID

NO_PENALTY = LengthPenalty()
FULL = 7 / 8
"""Share of a batch's sentences that have hypotheses: with fewer the others are cleared away."""


@torch.no_grad()
def beam_search(
    models: Models,
    source: SourceBatch,
    *,
    size: int,
    num_best: int = 1,
    penalty: LengthPenalty = NO_PENALTY,
    bounds: LengthBounds = DEFAULT_BOUNDS,
    prefixes: list[list[int]] | None = None,
    prune: float | None = None,
) -> list[list[Hypothesis]]:
    """The `num_best` hypotheses of each sentence of a batch, the best first.

    There are fewer only where there are no more. `size` is K, the hypotheses of a sentence that are
    followed; `prefixes` are the target tokens with which each translation has to begin; `prune` is
    in nats, None for nothing.

    Raises:
        ValueError: `num_best` is not between 1 and `size`.
    """
    if not 1 <= num_best <= size:
        raise ValueError(f"{num_best} best of a beam of {size}: give 1 to {size}")
    prefixes = prefixes or [[]] * len(source.lengths)
    search = _Search(models, source, size, num_best, penalty, bounds, prefixes, prune)
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
        ended: Bool[Tensor, "N X"],
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

    def best(self, num_best: int) -> tuple[Float[Tensor, "B n"], Int[Tensor, "B n"]]:
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
        bounds: LengthBounds,
        prefixes: list[list[int]],
        prune: float | None,
    ) -> None:
        self._size, self._num_best, self._penalty = size, num_best, penalty
        self._prune = math.inf if prune is None else prune
        self._stepper, self._trace = Stepper(models, source), Trace(source.lengths)
        self._prefixes = _Prefixes(prefixes, source.ids.device)
        self._least = bounds.least(source.lengths)
        self._greatest = torch.maximum(bounds.greatest(source.lengths), self._prefixes.lengths + 1)
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
        log_probabilities, weights = self._stepper.advance(self._tokens, live)
        scores, parents, tokens = self._continuations(log_probabilities, live)
        self._trace.steps.append(Step(self.sentences, self._origins, weights, parents, tokens))
        greatest = self._greatest[self.sentences].unsqueeze(1)
        ended = ((tokens == END_ID) | (greatest == self._step)) & (scores > -torch.inf)
        ranks = self._penalty.apply(scores, torch.full_like(tokens, self._step))
        self._finished.add(self.sentences, ended, scores, ranks, self._step)
        attainable = self._penalty.apply(scores, greatest)
        to_beat = self._finished.best(self._num_best)[0][self.sentences, -1:]
        left = ended | (attainable <= to_beat) | (scores < scores[:, :1] - self._prune)
        self._go_on_with(scores.masked_fill(left, -torch.inf), parents, tokens)

    def _continuations(
        self, log_probabilities: Float[Tensor, "R V"], live: Int[Tensor, " R"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores, parents and tokens of the best, as many as the beam has free places (N, X).

        `live` are the places, among all N W, of the hypotheses that have not left.
        """
        sentences = self.sentences[live // self._scores.shape[1]]
        forbid(log_probabilities, self._step < self._least[sentences])
        self._prefixes.force(log_probabilities, sentences, self._step)
        best, ids = top_k(log_probabilities, min(self._size, log_probabilities.shape[-1]))
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

    def force(self, logits: Float[Tensor, "R V"], sentences: Tensor, step: int) -> None:
        """Exclude, in place, all but the next token of the prefix from those inside of it."""
        if step > self._num_steps:
            return
        inside = (step <= self.lengths[sentences]).nonzero().squeeze(1)
        ids = self._ids[sentences[inside], step - 1].unsqueeze(1)
        forced = torch.full_like(logits[inside], -torch.inf)
        logits[inside] = forced.scatter(1, ids, logits[inside].gather(1, ids))
