"""What the decoder keeps of a batch of source sentences."""

from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor

State = tuple[Float[Tensor, "N H"], ...]
"""State of a decoder: one (N, H) tensor a layer, the top layer last. N = B rows, or several for
each sentence in a search."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Encoded source sentences, ready for attention.

    Attributes:
        states: encoder outputs, the values of the attention (B, S, M).
        keys: keys of the attention: the states, projected to the decoder's size where the score
            needs equal sizes (B, S, K).
        projected_keys: the keys as the score projects them, paid for once a sentence.
        source_is_token: True on real tokens (B, S).
        initial_state: state of the decoder before its first step.
    """

    states: Float[Tensor, "B S M"]
    keys: Float[Tensor, "B S K"]
    projected_keys: Tensor
    source_is_token: Bool[Tensor, "B S"]
    initial_state: State

    def select(self, rows: Tensor) -> "Memory":
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
            initial_state=select_state(self.initial_state, rows),
        )


def select_state(state: State, rows: Int[Tensor, " R"]) -> tuple[Float[Tensor, "R H"], ...]:
    """The state of some of the sentences."""
    return tuple(layer[rows] for layer in state)
