"""Sentence pairs in, attention between their words out."""

from collections.abc import Sequence
from pathlib import Path

import torch

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
        InputError: there is no model of this program.
    """
    exported = load_model_folder(model_path)
    forced = force_translate(
        exported,
        pairs,
        device=torch.device(device),
        batch_size=BatchSize(sentences=None, tokens=max_tokens),
    )
    return [
        merge_words(
            translation.weights.numpy(),
            _word_of_each_token(exported.source_codec, pair.source) if translation.text else [],
            _word_of_each_token(exported.target_codec, pair.target) if translation.text else [],
        )
        for pair, translation in zip(pairs, forced, strict=True)
    ]


def _word_of_each_token(codec: TextCodec, text: str) -> list[int | None]:
    tokenizer = codec.tokenizer
    words = text.lower().split() if tokenizer.lowercase else text.split()
    return word_indices(tokenizer.tokens(text), words)
