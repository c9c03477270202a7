import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pytest
import torch

from seq2seq.common.errors import InputError
from seq2seq.data.vocabulary import SPECIALS
from seq2seq.models.vectors import load_vectors

TOKENS = [*SPECIALS, "dog", "▁cat", "▁dog", "sat", "3"]


def read(tmp_path, content, size=2, name="vectors.txt"):
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    embedding = torch.nn.Embedding(len(TOKENS), size)
    torch.nn.init.zeros_(embedding.weight)
    load_vectors(path, TOKENS, embedding)
    return embedding.weight.detach()


@pytest.mark.parametrize("header", ["", "4 2\n"])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_wanted_tokens_get_their_vectors_and_others_are_passed_over(tmp_path, header, name):
    content = "house 9 9\ndog 1 2\r\n3 -4e-1 5 \ncat 0.5 7\ndog 8 8\n<unk> 6 6\n"
    vectors = read(tmp_path, header + content, name=name)
    np.testing.assert_allclose(vectors[4:], [[1, 2], [0.5, 7], [1, 2], [0, 0], [-0.4, 5]], rtol=1e-6)
    assert not vectors[1:4].any()


def test_a_subword_prefers_its_own_vector_to_that_of_its_word(tmp_path):
    for content in ("dog 1 1\n▁dog 2 2\n", "▁dog 2 2\ndog 1 1\n"):
        vectors = read(tmp_path, content)
        np.testing.assert_allclose(vectors[4:7], [[1, 1], [0, 0], [2, 2]])


@pytest.mark.parametrize(
    "content",
    [
        "dog 1 2\n. . . 3 4\nat name@domain.com 5 6\n3 7 8\n",
        "5 2\ndog\t1\t2\n. . .\t3\t4\n3\t7\t8\n",
        "dog 1 2\na\u2028b 3 4\n\u00a0 1 1\nx\ry 5 5\n3 7 8\n",
        "\ufeffdog  1 2\n3 7 8\n",
    ],
    ids=["tokens-with-spaces", "tabs-and-header", "other-line-ends", "byte-order-mark-and-two-spaces"],
)
def test_tokens_may_hold_spaces_and_columns_may_be_separated_by_tabs(tmp_path, content):
    for packed in (
        str.encode,
        lambda text: bz2.compress(text.encode()),
        lambda text: lzma.compress(text.encode()),
        zipped,
    ):
        vectors = read(tmp_path, packed(content))
        np.testing.assert_allclose(vectors[4:], [[1, 2], [0, 0], [1, 2], [0, 0], [7, 8]])


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("glove.2d.vec", content)
    return buffer.getvalue()


WRONG = {
    "a\n": "line 1: 0 numbers, the model's vectors have 2: set model.embedding_size",
    "dog 1 2\nsat 1 2 3\n": "line 2: 3 numbers",
    "dog 1 2\n\n": "line 2: 0 numbers",
    "dog 1 two\n": "line 1: not a number",
    "dog 1 2\nsat 1 nan\n": "line 2: a number is not finite",
    "dog 1 1e99\n": "line 1: a number is not finite",
    "5 300\ndog 1 2\n": "line 1: 300 numbers",
    "house 1 2\n": "a vector for no token of the vocabulary",
    "": "a vector for no token of the vocabulary",
    b"dog 1 2\n\x80\x04 1 2\n": "is not UTF-8",
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("content", WRONG, ids=lambda content: repr(content)[:20])
def test_wrong_lines_are_refused_by_their_number(tmp_path, content):
    with pytest.raises(InputError, match=re.escape(WRONG[content])) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_is_refused():
    with pytest.raises(InputError, match="absent"):
        load_vectors("absent", TOKENS, torch.nn.Embedding(len(TOKENS), 2))
