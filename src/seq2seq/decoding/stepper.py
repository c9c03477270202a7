"""One model, or several as one, advanced step by step over the hypotheses of many sentences."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.decoding.packed import packed
from seq2seq.model.fused.choice import for_search
from seq2seq.model.memory import select_state
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, PADDING_ID

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which share their vocabularies."""
ROWS = 128
"""Hypotheses whose logits are made at once: few enough for the processor's caches."""


class Stepper:
    """Memories and states of the sentences that a search is still at.

    Each sentence (N) has the same number of hypotheses (W), which share its memory: nothing of
    the source is repeated. The members of an ensemble are averaged, in their probabilities and in
    their attention.
    """

    def __init__(self, models: Models, source: SourceBatch) -> None:
        members = [models] if isinstance(models, Seq2Seq) else list(models)
        arguments = (source.ids, source.lengths, source.is_token)
        self._decoders = [for_search(model.decoder, model.encode(*arguments)) for model in members]
        self._states = [decoder.initial_state() for decoder in self._decoders]
        self._outputs = [_LogProbabilities(model.decoder.output) for model in members]

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the scores."""
        return torch.promote_types(self._states[0][0].dtype, torch.float32)

    def advance(
        self, tokens: Int[Tensor, "N W"], live: Int[Tensor, " R"]
    ) -> tuple[Float[Tensor, "R V"], Float[Tensor, "N W S"]]:
        """One step after the given tokens.

        Args:
            tokens: the last of each hypothesis.
            live: which of the N W hypotheses are asked for their next token.

        Returns:
            Log-probabilities of the next token, in float32 at least, free to be written to until
            the next step; and the attention weights, the mean of those members that have
            attention: without columns where none has.
        """
        steps = [
            decoder.step(tokens, state)
            for decoder, state in zip(self._decoders, self._states, strict=True)
        ]
        self._states = [state for _, state, _ in steps]
        logs = [
            outputs(features.index_select(0, live))
            for outputs, (features, _, _) in zip(self._outputs, steps, strict=True)
        ]
        found = _mean_probabilities(logs)
        looked = [weights for _, _, weights in steps if weights is not None]
        weights = torch.stack(looked).mean(dim=0) if looked else found.new_empty(tokens.numel(), 0)
        return found, weights.unflatten(0, tokens.shape)

    def follow(self, kept: Int[Tensor, " M"] | None, parents: Int[Tensor, "N X"]) -> None:
        """Go on with the hypotheses whose parents are given, X a sentence.

        Args:
            kept: places of the sentences to go on with; None for all.
            parents: which of the W hypotheses of the step before each continues.
        """
        num_sentences, width = len(parents), len(self._states[0][0]) // len(parents)
        starts = torch.arange(0, num_sentences * width, width, device=parents.device)
        rows = starts.unsqueeze(1) + parents
        if kept is not None:
            rows = rows[kept]
            self._decoders = [decoder.select(kept) for decoder in self._decoders]
        if rows.shape[1] == 1 == width and kept is None:
            return
        self._states = [select_state(state, rows.flatten()) for state in self._states]


class _LogProbabilities:
    """From features to log-probabilities, in a tensor of which all steps make use.

    A few rows at a time: of the logits there are never more.
    """

    def __init__(self, output: nn.Linear) -> None:
        self._logits, self._size = packed(output, ROWS), len(output.weight)
        self._rows = output.weight.new_empty(0)

    def __call__(self, features: Float[Tensor, "N R"]) -> Float[Tensor, "N V"]:
        if len(self._rows) < len(features):
            dtype = torch.promote_types(features.dtype, torch.float32)
            self._rows = features.new_empty(len(features), self._size, dtype=dtype)
        found = self._rows[: len(features)]
        for part, rows in zip(features.split(ROWS), found.split(ROWS), strict=True):
            torch.log_softmax(rows.copy_(self._logits(part)), dim=-1, out=rows)
        return found


def _mean_probabilities(logs: list[Tensor]) -> Tensor:
    """log(1/M sum of exp(log-probabilities))."""
    return logs[0] if len(logs) == 1 else torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))


def forbid(log_probabilities: Float[Tensor, "R V"], too_short: Bool[Tensor, " R"]) -> None:
    """Exclude, in place, what cannot come next: padding, ``<bos>``, and ``<eos>`` too early."""
    log_probabilities[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    log_probabilities[..., END_ID].masked_fill_(too_short, -torch.inf)
