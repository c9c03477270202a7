"""What passes between encoder, decoder and search: encoded sentences, memory, state."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

State = tuple[Float[Tensor, "N ..."], ...]
"""All that a decoder and its attention remember between steps: tensors whose first dimension is the
hypothesis. N = B rows, or several for each sentence in a search."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encoder makes of a batch of sentences.

    Attributes:
        states: outputs of its top layer (B, S, M).
        source_is_token: True on real tokens (B, S).
        final_states: of each layer: [h; c] of an LSTM (B, 2 M), else h (B, M).
    """

    states: Float[Tensor, "B S M"]
    source_is_token: Bool[Tensor, "B S"]
    final_states: tuple[Float[Tensor, "B ..."], ...]

    def remembered(
        self,
        keys: Float[Tensor, "B S K"],
        projected_keys: Tensor,
        masks: tuple[Float[Tensor, "B ..."] | None, ...],
    ) -> "Memory":
        """The memory with these keys and masks, see there."""
        return Memory(
            states=self.states,
            keys=keys,
            projected_keys=projected_keys,
            source_is_token=self.source_is_token,
            final_states=self.final_states,
            masks=masks,
        )

    def summarised(self, summary: Float[Tensor, "B M"]) -> "Encoded":
        """The sentences with one vector each in place of the states, as if of one token."""
        return Encoded(summary.unsqueeze(1), self.source_is_token[:, :1], self.final_states)


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, ready for attention: what stays the same at all steps.

    Attributes:
        states: encoder outputs, the values of the attention (B, S, M).
        keys: keys of the attention: the states, projected to the decoder's size where the score
            needs equal sizes (B, S, K).
        projected_keys: the keys as the score projects them, paid for once a sentence.
        source_is_token: True on real tokens (B, S).
        final_states: of the encoder's layers (B, …).
        masks: dropout that all tokens of a sentence share, in the order in which it acts (B, …);
            None where they do not.
    """

    states: Float[Tensor, "B S M"]
    keys: Float[Tensor, "B S K"]
    projected_keys: Tensor
    source_is_token: Bool[Tensor, "B S"]
    final_states: tuple[Float[Tensor, "B ..."], ...]
    masks: tuple[Float[Tensor, "B ..."] | None, ...]

    def select(self, rows: Int[Tensor, " R"]) -> "Memory":
        """The memory of some of the sentences, in the order of `rows`.

        What is one tensor stays one: without projections the keys are the states themselves.
        """
        states = self.states[rows]
        keys = states if self.keys is self.states else self.keys[rows]
        projected = keys if self.projected_keys is self.keys else self.projected_keys[rows]
        return Memory(
            states=states,
            keys=keys,
            projected_keys=projected,
            source_is_token=self.source_is_token[rows],
            final_states=select_state(self.final_states, rows),
            masks=tuple(None if mask is None else mask[rows] for mask in self.masks),
        )


def select_state(state: State, rows: Int[Tensor, " R"]) -> tuple[Float[Tensor, "R ..."], ...]:
    """The state of some of the hypotheses."""
    return tuple(part[rows] for part in state)
