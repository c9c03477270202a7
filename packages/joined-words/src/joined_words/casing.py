"""Capital letters of text that a model writes in lower case, learned from text: of words, of lines and of sentences."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import regex

from joined_words.words import LETTERS, clean, has_dotless_i, lowered

_OPENING = r'(?:[\p{Ps}\p{Pi}»”"¿¡] *|\p{Pd} +)*+'
_CLOSING = r"""[\p{Pe}\p{Pf}\p{Pi}"']"""
LINE_START: Any = regex.compile(_OPENING)
"""Marks before the first word of a sentence, which has its capital after them: brackets, quotation marks, a dash."""
SENTENCE_START: Any = regex.compile(
    rf"(?s)(.*?)((?:(?<!\.)\.+|(?!\.)[\p{{Sentence_Terminal}}:;…]){_CLOSING}*(?: [»›]{_CLOSING}*)?) +{_OPENING}"
)
"""What stands between two words where the second may begin a sentence: a mark with what it closes, and what opens."""
LEAST = 3
"""Number of words that show whether sentences begin after a mark."""

Start = tuple[str, str]
"""Where a sentence may begin: a mark and the word before it, both blank at the start of a line."""
LINE = "", ""


@dataclass(frozen=True)
class Casing:
    """The usual case of words, and where they begin a sentence, with a capital.

    Attributes:
        forms: Words in lower case and their usual form within sentences, where that is another one.
        capital_start: Whether lines begin with a capital.
        sentence_marks: Marks that end a sentence, with what they close, such as ``.`` and ``!"``; for each the words before
            it, such as abbreviations, of which it ends none. ``0`` is any number.
    """

    forms: Mapping[str, str] = field(default_factory=dict)
    capital_start: bool = False
    sentence_marks: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def learned(cls, texts: Iterable[str], language: str) -> "Casing":
        """Count the forms of words within sentences (Lita et al. 2003, without context), and capitals after marks."""
        words, starts = Counter[str](), Counter[tuple[Start, str]]()
        num_capitals = num_lines = 0
        for text in texts:
            for place, (word, start) in enumerate(_words(clean(text), language)):
                if place == 0:
                    num_lines += word[0][0].isalpha()
                    num_capitals += word[0][0].isupper()
                else:
                    words[word[0]] += 1
                    starts.update([(start, word[0])] if start else [])
        marks = _sentence_marks(starts, _usual(words, starts, language), language)
        casing = cls({}, num_capitals * 2 > num_lines, marks)
        begun = {key: count for key, count in starts.items() if casing.begins(key[0])}
        forms = _usual(words, begun, language)
        return replace(casing, forms={word: form for word, form in forms.items() if form != word})

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> "Casing":
        """Return what `saved` has written; files of before it learned marks have none."""
        forms, marks = saved["cased_forms"], saved.get("sentence_marks", {})
        return cls(
            {str(word): str(form) for word, form in forms.items()},
            bool(saved["capital_start"]),
            {str(mark): frozenset(map(str, words)) for mark, words in marks.items()},
        )

    def with_forms(self, forms: Mapping[str, str]) -> "Casing":
        """Return this with the forms of words that have none."""
        return replace(self, forms={**forms, **self.forms})

    def saved(self) -> dict[str, Any]:
        """Return this as JSON has it, for files of tokenizers and for the page."""
        marks = {mark: sorted(words) for mark, words in self.sentence_marks.items()}
        return {"cased_forms": self.forms, "capital_start": self.capital_start, "sentence_marks": marks}

    def begins(self, start: Start | None) -> bool:
        """Return whether a sentence with a capital begins at a place of `_words`."""
        if start is None or start == LINE:
            return self.capital_start and start == LINE
        mark, before = start
        return mark in self.sentence_marks and before not in self.sentence_marks[mark]

    def restored(self, text: str, language: str) -> str:
        """Return a line of lower-cased text with the usual case; a word that has a capital, such as iPhone, stays as it is."""
        parts, end = list[str](), 0
        for word, start in _words(text, language):
            form = self.forms.get(word[0], word[0])
            if self.begins(start) and lowered(word[0], language) == word[0]:
                form = _capitalized(form, language)
            parts += text[end : word.start()], form
            end = word.end()
        return "".join([*parts, text[end:]])


def _words(text: str, language: str) -> Iterator[tuple[Any, Start | None]]:
    """Yield the words of a line, each with the start of a sentence that it may be at, None within a sentence."""
    end, before = 0, ""
    for word in LETTERS.finditer(text):
        gap, start = text[end : word.start()], None
        if not end:
            start = LINE if LINE_START.fullmatch(gap) else None
        elif gap != " " and (found := SENTENCE_START.fullmatch(gap)):
            start = found[2], before if found[1] in ("", " ") else ""
        yield word, start
        end, before = word.end(), "0" if word[0].isdecimal() else lowered(word[0], language)


def _capitalized(word: str, language: str) -> str:
    first = "İ" if word[:1] == "i" and has_dotless_i(language) else word[:1].upper()
    has_capital = lowered(first, language) == word[:1]  # ß has none
    return first + word[1:] if has_capital else word


def _usual(words: Counter[str], starts: Mapping[tuple[Start, str], int], language: str) -> dict[str, str]:
    """Return the most frequent form of each word, of the counted forms less those at the start of sentences."""
    within, usual = words.copy(), dict[str, str]()
    for (_, form), count in starts.items():
        within[form] -= count
    for form, count in (+within).items():
        known = usual.setdefault(lowered(form, language), form)
        if count > within[known]:
            usual[lowered(form, language)] = form
    return usual


def _sentence_marks(
    starts: Mapping[tuple[Start, str], int], usual: Mapping[str, str], language: str
) -> dict[str, frozenset[str]]:
    """Return the marks of `Casing`: more than half of the words after them, `LEAST` at least, show that a sentence begins.

    A word with a capital that is usually in lower case shows that one begins, a word in lower case that none does. Where most
    of those after a mark and a word show that none does, that word is an exception.
    """
    shown: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for ((mark, before), form), count in starts.items():
        is_upper = form[0].isupper() and usual.get(lowered(form, language), "")[:1].islower()
        if is_upper or form[0].islower():
            shown[mark][before][is_upper] += count
    marks = dict[str, frozenset[str]]()
    for mark, counts in sorted(shown.items()):
        num_lower, num_upper = map(sum, zip(*counts.values(), strict=True))
        if num_upper > num_lower and num_lower + num_upper >= LEAST:
            marks[mark] = frozenset(before for before, (lower, upper) in counts.items() if lower > upper)
    return marks
