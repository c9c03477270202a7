"""Probes the attention of a model while it writes given translations, or its own."""

from collections.abc import Sequence

import torch

from seq2seq.decoding.importance import importance
from seq2seq.decoding.interventions import tokens_that_stay
from seq2seq.decoding.model_folder import TranslationModel
from seq2seq.decoding.translation import Translation
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.alignment import word_indices
from seq2seq.evaluation.faithfulness import Probed, rank_agreement
from seq2seq.text.batch import Batch
from seq2seq.text.bucketing import BatchSize, sorted_order
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import SentencePair
from seq2seq.text.store import EncodedSplit, TokenStore
from seq2seq.text.vocabulary import END
from seq2seq.text.words import split_words

LONGEST = 100
"""Tokens of a sentence that is probed: time grows with their third power."""

BATCH_SIZE = BatchSize(sentences=None, tokens=2048)


def probe(
    exported: TranslationModel,
    pairs: Sequence[SentencePair],
    *,
    own_words: bool,
    seed: int,
    device: torch.device,
) -> list[Probed]:
    """Probe translations; those of sentences without a token, or of over `LONGEST`, are left out.

    Args:
        exported: the model.
        pairs: sentences, and the translations that the model is forced to write.
        own_words: whether it writes its greedy translations instead: its likeliest tokens.
        seed: of what is drawn at random.
        device: to compute on.

    Raises:
        InputError: the decoder has no attention of this program.
    """
    model = exported.model.to(device).eval()
    translator = Translator(exported, device=device, batch_size=BATCH_SIZE)
    own = translator.translate([pair.source for pair in pairs]) if own_words else []
    split, found = _encoded(exported, pairs, own), list[Probed]()
    for indices in sorted_order(split.source.lengths, split.target.lengths, BATCH_SIZE):
        batch = Batch.from_split(split, indices.tolist()).to(device)
        stays, attention = tokens_that_stay(model, batch, seed=seed)
        for row, index in enumerate(indices.tolist()):
            measures = importance(model, Batch.from_split(split, [index]).to(device))
            height, width = measures[0].shape
            looked = attention[row, :height, :width]
            agreement = rank_agreement(*(each.numpy(force=True) for each in (looked, *measures)))
            words = _words(exported.target_codec, split.target[index].tolist())
            found.append(Probed(words, stays[row, :, :height].numpy(force=True), agreement))
    return found


def _encoded(
    exported: TranslationModel, pairs: Sequence[SentencePair], translations: Sequence[Translation]
) -> EncodedSplit:
    """What is probed: the given translations, or the model's own where there are any."""
    source, target = exported.source_codec, exported.target_codec
    sides = zip(
        (source.encode(pair.source) for pair in pairs),
        (
            target.vocabulary.ids(token for token in each.target_tokens if token != END)
            for each in translations
        )
        if translations
        else (target.encode(pair.target) for pair in pairs),
        strict=True,
    )
    kept = [side for side in sides if all(0 < len(ids) <= LONGEST for ids in side)]
    sources, targets = (TokenStore.from_sentences([ids[side] for ids in kept]) for side in (0, 1))
    return EncodedSplit([], sources, targets, num_blank=0, num_long=0)


def _words(codec: TextCodec, ids: Sequence[int]) -> list[str]:
    """The word that each token is part of; the token itself where tokens do not spell words."""
    tokens, words = codec.vocabulary.words(ids), split_words(codec.decode(ids))
    try:
        places = word_indices(tokens, words)
    except ValueError:
        return tokens
    return [
        token if place is None else words[place]
        for token, place in zip(tokens, places, strict=True)
    ]
