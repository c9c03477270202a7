"""Pretrained word vectors from a text file, in the formats of word2vec, GloVe and fastText.

Each line has a token and its numbers, separated by single spaces or tabs; a token may hold spaces, as some of GloVe's do.
The first line of word2vec and fastText, with the numbers of tokens and dimensions, is optional. Reading the file executes
no code.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from seq2seq.common.errors import InputError
from seq2seq.data.text import stream_bytes
from seq2seq.data.vocabulary import ids_by_name

HEADER = re.compile(rb"\d+[ \t]+\d+")
"""Number of tokens and of dimensions: the first line of word2vec's text format."""


def load_vectors(path: str | Path, tokens: Sequence[str], embedding: nn.Embedding) -> int:
    """Set the rows of an embedding to the vectors of its tokens in a file; the first vector of a token is used.

    A token with a mark of spaces (▁dog) gets the vector of the word (dog) if the file has no vector for it.

    Args:
        path: The file, plain, ``.gz``, ``.bz2``, ``.xz`` or the only file of a zip archive.
        tokens: The tokens in the order of their ids.
        embedding: The embedding (V, E) of these tokens; the vectors must have size E.

    Returns:
        The number of rows that were set.

    Raises:
        InputError: The file is missing or damaged, a line is not a vector of size E, or the file has no vector for any
            token.
    """
    size = embedding.embedding_dim
    ids_of_token = ids_by_name(tokens)
    found: dict[int, bool] = {}  # id -> whether the token itself had a vector
    number = 0
    try:
        with torch.no_grad():
            for number, line in enumerate(stream_bytes(path), start=1):
                content = line.removeprefix(BOM_UTF8).rstrip(b" \t\r\n")
                if number == 1 and size != 1 and HEADER.fullmatch(content):
                    require_size(path, int(content.split()[1]), size)
                    continue
                token, numbers = split_line(path, number, content, size)
                for index in ids_of_token.get(token, ()):
                    exact = tokens[index] == token
                    if index not in found or (exact and not found[index]):
                        vector = torch.tensor([float(each) for each in numbers])
                        if not vector.isfinite().all():
                            raise InputError(f"{path} line {number}: a number is not finite")
                        embedding.weight[index] = vector
                        found[index] = exact
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} line {number} is not UTF-8: give the text format of the vectors (.vec, .txt), not the binary one (.bin)"
        ) from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} line {number}: not a number ({error})") from error
    if not found:
        raise InputError(f"{path} has a vector for no token of the vocabulary: is it the language?")
    return len(found)


def split_line(path: str | Path, number: int, content: bytes, size: int) -> tuple[str, list[bytes]]:
    """Return the token of a line and its last `size` fields.

    Raises:
        InputError: There are fewer fields, or more and all but the first are numbers.
    """
    mark = b"\t" if content.count(b"\t") >= size else b" "
    fields = content.split(mark)
    if len(fields) <= size or (len(fields) > size + 1 and all(map(is_number, fields[1:]))):
        require_size(path, len(fields) - 1, size, number)
    return mark.join(fields[:-size]).strip().decode("utf-8"), fields[-size:]


def is_number(field: bytes) -> bool:
    """Return whether a field of a line is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def require_size(path: str | Path, found: int, size: int, line: int = 1) -> None:
    """Check the size of the vectors.

    Raises:
        InputError: It is not that of the model's embeddings.
    """
    if found != size:
        raise InputError(
            f"{path} line {line}: {found} numbers, the model's vectors have {size}: set model.embedding_size to the size of "
            "the file's vectors"
        )
