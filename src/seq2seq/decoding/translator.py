"""Translate text with one or several models."""

import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from joined_words import clean, lowered, shown, split_words, word_indices
from seq2seq.common.errors import InputError
from seq2seq.common.progress import counted, tracked, warn
from seq2seq.data.batch import SourceBatch
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.languages import base_language, require_tags, target_tag
from seq2seq.data.tokenizers import SentencePieceTokenizer, Tokenizer
from seq2seq.data.vocabulary import END, UNKNOWN, UNKNOWN_ID
from seq2seq.decoding.forced import with_heads
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.int8 import quantized
from seq2seq.decoding.search import GREEDY, Search, cut, run_search, search_from_options
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.evaluation.alignment import argmax_links
from seq2seq.models.folder import SavedModel, load_model_folder
from seq2seq.models.limits import MAX_TOKENS

CPU = torch.device("cpu")
BATCH_SIZE = BatchSize(sentences=None, tokens=4096)
LINES = 2**32
"""Numbers of lines are below it."""


class Translator:
    """Translates text with a model, or with an ensemble whose probabilities are averaged.

    Examples:
        >>> translator = Translator.load("grammar-en-fr")  # a shipped model, or a run or model folder
        >>> (translation,) = translator.translate(["I see the dog."], beam_size=5)
        >>> translation.text, translation.weights.shape  # 6 target and 6 source tokens, <eos> included
        ('Je vois le chien.', torch.Size([6, 6]))

    Args:
        *exported: The models; the first one sets the length limits.
        device: Device of the models.
        batch_size: Maximum size of a batch.
        precision: Format of the matrix products: ``fp32``, ``bf16``, or ``int8`` (of the decoder, see
            `quantized`); scores, states and attention are float32.
        to: Code of the target language, for a model of several languages or of both directions.

    Raises:
        InputError: The models have different vocabularies, there is no such precision, or the model was not
            trained to translate into the language.

    Attributes:
        num_replaced: Number of ``<unk>`` that source words have replaced so far.
        knows: What text the first model knows; None for one of an earlier version.
    """

    def __init__(
        self,
        *exported: SavedModel,
        device: torch.device = CPU,
        batch_size: BatchSize = BATCH_SIZE,
        precision: str = "fp32",
        to: str | None = None,
    ) -> None:
        if to is not None:
            exported = tuple(
                member.reversed() if member.translates_back_to(to) else member for member in exported
            )
        first = exported[0]
        for place, member in enumerate(exported[1:], start=2):
            _require_same_tokens("source", place, first.source_tokenizer, member.source_tokenizer)
            _require_same_tokens("target", place, first.target_tokenizer, member.target_tokenizer)
            _require_same_languages(place, first, member)
        if precision not in ("fp32", "bf16", "int8"):
            raise InputError(f"there is no precision {precision!r}: choose fp32, bf16 or int8")
        if precision == "int8" and device.type != "cpu":
            raise InputError("precision int8 is for device cpu: choose bf16 or fp32")
        self._models = [member.model.to(device).eval() for member in exported]
        if precision == "int8":
            self._models = [quantized(model) for model in self._models]
        self._source_tokenizer, self._target_tokenizer = first.source_tokenizer, first.target_tokenizer
        self._bounds, self.knows, self.tells_long = first.limits, first.knows, True
        self._device = device
        self._batch_size = batch_size
        self.precision = precision
        # a model of one language needs no tag
        self._to = to = None if to == self._target_tokenizer.language != "und" else to
        self.num_replaced = 0
        self._languages = {target_tag(code): code for code in self._target_tokenizer.casings}
        if to is not None and target_tag(to) not in {shown(t, "") for t in self._source_tokenizer.vocabulary}:
            only = self._target_tokenizer.language
            others = "" if only == "mul" else f", but into {only or 'one language'} only: leave out --to"
            raise InputError(f"the model does not translate into {to!r}{others}")

    @classmethod
    def load(
        cls,
        *paths: str | Path,
        device: str = "cpu",
        max_tokens: int | None = BATCH_SIZE.tokens,
        precision: str = "fp32",
        to: str | None = None,
        trust_custom_code: bool = False,
    ) -> "Translator":
        """Load a model folder or a run folder, or several with the same vocabulary as an ensemble.

        Raises:
            InputError: There is no model of this program, there is no such device, or the models cannot be
                combined.
        """
        return cls(
            *(load_model_folder(path, trust_custom_code=trust_custom_code) for path in paths),
            device=device_named(device),
            batch_size=BatchSize(sentences=None, tokens=max_tokens),
            precision=precision,
            to=to,
        )

    @property
    def source_language(self) -> str:
        """Code of the source language."""
        return self._source_tokenizer.language

    @property
    def target_language(self) -> str:
        """Code of the target language."""
        return self._to or self._target_tokenizer.language

    def language_of(self, sentence: str) -> str:
        """Return the code of the language that a sentence is translated into: if there are several, that of its tag.

        A tag tells the script or region of a code only if the model restores the case of each language.
        """
        tag = clean(sentence).partition(" ")[0]
        own = tag.removeprefix("xx") if self.target_language == "mul" else self.target_language
        return self._languages.get(tag, own)

    def facts(self) -> dict[str, str | int]:
        """Return languages, classes and number of parameters of the model, the first one of an ensemble."""
        model = self._models[0]
        return {
            "source_language": self.source_language,
            "target_language": self.target_language,
            "encoder": type(model.encoder).__name__,
            "decoder": type(model.decoder).__name__,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        search: Search | None = None,
        prefixes: Sequence[str] | None = None,
        replace_unk: bool = False,
        return_attention: bool = True,
    ) -> list[Translation]:
        """Return the best translation of each sentence; see `translate_n_best`.

        Without `search` and `beam_size` the search is greedy; a `beam_size` alone is that of the commands, with the length
        penalty ``average``. Beside `search`, `beam_size` replaces its beam size.
        """
        if search is None:
            search = GREEDY if beam_size is None else search_from_options(length_penalty="average")
        found = self.translate_n_best(
            sentences,
            search=replace(
                search, num_best=1, beam_size=search.beam_size if beam_size is None else beam_size
            ),
            prefixes=prefixes,
            replace_unk=replace_unk,
            return_attention=return_attention,
        )
        return [translations[0] for translations in found]

    def translate_n_best(
        self,
        sentences: Sequence[str],
        *,
        search: Search,
        prefixes: Sequence[str] | None = None,
        replace_unk: bool = False,
        numbers: Sequence[int] | None = None,
        return_attention: bool = True,
    ) -> list[list[Translation]]:
        """Return the `search.num_best` best translations of each sentence, the best first.

        A text of several sentences is translated as one, see `seq2seq.decoding.sentences`. The translation of a blank
        sentence, one without text after `clean`, is blank.

        Args:
            sentences: Text to translate.
            search: The search.
            prefixes: Prefix of each translation; blank for none.
            replace_unk: Replace each ``<unk>`` by the most attended source word, as it is written in the sentence (only for
                vocabularies of words).
            numbers: Of the line of each sentence, counted from 0, which seeds its random numbers; further sentences of a
                line have multiples of `LINES` more.
            return_attention: Whether the translations have attention weights; without them they need less
                memory.

        Raises:
            InputError: `listed_texts` refuses the texts, `replace_unk` is set for a model with subwords or without attention,
                or a sentence does not name its target language, see `require_tags`.
        """
        sentences, prefixes = listed_texts(sentences, prefixes)
        numbers = range(len(sentences)) if numbers is None else numbers
        if replace_unk and isinstance(self._target_tokenizer, SentencePieceTokenizer):
            raise InputError(
                "--replace-unk needs a vocabulary of words: a model with subwords has no unknown words"
            )
        if replace_unk and not any(model.decoder.has_attention for model in self._models):
            raise InputError("--replace-unk needs a model with attention")
        sentences = [clean(sentence) for sentence in sentences]
        if self._to is None:
            require_tags(sentences, self._source_tokenizer.vocabulary, self.target_language)
        else:
            sentences = [f"{target_tag(self._to)} {each}" if each else each for each in sentences]
        encoded = [cut(self._source_tokenizer.encode(sentence)) for sentence in sentences]
        self._warn_of_long(encoded, numbers)
        starts = None if prefixes is None else self._starts(prefixes)
        translations: list[list[Translation]] = [[EMPTY]] * len(sentences)
        batches = self._batches(sentences, encoded)
        first, last = (1 + numbers[place] % LINES if numbers else 1 for place in (0, -1))
        title = f"translating lines {first:,} to {last:,}" if first > 1 else "translating"
        for indices in tracked(batches, title, sum(map(len, batches)), len):
            source = SourceBatch.from_sentences([encoded[i] for i in indices]).to(self._device)
            with torch.autocast(self._device.type, torch.bfloat16, enabled=self.precision == "bf16"):
                found = run_search(
                    self._models,
                    source,
                    search,
                    numbers=[numbers[i] for i in indices],
                    limits=self._bounds,
                    prefixes=None if starts is None else [starts[i] for i in indices],
                )
                if return_attention:
                    found = with_heads(self._models, source, found)
            for index, hypotheses in zip(indices, found, strict=True):
                text = sentences[index] if replace_unk else ""
                language = self.language_of(sentences[index])
                made = [self._translation(encoded[index], text, each, language) for each in hypotheses]
                facts: dict[str, Any] = {"unknown": tuple(self.unknown_tokens(sentences[index]))}
                if not return_attention:  # the weights of many long lines would fill the memory
                    facts["weights"] = EMPTY.weights
                translations[index] = [replace(each, rank=r, **facts) for r, each in enumerate(made, start=1)]
        return translations

    def _warn_of_long(self, encoded: Sequence[list[int]], numbers: Sequence[int]) -> None:
        """Warn of the first sentence that is longer than any of the training, once."""
        most = MAX_TOKENS if self._bounds.max_source is None else self._bounds.max_source - 1
        for number, ids in zip(numbers, encoded, strict=True):
            if len(ids) > most and self.tells_long:
                self.tells_long = False
                warn(
                    f"a sentence of line {1 + number % LINES:,} has {len(ids):,} tokens, none of the training more than "
                    f"{most:,}: of such sentences, parts may be missing or repeated: give shorter ones"
                )

    def _starts(self, prefixes: Sequence[str]) -> list[list[int]]:
        """Return the ids that translations begin with; warn of words that the model does not know."""
        starts = [self._target_tokenizer.encode(prefix) for prefix in prefixes]
        if any(UNKNOWN_ID in start for start in starts):
            unknown = dict.fromkeys(
                each for prefix in prefixes for each in self._target_tokenizer.unknown(prefix)
            )
            warn(
                f"prefixes have {counted(len(unknown), 'word')} unknown to the model, written as {UNKNOWN}: "
                f"{', '.join(unknown):.200}"
            )
        return starts

    def _batches(self, sentences: Sequence[str], encoded: list[list[int]]) -> list[list[int]]:
        """Return the indices of the sentences that are not empty, grouped by length."""
        filled = np.array([index for index, sentence in enumerate(sentences) if sentence], dtype=np.int64)
        lengths = np.array([len(encoded[index]) for index in filled], dtype=np.int64)
        order = sorted_order(lengths, lengths, self._batch_size)
        return [filled[batch].tolist() for batch in order]

    def unknown_tokens(self, sentence: str) -> list[str]:
        """Return the unknown tokens of a source sentence, see `Tokenizer.unknown`."""
        return self._source_tokenizer.unknown(sentence)

    def _translation(
        self, source_ids: list[int], source: str, hypothesis: Hypothesis, language: str
    ) -> Translation:
        """Return a hypothesis as a translation into a language; if `source` is given, its words replace ``<unk>``."""
        tokenizer = self._target_tokenizer
        tokens, text = tokenizer.words(hypothesis.ids), tokenizer.decode(hypothesis.ids, language)
        if source and UNKNOWN_ID in hypothesis.ids:
            words = _words_of_tokens(self._source_tokenizer, source)
            parts = [tokenizer.vocabulary[index] for index in hypothesis.ids]
            parts = _with_source_words(
                parts, words, hypothesis, first=int(self.target_language == "mul" or self._to is not None)
            )
            self.num_replaced += hypothesis.ids.count(UNKNOWN_ID) - parts.count(UNKNOWN)
            tokens = [tokenizer.shown(part) for part in parts]
            text = tokenizer.text([part for part in parts if part != END], language)
        return Translation(
            text=text,
            source_tokens=(*self._source_tokenizer.words(source_ids), END),
            target_tokens=tuple(tokens),
            score=hypothesis.score,
            weights=hypothesis.weights,
            heads=hypothesis.heads,
            ids=tuple(hypothesis.ids),
        )


HALVES = re.compile("[\ud800-\udfff]")


def listed_texts(texts: Iterable[str], prefixes: Iterable[str] | None) -> tuple[list[str], list[str] | None]:
    """Return texts that may be read only once, such as the lines of a file, and their prefixes as lists.

    Raises:
        InputError: A text is given in place of a list of them, one is no text, or their numbers differ.
    """
    if isinstance(texts, str) or isinstance(prefixes, str):
        raise InputError('give a list of sentences, such as ["A sentence."], not a text')
    texts, prefixes = list(texts), None if prefixes is None else list(prefixes)
    if prefixes is not None and len(prefixes) != len(texts):
        raise InputError(
            f"{counted(len(texts), 'sentence')}, but prefixes for {len(prefixes):,}: give one for each"
        )
    for each in texts:
        if not isinstance(each, str):
            raise InputError(f"a sentence must be text, not {type(each).__name__}: {each!r:.40}")
        if HALVES.search(each):
            raise InputError(f"a sentence has half of a surrogate pair, which is no text: {each!r:.40}")
    return texts, prefixes


def _words_of_tokens(tokenizer: Tokenizer, sentence: str) -> list[str]:
    """Return the word of each token of a sentence as it is written: the token itself where there are no subwords.

    Raises:
        InputError: The tokens do not spell the words.
    """
    tokens = tokenizer.tokens(sentence)[:MAX_TOKENS]
    if not tokenizer.has_subwords:
        return _as_written([tokenizer.shown(token) for token in tokens], tokenizer, sentence)
    words = split_words(tokenizer.prepared(sentence))
    try:
        places = word_indices(tokenizer.tokens(sentence), words)[: len(tokens)]
    except ValueError as error:
        raise InputError(f"--replace-unk needs source tokens that spell words: {error}") from error
    written = _as_written(words, tokenizer, sentence)
    return [written[place[0]] if place else token for token, place in zip(tokens, places, strict=True)]


def _as_written(words: Sequence[str], tokenizer: Tokenizer, sentence: str) -> list[str]:
    """Return the words of a sentence that a tokenizer has prepared with the capitals that the sentence has.

    Lower case has as many characters, so words are found by their places. One that is not in the sentence stays as it is.
    """
    cased = copy(tokenizer)
    cased.case = "keep"
    text = cased.prepared(sentence)
    lower, found, end = _uncased(text, tokenizer.language), list[str](), 0
    for word in words:
        start = lower.find(_uncased(word, tokenizer.language), end)
        if start >= 0:
            end = start + len(word)
        found.append(text[start:end] if start >= 0 else word)
    return found


def _uncased(text: str, language: str) -> str:
    """Return text in lower case, each character by itself: Σ is σ at the end of a word, too."""
    return lowered(text, language).replace("ς", "σ")


def _with_source_words(
    tokens: list[str], source_words: list[str], hypothesis: Hypothesis, first: int
) -> list[str]:
    """Return the tokens with each ``<unk>`` replaced by its most attended source word, from the `first` on; not ``<eos>``.

    The one before the first is the tag of the target language.
    """
    links = argmax_links(hypothesis.weights[:, first : len(source_words)])
    nearest = {row: source_words[first + place] for place, row in links}
    return [nearest.get(row, token) if token == UNKNOWN else token for row, token in enumerate(tokens)]


def _require_same_tokens(side: str, place: int, first: Tokenizer, other: Tokenizer) -> None:
    if first.vocabulary != other.vocabulary:
        raise InputError(
            f"model {place} of the ensemble has another {side} vocabulary than the first: "
            "train its members with one tokenizer: on one training split, or with init_from"
        )


def _require_same_languages(place: int, first: SavedModel, other: SavedModel) -> None:
    pairs = [(each.source_tokenizer.language, each.target_tokenizer.language) for each in (first, other)]
    if [*map(base_language, pairs[0])] != [*map(base_language, pairs[1])]:
        raise InputError(
            f"model {place} of the ensemble translates from {pairs[1][0]} into {pairs[1][1]}, the first from {pairs[0][0]} into "
            f"{pairs[0][1]}: choose models of one direction, or a language that all translate into with --to"
        )


def device_named(name: str) -> torch.device:
    """Return the device with a name.

    Raises:
        InputError: There is no such device.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(
            f"device {name!r}: PyTorch finds no such device on this machine; choose cpu"
        ) from error
