"""An attention of another package: a share of the weights stays where it was a step before.

w_t = (1 - share) softmax(a_t) + share w_{t-1}, and w_0 is all on the first token
"""

from dataclasses import dataclass

from torch import nn

from seq2seq.attention.masking import attention_weights
from seq2seq.config import AttentionOptions, setting
from seq2seq.model.attentions.composed import ComposedAttention
from seq2seq.model.attentions.registry import AttentionKind


@dataclass(kw_only=True, slots=True)
class LingeringOptions(AttentionOptions):
    """`attention.options` of `attention=lingering`."""

    share: float = setting("of the weights that stays", low=0, high=1)


class Lingering(nn.Module):
    """The weights above."""

    def __init__(self, normaliser, share):
        super().__init__()
        self.normaliser, self.share = normaliser, share

    def forward(self, scores, queries, is_token, past):
        new = attention_weights(scores, mask=is_token, normaliser=self.normaliser)
        return (1 - self.share) * new + self.share * past.latest


def make(parts, options):
    """Any score, and these weights of it; what it remembers is that of our own attentions."""
    weighing = Lingering(parts.normaliser, options.share)
    return ComposedAttention(parts.score, weighing, parts.dropout)


lingering = AttentionKind(LingeringOptions, make)
