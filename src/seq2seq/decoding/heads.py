"""What each of several heads attends to while a translation is written."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.stepper import Models
from seq2seq.model.attentions.heads import HeadsAttention
from seq2seq.model.parts import AttendingDecoder
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import SourceBatch
from seq2seq.text.vocabulary import BEGIN_ID


def with_heads(
    models: Models, source: SourceBatch, found: Sequence[Sequence[Hypothesis]]
) -> list[list[Hypothesis]]:
    """What a search found of each sentence of a batch, with the weights of every head.

    They come of one more pass, which is forced to write it. Of several models, and of a model
    without several heads, it stays as it is.
    """
    first, *others = [models] if isinstance(models, Seq2Seq) else models
    attention = getattr(first.decoder, "attention", None)
    is_ours = isinstance(first.decoder, AttendingDecoder)
    if others or not is_ours or not isinstance(attention, HeadsAttention):
        return [list(hypotheses) for hypotheses in found]
    counts = torch.tensor([len(hypotheses) for hypotheses in found], device=source.ids.device)
    rows = SourceBatch(
        source.ids.repeat_interleave(counts, dim=0), source.lengths.repeat_interleave(counts)
    )
    written = [each.ids for hypotheses in found for each in hypotheses]
    every = iter(_every_head(first, rows, written).cpu())
    return [
        [
            replace(each, heads=next(every)[:, : len(each.ids), : each.weights.shape[1]])
            for each in hypotheses
        ]
        for hypotheses in found
    ]


@torch.no_grad()
def _every_head(
    model: Seq2Seq, source: SourceBatch, written: Sequence[tuple[int, ...]]
) -> Float[Tensor, "B h T S"]:
    before = [torch.tensor([BEGIN_ID, *ids[:-1]], device=source.ids.device) for ids in written]
    memory = model.encode(source.ids, source.lengths, source.is_token)
    state, steps = model.decoder.initial_state(memory), []
    for embedded in model.decoder.embedding(pad_sequence(before, batch_first=True)).unbind(dim=1):
        _, state, _ = model.decoder.step(embedded, state, memory)
        steps.append(state[-1])  # as `HeadsAttention` says
    return torch.stack(steps, dim=2)
