"""Links between the words of sentence pairs, from attention. PyTorch is loaded when a model is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from joined_words import (
    AlignmentCounts,
    GoldAlignment,
    LinkSet,
    format_links,
    require_inside,
    text_words,
    word_indices,
)
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted
from seq2seq.data.addresses import refusing
from seq2seq.data.text import SentencePair, read_links
from seq2seq.evaluation.alignment import Floats, argmax_links, merge_words

if TYPE_CHECKING:
    from seq2seq.data.tokenizers import Tokenizer


def word_attention(
    model: str | Path, pairs: Sequence[SentencePair], files: Sequence[object], *,
    device: str, max_tokens: int, trust_custom_code: bool = False,
) -> list[Floats]:  # fmt: skip
    """Return the attention of a model (target words, source words) of given translations; (0, 0) if a side is blank.

    Words are those of `text_words`, independent of the model's tokenizer; ``<eos>`` is left out. `files` are those of
    source and target, for the warning of `unknown_counts`.

    Raises:
        InputError: The folder holds no model with attention, there is no such device, or the tokens do not spell the words.
    """
    from seq2seq.data.batching import BatchSize
    from seq2seq.decoding.forced import force_translate
    from seq2seq.decoding.scoring import unknown_counts
    from seq2seq.decoding.translator import device_named
    from seq2seq.models.folder import load_attending

    exported = load_attending(model, trust_custom_code=trust_custom_code)
    unknown_counts(exported.source_tokenizer.unknown, [pair.source for pair in pairs], *files)
    forced = force_translate(
        exported, pairs, device=device_named(device), batch_size=BatchSize(sentences=None, tokens=max_tokens)
    )
    tokenizers = exported.source_tokenizer, exported.target_tokenizer
    found = []
    for pair, words_of_pair, translation in zip(pairs, words_of(pairs), forced, strict=True):
        is_filled = bool(translation.text)
        sides = [
            token_words(*each) if is_filled else []
            for each in zip(tokenizers, (pair.source, pair.target), words_of_pair, strict=True)
        ]
        found.append(merge_words(translation.weights.numpy(), *sides))
    return found


def words_of(pairs: Sequence[SentencePair]) -> list[tuple[list[str], list[str]]]:
    """Return the words of source and target of each pair that links count."""
    sides = (text_words(texts) for texts in zip(*((pair.source, pair.target) for pair in pairs), strict=True))
    return list(zip(*sides, strict=True))


def token_words(tokenizer: "Tokenizer", text: str, words: Sequence[str]) -> list[range]:
    """Return the indices of the words of each token of a sentence, without ``<eos>``; see `word_indices`.

    Raises:
        InputError: The tokens do not spell the words.
    """
    try:
        return word_indices(tokenizer.tokens(text), [tokenizer.prepared(word) for word in words])
    except ValueError as error:
        raise InputError(f"tokenizer {type(tokenizer).__name__}: words cannot be aligned, {error}") from error


def read_gold(path: Path, pairs: Sequence[SentencePair]) -> list[GoldAlignment]:
    """Read the gold alignment of sentence pairs, see `read_links`.

    Raises:
        InputError: A line cannot be read, does not fit its pair, or has none.
    """
    gold = [GoldAlignment.from_links(*links) for links in read_links(path)]
    if len(gold) != len(pairs):
        raise InputError(
            f"{path} has {counted(len(gold), 'line')} for {counted(len(pairs), 'sentence pair')}"
        )
    for number, (alignment, (source, target)) in enumerate(zip(gold, words_of(pairs), strict=True), start=1):
        with refusing(f"{path}, line {number}: "):
            require_inside(alignment.possible, (len(source), len(target)))
    return gold


@dataclass(frozen=True, slots=True)
class Alignment:
    """The links of the words of sentence pairs; printed, a line of Pharaoh format for each pair.

    Attributes:
        links: Of each pair.
        counts: Of the links against the gold alignment; None without one.
    """

    links: list[LinkSet]
    counts: AlignmentCounts | None = None

    def __str__(self) -> str:
        return "\n".join(map(format_links, self.links))

    def report(self) -> str:
        """Return a line with the alignment error rate; an empty text without gold alignment."""
        if self.counts is None:
            return ""
        return (
            f"AER {self.counts.error_rate:.3f}   precision {self.counts.precision:.3f}   recall {self.counts.recall:.3f}   "
            f"({counted(len(self.links), 'sentence pair')})"
        )


def aligned(found: Sequence[Floats], gold: Sequence[GoldAlignment] | None) -> Alignment:
    """Return the links of sentence pairs from the attention of each: of each target word with the most attended source word."""
    links = [*map(argmax_links, found)]
    if gold is None:
        return Alignment(links)
    return Alignment(links, sum(map(AlignmentCounts.of, links, gold), AlignmentCounts()))
