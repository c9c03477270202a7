"""The decoder's teacher-forced pass with additive attention as one operation.

It computes what `BahdanauDecoder.step` repeated computes, with its own backward pass: no activation
of size (B, T, S, A) is kept (the hidden layer of the score is made again in backward), and every
weight gradient is one large product over all steps instead of one small product a step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.amp import custom_bwd, custom_fwd

from seq2seq.attention.derivatives import refuse_second_derivative
from seq2seq.model.fused_layer import LayerPass
from seq2seq.model.gru import GRULayer


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Parameters of the attention and of the context's share of the first layer's gates.

    Attributes:
        query: W_q of the additive score (A, H).
        score: w_v of the additive score (A).
        context: W_c, context to gates (3 H, M).
    """

    query: Float[Tensor, "A H"]
    score: Float[Tensor, " A"]
    context: Float[Tensor, "G M"]


def fused_unroll(
    token_gates: Float[Tensor, "B T G"],
    states: Float[Tensor, "B S M"],
    projected_keys: Float[Tensor, "B S A"],
    source_is_token: Bool[Tensor, "B S"],
    initial_state: Sequence[Float[Tensor, "B H"]],
    attention: AttentionWeights,
    layers: Sequence[GRULayer],
    input_masks: Sequence[Float[Tensor, "B T H"] | None],
) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
    """Unroll a Bahdanau decoder.

    Args:
        token_gates: the embedded tokens' share of the first layer's gates.
        states: the memory, values of the attention.
        projected_keys: W_k k.
        source_is_token: True on real tokens; at least one in each row.
        initial_state: of every layer.
        attention: parameters of the attention.
        layers: GRU layers; `input_gates` of the first is in `token_gates` already.
        input_masks: what the input of each layer above the first is multiplied with (dropout);
            None for nothing.

    Returns:
        States of the top layer, contexts and attention weights of every step.
    """
    parameters: list[Tensor | None] = []
    for place, layer in enumerate(layers):
        upper = place > 0
        parameters += [
            layer.state_gates.weight,
            layer.state_gates.bias,
            layer.input_gates.weight if upper else None,
            layer.input_gates.bias if upper else None,
            input_masks[place - 1] if upper else None,
        ]
    return _function(token_gates.device.type).apply(
        token_gates,
        states,
        projected_keys,
        source_is_token,
        attention.query,
        attention.score,
        attention.context,
        *initial_state,
        *parameters,
    )


class _Pass:
    """A forward pass, kept for its backward pass. All steps first: (T, B, …)."""

    def __init__(self, tensors: Sequence[Any], num_layers: int) -> None:
        token_gates, states, keys, is_token, query, score, context, *others = tensors
        self.token_gates = token_gates.transpose(0, 1).contiguous()
        self.memory = states
        # scores are w_v tanh(x) = 2 w_v sigmoid(2 x) - const, and softmax ignores the constant
        self.double_keys = 2 * keys
        self.double_score = 2 * score
        self.padding = torch.zeros_like(is_token, dtype=states.dtype)
        self.padding.masked_fill_(~is_token, -torch.inf)
        self.context_weight = context
        steps, batch_size = self.token_gates.shape[:2]
        self.layers = [
            LayerPass(others[place], others[num_layers + 5 * place :][:5], steps)
            for place in range(num_layers)
        ]
        self.num_hidden = query.shape[0]
        top = self.layers[-1]
        # the query and the top layer's gates share one product with its state
        self.top_weight = torch.cat([2 * query, top.weight])
        self.top_bias = torch.cat([query.new_zeros(self.num_hidden), top.bias])
        self.queries = states.new_empty(steps, batch_size, self.num_hidden)
        self.weights = states.new_empty(steps, batch_size, states.shape[1])
        self.contexts = states.new_empty(steps, batch_size, states.shape[2])

    def hidden(self, step: int) -> Tensor:
        """sigmoid(2 (q + k)): the hidden layer of the score (B, S, A)."""
        return (self.queries[step].unsqueeze(1) + self.double_keys).sigmoid_()

    def forward(self) -> None:
        """Run all steps."""
        *lower, top = self.layers
        for step in range(len(self.token_gates)):
            products = torch.addmm(self.top_bias, top.states[step], self.top_weight.T)
            self.queries[step] = products[:, : self.num_hidden]
            scores = self.hidden(step) @ self.double_score
            torch.softmax(scores + self.padding, dim=-1, out=self.weights[step])
            context = torch.bmm(self.weights[step].unsqueeze(1), self.memory).squeeze(1)
            self.contexts[step] = context
            gates = torch.addmm(self.token_gates[step], context, self.context_weight.T)
            for place, layer in enumerate(lower):
                state_gates = torch.addmm(layer.bias, layer.states[step], layer.weight.T)
                layer.advance(step, gates, state_gates)
                gates = self._gates_above(place + 1, step)
            top.advance(step, gates, products[:, self.num_hidden :])

    def _gates_above(self, place: int, step: int) -> Tensor:
        layer = self.layers[place]
        inputs = layer.inputs(self.layers[place - 1].states[step + 1], step)
        return torch.addmm(layer.input_bias, inputs, layer.input_weight.T)

    def backward(self, of_tops: Tensor, of_contexts: Tensor, of_weights: Tensor) -> list[Any]:
        """Gradients of every tensor that the forward pass was given."""
        gradients = _Gradients(self)
        for step in reversed(range(len(self.token_gates))):
            gradients.retreat(step, of_tops[step], of_contexts[step], of_weights[step])
        return gradients.collect()


class _Gradients:
    """The backward pass of a `_Pass`."""

    def __init__(self, forward: _Pass) -> None:
        self._forward = forward
        shape = forward.token_gates.shape
        self._of_inputs = [forward.memory.new_empty(shape) for _ in forward.layers]
        self._of_gates = [forward.memory.new_empty(shape) for _ in forward.layers]
        self._of_states = [torch.zeros_like(layer.states[0]) for layer in forward.layers]
        self._of_queries = torch.empty_like(forward.queries)
        self._of_contexts = torch.empty_like(forward.contexts)
        self._of_keys = torch.zeros_like(forward.double_keys)
        self._of_score = torch.zeros_like(forward.double_score)

    def retreat(self, step: int, of_top: Tensor, of_context: Tensor, of_weights: Tensor) -> None:
        """Undo one step."""
        forward = self._forward
        self._of_states[-1] += of_top
        direct = self._retreat_layers(step)
        of_context = torch.addmm(of_context, self._of_inputs[0][step], forward.context_weight)
        self._of_contexts[step] = of_context
        self._retreat_attention(step, of_context, of_weights)
        products = torch.cat([self._of_queries[step], self._of_gates[-1][step]], dim=-1)
        self._of_states[-1] = torch.addmm(direct, products, forward.top_weight)

    def _retreat_layers(self, step: int) -> Tensor:
        """Through the GRU layers from the top; returns the top state's direct share."""
        layers, direct = self._forward.layers, None
        for place in reversed(range(len(layers))):
            layer, of_gates = layers[place], self._of_gates[place][step]
            of_inputs = self._of_inputs[place][step]
            kept = layer.retreat(step, self._of_states[place], of_inputs, of_gates)
            if place == len(layers) - 1:
                direct = kept
            else:
                self._of_states[place] = torch.addmm(kept, of_gates, layer.weight)
            if place:
                below = of_inputs @ layer.input_weight
                self._of_states[place - 1] += layer.inputs(below, step)
        if direct is None:
            raise ValueError("a decoder has one layer at least")
        return direct

    def _retreat_attention(self, step: int, of_context: Tensor, of_weights: Tensor) -> None:
        forward, weights = self._forward, self._forward.weights[step]
        of_weights = of_weights + (forward.memory @ of_context.unsqueeze(-1)).squeeze(-1)
        of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True))
        hidden = forward.hidden(step)
        scaled = hidden * of_scores.unsqueeze(-1)
        # the scores' gradients sum to 0 but for rounding: centred, the sigmoid keeps it small
        self._of_score += scaled.sum(dim=(0, 1)) - 0.5 * of_scores.sum()
        # d sigmoid = sigmoid (1 - sigmoid); the factor 2 w_v follows once, in `collect`
        slope = scaled.addcmul_(scaled, hidden, value=-1)
        self._of_keys += slope
        torch.mul(slope.sum(dim=1), forward.double_score, out=self._of_queries[step])

    def collect(self) -> list[Any]:
        """The gradients that are one product over all steps."""
        forward = self._forward
        weights, of_contexts = forward.weights.transpose(0, 1), self._of_contexts.transpose(0, 1)
        tops = forward.layers[-1].states[:-1]
        return [
            self._of_inputs[0].transpose(0, 1),
            weights.transpose(1, 2) @ of_contexts,
            2 * self._of_keys * forward.double_score,
            None,
            2 * _product(self._of_queries, tops),
            2 * self._of_score,
            _product(self._of_inputs[0], forward.contexts),
            *self._of_states,
            *(gradient for place in range(len(forward.layers)) for gradient in self._layer(place)),
        ]

    def _layer(self, place: int) -> list[Tensor | None]:
        layer, of_gates = self._forward.layers[place], self._of_gates[place]
        own = [_product(of_gates, layer.states[:-1]), of_gates.sum(dim=(0, 1))]
        if not place:
            return [*own, None, None, None]
        below = layer.inputs(self._forward.layers[place - 1].states[1:], slice(None))
        of_inputs = self._of_inputs[place]
        return [*own, _product(of_inputs, below), of_inputs.sum(dim=(0, 1)), None]


def _product(of_outputs: Tensor, inputs: Tensor) -> Tensor:
    """The gradient of a weight: the sum of outer products over steps and sentences."""
    return of_outputs.flatten(0, 1).T @ inputs.flatten(0, 1)


FIXED_INPUTS = 7
"""Inputs before those that there is one of, or five of, a layer."""


def _forward(ctx: Any, *tensors: Any) -> tuple[Tensor, ...]:
    unrolled = _Pass(tensors, num_layers=(len(tensors) - FIXED_INPUTS) // 6)
    unrolled.forward()
    ctx.unrolled = unrolled
    outputs = (unrolled.layers[-1].states[1:], unrolled.contexts, unrolled.weights)
    return tuple(output.transpose(0, 1) for output in outputs)


def _backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
    refuse_second_derivative("the fused unroll of the decoder")
    steps_first = [gradient.transpose(0, 1).contiguous() for gradient in gradients]
    return tuple(ctx.unrolled.backward(*steps_first))


@cache
def _function(device_type: str) -> Any:
    """The operation for a kind of device: `torch.amp` wants the kind beforehand."""

    class FusedUnroll(torch.autograd.Function):
        """Recurrence and softmax in float32 at least, whatever autocast says."""

        forward = staticmethod(
            custom_fwd(_forward, device_type=device_type, cast_inputs=torch.float32)
        )
        backward = staticmethod(custom_bwd(_backward, device_type=device_type))

    return FusedUnroll
