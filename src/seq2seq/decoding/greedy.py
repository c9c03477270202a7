"""Greedy search, and the step that all searches share.

Shapes: B sentences of the batch, U of them unfinished, W hypotheses of each (1 in greedy search), together the N = U W
rows of `Decoder.step`, V vocabulary size, S source length.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from seq2seq.attention.masking import at_least_float32
from seq2seq.common.errors import NotFinite
from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.hypothesis import Hypothesis, Models
from seq2seq.models.limits import DEFAULT_LIMITS, LengthLimits
from seq2seq.models.seq2seq import Seq2Seq

ROWS = 128
"""Number of hypotheses whose logits are computed at once, so that these fit into the caches of the CPU."""


@torch.no_grad()
def greedy_search(
    models: Models,
    source: SourceBatch,
    *,
    limits: LengthLimits = DEFAULT_LIMITS,
    choose: Callable[[Tensor, Tensor, int], Tensor] = lambda log_probs, *_: log_probs.max(dim=1).indices,
) -> list[Hypothesis]:
    """Translate a batch of sentences with the most probable token at each step; return one hypothesis per sentence.

    The translation of a sentence does not depend on the other sentences of the batch.

    Examples:
        >>> from seq2seq.models.folder import load_model_folder
        >>> saved = load_model_folder("grammar-en-fr")
        >>> ids = saved.source_tokenizer.encode("I see the dog.")
        >>> (hypothesis,) = greedy_search(saved.model, SourceBatch.from_sentences([ids]))
        >>> saved.target_tokenizer.decode(hypothesis.ids)
        'Je vois le chien.'

    Args:
        models: A model, or the members of an ensemble, without dropout (`eval`).
        source: The sentences (B).
        limits: Minimum and maximum length of a translation, by the source length S, with ``<eos>`` all; by default 0 and 2 S + 10.
        choose: Function of log-probabilities (n, V), their sentences (n,) and the position of the token, from 0, that
            returns tokens (n,); by default the most probable ones.
    """
    stepper = Stepper(models, source, limits)  # encodes the source
    tokens = torch.full_like(stepper.sentences, BEGIN_ID)  # the previous ones (U,)
    steps = list[list[Tensor]]()  # of all B sentences: tokens, their log-probabilities, and weights (B, S)

    def next_tokens(log_probs: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
        chosen = choose(log_probs, sentences, len(steps))
        return chosen, log_probs.gather(1, chosen.unsqueeze(1)).squeeze(1)

    while len(tokens):
        (tokens, log_probs), weights = stepper.step(tokens.unsqueeze(1), next_tokens)
        steps.append([stepper.in_batch(part) for part in (tokens, log_probs, weights.squeeze(1))])
        kept = (~stepper.is_end(tokens)).nonzero().squeeze(1)
        stepper.select(kept)
        tokens = tokens[kept]

    ids, scores, maps = (torch.stack(parts, dim=1).cpu() for parts in zip(*steps, strict=True))
    numbers = (each.tolist() for each in (ids, scores.sum(dim=1), stepper.lengths, source.lengths))
    return [
        Hypothesis(tuple(row[:length]), score, matrix[:length, :width])
        for row, score, length, width, matrix in zip(*numbers, maps, strict=True)
    ]


class Stepper:
    """The memories and decoder states of the sentences in a search, which leave it when they have ended.

    The W hypotheses of a sentence share its memory, which is not repeated. Probabilities and attention weights are
    averaged over the members of an ensemble. Arguments as in `greedy_search`.

    Attributes:
        sentences: Index in the batch of each sentence that is unfinished (U,); at first all.
        max_lengths, lengths: Maximum and current number of tokens of the hypotheses of each sentence of the batch (B,).
        length: Number of tokens of the sentences that are still in the search.
    """

    def __init__(self, models: Models, source: SourceBatch, limits: LengthLimits) -> None:
        self._members = [models] if isinstance(models, Seq2Seq) else list(models)
        self._memories = [model.encode(source) for model in self._members]
        pairs = zip(self._members, self._memories, strict=True)
        self._states = [model.decoder.initial_state(memory) for model, memory in pairs]
        self._min_lengths, self.max_lengths = limits.minimum(source.lengths), limits.maximum(source.lengths)
        self.sentences, self.length = torch.arange(len(source.lengths), device=source.ids.device), 0
        self.lengths = torch.zeros_like(self.sentences)

    def step(
        self,
        tokens: Tensor,
        choose: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
        active: Tensor | None = None,
    ) -> tuple[list[Tensor], Tensor]:
        """Compute one step of all hypotheses, and choose their next tokens.

        Args:
            tokens: Previous token of each hypothesis (U, W).
            choose: Function of the log-probabilities of the next tokens (n, V), which it may modify, and the sentences
                (n,) of n hypotheses, for `ROWS` at a time; returns tensors of n rows.
            active: Indices of the hypotheses to choose for, among all N (C,); None: all, as in greedy search.

        Returns:
            What `choose` returns, of all these hypotheses (C, …); attention weights (U, W, S), averaged over heads and
            members with attention; S = 0 if no member has attention. A probability that is NaN raises `NotFinite`.
        """
        self.length += 1
        self.lengths[self.sentences] = self.length
        active = torch.arange(tokens.numel(), device=tokens.device) if active is None else active
        features, maps, chosen = list[Tensor](), list[Tensor](), list[tuple[Tensor, ...]]()
        for index, (model, memory) in enumerate(zip(self._members, self._memories, strict=True)):
            found, state, weights = model.decoder.step(tokens.flatten(), self._states[index], memory)
            self._states[index] = state
            features.append(found[active])
            if weights is not None:
                maps.append(weights.mean(dim=1))  # over heads
        for rows in torch.arange(len(active), device=tokens.device).split(ROWS):
            pairs = zip(self._members, features, strict=True)
            logs = [at_least_float32(m.decoder.output(each[rows])).log_softmax(dim=-1) for m, each in pairs]
            log_probs = logs[0]
            if len(logs) > 1:  # an ensemble: log of the mean probability of the members
                log_probs = torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))
            check_numbers(log_probs[:, END_ID])  # one NaN makes the whole row NaN
            sentences = self.sentences[active[rows] // tokens.shape[1]]
            log_probs[:, [PADDING_ID, BEGIN_ID]] = -torch.inf
            log_probs[:, END_ID].masked_fill_(self.length < self._min_lengths[sentences], -torch.inf)
            chosen.append(choose(log_probs, sentences))
        weights = torch.stack(maps).mean(dim=0) if maps else log_probs.new_empty(tokens.numel(), 0)
        return [torch.cat(parts) for parts in zip(*chosen, strict=True)], weights.unflatten(0, tokens.shape)

    def is_end(self, tokens: Tensor) -> Tensor:
        """Return whether the hypotheses (U, …) end with these tokens: they are ``<eos>``, or the last that may be."""
        is_last = self.max_lengths[self.sentences] <= self.length
        return (tokens == END_ID) | is_last.view(-1, *[1] * (tokens.ndim - 1))

    def in_batch(self, part: Tensor) -> Tensor:
        """Return values (B, …) of all sentences from those of the unfinished; 0 for the others."""
        return part.new_zeros(len(self.lengths), *part.shape[1:]).index_copy_(0, self.sentences, part)

    def select(self, kept: Tensor, parents: Tensor | None = None) -> None:
        """Keep the sentences with the indices `kept`, among the unfinished, for the next step.

        `parents` (U, X) are the indices, among the W hypotheses of a sentence, of those that X new ones continue; None: all W.
        """
        num_rows = len(self._states[0][0])
        rows = torch.arange(num_rows, device=kept.device).view(len(self.sentences), -1)  # (U, W)
        rows = rows if parents is None else rows[:, :1] + parents  # the sentence's first row + index
        if len(kept) < len(rows):
            self.sentences, rows = self.sentences[kept], rows[kept]
            self._memories = [memory.select(kept) for memory in self._memories]
        self._states = [tuple(part[rows.flatten()] for part in state) for state in self._states]


def check_numbers(log_probabilities: Tensor) -> None:
    """Raise `NotFinite` if a log-probability is NaN."""
    if log_probabilities.isnan().any():
        raise NotFinite("the model computes NaN: its weights are damaged, or too large for the precision")
