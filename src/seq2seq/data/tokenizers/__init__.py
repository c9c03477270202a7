"""Tokenizers: text to token ids and back, each with its vocabulary; a file each."""

from seq2seq.data.tokenizers.character import CharacterTokenizer
from seq2seq.data.tokenizers.subwords import SentencePieceTokenizer
from seq2seq.data.tokenizers.tokenizer import Tokenizer, load_tokenizers, save_proved
from seq2seq.data.tokenizers.whitespace import WhitespaceTokenizer
from seq2seq.data.tokenizers.word import WordTokenizer

__all__ = [
    "CharacterTokenizer", "SentencePieceTokenizer", "Tokenizer", "WhitespaceTokenizer", "WordTokenizer",
    "load_tokenizers", "save_proved",
]  # fmt: skip
