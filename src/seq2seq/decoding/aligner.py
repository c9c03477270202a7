"""Sentence pairs in, attention between their words out."""

from collections.abc import Sequence
from pathlib import Path

from seq2seq.decoding.device import device_named
from seq2seq.decoding.forced import force_translate
from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.evaluation.alignment import Floats, merge_words, word_indices
from seq2seq.text.bucketing import BatchSize
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair


def word_attention(
    model_path: Path, pairs: Sequence[SentencePair], *, device: str, max_tokens: int
) -> list[Floats]:
    """Attention of a model between the words of given translations.

    Words are what white space separates, however the model splits text; ``<eos>`` is left out.

    Args:
        model_path: a model folder or a run folder.
        pairs: sentences and their translations.
        device: where to compute.
        max_tokens: padded size of a batch at most.

    Returns:
        For each pair the weights (target words, source words); nothing by nothing where a side is
        blank.

    Raises:
        InputError: there is no model of this program, or no such device.
    """
    exported = load_model_folder(model_path)
    forced = force_translate(
        exported,
        pairs,
        device=device_named(device),
        batch_size=BatchSize(sentences=None, tokens=max_tokens),
    )
    return [
        merge_words(
            translation.weights.numpy(),
            _spaced(exported.source_codec, pair.source) if translation.text else [],
            _spaced(exported.target_codec, pair.target) if translation.text else [],
        )
        for pair, translation in zip(pairs, forced, strict=True)
    ]


def _spaced(codec: TextCodec, text: str) -> list[int | None]:
    return token_words(codec, text, text.split())


def token_words(codec: TextCodec, text: str, words: Sequence[str]) -> list[int | None]:
    """The word of each token of a sentence, see `word_indices`; ``<eos>`` is not among them.

    Args:
        codec: splits the sentence into tokens.
        text: the sentence.
        words: its words, however split.
    """
    tokenizer = codec.tokenizer
    # lower-casing may change the length of a word
    cased = [word.lower() for word in words] if tokenizer.lowercase else words
    return word_indices(tokenizer.tokens(text), cased)
