"""French spelling at word borders: elision, euphony, contraction."""

from dataclasses import replace

from seq2seq.grammar.phrase import Phrase

VOWELS = "aeiouyàâéèêëîïôûùœæ"
ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'", "que": "qu'", "de": "d'", "me": "m'"}
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "sa": "son"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def begins_with_vowel(word: str) -> bool:
    """Whether a word makes the one before it elide; every h of the lexicon is mute."""
    first = word[0].lower()
    return first in VOWELS or first == "h"


def spell(phrase: Phrase) -> Phrase:
    """Apply elision and contraction to the French side; contracted words share their links."""
    words = list(phrase.target)
    for index in range(len(words) - 1):
        if begins_with_vowel(words[index + 1]):
            word = words[index]
            words[index] = ELIDED.get(word, BEFORE_VOWEL.get(word, word))
    return _contract(phrase, words)


def _contract(phrase: Phrase, words: list[str]) -> Phrase:
    kept: list[str] = []
    places: list[int] = []  # of each old word among the kept ones
    for word in words:
        contracted = CONTRACTED.get((kept[-1], word)) if kept else None
        if contracted is None:
            kept.append(word)
        else:
            kept[-1] = contracted
        places.append(len(kept) - 1)
    links = frozenset((i, places[j]) for i, j in phrase.links)
    sure = frozenset((i, places[j]) for i, j in phrase.links - phrase.possible)
    return replace(phrase, target=tuple(kept), links=links, possible=links - sure)
