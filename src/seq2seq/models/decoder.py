"""Base classes of decoders, with teacher forcing as a loop over steps."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypedDict

from torch import Tensor, nn

from seq2seq.attention.attention import Attention, Memory, State
from seq2seq.common.numbers import Dropout, Few, Size
from seq2seq.models.layers import Bridge, GRUCell, RecurrentStack, pack_steps, padded
from seq2seq.models.lstm import LSTMCell

CELLS = {"gru": GRUCell, "lstm": LSTMCell}


class Decoder(nn.Module, ABC):
    """Base class of decoders, which compute features of the next token from the source and the previous tokens.

    A custom decoder implements `step` and sets the attributes below; training (`forward`) and all searches use
    `step`. Its constructor is called with ``embedding``, ``memory_size``, ``summary_size``, ``tie_output`` and the
    arguments from the configuration.

    Attributes:
        has_attention: Whether `step` returns attention weights. If True, the attribute `attention` is required.
        attention: A module with the methods of `seq2seq.attention.Attention`.
        embedding: Embedding of the target tokens (V, E).
        output: Layer from features to logits (R -> V).
        bridge: Layer from the encoder's summary to the initial states.
        attention_layers: Number of layers that attend to the source; `step` returns the heads of the first layer, then
            those of the second, and so on.
    """

    has_attention = True
    attention_layers = 1
    attention: Any
    embedding: nn.Embedding
    output: nn.Linear
    bridge: Bridge

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Compute the memory of encoded sentences, which all steps use.

        Args:
            states: Encoder outputs (B, S, M).
            source_is_token: True on real tokens (B, S).
            summary: Summary of each sentence by the encoder (B, F).
        """
        keys = self.attention.project_keys(states) if self.has_attention else states
        return Memory(states, keys, source_is_token, summary)

    def initial_state(self, memory: Memory) -> State:
        """Return the state before the first step: tensors whose first dimension is the sentence (B)."""
        states = self.bridge(memory.summary)
        return (*states, *self.attention.initial_state(memory)) if self.has_attention else states

    @abstractmethod
    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor | None]:
        """Compute one step: the features of the next token.

        In a search, each of the B sentences has K adjacent rows, one per hypothesis (N = B K). They share the
        memory of the sentence, which is not repeated.

        Args:
            tokens: Ids of the previous target tokens (N,).
            state: State after the previous step.
            memory: The encoded source sentences (B).

        Returns:
            Features (N, R), which `output` maps to logits; the new state; attention weights of all heads (N, h, S), or
            None without attention.
        """

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Compute features and attention weights of all target positions (teacher forcing).

        Args:
            target_input: Ids of the previous target tokens (B, T).
            memory: The encoded source sentences.
            target_lengths: Number of real tokens of each target (B,), beyond which features and weights are zero;
                None: T for all.

        Returns:
            Features (B, T, R) and attention weights (B, T, h, S), None without attention.
        """
        packed, sizes, order = pack_steps(target_input, target_lengths)
        memory = memory.select(order)
        state, features, weights = self.initial_state(memory), list[Tensor](), list[Tensor]()
        for size, tokens in zip(sizes, packed.data.split(sizes), strict=True):
            if size < len(memory.states):  # the shortest sentences have ended
                memory, state = memory.select(slice(size)), tuple(part[:size] for part in state)
            step_features, state, step_weights = self.step(tokens, state, memory)
            features.append(step_features)
            if step_weights is not None:
                weights.append(step_weights)
        of_steps = padded(weights, packed, target_input.shape[1]) if weights else None
        return padded(features, packed, target_input.shape[1]), of_steps


class RecurrentOptions(TypedDict, total=False):
    """Arguments that all recurrent decoders take, with the defaults of `RecurrentDecoder`."""

    num_layers: Few
    cell: str
    initial_state: str
    dropout: Dropout
    embedding_dropout: Dropout | None
    output_dropout: Dropout | None
    tie_output: bool


def attentions_of(decoder: Decoder) -> list[Any]:
    """Return the modules of a decoder that weigh the source: `Attention`, of one head each, or those with `weighs_source`.

    The weights pass through their `dropout`, as (B, K, S), or as (B, h, K, S) where there are `heads`.
    """
    modules = decoder.modules() if isinstance(decoder, nn.Module) else ()
    return [each for each in modules if getattr(each, "weighs_source", isinstance(each, Attention))]


def num_heads(decoder: Decoder) -> int:
    """Return the number of heads that attend to the source, of all layers."""
    return sum(getattr(each, "heads", 1) for each in attentions_of(decoder))


class RecurrentDecoder(Decoder):
    """Base class of decoders with a stack of recurrent cells: embedding, cells, first states and output layer.

    Args:
        embedding: Embedding of the target tokens (V, E).
        summary_size: Size F of the encoder's summary.
        input_size: Size of the input of the lowest cell.
        hidden_size: Size H of the state of a layer.
        feature_size: Size R of the features before the output layer.
        num_layers: Number of layers L.
        cell: ``gru`` or ``lstm``.
        initial_state: How to compute s_0 from the encoder's summary: ``linear``, ``copy`` or ``zeros``, see `Bridge`.
        dropout: Dropout probability between layers, and the default of the next two arguments.
        embedding_dropout: Dropout probability of embedded tokens; None: `dropout`.
        output_dropout: Dropout probability of the features; None: `dropout`.
        tie_output: Whether the output layer has the weight of the embedding; R must then equal E.

    Raises:
        ValueError: `cell` is unknown.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        summary_size: int,
        *,
        input_size: int,
        hidden_size: Size,
        feature_size: Size,
        num_layers: Few = 1,
        cell: str = "gru",
        initial_state: str = "linear",
        dropout: Dropout = 0.0,
        embedding_dropout: Dropout | None = None,
        output_dropout: Dropout | None = None,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.embedding_dropout, layer_dropout, self.output_dropout = dropouts(
            (embedding_dropout, dropout, output_dropout), dropout
        )
        if cell not in CELLS:
            raise ValueError(f"cell={cell}: choose one of {', '.join(CELLS)}")
        self.stack = RecurrentStack(CELLS[cell], input_size, hidden_size, num_layers, layer_dropout)
        self.bridge = Bridge(initial_state, summary_size, self.stack.state_size, num_layers)
        self.output = output_layer(feature_size, embedding, tied=tie_output)

    def embed(self, tokens: Tensor) -> Tensor:
        """Return the embedded tokens e(y), after dropout: (N, E) of a step, or (B, T, E) of all steps."""
        return self.embedding_dropout(self.embedding(tokens))


def dropouts(rates: Sequence[float | None], default: float) -> list[nn.Dropout]:
    """Return the dropout of each rate; None is replaced by `default`."""
    return [nn.Dropout(default if rate is None else rate) for rate in rates]


def output_layer(features: int, embedding: nn.Embedding, *, tied: bool) -> nn.Linear:
    """Return the layer from features to logits (R -> V).

    Args:
        features: Size R of the features.
        embedding: Embedding of the target tokens (V, E).
        tied: Whether the layer shares the weight of the embedding.

    Raises:
        ValueError: `tied` with R unequal to E.
    """
    output = nn.Linear(features, embedding.num_embeddings)
    if tied:
        if features != embedding.embedding_dim:
            raise ValueError(
                f"tie_embeddings needs features of the embedding's size {embedding.embedding_dim}, not "
                f"{features}: set model.decoder.readout_size={embedding.embedding_dim}"
            )
        output.weight = embedding.weight
    return output
