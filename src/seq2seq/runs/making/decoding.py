"""The search that a configuration describes, and how long its translations may be."""

from seq2seq.config import DecodingConfig
from seq2seq.decoding.lengths import LengthBounds, LengthPenalty
from seq2seq.decoding.search import Search
from seq2seq.text.store import EncodedSplit


def build_search(decoding: DecodingConfig) -> Search:
    """The beam search by which a finished run is scored."""
    return Search(
        beam=decoding.beam, penalty=LengthPenalty(decoding.length_penalty.value, decoding.alpha)
    )


def build_bounds(decoding: DecodingConfig, train: EncodedSplit) -> LengthBounds:
    """How long translations may be, for all searches of a run and of its model."""
    if decoding.max_length is not None:
        return LengthBounds(max_factor=decoding.max_length)
    return LengthBounds.fitted(train.source.lengths, train.target.lengths)


def length_warning(name: str, split: EncodedSplit, bounds: LengthBounds) -> str | None:
    """A line where references are longer than translations may be; else None."""
    num_over = bounds.num_over(split.source.lengths, split.target.lengths)
    if not num_over:
        return None
    return (
        f"WARNING: {num_over:,} of {len(split):,} {name} references are longer than translations "
        f"may be ({bounds.max_factor:g} tokens for a source token and {bounds.max_extra} more): "
        "set decoding.max_length"
    )
