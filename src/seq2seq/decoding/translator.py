"""Text in, translations with scores and attention out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seq2seq.decoding.device import device_named, is_mixed
from seq2seq.decoding.heads import with_heads
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.lengths import LONGEST, cut
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder
from seq2seq.decoding.search import GREEDY, Search, run_search
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.errors import InputError
from seq2seq.evaluation.alignment import argmax_links
from seq2seq.text.batch import SourceBatch
from seq2seq.text.bucketing import BatchSize, sorted_order
from seq2seq.text.codec import TextCodec
from seq2seq.text.tokenizers import WordTokenizer
from seq2seq.text.vocabulary import END, UNKNOWN, UNKNOWN_ID

WINDOW = 2048
"""Sentences that are read ahead and sorted by length before they are cut into batches."""


class Translator:
    """Translates text with a trained model, or with several whose probabilities are averaged.

    The first has the bound of lengths. `precision` is the format of the matrix products, see
    `is_mixed`; scores, states and attention are in float32 whatever it is. ``auto`` is bfloat16
    where that is faster, which a probe decides anew every time.

    Raises:
        InputError: the members differ in their vocabularies, or there is no such precision.
    """

    def __init__(
        self,
        *exported: TranslationModel,
        device: torch.device,
        batch_size: BatchSize,
        precision: str = "fp32",
    ) -> None:
        first = exported[0]
        for place, member in enumerate(exported[1:], start=2):
            _require_same_tokens("source", place, first.source_codec, member.source_codec)
            _require_same_tokens("target", place, first.target_codec, member.target_codec)
        self._models = [member.model.to(device).eval() for member in exported]
        self._source_codec, self._target_codec = first.source_codec, first.target_codec
        self._bounds = first.bounds
        self._device = device
        self._batch_size = batch_size
        self._is_mixed = is_mixed(precision, first.spec, device)

    @classmethod
    def load(
        cls,
        *paths: str | Path,
        device: str = "cpu",
        max_tokens: int = 4096,
        precision: str = "fp32",
    ) -> "Translator":
        """Load a model folder or a run folder, or several of one vocabulary as an ensemble.

        Raises:
            InputError: there is no model of this program, no such device, or the models do not
                go together.
        """
        return cls(
            *(load_model_folder(Path(path)) for path in paths),
            device=device_named(device),
            batch_size=BatchSize(sentences=None, tokens=max_tokens),
            precision=precision,
        )

    @property
    def precision(self) -> str:
        """Format of the matrix products, ``bf16`` or ``fp32``, whoever has chosen it."""
        return "bf16" if self._is_mixed else "fp32"

    @property
    def target_language(self) -> str:
        """Code of the language that is translated into."""
        return self._target_codec.tokenizer.language

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam: int | None = None,
        search: Search = GREEDY,
        prefixes: Sequence[str] | None = None,
        replace_unknown: bool = False,
        return_attention: bool = True,
    ) -> list[Translation]:
        """The best translation of each sentence, as `translate_n_best` finds it.

        `beam` is the width of the beam, instead of that of `search`.
        """
        found = self.translate_n_best(
            sentences,
            search=replace(search, num_best=1, beam=search.beam if beam is None else beam),
            prefixes=prefixes,
            replace_unknown=replace_unknown,
            return_attention=return_attention,
        )
        return [translations[0] for translations in found]

    def translate_n_best(
        self,
        sentences: Sequence[str],
        *,
        search: Search,
        prefixes: Sequence[str] | None = None,
        replace_unknown: bool = False,
        first_number: int = 0,
        return_attention: bool = True,
    ) -> list[list[Translation]]:
        """The `search.num_best` best translations of each sentence, the best first.

        A blank sentence gives a blank translation.

        Args:
            sentences: text to translate.
            search: how to search.
            prefixes: text that each translation has to begin with, blank for none.
            replace_unknown: put the source word with the greatest attention in the place of each
                ``<unk>`` (vocabularies of words only).
            first_number: number of the first sentence, from which its random numbers are made.
            return_attention: whether the translations hold their attention weights; without
                them they need less memory.

        Raises:
            InputError: unknown words cannot be replaced in subwords, or without attention.
        """
        if replace_unknown and not isinstance(self._target_codec.tokenizer, WordTokenizer):
            raise InputError("unknown words exist in vocabularies of words only, not of subwords")
        if replace_unknown and not any(model.decoder.attends for model in self._models):
            raise InputError("unknown words are replaced by attention, which this model has not")
        encoded = [cut(self._source_codec.encode(sentence)) for sentence in sentences]
        starts = None if prefixes is None else [self._target_codec.encode(p) for p in prefixes]
        translations: list[list[Translation]] = [[EMPTY]] * len(sentences)
        for indices in self._batches(sentences, encoded):
            source = SourceBatch.from_sentences([encoded[i] for i in indices]).to(self._device)
            with torch.autocast(self._device.type, torch.bfloat16, enabled=self._is_mixed):
                found = run_search(
                    self._models,
                    source,
                    search,
                    numbers=[first_number + i for i in indices],
                    bounds=self._bounds,
                    prefixes=None if starts is None else [starts[i] for i in indices],
                )
                if return_attention:
                    found = with_heads(self._models, source, found)
            for index, hypotheses in zip(indices, found, strict=True):
                text = sentences[index] if replace_unknown else ""
                made = [self._translation(encoded[index], text, each) for each in hypotheses]
                facts: dict[str, Any] = {"unknown": tuple(self.unknown_tokens(sentences[index]))}
                if not return_attention:  # of a window of long lines, it would fill the memory
                    facts["weights"] = EMPTY.weights
                translations[index] = [replace(each, **facts) for each in made]
        return translations

    def _batches(self, sentences: Sequence[str], encoded: list[list[int]]) -> list[list[int]]:
        """Indices of the sentences that are not blank, those of like length together."""
        filled = np.array(
            [index for index, sentence in enumerate(sentences) if sentence.strip()], dtype=np.int64
        )
        lengths = np.array([len(encoded[index]) for index in filled], dtype=np.int64)
        order = sorted_order(lengths, lengths, self._batch_size)
        return [filled[batch].tolist() for batch in order]

    def stream(
        self,
        lines: Iterable[str],
        *,
        search: Search = GREEDY,
        replace_unknown: bool = False,
        return_attention: bool = True,
        window: int = WINDOW,
        first_number: int = 0,
    ) -> Iterator[tuple[list[str], list[list[Translation]]]]:
        """Translate an endless input in order: windows of lines with their translations."""
        iterator = iter(lines)
        while read := list(islice(iterator, window)):
            yield (
                read,
                self.translate_n_best(
                    read,
                    search=search,
                    replace_unknown=replace_unknown,
                    first_number=first_number,
                    return_attention=return_attention,
                ),
            )
            first_number += len(read)

    def unknown_tokens(self, sentence: str) -> list[str]:
        """What the model does not know of a source sentence, see `TextCodec.unknown`."""
        return self._source_codec.unknown(sentence)

    def _translation(
        self, source_ids: list[int], source: str, hypothesis: Hypothesis
    ) -> Translation:
        """A hypothesis as text; with the source's text, words of it stand in for the unknown."""
        tokens = self._target_codec.vocabulary.words(hypothesis.ids)
        text = self._target_codec.decode(hypothesis.ids)
        if source and UNKNOWN_ID in hypothesis.ids:
            words = self._source_codec.tokenizer.tokens(source)[:LONGEST]
            tokens = _with_source_words(tokens, words, hypothesis)
            text = self._target_codec.text([t for t in tokens if t != END])
        return Translation(
            text=text,
            source_tokens=(*self._source_codec.vocabulary.words(source_ids), END),
            target_tokens=tuple(tokens),
            score=hypothesis.score,
            weights=hypothesis.weights,
            heads=hypothesis.heads,
        )


def _with_source_words(
    tokens: list[str], source_words: list[str], hypothesis: Hypothesis
) -> list[str]:
    """Each ``<unk>`` replaced by the source word, ``<eos>`` not being one, that it attends to."""
    links = argmax_links(hypothesis.weights[:, : len(source_words)])
    nearest = {row: source_words[place] for place, row in links}
    return [
        nearest.get(row, token) if token == UNKNOWN else token for row, token in enumerate(tokens)
    ]


def _require_same_tokens(side: str, place: int, first: TextCodec, other: TextCodec) -> None:
    if first.vocabulary.tokens != other.vocabulary.tokens:
        raise InputError(
            f"model {place} of the ensemble has another {side} vocabulary than the first: "
            "train its members with one tokenizer: on one training split, or with init_from"
        )
