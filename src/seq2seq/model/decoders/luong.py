"""Luong's decoder: the attention looks with the new state, and its result is fed to the next step.

With e(y) the embedding of the previous token and m_j the encoder's output for source token j:

    s_t = GRU([e(y_{t-1}); a_{t-1}], s_{t-1})
    w_t = softmax over j of score(s_t, m_j),  c_t = sum over j of w_tj m_j
    a_t = tanh(W_a [c_t; s_t]),               o_t = a_t

Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation", 2015:
the attentional vector a (its size is the readout's), with input feeding; without
(`model.input_feeding=false`) s_t = GRU(e(y_{t-1}), s_{t-1}), and the steps know nothing of what
was attended to before.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.memory import Memory, State
from seq2seq.model.parts import AttendingDecoder, Parts
from seq2seq.model.stack import Stack


class LuongDecoder(AttendingDecoder):
    """The decoder above, with any number of layers of either cell; s is the state of the top one.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self.embedding, self.dropout = parts.embedding, parts.dropouts()
        self.attention, key_size = parts.attention(parts.hidden_size)
        self.key_projection = parts.key_projection(key_size)
        self.bridge = parts.bridge()
        size = parts.spec.readout_size or parts.hidden_size
        self._fed_size = size if parts.spec.input_feeding else 0
        self.layers = Stack(parts.layers(parts.embedding_size + self._fed_size))
        self.attentional = nn.Linear(parts.memory_size + parts.hidden_size, size, bias=False)
        self.output = parts.output(size)
        self._mask_sizes = parts.mask_sizes(size)

    def initial_state(self, memory: Memory) -> State:
        """One tensor a layer, then a (N, 0 if it is not fed), then what the attention keeps."""
        fed = memory.states.new_zeros(len(memory.states), self._fed_size)
        return (*self.bridge(memory.final_states), fed, *self.attention.initial_state(memory))

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"]]:
        """One step, see `seq2seq.model.contracts.Decoder`."""
        states, (fed, *kept) = state[: len(self.layers)], state[len(self.layers) :]
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout.inputs(embedded, of_embedded)
        inputs = self.layers.inputs(torch.cat([embedded, fed], dim=-1))
        new = self.layers.advance(inputs, states, self.dropout.between, between_layers)
        top = self.layers.output(new)
        context, weights, of_attention = self.attention.attend(top, memory, tuple(kept))
        attentional = torch.tanh(self.attentional(torch.cat([context, top], dim=-1)))
        features = self.dropout.outputs(attentional, of_features)
        return features, (*new, attentional[:, : self._fed_size], *of_attention), weights
