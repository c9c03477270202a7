"""The corpus report: checks of a corpus before training."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bitext import seen_pairs, seen_sources
from seq2seq.common.progress import counted
from seq2seq.data.batch import EncodedSplit
from seq2seq.data.batching import Order
from seq2seq.data.text import SentencePair, texts
from seq2seq.data.tokenizers import SentencePieceTokenizer, Tokenizer
from seq2seq.data.vocabulary import UNKNOWN_ID

if TYPE_CHECKING:  # it imports Lightning
    from seq2seq.data.datamodule import TranslationDataModule

Splits = Mapping[str, EncodedSplit]

FOLD, SHORT = 3, 8
"""An outlier's length ratio differs by this factor; its longer side has at least this many tokens."""

EXAMPLES, MOST_COMMON, WIDTH, LONGEST = 3, 8, 60, 40
"""Numbers shown: pairs, tokens of each kind, characters of a sentence and of a token."""

FEW = 10_000
"""Training pairs below which free text is seldom translated well."""


def corpus_summary(data: "TranslationDataModule") -> str:
    """Return a table of the splits and a line on the vocabularies, of a corpus that is set up."""
    source, target = (each.vocabulary for each in data.tokenizers)
    joint = "one for both" if source == target else "source and target"
    sizes = " / ".join(f"{each.vocab_size:,}" for each in data.tokenizers) + " tokens"
    wanted = [size for each in data.tokenizers if (size := each.max_vocab_size or 0) > each.vocab_size]
    all_of_it = f"; the text has no more, of vocab_size={max(wanted):,}" if wanted else ""
    lines = [table(data.prepared.splits), f"vocabulary  {sizes} ({joint}{all_of_it})", *data.notes]
    return "\n".join(lines + few_pairs(data.prepared.train))


def few_pairs(train: EncodedSplit) -> list[str]:
    """Return a line if a model of so few training pairs would translate fluently and wrongly."""
    if len(train) >= FEW // 2:
        return []
    return [
        f"few pairs   free text needs some {FEW:,} pairs until translations follow the source; init_from needs fewer"
    ]


def corpus_report(data: "TranslationDataModule") -> str:
    """Return the report: lengths, unknown tokens, repetition, overlap, batches."""
    order = data.train_dataloader().order(0)
    return inspection_report(data.prepared.splits, tokenizers=data.tokenizers, order=order)


def inspection_report(splits: Splits, *, tokenizers: tuple[Tokenizer, Tokenizer], order: Order) -> str:
    """Return counts, lengths, outliers, unknown tokens, repetition, overlap and batches.

    One of the splits is ``train``; `order` has the batches of its first epoch.
    """
    ratios, unknown, repeated, common = [], [], [], []
    for name, split in splits.items():
        outliers = ratio_outliers(split)
        ratios.append(
            f"{name}: {len(outliers):,} of {counted(len(split), 'pair')} differ in length more than {FOLD} times as usual"
        )
        for place in outliers[:EXAMPLES]:
            ratio = f"{split.source.lengths[place]} : {split.target.lengths[place]}"
            ratios.append(f"  {ratio} tokens  {_shown(split.pairs[place])}")
        for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
            counts = unknown_tokens(tokenizer, [getattr(pair, side) for pair in split.pairs])
            kind = (
                "characters spelled in bytes"
                if isinstance(tokenizer, SentencePieceTokenizer)
                else "unknown tokens"
            )
            unknown.append(
                f"{name} {side}: {kind} {counts.total():,}, different {len(counts):,}{listed(counts)}"
            )
        again, ambiguous = repetition(split.pairs)
        repeated.append(
            f"{name}: pairs that repeat another {again:,}, sources with several translations {ambiguous:,}"
        )
        if name != "train":
            pairs, sources = overlap(splits["train"].pairs, split.pairs)
            common.append(
                f"{name}: pairs that are in train {pairs:,}, pairs whose source is {sources:,}, of {len(split):,}"
            )
    train = splits["train"]
    # one special token a side: <eos> of the source, <bos> or <eos> of the target
    lengths = train.source.lengths + 1, train.target.lengths + 1
    sizes = [len(batch) for batch in order]
    batches = [
        f"{len(order):,}, of {min(sizes):,} to {counted(max(sizes), 'pair')}; {_padding(lengths, order)}"
    ]
    lines = [table(splits), f"first       {_shown(train.pairs[0])}"]  # which is source, which target
    for name, section in (
        ("ratios", ratios), ("unknown", unknown), ("repeated", repeated), ("overlap", common),
        ("batches", batches),
    ):  # fmt: skip
        lines += [f"{'' if index else name:<11} {text}" for index, text in enumerate(section)]
    return "\n".join(lines + few_pairs(train))


def ratio_outliers(split: EncodedSplit) -> list[int]:
    """Return indices of pairs whose length ratio differs from the median by more than `FOLD`, worst first."""
    sources, targets = split.source.lengths, split.target.lengths
    if not len(split):
        return []
    # one more on either side, so that an empty side has a ratio too
    ratio = np.log((sources + 1) / (targets + 1))
    off = np.abs(ratio - np.median(ratio))
    odd = (off > np.log(FOLD)) & (np.maximum(sources, targets) >= SHORT)
    return sorted(np.flatnonzero(odd).tolist(), key=lambda place: -off[place])


def _shown(pair: SentencePair) -> str:
    sides = (repr(side) for side in (pair.source, pair.target))
    return " | ".join(side if len(side) <= WIDTH else f"{side[: WIDTH - 1]}…" for side in sides)


def unknown_tokens(tokenizer: Tokenizer, sentences: Iterable[str]) -> Counter[str]:
    """Count the tokens that are not in the vocabulary."""
    return Counter(token for sentence in sentences for token in tokenizer.unknown(sentence))


def listed(counts: Counter[str]) -> str:
    """Return the most frequent of what was counted, after a colon; nothing where there is nothing."""
    named = (f"{_named(token)} {count:,}" for token, count in counts.most_common(MOST_COMMON))
    more = "…" if len(counts) > MOST_COMMON else ""
    return f": {', '.join(named)}{more}" if counts else ""


def _named(token: str) -> str:
    """Return a token as it is; a character that cannot be seen, by its number and name."""
    if token.isprintable() and not token.isspace():
        return token if len(token) <= LONGEST else f"{token[:LONGEST]}…"
    return " ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in token)


def repetition(pairs: Sequence[SentencePair]) -> tuple[int, int]:
    """Count the pairs that repeat an earlier pair, and the sources with several translations."""
    different = {(pair.source, pair.target) for pair in pairs}
    translations = Counter(source for source, _ in different)
    return len(pairs) - len(different), sum(count > 1 for count in translations.values())


def overlap(train: Sequence[SentencePair], other: Sequence[SentencePair]) -> tuple[int, int]:
    """Count the pairs of a split that are training pairs, and those whose source is in the training split.

    Sources are compared by `bitext.normalize`, which ignores case and punctuation; if the corpus has several language pairs,
    also with the training targets, and pairs with training pairs that are turned round.
    """
    sides, both = (texts(train), texts(other)), any(pair.languages for pair in other)
    return sum(seen_pairs(*sides, both_ways=both)), sum(seen_sources(*sides, both_ways=both))


def padding_share(lengths: NDArray[np.integer], order: Iterable[NDArray[np.integer]]) -> float:
    """Return the share of the padded size that is padding."""
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in order)
    return 1 - int(lengths.sum()) / padded if padded else 0.0


def _padding(sides: Sequence[NDArray[np.integer]], order: Iterable[NDArray[np.integer]]) -> str:
    source, target = (padding_share(lengths, order) for lengths in sides)
    return f"padding {source:.1%} source, {target:.1%} target"


COLUMNS = ("split", "pairs", "dropped, cut", "source tokens", "target tokens", "unknown")


def table(splits: Mapping[str, EncodedSplit]) -> str:
    """Return a table of the splits: pairs, those dropped and cut, lengths (mean and maximum), unknown tokens."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for name, split in splits.items():
        dropped = {"blank": split.num_blank, "long": split.num_long, "cut": split.num_cut}
        sides = split.source, split.target
        lengths = (
            f"mean {side.lengths.mean():.1f}, max {side.lengths.max()}" if len(side) else "-"
            for side in sides
        )
        unknown = " / ".join(
            f"{np.count_nonzero(s.ids == UNKNOWN_ID) / max(len(s.ids), 1):.2%}" for s in sides
        )
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)
        rows.append((name, f"{len(split):,}", left_out or "0", *lengths, unknown))
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )
