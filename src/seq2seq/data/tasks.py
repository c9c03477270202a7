"""Small tasks whose right answer is known: dates, reversed symbols, numbers in words."""

import random
import zlib
from datetime import date, timedelta

from seq2seq.data.text import SentencePair
from seq2seq.errors import InputError

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
    """Return a date in words or digits, and by ISO 8601."""
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
    """Return symbols, and the same from the last to the first, with their links."""
    symbols = draw.choices(SYMBOLS, k=draw.randint(1, LONGEST))
    links = tuple((place, len(symbols) - 1 - place) for place in range(len(symbols)))
    return SentencePair(" ".join(symbols), " ".join(symbols[::-1]), links)


def numbers(draw: random.Random, language: str) -> SentencePair:
    """Return a number in digits and in words."""
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


TASKS = {"dates": dates, "reverse": reverse, "numbers": numbers}


def task_pairs(task: str, split: str, count: int, seed: int, language: str) -> list[SentencePair]:
    """Return distinct pairs of a split; no answer of a split is one of another split.

    Args:
        task: ``dates``, ``reverse`` or ``numbers``.
        split: ``train``, ``validation`` or ``test``.
        count: Number of pairs.
        seed: Of what is drawn.
        language: Of the target, for numbers.

    Raises:
        InputError: There is no such task or language, or it has fewer pairs.
    """
    if task not in TASKS:
        raise InputError(f"data.task={task}: choose one of {', '.join(TASKS)}")
    if task == "numbers" and language not in SMALL:
        raise InputError(f"data.target_language={language}: data.task=numbers says en or fr")
    if count > 500_000:
        raise InputError(f"data.{split}_pairs={count:,}: a task has 500,000 pairs at most")
    draw = random.Random(f"{seed} {split}")
    pairs: dict[str, SentencePair] = {}
    while len(pairs) < count:
        pair = TASKS[task](draw, language)
        share = zlib.crc32(pair.target.encode()) % 100
        held = share < TEST_SHARE + VALIDATION_SHARE
        own = ("test" if share < TEST_SHARE else "validation") if held else "train"
        if own == split:
            pairs.setdefault(pair.source, pair)
    return list(pairs.values())
