"""The decoder's teacher-forced pass as one operation.

It computes what `BahdanauDecoder.step` repeated computes, with its own backward pass: no activation
of size (B, T, S, A) is kept (the hidden layer of the score is made again in backward), and every
weight gradient is one large product over all steps instead of one small product a step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.model.gru import GRULayer
from seq2seq.model.precision import Precision
from seq2seq.model.unroll.backward import DecoderGradients
from seq2seq.model.unroll.forward import DecoderPass
from seq2seq.model.unroll.steps import Steps
from seq2seq.model.unroll.tensors import LayerTensors, UnrollForm, UnrollTensors


@dataclass(frozen=True, slots=True)
class AdditiveAttention:
    """w_v^T tanh(W_q q + W_k k), the keys projected already.

    Attributes:
        query_weight: W_q (A, H).
        score_weight: w_v (A).
    """

    query_weight: Float[Tensor, "A H"]
    score_weight: Float[Tensor, " A"]

    def parameters(self) -> tuple[Tensor, ...]:
        """W_q and w_v."""
        return self.query_weight, self.score_weight


@dataclass(frozen=True, slots=True)
class DotAttention:
    """q^T k * scale; with projected keys also the bilinear score."""

    scale: float

    def parameters(self) -> tuple[Tensor, ...]:
        """None."""
        return ()


def unroll_decoder(
    token_gates: Float[Tensor, "N G"],
    memory: Float[Tensor, "B S M"],
    keys: Float[Tensor, "B S A"],
    source_is_token: Bool[Tensor, "B S"],
    initial_state: Sequence[Float[Tensor, "B H"]],
    attention: AdditiveAttention | DotAttention,
    context_weight: Float[Tensor, "G M"],
    layers: Sequence[GRULayer],
    input_masks: Sequence[Float[Tensor, "N H"] | None],
    steps: Steps,
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N M"], Float[Tensor, "N S"]]:
    """Unroll a Bahdanau decoder; differentiable once.

    Under autocast the matrix products take its type; states, softmax and weights stay in float32.

    Args:
        token_gates: the embedded tokens' share of the first layer's gates (G = 3 H).
        memory: encoder outputs, values of the attention.
        keys: projected keys.
        source_is_token: True on real tokens; at least one in each row.
        initial_state: of every layer.
        attention: the score and its parameters.
        context_weight: W_c, from context to gates of the first layer.
        layers: GRU layers; `input_gates` of the first is in `token_gates` already.
        input_masks: what the input of each layer above the first is multiplied with (dropout);
            None for nothing.
        steps: where the target tokens are. Memory, keys, `source_is_token` and the initial state
            have the longest target sentences first.

    Returns:
        States of the top layer, contexts and attention weights of every step.
    """
    form = UnrollForm(
        precision=Precision.of(memory),
        steps=steps,
        num_layers=len(layers),
        scale=attention.scale if isinstance(attention, DotAttention) else None,
        source_is_token=source_is_token,
        input_masks=tuple(input_masks),
    )
    tensors = UnrollTensors(
        token_gates,
        memory,
        keys,
        context_weight,
        score=attention.parameters(),
        layers=(
            _layer(initial_state[0], layers[0]),
            *map(_upper_layer, initial_state[1:], layers[1:]),
        ),
    )
    return _UnrolledDecoder.apply(form, *tensors.flat())


def _layer(initial_state: Tensor, layer: GRULayer) -> LayerTensors:
    state = layer.state_gates
    return LayerTensors(initial_state, state.weight, state.bias, None, None)


def _upper_layer(initial_state: Tensor, layer: GRULayer) -> LayerTensors:
    inputs = layer.input_gates
    return replace(_layer(initial_state, layer), input_weight=inputs.weight, input_bias=inputs.bias)


class _UnrolledDecoder(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, form: UnrollForm, *tensors: Any) -> tuple[Tensor, ...]:
        with torch.autocast(tensors[0].device.type, enabled=False):
            unrolled = DecoderPass(form, UnrollTensors.from_flat(tensors, form.num_layers))
            unrolled.run()
        ctx.unrolled = unrolled
        ctx.set_materialize_grads(False)
        # views: an output that the pass itself held would keep the whole graph alive
        return unrolled.top.states[:], unrolled.contexts[:], unrolled.weights[:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("the fused unroll of the decoder")
        of_tops, of_contexts, of_weights = gradients
        backward = DecoderGradients(ctx.unrolled)
        with torch.autocast(ctx.unrolled.memory.device.type, enabled=False):
            backward.run(of_tops, of_contexts, of_weights)
            return None, *backward.collect().flat()
