"""The decoder's teacher-forced pass as one operation.

It computes what `BahdanauDecoder.step` repeated computes, with its own backward pass: no activation
of size (B, T, S, A) is kept (the hidden layer of the score is made again in backward), and every
weight gradient is one large product over all steps instead of one small product a step.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import linear

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.model.decoder import BahdanauDecoder, Unrolled
from seq2seq.model.fused.attention import FusedScore
from seq2seq.model.fused.backward import DecoderGradients
from seq2seq.model.fused.forward import DecoderPass
from seq2seq.model.fused.steps import Steps
from seq2seq.model.fused.tensors import LayerTensors, UnrollForm, UnrollTensors
from seq2seq.model.layers import Layer
from seq2seq.model.memory import Memory, select_state
from seq2seq.model.precision import Precision


def unroll_fused(
    decoder: BahdanauDecoder,
    score: FusedScore,
    target_input: Int[Tensor, "B T"],
    memory: Memory,
    target_lengths: Int[Tensor, " B"] | None = None,
) -> Unrolled:
    """What `seq2seq.model.decoder.unroll` computes, with `score` that of the decoder's attention.

    No work goes into padding.
    """
    if target_lengths is None:
        target_lengths = torch.full_like(target_input[:, 0], target_input.shape[1])
    steps = Steps(target_lengths, target_input.shape[1])
    state = select_state(decoder.initial_state(memory), steps.order)
    memory, dropout = memory.select(steps.order), decoder.dropout
    masks = [None if mask is None else mask[steps.sentences] for mask in memory.masks]
    embedded = dropout.inputs(decoder.embedding(steps.pack(target_input)), masks[0])
    token_gates = decoder.first_layer.inputs(embedded)
    like = token_gates[:, : state[0].shape[1]]
    score, token_queries = _of_tokens(decoder, score, embedded)
    tops, contexts, weights = unroll_decoder(
        token_gates,
        memory.states,
        memory.projected_keys,
        memory.source_is_token,
        state,
        score,
        decoder.context_gates.weight,
        decoder.layers,
        [dropout.between.mask(like) if mask is None else mask for mask in masks[1:-1]],
        steps,
        token_queries=token_queries,
    )
    features = dropout.outputs(decoder.readout(tops, contexts, embedded), masks[-1])
    return Unrolled(steps.unpack(features), steps.unpack(weights))


def _of_tokens(
    decoder: BahdanauDecoder, score: FusedScore, embedded: Tensor
) -> tuple[FusedScore, Tensor | None]:
    """The score that is left for the state, and the tokens' share of the queries."""
    if not decoder.query_has_token:
        return score, None
    if not score.parameters:
        return score, embedded
    query_weight, *others = score.parameters
    of_state, of_token = query_weight.tensor_split([-embedded.shape[1]], dim=1)
    return replace(score, parameters=(of_state, *others)), linear(embedded, of_token)


def unroll_decoder(
    token_gates: Float[Tensor, "N G"],
    memory: Float[Tensor, "B S M"],
    keys: Float[Tensor, "B S A"],
    source_is_token: Bool[Tensor, "B S"],
    initial_state: Sequence[Float[Tensor, "B H"]],
    score: FusedScore,
    context_weight: Float[Tensor, "G M"],
    layers: Sequence[Layer],
    input_masks: Sequence[Float[Tensor, "N H"] | None],
    steps: Steps,
    *,
    token_queries: Float[Tensor, "N Q"] | None = None,
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N M"], Float[Tensor, "N S"]]:
    """Unroll a Bahdanau decoder; differentiable once.

    Under autocast the matrix products take its type; states, softmax and weights stay in float32.

    Args:
        token_gates: the embedded tokens' share of the first layer's gates (G = 3 H).
        memory: encoder outputs, values of the attention.
        keys: projected keys.
        source_is_token: True on real tokens; at least one in each row.
        initial_state: of every layer.
        score: of the attention.
        context_weight: W_c, from context to gates of the first layer.
        layers: GRU layers; `input_gates` of the first is in `token_gates` already.
        input_masks: what the input of each layer above the first is multiplied with (dropout);
            None for nothing.
        steps: where the target tokens are. Memory, keys, `source_is_token` and the initial state
            have the longest target sentences first.
        token_queries: W_y e (N, A), the tokens' share of the queries, or e (N, E) for a score
            without W_q; None where queries are made of states alone.

    Returns:
        States of the top layer, contexts and attention weights of every step.
    """
    form = UnrollForm(
        precision=Precision.of(memory),
        steps=steps,
        num_layers=len(layers),
        begin=score.begin,
        source_is_token=source_is_token,
        input_masks=tuple(input_masks),
    )
    tensors = UnrollTensors(
        token_gates,
        token_queries,
        memory,
        keys,
        context_weight,
        score=score.parameters,
        layers=(
            _layer(initial_state[0], layers[0]),
            *map(_upper_layer, initial_state[1:], layers[1:]),
        ),
    )
    return _UnrolledDecoder.apply(form, *tensors.flat())


def _layer(initial_state: Tensor, layer: Layer) -> LayerTensors:
    state = layer.state_gates
    return LayerTensors(initial_state, state.weight, state.bias, None, None)


def _upper_layer(initial_state: Tensor, layer: Layer) -> LayerTensors:
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
