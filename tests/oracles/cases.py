"""Random configurations, models and batches, each from a number."""

import random
from dataclasses import replace

import torch

from seq2seq.model.build import build_seq2seq
from seq2seq.model.spec import ModelSpec
from seq2seq.text.batch import Batch
from seq2seq.text.store import EncodedSplit, TokenStore
from tests.oracles.model import Oracle

device = torch.device("cpu")
"""Where the models under test compute; a GPU's draw no dropout."""

FAST = ("additive", "dot", "scaled_dot", "bilinear")
PLAIN = ("gaussian",)


def is_fused(spec):
    """Whether the decoder has a fast way, which reads its tokens all at once."""
    return spec.decoder == "bahdanau" and spec.cell == "gru" and spec.score in FAST


def spec_of(draw, scores):
    """A configuration."""
    size, embedding = draw.choice([6, 8]), draw.choice([5, 8])
    tying = draw.choice(["none", "none", "output", "all"])
    readout = draw.choice([None, 7])
    if tying != "none":
        readout = None if embedding == size and draw.random() < 0.5 else embedding
    vocabulary = draw.choice([11, 17])
    return ModelSpec(
        source_vocabulary_size=vocabulary,
        target_vocabulary_size=vocabulary + (0 if tying == "all" else 2),
        padding_id=1,
        embedding_size=embedding,
        encoder_hidden_size=draw.choice([size // 2, 5]),
        decoder_hidden_size=size,
        num_layers=draw.randint(1, 3),
        bidirectional=draw.random() < 0.7,
        dropout=draw.choice([0.0, 0.3, 0.5]),
        readout_size=readout,
        tying=tying,
        score=draw.choice(scores),
        attention_size=draw.choice([4, 9]),
        attention_dropout=0.0,
        initial_state=draw.choice(["encoder", "zeros"]),
        dropout_by_sentence=draw.random() < 0.5,
        query=draw.choice(["state", "state_and_token"]),
    )


def model_of(draw, spec):
    """A model whose numbers are large enough to tell its parts apart."""
    torch.manual_seed(draw.randrange(2**31))
    model = build_seq2seq(spec).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
        if spec.score == "additive" and draw.random() < 0.2:  # too large for exponentials
            model.decoder.attention.score.query_projection.weight.mul_(300)
    return model


def batch_of(draw, spec):
    """Sentences of different lengths, the longest not first."""

    def sentences(count, longest, vocabulary):
        lengths = [draw.randint(1, longest) for _ in range(count)]
        return [[draw.randrange(4, vocabulary) for _ in range(length)] for length in lengths]

    count = draw.randint(1, 5)
    source = sentences(count, draw.choice([1, 4, 7]), spec.source_vocabulary_size)
    target = sentences(count, draw.choice([1, 5, 8]), spec.target_vocabulary_size)
    split = EncodedSplit(
        pairs=[],
        source=TokenStore.from_sentences(source),
        target=TokenStore.from_sentences(target),
        num_blank=0,
        num_long=0,
    )
    return Batch.from_split(split, list(range(count)))


def training_case(seed, scores, **changes):
    """Spec, model and batch."""
    draw = random.Random(seed)
    spec = replace(spec_of(draw, scores), **changes)
    if device.type != "cpu":
        spec = replace(spec, dropout=0.0)
    return spec, model_of(draw, spec), batch_of(draw, spec)


def oracle_of(spec, model):
    """The oracle, and its parameters: copies in float64 that take gradients."""
    copies = {
        name: parameter.detach().cpu().double().requires_grad_()
        for name, parameter in model.named_parameters(remove_duplicate=True)
    }
    shared = {id(parameter): copies[name] for name, parameter in model.named_parameters()}
    every = model.named_parameters(remove_duplicate=False)
    return Oracle(spec, {name: shared[id(parameter)] for name, parameter in every}), copies
