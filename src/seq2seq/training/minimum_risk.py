"""Minimum risk training: expected sentence BLEU of the model's own translations, in place of likelihood.

With S the reference y and translations sampled from the model, each once, and r(u) = 1 - BLEU(u, y) of a
sentence, the risk of a sentence pair is the expectation of r over S:

    R = sum over u in S of Q(u) r(u),  Q(u) = p(u | x)^alpha / sum over v in S of p(v | x)^alpha

Its gradient is alpha times the sum of Q(u) (r(u) - R) grad log p(u | x): translations better than their
expectation become more probable. Shen, Cheng, He, He, Wu, Sun and Liu, "Minimum risk training for neural
machine translation", 2016.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from seq2seq.attention.masking import length_mask
from seq2seq.data.batch import Batch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.search import Sampling, draw
from seq2seq.decoding.stepper import forbid
from seq2seq.evaluation.bleu import smoothed_sentence_bleu
from seq2seq.models import fast as fast_path
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.losses import LossSums

ROWS = 256
"""Tokens whose logits are computed at once."""


class MinimumRisk:
    """The risk above as `objective` of a `TranslationModule`, for a model that is trained already.

    The risk of a pair counts as often as its reference has tokens, as long sentences do in corpus BLEU, so
    that the loss is the mean risk of a token. BLEU is that of `smoothed_sentence_bleu` on token ids.

    Args:
        num_samples: Translations that are sampled of each source sentence, without dropout. Those over one
            and a half times the reference and five tokens are left out, like repeated ones.
        alpha: Sharpness of Q; small values weigh all of S alike.
        cross_entropy_weight: Weight of the cross-entropy of the references, in nats a token, that is added.
    """

    def __init__(
        self, *, num_samples: int = 5, alpha: float = 0.005, cross_entropy_weight: float = 0.0
    ) -> None:
        if num_samples < 1 or not alpha > 0 or cross_entropy_weight < 0:
            raise ValueError(
                f"num_samples={num_samples}, alpha={alpha}, cross_entropy_weight={cross_entropy_weight}: at least "
                "one sample, an alpha above 0 and a weight of at least 0 are needed"
            )
        self.num_samples, self.alpha, self.cross_entropy_weight = num_samples, alpha, cross_entropy_weight

    def __call__(self, module: Any, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the sums of a batch, and the attention weights (B, T, S) of the references."""
        model, source = module.model, batch.source
        references = [
            tuple(row[:length])
            for row, length in zip(batch.target_output.tolist(), batch.target_lengths.tolist(), strict=True)
        ]
        longest = (batch.target_lengths * 3).div(2, rounding_mode="floor") + 5
        drawn = sample_translations(model, batch, self.num_samples, longest)
        samples = [
            (pair, ids)
            for pair, (reference, found) in enumerate(zip(references, drawn, strict=True))
            for ids in dict.fromkeys(found)
            if ids != reference
        ]

        # log p(u | x): of the references, then of the samples
        is_fast = module.fast and fast_path.is_supported(model.decoder)
        decode = partial(fast_path.decode, model.decoder) if is_fast else model.decoder
        memory = model.encode(source.ids, source.lengths, source.is_token)
        features, weights = decode(batch.target_input, memory, batch.target_lengths)
        output = model.decoder.output
        scores = log_probabilities(output, features, batch.target_output, batch.target_is_token)
        if samples:
            outputs = pad_sequence([torch.tensor(ids) for _, ids in samples], True, PADDING_ID)
            inputs = torch.cat([torch.full_like(outputs[:, :1], BEGIN_ID), outputs[:, :-1]], dim=1)
            lengths = torch.tensor([len(ids) for _, ids in samples])
            pairs = torch.tensor([pair for pair, _ in samples])
            outputs, inputs, lengths, pairs = (
                each.to(source.ids) for each in (outputs, inputs, lengths, pairs)
            )
            of_samples, _ = decode(inputs, memory.select(pairs), lengths)
            is_token = length_mask(lengths, outputs.shape[1])
            scores = torch.cat([scores, log_probabilities(output, of_samples, outputs, is_token)])

        # tables (B, C) of the candidates of each pair, probability 0 where there are fewer than C
        places: list[list[int]] = [[pair] for pair in range(len(batch))]
        for row, (pair, _) in enumerate(samples, start=len(batch)):
            places[pair].append(row)
        candidates = [*references, *(ids for _, ids in samples)]
        risks = [
            [1 - smoothed_sentence_bleu(candidates[row][:-1], reference[:-1]) for row in rows]
            for rows, reference in zip(places, references, strict=True)
        ]
        rows = pad_sequence([torch.tensor(each) for each in places], True, -1).to(source.ids)
        q = (self.alpha * scores[rows]).masked_fill(rows < 0, -torch.inf).softmax(dim=1)
        of_rows = pad_sequence([torch.tensor(each, dtype=torch.float64) for each in risks], True)
        risk = (q * of_rows.to(q)).sum(dim=1)
        module.log("train/risk", risk.detach().mean())

        with torch.set_grad_enabled(self.cross_entropy_weight > 0):
            sums = module.cross_entropy(batch, features)
        objective = (risk * batch.target_lengths).sum()
        if self.cross_entropy_weight:
            objective = objective + self.cross_entropy_weight * sums.smoothed
        return replace(sums, smoothed=objective), weights


@torch.no_grad()
def sample_translations(
    model: Seq2Seq, batch: Batch, num_samples: int, longest: Tensor
) -> list[list[tuple[int, ...]]]:
    """Return token ids, ``<eos>`` included, of translations drawn from p(u | x) without dropout.

    All hypotheses of all sentences are followed at once, and each source sentence is encoded once.

    Args:
        model: The model.
        batch: The source sentences (B).
        num_samples: Hypotheses of each.
        longest: Tokens of a translation at most (B,); hypotheses without end by then are left out.
    """
    was_training = model.training
    model.eval()
    source = batch.source
    memory = model.encode(source.ids, source.lengths, source.is_token)
    pairs = torch.arange(len(batch), device=source.ids.device).repeat_interleave(num_samples)
    state = tuple(part[pairs] for part in model.decoder.initial_state(memory))
    memory, longest = memory.select(pairs), longest[pairs]
    ids = source.ids.new_full((len(pairs), int(longest.max())), PADDING_ID)
    live, tokens = torch.arange(len(pairs), device=ids.device), torch.full_like(pairs, BEGIN_ID)
    step = 0
    while len(live):
        features, state, _ = model.decoder.step(tokens, state, memory)
        uniform = torch.rand(len(live), device=ids.device)
        tokens = torch.cat(
            [
                draw_token(model.decoder.output(rows), numbers)
                for rows, numbers in zip(features.split(ROWS), uniform.split(ROWS), strict=True)
            ]
        )
        ids[live, step] = tokens
        step += 1
        kept = ((tokens != END_ID) & (step < longest[live])).nonzero()[:, 0]
        if len(kept) < len(live):
            live, tokens, memory = live[kept], tokens[kept], memory.select(kept)
            state = tuple(part[kept] for part in state)
    torch.clear_autocast_cache()  # of weights that were cast without gradient
    model.train(was_training)
    found: list[list[tuple[int, ...]]] = [[] for _ in range(len(batch))]
    for pair, row in zip(pairs.tolist(), ids.tolist(), strict=True):
        if END_ID in row:
            found[pair].append(tuple(row[: row.index(END_ID) + 1]))
    return found


def draw_token(logits: Tensor, uniform: Tensor) -> Tensor:
    """Draw a token from softmax(logits) (N, V) for each number from [0, 1), never padding or ``<bos>``."""
    logits = logits.detach().to(torch.promote_types(logits.dtype, torch.float32))
    forbid(logits, torch.zeros_like(uniform, dtype=torch.bool))
    return draw(logits, uniform, Sampling())


def log_probabilities(output: nn.Linear, features: Tensor, targets: Tensor, is_token: Tensor) -> Tensor:
    """Return log p of each sentence (N,), the sum of those of its real tokens.

    Logits exist for some tokens at a time: they are computed again for the gradient.

    Args:
        output: From features to logits.
        features: Of every target position (N, T, R).
        targets: Token ids (N, T).
        is_token: False on padding (N, T).
    """

    def of_tokens(features: Tensor, targets: Tensor) -> Tensor:
        logits = output(features)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return -F.cross_entropy(logits, targets, reduction="none")

    parts = zip(features[is_token].split(ROWS), targets[is_token].split(ROWS), strict=True)
    logs = torch.cat(
        [checkpoint(of_tokens, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
    )
    return logs.new_zeros(len(targets)).index_add(0, is_token.nonzero()[:, 0], logs)
