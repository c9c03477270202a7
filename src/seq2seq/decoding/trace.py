"""What a search leaves behind at every step, and the hypotheses read off it at the end."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2seq.decoding.hypothesis import Hypothesis


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

    sentences: Int[Tensor, " N"]
    origins: Int[Tensor, "N W"]
    weights: Float[Tensor, "N W S"]
    parents: Int[Tensor, "N X"]
    tokens: Int[Tensor, "N X"]


class Trace:
    """The steps of a search."""

    def __init__(self, source_lengths: Int[Tensor, " B"]) -> None:
        self._source_lengths = source_lengths
        self.steps: list[Step] = []

    def hypotheses(
        self,
        sentences: Int[Tensor, " H"],
        lengths: Int[Tensor, " H"],
        choices: Int[Tensor, " H"],
        scores: Float[Tensor, " H"],
    ) -> list[Hypothesis]:
        """Follow hypotheses of some sentences and lengths back from their last choice."""
        ids, weights = self._followed(sentences, lengths, choices)
        widths = self._source_lengths[sentences].tolist()
        columns = zip(ids.tolist(), scores.tolist(), weights, lengths.tolist(), widths, strict=True)
        return [
            Hypothesis(tuple(row[:length]), score, row_weights[:length, :width])
            for row, score, row_weights, length, width in columns
        ]

    def _followed(
        self, sentences: Tensor, lengths: Tensor, choices: Tensor
    ) -> tuple[Tensor, Tensor]:
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
