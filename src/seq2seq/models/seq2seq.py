"""The translation model, which joins an encoder and a decoder, and its recurrent encoders.

Encoders map embedded source tokens to a vector for each of them, and one for the sentence: the bidirectional GRU
of Cho et al. 2014 and Bahdanau et al. 2015, and an LSTM (Hochreiter and Schmidhuber 1997).

Letters in the shapes of this program: B batch, S source length, T target length, E embedding, H hidden, M
memory (encoder state) size, F summary size, A attention size, L layers, V vocabulary, K beam, R features
before the output layer, N = B K rows of a search.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.attention.attention import Memory
from seq2seq.models.layers import Dropout


class Seq2Seq(nn.Module):
    """An encoder and a decoder.

    Args:
        source_embedding: Of the source tokens (V, E).
        encoder: See `Encoder`.
        decoder: See `seq2seq.models.decoder.Decoder`; it holds the target embedding.
        reverse_source: Whether the encoder reads each source from its last token, ``<eos>``, to its first
            (Sutskever et al. 2014). The memory's order is that of the source all the same.

    Attributes:
        config: The arguments of `build_model` that make this model, as plain data; None for a model that
            was put together by hand.
    """

    config: dict[str, Any] | None = None

    def __init__(
        self,
        source_embedding: nn.Embedding,
        encoder: nn.Module,
        decoder: nn.Module,
        *,
        reverse_source: bool = False,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.reverse_source = reverse_source

    def encode(self, source: Tensor, source_lengths: Tensor, source_is_token: Tensor) -> Memory:
        """Encode source sentences for any way of decoding.

        Args:
            source: Token ids (B, S).
            source_lengths: Real tokens of each sentence (B,).
            source_is_token: True on real tokens (B, S).
        """
        if self.reverse_source:
            places = torch.arange(source.shape[1], device=source.device)
            mirrored = source_lengths.unsqueeze(1) - 1 - places
            places = torch.where(mirrored < 0, places, mirrored)  # padding stays
            source = source.gather(1, places)
        states, summary = self.encoder(self.source_embedding(source), source_lengths)
        if self.reverse_source:
            states = states.gather(1, places.unsqueeze(2).expand_as(states))
        return self.decoder.init_memory(states, source_is_token, summary)

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor,
        source_is_token: Tensor,
        target_input: Tensor,
        target_lengths: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Teacher forcing: features (B, T, R) and attention weights (B, T, S) of every target position.

        With `target_lengths` they are zero on padding. ``decoder.output`` turns features into logits.
        """
        memory = self.encode(source, source_lengths, source_is_token)
        return self.decoder(target_input, memory, target_lengths)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.decoder.output.weight.device


class Encoder(nn.Module):
    """From embedded source tokens to states and a summary.

    An encoder of your own is called with ``input_size`` besides its own arguments, and has the attributes
    below.

    Attributes:
        output_size: Size M of a state.
        summary_size: Size F of a summary.
    """

    output_size: int
    summary_size: int

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode.

        Args:
            embedded: Source tokens (B, S, E).
            lengths: Real tokens of each sentence (B,), at least 1.

        Returns:
            States (B, S, M), zero on padding, and summaries (B, F), from which decoders start.
        """
        raise NotImplementedError


class GRUEncoder(Encoder):
    """A GRU over the source; the summary is the final states of all layers, directions joined.

    Padding changes neither states nor summaries.

    Args:
        input_size: Size E of an embedded token.
        hidden_size: Size H of one direction.
        num_layers: Layers above each other.
        bidirectional: Read in both directions and join their outputs: M = 2 H.
        dropout: Between layers, and of embedded tokens and outputs where these have none of their own.
        embedding_dropout: Of embedded tokens; None: `dropout`.
        output_dropout: Of the states; None: `dropout`.
        variational_dropout: Drop the same elements of all tokens of a sentence.
    """

    recurrent_class: type[nn.GRU] | type[nn.LSTM] = nn.GRU

    def __init__(
        self,
        input_size: int,
        *,
        hidden_size: int = 128,
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
        variational_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = hidden_size * (2 if bidirectional else 1)
        states_of_layer = 2 if self.recurrent_class is nn.LSTM else 1  # [h; c] or h
        self.summary_size = num_layers * states_of_layer * self.output_size
        self.embedding_dropout = Dropout(
            dropout if embedding_dropout is None else embedding_dropout, variational=variational_dropout
        )
        self.dropout = Dropout(dropout, variational=variational_dropout)
        self.output_dropout = Dropout(
            dropout if output_dropout is None else output_dropout, variational=variational_dropout
        )
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.layers = nn.ModuleList(
            self.recurrent_class(size, hidden_size, batch_first=True, bidirectional=bidirectional)
            for size in sizes
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode, see `Encoder.forward`."""
        outputs, finals = embedded, []
        drops = [self.embedding_dropout] + [self.dropout] * (len(self.layers) - 1)
        for layer, drop in zip(self.layers, drops, strict=True):
            inputs = drop(outputs, drop.mask_like(outputs[:, :1]))
            packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
            packed, final = layer(packed)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            for state in final if isinstance(final, tuple) else (final,):  # (directions, B, H)
                finals.append(state.transpose(0, 1).flatten(1))
        return (
            self.output_dropout(outputs, self.output_dropout.mask_like(outputs[:, :1])),
            torch.cat(finals, dim=-1),
        )


class LSTMEncoder(GRUEncoder):
    """The same with an LSTM; the summary is [h; c] of all layers."""

    recurrent_class = nn.LSTM
