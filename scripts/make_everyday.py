"""Make the built-in corpus of everyday English-French sentences from a file of Tatoeba.

    python scripts/make_everyday.py en-fr.tsv.gz data/everyday/corpus.tsv.xz
    python scripts/make_everyday.py en-de.tsv.gz en-de.tsv.xz --all --varied    # every sentence, for the shipped models

The file is in the form of manythings.org: English, a tab, French, sorted by length. Tatoeba's sentences are CC BY 2.0 FR.
Kept are short sentences of words that are frequent in speech, with one translation each:

1. Sentences of the same *family* differ by names, pronouns, numbers, case and punctuation only. A family is never in two
   splits, and only its first members are kept.
2. Of several translations the one is kept that a word-by-word model (IBM model 1) finds likeliest, with vous for "you": a
   small model learns from translations that follow the words. All translations of a test sentence are its references.
3. Phrases of our own (`PHRASES`) add names, prices, months, weekdays and times, which are rare in Tatoeba.

With ``--all`` every sentence is kept with every translation, and so are all members of a family in training. With ``--varied``
training gets variants of its pairs (`vary_pairs.py`) in addition.
"""

import argparse
import gzip
import hashlib
import itertools
import lzma
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import log
from pathlib import Path

import yaml
from vary_pairs import OTHER_WORD, WORD, varied

PHRASES = Path(__file__).parents[1] / "data" / "everyday" / "phrases"
"""A file for each language: templates of our own, and lists of names and numbers that fill them."""

PRONOUNS = {
    "i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its", "our", "their",
    "mine", "yours", "hers", "ours", "theirs", "myself", "yourself", "himself", "herself", "itself", "ourselves", "themselves",
    "this", "that", "these", "those", "someone", "somebody", "everyone", "everybody", "nobody",
}  # fmt: skip
NUMBERS = {
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
    "eighty", "ninety", "hundred", "thousand", "million",
}  # fmt: skip
VERBS = {
    "am": "is",
    "are": "is",
    "was": "is",
    "were": "is",
    "has": "have",
    "had": "have",
    "does": "do",
    "did": "do",
}
"""Forms that change with a pronoun, besides those in -s."""
SHORT = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "n't": " not", "'m": " is", "'s": " is", "'re": " is",
    "'ll": " will", "'ve": " have", "'d": " would",
}  # fmt: skip
"""Contractions and what they stand for; a possessive becomes "is", too."""

VOUS = re.compile(r"\b(?:vous|votre|vos|vôtres?)\b|\b\w{2,}(?<!ch)(?<!ass)ez\b", re.IGNORECASE)
TU = re.compile(r"\b(?:tu|te|toi|ton|ta|tes|tien(?:ne)?s?)\b|\bt['’]", re.IGNORECASE)
YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


def cleaned(text: str) -> str:
    """Return a sentence in one spelling: composed letters, plain apostrophes and spaces."""
    return " ".join(unicodedata.normalize("NFC", text).replace("’", "'").split())


def read(path: Path) -> dict[str, list[str]]:
    """Return the translations of each English sentence; those of ``en-fr`` in one style."""
    found, style = defaultdict(list), in_one_style if "fr" in path.name else lambda _, target: target
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            source, target = map(cleaned, line.split("\t")[:2])
            target = style(source, target)
            if target not in found[source]:
                found[source].append(target)
    return found


def in_one_style(source: str, target: str) -> str:
    """Return French with a space before ? ! : ; and with the final mark of the English sentence."""
    if source[-1] in ".?!" and target[-1] in ".?!":
        target = target.rstrip(".?! ") + source[-1]
    return re.sub(r" ?([?!:;])", r" \1", target)


def words(text: str) -> list[str]:
    """Return the lower-case words of an English sentence."""
    return WORD.findall(text.lower())


def french_words(text: str) -> list[str]:
    """Return the lower-case words of a French sentence; an elided article is a word."""
    return OTHER_WORD.findall(text.lower())


def names_in(sources: Iterable[str]) -> set[str]:
    """Return words that are capitalized within sentences, in lower case: names, days and months; but not I."""
    capital, small = Counter[str](), Counter[str]()
    for source in sources:
        for word in WORD.findall(source)[1:]:
            (capital if word[0].isupper() else small)[word.lower()] += 1
    return {
        word for word, count in capital.items() if count > 4 * small[word] and word.partition("'")[0] != "i"
    }


def family(source: str, names: set[str]) -> tuple[str, ...]:
    """Return what sentences have in common that differ by names, pronouns, numbers, case and punctuation.

    A pronoun changes the verb, so that forms in -s, contractions and those of be, have and do are one, too.
    """
    text = source.lower()
    for short, whole in SHORT.items():
        text = text.replace(short, whole)
    found = []
    for word in words(text):
        if word in names or word in PRONOUNS or word in NUMBERS or word[0].isdigit():
            found.append("*")
        else:
            found.append(re.sub("y$", "i", re.sub("e?s?$", "", VERBS.get(word, word))))
    return tuple(key for key, _ in itertools.groupby(found))


Table = dict[str, dict[str, float]]


def model_1(pairs: Sequence[tuple[list[str], list[str]]], rounds: int = 5) -> Table:
    """Return p(target word | source word) of IBM model 1 (Brown et al. 1993), by expectation-maximization."""
    table: Table = defaultdict(dict)
    for source, target in pairs:
        for word in source:
            for other in target:
                table[word][other] = 1.0
    for _ in range(rounds):
        counts: Table = defaultdict(lambda: defaultdict(float))
        for source, target in pairs:
            for other in target:
                total = sum(table[word][other] for word in source)
                for word in source:
                    counts[word][other] += table[word][other] / total
        for word, found in counts.items():
            total = sum(found.values())
            table[word] = {other: count / total for other, count in found.items() if count > 1e-4 * total}
        for source, target in pairs:
            for word in source:
                for other in target:
                    table[word].setdefault(other, 1e-9)
    return table


def both_tables(pairs: Iterable[tuple[str, str]]) -> tuple[Table, Table]:
    """Return the tables of model 1 from English to the other language and back; "" stands for no word."""
    split = [(words(source), french_words(target)) for source, target in pairs]
    return (
        model_1([(["", *source], target) for source, target in split]),
        model_1([(["", *target], source) for source, target in split]),
    )


def likelihood(table: Table, source: list[str], target: list[str]) -> float:
    """Return the mean log-probability of a target word by model 1."""
    return sum(
        log(sum(table[word].get(other, 1e-9) for word in source) / len(source)) for other in target
    ) / max(len(target), 1)


def literal(forward: Table, backward: Table, source: str, target: str) -> float:
    """Return how closely a translation follows the words, in both directions."""
    left, right = ["", *words(source)], ["", *french_words(target)]
    return likelihood(forward, left, right[1:]) + likelihood(backward, right, left[1:])


def fits(source: str, target: str) -> bool:
    """Return whether a pair is a short sentence with vous for you."""
    is_short = 1 <= len(source.split()) <= 9 and len(target.split()) <= 12
    ends = source[-1] in ".?!" and target[-1] in ".?!"
    is_one = not re.search(r"[.?!] .", source) and not re.search(r'["«»()…]', source + target)
    is_polite = not TU.search(target) and (YOU.search(source) or not VOUS.search(target))
    return is_short and ends and is_one and bool(is_polite)


def filled(
    templates: Sequence[str], lists: dict[str, list[str]], each: int, draw: random.Random
) -> Iterator[tuple[str, str]]:
    """Return the phrases of our own: each template, its names in braces replaced by so many draws from the lists."""
    for template in templates:
        source, target = template.split(" = ")
        keys = sorted(set(re.findall(r"\{(\w+?)\d?\}", source)))
        slots = sorted(set(re.findall(r"\{(\w+)\}", source)))
        made = set()
        for _ in range(each if keys else 1):
            values = {slot: draw.choice(lists[slot.rstrip("123")]).partition(" = ") for slot in slots}
            left = source.format(**{slot: value[0] for slot, value in values.items()})
            right = target.format(**{slot: value[2] or value[0] for slot, value in values.items()})
            made.add((capitalized(left), capitalized(right)))
        yield from sorted(made)


def capitalized(text: str) -> str:
    """Return a sentence with a capital as its first letter, which an inverted mark of Spanish may precede."""
    return re.sub(r"^([¿¡]?)(.)", lambda found: found[1] + found[2].upper(), text)


def frequent(texts: Iterable[list[str]], number: int, more: Iterable[str] = ()) -> set[str]:
    """Return the words that are in most sentences, and some more."""
    counts = Counter(
        word for text in texts for word in dict.fromkeys(text)
    )  # not a set, whose order changes from run to run
    return {word for word, _ in counts.most_common(number)} | set(more)


def choose(
    found: dict[str, list[str]], own: Sequence[tuple[str, str]], options: argparse.Namespace
) -> list[tuple[str, str]]:
    """Return one short and literal translation of each sentence of frequent words."""
    every = [
        (source, target) for source, targets in found.items() for target in targets if fits(source, target)
    ]
    forward, backward = both_tables(every)
    english = frequent(
        (words(source) for source in found), options.words, itertools.chain(*(words(each) for each, _ in own))
    )
    best: dict[str, tuple[float, str]] = {}
    for source, target in every:
        if set(words(source)) <= english:
            best[source] = max(
                best.get(source, (-99.0, "")), (literal(forward, backward, source, target), target)
            )
    french = frequent(
        (french_words(target) for _, target in best.values()), int(1.4 * options.words),
        itertools.chain(*(french_words(each) for _, each in own)),
    )  # fmt: skip
    return [
        (source, target)
        for source, (score, target) in best.items()
        if score > options.literal and set(french_words(target)) <= french
    ]


def main() -> None:
    """Write the corpus: split, English, French, and for test sentences all other translations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--pairs", type=int, default=40_000, help="training pairs at most")
    parser.add_argument("--words", type=int, default=1500, help="frequent English words")
    parser.add_argument("--literal", type=float, default=-7.0, help="least log-likelihood of a translation")
    parser.add_argument("--family", type=int, default=4, help="members of a family at most")
    parser.add_argument("--held-out", type=int, default=1000, help="validation and test sentences")
    parser.add_argument("--all", action="store_true", help="every sentence with every translation")
    parser.add_argument("--varied", action="store_true", help="variants of training pairs, see vary_pairs.py")
    options = parser.parse_args()
    draw = random.Random(1)
    language = options.source.name.partition(".")[0].removeprefix("en-")
    phrases = yaml.safe_load((PHRASES / f"{language}.yaml").read_text(encoding="utf-8"))
    own = [*filled(phrases["templates"], phrases["lists"], 12, draw)]
    found = read(options.source)
    if options.all:
        options.pairs = options.family = 10**9
        chosen = [(source, target) for source, targets in found.items() for target in targets]
    else:
        chosen = choose(found, own, options)
    names = names_in(found)
    families = defaultdict(list)
    for source, target in chosen:
        families[family(source, names)].append((source, target))
    own_families = {family(source, names) for source, _ in own}
    keys = [key for key in families if key not in own_families]
    draw.shuffle(keys)
    split: dict[str, list[tuple[str, str]]] = {"validation": [], "test": [], "train": []}
    for name in ("validation", "test"):
        while len(split[name]) < options.held_out:
            source, target = draw.choice(families.pop(keys.pop()))
            split[name].append((source, found[source][0] if options.all else target))
    for members in families.values():
        draw.shuffle(members)
        split["train"] += members[: options.family]
    draw.shuffle(split["train"])
    split["train"] = [*split["train"][: options.pairs], *own]
    if options.varied:
        held = {family(source, names) for name in ("validation", "test") for source, _ in split[name]}
        made = filled([*phrases["templates"], *phrases.get("more", [])], phrases["lists"], 36, draw)
        more = [pair for pair in made if family(pair[0], names) not in held]
        tables = both_tables(split["train"])
        split["train"] = varied([*split["train"], *more], tables, phrases["lists"], draw)
    draw.shuffle(split["train"])
    lines = [
        "\t".join(
            [
                name,
                source,
                target,
                *(each for each in found.get(source, []) if each != target and name == "test"),
            ]
        )
        for name in ("train", "validation", "test")
        for source, target in split[name]
    ]
    content = ("\n".join(lines) + "\n").encode()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    checksum = hashlib.sha256(options.source.read_bytes()).hexdigest()
    sizes = ", ".join(f"{len(pairs):,} {name}" for name, pairs in split.items())
    print(
        f"{sizes} of {len(chosen):,} chosen; {len(own):,} of our own; {options.output.stat().st_size:,} bytes"
    )
    print(f"SHA-256 of {options.source.name}: {checksum}")


if __name__ == "__main__":
    main()
