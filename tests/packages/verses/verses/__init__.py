"""A corpus of another package: two translations of one book, paired by the numbers of verses."""

from dataclasses import dataclass
from pathlib import Path

from seq2seq.config import Corpus, CorpusOptions, setting
from seq2seq.text.corpus import ParallelCorpus, SentencePair, in_file_order, read_lines


@dataclass(kw_only=True, slots=True)
class VerseOptions(CorpusOptions):
    """`data=verses`."""

    source: str = setting("file of numbered verses, number and text with a tab between")
    target: str = setting("file of the same verses in the other language")
    held_out: int = setting("verses for validation, and for the test", low=1, unit="verses")


def read(options):
    """The verses that both files have, in the order of the source."""
    sources, targets = (
        dict(line.split("\t", 1) for line in read_lines(Path(path)))
        for path in (options.source, options.target)
    )
    pairs = [SentencePair(sources[each], targets[each]) for each in sources if each in targets]
    rest = len(pairs) - 2 * options.held_out
    return ParallelCorpus(*in_file_order(pairs, (rest, options.held_out, options.held_out)))


verses = Corpus(VerseOptions, read)
