"""What the steps of a decoder share: the encoded sentences, and the state that a step passes to the next."""

from dataclasses import dataclass

from torch import Tensor

State = tuple[Tensor, ...]
"""The state between two steps: tensors whose first dimension is the hypothesis (N)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, the constant input of all steps of a decoder.

    Attributes:
        states: Encoder outputs, the values of the attention (B, S, M).
        keys: Keys of the attention, projected once per sentence (B, S, …).
        source_is_token: True on real tokens (B, S).
        summary: Summary of each sentence by the encoder (B, F).
        masks: Masks of variational dropout (B, …), see `seq2seq.models.decoder.Decoder.masks`; None: no mask.
    """

    states: Tensor
    keys: Tensor
    source_is_token: Tensor
    summary: Tensor
    masks: tuple[Tensor | None, ...] = ()

    def select(self, rows: Tensor) -> "Memory":
        """Return the memory of the sentences with the indices `rows`, in this order."""
        states = self.states[rows]
        return Memory(
            states=states,
            keys=states if self.keys is self.states else self.keys[rows],
            source_is_token=self.source_is_token[rows],
            summary=self.summary[rows],
            masks=tuple(None if mask is None else mask[rows] for mask in self.masks),
        )
