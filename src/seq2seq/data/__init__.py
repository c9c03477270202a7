"""Reading sentence pairs, tokenizers, and batches with masks.

Each is imported when it is used: text is read without PyTorch, and translating loads without Lightning.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from seq2seq.data.text import SentencePair, Splits

if TYPE_CHECKING:
    from seq2seq.data.batch import Batch, EncodedSplit, SourceBatch
    from seq2seq.data.corpora.everyday import EverydayCorpus
    from seq2seq.data.corpora.grammar import GrammarCorpus
    from seq2seq.data.corpora.large import LargeText
    from seq2seq.data.corpora.libreoffice import LibreOfficeHelp
    from seq2seq.data.corpora.multi30k import Multi30k
    from seq2seq.data.corpora.multilingual import MultilingualText
    from seq2seq.data.corpora.pairs import PairsCorpus
    from seq2seq.data.corpora.parallel import ParallelText
    from seq2seq.data.corpora.tab_separated import TabSeparatedText
    from seq2seq.data.corpora.torchtext import TorchtextCorpus
    from seq2seq.data.corpora.toy_tasks import TaskCorpus
    from seq2seq.data.datamodule import MaxLength, TranslationDataModule
    from seq2seq.data.split import Split
    from seq2seq.data.tokenizers import (
        CharacterTokenizer,
        SentencePieceTokenizer,
        Tokenizer,
        WhitespaceTokenizer,
        WordTokenizer,
    )

__all__ = [
    "Batch", "CharacterTokenizer", "EncodedSplit", "EverydayCorpus", "GrammarCorpus", "LargeText", "LibreOfficeHelp", "MaxLength", "Multi30k", "MultilingualText", "PairsCorpus", "ParallelText",
    "SentencePair", "SentencePieceTokenizer", "SourceBatch", "Split", "Splits", "TabSeparatedText", "TaskCorpus", "Tokenizer", "TorchtextCorpus",
    "TranslationDataModule", "WhitespaceTokenizer", "WordTokenizer",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    modules = {
        "Batch": "batch", "EncodedSplit": "batch", "SourceBatch": "batch", "MaxLength": "datamodule", "TranslationDataModule": "datamodule",
        "Split": "split",
        "EverydayCorpus": "corpora.everyday",
        "GrammarCorpus": "corpora.grammar", "LargeText": "corpora.large",
        "LibreOfficeHelp": "corpora.libreoffice", "Multi30k": "corpora.multi30k", "MultilingualText": "corpora.multilingual",
        "PairsCorpus": "corpora.pairs", "ParallelText": "corpora.parallel", "TabSeparatedText": "corpora.tab_separated",
        "TaskCorpus": "corpora.toy_tasks", "TorchtextCorpus": "corpora.torchtext",
    }  # fmt: skip
    return getattr(import_module(f"{__name__}.{modules.get(name, 'tokenizers')}"), name)
