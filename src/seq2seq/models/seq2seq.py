"""The translation model, which consists of an encoder and a decoder, and its recurrent encoders.

Letters in shapes: B batch size, S source length, T target length, E embedding size, H hidden size, G size of the gates
of a cell (3 H for a GRU), M memory size (of an encoder state), F summary size, A attention size, h heads of the
attention (1 by default), L layers, V vocabulary size, R size of the features before the output layer, N rows of a
step: B sentences in training, their hypotheses in a search.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import length_mask
from seq2seq.common.numbers import Dropout, Few, Size  # numbers with bounds
from seq2seq.data.batch import Batch, SourceBatch
from seq2seq.models.decoder import Decoder, dropouts
from seq2seq.models.encoder import Encoder


class Seq2Seq(nn.Module):
    """A translation model: an encoder and a decoder.

    Args:
        source_embedding: Embedding of the source tokens (V, E).
        encoder: The encoder, see `Encoder`.
        decoder: The decoder, see `seq2seq.models.decoder.Decoder`; it contains the target embedding.

    Attributes:
        config: The arguments of `build_model` that build this model, as plain data; None if it was built otherwise.
        reverse_source: Whether the encoder reads each source in reverse order, for `ReversingSeq2Seq` only.
    """

    config: dict[str, Any] | None = None
    reverse_source = False

    def __init__(self, source_embedding: nn.Embedding, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.source_embedding, self.encoder, self.decoder = source_embedding, encoder, decoder

    def encode(self, source: SourceBatch) -> Memory:
        """Encode source sentences; the memory also has their keys for the attention, computed once for all steps."""
        states, summary = self.encoder(self.source_embedding(source.ids), source.lengths)
        return self.decoder.init_memory(states, length_mask(source.lengths, states.shape[1]), summary)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of all target positions, zero on padding.

        A source is its tokens, ``<eos>`` and padding. The decoder reads the reference, ``<bos>`` and the target tokens, not
        its predictions (teacher forcing), to predict the tokens and ``<eos>``. Lengths count ``<eos>`` or ``<bos>``.
        ``decoder.output`` maps features to logits (B, T, V); the loss does it in parts, which takes less memory.
        """
        return self.decoder(batch.target_input, self.encode(batch.source), batch.target_lengths)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device


class GRUEncoder(Encoder):
    """A GRU encoder (Cho et al. 2014); the summary concatenates the final states of all layers and directions.

    Args:
        input_size: Size E of an embedded token.
        hidden_size: Size H of the state of one direction.
        num_layers: Number of layers L.
        bidirectional: Whether each layer runs in both directions and concatenates their outputs (M = 2 H).
        dropout: Dropout probability between layers, and the default of the next two arguments.
        embedding_dropout: Dropout probability of embedded tokens; None: `dropout`.
        output_dropout: Dropout probability of the states; None: `dropout`.
    """

    recurrent_class: type[nn.GRU] | type[nn.LSTM] = nn.GRU

    def __init__(
        self,
        input_size: int,
        *,
        hidden_size: Size = 128,
        num_layers: Few = 1,
        bidirectional: bool = True,
        dropout: Dropout = 0.0,
        embedding_dropout: Dropout | None = None,
        output_dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.output_size = hidden_size * (2 if bidirectional else 1)
        states_of_layer = 2 if self.recurrent_class is nn.LSTM else 1  # of `LSTMEncoder` [h; c], of a GRU h
        self.summary_size = num_layers * states_of_layer * self.output_size
        rates = embedding_dropout, dropout, output_dropout  # None: `dropout`
        self.embedding_dropout, self.dropout, self.output_dropout = dropouts(rates, dropout)
        layer = partial(self.recurrent_class, batch_first=True, bidirectional=bidirectional)
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.layers = nn.ModuleList(layer(size, hidden_size) for size in sizes)

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return states (B, S, M), zero on padding, and summaries (B, F), from embedded tokens (B, S, E) and lengths (B)."""
        outputs, final_states, lengths = embedded, [], lengths.cpu()
        input_dropouts = [self.embedding_dropout] + [self.dropout] * (len(self.layers) - 1)
        for layer, input_dropout in zip(self.layers, input_dropouts, strict=True):
            inputs = input_dropout(outputs)
            # without padding, so that the backward direction begins, and the forward one ends, at the last real token
            packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
            packed, final = layer(packed)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            for state in final if isinstance(final, tuple) else (final,):  # h, of an LSTM h and c (…, B, H)
                final_states.append(state.transpose(0, 1).flatten(1))
        return self.output_dropout(outputs), torch.cat(final_states, dim=-1)


class LSTMEncoder(GRUEncoder):
    """An LSTM encoder; the summary concatenates h and c of all layers. Arguments as in `GRUEncoder`."""

    recurrent_class = nn.LSTM
