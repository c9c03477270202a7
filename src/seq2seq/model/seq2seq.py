"""The translation model: encoder and decoder.

Dimension letters, used in every shape of this project: `B` batch, `S` source length, `T` target
length, `E` embedding, `H` decoder hidden, `M` memory size, `A` attention size, `L` layers,
`V` vocabulary, `K` beam, `R` features before the output layer, `N` real tokens of a batch (packed,
see `seq2seq.model.fused.steps`). In attention: `Q` queries, `K` keys.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from seq2seq.model.contracts import Decoder, Encoder
from seq2seq.model.decoder import Unrolled
from seq2seq.model.fused.choice import teacher_force
from seq2seq.model.memory import Encoded, Memory


class Seq2Seq(nn.Module):
    """An encoder and a decoder.

    Args:
        encoder: of the source.
        decoder: of the target.
        reverse_source: whether the encoder reads each source from its last token, ``<eos>``, to its
            first (Sutskever et al. 2014). The memory's order is that of the source all the same.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, *, reverse_source: bool = False) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self._reverse_source = reverse_source

    def encode(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"],
        source_is_token: Bool[Tensor, "B S"],
    ) -> Memory:
        """Encode source sentences for any way of decoding."""
        if not self._reverse_source:
            states, final_states = self.encoder(source, source_lengths)
        else:
            places = _from_the_end(source_lengths, source.shape[1])
            states, final_states = self.encoder(source.gather(1, places), source_lengths)
            states = states.gather(1, places.unsqueeze(2).expand_as(states))
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


def _from_the_end(lengths: Int[Tensor, " B"], size: int) -> Int[Tensor, "B S"]:
    """The place of the token as far from the end as each is from the beginning; padding stays."""
    places = torch.arange(size, device=lengths.device)
    mirrored = lengths.unsqueeze(1) - 1 - places
    return torch.where(mirrored < 0, places, mirrored)
