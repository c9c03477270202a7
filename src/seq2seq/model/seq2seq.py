"""The translation model: encoder and decoder.

Dimension letters, used in every shape of this project: `B` batch, `S` source length, `T` target
length, `E` embedding, `H` decoder hidden, `M` memory size, `A` attention size, `L` layers,
`V` vocabulary, `K` beam, `R` features before the output layer, `N` real tokens of a batch (packed,
see `seq2seq.model.fused.steps`). In attention: `Q` queries, `K` keys.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2seq.model.decoder import BahdanauDecoder, Unrolled
from seq2seq.model.encoder import GRUEncoder
from seq2seq.model.fused.choice import teacher_force
from seq2seq.model.memory import Encoded, Memory


class Seq2Seq(nn.Module):
    """A GRU encoder and a Bahdanau decoder."""

    def __init__(self, encoder: GRUEncoder, decoder: BahdanauDecoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def encode(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        source_is_token: Bool[Tensor, "B S"],
    ) -> Memory:
        """Encode source sentences for any way of decoding."""
        states, final_states = self.encoder(source, source_lengths)
        return self.decoder.remember(Encoded(states, source_is_token, final_states))

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        source_is_token: Bool[Tensor, "B S"],
        target_input: Int[Tensor, "B T"],
        target_lengths: Int[Tensor, " B"] | None = None,
    ) -> Unrolled:
        """Teacher forcing: features and attention weights of every target position.

        With `target_lengths` they are zero on padding, and cost nothing there.
        """
        memory = self.encode(source, source_lengths, source_is_token)
        return teacher_force(self.decoder, target_input, memory, target_lengths)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.decoder.output.weight.device
