"""What text a model knows, and of which translations it is less sure than of nearly all of that text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from seq2seq.common.errors import InputError
from seq2seq.common.named import without_unknown
from seq2seq.data.folders import example_sentences
from seq2seq.data.words import split_words

SHORT = 10
"""Words and signs of a short sentence at most."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Examples of the text that a model knows, and a bound of its probabilities.

    Attributes:
        examples: Sentences of the text that chose the model, of those that it is most sure of.
        least: Mean log-probability of a token that 95 % of its translations of this text have at least; one with less is a
            guess.

    Raises:
        InputError: An example is no printable text, or the bound no number.
    """

    examples: tuple[str, ...]
    least: float

    def __post_init__(self) -> None:
        for each in self.examples:
            if not isinstance(each, str) or not _is_shown(each):
                raise InputError(f"an example of what a model knows is no short printable text: {each!r:.40}")
        if not isinstance(self.least, int | float) or not isfinite(self.least):
            raise InputError(f"the bound of a guess is a number, not {self.least!r:.40}")

    @classmethod
    def learned(cls, sources: Sequence[str], confidences: Sequence[float]) -> "Knowledge":
        """Return what a model knows, from sentences that are not of its training and `Translation.confidence` of each."""
        surest = [
            sources[place] for place in sorted(range(len(sources)), key=lambda place: -confidences[place])
        ]
        short = [each for each in surest if len(split_words(each)) <= SHORT]
        examples = [each for each in example_sentences(short + surest) if _is_shown(each)]
        return cls(tuple(examples), sorted(confidences)[len(confidences) // 20])

    @classmethod
    def of(cls, saved: Mapping[str, Any] | None, place: str) -> "Knowledge | None":
        """Return what a config.json, named by `place`, holds; folders of earlier versions have none."""
        if saved is None:
            return None
        found = without_unknown(cls, dict(saved), place)
        return cls(tuple(found["examples"]), found["least"])

    def quoted(self) -> str:
        """Return the examples in a line."""
        return " ".join(f"“{each}”" for each in self.examples)

    def warning(self, num_guesses: int, lines: str) -> str:
        """Return a line that says how many of the `lines`, such as "20 lines", are guesses."""
        verb = "is a guess" if num_guesses == 1 else "are guesses"
        return (
            f"{num_guesses:,} of {lines} {verb}: the model is less sure of what it says than in 95 % of the text that it knows, "
            f"such as {self.quoted()}"
        )


def _is_shown(example: str) -> bool:
    """Return whether a text is short, and has no signs that a terminal obeys."""
    return example.isprintable() and len(example) <= 500
