"""Pretrained word vectors from a text file, in the formats of word2vec and GloVe.

Each line has a token and its numbers, separated by single spaces. The first line of word2vec, with the numbers of
tokens and dimensions, is optional. Reading the file executes no code.
"""

import gzip
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from seq2seq.data.vocabulary import SPACE_MARK
from seq2seq.errors import InputError


def load_vectors(path: str | Path, tokens: Sequence[str], embedding: nn.Embedding) -> int:
    """Set the rows of an embedding to the vectors of its tokens in a file; the first vector of a token is used.

    A subword at the beginning of a word (▁dog) gets the vector of the word (dog) if the file has no vector for it.

    Args:
        path: The file, plain or ``.gz``.
        tokens: The tokens in the order of their ids.
        embedding: The embedding (V, E) of these tokens; the vectors must have size E.

    Returns:
        The number of rows that were set.

    Raises:
        InputError: The file is missing or damaged, a line is not a vector of size E, or the file has no vector for any
            token.
    """
    size, path = embedding.embedding_dim, Path(path)
    ids_of_token: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        for name in {token, token.removeprefix(SPACE_MARK)} - {""}:
            ids_of_token.setdefault(name, []).append(index)
    found: dict[int, bool] = {}  # id -> whether the token itself had a vector
    try:
        open_file = gzip.open if path.suffix == ".gz" else open
        with open_file(path, "rt", encoding="utf-8") as file, torch.no_grad():
            for number, line in enumerate(file, start=1):
                token, *numbers = line.rstrip(" \r\n").split(" ")
                if number == 1 and len(numbers) == 1 and size != 1:  # the header of word2vec
                    if numbers[0] != str(size):
                        raise InputError(
                            f"{path} line 1: vectors of size {numbers[0]}, the model's are {size}: "
                            f"set model.embedding_size={numbers[0]}"
                        )
                    continue
                if len(numbers) != size:
                    raise InputError(
                        f"{path} line {number}: a token and {len(numbers)} numbers, not {size}: set "
                        "model.embedding_size to the size of the vectors"
                    )
                for index in ids_of_token.get(token, ()):
                    exact = tokens[index] == token
                    if index not in found or (exact and not found[index]):
                        vector = torch.tensor([float(each) for each in numbers])
                        if not vector.isfinite().all():
                            raise InputError(f"{path} line {number}: a number is not finite")
                        embedding.weight[index] = vector
                        found[index] = exact
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: give the text format of the vectors") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} line {number}: not a number ({error})") from error
    if not found:
        raise InputError(f"{path} has a vector for no token of the vocabulary: is it the language?")
    return len(found)
