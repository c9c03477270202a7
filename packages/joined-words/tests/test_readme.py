"""The examples of the README."""

import doctest
from pathlib import Path


def test_the_readme_says_what_is_so():
    path = Path(__file__).parents[1] / "README.md"
    failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert tried > 5
    assert not failed
