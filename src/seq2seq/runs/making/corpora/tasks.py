"""Small tasks that everybody teaches attention with: dates, reversal, numbers."""

import random
import zlib
from collections.abc import Callable
from datetime import date, timedelta

from seq2seq.config import TasksConfig
from seq2seq.errors import InputError
from seq2seq.text.corpus import ParallelCorpus, SentencePair

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
FIRST, NUM_DAYS = date(1900, 1, 1), 73_049
"""The dates of two centuries."""
WAYS = (
    "{day} {month} {year}",
    "{month} {day}, {year}",
    "{weekday}, {day} {month} {year}",
    "{weekday:.3}, {month:.3} {day}, {year}",
    "the {ordinal} of {month} {year}",
    "{month} {ordinal}, {year}",
    "{day}.{number}.{year}",
    "{day} {month:.3} {year}",
)
"""Ways to write a date; in digits alone the day comes first."""

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = 12

SMALL = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
    "seize dix-sept dix-huit dix-neuf",
}
TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "fr": "vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt",
}
MOST_DIGITS = 6

TEST_SHARE, VALIDATION_SHARE = 6, 3
"""Per cent of all answers that only the test and the validation split hold."""


def dates(draw: random.Random, _: str) -> SentencePair:
    """A date as people write it, and by ISO 8601."""
    day = FIRST + timedelta(draw.randrange(NUM_DAYS))
    parts = {
        "day": day.day,
        "ordinal": _ordinal(day.day),
        "month": MONTHS[day.month - 1],
        "number": day.month,
        "year": day.year,
        "weekday": WEEKDAYS[day.weekday()],
    }
    return SentencePair(draw.choice(WAYS).format(**parts), day.isoformat())


def _ordinal(number: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if number in range(11, 14) else ends.get(number % 10, 'th')}"


def reverse(draw: random.Random, _: str) -> SentencePair:
    """Symbols, and the same from the last to the first; with the links between them."""
    symbols = draw.choices(SYMBOLS, k=draw.randint(1, LONGEST))
    links = tuple((place, len(symbols) - 1 - place) for place in range(len(symbols)))
    return SentencePair(" ".join(symbols), " ".join(symbols[::-1]), links)


def numbers(draw: random.Random, language: str) -> SentencePair:
    """A number in digits and in words."""
    number = draw.randrange(10 ** draw.randint(1, MOST_DIGITS))
    say = {"en": _english, "fr": _french}[language]
    return SentencePair(str(number), say(number))


def _english(number: int) -> str:
    thousands, rest = divmod(number, 1000)
    hundreds, small = divmod(rest, 100)
    words = [f"{_english(thousands)} thousand"] if thousands else []
    words += [f"{_english(hundreds)} hundred"] if hundreds else []
    words += ["and"] if words and small else []
    if small >= 20:
        tens, ones = divmod(small, 10)
        words += ["-".join([TENS["en"].split()[tens - 2], *[_english(ones)] * bool(ones)])]
    elif small or not words:
        words += [SMALL["en"].split()[small]]
    return " ".join(words)


def _french(number: int, *, ends: bool = True) -> str:
    """In words; at the end "cents" and "quatre-vingts" have an s, before "mille" they have not."""
    thousands, rest = divmod(number, 1000)
    hundreds, small = divmod(rest, 100)
    words = [_french(thousands, ends=False)] if thousands > 1 else []
    words += ["mille"] if thousands else []
    words += [_french(hundreds)] if hundreds > 1 else []
    words += [f"cent{'s' * (ends and hundreds > 1 and not small)}"] if hundreds else []
    if small == 80:
        words.append(f"quatre-vingt{'s' * ends}")
    elif small >= 20:
        words.append(_french_tens(small))
    elif small or not words:
        words.append(SMALL["fr"].split()[small])
    return " ".join(words)


def _french_tens(number: int) -> str:
    """From twenty on; seventy and ninety count on from the ten below them."""
    tens, ones = divmod(number, 10)
    ones += 10 * (tens in (7, 9))
    name = TENS["fr"].split()[tens - 2]
    if not ones:
        return name
    is_joined = ones in (1, 11) and tens < 8
    return f"{name}{' et ' if is_joined else '-'}{SMALL['fr'].split()[ones]}"


TASKS: dict[str, Callable[[random.Random, str], SentencePair]] = {
    "dates": dates,
    "reverse": reverse,
    "numbers": numbers,
}


def read(data: TasksConfig) -> ParallelCorpus:
    """Make the three splits."""
    if data.task.value == "numbers" and data.target_language not in SMALL:
        raise InputError(
            f"data.target_language={data.target_language}: data.task=numbers says en or fr"
        )
    return ParallelCorpus(
        train=_sampled(data, "train", data.train_pairs),
        validation=_sampled(data, "validation", data.validation_pairs),
        test=_sampled(data, "test", data.test_pairs),
    )


def _sampled(data: TasksConfig, split: str, count: int) -> list[SentencePair]:
    """Distinct pairs; no answer of a split is one of another split."""
    make, draw = TASKS[data.task.value], random.Random(f"{data.seed} {split}")
    pairs: dict[str, SentencePair] = {}
    while len(pairs) < count:  # there are more than the schema lets one ask for
        pair = make(draw, data.target_language)
        if _split_of(pair.target) == split:
            pairs.setdefault(pair.source, pair)
    return list(pairs.values())


def _split_of(answer: str) -> str:
    share = zlib.crc32(answer.encode()) % 100
    if share < TEST_SHARE:
        return "test"
    return "validation" if share < TEST_SHARE + VALIDATION_SHARE else "train"


def has_test_split(_: TasksConfig) -> bool:
    """Whether the configuration names a test split: it always does."""
    return True
