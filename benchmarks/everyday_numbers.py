"""Sentences with figures, and the share of translations that keep all of them.

    python -m benchmarks.everyday_numbers sentences > numbers.txt         # 200 sentences
    seq2seq translate MODEL --beam-size 5 < numbers.txt > numbers.fr
    python -m benchmarks.everyday_numbers judge numbers.txt numbers.fr

A point and a comma in a figure count as the same, as do a colon and an h of a time; white space in a figure is left out.
"""

import random
import re
import sys
from pathlib import Path

TEMPLATES = (
    "It costs {price} euros.", "The ticket costs {small} euros.", "I paid {large} dollars for it.", "He is {age} years old.",
    "She was born in {year}.", "The war ended in {year}.", "There are {large} people in the village.",
    "My room is number {room}.", "The train leaves at {time}.", "We meet at {time}.", "It is {small} kilometers from here.",
    "I need {small} eggs.", "The bus number is {room}.", "He lives at {room} Main Street.", "I have read {small} books this year.",
    "The temperature is {small} degrees.", "Turn to page {room}.", "My phone number is {phone}.", "They sold {large} cars in {year}.",
    "The house was built in {year}.",
)  # fmt: skip


def sentences() -> list[str]:
    """Return ten sentences of each template; figures are drawn with a fixed seed."""
    draw = random.Random(5)
    slots = {
        "price": lambda: f"{draw.randint(1, 200)}.{draw.randint(10, 99)}",
        "small": lambda: str(draw.randint(2, 99)),
        "large": lambda: str(draw.randint(100, 9999)),
        "age": lambda: str(draw.randint(1, 99)),
        "year": lambda: str(draw.randint(1800, 2030)),
        "room": lambda: str(draw.randint(2, 999)),
        "time": lambda: f"{draw.randint(1, 12)}:{draw.randint(10, 59)}",
        "phone": lambda: f"{draw.randint(100, 999)} {draw.randint(1000, 9999)}",
    }
    found = []
    for template in TEMPLATES:
        for _ in range(10):
            found.append(re.sub(r"\{(\w+)\}", lambda slot: slots[slot[1]](), template))
    return found


def figures(text: str) -> list[str]:
    """Return the figures of a sentence in order of their digits, in one spelling."""
    spelled = re.sub(r"(?<=\d)[,:. ]*(?:h ?)?(?=\d)", "", text)
    return sorted(re.findall(r"\d+", spelled))


def main() -> None:
    """Print the sentences, or the share that keeps its figures and the translations that do not."""
    if sys.argv[1:2] == ["sentences"]:
        print("\n".join(sentences()))
        return
    sources, targets = (Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[2:4])
    wrong = [pair for pair in zip(sources, targets, strict=True) if figures(pair[0]) != figures(pair[1])]
    for source, target in wrong:
        print(f"{source}\t{target}")
    print(f"{100 - 100 * len(wrong) / len(sources):.1f} % of {len(sources)} keep all figures")


if __name__ == "__main__":
    main()
