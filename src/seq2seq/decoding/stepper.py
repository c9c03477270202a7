"""Common parts of all searches: hypotheses, and one decoder step for all of them, with a model or an ensemble.

Shapes: B sentences of the batch, N sentences still in the search, W hypotheses of each, V vocabulary size, S source
length.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.attention.masking import at_least_float32
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
        self._features: list[Tensor] = []
        self._states = [
            m.decoder.initial_state(memory) for m, memory in zip(self._members, memories, strict=True)
        ]
        # convert weights once, and allocate logits once: allocation takes longer than the softmax
        device = source.ids.device
        self._outputs: list[torch.nn.Module | tuple[Tensor, Tensor, Tensor, Tensor]] = []
        mixed = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        for output in (model.decoder.output for model in self._members):
            if type(output) is not torch.nn.Linear or not isinstance(output.weight, torch.nn.Parameter):
                self._outputs.append(output)
                continue
            weight = output.weight.detach().to(mixed or output.weight.dtype)
            bias = weight.new_zeros(len(weight)) if output.bias is None else output.bias.detach()
            logits = torch.empty(ROWS, len(weight), dtype=weight.dtype, device=device)
            logs = logits if weight.dtype.itemsize >= 4 else torch.empty_like(logits, dtype=torch.float32)
            self._outputs.append((weight, bias, logits, logs))

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the scores."""
        return torch.promote_types(self._states[0][0].dtype, torch.float32)

    def step(self, tokens: Tensor) -> Tensor:
        """Compute one step of all hypotheses; `log_probabilities` then returns those of the next tokens.

        Args:
            tokens: Previous token of each hypothesis (N, W).

        Returns:
            Attention weights (N, W, S), averaged over heads and members with attention; S = 0 if no member has
            attention.
        """
        self._features, member_weights = [], []
        for index, (model, memory) in enumerate(zip(self._members, self._memories, strict=True)):
            features, self._states[index], weights = model.decoder.step(
                tokens.flatten(), self._states[index], memory
            )
            self._features.append(features)
            if weights is not None:
                member_weights.append(weights.mean(dim=1))
        if not member_weights:
            return tokens.new_empty(*tokens.shape, 0, dtype=self.dtype)
        return torch.stack(member_weights).mean(dim=0).unflatten(0, tokens.shape)

    def log_probabilities(self, active: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Compute the log-probabilities of the next tokens after `step`, of `ROWS` hypotheses at a time.

        Args:
            active: Indices of the hypotheses, among all N W (R,).

        Yields:
            The part of `active` (n,) and its log-probabilities (n, V) in float32 or float64. The caller may modify
            them; the next part overwrites them.
        """
        member_features = [features.index_select(0, active) for features in self._features]
        for start in range(0, len(active), ROWS):
            rows, logs = slice(start, start + ROWS), []
            for features, output in zip(member_features, self._outputs, strict=True):
                inputs = features[rows]
                if isinstance(output, tuple):
                    weight, bias, logits, buffer = output
                    out = buffer[: len(inputs)]
                    torch.mm(inputs.to(weight.dtype), weight.T, out=logits[: len(inputs)])
                    out.copy_(logits[: len(inputs)]).add_(bias)
                else:
                    out = at_least_float32(output(inputs))
                logs.append(torch.log_softmax(out, dim=-1, out=out))
            log_probs = logs[0]
            if len(logs) > 1:  # log of the mean probability of the members
                log_probs = torch.stack(logs).logsumexp(dim=0) - math.log(len(logs))
            check_numbers(log_probs[:, END_ID])  # one NaN makes the whole row NaN
            yield active[rows], log_probs

    def select(self, kept: Tensor | None, parents: Tensor | None = None) -> None:
        """Select sentences and hypotheses for the next step.

        Args:
            kept: Indices of the sentences to keep, among the N; None: all.
            parents: Index of the hypothesis, among the W of its sentence, that each of X new hypotheses continues
                (N, X); None: each hypothesis continues itself.
        """
        num_sentences = len(self._memories[0].states)
        rows = torch.arange(len(self._states[0][0]), device=self._memories[0].states.device)
        rows = rows.view(num_sentences, -1)  # (N, W)
        width = rows.shape[1]
        if parents is not None:
            rows = rows[:, :1] + parents
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


def forbid_specials(log_probabilities: Tensor, too_short: Tensor) -> None:
    """Set log-probabilities of ``<pad>``, ``<bos>`` and, where `too_short`, ``<eos>`` to -inf, in place."""
    log_probabilities[..., [PADDING_ID, BEGIN_ID]] = -torch.inf
    log_probabilities[..., END_ID].masked_fill_(too_short, -torch.inf)
