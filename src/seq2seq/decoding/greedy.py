"""Greedy search: the likeliest token at every step."""

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.model.memory import select_state
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as found by a search.

    Attributes:
        ids: target token ids, ``<eos>`` included unless the length bound came first.
        score: natural log-probability of the ids given the source.
        weights: attention probabilities (len(ids), source length), on the CPU.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor


def length_bounds(source_lengths: Tensor) -> Tensor:
    """Greatest number of target tokens for each source length: twice the length and ten."""
    return 2 * source_lengths + 10


@torch.no_grad()
def greedy_search(model: Seq2Seq, source: SourceBatch) -> list[Hypothesis]:
    """Translate a batch.

    A finished sentence leaves the batch, and every bound is the sentence's own, so that a
    translation does not depend on the sentences beside it.
    """
    memory = model.encode(source.ids, source.lengths, source.is_token)
    bounds = length_bounds(source.lengths)
    trace = _Trace(len(source.lengths))
    rows = torch.arange(len(source.lengths), device=source.ids.device)
    tokens = torch.full_like(rows, BEGIN_ID)
    state = memory.initial_state
    step = 0
    while len(rows):
        step += 1
        logits, state, weights = model.decoder.step(tokens, state, memory)
        log_probabilities = _allowed(logits.float() if logits.itemsize < 4 else logits)
        scores, tokens = log_probabilities.max(dim=-1)
        trace.record(rows, tokens, scores, weights)
        unfinished = (tokens != END_ID) & (step < bounds[rows])
        if not unfinished.all():
            kept = unfinished.nonzero().squeeze(1)
            rows, tokens = rows[kept], tokens[kept]
            state, memory = select_state(state, kept), memory.select(kept)
    return trace.hypotheses(source.lengths.tolist())


def _allowed(logits: Tensor) -> Tensor:
    """Log-probabilities in which padding and ``<bos>`` cannot be chosen."""
    log_probabilities = logits.log_softmax(dim=-1)
    log_probabilities[:, [PADDING_ID, BEGIN_ID]] = -torch.inf
    return log_probabilities


class _Trace:
    """Tokens, scores and weights of the steps so far, for each sentence of the batch."""

    def __init__(self, num_sentences: int) -> None:
        self._ids: list[list[int]] = [[] for _ in range(num_sentences)]
        self._scores = [0.0] * num_sentences
        self._weights: list[list[Tensor]] = [[] for _ in range(num_sentences)]

    def record(self, rows: Tensor, tokens: Tensor, scores: Tensor, weights: Tensor) -> None:
        columns = zip(rows.tolist(), tokens.tolist(), scores.tolist(), weights.cpu(), strict=True)
        for row, token, score, row_weights in columns:
            self._ids[row].append(token)
            self._scores[row] += score
            self._weights[row].append(row_weights)

    def hypotheses(self, source_lengths: list[int]) -> list[Hypothesis]:
        return [
            Hypothesis(tuple(ids), score, torch.stack(weights)[:, :length])
            for ids, score, weights, length in zip(
                self._ids, self._scores, self._weights, source_lengths, strict=True
            )
        ]
