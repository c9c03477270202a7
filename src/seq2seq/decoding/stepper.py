"""Common parts of all searches: hypotheses, and one decoder step for all of them, with a model or an ensemble.

Shapes: B sentences of the batch, N sentences still in the search, W hypotheses of each, V vocabulary size, S source
length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.errors import NotFinite
from seq2seq.models.seq2seq import Seq2Seq

Models = Seq2Seq | Sequence[Seq2Seq]
"""A model, or the members of an ensemble, which must have the same vocabularies."""

ROWS = 128
"""Number of hypotheses whose logits are computed at once, so that these fit into the caches of the CPU."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation found by a search.

    Attributes:
        ids: Target token ids, ending with ``<eos>`` unless the maximum length was reached.
        score: Natural logarithm of the probability of the ids given the source.
        weights: Attention weights (len(ids), source length) on the CPU; (len(ids), 0) for a model without attention.
        heads: Attention weights of each head (heads, len(ids), source length), see `seq2seq.decoding.forced`; None if
            they were not requested or there is a single head.
    """

    ids: tuple[int, ...]
    score: float
    weights: Tensor
    heads: Tensor | None = None


ACTIVE_SHARE = 7 / 8
"""When at most this share of the sentences in a search is unfinished, the finished ones are removed."""
GROUP_SIZE = 64
"""Number of adjacent elements in a group of `top_k` and `argmax`."""


def top_k(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Compute `torch.topk` over the last axis, several times as fast if this axis is long.

    The n largest values are in the n groups with the largest maxima, or in the remainder after the last full group.

    Returns:
        Values and indices (…, count), in descending order.
    """
    num_groups = numbers.shape[-1] // GROUP_SIZE
    if num_groups <= count:
        return numbers.topk(count)
    grouped = numbers[..., : num_groups * GROUP_SIZE].unflatten(-1, (num_groups, GROUP_SIZE))
    groups = grouped.amax(dim=-1).topk(count).indices
    in_groups = grouped.gather(-2, groups.unsqueeze(-1).expand(*groups.shape, GROUP_SIZE)).flatten(-2)
    rest = numbers[..., num_groups * GROUP_SIZE :]
    values, positions = torch.cat([in_groups, rest], dim=-1).topk(count)
    groups = torch.nn.functional.pad(
        groups, (0, 1), value=num_groups
    )  # the remainder is the group after the last
    starts = groups.gather(-1, positions // GROUP_SIZE) * GROUP_SIZE
    return values, starts + positions % GROUP_SIZE


def argmax(numbers: Tensor) -> Tensor:
    """Compute `torch.argmax` over the last axis, several times as fast if this axis is long."""
    num_whole = numbers.shape[-1] // GROUP_SIZE * GROUP_SIZE
    if num_whole <= GROUP_SIZE:
        return numbers.argmax(dim=-1)
    grouped = numbers[..., :num_whole].unflatten(-1, (-1, GROUP_SIZE))
    group = grouped.amax(dim=-1).argmax(dim=-1, keepdim=True)
    in_group = grouped.gather(-2, group.unsqueeze(-1).expand(*group.shape, GROUP_SIZE)).squeeze(-2)
    rest = numbers[..., num_whole:]
    positions = torch.cat([in_group, rest], dim=-1).argmax(dim=-1)
    start = torch.where(positions < GROUP_SIZE, group.squeeze(-1) * GROUP_SIZE, num_whole - GROUP_SIZE)
    return start + positions


class Stepper:
    """Memories and decoder states of the sentences in a search.

    All N sentences have the same number W of hypotheses. The hypotheses of a sentence share its memory, which is not
    repeated. Probabilities and attention weights are averaged over the members of an ensemble.

    Args:
        models: A model, or the members of an ensemble.
        source: The source sentences.
        width: Maximum number of hypotheses of a sentence.
    """

    def __init__(self, models: Models, source: SourceBatch, width: int = 1) -> None:
        self._members = [models] if isinstance(models, Seq2Seq) else list(models)
        memories = [model.encode(source) for model in self._members]
        self._memories = memories
        self._states = [
            m.decoder.initial_state(memory) for m, memory in zip(self._members, memories, strict=True)
        ]
        # convert weights once, and allocate logits once: allocation takes longer than the softmax
        device = source.ids.device
        self._outputs: list[torch.nn.Module | tuple[Tensor, Tensor, Tensor, Tensor]] = []
        mixed = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        for output in (model.decoder.output for model in self._members):
            if type(output) is not torch.nn.Linear:
                self._outputs.append(output)
                continue
            weight, bias = output.weight.detach().to(mixed or output.weight.dtype), output.bias.detach()
            logits = torch.empty(ROWS, len(weight), dtype=weight.dtype, device=device)
            logs = logits if weight.dtype.itemsize >= 4 else torch.empty_like(logits, dtype=torch.float32)
            self._outputs.append((weight, bias, logits, logs))

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the scores."""
        return torch.promote_types(self._states[0][0].dtype, torch.float32)

    def advance(
        self, tokens: Tensor, active: Tensor, choose: Callable[[Tensor, slice], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute one step of all hypotheses, and choose the next tokens.

        Args:
            tokens: Previous token of each hypothesis (N, W).
            active: Indices of the hypotheses, among all N W, for which tokens are chosen (R,).
            choose: Function that is called with log-probabilities (n, V) in float32 or float64 of some hypotheses,
                and the slice of `active` that contains them; it returns scores and tokens (n, …).

        Returns:
            Scores and tokens (R, …), and attention weights (N, W, S), averaged over heads and members with attention; S = 0
            if no member has attention.
        """
        features, member_weights, chosen = [], [], []
        for index, (model, memory) in enumerate(zip(self._members, self._memories, strict=True)):
            step_features, self._states[index], weights = model.decoder.step(
                tokens.flatten(), self._states[index], memory
            )
            features.append(step_features.index_select(0, active))
            if weights is not None:
                member_weights.append(weights.mean(dim=1))
        for start in range(0, len(active), ROWS):
            rows, logs = slice(start, start + ROWS), []
            for member_features, output in zip(features, self._outputs, strict=True):
                inputs = member_features[rows]
                if isinstance(output, tuple):
                    weight, bias, logits, buffer = output
                    out = buffer[: len(inputs)]
                    torch.mm(inputs.to(weight.dtype), weight.T, out=logits[: len(inputs)])
                    out.copy_(logits[: len(inputs)]).add_(bias)
                else:
                    out = output(inputs).float()
                logs.append(torch.log_softmax(out, dim=-1, out=out))
            log_probs = logs[0]
            if len(logs) > 1:  # log of the mean probability of the members
                log_probs = torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))
            check_numbers(log_probs[:, END_ID])  # one NaN makes the whole row NaN
            chosen.append(choose(log_probs, rows))
        scores, ids = (torch.cat(parts) for parts in zip(*chosen, strict=True))
        if member_weights:
            weights = torch.stack(member_weights).mean(dim=0)
        else:
            weights = scores.new_empty(tokens.numel(), 0)
        return scores, ids, weights.unflatten(0, tokens.shape)

    def select(self, kept: Tensor | None, parents: Tensor) -> None:
        """Select sentences and hypotheses for the next step.

        Args:
            kept: Indices of the sentences to keep, among the N; None: all.
            parents: Index of the hypothesis, among the W of its sentence, that each of X new hypotheses continues
                (N, X).
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


def check_numbers(log_probabilities: Tensor) -> None:
    """Raise `NotFinite` if a log-probability is NaN."""
    if log_probabilities.isnan().any():
        raise NotFinite("the model computes NaN: its weights are damaged, or too large for the precision")


def forbid(log_probabilities: Tensor, too_short: Tensor) -> None:
    """Set log-probabilities of ``<pad>``, ``<bos>`` and, where `too_short`, ``<eos>`` to -inf, in place."""
    log_probabilities[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    log_probabilities[..., END_ID].masked_fill_(too_short, -torch.inf)
