import gzip
import re

import numpy as np
import pytest

from seq2seq.errors import InputError
from seq2seq.text.files import LONGEST_LINE
from seq2seq.text.vectors import read_vectors
from seq2seq.text.vocabulary import SPECIALS, Vocabulary

VOCABULARY = Vocabulary([*SPECIALS, "dog", "▁cat", "▁dog", "sat", "3"])


def read(tmp_path, content, size=2, name="vectors.txt"):
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return read_vectors(path, VOCABULARY, size)


@pytest.mark.parametrize("header", ["", "4 2\n"])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_wanted_tokens_get_their_vectors_and_others_are_passed_over(tmp_path, header, name):
    content = "house 9 9\ndog 1 2\r\n3 -4e-1 5 \ncat 0.5 7\ndog 8 8\n<unk> 6 6\n"
    vectors = read(tmp_path, header + content, name=name)
    assert vectors.ids.tolist() == [4, 5, 6, 8]
    np.testing.assert_allclose(vectors.values, [[1, 2], [0.5, 7], [1, 2], [-0.4, 5]])


def test_a_subword_prefers_its_own_vector_to_that_of_its_word(tmp_path):
    for content in ("dog 1 1\n▁dog 2 2\n", "▁dog 2 2\ndog 1 1\n"):
        vectors = read(tmp_path, content)
        assert vectors.ids.tolist() == [4, 6]
        np.testing.assert_allclose(vectors.values, [[1, 1], [2, 2]])


WRONG = {
    "a\n": "line 1: a token and 0 numbers, not 2",
    "dog 1 2\nsat 1 2 3\n": "line 2: a token and 3 numbers, not 2",
    "dog 1 2\n\n": "line 2: a token and 0 numbers",
    "dog 1 two\n": "line 1: not a number",
    "dog 1 2\nsat 1 nan\n": "line 2: a number is not finite",
    "dog 1 1e99\n": "line 1: a number is not finite",
    "5 300\ndog 1 2\n": "line 1: vectors of size 300, the model's are 2: set model.embedding_size",
    "house 1 2\n": "a vector for no token of the vocabulary",
    "": "a vector for no token of the vocabulary",
    b"dog 1 2\n\x80\x04 1 2\n": "line 2 is not UTF-8",
    b"x" * (LONGEST_LINE + 5): "line 1 is longer than 1,048,576 bytes",
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("content", WRONG, ids=lambda content: repr(content)[:20])
def test_wrong_lines_are_refused_by_their_number(tmp_path, content):
    with pytest.raises(InputError, match=re.escape(WRONG[content])) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_or_damaged_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_vectors(tmp_path / "absent", VOCABULARY, 2)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"dog 1 2\n" * 99)[:-12])
    with pytest.raises(InputError, match="is a damaged gzip file"):
        read_vectors(tmp_path / "cut.gz", VOCABULARY, 2)
