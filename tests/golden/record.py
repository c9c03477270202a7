"""Record golden.json. It runs on commit 2fbdffe alone, whose modules it imports:

git worktree add ../before 2fbdffe
cp tests/golden/*.py ../before/tests/ && cd ../before && PYTHONPATH=src:tests python tests/record.py > golden.json
"""

import json
import sys

import torch
from cases import (
    ATTENTION,
    BEAM,
    CASES,
    DECODER,
    EMBEDDING,
    ENCODER,
    LEARNING_RATE,
    PADDING_ID,
    READOUT,
    SMOOTHING,
    SOURCE,
    STEPS,
    TARGET,
    VOCABULARY,
    fill,
    rounded,
)  # fmt: skip

from seq2seq.decoding.beam import beam_search
from seq2seq.decoding.greedy import greedy_search
from seq2seq.model.build import build_seq2seq
from seq2seq.model.spec import ModelSpec
from seq2seq.text.batch import Batch
from seq2seq.text.store import EncodedSplit, TokenStore
from seq2seq.training.loss import token_cross_entropy

DIRECT = [
    ("encoder.embedding.weight", "source_embedding.weight"),
    ("encoder.gru.", "encoder.layers."),
    ("encoder.lstm.", "encoder.layers."),
    ("decoder.first_layer.", "decoder.stack.cells.0."),
    ("decoder.layers.", "decoder.stack.cells."),
    ("decoder.word_layer.", "decoder.token_cell."),
    ("decoder.bridge.0.0.", "decoder.bridge.projection."),
    ("decoder.key_projection.", "decoder.attention.key_projection."),
    ("attention.weighing.", "attention.alignment."),
]


def new_name(name):
    """The name of a parameter of 2fbdffe in the present code."""
    if name.startswith("decoder.upper_layers."):
        _, _, layer, rest = name.split(".", 3)
        return f"decoder.stack.cells.{int(layer) + 1}.{rest}"
    if name.startswith("encoder.gru."):  # one module of all layers
        kind, layer = name.removesuffix("_reverse").rsplit("_l", 1)
        reverse = "_reverse" if name.endswith("_reverse") else ""
        return f"encoder.layers.{layer}.{kind.removeprefix('encoder.gru.')}_l0{reverse}"
    for old, new in DIRECT:
        name = name.replace(old, new)
    return name


def spec_of(case):
    coverage = case.get("score") == "coverage"
    score = "additive" if coverage else case.get("score", "additive")
    alignment = case.get("alignment", "global")
    return ModelSpec(
        source_vocabulary_size=VOCABULARY,
        target_vocabulary_size=VOCABULARY,
        padding_id=PADDING_ID,
        embedding_size=EMBEDDING,
        encoder_hidden_size=ENCODER,
        decoder_hidden_size=DECODER,
        num_layers=case.get("num_layers", 1),
        bidirectional=case.get("bidirectional", True),
        dropout=0.0,
        readout_size=READOUT if case.get("readout") else None,
        tying=case.get("tie", "none"),
        score=score,
        attention_size=ATTENTION if score in ("additive",) else None,
        attention_dropout=0.0,
        initial_state="zeros" if case.get("initial_state") == "zeros" else "encoder",
        query="state_and_token" if case.get("query_with_embedding") else "state",
        attention_kind=alignment,
        attention_window=2 if alignment.startswith("local") else None,
        attention_coverage=coverage,
        attention_normaliser=case.get("normalizer", "softmax"),
        attention_heads=case.get("heads", 1),
        cell=case.get("cell", "gru"),
        decoder=case.get("decoder", "bahdanau"),
        input_feeding=case.get("input_feeding", True),
        reverse_source=case.get("reverse_source", False),
    )


def recorded(case):
    model = build_seq2seq(spec_of(case))
    names = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append((new_name(name), parameter))
    for each in names.values():
        name, parameter = min(each)  # of tied ones the first by name
        fill(name, parameter)
    split = EncodedSplit(
        pairs=[],
        source=TokenStore.from_sentences(SOURCE),
        target=TokenStore.from_sentences(TARGET),
        num_blank=0,
        num_long=0,
    )
    batch = Batch.from_split(split, range(len(SOURCE)))
    source = batch.source
    given = source.ids, source.lengths, source.is_token, batch.target_input, batch.target_lengths

    def loss():
        result = model(*given)
        return token_cross_entropy(
            result.features, model.decoder.output, batch.target_output, batch.target_is_token,
            label_smoothing=SMOOTHING,
        ), result.weights  # fmt: skip

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses, count = [], int(batch.target_is_token.sum())
    for _ in range(STEPS):
        sums, _ = loss()
        optimizer.zero_grad()
        (sums.smoothed / count).backward()
        optimizer.step()
        losses.append([float(sums.nll.detach()), float(sums.smoothed.detach())])
    model.eval()
    with torch.no_grad():
        weights = loss()[1]
    found = {
        "greedy": greedy_search(model, source),
        "beam": [each for (each,) in beam_search(model, source, size=BEAM)],
    }
    return {
        "names": sorted(min(each)[0] for each in names.values()),
        "losses": rounded(losses),
        "attention": None if weights is None else rounded(weights.tolist()),
        **{key: [[list(h.ids), rounded(h.score)] for h in hypotheses] for key, hypotheses in found.items()},
    }


json.dump({name: recorded(case) for name, case in CASES.items()}, sys.stdout)
