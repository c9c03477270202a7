"""Random configurations, models and batches, each from a number."""

import random
from dataclasses import asdict, dataclass, replace

import torch

from tests import small
from tests.oracles.model import Oracle

SCORES = ("additive", "dot", "scaled_dot", "bilinear", "gaussian")


@dataclass(frozen=True)
class Spec:
    """What decides a model, for the program and for the oracle."""

    source_vocab_size: int
    target_vocab_size: int
    embedding_size: int
    encoder_hidden_size: int
    decoder_hidden_size: int
    num_layers: int
    bidirectional: bool
    dropout: float
    readout_size: int | None
    tie: str
    score: str
    attention_size: int
    initial_state: str
    query_with_embedding: bool
    decoder: str = "bahdanau"
    cell: str = "gru"
    input_feeding: bool = True
    reverse_source: bool = False
    embedding_dropout: float | None = None
    output_dropout: float | None = None


def spec_of(draw):
    """A configuration."""
    size, embedding = draw.choice([6, 8]), draw.choice([5, 8])
    tie = draw.choice(["none", "none", "output", "all"])
    readout = draw.choice([None, 7])
    if tie != "none":
        readout = None if embedding == size and draw.random() < 0.5 else embedding
    vocabulary = draw.choice([11, 17])
    encoder, bidirectional = draw.choice([size // 2, 5]), draw.random() < 0.7
    fits = encoder * (1 + bidirectional) == size
    return Spec(
        source_vocab_size=vocabulary,
        target_vocab_size=vocabulary + (0 if tie == "all" else 2),
        embedding_size=embedding,
        encoder_hidden_size=encoder,
        decoder_hidden_size=size,
        num_layers=draw.randint(1, 3),
        bidirectional=bidirectional,
        dropout=draw.choice([0.0, 0.3, 0.5]),
        readout_size=readout,
        tie=tie,
        score=draw.choice(SCORES),
        attention_size=draw.choice([4, 9]),
        initial_state=draw.choice(["copy" if fits else "linear", "linear", "zeros"]),
        query_with_embedding=draw.random() < 0.5,
    )


def model_of(draw, spec):
    """A model whose numbers are large enough to tell its parts apart."""
    model = small.model_of(**asdict(spec), seed=draw.randrange(2**31)).train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
        if spec.score == "additive" and hasattr(model.decoder, "attention") and draw.random() < 0.2:
            model.decoder.attention.score.query_projection.weight.mul_(300)  # too large for exponentials
    return model


def batch_of(draw, spec):
    """Sentences of different lengths, the longest not first."""

    def sentences(count, longest, vocabulary):
        lengths = [draw.randint(1, longest) for _ in range(count)]
        return [[draw.randrange(4, vocabulary) for _ in range(length)] for length in lengths]

    count = draw.randint(1, 5)
    source = sentences(count, draw.choice([1, 4, 7]), spec.source_vocab_size)
    target = sentences(count, draw.choice([1, 5, 8]), spec.target_vocab_size)
    return small.batch_of(source, target)


def training_case(seed, **changes):
    """Spec, model and batch."""
    draw = random.Random(seed)
    spec = replace(spec_of(draw), **changes)
    if (
        spec.initial_state == "copy"
        and spec.encoder_hidden_size * (1 + spec.bidirectional) != spec.decoder_hidden_size
    ):
        spec = replace(spec, initial_state="linear")
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
