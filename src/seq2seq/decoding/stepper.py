"""What all searches share: hypotheses, and a step of one model or of several for many of them at once.

Shapes: B sentences of the batch, N sentences still searched, W hypotheses of each, V vocabulary, S source length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.models.seq2seq import Seq2Seq

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which share their vocabularies."""

ROWS = 128
"""Hypotheses whose logits are computed at once: few enough for the processor's caches."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as found by a search.

    Attributes:
        ids: target token ids, ``<eos>`` included unless the length bound came first.
        score: natural log-probability of the ids given the source.
        weights: attention probabilities (len(ids), source length), on the CPU; (len(ids), 0) of a
            model without attention.
        heads: the weights of each of several heads (heads, len(ids), source length), see
            `seq2seq.decoding.forced`; None where nobody asked, or where there is one.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor
    heads: Tensor | None = None


FULL = 7 / 8
"""Share of the sentences of a batch that are still searched: with fewer the others are removed from it."""
GROUP = 64
"""Neighbours whose maximum is taken first."""


def top_k(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`torch.topk` of the last axis, several times faster where that axis is long.

    The n largest values lie in the n groups of the largest maxima, or behind the last whole group.
    """
    num_groups = numbers.shape[-1] // GROUP
    if num_groups <= count:
        return numbers.topk(count)
    ids = torch.arange(numbers.shape[-1], device=numbers.device)
    grouped = numbers[..., : num_groups * GROUP].unflatten(-1, (num_groups, GROUP))
    groups = grouped.amax(dim=-1).topk(count).indices
    inside = grouped.gather(-2, groups.unsqueeze(-1).expand(*groups.shape, GROUP)).flatten(-2)
    behind = numbers[..., num_groups * GROUP :]
    values, places = torch.cat([inside, behind], dim=-1).topk(count)
    ids_behind = ids[num_groups * GROUP :].expand_as(behind)
    ids_inside = ids[: num_groups * GROUP].view(num_groups, GROUP)[groups].flatten(-2)
    return values, torch.cat([ids_inside, ids_behind], dim=-1).gather(-1, places)


def place_of_top(numbers: Tensor) -> Tensor:
    """`torch.argmax` of the last axis, several times faster where that axis is long."""
    num_whole = numbers.shape[-1] // GROUP * GROUP
    if num_whole <= GROUP:
        return numbers.argmax(dim=-1)
    grouped = numbers[..., :num_whole].unflatten(-1, (-1, GROUP))
    group = grouped.amax(dim=-1).argmax(dim=-1, keepdim=True)
    inside = grouped.gather(-2, group.unsqueeze(-1).expand(*group.shape, GROUP)).squeeze(-2)
    behind = numbers[..., num_whole:]
    places = torch.cat([inside, behind], dim=-1).argmax(dim=-1)
    return torch.where(places < GROUP, group.squeeze(-1) * GROUP, num_whole - GROUP) + places


class Stepper:
    """Memories and states of the sentences that a search is still translating.

    Each sentence (N) has the same number of hypotheses (W), which share its memory: nothing of the source
    is repeated. The members of an ensemble are averaged, in their probabilities and in their attention.

    Args:
        models: A model, or the members of an ensemble.
        source: The sentences.
        width: Maximum number of hypotheses of a sentence.
    """

    def __init__(self, models: Models, source: SourceBatch, width: int = 1) -> None:
        self._members = [models] if isinstance(models, Seq2Seq) else list(models)
        arguments = (source.ids, source.lengths, source.is_token)
        memories = [model.encode(*arguments) for model in self._members]
        self._states, self._memories = [], []
        for model, memory in zip(self._members, memories, strict=True):
            self._states.append(model.decoder.initial_state(memory))
            # projecting the memory costs as much as projecting the contexts of one hypothesis
            self._memories.append(model.decoder.for_search(memory) if width > 1 else memory)
        # Weights are converted once, and logits have places of their own: new memory costs more than the softmax.
        device, self._outputs = source.ids.device, []
        mixed = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        for output in (model.decoder.output for model in self._members):
            if type(output) is not torch.nn.Linear:
                self._outputs.append(output)
                continue
            weight, bias = (each.detach().to(mixed or each.dtype) for each in (output.weight, output.bias))
            logits = torch.empty(ROWS, len(weight), dtype=weight.dtype, device=device)
            logs = logits if weight.dtype.itemsize >= 4 else torch.empty_like(logits, dtype=torch.float32)
            self._outputs.append((weight, bias, logits, logs))

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the scores."""
        return torch.promote_types(self._states[0][0].dtype, torch.float32)

    def advance(
        self, tokens: Tensor, live: Tensor, choose: Callable[[Tensor, slice], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Make one step after the given tokens.

        Args:
            tokens: The last of each hypothesis (N, W).
            live: Which of the N W hypotheses are asked for their next token (R,).
            choose: From log-probabilities of the next token (n, V), in float32 at least, of some rows of `live`, and
                these rows, to scores and tokens (n, …). A few rows at a time stay in the processor's caches.

        Returns:
            The scores and tokens (R, …), and attention weights (N, W, S): the mean of those members that have
            attention, without columns where none has.
        """
        features, looked, chosen = [], [], []
        for place, (model, memory) in enumerate(zip(self._members, self._memories, strict=True)):
            of_step, self._states[place], weights = model.decoder.step(
                tokens.flatten(), self._states[place], memory
            )
            features.append(of_step.index_select(0, live))
            if weights is not None:
                looked.append(weights)
        for start in range(0, len(live), ROWS):
            rows, logs = slice(start, start + ROWS), []
            for of_member, output in zip(features, self._outputs, strict=True):
                inputs = of_member[rows]
                if isinstance(output, tuple):
                    weight, bias, logits, of_rows = output
                    out = of_rows[: len(inputs)]
                    out.copy_(torch.addmm(bias, inputs.to(weight.dtype), weight.T, out=logits[: len(inputs)]))
                else:
                    out = output(inputs).float()
                logs.append(torch.log_softmax(out, dim=-1, out=out))
            # of an ensemble log(1/M sum of exp(log-probabilities))
            many = len(logs) > 1
            found = torch.stack(logs).logsumexp(dim=0) - math.log(len(logs)) if many else logs[0]
            chosen.append(choose(found, rows))
        scores, ids = (torch.cat(parts) for parts in zip(*chosen, strict=True))
        weights = torch.stack(looked).mean(dim=0) if looked else scores.new_empty(tokens.numel(), 0)
        return scores, ids, weights.unflatten(0, tokens.shape)

    def follow(self, kept: Tensor | None, parents: Tensor) -> None:
        """Go on with the hypotheses whose parents are given, X a sentence.

        Args:
            kept: Places of the sentences to go on with; None for all.
            parents: Which of the W hypotheses of the step before each continues (N, X).
        """
        num_sentences = len(parents)
        width = len(self._states[0][0]) // num_sentences
        starts = torch.arange(0, num_sentences * width, width, device=parents.device)
        rows = starts.unsqueeze(1) + parents
        if kept is not None:
            rows = rows[kept]
            self._memories = [memory.select(kept) for memory in self._memories]
        if rows.shape[1] == 1 == width and kept is None:
            return
        rows = rows.flatten()
        self._states = [tuple(part[rows] for part in state) for state in self._states]


def forbid(log_probabilities: Tensor, too_short: Tensor) -> None:
    """Exclude, in place, what cannot come next: padding, ``<bos>``, and ``<eos>`` too early."""
    log_probabilities[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    log_probabilities[..., END_ID].masked_fill_(too_short, -torch.inf)
