"""What is odd about a corpus: facts that a person should know before training on it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.languages import LETTERS
from seq2seq.text.likeness import likeness
from seq2seq.text.store import EncodedSplit

FOLD = 3
"""How many times longer than usual a side is where its pair is called an outlier."""

SHORT = 8
"""Tokens of the longer side below which the ratio of lengths says nothing."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A pair whose sides differ much in length."""

    pair: SentencePair
    source_length: int
    target_length: int


def ratio_outliers(split: EncodedSplit) -> list[Outlier]:
    """Pairs whose ratio of lengths is off the median ratio by more than `FOLD`, the worst first."""
    sources, targets = split.source.lengths, split.target.lengths
    if not len(split):
        return []
    # one more on either side, so that an empty side has a ratio too
    ratio = np.log((sources + 1) / (targets + 1))
    off = np.abs(ratio - np.median(ratio))
    odd = (off > np.log(FOLD)) & (np.maximum(sources, targets) >= SHORT)
    worst = sorted(np.flatnonzero(odd).tolist(), key=lambda index: -off[index])
    return [Outlier(split.pairs[i], int(sources[i]), int(targets[i])) for i in worst]


def unknown_tokens(codec: TextCodec, sentences: Iterable[str]) -> Counter[str]:
    """Occurrences of the tokens that a vocabulary lacks."""
    known = set(codec.vocabulary.tokens)
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(token for token in codec.tokenizer.tokens(sentence) if token not in known)
    return counts


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often a split says the same.

    Attributes:
        pairs: pairs that repeat an earlier one.
        ambiguous: different source sentences that have more than one translation.
    """

    pairs: int
    ambiguous: int


def repetition(pairs: Sequence[SentencePair]) -> Repetition:
    """Count repeated pairs, and sources with several translations."""
    different = {(pair.source, pair.target) for pair in pairs}
    translations = Counter(source for source, _ in different)
    return Repetition(
        pairs=len(pairs) - len(different),
        ambiguous=sum(count > 1 for count in translations.values()),
    )


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a split shares with the training split.

    Attributes:
        pairs: its pairs that are training pairs, too.
        sources: its pairs whose source sentence is a training source, too, but for case and
            punctuation.
    """

    pairs: int
    sources: int


def overlap(train: Sequence[SentencePair], other: Sequence[SentencePair]) -> Overlap:
    """Count the pairs and the sources of another split that the training split holds."""
    pairs = {(pair.source, pair.target) for pair in train}
    sources = {likeness(pair.source) for pair in train}
    return Overlap(
        pairs=sum((pair.source, pair.target) in pairs for pair in other),
        sources=sum(likeness(pair.source) in sources for pair in other),
    )


def unusual_characters(sentences: Iterable[str], language: str) -> Counter[str]:
    """Occurrences of characters that text of a language does not usually hold.

    Those are letters outside its alphabet, or, where `LETTERS` lacks the language, outside the
    script that most letters of the text are of; and signs that are seldom meant: controls,
    invisible marks, private and unassigned characters, U+FFFD.
    """
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    usual = _usual_letters(counts, language)
    return Counter(
        {char: n for char, n in counts.items() if _is_suspect(char) or _is_foreign(char, usual)}
    )


def _usual_letters(counts: Mapping[str, int], language: str) -> set[str]:
    base = language.partition("-")[0]
    if base in LETTERS:
        return set("abcdefghijklmnopqrstuvwxyz" + LETTERS[base])
    scripts: Counter[str] = Counter()
    for char, count in counts.items():
        if char.isalpha():
            scripts[_script(char)] += count
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
