"""Capital letters for lower-cased text, by what is usual in a training split."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Casing:
    """How words are written.

    A word takes the form it most often has inside of sentences, where case belongs to the word and
    not to its place (truecasing, Lita et al. 2003, without its context).

    Attributes:
        forms: the usual form of each word that is not usually in lower case, by the word in lower
            case.
        capital_start: whether sentences begin with a capital letter.
    """

    forms: Mapping[str, str]
    capital_start: bool

    @classmethod
    def learn(cls, sentences: Iterable[str]) -> "Casing":
        """From text with its capital letters."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        num_capitals = num_starts = 0
        for sentence in sentences:
            first, *others = WORD.findall(sentence) or [""]
            num_starts += first[:1].isalpha()
            num_capitals += first[:1].isupper()
            for word in others:
                counts[word.lower()][word] += 1
        usual = {word: forms.most_common(1)[0][0] for word, forms in counts.items()}
        forms = {word: form for word, form in usual.items() if form != word}
        return cls(forms, capital_start=num_capitals * 2 > num_starts)

    def restore(self, text: str) -> str:
        """Lower-cased text with capital letters; lower-casing it gives the same text again."""
        cased = WORD.sub(lambda word: self.forms.get(word[0], word[0]), text)
        first = cased[:1].upper()
        if self.capital_start and first.lower() == cased[:1]:
            return first + cased[1:]
        return cased
