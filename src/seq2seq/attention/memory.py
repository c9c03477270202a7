"""What the steps of a decoder share: the encoded sentences, and the state that a step passes to the next."""

from dataclasses import dataclass

from torch import Tensor

State = tuple[Tensor, ...]
"""The state between two steps: tensors whose first dimension is the row (N), a sentence or a hypothesis. Recurrent
decoders have a tensor for each layer, that of Luong also what it feeds to the next step, and then the state of the
attention, which is () in most kinds of attention."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, the constant input of all steps of a decoder.

    Attributes:
        states: Encoder outputs m_j, the values of the attention (B, S, M).
        keys: The keys that `Attention.project_keys` returns, such as W_k m_j, computed once per sentence (B, S, …).
        source_is_token: True on real tokens (B, S).
        summary: Summary of each sentence by the encoder (B, F), from which the decoder computes its first state.
    """

    states: Tensor
    keys: Tensor
    source_is_token: Tensor
    summary: Tensor

    def select(self, rows: Tensor) -> "Memory":
        """Return the memory of the sentences with the indices `rows`, in this order."""
        states = self.states[rows]
        return Memory(
            states=states,
            keys=states if self.keys is self.states else self.keys[rows],
            source_is_token=self.source_is_token[rows],
            summary=self.summary[rows],
        )
