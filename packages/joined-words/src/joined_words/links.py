"""Links between the words of a sentence and those of its translation: gold alignments, their error rate, parts of words.

A link is a pair (source word, target word), counted from 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate
from operator import add

Links = tuple[tuple[int, int], ...]
LinkSet = frozenset[tuple[int, int]]


class LinkError(ValueError):
    """A link is outside its pair of sentences."""


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """A gold alignment of a sentence pair.

    Attributes:
        sure: Links that an alignment must have.
        possible: Links that it may have, the sure ones included (Och and Ney 2003).
    """

    sure: LinkSet
    possible: LinkSet

    @classmethod
    def from_links(
        cls, links: Iterable[tuple[int, int]], only_possible: Iterable[tuple[int, int]] = ()
    ) -> "GoldAlignment":
        """Make a gold alignment from all links, and those of them that are possible only."""
        every = frozenset(links)
        return cls(every - frozenset(only_possible), every)


@dataclass(frozen=True, slots=True)
class AlignmentCounts:
    """Counts of links over one or more sentence pairs; they can be added.

    Attributes:
        num_links: |A|, links found.
        num_sure: |S|, sure links of the gold alignment.
        num_found_sure: |A ∩ S|.
        num_found_possible: |A ∩ P|.
    """

    num_links: int = 0
    num_sure: int = 0
    num_found_sure: int = 0
    num_found_possible: int = 0

    @classmethod
    def of(cls, links: LinkSet, gold: GoldAlignment) -> "AlignmentCounts":
        """Count the links of a sentence pair against the gold alignment."""
        return cls(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        return AlignmentCounts(*map(add, astuple(self), astuple(other)))

    @property
    def precision(self) -> float:
        """Precision |A ∩ P| / |A|; 1 if no link is found."""
        return self.num_found_possible / self.num_links if self.num_links else 1.0

    @property
    def recall(self) -> float:
        """Recall |A ∩ S| / |S|; 1 if there are no sure links."""
        return self.num_found_sure / self.num_sure if self.num_sure else 1.0

    @property
    def error_rate(self) -> float:
        """Alignment error rate 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) of Och and Ney (2003); 0 is perfect."""
        total = self.num_links + self.num_sure
        return 1 - (self.num_found_sure + self.num_found_possible) / total if total else 0.0

    def metrics(self) -> dict[str, float]:
        """Return AER, precision and recall by name."""
        return {"aer": self.error_rate, "precision": self.precision, "recall": self.recall}


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links as a sorted line in Pharaoh format, without the line end."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def require_inside(
    links: Iterable[tuple[int, int]],
    sizes: tuple[int, int],
    what: str = "words between white space, and letters of Chinese and Japanese,",
) -> None:
    """Check that links are inside a pair of sentences.

    Args:
        links: The links.
        sizes: Number of words of the source and of the target.
        what: The words that are counted, for the message.

    Raises:
        LinkError: A link is outside.
    """
    for i, j in sorted(links):
        if i >= sizes[0] or j >= sizes[1]:
            raise LinkError(
                f"link {i}-{j} is outside the sentence pair of {sizes[0]} and {sizes[1]:,} "
                f"word{'' if sizes[1] == 1 else 's'}: count {what} from 0"
            )


def links_of_parts(
    links: Links, possible: Links, source: Sequence[Sequence[str]], target: Sequence[Sequence[str]]
) -> tuple[Links, Links]:
    """Return (all links, possible links) between parts of words, from those between the words.

    In "bushes." and "Büsche." the words and the full stops belong together. Of "bushes," and "Büsche" the comma has no like:
    the link tells nothing sure of it.

    Args:
        links: All links between the words, inside of the pair, see `require_inside`.
        possible: Those of them that are possible, not sure.
        source: The parts of each source word, see `text_word_parts`.
        target: The same of the target.
    """
    sides = _numbered(source), _numbered(target)
    whole, sure = set(), set()
    for i, j in links:
        source_parts, target_parts = sides[0][i], sides[1][j]
        pairs = {(a, b): (x, y) for a, x in source_parts.items() for b, y in target_parts.items()}
        alike = {link for link, (x, y) in pairs.items() if x == y}
        kinds = set(source_parts.values()), set(target_parts.values())
        alone = {link for link, (x, y) in pairs.items() if x not in kinds[1] or y not in kinds[0]}
        whole |= alike | alone
        if (i, j) not in possible:
            sure |= alike or alone
    return tuple(sorted(whole)), tuple(sorted(whole - sure))


def _numbered(words: Sequence[Sequence[str]]) -> list[dict[int, bool]]:
    """Return, for each word, the indices of its parts, with False for punctuation."""
    parts = [[any(map(str.isalnum, part)) for part in word] for word in words]
    ends = accumulate(map(len, parts), initial=0)
    return [dict(enumerate(each, start)) for each, start in zip(parts, ends, strict=False)]
