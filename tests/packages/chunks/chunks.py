"""A tokenizer of another package: two characters are a token, in any language."""

from seq2seq.text.splitters import Splitter


def split(text):
    """Cut a sentence; the last piece may be one character."""
    return [text[start : start + 2] for start in range(0, len(text), 2)]


def chunks(language):
    """The splitter of a language."""
    return Splitter(split, "".join)
