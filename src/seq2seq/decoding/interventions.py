"""What a model says where the attention weights of a step are others than its own."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seq2seq.attention import Attention
from seq2seq.data.batch import Batch
from seq2seq.errors import InputError
from seq2seq.evaluation.faithfulness import CHANGES
from seq2seq.models.decoder import Decoder
from seq2seq.models.seq2seq import Seq2Seq


def attentions_of(decoder: Decoder) -> list[Attention]:
    """The attentions of this program that a decoder is made of, a head for each."""
    modules = decoder.modules() if isinstance(decoder, nn.Module) else ()
    return [each for each in modules if isinstance(each, Attention)]


@contextmanager
def changed_weights(decoder: Decoder, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside it, the steps of a decoder look elsewhere; outside of training only.

        c = sum over j of change(w)_j m_j,  w: (B, K, S),  of each head where there are several

    Weights that a step returns, and those that its attention remembers, are its own all the same.

    Raises:
        InputError: the decoder has no attention of this program.
    """
    found = attentions_of(decoder)
    if not found:
        raise InputError("weights are changed in attentions of this program only: it has none")
    # dropout is where weights become others for the mean alone
    hooks = [each.dropout.register_forward_hook(lambda _, w, __: change(w[0])) for each in found]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def other_weights(weights: Tensor, looked: Tensor, order: Tensor, is_token: Tensor) -> dict[str, Tensor]:
    """By the names of `CHANGES`.

    Args:
        weights: of a step, and of a head of several (B, S).
        looked: the mean of all heads (B, S), whose maximum is erased or kept in each of them.
        order: of the source tokens, drawn at random (B, S). It permutes the weights, and the first
            token in it that is not the maximum is the other one.
        is_token: True on real tokens (B, S).
    """
    most, first, second = looked.argmax(dim=1, keepdim=True), order[:, :1], order[:, 1:2]
    other, nothing = torch.where(first == most, second, first), torch.zeros_like(weights)
    return {
        "most_attended_erased": _erased(weights, most),
        "another_erased": _erased(weights, other),
        "most_attended_alone": nothing.scatter(1, most, 1),
        "even": is_token.to(weights) / is_token.sum(dim=1, keepdim=True),
        "permuted": weights.gather(1, order),
        "no_context": nothing,
    }


def _erased(weights: Tensor, token: Tensor) -> Tensor:
    """Without a token, and normalised again; zeros where nothing is left."""
    left = weights.scatter(1, token, 0)
    total = left.sum(dim=1, keepdim=True)
    return left / total.masked_fill(total == 0, 1)


@torch.no_grad()
def tokens_that_stay(
    model: Seq2Seq, batch: Batch, *, seed: int, changes: Collection[str] = tuple(CHANGES)
) -> tuple[Tensor, Tensor]:
    """Whether the likeliest token after each prefix of the targets is that with other weights, too.

    Weights are others in that one step: the state before it is what it was.

    Args:
        model: outside of training.
        batch: sentence pairs; what is said of padding means nothing.
        seed: decides what is drawn, with the number of a pair in its split.
        changes: names of others (C).

    Returns:
        That, and the attention weights.

    Raises:
        InputError: the decoder has no attention of this program.
    """
    decoder, source = model.decoder, batch.source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    rows = torch.arange(len(batch), device=model.device).repeat_interleave(len(changes))
    state, stays, attention = decoder.initial_state(memory), list[Tensor](), list[Any]()
    orders = torch.from_numpy(_orders(batch, seed)).to(model.device)

    def change(weights: Tensor) -> Tensor:
        order = orders[:, len(stays)]
        found = other_weights(weights[:, 0], attention[-1], order, source.is_token)
        return torch.stack([found[name] for name in changes], dim=1)

    for tokens in batch.target_input.unbind(dim=1):
        features, new, weights = decoder.step(tokens, state, memory)
        attention.append(weights)
        with changed_weights(decoder, change):
            other, _, _ = decoder.step(tokens[rows], tuple(part[rows] for part in state), memory)
        said, likeliest = (decoder.output(each).argmax(dim=1) for each in (other, features))
        stays.append(said.unflatten(0, (-1, len(changes))) == likeliest.unsqueeze(1))
        state = new
    return torch.stack(stays, dim=2), torch.stack(attention, dim=1)


def _orders(batch: Batch, seed: int) -> NDArray[np.int64]:
    """A random order of the real source tokens of each pair for each step (B, T, S)."""
    num_steps, size = batch.target_input.shape[1], batch.source.ids.shape[1]
    orders = np.tile(np.arange(size), (len(batch), num_steps, 1))
    sides = batch.sentence_ids, batch.source.lengths, batch.target_lengths
    for order, (number, width, height) in zip(orders, torch.stack(sides, 1).tolist(), strict=True):
        generator = np.random.default_rng([seed, number])
        order[:height, :width] = [generator.permutation(width) for _ in range(height)]
    return orders
