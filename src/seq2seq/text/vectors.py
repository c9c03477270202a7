"""Pretrained word vectors from a text file, in the formats of word2vec and GloVe.

A line is a token and its numbers, separated by single spaces; word2vec's first line, the numbers
of tokens and of dimensions, may be there. The file is read line by line: only the vectors of
wanted tokens are kept, and nothing in it can be executed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.errors import InputError
from seq2seq.text.files import InputFile
from seq2seq.text.vocabulary import SPACE_MARK, SPECIALS, Vocabulary


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of some tokens of a vocabulary.

    Attributes:
        ids: the tokens that the file has.
        values: their vectors, a row each.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float32]


def read_vectors(path: Path, vocabulary: Vocabulary, size: int) -> Vectors:
    """The vectors of a vocabulary's tokens; where a token is there twice, the first counts.

    A subword that begins a word (▁dog) takes the vector of that word where it has none itself.

    Raises:
        InputError: the file is missing or damaged, a line is no vector of that size, or no token
            of the vocabulary is in it.
    """
    wanted = _wanted(vocabulary)
    found: dict[int, NDArray[np.float32]] = {}
    exact: set[int] = set()
    for number, line in enumerate(_lines(path), start=1):
        if number == 1 and _is_header(line, path, size):
            continue
        token, vector = _parsed(line, size, f"{path} line {number}")
        for index in wanted.get(token, ()):
            is_exact = vocabulary.tokens[index] == token
            if index not in found or (is_exact and index not in exact):
                found[index] = vector
            exact |= {index} if is_exact else set()
    if not found:
        raise InputError(f"{path} has a vector for no token of the vocabulary: is it the language?")
    ids = np.array(sorted(found), dtype=np.int64)
    return Vectors(ids, np.stack([found[index] for index in ids.tolist()]))


def _wanted(vocabulary: Vocabulary) -> dict[str, list[int]]:
    """Words of the file -> ids of the tokens that they may stand for."""
    wanted: dict[str, list[int]] = {}
    for index, token in enumerate(vocabulary.tokens):
        if index >= len(SPECIALS):
            for name in {token, token.removeprefix(SPACE_MARK)} - {""}:
                wanted.setdefault(name, []).append(index)
    return wanted


def _lines(path: Path) -> Iterator[str]:
    with InputFile(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                yield line.decode("utf-8").rstrip("\r").rstrip(" ")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path} line {number} is not UTF-8: give the text format"
                ) from error


def _is_header(line: str, path: Path, size: int) -> bool:
    fields = line.split(" ")
    if len(fields) != 2 or not all(field.isdecimal() for field in fields) or size == 1:
        return False
    if int(fields[1]) != size:
        raise InputError(
            f"{path} line 1: vectors of size {fields[1]}, the model's are {size}: "
            f"set model.embedding_size={fields[1]}"
        )
    return True


def _parsed(line: str, size: int, where: str) -> tuple[str, NDArray[np.float32]]:
    fields = line.split(" ")
    if len(fields) != size + 1:
        raise InputError(
            f"{where}: a token and {len(fields) - 1} numbers, not {size}: "
            "set model.embedding_size to the size of the vectors"
        )
    try:
        vector = np.array(fields[1:], dtype=np.float32)
    except ValueError as error:
        raise InputError(f"{where}: not a number ({error})") from error
    if not np.isfinite(vector).all():
        raise InputError(f"{where}: a number is not finite")
    return fields[0], vector
