"""The translation model, which consists of an encoder and a decoder, and its recurrent encoders.

An encoder maps embedded source tokens to one state per token and one summary per sentence. The encoders here are a
bidirectional GRU (Cho et al. 2014, Bahdanau et al. 2015) and LSTM (Hochreiter and Schmidhuber 1997).

Letters in shapes: B batch size, S source length, T target length, E embedding size, H hidden size, G size of the gates
of a cell (3 H for a GRU), M memory size (of an encoder state), F summary size, A attention size, h heads of the
attention (1 by default), L layers, V vocabulary size, R size of the features before the output layer, K beam size, N
rows of a step: B sentences in training, B K hypotheses in a search.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import length_mask
from seq2seq.data.batch import Batch, SourceBatch
from seq2seq.models.decoder import Decoder
from seq2seq.models.layers import dropouts
from seq2seq.models.plain import reversed_positions


class Seq2Seq(nn.Module):
    """A translation model: an encoder and a decoder.

    Examples:
        >>> from functools import partial
        >>> from seq2seq.attention import AdditiveScore, Attention
        >>> from seq2seq.models import BahdanauDecoder
        >>> encoder = GRUEncoder(input_size=8, hidden_size=6)
        >>> attention = partial(Attention, score=AdditiveScore)
        >>> sizes = {"memory_size": encoder.output_size, "summary_size": encoder.summary_size, "hidden_size": 10}
        >>> decoder = BahdanauDecoder(nn.Embedding(20, 8), attention=attention, **sizes)
        >>> model = Seq2Seq(nn.Embedding(15, 8), encoder, decoder)
        >>> source, target = SourceBatch.from_sentences([[4, 5, 6], [7]]), torch.tensor([[2, 4, 5], [2, 8, 1]])
        >>> features, weights = model.decoder(target, model.encode(source))  # 2 sentences, 3 target tokens, 1 head
        >>> model.decoder.output(features).shape, weights.shape  # the longer source has 4 tokens, <eos> included
        (torch.Size([2, 3, 20]), torch.Size([2, 3, 1, 4]))

    Args:
        source_embedding: Embedding of the source tokens (V, E).
        encoder: The encoder, see `Encoder`.
        decoder: The decoder, see `seq2seq.models.decoder.Decoder`; it contains the target embedding.
        reverse_source: Whether the encoder receives the tokens of each source in reverse order, ``<eos>`` first
            (Sutskever et al. 2014). The states in the memory are in the order of the source in both cases.

    Attributes:
        config: The arguments of `build_model` that build this model, as plain data; None if the model was not
            built by `build_model`.
    """

    config: dict[str, Any] | None = None

    def __init__(
        self,
        source_embedding: nn.Embedding,
        encoder: "Encoder",
        decoder: Decoder,
        *,
        reverse_source: bool = False,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.encoder = encoder
        self.decoder = decoder
        self.reverse_source = reverse_source

    def encode(self, source: SourceBatch) -> Memory:
        """Encode source sentences; the memory also has their keys for the attention, computed once for all steps."""
        ids, lengths = source.ids, source.lengths
        if self.reverse_source:
            positions = reversed_positions(lengths, ids.shape[1])
            ids = ids.gather(1, positions)
        states, summary = self.encoder(self.source_embedding(ids), lengths)
        if self.reverse_source:  # the same positions restore the order
            states = states.gather(1, positions.unsqueeze(2).expand_as(states))
        return self.decoder.init_memory(states, length_mask(lengths, ids.shape[1]), summary)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return features (B, T, R) and attention weights (B, T, h, S) of all target positions.

        The decoder reads the reference, ``<bos>`` and the target tokens, not its predictions (teacher forcing).
        ``decoder.output`` maps features to logits (B, T, V); the loss does it in parts, which takes less memory.
        Features and weights are zero on padding.
        """
        return self.decoder(batch.target_input, self.encode(batch.source), batch.target_lengths)

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device


class Encoder(nn.Module):
    """Base class of encoders.

    The constructor of a custom encoder is called with ``input_size`` and the arguments from the configuration. It
    must set the attributes below.

    Attributes:
        output_size: Size M of a state.
        summary_size: Size F of a summary.
    """

    output_size: int
    summary_size: int

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a batch of sentences.

        Args:
            embedded: Embedded source tokens (B, S, E).
            lengths: Number of real tokens of each sentence (B,), at least 1.

        Returns:
            States (B, S, M), zero on padding, and summaries (B, F), which initialize the state of the decoder.
        """
        raise NotImplementedError


class GRUEncoder(Encoder):
    """A GRU encoder; the summary concatenates the final states of all layers and directions.

    Padding does not change states or summaries.

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
        hidden_size: int = 128,
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        embedding_dropout: float | None = None,
        output_dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.output_size = hidden_size * (2 if bidirectional else 1)
        states_of_layer = 2 if self.recurrent_class is nn.LSTM else 1  # [h; c] or h
        self.summary_size = num_layers * states_of_layer * self.output_size
        self.embedding_dropout, self.dropout, self.output_dropout = dropouts(
            (embedding_dropout, dropout, output_dropout), dropout
        )
        sizes = [input_size] + [self.output_size] * (num_layers - 1)
        self.layers = nn.ModuleList(
            self.recurrent_class(size, hidden_size, batch_first=True, bidirectional=bidirectional)
            for size in sizes
        )

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a batch of sentences, see `Encoder.forward`."""
        outputs, final_states, lengths = embedded, [], lengths.cpu()
        input_dropouts = [self.embedding_dropout] + [self.dropout] * (len(self.layers) - 1)
        for layer, input_dropout in zip(self.layers, input_dropouts, strict=True):
            packed = pack_padded_sequence(
                input_dropout(outputs), lengths, batch_first=True, enforce_sorted=False
            )
            packed, final = layer(packed)
            outputs, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            for state in final if isinstance(final, tuple) else (final,):  # h, or h and c (directions, B, H)
                final_states.append(state.transpose(0, 1).flatten(1))
        return self.output_dropout(outputs), torch.cat(final_states, dim=-1)


class LSTMEncoder(GRUEncoder):
    """An LSTM encoder; the summary concatenates h and c of all layers. Arguments as in `GRUEncoder`."""

    recurrent_class = nn.LSTM
