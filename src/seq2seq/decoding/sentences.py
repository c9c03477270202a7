"""Translate texts of several sentences: each is split, translated sentence by sentence, and put together again.

The interactive page splits by marks alone (``seq2seq/export/static/model.js``); a test lists where that differs.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import regex
import torch
from sentencex import segment
from torch import Tensor

from joined_words import clean
from seq2seq.common.progress import counted, warn
from seq2seq.data.languages import is_unspaced
from seq2seq.decoding.search import Search
from seq2seq.decoding.translation import EMPTY, Translation
from seq2seq.decoding.translator import LINES, Translator, listed_texts

_LETTER, _LETTER_OR_NUMBER = regex.compile(r"\p{L}"), regex.compile(r"[\p{L}\p{N}]")
_NEEDS_NO_SPACE = "。！？"
_OTHER_LINE_ENDS = regex.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
MAX_WEIGHTS = 4_000_000
"""Maximum number of attention weights of a text of several sentences."""


def sentences(text: str, language: str) -> list[str]:
    """Return the sentences of a text, each with the white space around it: joined, they are the text.

    A line end ends a sentence, and so does what sentencex knows of the language, but not within "System.Drawing", after a
    number as in "1. Open the file.", or before marks as in "Yes. :-)".
    """
    found, has_text, has_letter = [""], False, False
    for line in regex.findall(r"[^\n]*\n|[^\n]+", text):
        for part in segment(language, line):
            end = found[-1][-1:]
            is_line = has_text and end == "\n" and bool(clean(part))
            ends_one = has_letter and (end.isspace() or end in _NEEDS_NO_SPACE)
            if is_line or (ends_one and _LETTER_OR_NUMBER.search(part)):
                found.append("")
                has_text = has_letter = False
            found[-1] += part
            has_text = has_text or bool(clean(part))
            has_letter = has_letter or bool(_LETTER.search(part))
    return found


def translate_texts(
    translator: Translator,
    texts: Iterable[str],
    *,
    search: Search,
    prefixes: Iterable[str] | None = None,
    first_number: int = 0,
    **options: Any,
) -> list[list[Translation]]:
    """Return the `search.num_best` best translations of each text, whose sentences are translated one by one.

    The n-th translation has the n-th of each sentence. A text with a prefix, which may end anywhere, is one sentence.
    Translations say whether they are guesses if the model knows that.

    Args:
        translator: The model or models.
        texts: Texts of any number of sentences.
        search: The search.
        prefixes: Prefix of each translation; blank for none.
        first_number: Number of the first text, which seeds its random numbers.
        **options: Other options of `Translator.translate_n_best`.

    Raises:
        InputError: As `Translator.translate_n_best`.
    """
    texts, prefixes = listed_texts(texts, prefixes)
    starts = [""] * len(texts) if prefixes is None else prefixes
    language, names_language = translator.source_language, translator.target_language == "mul"
    split = [
        [text] if clean(start) else sentences(text, language)
        for text, start in zip(texts, starts, strict=True)
    ]
    parts, numbers, begun = list[str](), list[int](), list[str]()
    for line, (text, start) in enumerate(zip(split, starts, strict=True)):
        tag = f"{clean(text[0]).partition(' ')[0]} " if names_language else ""
        parts += text[0], *(tag + part for part in text[1:])
        numbers += range(first_number + line, first_number + line + LINES * len(text), LINES)
        begun += start, *[""] * (len(text) - 1)
    found = iter(
        translator.translate_n_best(
            parts, search=search, prefixes=None if prefixes is None else begun, numbers=numbers, **options
        )
    )
    ranked = [_ranked(text, [next(found) for _ in text], translator.language_of(text[0])) for text in split]
    knows = translator.knows
    if knows is None or search.sampling is not None:  # a sample is not what the model is most sure of
        return ranked
    return [[replace(each, is_guess=each.confidence < knows.least) for each in text] for text in ranked]


def _ranked(text: list[str], found: list[list[Translation]], language: str) -> list[Translation]:
    """Return the translations of a text, the best first, from those of each of its sentences."""
    if len(text) == 1:
        return found[0]
    gaps = [""]
    for one, other in pairwise(text):
        gap = one[len(one.rstrip()) :] + other[: len(other) - len(other.lstrip())]
        gap = _OTHER_LINE_ENDS.sub(" ", gap) or " "
        gaps.append("" if gap == " " and is_unspaced(language) else gap)
    ranks = range(max(map(len, found)))
    return [_joined([each[min(rank, len(each) - 1)] for each in found], gaps, rank + 1) for rank in ranks]


def _joined(parts: list[Translation], gaps: list[str], rank: int) -> Translation:
    """Return the translation of a text, whose tokens attend to those of their own sentence."""
    rows, columns = (sum(each.weights.shape[side] for each in parts) for side in (0, 1))
    if is_large := rows * columns > MAX_WEIGHTS:
        warn(
            f"a text of {counted(len(parts), 'sentence')} is too long to hold its attention: give fewer a line"
        )
    heads = [each.heads for each in parts if each.heads is not None]
    return Translation(
        text="".join(gap + each.text for gap, each in zip(gaps, parts, strict=True)),
        source_tokens=tuple(token for each in parts for token in each.source_tokens),
        target_tokens=tuple(token for each in parts for token in each.target_tokens),
        score=sum(each.score for each in parts),
        weights=EMPTY.weights if is_large else torch.block_diag(*(each.weights for each in parts)),
        unknown=tuple(token for each in parts for token in each.unknown),
        heads=_block_diagonal(heads) if heads and not is_large else None,
        rank=rank,
        ids=tuple(index for each in parts for index in each.ids),
    )


def _block_diagonal(heads: list[Tensor]) -> Tensor:
    """Return the weights of the heads of a text (…, target, source) from those of its sentences."""
    joined = [
        torch.block_diag(*of_head) for of_head in zip(*(each.flatten(0, -3) for each in heads), strict=True)
    ]
    return torch.stack(joined).unflatten(0, heads[0].shape[:-2])
