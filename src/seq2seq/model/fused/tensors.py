"""What goes into an unrolled decoder, and back out as gradients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from seq2seq.model.fused.attention import AttentionPass
from seq2seq.model.fused.steps import Steps
from seq2seq.model.precision import Precision


@dataclass(frozen=True, slots=True)
class UnrollForm:
    """What decides a pass and gets no gradient.

    Attributes:
        precision: number formats.
        steps: where the target tokens are.
        num_layers: GRU layers.
        begin: begins the pass of the attention, see `FusedScore`.
        source_is_token: True on real source tokens (B, S).
        input_masks: dropout of the input of each layer above the first (N, H), or None.
    """

    precision: Precision
    steps: Steps
    num_layers: int
    begin: Callable[..., AttentionPass]
    source_is_token: Tensor
    input_masks: tuple[Tensor | None, ...]


@dataclass(frozen=True, slots=True)
class LayerTensors:
    """One GRU layer: its first state, and its parameters.

    The first layer has no input weight and bias here: its input's gates come with the tokens.
    """

    initial_state: Tensor
    state_weight: Tensor
    state_bias: Tensor
    input_weight: Tensor | None
    input_bias: Tensor | None

    def input_parameters(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of a layer above the first.

        Raises:
            ValueError: this is the first.
        """
        if self.input_weight is None or self.input_bias is None:
            raise ValueError("the input of the first layer has its gates already")
        return self.input_weight, self.input_bias

    def flat(self) -> tuple[Tensor | None, ...]:
        """In the order of the attributes."""
        return (
            self.initial_state,
            self.state_weight,
            self.state_bias,
            self.input_weight,
            self.input_bias,
        )


@dataclass(frozen=True, slots=True)
class UnrollTensors:
    """Every tensor that gets a gradient, or the gradients themselves.

    `score` holds W_q and w_v of the additive score, and is empty for dot products.
    """

    token_gates: Tensor
    token_queries: Tensor | None
    memory: Tensor
    keys: Tensor
    context_weight: Tensor
    score: tuple[Tensor, ...]
    layers: tuple[LayerTensors, ...]

    def flat(self) -> tuple[Tensor | None, ...]:
        """In one row, for autograd."""
        of_tokens = (self.token_gates, self.token_queries)
        first = (*of_tokens, self.memory, self.keys, self.context_weight)
        return (*first, *self.score, *(t for layer in self.layers for t in layer.flat()))

    @classmethod
    def from_flat(cls, tensors: Sequence[Any], num_layers: int) -> "UnrollTensors":
        """The inverse of `flat`."""
        first_layer = len(tensors) - 5 * num_layers
        layers = tuple(
            LayerTensors(*tensors[start : start + 5])
            for start in range(first_layer, len(tensors), 5)
        )
        gates, queries, memory, keys, context_weight, *score = tensors[:first_layer]
        return cls(gates, queries, memory, keys, context_weight, tuple(score), layers)
