"""Conditional decoder: a cell reads the word, the attention looks, a second cell reads the context.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    s'_t = GRU_1(e(y_{t-1}), s_{t-1})
    w_t = softmax over j of score(s'_t, m_j),  c_t = sum over j of w_tj m_j
    s_t = GRU_2(c_t, s'_t),                    o_t = readout(s_t, c_t, e(y_{t-1}))

The conditional GRU with attention of dl4mt and Nematus: Sennrich et al., "Nematus: a toolkit for
neural machine translation", 2017. The attention knows the word that was just written, and the
state has seen the context before the next word is chosen.
"""

from jaxtyping import Float
from torch import Tensor

from seq2seq.model.memory import Memory, State
from seq2seq.model.parts import AttendingDecoder, Parts
from seq2seq.model.stack import Stack


class ConditionalDecoder(AttendingDecoder):
    """The decoder above; further layers, with either cell, are above GRU_2.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.embedding, self.dropout = parts.embedding, parts.dropouts()
        self.attention, key_size = parts.attention(parts.hidden_size)
        self.key_projection = parts.key_projection(key_size)
        self.bridge = parts.bridge()
        self.word_layer = parts.layer(parts.embedding_size)
        self.layers = Stack(parts.layers(parts.memory_size))
        self.readout = parts.readout()
        self.output = parts.output(self.readout.feature_size)
        self._mask_sizes = parts.mask_sizes(self.readout.feature_size)

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One step, see `seq2seq.model.contracts.Decoder`."""
        (first, *above), of_attention = state[: len(self.layers)], state[len(self.layers) :]
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout.inputs(embedded, of_embedded)
        first = self.word_layer.advance(self.word_layer.inputs(embedded), first)
        query = self.word_layer.output(first)
        context, weights, of_attention = self.attention.attend(query, memory, of_attention)
        inputs = self.layers.inputs(context)
        new = self.layers.advance(inputs, (first, *above), self.dropout.between, between_layers)
        top = self.layers.output(new)
        features = self.dropout.outputs(self.readout(top, context, embedded), of_features)
        return features, (*new, *of_attention), weights
