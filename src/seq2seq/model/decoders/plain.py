"""Sutskever's decoder: no attention; the encoder's last state is where it starts from.

With e(y) the embedding of the previous token, and s_0 the encoder's last states:

    s_t = LSTM(e(y_{t-1}), s_{t-1}),  o_t = s_t, or tanh(W_o s_t) with `model.readout_size`

Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014; they read the
source backwards (`data.reverse_source=true`).
"""

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.memory import Encoded, Memory, State
from seq2seq.model.parts import BlindDecoder, Parts
from seq2seq.model.stack import Stack


class PlainDecoder(BlindDecoder):
    """The decoder above, with any number of layers of either cell; s is the state of the top one.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.layers = Stack(parts.layers(parts.embedding_size))
        size = parts.spec.readout_size
        self.readout = nn.Identity() if size is None else _readout(parts.hidden_size, size)
        self.output = parts.output(size or parts.hidden_size)
        self._mask_sizes = parts.mask_sizes(size or parts.hidden_size)

    def remember(self, encoded: Encoded) -> Memory:
        """Keep the final states; no step looks at the others."""
        summary = encoded.summarised(encoded.states[:, 0])
        masks = self.dropout.of_sizes(encoded.states[:, 0], self._mask_sizes)
        return summary.remembered(summary.states, summary.states, masks)

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, None]:
        """One step, see `seq2seq.model.contracts.Decoder`."""
        of_embedded, *between_layers, of_features = memory.masks
        embedded = self.dropout.inputs(embedded, of_embedded)
        inputs = self.layers.inputs(embedded)
        new = self.layers.advance(inputs, state, self.dropout.between, between_layers)
        features = self.readout(self.layers.output(new))
        return self.dropout.outputs(features, of_features), new, None


def _readout(hidden_size: int, size: int) -> nn.Module:
    return nn.Sequential(nn.Linear(hidden_size, size), nn.Tanh())
