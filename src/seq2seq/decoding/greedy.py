"""Searches that follow one hypothesis a sentence, by the likeliest token or by a choice."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds
from seq2seq.decoding.stepper import Models, Stepper, forbid
from seq2seq.decoding.top_k import place_of_top
from seq2seq.decoding.trace import Step, Trace
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID, END_ID

Choice = Callable[[Float[Tensor, "N V"], Int[Tensor, " N"], int], Int[Tensor, " N"]]
"""(log-probabilities, the sentences they are of, number of the step from 0) -> tokens."""


def greedy_search(
    models: Models, source: SourceBatch, *, bounds: LengthBounds = DEFAULT_BOUNDS
) -> list[Hypothesis]:
    """Translate a batch by the likeliest token at every step."""
    return follow_choices(models, source, lambda numbers, *_: place_of_top(numbers), bounds=bounds)


@torch.no_grad()
def follow_choices(
    models: Models, source: SourceBatch, choose: Choice, *, bounds: LengthBounds
) -> list[Hypothesis]:
    """Translate a batch, the next token chosen by `choose`.

    A finished sentence leaves the batch, and every bound is the sentence's own, so that a
    translation does not depend on the sentences beside it.
    """
    stepper, trace = Stepper(models, source), Trace(source.lengths)
    least, greatest = bounds.least(source.lengths), bounds.greatest(source.lengths)
    sentences = torch.arange(len(source.lengths), device=source.ids.device)
    tokens = torch.full_like(sentences, BEGIN_ID).unsqueeze(1)
    only = torch.zeros_like(tokens)  # the one hypothesis of each sentence
    lengths = torch.zeros_like(sentences)
    steps: list[tuple[Tensor, Tensor]] = []
    while len(sentences):
        number = len(steps)
        every = torch.arange(len(sentences), device=sentences.device)
        log_probabilities, weights = stepper.advance(tokens, every)
        forbid(log_probabilities, number + 1 < least[sentences])
        tokens = choose(log_probabilities, sentences, number).unsqueeze(1)
        steps.append((sentences, log_probabilities.gather(1, tokens).squeeze(1)))
        trace.steps.append(Step(sentences, only, weights, only, tokens))
        lengths[sentences] = number + 1
        unfinished = (tokens.squeeze(1) != END_ID) & (number + 1 < greatest[sentences])
        kept = None if unfinished.all() else unfinished.nonzero().squeeze(1)
        stepper.follow(kept, only)
        if kept is not None:
            sentences, tokens, only = sentences[kept], tokens[kept], only[kept]
    every = torch.arange(len(lengths), device=lengths.device)
    return trace.hypotheses(every, lengths, torch.zeros_like(every), _sums(steps, len(lengths)))


def _sums(steps: list[tuple[Tensor, Tensor]], num_sentences: int) -> Tensor:
    """The sum of each sentence's scores over the steps."""
    sentences, scores = (torch.cat(parts) for parts in zip(*steps, strict=True))
    return scores.new_zeros(num_sentences).index_add(0, sentences, scores)
