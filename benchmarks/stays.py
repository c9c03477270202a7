"""Which words of a run's own translations stay the most probable with other attention weights: python -m benchmarks.stays RUN

Prints JSON: the number of tokens, and the shares that stay, by the change (Moradi, Kambhatla and Sarkar, "Interrogating the
explanatory power of attention in neural machine translation", 2019). The steps are those of greedy translations of the first
500 test sentences; those with no token or with more than 100 are left out.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.batching import BatchSize, sorted_order
from seq2seq.data.text import read_lines
from seq2seq.data.vocabulary import END_ID
from seq2seq.decoding.translator import Translator
from seq2seq.models.decoder import Decoder, attentions_of
from seq2seq.models.folder import load_attending
from seq2seq.models.seq2seq import Seq2Seq

CHANGES = "most_attended_erased", "another_erased", "most_attended_alone", "even", "permuted", "no_context"
SENTENCES, LONGEST, BATCH_SIZE = 500, 100, BatchSize(sentences=None, tokens=2048)


@contextmanager
def changed_weights(decoder: Decoder, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Change the attention weights of a decoder's steps inside a `with` block; only in evaluation mode.

        c = sum over j of change(w)_j m_j,  w: (B, K, S),  for each head

    Only the context changes: a step returns the original weights, and its state keeps them.
    """

    def of_heads(weights: Tensor) -> Tensor:  # (B, K, S) of a head, or (B, h, K, S)
        heads = weights.view(len(weights), -1, *weights.shape[-2:]).unbind(dim=1)
        return torch.stack([change(each) for each in heads], dim=1).view_as(weights)

    # dropout is the place where only the weights of the mean change
    hooks = [
        each.dropout.register_forward_hook(lambda _, w, __: of_heads(w[0])) for each in attentions_of(decoder)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def other_weights(weights: Tensor, looked: Tensor, order: Tensor, is_token: Tensor) -> dict[str, Tensor]:
    """Return the changed weights by the names of `CHANGES`.

    Args:
        weights: Weights of a step, of one head (B, S).
        looked: Mean of all heads (B, S); its maximum is erased or kept in every head.
        order: Random permutation of the source tokens (B, S). It permutes the weights, and its first token
            that is not the maximum is the other token.
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
    """Return weights without a token, normalized again; zeros if no weight is left."""
    left = weights.scatter(1, token, 0)
    total = left.sum(dim=1, keepdim=True)
    return left / total.masked_fill(total == 0, 1)


@torch.no_grad()
def tokens_that_stay(model: Seq2Seq, batch: Batch, *, seed: int) -> Tensor:
    """Return whether the most probable token after each target prefix stays the same with changed weights.

    The weights of one step are changed; the state before this step is the original one.

    Args:
        model: The model in evaluation mode.
        batch: Sentence pairs; values at padding have no meaning.
        seed: Seed of the random choices, together with the index of a pair in its split.

    Returns:
        True where the token stays (B, C, T), for each of `CHANGES`.
    """
    decoder, source = model.decoder, batch.source
    memory = model.encode(source)
    rows = torch.arange(len(batch), device=model.device).repeat_interleave(len(CHANGES))
    state, stays, attention = decoder.initial_state(memory), list[Tensor](), list[Any]()
    orders = torch.from_numpy(_orders(batch, seed)).to(model.device)

    def change(weights: Tensor) -> Tensor:
        order = orders[:, len(stays)]
        # in a higher layer, the weights of each row follow from its change below
        rows = zip(CHANGES, weights.unbind(dim=1), strict=True)
        found = [other_weights(row, attention[-1], order, source.is_token)[name] for name, row in rows]
        return torch.stack(found, dim=1)

    for tokens in batch.target_input.unbind(dim=1):
        features, new, weights = decoder.step(tokens, state, memory)
        attention.append(weights if weights is None else weights.mean(dim=1))
        with changed_weights(decoder, change):
            other, _, _ = decoder.step(tokens[rows], tuple(part[rows] for part in state), memory)
        said, likeliest = (decoder.output(each).argmax(dim=1) for each in (other, features))
        stays.append(said.unflatten(0, (-1, len(CHANGES))) == likeliest.unsqueeze(1))
        state = new
    return torch.stack(stays, dim=2)


def _orders(batch: Batch, seed: int) -> NDArray[np.int64]:
    """Return a random permutation of the real source tokens for each pair and step (B, T, S)."""
    num_steps, size = batch.target_input.shape[1], batch.source.ids.shape[1]
    orders = np.tile(np.arange(size), (len(batch), num_steps, 1))
    sides = batch.sentence_ids, batch.source.lengths, batch.target_lengths
    for order, (number, width, height) in zip(orders, torch.stack(sides, 1).tolist(), strict=True):
        generator = np.random.default_rng([seed, number])
        order[:height, :width] = [generator.permutation(width) for _ in range(height)]
    return orders


def main(run: Path) -> None:
    """Translate, change the weights, and print."""
    saved = load_attending(run)
    sentences = read_lines(run / "predictions" / "test.source.txt")[:SENTENCES]
    translations = Translator(saved, batch_size=BATCH_SIZE).translate(sentences)
    ids = [
        (saved.source_tokenizer.encode(text), [i for i in each.ids if i != END_ID])
        for text, each in zip(sentences, translations, strict=True)
    ]
    kept = [pair for pair in ids if all(0 < len(side) <= LONGEST for side in pair)]
    source, target = (Sentences.from_lists([pair[side] for pair in kept]) for side in (0, 1))
    split, shares = EncodedSplit([], source, target), list[Tensor]()
    for indices in sorted_order(source.lengths, target.lengths, BATCH_SIZE):
        batch = Batch.from_split(split, indices.tolist())
        is_word = batch.target_is_token & (batch.target_output != END_ID)
        shares.append(tokens_that_stay(saved.model, batch, seed=1).transpose(1, 2)[is_word])
    found = torch.cat(shares).double()
    means = dict(zip(CHANGES, found.mean(dim=0).tolist(), strict=True))
    print(json.dumps({"num_tokens": len(found), **means}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
