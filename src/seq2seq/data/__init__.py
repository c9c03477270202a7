"""Reading sentence pairs, tokenizers, and batches with masks."""

from seq2seq.data.batch import Batch, EncodedSplit, SourceBatch
from seq2seq.data.corpora import (
    GrammarCorpus,
    HuggingFaceCorpus,
    Multi30k,
    PairsCorpus,
    ParallelText,
    TabSeparatedText,
    TaskCorpus,
)
from seq2seq.data.datamodule import TranslationDataModule
from seq2seq.data.large import LargeText
from seq2seq.data.text import SentencePair, Splits
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    HuggingFaceTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)

__all__ = [
    "Batch", "CharacterTokenizer", "EncodedSplit", "GrammarCorpus", "HuggingFaceCorpus",
    "HuggingFaceTokenizer", "LargeText", "Multi30k", "PairsCorpus", "ParallelText", "SentencePair",
    "SentencePieceTokenizer", "SourceBatch", "Splits", "TabSeparatedText", "TaskCorpus", "Tokenizer",
    "TranslationDataModule", "WhitespaceTokenizer", "WordTokenizer",
]  # fmt: skip
