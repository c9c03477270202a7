"""The attention decoder as textbooks write it: what the model of this project is compared with.

The keys are projected anew at every step, padding is computed like tokens, the loss covers padding
too and is masked afterwards, autograd keeps whatever it meets. Plain `torch.nn` throughout.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from benchmarks.sizes import Size
from seq2seq.errors import InputError
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.text.vocabulary import BEGIN_ID, END_ID


class TextbookAttention(nn.Module):
    """Additive attention over (B, S, M), with the hidden layer of all its scores in memory."""

    def __init__(self, query_size: int, key_size: int, hidden_size: int) -> None:
        super().__init__()
        self.query_projection = nn.Linear(query_size, hidden_size, bias=False)
        self.key_projection = nn.Linear(key_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "B 1 H"], keys: Float[Tensor, "B S M"], mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B 1 M"]:
        """Context."""
        queries = self.query_projection(query).unsqueeze(2)
        hidden = torch.tanh(queries + self.key_projection(keys).unsqueeze(1))
        scores = self.score(hidden).squeeze(-1).masked_fill(~mask.unsqueeze(1), -1e6)
        return torch.bmm(torch.softmax(scores, dim=-1), keys)


class TextbookModel(nn.Module):
    """Encoder and decoder of `torch.nn.GRU`, the decoder one call a step.

    Args:
        size: of its layers.
        dropout: on embeddings, between layers, on outputs.
        attention_size: of the score's hidden layer; None for that of the other layers.
    """

    def __init__(self, size: Size, *, dropout: float, attention_size: int | None = None) -> None:
        super().__init__()
        between = dropout if size.num_layers > 1 else 0.0
        hidden, memory = size.hidden, size.memory
        self.source_embedding = nn.Embedding(size.vocabulary, hidden)
        self.target_embedding = nn.Embedding(size.vocabulary, hidden)
        self.encoder = nn.GRU(
            hidden,
            hidden,
            size.num_layers,
            batch_first=True,
            bidirectional=size.bidirectional,
            dropout=between,
        )
        self.bridge = nn.ModuleList(
            nn.Linear(memory, hidden) for _ in range(size.num_layers if size.bidirectional else 0)
        )
        self.attention = TextbookAttention(hidden, memory, attention_size or hidden)
        self.decoder = nn.GRU(
            memory + hidden, hidden, size.num_layers, batch_first=True, dropout=between
        )
        self.output = nn.Linear(hidden, size.vocabulary)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source: Int[Tensor, "B S"]) -> tuple[Tensor, Tensor]:
        """Memory (B, S, M) and first state (L, B, H)."""
        memory, final = self.encoder(self.dropout(self.source_embedding(source)))
        if len(self.bridge):
            layers = final.unflatten(0, (len(self.bridge), 2))
            joined = [torch.cat([forth, back], dim=-1) for forth, back in layers]
            pairs = zip(self.bridge, joined, strict=True)
            final = torch.stack([torch.tanh(bridge(state)) for bridge, state in pairs])
        return self.dropout(memory), final

    def step(
        self, tokens: Int[Tensor, "B 1"], state: Tensor, memory: Tensor, mask: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B 1 H"], Tensor]:
        """Features and state after one step."""
        context = self.attention(state[-1].unsqueeze(1), memory, mask)
        embedded = self.dropout(self.target_embedding(tokens))
        return self.decoder(torch.cat([context, embedded], dim=-1), state)

    def decode(
        self, target: Int[Tensor, "B T"], state: Tensor, memory: Tensor, mask: Bool[Tensor, "B S"]
    ) -> Float[Tensor, "B T V"]:
        """Logits of every target position, by teacher forcing."""
        steps = []
        for tokens in target.split(1, dim=1):
            features, state = self.step(tokens, state, memory, mask)
            steps.append(features)
        return self.output(self.dropout(torch.cat(steps, dim=1)))

    def forward(
        self, source: Int[Tensor, "B S"], mask: Bool[Tensor, "B S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        """Logits of every target position."""
        memory, state = self.encode(source)
        return self.decode(target, state, memory, mask)


def masked_cross_entropy(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], is_token: Bool[Tensor, "B T"]
) -> Tensor:
    """Mean over real tokens of a loss that is computed over all positions."""
    losses = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return (losses * is_token).sum() / is_token.sum()


@torch.no_grad()
def translate_singly(
    model: TextbookModel, source: Int[Tensor, " S"], num_tokens: int, *, ends: bool = False
) -> list[int]:
    """Greedy search for one sentence, `num_tokens` steps long, or up to ``<eos>`` if it `ends`."""
    memory, state = model.encode(source.unsqueeze(0))
    mask = torch.ones(1, len(source), dtype=torch.bool, device=source.device)
    tokens, found = source.new_full((1, 1), BEGIN_ID), []
    for _ in range(num_tokens):
        features, state = model.step(tokens, state, memory, mask)
        tokens = model.output(features).argmax(dim=-1)
        found.append(int(tokens))
        if ends and found[-1] == END_ID:
            break
    return found


@torch.no_grad()
def copy_weights(textbook: TextbookModel, model: Seq2Seq) -> None:
    """Give the model of this project, with additive attention, the textbook's parameters."""
    for ours, theirs in _same_weights(textbook, model):
        ours.copy_(theirs)


@torch.no_grad()
def read_weights(textbook: TextbookModel, model: Seq2Seq) -> None:
    """The other way round."""
    for ours, theirs in _same_weights(textbook, model):
        theirs.copy_(ours)


def textbook_of(spec: ModelSpec, model: Seq2Seq) -> TextbookModel:
    """The textbook's model with the weights of a trained one, in its number format.

    Raises:
        InputError: it has other parts.
    """
    size = Size(
        hidden=spec.decoder_hidden_size,
        num_layers=spec.num_layers,
        bidirectional=spec.bidirectional,
        vocabulary=spec.target_vocabulary_size,
        sentences=1,
    )
    hidden = {spec.embedding_size, spec.encoder_hidden_size, size.hidden}
    vocabulary = {spec.source_vocabulary_size, size.vocabulary}
    parts = (spec.score, spec.readout_size, spec.tying, spec.initial_state)
    if len(hidden) > 1 or len(vocabulary) > 1 or parts != ("additive", None, "none", "encoder"):
        raise InputError(
            "--model: the textbook's model has layers of one size, additive attention, no deep "
            "readout and nothing tied: train one with recipe=textbook and a joint vocabulary"
        )
    textbook = TextbookModel(size, dropout=0.0, attention_size=spec.attention_size)
    textbook.to(model.decoder.output.weight.dtype).eval()
    read_weights(textbook, model)
    return textbook


def _same_weights(textbook: TextbookModel, model: Seq2Seq) -> Iterator[tuple[Tensor, Tensor]]:
    """What this project and the textbook call the same parameters, ours and theirs."""
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    score = decoder.attention.score
    modules = [
        (encoder.embedding, textbook.source_embedding),
        (encoder.gru, textbook.encoder),
        (decoder.embedding, textbook.target_embedding),
        (decoder.output, textbook.output),
        (score.query_projection, textbook.attention.query_projection),
        (score.key_projection, textbook.attention.key_projection),
        *((ours[0], theirs) for ours, theirs in zip(decoder.bridge, textbook.bridge, strict=False)),
    ]
    for ours, theirs in modules:
        yield from zip(ours.parameters(), theirs.parameters(), strict=True)
    yield score.score_weight, textbook.attention.score.weight[0]
    input_weight: Any = textbook.decoder.weight_ih_l0
    yield decoder.context_gates.weight, input_weight[:, : encoder.memory_size]
    for index, layer in enumerate([decoder.first_layer, *decoder.upper_layers]):
        inputs = getattr(textbook.decoder, f"weight_ih_l{index}")
        yield layer.input_gates.weight, inputs[:, 0 if index else encoder.memory_size :]
        yield layer.input_gates.bias, getattr(textbook.decoder, f"bias_ih_l{index}")
        yield layer.state_gates.weight, getattr(textbook.decoder, f"weight_hh_l{index}")
        yield layer.state_gates.bias, getattr(textbook.decoder, f"bias_hh_l{index}")
