"""A model as ONNX: the encoder, and one step of the decoder, for any batch and length.

Built node by node: an exporter that looks at a run of the model freezes the lengths that it sees.
GRUs are the operator of that name, whose form ``linear_before_reset=1`` is torch's.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seq2seq.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder
from seq2seq.decoding.onnx_graph import Graph
from seq2seq.decoding.portable import require_portable
from seq2seq.errors import InputError
from seq2seq.model.layers import GRULayer
from seq2seq.storage.typed_json import encoded
from seq2seq.storage.writing import write_file
from seq2seq.text.vocabulary import BEGIN_ID, END_ID, UNKNOWN_ID

SENTENCES = "sentences"
PLACES, STATE = (SENTENCES, "source"), (SENTENCES, "state_size")
IS_TOKEN = ("bool", *PLACES)
MEMORY, KEYS = (("float", *PLACES, f"{each}_size") for each in ("memory", "key"))

Direction = tuple[Tensor, Tensor, Tensor, Tensor]
"""Weights of the input (3 H, I) and of the state (3 H, H), and their biases, in torch's order."""


def export_onnx(folder: Path, output: Path) -> None:
    """Write ``encoder.onnx``, ``step.onnx`` and ``vocabulary.json``, see docs/onnx.md.

    Args:
        folder: of the run or the model.
        output: a folder.

    Raises:
        InputError: there is no model, or one that is computed here alone.
    """
    exported = load_model_folder(folder)
    require_portable(exported.spec, "ONNX")
    decoder: Any = exported.model.decoder
    if type(decoder.attention.score) not in SCORES:
        raise InputError(f"ONNX computes no attention.score={exported.spec.score}")
    write_file(output / "encoder.onnx", encoder_content(exported.model))
    write_file(output / "step.onnx", step_content(exported.model))
    write_file(output / "vocabulary.json", encoded(_vocabulary(exported)))


def _vocabulary(exported: TranslationModel) -> dict[str, Any]:
    codecs = {"source": exported.source_codec, "target": exported.target_codec}
    tokens = {side: codec.vocabulary.tokens for side, codec in codecs.items()}
    specials = {"unknown": UNKNOWN_ID, "begin": BEGIN_ID, "end": END_ID}
    return tokens | specials | {"bounds": asdict(exported.bounds)}


def encoder_content(model: Any) -> bytes:
    """From tokens and lengths to what the steps read of a sentence, and their first state."""
    graph, decoder, gru = Graph(), model.decoder, model.encoder.gru
    embedded = graph("Gather", graph.weight(model.encoder.embedding.weight), "tokens")
    outputs = graph("Transpose", embedded, perm=[1, 0, 2])
    lengths = graph("Cast", "lengths", to=6)  # 32 bits
    finals = []
    for layer in range(gru.num_layers):
        outputs, final = _gru(graph, outputs, _directions(gru, layer), lengths=lengths)
        finals.append(final)
    memory = graph("Transpose", outputs, perm=[1, 0, 2])
    keys = memory
    if isinstance(decoder.key_projection, nn.Linear):
        keys = graph.linear(keys, decoder.key_projection.weight)
    projection = getattr(decoder.attention.score, "key_projection", None)
    if projection is not None:
        keys = graph.linear(keys, projection.weight)
    states = [
        graph("Unsqueeze", _bridged(graph, final, bridge), graph.integers(0))
        for final, bridge in zip(finals, decoder.bridge, strict=True)
    ]
    return graph.content(
        {"tokens": ("int", *PLACES), "lengths": ("int", SENTENCES)},
        {
            "memory": (memory, MEMORY),
            "keys": (keys, KEYS),
            "is_token": (_is_token(graph), IS_TOKEN),
            "state": (graph("Concat", *states, axis=0), ("float", len(states), *STATE)),
        },
    )


def step_content(model: Any) -> bytes:
    """From the tokens before, and the state, to log-probabilities, the next state and weights."""
    graph, decoder = Graph(), model.decoder
    embedded = graph("Gather", graph.weight(decoder.embedding.weight), "token")
    before = graph.several(len(decoder.layers), "Split", "state", axis=0)
    query = graph("Squeeze", before[-1], graph.integers(0))
    if decoder.query_has_token:
        query = graph("Concat", query, embedded, axis=-1)
    score = decoder.attention.score
    scores = SCORES[type(score)](graph, score, query)
    nothing = graph.weight(np.array(-np.inf, dtype=np.float32))
    weights = graph("Softmax", graph("Where", "is_token", scores, nothing), axis=-1)
    context = _product(graph, graph("Unsqueeze", weights, graph.integers(1)), "memory", 1)
    inputs, new = graph("Concat", embedded, context, axis=-1), list[str]()
    for layer, state in zip(decoder.layers, before, strict=True):
        sequence = graph("Unsqueeze", inputs, graph.integers(0))
        of_context = decoder.context_gates.weight if not new else None
        _, inputs = _gru(graph, sequence, [_cell(layer, of_context)], initial=state)
        new.append(graph("Unsqueeze", inputs, graph.integers(0)))
    features = _features(graph, decoder.readout, inputs, context, embedded)
    logits = graph.linear(features, decoder.output.weight, decoder.output.bias)
    state_shape = ("float", len(new), *STATE)
    return graph.content(
        {
            "token": ("int", SENTENCES),
            "state": state_shape,
            "memory": MEMORY,
            "keys": KEYS,
            "is_token": IS_TOKEN,
        },
        {
            "log_probabilities": (
                graph("LogSoftmax", logits, axis=-1),
                ("float", SENTENCES, "target_vocabulary"),
            ),
            "new_state": (graph("Concat", *new, axis=0), state_shape),
            "weights": (weights, ("float", *PLACES)),
        },
    )


def _gru(
    graph: Graph,
    inputs: str,
    directions: Sequence[Direction],
    *,
    lengths: str = "",
    initial: str = "",
) -> tuple[str, str]:
    """Outputs (S, B, D H) and final state (B, D H) for inputs (S, B, I)."""
    weights, recurrent, biases = (
        graph.weight(torch.stack(list(parts)))
        for parts in zip(*map(_ordered, directions), strict=True)
    )
    outputs, final = graph.several(
        2,
        "GRU",
        *(inputs, weights, recurrent, biases, lengths, initial),
        direction="forward" if len(directions) == 1 else "bidirectional",
        hidden_size=directions[0][1].shape[1],
        linear_before_reset=1,
    )
    outputs = graph("Transpose", outputs, perm=[0, 2, 1, 3])
    final = graph("Transpose", final, perm=[1, 0, 2])
    return (
        graph("Reshape", outputs, graph.integers(0, 0, -1)),
        graph("Reshape", final, graph.integers(0, -1)),
    )


def _ordered(direction: Direction) -> tuple[Tensor, Tensor, Tensor]:
    """ONNX has the gates in the order update, reset, candidate, and the biases in one vector."""
    parts = []
    for each in direction:
        reset, update, candidate = each.chunk(3)
        parts.append(torch.cat([update, reset, candidate]))
    of_input, of_state, *biases = parts
    return of_input, of_state, torch.cat(biases)


def _directions(gru: nn.GRU, layer: int) -> list[Direction]:
    names = [f"l{layer}", f"l{layer}_reverse"][: 1 + gru.bidirectional]
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [tuple(getattr(gru, f"{kind}_{name}") for kind in kinds) for name in names]


def _cell(layer: GRULayer, of_context: Tensor | None) -> Direction:
    """A layer of the decoder; the first one reads the context beside the token."""
    gates, states = layer.input_gates, layer.state_gates
    weight = gates.weight if of_context is None else torch.cat([gates.weight, of_context], dim=1)
    return weight, states.weight, gates.bias, states.bias


def _bridged(graph: Graph, final: str, bridge: Any) -> str:
    """The first state of a layer: made by a layer with a tanh, the encoder's last, or zeros."""
    if isinstance(bridge, nn.Identity):
        return final
    if isinstance(bridge, nn.Sequential):
        layer: Any = bridge[0]
        return graph("Tanh", graph.linear(final, layer.weight, layer.bias))
    sizes = graph("Concat", graph("Shape", "lengths"), graph.integers(bridge.size), axis=0)
    return graph("ConstantOfShape", sizes)


def _is_token(graph: Graph) -> str:
    """Whether a place holds a token (B, S), from the lengths."""
    size = graph("Gather", graph("Shape", "tokens"), graph.weight(np.array(1)))
    zero, one = (graph.weight(np.array(number)) for number in (0, 1))
    places = graph("Range", zero, size, one)
    return graph("Less", places, graph("Unsqueeze", "lengths", graph.integers(1)))


def _product(graph: Graph, left: str, right: str, axis: int) -> str:
    """A product of matrices, of which one has a single row or column, without that axis."""
    return graph("Squeeze", graph("MatMul", left, right), graph.integers(axis))


def _additive(graph: Graph, score: AdditiveScore, query: str) -> str:
    projected = graph.linear(query, score.query_projection.weight)
    hidden = graph("Add", graph("Unsqueeze", projected, graph.integers(1)), "keys")
    return _product(graph, graph("Tanh", hidden), graph.weight(score.score_weight.unsqueeze(1)), 2)


def _dot(graph: Graph, score: nn.Module, query: str) -> str:  # noqa: ARG001
    return _product(graph, "keys", graph("Unsqueeze", query, graph.integers(2)), 2)


def _scaled_dot(graph: Graph, score: nn.Module, query: str) -> str:
    size = graph("Cast", graph("Shape", query, start=1), to=1)  # a float
    return _dot(graph, score, graph("Div", query, graph("Sqrt", size)))


SCORES: dict[type, Callable[[Graph, Any, str], str]] = {
    AdditiveScore: _additive,
    DotScore: _dot,
    BilinearScore: _dot,  # its matrix is in the keys
    ScaledDotScore: _scaled_dot,
}


def _features(graph: Graph, readout: Any, state: str, context: str, embedded: str) -> str:
    if not hasattr(readout, "context"):
        return state
    parts = [
        graph.linear(state, readout.state.weight, readout.state.bias),
        graph.linear(context, readout.context.weight),
        graph.linear(embedded, readout.embedded.weight),
    ]
    return graph("Tanh", graph("Sum", *parts))
