"""Minimum risk training: optimization of the expected sentence BLEU of sampled translations.

Let S be the set of the reference y and of translations sampled from the model, and r(u) = 1 - BLEU(u, y). The risk of
a sentence pair is the expectation of r over S:

    R = sum over u in S of Q(u) r(u),  Q(u) = p(u | x)^alpha / sum over v in S of p(v | x)^alpha

Its gradient is alpha times the sum of Q(u) (r(u) - R) grad log p(u | x): translations with less
than the expected risk become more probable. Shen, Cheng, He, He, Wu, Sun and Liu, "Minimum risk training for neural
machine translation", 2016.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - its usual name
from torch.nn.utils.rnn import pad_sequence
from torch.utils.checkpoint import checkpoint

from seq2seq.attention.masking import length_mask
from seq2seq.common.numbers import Positive, Rate, Weight, require_bounds
from seq2seq.data.batch import Batch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.search import Sampling, sample_tokens
from seq2seq.evaluation.bleu import smoothed_sentence_bleu
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.training.losses import LossSums
from seq2seq.training.objectives.objective import Trained

CANDIDATE_ROWS = 256
"""Tokens whose logits are computed at once."""


class MinimumRisk:
    """The risk above as `objective` of a `TranslationModule`; the model should be trained by cross-entropy first.

    The risk of a pair is weighted by the number of tokens of its reference, so the loss is the mean risk per token.
    BLEU is `smoothed_sentence_bleu` of token ids.

    Args:
        num_samples: Number of translations to sample per source sentence, without dropout. Duplicates, and
            translations with more than 1.5 times the tokens of the reference plus 5, are discarded.
        alpha: Sharpness of Q; with small values, Q is nearly uniform.
        cross_entropy_weight: Weight of the cross-entropy of the references, which is added.

    Raises:
        InputError: See `require_bounds`.
    """

    def __init__(
        self, *, num_samples: Positive = 5, alpha: Rate = 0.005, cross_entropy_weight: Weight = 0.0
    ) -> None:
        self.num_samples, self.alpha, self.cross_entropy_weight = num_samples, alpha, cross_entropy_weight
        require_bounds(self)

    def __call__(self, module: Trained, batch: Batch) -> tuple[LossSums, Tensor | None]:
        """Return the loss of a batch, and the attention weights (B, T, h, S) of the references."""
        model, decode = module.model, module.model.decoder
        references = [
            tuple(row[:length])
            for row, length in zip(batch.target_output.tolist(), batch.target_lengths.tolist(), strict=True)
        ]
        max_lengths = (batch.target_lengths * 3).div(2, rounding_mode="floor") + 5
        translations = sample_translations(model, batch, self.num_samples, max_lengths)
        samples = [
            (pair, ids)
            for pair, (reference, sampled) in enumerate(zip(references, translations, strict=True))
            for ids in dict.fromkeys(sampled)
            if ids != reference
        ]

        # log p(u | x): of the references, then of the samples
        memory = model.encode(batch.source)
        features, weights = decode(batch.target_input, memory, batch.target_lengths)
        output = model.decoder.output
        scores = log_probabilities(output, features, batch.target_output, batch.target_is_token)
        if samples:
            outputs = pad_sequence([torch.tensor(ids) for _, ids in samples], True, PADDING_ID)
            inputs = torch.cat([torch.full_like(outputs[:, :1], BEGIN_ID), outputs[:, :-1]], dim=1)
            lengths = torch.tensor([len(ids) for _, ids in samples])
            pairs = torch.tensor([pair for pair, _ in samples])
            outputs, inputs, lengths, pairs = (
                each.to(batch.target_output) for each in (outputs, inputs, lengths, pairs)
            )
            sample_features, _ = decode(inputs, memory.select(pairs), lengths)
            is_token = length_mask(lengths, outputs.shape[1])
            scores = torch.cat([scores, log_probabilities(output, sample_features, outputs, is_token)])

        # tables (B, C) of the candidates of each pair; probability 0 for pairs with fewer than C candidates
        rows_of_pairs: list[list[int]] = [[pair] for pair in range(len(batch))]
        for row, (pair, _) in enumerate(samples, start=len(batch)):
            rows_of_pairs[pair].append(row)
        candidates = [*references, *(ids for _, ids in samples)]
        risks = [
            [1 - smoothed_sentence_bleu(candidates[row][:-1], reference[:-1]) for row in rows]
            for rows, reference in zip(rows_of_pairs, references, strict=True)
        ]
        table = pad_sequence([torch.tensor(each) for each in rows_of_pairs], True, -1).to(batch.target_output)
        q = (self.alpha * scores[table]).masked_fill(table < 0, -torch.inf).softmax(dim=1)
        r = pad_sequence([torch.tensor(each, dtype=torch.float64) for each in risks], True)
        risk = (q * r.to(q)).sum(dim=1)
        module.log("train/risk", risk.detach().mean(), sync_dist=True)

        with torch.set_grad_enabled(self.cross_entropy_weight > 0):
            sums = module.cross_entropy(batch, features)
        objective = (risk * batch.target_lengths).sum()
        if self.cross_entropy_weight:
            objective = objective + self.cross_entropy_weight * sums.objective
        return replace(sums, objective=objective), weights


@torch.no_grad()
def sample_translations(
    model: Seq2Seq, batch: Batch, num_samples: int, max_lengths: Tensor
) -> list[list[tuple[int, ...]]]:
    """Sample translations from p(u | x), without dropout.

    Samples without ``<eos>`` among the first `max_lengths` tokens (B,) are discarded.

    Returns:
        Token ids of the samples of each sentence, ending with ``<eos>``.
    """
    was_training = model.training
    model.eval()
    memory = model.encode(batch.source)
    pairs = torch.arange(len(batch), device=max_lengths.device).repeat_interleave(num_samples)
    state = tuple(part[pairs] for part in model.decoder.initial_state(memory))
    memory, max_lengths = memory.select(pairs), max_lengths[pairs]
    ids = batch.target_output.new_full((len(pairs), int(max_lengths.max())), PADDING_ID)
    active, tokens = torch.arange(len(pairs), device=ids.device), torch.full_like(pairs, BEGIN_ID)
    step = 0
    while len(active):
        features, state, _ = model.decoder.step(tokens, state, memory)
        uniform = torch.rand(len(active), device=ids.device)
        tokens = torch.cat(
            [
                draw_token(model.decoder.output(rows), numbers)
                for rows, numbers in zip(
                    features.split(CANDIDATE_ROWS), uniform.split(CANDIDATE_ROWS), strict=True
                )
            ]
        )
        ids[active, step] = tokens
        step += 1
        kept = ((tokens != END_ID) & (step < max_lengths[active])).nonzero()[:, 0]
        if len(kept) < len(active):
            active, tokens, memory = active[kept], tokens[kept], memory.select(kept)
            state = tuple(part[kept] for part in state)
    torch.clear_autocast_cache()  # it has weights that were cast without gradient
    model.train(was_training)
    translations: list[list[tuple[int, ...]]] = [[] for _ in range(len(batch))]
    for pair, row in zip(pairs.tolist(), ids.tolist(), strict=True):
        if END_ID in row:
            translations[pair].append(tuple(row[: row.index(END_ID) + 1]))
    return translations


def draw_token(logits: Tensor, uniform: Tensor) -> Tensor:
    """Sample tokens (N,) from softmax(logits) (N, V) with uniform random numbers (N,); never padding or ``<bos>``."""
    logits = logits.detach().to(torch.promote_types(logits.dtype, torch.float32))
    logits[:, [PADDING_ID, BEGIN_ID]] = -torch.inf
    return sample_tokens(logits, uniform, Sampling())


def log_probabilities(output: nn.Linear, features: Tensor, targets: Tensor, is_token: Tensor) -> Tensor:
    """Return the log-probability of each sentence (N,), the sum over its real tokens.

    Logits are computed for `CANDIDATE_ROWS` tokens at a time, and again in the backward pass, to save memory.

    Args:
        output: Layer from features to logits.
        features: Features of every target position (N, T, R).
        targets: Token ids (N, T).
        is_token: True on real tokens (N, T).
    """

    def token_log_probs(features: Tensor, targets: Tensor) -> Tensor:
        logits = output(features)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return -F.cross_entropy(logits, targets, reduction="none")

    parts = zip(
        features[is_token].split(CANDIDATE_ROWS), targets[is_token].split(CANDIDATE_ROWS), strict=True
    )
    logs = torch.cat(
        [checkpoint(token_log_probs, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
    )
    return logs.new_zeros(len(targets)).index_add(0, is_token.nonzero()[:, 0], logs)
