"""Attention between the words of sentence pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.batching import BatchSize
from seq2seq.data.text import SentencePair
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.decoding.forced import force_translate
from seq2seq.decoding.translator import device_named
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import Floats, Words, merge_words, word_indices
from seq2seq.models.folder import load_attending


@dataclass(frozen=True, slots=True)
class WordAttention:
    """Attention between words.

    Attributes:
        weights: Weights (target words, source words); (0, 0) if a side is blank.
        source_words: Indices of the source words in which a token begins.
        target_words: The same for the target words.
    """

    weights: Floats
    source_words: Words
    target_words: Words


def word_attention(
    model_path: Path, pairs: Sequence[SentencePair], *, device: str, max_tokens: int
) -> list[WordAttention]:
    """Return the attention of a model between the words of given translations.

    Words are separated by white space, independent of the model's tokenizer; ``<eos>`` is left out.

    Raises:
        InputError: There is no model with attention, there is no such device, or the tokens do not spell the
            words.
    """
    exported = load_attending(model_path)
    forced = force_translate(
        exported, pairs, device=device_named(device), batch_size=BatchSize(sentences=None, tokens=max_tokens)
    )
    tokenizers = exported.source_tokenizer, exported.target_tokenizer
    found = []
    for pair, translation in zip(pairs, forced, strict=True):
        texts = (pair.source, pair.target) if translation.text else ("", "")
        sides = [token_words(tokenizer, t, t.split()) for tokenizer, t in zip(tokenizers, texts, strict=True)]
        words = (frozenset(place for place in side if place is not None) for side in sides)
        found.append(WordAttention(merge_words(translation.weights.numpy(), *sides), *words))
    return found


def token_words(tokenizer: Tokenizer, text: str, words: Sequence[str]) -> list[int | None]:
    """Return the word index of each token of a sentence, without ``<eos>``; see `word_indices`.

    Raises:
        InputError: The tokens do not spell the words.
    """
    try:
        return word_indices(tokenizer.tokens(text), [tokenizer.prepared(word) for word in words])
    except ValueError as error:
        raise InputError(f"tokenizer {type(tokenizer).__name__}: words cannot be aligned, {error}") from error
