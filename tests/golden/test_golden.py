"""Losses, translations and attention as commit 2fbdffe gave them, see record.py."""

import json
from functools import partial
from pathlib import Path

import pytest
import torch

from seq2seq.attention import (
    AdditiveScore,
    Attention,
    BilinearScore,
    CoverageScore,
    DotScore,
    GaussianScore,
    LocalAlignment,
    MultiHeadAttention,
    ScaledDotScore,
    UniformScore,
)  # fmt: skip
from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.decoding.search import beam_search, greedy_search
from seq2seq.models import (
    BahdanauDecoder,
    ConditionalDecoder,
    ContextDecoder,
    GRUEncoder,
    LSTMEncoder,
    LuongDecoder,
    PlainDecoder,
    build_model,
)  # fmt: skip
from seq2seq.models.decoder import Decoder
from seq2seq.training.losses import token_cross_entropy
from tests.golden.cases import (
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
)  # fmt: skip

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())
SCORES = {
    "additive": partial(AdditiveScore, hidden_size=ATTENTION),
    "coverage": partial(CoverageScore, hidden_size=ATTENTION),
    "dot": DotScore,
    "scaled_dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "gaussian": partial(GaussianScore, learnable=True),
    "average": UniformScore,
}
ALIGNMENTS = {
    "local_m": partial(LocalAlignment, window=2),
    "local_p": partial(LocalAlignment, window=2, predictive=True),
}
DECODERS = {
    "bahdanau": BahdanauDecoder,
    "conditional": ConditionalDecoder,
    "luong": LuongDecoder,
    "context": ContextDecoder,
    "plain": PlainDecoder,
}


def model_of(case):
    attention = partial(
        Attention,
        score=SCORES[case.get("score", "additive")],
        alignment=ALIGNMENTS.get(case.get("alignment")),
        normalizer=case.get("normalizer", "softmax"),
    )
    if "heads" in case:
        attention = partial(MultiHeadAttention, heads=case["heads"], attention=attention)
    kind = case.get("decoder", "bahdanau")
    options = {key: case[key] for key in ("query_with_embedding", "input_feeding") if key in case}
    if kind not in ("context", "plain"):
        options["attention"] = attention
    cell, num_layers = case.get("cell", "gru"), case.get("num_layers", 1)
    model = build_model(
        encoder=partial(
            LSTMEncoder if cell == "lstm" else GRUEncoder,
            hidden_size=ENCODER,
            num_layers=num_layers,
            bidirectional=case.get("bidirectional", True),
        ),
        decoder=partial(
            DECODERS[kind],
            hidden_size=DECODER,
            num_layers=num_layers,
            cell=cell,
            readout_size=READOUT if case.get("readout") else None,
            initial_state=case.get("initial_state", "copy"),
            **options,
        ),
        source_vocab_size=VOCABULARY,
        target_vocab_size=VOCABULARY,
        padding_id=PADDING_ID,
        embedding_size=EMBEDDING,
        tie_embeddings=case.get("tie", "none"),
        reverse_source=case.get("reverse_source", False),
    )
    names = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append((name, parameter))
    for each in names.values():
        fill(*min(each))
    return model, sorted(min(each)[0] for each in names.values())


@pytest.mark.parametrize("path", ["model", "definition"])
@pytest.mark.parametrize("name", CASES)
def test_losses_translations_and_attention_are_those_of_2fbdffe(name, path):
    expected, (model, names) = GOLDEN[name], model_of(CASES[name])
    assert names == expected["names"]
    batch = Batch.from_split(
        EncodedSplit(pairs=[], source=Sentences.from_lists(SOURCE), target=Sentences.from_lists(TARGET)),
        range(len(SOURCE)),
    )
    source = batch.source

    def passed():
        given = source.ids, source.lengths, source.is_token
        if path == "model":
            features, weights = model(*given, batch.target_input, batch.target_lengths)
        else:  # the loop over `step`, which every decoder inherits
            memory = model.encode(*given)
            features, weights = Decoder.forward(
                model.decoder, batch.target_input, memory, batch.target_lengths
            )
        sums = token_cross_entropy(
            features,
            model.decoder.output,
            batch.target_output,
            batch.target_is_token,
            label_smoothing=SMOOTHING,
        )
        return sums, weights

    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    for step, (nll, smoothed) in enumerate(expected["losses"]):
        sums, _ = passed()
        optimizer.zero_grad()
        (sums.smoothed / int(batch.target_is_token.sum())).backward()
        optimizer.step()
        assert float(sums.nll.detach()) == pytest.approx(nll, abs=1e-3), f"step {step}"
        assert float(sums.smoothed.detach()) == pytest.approx(smoothed, abs=1e-3), f"step {step}"
    assert step == STEPS - 1
    model.eval()
    with torch.no_grad():
        weights = passed()[1]
    if expected["attention"] is None:
        assert weights is None
    else:
        torch.testing.assert_close(weights, torch.tensor(expected["attention"]), atol=1e-4, rtol=0)
    greedy = greedy_search(model, source)
    beam = [hypotheses[0] for hypotheses in beam_search(model, source, size=BEAM)]
    for found, recorded in ((greedy, expected["greedy"]), (beam, expected["beam"])):
        for hypothesis, (ids, score) in zip(found, recorded, strict=True):
            assert list(hypothesis.ids) == ids
            assert hypothesis.score == pytest.approx(score, abs=1e-3)
