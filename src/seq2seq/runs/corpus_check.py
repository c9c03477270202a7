"""The corpus check: what training would read, and what is odd about it. No model is built."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from seq2seq.config import Config, ParallelConfig
from seq2seq.runs.making.by_size import sized
from seq2seq.runs.making.text import build_codecs, encode_held_out, encode_pairs
from seq2seq.text.bucketing import BatchSize, shuffled_order
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.text.inspection import inspection_report
from seq2seq.text.shards import sample_pairs
from seq2seq.text.store import require_pairs


def check_corpus(config: Config, corpus: ParallelCorpus) -> str:
    """Tokenise a corpus as training would, and describe it.

    Raises:
        InputError: options do not go with the corpus, or no training pair is left.
    """
    config = sized(config, len(corpus.train))
    if corpus.large:
        if not isinstance(config.data, ParallelConfig):
            raise TypeError(f"{type(config.data).__name__} has no large files")
        fraction = config.data.validation.fraction or 0.0
        sample, count = sample_pairs(corpus.large, fraction, config.data.split_seed)
        print(f"of {count:,} training pairs {len(sample):,}, evenly spread, are looked at")
        corpus = replace(corpus, train=sample, large=())
    with TemporaryDirectory() as folder:
        codecs = build_codecs(config.data, corpus, Path(folder))
    named = {"train": corpus.train, "validation": corpus.validation, "test": corpus.test}
    splits = {name: encode_held_out(pairs, codecs) for name, pairs in named.items() if pairs}
    splits["train"] = encode_pairs(config.data, corpus.train, codecs)
    require_pairs("training", splits["train"])
    order = shuffled_order(
        splits["train"].source.lengths,
        splits["train"].target.lengths,
        BatchSize(sentences=config.trainer.batch_sentences, tokens=config.trainer.batch_tokens),
        seed=config.seed,
        epoch=0,
    )
    languages = (config.data.source_language, config.data.target_language)
    return inspection_report(splits, codecs=codecs, languages=languages, order=order)
