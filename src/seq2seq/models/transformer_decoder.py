"""Transformer decoder: every layer attends to the target tokens so far, then to the source.

With x_t the embedded token y_{t-1} plus its position, m_j the encoder output for source token j, and LN layer
normalization, before each part (pre-norm):

    x = x + SelfAttention(LN(x)),   x = x + CrossAttention(LN(x), m),   x = x + W_2 relu(W_1 LN(x) + b_1) + b_2
    Attention: w = softmax over j of q · k_j / sqrt(d),   c = sum over j of w_j v_j,   for each head; W_o [c_1; …; c_h] + b_o

with q, k_j and v_j (d) linear in what asks and in what is asked. Position t asks the positions up to t only.
The features are LN(x) of the last layer.

Vaswani et al., "Attention is all you need", 2017; Xiong et al., "On layer normalization in the Transformer architecture",
2020. Letters as in `seq2seq.models.seq2seq`, D size of all layers (here D = E = R), W hypotheses of a sentence.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory, State
from seq2seq.attention.masking import length_mask, masked_softmax
from seq2seq.common.numbers import Dropout, Few, Size
from seq2seq.models.decoder import Decoder, output_layer
from seq2seq.models.transformer import positions


class HeadsAttention(nn.Module):
    """Scaled dot-product attention with several heads, each in a share of the size, as `torch.nn.MultiheadAttention`.

    Args:
        size: Size D of what asks and of the result.
        memory_size: Size M of what is asked.
        heads: Number of heads h, which divides D.
        dropout: Dropout probability of the weights. The returned weights are those before dropout.
        weighs_source: Whether what is asked is the source, see `seq2seq.models.decoder.attentions_of`.
    """

    def __init__(
        self, size: int, memory_size: int, heads: int, dropout: float, *, weighs_source: bool = False
    ) -> None:
        super().__init__()
        self.heads, self.weighs_source = heads, weighs_source
        self.query = nn.Linear(size, size)
        self.keys_values = nn.Linear(memory_size, 2 * size)
        self.output = nn.Linear(size, size)  # W_o and b_o
        self.dropout = nn.Dropout(dropout)

    def forward(self, asking: Tensor, keys_values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Compute the attention of each position that asks.

        Args:
            asking: Normalized inputs (B, Q, D).
            keys_values: Keys and values of what is asked (B, S, 2 D), the result of the layer of this name.
            mask: True where a position may be asked, of a shape that broadcasts to (B, h, Q, S); None: everywhere.

        Returns:
            Results (B, Q, D), and weights (B, h, Q, S) in float32 or float64.
        """
        keys, values = keys_values.chunk(2, dim=-1)
        query, keys, values = (self._of_heads(each) for each in (self.query(asking), keys, values))
        scores = (query / math.sqrt(query.shape[-1])) @ keys.transpose(-1, -2)
        weights = masked_softmax(scores, mask=mask)
        contexts = self.dropout(weights.to(values.dtype)) @ values  # (B, h, Q, d)
        return self.output(contexts.transpose(1, 2).flatten(2)), weights

    def _of_heads(self, vectors: Tensor) -> Tensor:
        """Return vectors (B, S, D) as those of each head (B, h, S, d)."""
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class TransformerLayer(nn.Module):
    """A layer of the decoder: self-attention, cross-attention and a feed-forward network, each added to its input."""

    def __init__(self, size: int, memory_size: int, heads: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norms: Any = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.self_attention = HeadsAttention(size, size, heads, dropout)
        self.cross_attention = HeadsAttention(size, memory_size, heads, dropout, weighs_source=True)
        self.first = nn.Linear(size, hidden_size)  # W_1 and b_1
        self.second = nn.Linear(hidden_size, size)  # W_2 and b_2
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, earlier: Tensor, mask: Tensor | None, source: Tensor, source_is_token: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the layer for T positions of N = B W hypotheses, after t earlier positions.

        Args:
            x: Inputs (N, T, D).
            earlier: Keys and values of the earlier positions (N, t, 2 D).
            mask: True where a position may be asked by another (T, t + T); None: everywhere.
            source: Keys and values of the source (B, S, 2 D).
            source_is_token: True on real source tokens (B, S).

        Returns:
            Outputs (N, T, D), keys and values of all positions (N, t + T, 2 D), weights of the source (N, T, h, S).
        """
        normed = self.norms[0](x)
        now = self.self_attention.keys_values(normed)
        keys_values = torch.cat([earlier.to(now.dtype), now], dim=1)
        x = x + self.dropout(self.self_attention(normed, keys_values, mask)[0])
        asking = self.norms[1](x).view(source.shape[0], -1, x.shape[-1])  # (B, W T, D)
        found, weights = self.cross_attention(asking, source, source_is_token[:, None, None])
        x = x + self.dropout(found.view(x.shape))
        hidden = self.dropout(torch.relu(self.first(self.norms[2](x))))
        x = x + self.dropout(self.second(hidden))
        return x, keys_values, weights.transpose(1, 2).unflatten(1, (-1, x.shape[1])).flatten(0, 1)


class TransformerDecoder(Decoder):
    """The decoder above. The state has keys and values of the positions so far for each layer, (N, t, 2 D).

    Weights are those of the source: of the heads of the first layer, then of the second, and so on (N, L h, S).

    Args:
        embedding: Embedding of the target tokens (V, E); E is the size of all layers.
        memory_size: Size M of an encoder state.
        summary_size: Unused; all decoders have this argument.
        attention: None; the attention is that of the layers.
        num_layers: Number of layers L.
        heads: Number of heads h of each attention.
        feedforward_size: Hidden size of the feed-forward network of a layer; None: 4 E.
        dropout: Dropout probability within the layers: of weights, of hidden units, and of what is added.
        embedding_dropout: Dropout probability of embedded tokens with positions; None: `dropout`.
        tie_output: Whether the output layer has the weight of the embedding, which is then multiplied by sqrt(E).

    Raises:
        ValueError: The heads do not divide E.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        attention: None = None,
        num_layers: Few = 3,
        heads: Few = 4,
        feedforward_size: Size | None = None,
        dropout: Dropout = 0.1,
        embedding_dropout: Dropout | None = None,
        tie_output: bool = False,
    ) -> None:
        super().__init__()
        size = embedding.embedding_dim
        if size % heads:
            raise ValueError(f"heads={heads} must divide embedding_size={size}")
        self.embedding, self.scale = embedding, math.sqrt(size) if tie_output else 1.0
        self.embedding_dropout = nn.Dropout(dropout if embedding_dropout is None else embedding_dropout)
        hidden_size = feedforward_size or 4 * size
        self.layers: Any = nn.ModuleList(
            TransformerLayer(size, memory_size, heads, hidden_size, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(size)
        self.output = output_layer(size, embedding, tied=tie_output)
        self.attention_layers = num_layers

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Return the memory, with keys and values of all layers as its keys (B, S, L 2 D)."""
        keys_values = [layer.cross_attention.keys_values(states) for layer in self.layers]
        return Memory(states, torch.cat(keys_values, dim=-1), source_is_token, summary)

    def initial_state(self, memory: Memory) -> State:
        """Return keys and values of no position, for each layer (B, 0, 2 D)."""
        of_layers = memory.keys.chunk(len(self.layers), dim=-1)
        return tuple(torch.zeros_like(each[:, :0]) for each in of_layers)

    def step(self, tokens: Tensor, state: State, memory: Memory) -> tuple[Tensor, State, Tensor]:
        """Compute one step, see `Decoder.step`: the position after those of the state."""
        x, state, weights = self._positions(tokens.unsqueeze(1), state, None, memory)
        return x.squeeze(1), state, weights.squeeze(1)

    def forward(
        self, target_input: Tensor, memory: Memory, target_lengths: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute all positions at once (teacher forcing), see `Decoder.forward`; padding is asked by padding only."""
        length = target_input.shape[1]
        is_earlier = torch.ones(length, length, dtype=torch.bool, device=target_input.device).tril()
        x, _, weights = self._positions(target_input, self.initial_state(memory), is_earlier, memory)
        if target_lengths is None:
            return x, weights
        is_padding = ~length_mask(target_lengths, length)
        return x.masked_fill(is_padding[..., None], 0), weights.masked_fill(is_padding[..., None, None], 0)

    def _positions(
        self, tokens: Tensor, state: State, mask: Tensor | None, memory: Memory
    ) -> tuple[Tensor, State, Tensor]:
        """Return features (N, T, D), the new state and weights (N, T, L h, S) of T tokens (N, T) after those of a state."""
        start = state[0].shape[1]
        embedded = self.embedding(tokens) * self.scale
        x = self.embedding_dropout(embedded + positions(start, start + tokens.shape[1], embedded))
        new, weights = list[Tensor](), list[Tensor]()
        of_layers = memory.keys.chunk(len(self.layers), dim=-1)
        for layer, earlier, source in zip(self.layers, state, of_layers, strict=True):
            x, keys_values, of_layer = layer(x, earlier, mask, source, memory.source_is_token)
            new.append(keys_values)
            weights.append(of_layer)
        return self.norm(x), tuple(new), torch.cat(weights, dim=2)
