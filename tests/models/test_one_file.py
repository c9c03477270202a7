"""The example in one file is the default model: the same losses while both are trained."""

import runpy

import pytest
import torch
from torch.nn.utils import clip_grad_norm_

from seq2seq.training.losses import token_cross_entropy
from tests.conftest import ROOT
from tests.small import batch_of, model_of

V, W = 30, 40


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "one_file.py"))


def with_the_same_weights(translator, ours):
    """Copy the weights of the program's model; the gates of a GRU cell are apart there."""
    w = ours.state_dict()
    cell, decoder = "decoder.stack.cells.0", translator.decoder
    copies = {
        decoder.embedding.weight: w["decoder.embedding.weight"],
        decoder.bridge.weight: w["decoder.bridge.projection.weight"],
        decoder.bridge.bias: w["decoder.bridge.projection.bias"],
        decoder.attention.query_projection.weight: w["decoder.attention.score.query_projection.weight"],
        decoder.attention.key_projection.weight: w["decoder.attention.score.key_projection.weight"],
        decoder.attention.score_weight.weight: w["decoder.attention.score.score_weight"][None],
        decoder.cell.weight_ih: torch.cat(
            [w[f"{cell}.input_gates.weight"], w["decoder.context_gates.weight"]], 1
        ),
        decoder.cell.bias_ih: w[f"{cell}.input_gates.bias"],
        decoder.cell.weight_hh: w[f"{cell}.state_gates.weight"],
        decoder.cell.bias_hh: w[f"{cell}.state_gates.bias"],
        decoder.readout.weight: torch.cat(
            [w[f"decoder.readout.{part}.weight"] for part in ("state", "context", "embedded")], 1
        ),
        decoder.readout.bias: w["decoder.readout.state.bias"],
        decoder.output.bias: w["decoder.output.bias"],
        translator.encoder.embedding.weight: w["source_embedding.weight"],
    }
    copies |= {
        value: w[f"encoder.layers.0.{name}"] for name, value in translator.encoder.gru.named_parameters()
    }
    with torch.no_grad():
        for parameter, value in copies.items():
            parameter.copy_(value)
    assert {id(each) for each in copies} == {id(each) for each in translator.parameters()}


def test_losses_and_attention_are_those_of_the_program(example):
    ours = model_of(
        source_vocab_size=V, target_vocab_size=W, embedding_size=128, encoder_hidden_size=128, decoder_hidden_size=256,
        attention_size=128, readout_size=128, initial_state="linear", tie="output", seed=1,
    ).float().train()  # fmt: skip
    translator = example["Translator"]({str(i): i for i in range(V)}, {str(i): i for i in range(W)})
    with_the_same_weights(translator, ours)
    for module in translator.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    optimizers = [torch.optim.Adam(each.parameters(), lr=0.004) for each in (translator, ours)]
    for step in range(6):
        sides = (
            [torch.randint(4, size, (length,)).tolist() for length in torch.randint(1, 9, (5,))]
            for size in (V, W)
        )
        batch = batch_of(*sides)
        source = batch.source
        features, weights = ours(batch)
        sums = token_cross_entropy(features, ours.decoder.output, batch.target_output, batch.target_is_token)
        losses = [
            translator.loss((source.ids, source.lengths, batch.target_output)),
            sums.objective / sums.num_tokens,
        ]
        assert abs(losses[0].item() - losses[1].item()) < 1e-5, step
        _, drawn = translator(source.ids, source.lengths, batch.target_output)
        torch.testing.assert_close(
            drawn[batch.target_is_token], weights[batch.target_is_token][:, 0], atol=1e-5, rtol=0
        )
        for loss, model, optimizer in zip(losses, (translator, ours), optimizers, strict=True):
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(model.parameters(), 0.3)
            optimizer.step()


@pytest.mark.long
def test_its_tokens_are_those_of_the_default_tokenizer(example):
    from seq2seq.data import EverydayCorpus

    data = EverydayCorpus(source_language="en", target_language="fr")
    pairs = example["read_corpus"]()
    for split, ours in data.prepared.splits.items():
        assert [(each.source, each.target) for each in ours.pairs] == pairs[split]
    for side, tokenizer in enumerate(data.tokenizers):
        vocabulary = example["vocabulary_of"](pair[side] for pair in pairs["train"])
        assert set(vocabulary) == {*tokenizer.words(range(tokenizer.vocab_size))}  # without their joints
    target = [pair.target for pair in data.prepared.test.pairs]
    again = [example["text_of"](example["tokens_of"](text)) for text in target]
    assert sum(one != other for one, other in zip(again, target, strict=True)) <= 1
