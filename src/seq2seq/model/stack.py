"""Recurrent layers above each other, as a module."""

from collections.abc import Sequence
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.layers import Dropout, Layer, advance_layers
from seq2seq.model.memory import State


class Stack(nn.ModuleList):
    """Layers above each other, the first one at the bottom. Their state is one tensor a layer."""

    def inputs(self, inputs: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """The input's share of the first one's gates."""
        return self._layers[0].inputs(inputs)

    def advance(
        self,
        inputs: Float[Tensor, "N G"],
        states: State,
        dropout: Dropout,
        masks: Sequence[Tensor | None],
    ) -> State:
        """See `advance_layers`."""
        return advance_layers(self._layers, inputs, states, dropout, masks)

    def output(self, states: State) -> Float[Tensor, "N H"]:
        """What the top one shows."""
        return self._layers[-1].output(states[-1])

    @property
    def _layers(self) -> list[Layer]:
        return cast("list[Layer]", list(self))
