"""Cho's decoder: no attention; every step reads the encoder's last state.

With e(y) the embedding of the previous token and c the encoder's last state (of its top layer, both
directions joined):

    s_t = GRU([e(y_{t-1}); c], s_{t-1}),  o_t = readout(s_t, c, e(y_{t-1}))

Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine
translation", 2014, with the readouts of this project in place of their maxout.
"""

from jaxtyping import Float
from torch import Tensor

from seq2seq.model.memory import Encoded, Memory, State
from seq2seq.model.parts import BlindDecoder, Parts
from seq2seq.model.stack import Stack


class ContextDecoder(BlindDecoder):
    """The decoder above, with any number of layers of either cell; s is the state of the top one.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.layers = Stack(parts.layers(parts.embedding_size))
        self.context_gates = parts.context_gates()
        self.readout = parts.readout()
        self.output = parts.output(self.readout.feature_size)
        self._memory_size = parts.memory_size
        self._mask_sizes = parts.mask_sizes(self.readout.feature_size)

    def remember(self, encoded: Encoded) -> Memory:
        """Keep c as the only state (B, 1, M), its share of the gates as its key (B, 1, G)."""
        context = encoded.final_states[-1][:, : self._memory_size]  # h, of [h; c] of an LSTM
        summary = encoded.summarised(context)
        masks = self.dropout.of_sizes(context, self._mask_sizes)
        return summary.remembered(summary.states, self.context_gates(summary.states), masks)

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, None]:
        """One step, see `seq2seq.model.contracts.Decoder`."""
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout.inputs(embedded, of_embedded)
        context, gates = (
            part.squeeze(1).repeat_interleave(len(embedded) // len(part), dim=0)
            for part in (memory.states, memory.projected_keys)
        )
        inputs = self.layers.inputs(embedded) + gates
        new = self.layers.advance(inputs, state, self.dropout.between, between_layers)
        top = self.layers.output(new)
        return self.dropout.outputs(self.readout(top, context, embedded), of_features), new, None
