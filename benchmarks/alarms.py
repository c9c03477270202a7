"""How often the alarms of attention are right: python -m benchmarks.alarms CORPUS

Trains small models by a plain loop, half of which are broken by their making, and prints the statistics of the attention after
the last step on held-out pairs, its alarms, and which are false or missed. Thresholds were fixed on `grammar` and `reverse`, and judged once
on `tatoeba` (--file fra.txt).

With `default`, trainings are those of ``python train.py data=grammar``, some of them of broken models. An alarm is one at any
validation. A run that is finished is not trained again.
"""

import argparse
import math
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)

from seq2seq.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    CoverageScore,
    DotScore,
    GaussianScore,
    LocalAlignment,
    MonotonicAlignment,
    MultiHeadAttention,
    ScaledDotScore,
    UniformScore,
)
from seq2seq.attention.attention import Memory
from seq2seq.attention.masking import masked_softmax
from seq2seq.data import GrammarCorpus, PairsCorpus, TaskCorpus
from seq2seq.data.batch import Batch, EncodedSplit
from seq2seq.data.batching import BatchSize, shuffled_order, sorted_order
from seq2seq.data.datamodule import Prepared
from seq2seq.data.text import SentencePair, Splits
from seq2seq.data.vocabulary import END
from seq2seq.decoding.forced import force_decode
from seq2seq.models import (
    BahdanauDecoder,
    ConditionalDecoder,
    GRUEncoder,
    LSTMEncoder,
    LuongDecoder,
    Seq2Seq,
    build_model,
)
from seq2seq.studies.attention_statistics import AttentionStatistics, alarms, attention_statistics
from seq2seq.visualization.heatmap import save_heatmap

STEPS = 700
BATCH_SIZE = BatchSize(sentences=32, tokens=None)
SIZE = 32
"""Of the embeddings and the encoder; decoder states are twice as large."""
TRAIN, HELD_OUT = 6000, 200
MOST_CHARACTERS = {"grammar": 22, "reverse": 9, "tatoeba": 18}
"""Of a side of a pair: short sentences are learned quickly."""


class Unmasked(Attention):
    """Attends to padding, too."""

    def forward(self, query: Tensor, memory: Memory, state: Any) -> Any:
        """As of `Attention`."""
        everything = torch.ones_like(memory.source_is_token)
        return super().forward(query, replace(memory, source_is_token=everything), state)


class Blind(Attention):
    """Does not know what it looks for, so that all target tokens attend alike."""

    def forward(self, query: Tensor, memory: Memory, state: Any) -> Any:
        """As of `Attention`."""
        return super().forward(torch.zeros_like(query), memory, state)


class Drawn(Attention):
    """Has most of its weight on one source token, whatever the query.

    Args:
        to_end: To ``<eos>``, or to the first token.
        **options: Of `Attention`.
    """

    def __init__(self, *, to_end: bool, **options: Any) -> None:
        super().__init__(**options)
        self.to_end = to_end

    def forward(self, query: Tensor, memory: Memory, state: Any) -> Any:
        """As of `Attention`."""
        is_token = memory.source_is_token
        place = is_token.sum(dim=1) - 1 if self.to_end else torch.zeros(len(is_token), dtype=torch.long)
        queries = query.view(len(is_token), -1, query.shape[-1])
        scores = self.score(queries, memory.keys, memory.keys).tanh()  # in -1..1
        drawn = F.one_hot(place, scores.shape[-1]).unsqueeze(1)
        weights = masked_softmax(scores + 5 * drawn, mask=is_token.unsqueeze(1))
        context = self.dropout(weights) @ memory.states
        return context.flatten(0, 1), weights.flatten(0, 1).unsqueeze(1), state


ADDITIVE = partial(AdditiveScore, hidden_size=SIZE)


@dataclass
class Recipe:
    """How a model is made and trained.

    Attributes:
        right: Alarms of which one is right; none: the attention is healthy.
        readout_size: Of the decoder; None: none.
        score: Of the attention.
        attention: Its class.
        decoder: Its class.
        encoder: Its class.
        rate: Learning rate.
        seed: Of the parameters and the batches.
        is_shuffled: Targets belong to other sources.
    """

    right: tuple[str, ...] = ()
    readout_size: int | None = SIZE
    score: Callable[..., Any] = ADDITIVE
    attention: Callable[..., Any] = Attention
    decoder: Callable[..., Any] = BahdanauDecoder
    encoder: Callable[..., Any] = GRUEncoder
    rate: float = 0.01
    seed: int = 1
    is_shuffled: bool = False


ANY = "not_formed", "eos", "column", "copied_row"
HEADS = partial(MultiHeadAttention, heads=2)
RUNS = {
    "additive": Recipe(),
    "additive, seed 2, half the rate": Recipe(seed=2, rate=0.005),
    "scaled dot": Recipe(score=ScaledDotScore),
    "bilinear": Recipe(score=BilinearScore),
    "gaussian": Recipe(score=partial(GaussianScore, learnable=True)),
    "coverage": Recipe(score=partial(CoverageScore, hidden_size=SIZE)),
    "local-p": Recipe(
        attention=partial(Attention, alignment=partial(LocalAlignment, window=2, predictive=True))
    ),
    "2 heads": Recipe(
        attention=lambda score, **sizes: HEADS(attention=partial(Attention, score=score), **sizes)
    ),
    "luong, dot": Recipe(decoder=LuongDecoder, score=DotScore),
    "luong, additive": Recipe(decoder=LuongDecoder),
    "conditional": Recipe(decoder=ConditionalDecoder),
    "LSTM": Recipe(encoder=LSTMEncoder, decoder=partial(BahdanauDecoder, cell="lstm")),
    "no readout": Recipe(readout_size=None),
    "monotonic": Recipe(attention=partial(Attention, alignment=MonotonicAlignment)),
    "no mask": Recipe(("padding",), attention=Unmasked),
    "no mask, scaled dot": Recipe(("padding",), attention=Unmasked, score=ScaledDotScore),
    "shuffled targets": Recipe(ANY, is_shuffled=True),
    "shuffled targets, scaled dot": Recipe(ANY, is_shuffled=True, score=ScaledDotScore),
    "shuffled targets, luong": Recipe(ANY, is_shuffled=True, decoder=LuongDecoder),
    "rate 0.3": Recipe(ANY, rate=0.3),
    "rate 0.3, conditional": Recipe(ANY, rate=0.3, decoder=ConditionalDecoder),
    "rate 1, scaled dot": Recipe(ANY, rate=1, score=ScaledDotScore),
    "uniform": Recipe(("not_formed",), score=UniformScore),
    "blind query": Recipe(ANY, attention=Blind),
    "drawn to <eos>": Recipe(("eos",), attention=partial(Drawn, to_end=True)),
    "drawn to the first word": Recipe(("column",), attention=partial(Drawn, to_end=False)),
}
ROOT = Path(__file__).parents[1]
HERE = "_target_=benchmarks.alarms"
DEFAULTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "additive": ((), ()),
    "additive, seed 2": ((), ("seed=2",)),
    "no mask": (("padding",), (f"model.decoder.attention.{HERE}.Unmasked",)),
    "shuffled targets": (ANY, (f"data.{HERE}.ShuffledCorpus", "trainer.max_epochs=2")),
    "rate 0.3": (ANY, ("optimizer.lr=0.3", "trainer.max_epochs=2")),
    "scaled dot": ((), ("attention=scaled_dot",)),
    "4 heads": ((), ("attention=multihead",)),
    "luong, bilinear": ((), ("decoder=luong", "attention=bilinear")),
}
"""Trainings by ``python train.py``: alarms of which one is right, and overrides."""
FORMED_BY = 1000
"""As of ``callbacks.attention_statistics.formed_by``."""


def pairs_of(corpus: str, file: str | None) -> list[tuple[str, str]]:
    """Return pairs of a corpus, in random order."""
    if corpus == "tatoeba":
        lines = (line.split("\t") for line in Path(str(file)).read_text(encoding="utf-8").splitlines())
        pairs = [(parts[0], parts[1]) for parts in lines if len(parts) > 1]
        random.Random(1).shuffle(pairs)
    else:
        data = GrammarCorpus() if corpus == "grammar" else TaskCorpus(task=corpus, train_pairs=20_000)
        pairs = [(pair.source, pair.target) for pair in data.read().train]
    short = [pair for pair in pairs if max(map(len, pair)) <= MOST_CHARACTERS[corpus]]
    return short[: TRAIN + HELD_OUT]


def shuffled(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs of which each has the target of another one."""
    sources, targets = map(list[str], zip(*pairs, strict=True))
    random.Random(2).shuffle(targets)
    return list(zip(sources, targets, strict=True))


class ShuffledCorpus(GrammarCorpus):
    """The built-in corpus, whose training pairs have the targets of other pairs."""

    def read(self) -> Splits:
        """As of `GrammarCorpus`."""
        splits = super().read()
        train = shuffled((pair.source, pair.target) for pair in splits.train)
        return replace(splits, train=[SentencePair(*pair) for pair in train])


@cache
def data_of(pairs: tuple[tuple[str, str], ...], is_shuffled: bool) -> Prepared:
    """Return the encoded pairs; shuffled, a training pair has the target of another one."""
    train, held_out = list(pairs[:-HELD_OUT]), list(pairs[-HELD_OUT:])
    if is_shuffled:
        train = shuffled(train)
    data = PairsCorpus(train=train, validation=held_out)
    data.setup()
    return data.prepared


def trained(
    recipe: Recipe, pairs: Sequence[tuple[str, str]], steps: int = STEPS, picture: Path | None = None
) -> dict[str, float]:
    """Train a model, and return the statistics of its attention; empty if the loss is no number, which stops every training."""
    torch.manual_seed(recipe.seed)
    data = data_of(tuple(pairs), recipe.is_shuffled)
    attention = partial(recipe.attention, score=recipe.score)
    model = build_model(
        encoder=partial(recipe.encoder, hidden_size=SIZE),
        decoder=partial(
            recipe.decoder, hidden_size=2 * SIZE, readout_size=recipe.readout_size, attention=attention
        ),
        source_vocab_size=data.source_tokenizer.vocab_size,
        target_vocab_size=data.target_tokenizer.vocab_size,
        embedding_size=SIZE,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.rate, fused=True)
    for indices in islice(batches(data.train, recipe.seed), steps):
        batch = Batch.from_split(data.train, indices.tolist())
        is_token = batch.target_is_token
        features, _ = model(batch)
        loss = F.cross_entropy(model.decoder.output(features[is_token]), batch.target_output[is_token])
        if not loss.isfinite():
            return {}
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if picture is not None:
        draw(model, data, picture)
    return statistics_of(model, data.validation)


def batches(split: EncodedSplit, seed: int) -> Iterator[NDArray[np.integer]]:
    """Yield batches of a split, without an end."""
    for epoch in count():
        yield from shuffled_order(
            split.source.lengths, split.target.lengths, BATCH_SIZE, seed=seed, epoch=epoch
        )


@torch.no_grad()
def draw(model: Seq2Seq, data: Prepared, path: Path) -> None:
    """Draw the attention of the held-out pair with most target tokens, of every head."""
    split = data.validation
    place = max(range(len(split)), key=lambda each: (len(split.target[each]), len(split.source[each])))
    (found,) = force_decode(model.eval(), Batch.from_split(split, [place]))
    source = [*data.source_tokenizer.words(split.source[place]), END]
    heads = found.weights[None] if found.heads is None else found.heads
    target = data.target_tokenizer.words(found.ids)
    titles = [""] if len(heads) == 1 else [f"head {number}" for number in range(1, len(heads) + 1)]
    save_heatmap(path, [(*each, source, target) for each in zip(titles, heads.numpy(), strict=True)], dpi=90)


@torch.no_grad()
def statistics_of(model: Seq2Seq, split: EncodedSplit) -> dict[str, float]:
    """Return the loss and the statistics of the attention on a split, and those of the effects on its first pairs."""
    model.eval()
    sums, loss, tokens = AttentionStatistics(), 0.0, 0
    for indices in sorted_order(split.source.lengths, split.target.lengths, BATCH_SIZE):
        batch = Batch.from_split(split, indices.tolist())
        features, weights = model(batch)
        is_token = batch.target_is_token
        logits, wanted = model.decoder.output(features[is_token]), batch.target_output[is_token]
        loss += F.cross_entropy(logits, wanted, reduction="sum").item()
        tokens += len(wanted)
        sums += attention_statistics(weights.mean(dim=2), batch.source.lengths, batch.target_lengths)
    return {"loss": loss / tokens} | sums.metrics()


def validations_of(run: Path) -> dict[int, dict[str, float]]:
    """Return the statistics of each validation of a run by its step; empty if there was none."""
    events, found = EventAccumulator(str(run)).Reload(), defaultdict[int, dict[str, float]](dict)
    for tag in events.Tags()["scalars"]:
        group, _, name = tag.partition("/")
        if group in {"val", "val_attention", "val_alignment"}:
            for event in events.Scalars(tag):
                found[event.step][name] = event.value
    return dict(sorted(found.items()))


Outcome = tuple[tuple[str, ...], dict[str, float], list[str]]
"""Alarms of which one is right, statistics after training, empty if it failed, and the alarms."""


def of_loop(name: str, pairs: Sequence[tuple[str, str]], steps: int, picture: Path | None) -> Outcome:
    """Train a small model, and return what its alarms are."""
    values = trained(RUNS[name], pairs, steps, picture)
    return RUNS[name].right, values, [*alarms(values)]


def of_default(name: str, runs: Path) -> Outcome:
    """Train by ``python train.py`` unless that is done, and return what its alarms are, at any validation."""
    right, overrides = DEFAULTS[name]
    run = runs.absolute() / "alarms" / slug_of(name)
    if not (run / "metrics.json").exists():
        place = f"paths.runs_dir={runs.absolute()}", "experiment_name=alarms", f"name={run.name}", "threads=1"
        logged = "callbacks=[default,attention_statistics]"
        command = [sys.executable, "train.py", "data=grammar", logged, *overrides, *place]
        subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)
    validations = validations_of(run)
    found = [alarms(values, is_late=step >= FORMED_BY) for step, values in validations.items()]
    last = [*validations.values()][-1] if validations else {}
    return right, last, [*dict.fromkeys(name for each in found for name in each)]


def slug_of(name: str) -> str:
    """Return the name of a run as part of a file name."""
    return re.sub(r"\W+", "_", name).strip("_")


SHOWN = (
    "loss", "entropy", "peak", "diagonality", "padding_mass", "eos_mass", "column_mass", "row_overlap",
)  # fmt: skip


def main() -> None:
    """Train all, and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", choices=["grammar", "reverse", "tatoeba", "default"])
    parser.add_argument("--file", help="the file of tatoeba")
    parser.add_argument("--only", nargs="*", help="names of runs")
    parser.add_argument("--steps", type=int, default=STEPS, help="of each training of a small model")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="draw a sentence of each small model")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="where default trains")
    options = parser.parse_args()
    if options.corpus == "default":
        names, shown = options.only or [*DEFAULTS], ("bleu", "aer", *SHOWN)
        outcomes = (of_default(name, options.runs) for name in names)
    else:
        names, shown, folder = options.only or [*RUNS], SHOWN, options.pictures
        pictures = [None if folder is None else folder / f"reading_{slug_of(name)}.png" for name in names]
        pairs = pairs_of(options.corpus, options.file)
        outcomes = (
            of_loop(name, pairs, options.steps, picture)
            for name, picture in zip(names, pictures, strict=True)
        )
    judged = dict[str, list[str]]()
    print(" " * 32, *(f"{name:>12}" for name in shown))
    for name, (right, values, found) in zip(names, outcomes, strict=True):
        judgment = judged_as(right, found) if values else "stopped"
        judged.setdefault(judgment, []).append(name)
        cells = (f"{values.get(each, math.nan):12.3f}" for each in shown)
        print(f"{name:<32}", *cells, "", f"{judgment}: {', '.join(found) or 'none'}", flush=True)
    for judgment, chosen in judged.items():
        print(f"{judgment}: {len(chosen)} of {len(names)} ({'; '.join(chosen)})")


def judged_as(right: Collection[str], found: Collection[str]) -> str:
    """Return what the alarms of a run are: right, false, missed, or another one than should be."""
    if not right:
        return "false" if found else "right"
    if not found:
        return "missed"
    return "right" if {*right} & {*found} else "another"


if __name__ == "__main__":
    main()
