"""The built-in corpus of a grammar."""

from bitext import parse_links
from joined_words import require_inside, split_words
from seq2seq.data.addresses import refusing
from seq2seq.data.corpora.split_file import BuiltIn
from seq2seq.data.text import SentencePair


class GrammarCorpus(BuiltIn):
    """The built-in English-French corpus of ``data/grammar/generate.py``, with gold alignments.

    A file of yours has the columns split, source, target, and alignment in Pharaoh format, which links the words that
    `split_words` returns (``bushes.`` are two).
    """

    corpus = "grammar"
    columns = ["source", "target", "links"]  # noqa: RUF012 - read only

    def pair(self, cells: list[str], place: str) -> SentencePair:
        """Return the pair with its links; those of a file of yours are checked."""
        source, target, links = cells
        with refusing(place):
            every, possible = parse_links(links)
            if self.is_own:
                sizes = len(split_words(source)), len(split_words(target))
                require_inside(every, sizes, "words and punctuation marks apart,")
        return SentencePair(source, target, every, possible)
