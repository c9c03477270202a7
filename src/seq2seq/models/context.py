"""Decoder of Cho et al. without attention; the encoder's summary is an input of every step.

With e(y) the embedding of a token y and c the summary of the source sentence:

    s_t = GRU([e(y_{t-1}); c], s_{t-1}),  o_t = tanh(W_s s_t + b + W_c c + W_e e(y_{t-1}))

Cho et al., "Learning phrase representations using RNN encoder-decoder for statistical machine
translation", 2014, with `DeepOutput` in place of their maxout.
"""

from typing import Unpack

from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.common.numbers import Size
from seq2seq.models.decoder import RecurrentDecoder, RecurrentOptions
from seq2seq.models.layers import DeepOutput


class ContextDecoder(RecurrentDecoder):
    """The decoder above, with one or more layers. Arguments as in `BahdanauDecoder`; it has no attention."""

    has_attention = False

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: None = None,
        hidden_size: Size = 256,
        readout_size: Size | None = None,
        **options: Unpack[RecurrentOptions],
    ) -> None:
        size = embedding.embedding_dim
        sizes = {"hidden_size": hidden_size, "feature_size": readout_size or hidden_size}
        super().__init__(embedding, summary_size, input_size=size, **sizes, **options)
        # the matrix of the cell's input, W [e; c] = W_1 e + W_2 c, in two parts: W_2 c is the same at every step
        self.context_gates = nn.Linear(summary_size, self.stack.gates_size, bias=False)  # W_2
        self.readout = DeepOutput(hidden_size, summary_size, size, readout_size) if readout_size else None

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Return a memory with the summary as only state (B, 1, F), and its part of the gates as key (B, 1, G)."""
        summaries = summary.unsqueeze(1)
        keys = self.context_gates(summaries)
        return Memory(summaries, keys, source_is_token[:, :1], summary)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, None]:
        """Compute one step, see `Decoder.step`."""
        embedded = self.embed(tokens)
        num_sentences = memory.states.shape[0]
        gates = self.stack.input_gates(embedded).view(num_sentences, -1, self.stack.gates_size) + memory.keys
        states = self.stack(gates.flatten(0, 1), state)
        features = self.stack.top(states)
        if self.readout is not None:
            features, embedded = (x.view(num_sentences, -1, x.shape[-1]) for x in (features, embedded))
            features = self.readout(features, memory.states, embedded).flatten(0, 1)
        return self.output_dropout(features), states, None
