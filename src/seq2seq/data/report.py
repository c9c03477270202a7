"""The corpus report: what is odd about a corpus, to know before training on it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from seq2seq.data.batch import EncodedSplit, Sentences
from seq2seq.data.batching import Order, padding_share
from seq2seq.data.text import LETTERS, SentencePair, normalize
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.vocabulary import UNKNOWN_ID

Splits = Mapping[str, EncodedSplit]

FOLD = 3
"""How many times longer than usual a side is where its pair is called an outlier."""

SHORT = 8
"""Tokens of the longer side below which the ratio of lengths says nothing."""

EXAMPLES = 3
"""Pairs or batches that are shown of each kind."""

MOST_COMMON = 8
"""Tokens or characters that are shown of each kind."""

WIDTH = 60
"""Characters of a sentence that are shown."""


def inspection_report(splits: Splits, *, tokenizers: tuple[Tokenizer, Tokenizer], order: Order) -> str:
    """Counts, lengths, outliers, unknown tokens, repetition, overlap, odd characters, batches.

    `order` holds the batches of the first epoch of the split ``train``.
    """
    sections = {
        "ratios": _ratios(splits),
        "unknown": _unknown(splits, tokenizers),
        "repeated": _repeated(splits),
        "overlap": _overlap(splits),
        "characters": _characters(splits, tuple(each.language for each in tokenizers)),
        "batches": _batches(splits["train"], order),
    }
    lines = [table(splits)]
    for name, texts in sections.items():
        lines += [f"{'' if index else name:<11} {text}" for index, text in enumerate(texts)]
    return "\n".join(lines)


def ratio_outliers(split: EncodedSplit) -> list[int]:
    """Places of pairs whose ratio of lengths is off the median by more than `FOLD`, worst first."""
    sources, targets = split.source.lengths, split.target.lengths
    if not len(split):
        return []
    # one more on either side, so that an empty side has a ratio too
    ratio = np.log((sources + 1) / (targets + 1))
    off = np.abs(ratio - np.median(ratio))
    odd = (off > np.log(FOLD)) & (np.maximum(sources, targets) >= SHORT)
    return sorted(np.flatnonzero(odd).tolist(), key=lambda place: -off[place])


def _ratios(splits: Splits) -> Iterator[str]:
    for name, split in splits.items():
        outliers = ratio_outliers(split)
        yield (
            f"{name}: {len(outliers):,} of {len(split):,} pairs differ in length more than "
            f"{FOLD} times as usual"
        )
        for place in outliers[:EXAMPLES]:
            lengths = f"{split.source.lengths[place]} : {split.target.lengths[place]}"
            yield f"  {lengths} tokens  {_shown(split.pairs[place])}"


def _shown(pair: SentencePair) -> str:
    sides = (repr(side) for side in (pair.source, pair.target))
    return " | ".join(side if len(side) <= WIDTH else f"{side[: WIDTH - 1]}…" for side in sides)


def unknown_tokens(tokenizer: Tokenizer, sentences: Iterable[str]) -> Counter[str]:
    """Count occurrences of what a vocabulary lacks."""
    return Counter(token for sentence in sentences for token in tokenizer.unknown(sentence))


def _unknown(splits: Splits, tokenizers: tuple[Tokenizer, Tokenizer]) -> Iterator[str]:
    for name, split in splits.items():
        texts = _sides(split.pairs)
        for side, tokenizer, sentences in zip(("source", "target"), tokenizers, texts, strict=True):
            counts = unknown_tokens(tokenizer, sentences)
            found = f"{counts.total():,} unknown tokens, {len(counts):,} different"
            yield f"{name} {side}: {found}{listed(counts)}"


def _sides(pairs: Sequence[SentencePair]) -> tuple[list[str], list[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def listed(counts: Counter[str]) -> str:
    """The most frequent of what was counted, after a colon; nothing where there is nothing."""
    named = (f"{_named(token)} {count:,}" for token, count in counts.most_common(MOST_COMMON))
    more = "…" if len(counts) > MOST_COMMON else ""
    return f": {', '.join(named)}{more}" if counts else ""


def _named(token: str) -> str:
    """A token as it is; a character that cannot be seen, by its number and name."""
    if token.isprintable() and not token.isspace():
        return token
    return " ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip() for char in token)


def repetition(pairs: Sequence[SentencePair]) -> tuple[int, int]:
    """How many pairs repeat an earlier one, and how many sources have several translations."""
    different = {(pair.source, pair.target) for pair in pairs}
    translations = Counter(source for source, _ in different)
    return len(pairs) - len(different), sum(count > 1 for count in translations.values())


def _repeated(splits: Splits) -> Iterator[str]:
    for name, split in splits.items():
        repeated, ambiguous = repetition(split.pairs)
        yield (
            f"{name}: pairs that repeat another {repeated:,}, sources with several translations {ambiguous:,}"
        )


def overlap(train: Sequence[SentencePair], other: Sequence[SentencePair]) -> tuple[int, int]:
    """How many pairs of a split are training pairs, and how many have a training pair's source.

    (But for case and punctuation, see `normalize`.)
    """
    pairs = {(pair.source, pair.target) for pair in train}
    sources = {normalize(pair.source) for pair in train}
    return (
        sum((pair.source, pair.target) in pairs for pair in other),
        sum(normalize(pair.source) in sources for pair in other),
    )


def _overlap(splits: Splits) -> Iterator[str]:
    for name, split in splits.items():
        if name != "train":
            pairs, sources = overlap(splits["train"].pairs, split.pairs)
            yield (
                f"{name}: pairs that are in train {pairs:,}, pairs whose source is "
                f"{sources:,}, of {len(split):,}"
            )


def unusual_characters(sentences: Iterable[str], language: str) -> Counter[str]:
    """Count occurrences of characters that text of a language does not usually hold.

    Those are letters outside its alphabet, or, where `LETTERS` lacks the language, outside the
    script that most letters of the text are of; and signs that are seldom meant: controls,
    invisible marks, private and unassigned characters, U+FFFD.
    """
    counts = Counter(chain.from_iterable(sentences))
    usual = _usual_letters(counts, language)
    return Counter({char: n for char, n in counts.items() if _is_suspect(char) or _is_foreign(char, usual)})


def _usual_letters(counts: Mapping[str, int], language: str) -> set[str]:
    base = language.partition("-")[0]
    if base in LETTERS:
        return set("abcdefghijklmnopqrstuvwxyz" + LETTERS[base])
    scripts: Counter[str] = Counter()
    for char in filter(str.isalpha, counts):
        scripts[_script(char)] += counts[char]
    main = {script for script, _ in scripts.most_common(1)}
    return {char.lower() for char in counts if _script(char) in main}


def _script(char: str) -> str:
    """The first word of a character's name, such as LATIN; Japanese writes in three scripts."""
    script = unicodedata.name(char, "?").partition(" ")[0]
    return "CJK" if script in {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"} else script


def _is_foreign(char: str, usual: set[str]) -> bool:
    return char.isalpha() and char.lower() not in usual


def _is_suspect(char: str) -> bool:
    return char == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(char)[0] == "C"


def _characters(splits: Splits, languages: Sequence[str]) -> Iterator[str]:
    texts = _sides([pair for split in splits.values() for pair in split.pairs])
    for side, language, sentences in zip(("source", "target"), languages, texts, strict=True):
        counts = unusual_characters(sentences, language)
        yield f"{side} ({language}): {len(counts):,} unusual{listed(counts)}"


def _batches(train: EncodedSplit, order: Order) -> Iterator[str]:
    # one special token a side: <eos> of the source, <bos> or <eos> of the target
    sources, targets = train.source.lengths + 1, train.target.lengths + 1
    for number, batch in enumerate(islice(order, EXAMPLES), start=1):
        alone = [np.arange(len(batch))]
        yield (
            f"batch {number}: {len(batch):,} pairs, padded to {sources[batch].max()} source and "
            f"{targets[batch].max()} target tokens; "
            f"{_padding(sources[batch], targets[batch], alone)}"
        )
        yield f"  {_shown(train.pairs[int(batch[0])])}"
    sizes = [len(batch) for batch in order]
    yield (
        f"{len(order):,} batches of {min(sizes):,} to {max(sizes):,} pairs; "
        f"{_padding(sources, targets, order)}"
    )


def _padding(
    sources: NDArray[np.integer], targets: NDArray[np.integer], order: Iterable[NDArray[np.integer]]
) -> str:
    return f"padding {padding_share(sources, order):.1%} source, {padding_share(targets, order):.1%} target"


COLUMNS = ("split", "pairs", "dropped", "source tokens", "target tokens", "unknown")


def table(splits: Mapping[str, EncodedSplit]) -> str:
    """A table of the splits: pairs, dropped pairs, lengths (mean and maximum), unknown tokens."""
    rows = [COLUMNS, *(_row(name, split) for name, split in splits.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _row(name: str, split: EncodedSplit) -> tuple[str, ...]:
    return (
        name,
        f"{len(split):,}",
        _dropped(split),
        _lengths(split.source),
        _lengths(split.target),
        f"{_unknown_share(split.source):.2%} / {_unknown_share(split.target):.2%}",
    )


def _dropped(split: EncodedSplit) -> str:
    counts = {"blank": split.num_blank, "long": split.num_long}
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count) or "0"


def _lengths(store: Sentences) -> str:
    if not len(store):
        return "-"
    return f"mean {store.lengths.mean():.1f}, max {store.lengths.max()}"


def _unknown_share(sentences: Sentences) -> float:
    return int(np.count_nonzero(sentences.ids == UNKNOWN_ID)) / max(len(sentences.ids), 1)
