"""Compare a training step with the textbook's own classes on the CPU: ``python -m benchmarks.textbook``

Needs Dive into Deep Learning's package: ``pip install --no-deps --target FOLDER d2l==1.0.3``, and FOLDER in PYTHONPATH. Its
encoder and its additive attention, in the decoder that its page on Bahdanau attention describes, and this program's
classes of `recipe=textbook` compute the same batches: forward, masked loss, backward, clipping, Adam. One thread,
process time, in turns in one process, medians.

Batches are bucketed (of pairs of similar length) or shuffled. With ``--real-data=FOLDER`` they are those of Multi30k's
German and English captions, ``train.de.gz`` and ``train.en.gz``; else of random tokens with lengths of 13 ± 4.
"""

import argparse
import gzip
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
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
NUMBERS = (torch.float32, torch.bfloat16)  # of this program's products; the book's are float32
DRAWING = (
    "torchvision",
    "PIL",
    "pandas",
    "requests",
    "IPython",
    "matplotlib_inline",
)  # of the book's pages alone


def random_pairs(number: int) -> list[list[list[int]]]:
    """Return source and target sentences of random tokens, with lengths of 13 ± 4."""
    random = np.random.default_rng(1)
    sources = np.clip(random.normal(13, 4, number).round(), 4, 40).astype(int)
    targets = np.clip((sources + random.normal(0, 2, number)).round(), 4, 42).astype(int)
    return [[random.integers(4, VOCABULARY, n).tolist() for n in lengths] for lengths in (sources, targets)]


def real_pairs(folder: Path) -> list[list[list[int]]]:
    """Return source and target sentences of Multi30k as ids of their `VOCABULARY` most frequent words."""
    sides = []
    for language in ("de", "en"):
        with gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8") as file:
            sentences = [re.findall(r"\w+|[^\w\s]", line.lower()) for line in file]
        counts = Counter(word for words in sentences for word in words)
        ids = {word: place for place, (word, _) in enumerate(counts.most_common(VOCABULARY - 4), start=4)}
        sides.append([[ids.get(word, 0) for word in words] for words in sentences])
    return sides


def batches(sides: list[list[list[int]]], number: int, *, bucketed: bool) -> list[Batch]:
    """Return batches of random pairs, or of random pairs of similar length."""
    split = EncodedSplit([], *map(Sentences.from_lists, sides))
    random = np.random.default_rng(1)
    order = random.permutation(len(split))
    if bucketed:
        order = order[np.lexsort((split.source.lengths[order], split.target.lengths[order]))]
    starts = random.permutation(len(split) // BATCH)[:number] * BATCH
    return [Batch.from_split(split, order[start : start + BATCH].tolist()) for start in starts]


def ours(layers: int) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Return this program's model and its loss of a batch."""
    options = {"hidden_size": SIZE, "num_layers": layers, "dropout": DROPOUT}
    options |= {"embedding_dropout": 0.0, "output_dropout": 0.0}
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
    loss(batches(random_pairs(BATCH), 1, bucketed=False)[0])  # gives the lazy layers their sizes
    return model, loss


def main() -> None:
    """Let both models take turns, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5, help="turns of each model (default: 5)")
    parser.add_argument("--batches", type=int, default=4, help="batches of a turn (default: 4)")
    parser.add_argument("--real-data", type=Path, help="folder of Multi30k's files (default: random tokens)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    pairs = real_pairs(options.real_data) if options.real_data else random_pairs(BATCH * 50)
    print("| layers | batches | numbers | textbook's time by this program's (quartiles) |\n|---|---|---|---|")
    for layers in (1, 2):
        torch.manual_seed(1)
        made = [make(layers) for make in (ours, textbook)]
        this, book = ((*each, torch.optim.Adam(each[0].parameters(), fused=True)) for each in made)
        for name in ("bucketed", "shuffled"):
            work = batches(pairs, options.batches, bucketed=name == "bucketed")
            turns = [
                (turn(*book, work, torch.float32), *(turn(*this, work, numbers) for numbers in NUMBERS))
                for _ in range(options.turns + 1)
            ][1:]
            for place, numbers in enumerate(NUMBERS, start=1):
                low, middle, high = statistics.quantiles([times[0] / times[place] for times in turns], n=4)
                cells = layers, name, str(numbers)[6:], f"{middle:.2f} ({low:.2f} to {high:.2f})"
                print("|", " | ".join(map(str, cells)), "|", flush=True)


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
