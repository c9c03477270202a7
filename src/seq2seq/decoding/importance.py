"""On which source words a prediction depends, by other measures than attention."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import functional_call

from seq2seq.model.decoder import Unrolled
from seq2seq.model.precision import at_least_float32
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.text.batch import Batch, SourceBatch


def importance(model: Seq2Seq, pair: Batch) -> tuple[Float[Tensor, "T W"], Float[Tensor, "T W"]]:
    """How much each source word matters to each likeliest token, ``<eos>`` left out on both sides.

    With y_t the likeliest token, e_j the embedding of source word j, p_t probabilities: gradient
    times input, and leave-one-out, a word taken out of the text, the rest encoded anew:

        |e_j . d log p_t(y_t) / d e_j|,  1/2 sum over y of |p_t(y) - p_t(y given no word j)|

    Args:
        model: outside of training.
        pair: a batch of one pair.
    """
    ids, num_tokens = pair.source.ids[0], int(pair.target_lengths) - 1
    words = ids[:-1].tolist()
    left_out = [words[:place] + words[place + 1 :] for place in range(len(words))]
    with torch.no_grad():
        expected, *others = (
            _log_probabilities(model, features).exp()
            for sources in ([words], left_out)
            for features in _features(model, SourceBatch.from_sentences(sources), pair)
        )
        distances = [(each - expected).abs().sum(dim=1) / 2 for each in others]
    gradient = _gradient(model, pair)[:num_tokens, :-1]
    return gradient, torch.stack(distances, dim=1)[:num_tokens]


def _features(model: Seq2Seq, source: SourceBatch, pair: Batch) -> Float[Tensor, "N T R"]:
    """Of the target of a pair after some sources."""
    source = source.to(model.device)
    target = pair.target_input.expand(len(source.ids), -1)
    unrolled: Unrolled = model(source.ids, source.lengths, source.is_token, target)
    return unrolled.features


def _log_probabilities(model: Seq2Seq, features: Float[Tensor, "N R"]) -> Float[Tensor, "N V"]:
    return at_least_float32(model.decoder.output(features)).log_softmax(dim=1)


def _gradient(model: Seq2Seq, pair: Batch) -> Float[Tensor, "T S"]:
    """Gradient times input of all steps at once: each has a source, with embeddings, of its own."""
    table, num_steps = model.encoder.embedding.weight.detach(), pair.target_input.shape[1]
    own = table[pair.source.ids[0]].repeat(num_steps, 1).requires_grad_()
    ids = torch.arange(len(own), device=own.device).view(num_steps, -1) + len(table)
    source = SourceBatch(ids, pair.source.lengths.expand(num_steps))
    arguments = source.ids, source.lengths, source.is_token, pair.target_input.expand(num_steps, -1)
    weights = {"encoder.embedding.weight": torch.cat([table, own])}
    # the GPU's own library goes back in training only
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        unrolled = functional_call(model, weights, arguments)
        of_step = unrolled.features.diagonal().T
        said = _log_probabilities(model, of_step).amax(dim=1).sum()
        (gradient,) = torch.autograd.grad(said, own)
    return (gradient * own.detach()).sum(dim=1).abs().view(num_steps, -1)
