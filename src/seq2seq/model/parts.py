"""What decoders are made of, in the sizes of a model."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.attentions.build import Attention, AttentionForm, build_attention
from seq2seq.model.layers import CELLS, DeepReadout, Dropout, Dropouts, Layer, Readout, StateReadout
from seq2seq.model.memory import Encoded, Memory, State
from seq2seq.model.precision import at_least_float32
from seq2seq.model.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Parts:
    """Makes the parts of a decoder, each with fresh parameters.

    Attributes:
        spec: sizes and choices.
        embedding: of the target (V, E).
        memory_size: size M of the encoder's states.
    """

    spec: ModelSpec
    embedding: nn.Embedding
    memory_size: int

    @property
    def embedding_size(self) -> int:
        """E."""
        return self.spec.embedding_size

    @property
    def hidden_size(self) -> int:
        """H."""
        return self.spec.decoder_hidden_size

    def attention(self, query_size: int) -> tuple[Attention, int | None]:
        """The attention, and the size that `key_projection` is to give the keys."""
        spec = self.spec
        form = AttentionForm(
            score=spec.score,
            hidden_size=spec.attention_size,
            dropout=spec.attention_dropout,
            kind=spec.attention_kind,
            options=spec.attention_options,
            coverage=spec.attention_coverage,
            normaliser=spec.attention_normaliser,
            heads=spec.attention_heads,
            window=spec.attention_window,
        )
        return build_attention(form, query_size=query_size, memory_size=self.memory_size)

    def key_projection(self, key_size: int | None) -> nn.Module:
        """From the memory to its keys, for scores that need queries and keys of equal size."""
        if key_size is None:
            return nn.Identity()
        return nn.Linear(self.memory_size, key_size, bias=False)

    def layer(self, input_size: int) -> Layer:
        """A cell."""
        return CELLS[self.spec.cell](input_size, self.hidden_size)

    def layers(self, input_size: int) -> list[Layer]:
        """The cells of all layers, the first one at the bottom."""
        above = [self.hidden_size] * (self.spec.num_layers - 1)
        return [self.layer(size) for size in (input_size, *above)]

    def context_gates(self) -> nn.Linear:
        """From a context to its share of a cell's gates."""
        num_gates = CELLS[self.spec.cell].num_gates
        return nn.Linear(self.memory_size, num_gates * self.hidden_size, bias=False)

    def bridge(self) -> "Bridge":
        """From the encoder's final states to the decoder's first."""
        num_states, spec = CELLS[self.spec.cell].num_states, self.spec
        sizes = num_states * self.memory_size, num_states * self.hidden_size
        return Bridge(_bridge(spec.initial_state, *sizes) for _ in range(spec.num_layers))

    def readout(self) -> Readout:
        """From state, context and embedded token to features."""
        if self.spec.readout_size is None:
            return StateReadout(self.hidden_size)
        sizes = self.hidden_size, self.memory_size, self.embedding_size
        return DeepReadout(*sizes, self.spec.readout_size)

    def output(self, feature_size: int) -> nn.Linear:
        """From features to logits.

        Raises:
            ValueError: it is to be the embedding, which has another size.
        """
        output, tying = nn.Linear(feature_size, self.spec.target_vocabulary_size), self.spec.tying
        if tying == "none":
            return output
        if feature_size != self.embedding_size:
            raise ValueError(
                f"model.tying={tying} needs features of the embedding's size, not {feature_size}: "
                f"set model.readout_size={self.embedding_size}"
            )
        output.weight = self.embedding.weight
        return output

    def dropouts(self) -> Dropouts:
        """Of embedded tokens, between layers, and of features."""
        return dropouts(self.spec, self.spec.readout_dropout)

    def mask_sizes(self, feature_size: int) -> list[int]:
        """Of what dropout acts on: embedded tokens, the layers but the top one, features."""
        between = [self.hidden_size] * (self.spec.num_layers - 1)
        return [self.embedding_size, *between, feature_size]


def dropouts(spec: ModelSpec, of_outputs: float | None) -> Dropouts:
    """Those of an encoder or a decoder: `spec.dropout` where a place has none of its own."""
    own = spec.embedding_dropout, None, of_outputs
    probabilities = [spec.dropout if p is None else p for p in own]
    return Dropouts(*(Dropout(p, by_sentence=spec.dropout_by_sentence) for p in probabilities))


class Bridge(nn.ModuleList):
    """From each layer's final state in the encoder to its first in the decoder."""

    def forward(self, final_states: State) -> State:
        """One tensor a layer, in float32 at least."""
        pairs = zip(self, final_states, strict=True)
        return tuple(at_least_float32(layer(final)) for layer, final in pairs)


class _Zeros(nn.Module):
    """A state of zeros in place of the encoder's."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, final: Float[Tensor, "B F"]) -> Float[Tensor, "B C"]:
        return final.new_zeros(len(final), self.size)


def _bridge(initial_state: str, final_size: int, size: int) -> nn.Module:
    if initial_state == "zeros":
        return _Zeros(size)
    if final_size == size:
        return nn.Identity()
    return nn.Sequential(nn.Linear(final_size, size), nn.Tanh())


class AttendingDecoder(nn.Module):
    """What decoders with attention have in common: what they keep of a sentence, and begin with."""

    attends = True
    attention: Attention
    dropout: Dropouts
    bridge: Bridge
    key_projection: nn.Module
    _mask_sizes: list[int]

    def remember(self, encoded: Encoded) -> Memory:
        """Project the keys, and draw the dropout that all tokens of a sentence share."""
        keys = self.key_projection(encoded.states)
        masks = self.dropout.of_sizes(encoded.states[:, 0], self._mask_sizes)
        return encoded.remembered(keys, self.attention.remember(keys), masks)

    def initial_state(self, memory: Memory) -> State:
        """One tensor a layer, the top layer last, then what the attention keeps."""
        return (*self.bridge(memory.final_states), *self.attention.initial_state(memory))


class BlindDecoder(nn.Module):
    """What decoders without attention have in common: they begin with the encoder's last states."""

    attends = False

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.embedding, self.dropout = parts.embedding, parts.dropouts()
        self.bridge = parts.bridge()

    def initial_state(self, memory: Memory) -> State:
        """One tensor a layer, the top layer last."""
        return self.bridge(memory.final_states)
