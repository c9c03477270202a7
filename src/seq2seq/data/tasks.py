"""Toy tasks with a known answer: dates, reversed symbols, numbers in words."""

import random
import zlib
from collections.abc import Collection
from datetime import date, timedelta

from seq2seq.common.errors import InputError
from seq2seq.data.text import SentencePair

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
"""Formats of a date; in the one of digits only, the day is first."""

SYMBOLS = "abcdefghijklmnopqrstuvwxyz"
MAX_SYMBOLS = 12

MOST_DIGITS = 6

TEST_SHARE, VALIDATION_SHARE = 6, 3
"""Percentages of all answers that are reserved for the test and the validation split."""


def dates(draw: random.Random, _: str) -> SentencePair:
    """Return a date in one of the formats, and in ISO 8601."""
    day = FIRST + timedelta(draw.randrange(NUM_DAYS))
    parts = {
        "day": day.day,
        "ordinal": ordinal(day.day),
        "month": MONTHS[day.month - 1],
        "number": day.month,
        "year": day.year,
        "weekday": WEEKDAYS[day.weekday()],
    }
    return SentencePair(draw.choice(WAYS).format(**parts), day.isoformat())


def ordinal(day: int) -> str:
    """Return the English ordinal of a day of a month: 1st, 2nd, 3rd, 4th."""
    return f"{day}{'th' if day in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def reverse(draw: random.Random, _: str) -> SentencePair:
    """Return symbols, and the same symbols in reverse order, with their links."""
    symbols = draw.choices(SYMBOLS, k=draw.randint(1, MAX_SYMBOLS))
    links = tuple((place, len(symbols) - 1 - place) for place in range(len(symbols)))
    return SentencePair(" ".join(symbols), " ".join(symbols[::-1]), links)


def numbers(draw: random.Random, language: str) -> SentencePair:
    """Return a number in digits, and in words of a language, without commas."""
    from num2words import num2words

    number = draw.randrange(10 ** draw.randint(1, MOST_DIGITS))
    return SentencePair(str(number), num2words(number, lang=language).replace(",", ""))


def languages_of_numbers() -> Collection[str]:
    """Return the languages in which numbers can be written.

    Raises:
        InputError: The package that writes them is not installed.
    """
    try:
        from num2words import CONVERTER_CLASSES
    except ImportError as error:
        raise InputError("data.task=numbers needs a package: pip install num2words") from error
    return list(CONVERTER_CLASSES)


TASKS = {"dates": dates, "reverse": reverse, "numbers": numbers}


PATIENCE = 200_000
"""Draws without a new pair, after which a split is said to have no more."""


def task_pairs(task: str, split: str, count: int, seed: int, language: str) -> list[SentencePair]:
    """Return distinct pairs of a split; no answer occurs in two splits.

    The language is that of the words of the task ``numbers``.

    Raises:
        InputError: There is no such task or language, or `count` is too large.
    """
    if task not in TASKS:
        raise InputError(f"data.task={task}: choose one of {', '.join(TASKS)}")
    if task == "numbers" and language not in languages_of_numbers():
        known = ", ".join(sorted(languages_of_numbers()))
        raise InputError(f"data.target_language={language}: the task numbers has {known}")
    if count > 500_000:
        raise InputError(f"data.{split}_pairs={count:,}: a task has 500,000 pairs at most")
    draw = random.Random(f"{seed} {split}")
    pairs: dict[str, SentencePair] = {}
    in_vain = 0
    while len(pairs) < count:
        pair = TASKS[task](draw, language)
        share = zlib.crc32(pair.target.encode()) % 100
        held = share < TEST_SHARE + VALIDATION_SHARE
        own = ("test" if share < TEST_SHARE else "validation") if held else "train"
        in_vain = 0 if own == split and pair.source not in pairs else in_vain + 1
        if in_vain == PATIENCE:
            raise InputError(
                f"data.{split}_pairs={count:,}: the task {task} has about {len(pairs):,} of them"
            )
        if own == split:
            pairs.setdefault(pair.source, pair)
    return list(pairs.values())
