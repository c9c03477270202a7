"""Reading sentence pairs, tokenizers, and batches with masks.

Each is imported when it is used: text is read without PyTorch, and translating loads without Lightning.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seq2seq.data.text import SentencePair, Splits

if TYPE_CHECKING:
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
    from seq2seq.data.libreoffice import LibreOfficeHelp
    from seq2seq.data.multilingual import MultilingualText
    from seq2seq.data.tokenizers import (
        CharacterTokenizer,
        HuggingFaceTokenizer,
        SentencePieceTokenizer,
        Tokenizer,
        WhitespaceTokenizer,
        WordTokenizer,
    )
    from seq2seq.data.torchtext_corpus import TorchtextCorpus

__all__ = [
    "Batch", "CharacterTokenizer", "EncodedSplit", "GrammarCorpus", "HuggingFaceCorpus",
    "HuggingFaceTokenizer", "LargeText", "LibreOfficeHelp", "Multi30k", "MultilingualText", "PairsCorpus", "ParallelText",
    "SentencePair", "SentencePieceTokenizer", "SourceBatch", "Splits", "TabSeparatedText", "TaskCorpus", "Tokenizer", "TorchtextCorpus",
    "TranslationDataModule", "WhitespaceTokenizer", "WordTokenizer",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {
        "Batch": "batch", "EncodedSplit": "batch", "SourceBatch": "batch", "TranslationDataModule": "datamodule",
        "LargeText": "large", "LibreOfficeHelp": "libreoffice", "MultilingualText": "multilingual",
        "TorchtextCorpus": "torchtext_corpus",
    }  # fmt: skip
    usual = "tokenizers" if name.endswith("Tokenizer") else "corpora"
    return getattr(import_module(f"{__name__}.{modules.get(name, usual)}"), name)
