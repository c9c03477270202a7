"""Compare a training step with the textbook's own classes on the CPU: ``python -m benchmarks.textbook``

Needs Dive into Deep Learning's package: ``pip install --no-deps d2l``. Its encoder and its additive attention, in the
decoder that its page on Bahdanau attention describes, and this program's classes of `recipe=textbook` compute the same
batches of random tokens with the lengths of Multi30k (13 ± 4), sorted by length: forward, masked loss, backward,
clipping, Adam. One thread, process time, in turns in one process, medians.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from unittest.mock import MagicMock

import numpy as np
import torch
from torch import Tensor, nn

from seq2seq.attention import AdditiveScore, Attention
from seq2seq.data import Batch, EncodedSplit
from seq2seq.data.batch import Sentences
from seq2seq.models import BahdanauDecoder, GRUEncoder, build_model
from seq2seq.training import TranslationModule

VOCABULARY, SIZE, BATCH, DROPOUT = 7882, 256, 128, 0.2
DRAWING = (
    "torchvision",
    "PIL",
    "pandas",
    "requests",
    "IPython",
    "matplotlib_inline",
)  # of the book's pages alone


def batches(number: int) -> list[Batch]:
    """Return batches of pairs of similar length."""
    random = np.random.default_rng(1)
    sources = np.clip(random.normal(13, 4, BATCH * 50).round(), 4, 40).astype(int)
    targets = np.clip((sources + random.normal(0, 2, BATCH * 50)).round(), 4, 42).astype(int)
    order = np.lexsort((sources, targets))
    found = []
    for place in random.permutation(50)[:number]:
        rows = order[place * BATCH :][:BATCH]
        sides = [
            Sentences.from_lists(
                [random.integers(4, VOCABULARY, length).tolist() for length in lengths[rows]]
            )
            for lengths in (sources, targets)
        ]
        found.append(Batch.from_split(EncodedSplit([], *sides), range(BATCH)))
    return found


def ours(layers: int) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return this program's model and its loss of a batch."""
    options = {"hidden_size": SIZE, "num_layers": layers, "dropout": DROPOUT}
    attention = partial(Attention, score=partial(AdditiveScore, hidden_size=SIZE), dropout=DROPOUT)
    model = build_model(
        encoder=partial(GRUEncoder, bidirectional=False, **options),
        decoder=partial(BahdanauDecoder, attention=attention, initial_state="copy", **options),
        source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, embedding_size=SIZE,
    )  # fmt: skip
    module = TranslationModule(model)

    def loss(batch: Batch) -> Tensor:
        sums = module.cross_entropy(batch, module(batch)[0])
        return sums.objective / sums.num_tokens

    return model, loss


def textbook(layers: int) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return the book's model and its loss of a batch."""
    for name in DRAWING:
        sys.modules.setdefault(name, MagicMock())
    from d2l import torch as d2l

    class Decoder(nn.Module):
        """At each step, the last layer's state asks, and the context is joined to the embedded token."""

        def __init__(self) -> None:
            super().__init__()
            self.attention = d2l.AdditiveAttention(SIZE, DROPOUT)
            self.embedding = nn.Embedding(VOCABULARY, SIZE)
            self.rnn = nn.GRU(2 * SIZE, SIZE, layers, dropout=DROPOUT * (layers > 1))
            self.dense = nn.Linear(SIZE, VOCABULARY)

        def forward(self, tokens: Tensor, states: Tensor, state: Tensor, lengths: Tensor) -> Tensor:
            outputs = []
            for embedded in self.embedding(tokens).unbind(1):
                context = self.attention(state[-1].unsqueeze(1), states, states, lengths)
                output, state = self.rnn(torch.cat([context[:, 0], embedded], dim=1)[None], state)
                outputs.append(output)
            return self.dense(torch.cat(outputs).transpose(0, 1))

    encoder, decoder = d2l.Seq2SeqEncoder(VOCABULARY, SIZE, SIZE, layers, DROPOUT * (layers > 1)), Decoder()

    def loss(batch: Batch) -> Tensor:
        states, state = encoder(batch.source.ids)
        logits = decoder(batch.target_input, states.transpose(0, 1), state, batch.source.lengths)
        losses = nn.functional.cross_entropy(
            logits.flatten(0, 1), batch.target_output.flatten(), reduction="none"
        )
        mask = batch.target_is_token.flatten()
        return (losses * mask).sum() / mask.sum()

    model = nn.ModuleList([encoder, decoder])
    loss(batches(1)[0])  # gives the lazy layers their sizes
    return model, loss


def main() -> None:
    """Let both models take turns, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5, help="turns of each model (default: 5)")
    parser.add_argument("--batches", type=int, default=4, help="batches of a turn (default: 4)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    work = batches(options.batches)
    print("| layers | numbers | textbook's time by this program's (quartiles) |\n|---|---|---|")
    for layers in (1, 2):
        torch.manual_seed(1)
        models = [make(layers) for make in (ours, textbook)]
        trained = [(*each, torch.optim.Adam(each[0].parameters(), fused=True)) for each in models]
        for numbers in (torch.float32, torch.bfloat16):
            turns = [[turn(*each, work, numbers) for each in trained] for _ in range(options.turns + 1)][1:]
            low, middle, high = statistics.quantiles([book / this for this, book in turns], n=4)
            print(f"| {layers} | {str(numbers)[6:]} | {middle:.2f} ({low:.2f} to {high:.2f}) |", flush=True)


def turn(
    model: nn.Module,
    loss: Callable[[Batch], Tensor],
    optimizer: torch.optim.Optimizer,
    work: list[Batch],
    numbers: torch.dtype,
) -> float:
    """Train a model on all batches; return the process time in seconds."""
    started = time.process_time()
    for batch in work:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=numbers is torch.bfloat16):
            value = loss(batch)
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return time.process_time() - started


if __name__ == "__main__":
    main()
