"""The search that a configuration describes."""

from seq2seq.config import DecodingConfig
from seq2seq.decoding.lengths import LengthPenalty
from seq2seq.decoding.search import Search


def build_search(decoding: DecodingConfig) -> Search:
    """The beam search by which a finished run is scored."""
    return Search(
        beam=decoding.beam,
        penalty=LengthPenalty(decoding.length_penalty.value, decoding.alpha),
    )
