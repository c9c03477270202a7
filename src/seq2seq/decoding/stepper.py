"""One model, or several as one, advanced step by step over the hypotheses of many sentences."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.model.memory import select_state
from seq2seq.model.precision import at_least_float32
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which share their vocabularies."""


class Stepper:
    """Memories and states of the sentences that a search is still at.

    Each sentence (N) has the same number of hypotheses (W), which share its memory: nothing of
    the source is repeated. The members of an ensemble are averaged, in their probabilities and in
    their attention.

    Args:
        models: one model or several.
        source: the sentences.
    """

    def __init__(self, models: Models, source: SourceBatch) -> None:
        self._models = [models] if isinstance(models, Seq2Seq) else list(models)
        arguments = (source.ids, source.lengths, source.is_token)
        self._memories = [model.encode(*arguments) for model in self._models]
        self._states = [memory.initial_state for memory in self._memories]

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the scores."""
        return torch.promote_types(self._states[0][-1].dtype, torch.float32)

    def advance(
        self, tokens: Int[Tensor, "N W"]
    ) -> tuple[Float[Tensor, "N W V"], Float[Tensor, "N W S"]]:
        """One step after the given tokens.

        Returns:
            Log-probabilities of the next token but for a constant of each hypothesis, in float32
            at least, free to be written to; and the attention weights.
        """
        steps = [
            model.decoder.step(tokens.flatten(), state, memory)
            for model, state, memory in zip(self._models, self._states, self._memories, strict=True)
        ]
        self._states = [state for _, state, _ in steps]
        logits = _mean_probabilities([at_least_float32(logits) for logits, _, _ in steps])
        weights = torch.stack([weights for _, _, weights in steps]).mean(dim=0)
        return logits.unflatten(0, tokens.shape), weights.unflatten(0, tokens.shape)

    def follow(self, kept: Int[Tensor, " M"] | None, parents: Int[Tensor, "N X"]) -> None:
        """Go on with the hypotheses whose parents are given, X a sentence.

        Args:
            kept: places of the sentences to go on with; None for all.
            parents: which of the W hypotheses of the step before each continues.
        """
        num_sentences, width = len(parents), len(self._states[0][-1]) // len(parents)
        starts = torch.arange(0, num_sentences * width, width, device=parents.device)
        rows = starts.unsqueeze(1) + parents
        if kept is not None:
            rows = rows[kept]
            self._memories = [memory.select(kept) for memory in self._memories]
        if rows.shape[1] == 1 == width and kept is None:
            return
        self._states = [select_state(state, rows.flatten()) for state in self._states]


def _mean_probabilities(logits: list[Tensor]) -> Tensor:
    """log(1/M sum of softmax(logits)); the logits themselves where there is one model."""
    if len(logits) == 1:
        return logits[0]
    stacked = torch.stack([each.log_softmax(dim=-1) for each in logits])
    return stacked.logsumexp(dim=0) - math.log(len(logits))


def forbid(logits: Float[Tensor, "N W V"], too_short: Bool[Tensor, " N"]) -> None:
    """Exclude, in place, what cannot come next: padding, ``<bos>``, and ``<eos>`` too early."""
    logits[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    logits[..., END_ID].masked_fill_(too_short.unsqueeze(1), -torch.inf)
