"""A corpus of any size, made by varying the sentences of a small one."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq.text.corpus import SentencePair, Shard

PAIRS_PER_SHARD = 1_000_000
PAIRS_PER_WRITE = 10_000
NUM_NAMES = 200_000
"""Made-up words, so that there are rare ones."""

SYLLABLES = [f"{first}{second}" for first in "bdfgklmnprstv" for second in "aeiou"]


def write_corpus(folder: Path, pairs: Sequence[SentencePair], count: int) -> tuple[Shard, ...]:
    """Write `count` pairs into shards: one sentence or two of the small corpus, and a rare word."""
    varied = _varied(pairs, random.Random(0))
    shards = []
    for number, first in enumerate(range(0, count, PAIRS_PER_SHARD)):
        shard = Shard(folder / f"{number:04}.source", folder / f"{number:04}.target")
        _write(shard, varied, min(PAIRS_PER_SHARD, count - first))
        shards.append(shard)
    return tuple(shards)


def _write(shard: Shard, varied: Iterator[tuple[str, str]], count: int) -> None:
    with (
        shard.source.open("w", encoding="utf-8") as source,
        shard.target.open("w", encoding="utf-8") as target,
    ):
        for first in range(0, count, PAIRS_PER_WRITE):
            size = min(PAIRS_PER_WRITE, count - first)
            sources, targets = zip(*(next(varied) for _ in range(size)), strict=True)
            source.write("\n".join(sources) + "\n")
            target.write("\n".join(targets) + "\n")


def _varied(pairs: Sequence[SentencePair], generator: random.Random) -> Iterator[tuple[str, str]]:
    texts = [(pair.source, pair.target) for pair in pairs]
    names = ["".join(generator.choices(SYLLABLES, k=3)).title() for _ in range(NUM_NAMES)]
    choose, count = generator.random, len(texts)
    while True:
        source, target = texts[int(choose() * count)]
        name = names[int(choose() * NUM_NAMES)]
        if choose() < 0.5:
            second_source, second_target = texts[int(choose() * count)]
            yield f"{name}: {source} {second_source}", f"{name}: {target} {second_target}"
        else:
            yield f"{name}: {source}", f"{name}: {target}"
