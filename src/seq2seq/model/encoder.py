"""GRU encoder."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class GRUEncoder(nn.Module):
    """Embeds source tokens and runs a GRU over them (Cho et al. 2014).

    The sequences are packed, so that padding changes neither outputs nor states.

    Args:
        embedding: source embedding (V, E).
        hidden_size: size of one direction.
        num_layers: stacked GRU layers.
        bidirectional: read in both directions and join their outputs: M = 2 * hidden_size.
        dropout: on the embedded tokens, between the layers and on the outputs.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        hidden_size: int,
        num_layers: int,
        bidirectional: bool,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = nn.Dropout(dropout)
        self.gru = nn.GRU(
            embedding.embedding_dim,
            hidden_size,
            num_layers,
            batch_first=True,
            bidirectional=bidirectional,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        self.memory_size = hidden_size * (2 if bidirectional else 1)

    def forward(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], tuple[Float[Tensor, "B M"], ...]]:
        """Encode.

        Args:
            source: token ids.
            source_lengths: number of real tokens, at least 1.

        Returns:
            The outputs of the top layer, zero on padding, and the final state of each layer (both
            directions joined).
        """
        embedded = self.dropout(self.embedding(source))
        packed = pack_padded_sequence(
            embedded, source_lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        outputs, final = self.gru(packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        return self.dropout(memory), self._final_states(final)

    def _final_states(self, final: Tensor) -> tuple[Tensor, ...]:
        # nn.GRU's states are the one tensor with the batch second: (layers x directions, B, H)
        directions = 2 if self.gru.bidirectional else 1
        by_layer = final.unflatten(0, (self.gru.num_layers, directions))
        return tuple(torch.cat(list(layer), dim=-1) for layer in by_layer)
