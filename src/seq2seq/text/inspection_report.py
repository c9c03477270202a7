"""The corpus check, as text."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from seq2seq.text.bucketing import Order, padding_share
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.inspection import (
    FOLD,
    overlap,
    ratio_outliers,
    repetition,
    unknown_tokens,
    unusual_characters,
)
from seq2seq.text.report import corpus_report
from seq2seq.text.store import EncodedSplit

EXAMPLES = 3
"""Pairs or batches that are shown of each kind."""

MOST_COMMON = 8
"""Tokens or characters that are shown of each kind."""

WIDTH = 60
"""Characters of a sentence that are shown."""


def inspection_report(
    splits: Mapping[str, EncodedSplit],
    *,
    codecs: tuple[TextCodec, TextCodec],
    languages: tuple[str, str],
    order: Order,
) -> str:
    """Counts, lengths, outliers, unknown tokens, repetition, overlap, odd characters, batches.

    Args:
        splits: by name, ``train`` among them.
        codecs: of source and target.
        languages: codes of source and target.
        order: the batches of the first epoch of the training split.
    """
    sections = {
        "ratios": _ratios(splits),
        "unknown": _unknown(splits, codecs),
        "repeated": _repeated(splits),
        "overlap": _overlap(splits),
        "characters": _characters(splits, languages),
        "batches": _batches(splits["train"], order),
    }
    lines = [corpus_report(splits)]
    for name, texts in sections.items():
        lines += [f"{name if not index else '':<11} {text}" for index, text in enumerate(texts)]
    return "\n".join(lines)


def _ratios(splits: Mapping[str, EncodedSplit]) -> list[str]:
    lines = []
    for name, split in splits.items():
        outliers = ratio_outliers(split)
        lines.append(
            f"{name}: {len(outliers):,} of {len(split):,} pairs differ in length more than "
            f"{FOLD} times as usual"
        )
        lines += [
            f"  {outlier.source_length} : {outlier.target_length} tokens  {_shown(outlier.pair)}"
            for outlier in outliers[:EXAMPLES]
        ]
    return lines


def _shown(pair: SentencePair) -> str:
    sides = (repr(side) for side in (pair.source, pair.target))
    return " | ".join(side if len(side) <= WIDTH else f"{side[: WIDTH - 1]}…" for side in sides)


def _unknown(splits: Mapping[str, EncodedSplit], codecs: tuple[TextCodec, TextCodec]) -> list[str]:
    lines = []
    for name, split in splits.items():
        texts = _sides(split.pairs)
        for side, codec, sentences in zip(("source", "target"), codecs, texts, strict=True):
            counts = unknown_tokens(codec, sentences)
            lines.append(
                f"{name} {side}: {counts.total():,} unknown tokens, {len(counts):,} different"
                + _listed(counts)
            )
    return lines


def _sides(pairs: Sequence[SentencePair]) -> tuple[list[str], list[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _listed(counts: Counter[str]) -> str:
    named = (f"{_named(token)} {count:,}" for token, count in counts.most_common(MOST_COMMON))
    more = "…" if len(counts) > MOST_COMMON else ""
    return f": {', '.join(named)}{more}" if counts else ""


def _named(token: str) -> str:
    """A token as it is; a character that cannot be seen, by its number and name."""
    if token.isprintable() and not token.isspace():
        return token
    return " ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in token)


def _repeated(splits: Mapping[str, EncodedSplit]) -> list[str]:
    lines = []
    for name, split in splits.items():
        found = repetition(split.pairs)
        lines.append(
            f"{name}: pairs that repeat another {found.pairs:,}, sources with several "
            f"translations {found.ambiguous:,}"
        )
    return lines


def _overlap(splits: Mapping[str, EncodedSplit]) -> list[str]:
    train = splits["train"].pairs
    lines = []
    for name, split in splits.items():
        if name != "train":
            found = overlap(train, split.pairs)
            lines.append(
                f"{name}: pairs that are in train {found.pairs:,}, pairs whose source is "
                f"{found.sources:,}, of {len(split):,}"
            )
    return lines


def _characters(splits: Mapping[str, EncodedSplit], languages: tuple[str, str]) -> list[str]:
    lines = []
    texts = _sides([pair for split in splits.values() for pair in split.pairs])
    for side, language, sentences in zip(("source", "target"), languages, texts, strict=True):
        counts = unusual_characters(sentences, language)
        lines.append(f"{side} ({language}): {len(counts):,} unusual{_listed(counts)}")
    return lines


def _batches(train: EncodedSplit, order: Order) -> list[str]:
    # one special token a side: <eos> of the source, <bos> or <eos> of the target
    sources, targets = train.source.lengths + 1, train.target.lengths + 1
    lines = []
    for number, batch in enumerate(islice(order, EXAMPLES), start=1):
        lines.append(
            f"batch {number}: {len(batch):,} pairs, padded to {sources[batch].max()} source and "
            f"{targets[batch].max()} target tokens; "
            + _padding(sources[batch], targets[batch], [np.arange(len(batch))])
        )
        lines.append(f"  {_shown(train.pairs[int(batch[0])])}")
    sizes = [len(batch) for batch in order]
    lines.append(
        f"{len(order):,} batches of {min(sizes):,} to {max(sizes):,} pairs; "
        f"{_padding(sources, targets, order)}"
    )
    return lines


def _padding(
    sources: NDArray[np.integer], targets: NDArray[np.integer], order: Iterable[NDArray[np.integer]]
) -> str:
    return (
        f"padding {padding_share(sources, order):.1%} source, "
        f"{padding_share(targets, order):.1%} target"
    )
