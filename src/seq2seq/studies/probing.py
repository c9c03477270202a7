"""Probe the attention of a model along its own greedy translations."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, counted, tracked
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.tokenizers import Tokenizer
from seq2seq.data.vocabulary import END_ID
from seq2seq.data.words import split_words
from seq2seq.decoding.effect import leave_one_out
from seq2seq.decoding.scoring import unknown_counts
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.alignment import word_indices
from seq2seq.models.folder import SavedModel, load_attending
from seq2seq.studies.faithfulness import Probed, effect_taus
from seq2seq.studies.interventions import tokens_that_stay

MAX_PROBED_TOKENS = 100
"""Maximum number of tokens of a probed sentence; the time grows with its third power."""

BATCH_SIZE = BatchSize(sentences=None, tokens=2048)


def probe(exported: SavedModel, sentences: Sequence[str], *, seed: int) -> list[Probed]:
    """Return the measures of `Probed` for the greedy translations of sentences.

    Pairs with an empty side, or with a side of more than `MAX_PROBED_TOKENS` tokens, are left out.

    Raises:
        InputError: The decoder has no attention of this program, or no sentence is left.
    """
    translator = Translator(exported, batch_size=BATCH_SIZE)
    ids = [
        (exported.source_tokenizer.encode(text), [i for i in each.ids if i != END_ID])
        for text, each in zip(sentences, translator.translate(sentences), strict=True)
    ]
    kept = [pair for pair in ids if all(0 < len(side) <= MAX_PROBED_TOKENS for side in pair)]
    if not kept:
        if any(0 < len(source) <= MAX_PROBED_TOKENS for source, _ in ids):
            raise InputError(
                f"the model translates every sentence into nothing, or into more than {MAX_PROBED_TOKENS} tokens: train it longer"
            )
        raise InputError(f"no sentence has 1 to {MAX_PROBED_TOKENS} tokens: give others")
    source, target = (Sentences.from_lists([pair[side] for pair in kept]) for side in (0, 1))
    split = EncodedSplit([], source, target, num_blank=0, num_long=0)

    def probed() -> Iterator[Probed]:
        for indices in sorted_order(source.lengths, target.lengths, BATCH_SIZE):
            batch = Batch.from_split(split, indices.tolist())
            stays, attention = tokens_that_stay(exported.model, batch, seed=seed)
            looked = attention.numpy(force=True)
            for row, (index, effect) in enumerate(
                zip(indices.tolist(), leave_one_out(exported.model, batch), strict=True)
            ):
                words = _words(exported.target_tokenizer, kept[index][1])
                taus = effect_taus(looked[row, : len(words), : effect.shape[1]], effect[: len(words)])
                yield Probed(words, stays[row, :, : len(words)].numpy(force=True), taus)

    return list(tracked(probed(), "probing", len(kept)))


def probe_model(
    model: str | Path, sentences: Sequence[str], source: Path, *, seed: int, trust_custom_code: bool = False
) -> list[Probed]:
    """Load a model, warn of what it does not know in the sentences of a file, and return what `probe` returns."""
    saved = load_attending(model, trust_custom_code=trust_custom_code)
    unknown_counts(saved.source_tokenizer.unknown, sentences, source)
    announce(f"probing {counted(len(sentences), 'sentence')}")
    return probe(saved, sentences, seed=seed)


def _words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """Return the word in which each token begins; the token itself if tokens do not spell words."""
    tokens, words = tokenizer.words(ids), split_words(tokenizer.decode(ids))
    try:
        places = word_indices(tokens, [tokenizer.prepared(word) for word in words])
    except ValueError:
        return tokens
    return [words[place[0]] if place else t for t, place in zip(tokens, places, strict=True)]
