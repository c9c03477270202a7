"""The fixed panel of sentences whose attention is recorded at every validation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seq2seq.decoding.lengths import LengthBounds
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import word_indices
from seq2seq.tensorboard.record_format import MAX_TOKENS
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSplit, TokenStore
from seq2seq.text.vocabulary import UNKNOWN
from seq2seq.text.words import split_words

SEPARATOR = "|||"
"""Between source and target of a sentence that is given as text."""

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AttentionPanel:
    """Sentences with the names of their tags. A blank target is none.

    Attributes:
        tags: one for each sentence.
        split: the sentences themselves.
    """

    tags: tuple[str, ...]
    split: EncodedSplit

    def __len__(self) -> int:
        return len(self.tags)


def choose_panel(
    validation: EncodedSplit,
    codecs: tuple[TextCodec, TextCodec],
    *,
    first: int,
    indices: Sequence[int],
    texts: Sequence[str],
    bounds: LengthBounds,
) -> AttentionPanel:
    """Sentences of the validation split, and sentences given as text.

    Args:
        validation: the validation split.
        codecs: of source and target.
        first: how many sentences from the beginning of the split; those too long for a record are
            passed over.
        indices: places of further ones, counted from 0.
        texts: ``source`` or ``source ||| target``.
        bounds: how long translations may be.

    Raises:
        InputError: a place is outside the split, or a text is blank or too long for a record.
    """
    sides: Iterable[list[int]] = (
        side.lengths[:first].tolist() for side in (validation.source, validation.target)
    )
    beginning = [
        place
        for place, (source, target) in enumerate(zip(*sides, strict=True))
        if not _too_long(source, target, bounds)
    ]
    places = list(dict.fromkeys([*beginning, *indices]))
    for place in places:
        if place >= len(validation):
            raise InputError(
                f"tensorboard.panel.indices holds {place}, but the validation split has "
                f"{len(validation):,} pairs: choose among 0 to {len(validation) - 1}"
            )
    own = [_pair(text) for text in texts]
    pairs = [validation.pairs[place] for place in places] + own
    tags = (
        *(f"attention/{place}" for place in places),
        *(f"attention/text {number}" for number in range(1, len(own) + 1)),
    )
    sources = [validation.source[place].tolist() for place in places]
    targets = [validation.target[place].tolist() for place in places]
    sources += [codecs[0].encode(pair.source) for pair in own]
    targets += [codecs[1].encode(pair.target) for pair in own]
    for tag, source, target in zip(tags, sources, targets, strict=True):
        require_recordable(len(source), len(target), f"tensorboard.panel: {tag}", bounds)
    return AttentionPanel(
        tags,
        EncodedSplit(
            pairs=pairs,
            source=TokenStore.from_sentences(sources),
            target=TokenStore.from_sentences(targets),
            num_blank=0,
            num_long=0,
        ),
    )


def longest_source(bounds: LengthBounds) -> int:
    """Tokens of a source, ``<eos>`` not counted, of which every translation fits a record."""
    room = (MAX_TOKENS - bounds.max_extra) / max(bounds.max_factor, 1.0)
    return int(min(room, MAX_TOKENS)) - 1


def _too_long(num_source: int, num_target: int, bounds: LengthBounds) -> bool:
    return num_source > longest_source(bounds) or num_target > MAX_TOKENS - 1


def require_recordable(num_source: int, num_target: int, where: str, bounds: LengthBounds) -> None:
    """Refuse a sentence of which a record would be too large.

    Numbers of tokens are without ``<eos>``; `where` says which sentence it is.

    Raises:
        InputError: it has more tokens than a record, or a translation's record, can hold.
    """
    for side, count, bound in (
        ("source", num_source, longest_source(bounds)),
        ("target", num_target, MAX_TOKENS - 1),
    ):
        if count > bound:
            raise InputError(
                f"{where} has {count:,} {side} tokens, of which attention is not recorded: give "
                f"sentences of at most {bound:,}"
            )


def _pair(text: str) -> SentencePair:
    source, _, target = (part.strip() for part in text.partition(SEPARATOR))
    if not source:
        raise InputError(
            f"tensorboard.panel.texts holds {text!r}: give a source sentence, or source "
            f"{SEPARATOR} target"
        )
    return SentencePair(source, target)


def gold_links(
    pair: SentencePair, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> Links | None:
    """The gold alignment of a pair between its tokens; every part of a word has the word's links.

    Returns:
        None where there is no gold alignment, or the tokens do not spell the words.
    """
    if pair.alignment is None:
        return None
    sources, targets = _owners(pair.source, source_tokens), _owners(pair.target, target_tokens)
    if sources is None or targets is None:
        return None
    gold = set(pair.alignment)
    return tuple(
        (column, row)
        for column, source in enumerate(sources)
        for row, target in enumerate(targets)
        if (source, target) in gold
    )


def _owners(text: str, tokens: Sequence[str]) -> list[int | None] | None:
    """The word that each token begins in; None where the tokens do not spell the words."""
    words = split_words(text)
    known = [(t, w) for t, w in zip(tokens, words, strict=False) if t != UNKNOWN]
    if len(words) == len(tokens) and all(token in {word, word.lower()} for token, word in known):
        return list(range(len(words)))
    try:
        return word_indices(tokens, words)
    except ValueError:
        return None
