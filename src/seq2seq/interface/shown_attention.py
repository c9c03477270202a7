"""Attention of any model, which a notebook shows."""

from dataclasses import dataclass

from seq2seq.tensorboard.export import export_record
from seq2seq.tensorboard.plugin.page import framed
from seq2seq.tensorboard.record_format import AttentionRecord

AROUND, ROW, LAYER = 330, 30, 110
"""Heights of what is around the matrix of the viewer, a row of it, the maps of a layer [pixels]."""
HIGHEST = 900


@dataclass(frozen=True, slots=True)
class ShownAttention:
    """Attention that a notebook shows as the viewer of the Attention tab.

    Attributes:
        record: weights and tokens.
        kind: where the target tokens come from.
        title: of the page.
    """

    record: AttentionRecord
    kind: str = "attention"
    title: str = "Attention"

    def _repr_html_(self) -> str:
        height = AROUND + ROW * len(self.record.target) + LAYER * sum(self.record.maps[:1])
        document = export_record(self.record, kind=self.kind, title=self.title)
        return framed(document, height=min(HIGHEST, height))
