from dataclasses import replace

import pytest
import torch
from torch.nn.functional import pad

from seq2seq.model.memory import select_state
from seq2seq.model.spec import build_seq2seq
from seq2seq.text.batch import Batch, SourceBatch
from seq2seq.text.vocabulary import PADDING_ID
from seq2seq.training.loss import token_cross_entropy
from tests.models import model_of, spec_of

EXACT = {"rtol": 0, "atol": 1e-12}


def unrolled(model, batch):
    source = batch.source
    return model(source.ids, source.lengths, source.is_token, batch.target_input)


def logits_of(model, batch):
    return model.decoder.output(unrolled(model, batch).features)


def encoded(model, source):
    return model.encode(source.ids, source.lengths, source.is_token)


def more_padding(batch, source_padding, target_padding):
    def padded(ids, count):
        return pad(ids, (0, count), value=PADDING_ID)

    return replace(
        batch,
        source=SourceBatch(padded(batch.source.ids, source_padding), batch.source.lengths),
        target_input=padded(batch.target_input, target_padding),
        target_output=padded(batch.target_output, target_padding),
    )


def loss_of(model, batch):
    features = unrolled(model, batch).features
    return token_cross_entropy(
        features,
        model.decoder.output,
        batch.target_output,
        batch.target_is_token,
        label_smoothing=0.1,
    )


def test_padding_changes_neither_logits_nor_attention_nor_loss(model, batch):
    wide = more_padding(batch, 3, 2)
    steps, positions = batch.target_input.shape[1], batch.source.ids.shape[1]
    torch.testing.assert_close(logits_of(model, wide)[:, :steps], logits_of(model, batch), **EXACT)
    weights, wide_weights = unrolled(model, batch).weights, unrolled(model, wide).weights
    torch.testing.assert_close(wide_weights[:, :steps, :positions], weights, **EXACT)
    for name in ("nll", "smoothed", "num_correct", "num_tokens"):
        expected, found = getattr(loss_of(model, batch), name), getattr(loss_of(model, wide), name)
        torch.testing.assert_close(found, expected, **EXACT)


def test_padding_changes_no_gradient(model, batch):
    def gradients(some_batch):
        model.zero_grad()
        loss_of(model, some_batch).smoothed.backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    for wide, narrow in zip(gradients(more_padding(batch, 3, 2)), gradients(batch), strict=True):
        torch.testing.assert_close(wide, narrow, **EXACT)


def test_weights_sum_to_one_and_are_exactly_zero_on_padding(model, batch):
    weights = unrolled(model, batch).weights
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), **EXACT)
    padding = ~batch.source.is_token.unsqueeze(1).expand_as(weights)
    assert padding.any()
    assert (weights[padding] == 0).all()


def test_a_batch_equals_its_sentences_one_by_one(model, split, batch):
    together = logits_of(model, batch)
    for index in range(4):
        single = Batch.from_split(split, [index])
        alone = logits_of(model, single)[0]
        torch.testing.assert_close(together[index, : len(alone)], alone, **EXACT)


def test_unroll_equals_step_repeated(model, batch):
    memory = encoded(model, batch.source)
    whole = model.decoder.unroll(batch.target_input, memory)
    state = memory.initial_state
    for step, tokens in enumerate(batch.target_input.unbind(dim=1)):
        logits, state, weights = model.decoder.step(tokens, state, memory)
        expected = model.decoder.output(whole.features[:, step])
        torch.testing.assert_close(logits, expected, **EXACT)
        torch.testing.assert_close(weights, whole.weights[:, step], **EXACT)


def test_unroll_has_the_gradients_of_step_repeated(model, batch):
    def gradients(run):
        model.zero_grad()
        run(encoded(model, batch.source)).square().sum().backward()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    def stepwise(memory):
        state, logits = memory.initial_state, []
        for tokens in batch.target_input.unbind(dim=1):
            step_logits, state, _ = model.decoder.step(tokens, state, memory)
            logits.append(step_logits)
        return torch.stack(logits, dim=1)

    def whole(memory):
        return model.decoder.output(model.decoder.unroll(batch.target_input, memory).features)

    expected, found = gradients(stepwise), gradients(whole)
    assert expected.keys() == found.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-12)


def test_the_query_is_the_top_layers_state_before_the_step(batch):
    model = model_of(num_layers=2)
    memory = encoded(model, batch.source)
    tokens = batch.target_input[:, 0]
    _, _, weights = model.decoder.step(tokens, memory.initial_state, memory)
    _, expected = model.decoder.attention(
        memory.initial_state[-1].unsqueeze(1),
        memory.states,
        memory.states,
        mask=memory.source_is_token.unsqueeze(1),
    )
    torch.testing.assert_close(weights, expected[:, 0], **EXACT)


def test_selecting_rows_of_a_memory_selects_its_sentences(model, batch):
    memory, rows = encoded(model, batch.source), torch.tensor([2, 0])
    tokens = batch.target_input[:, 0]
    logits, state, weights = model.decoder.step(tokens, memory.initial_state, memory)
    selected = memory.select(rows)
    found = model.decoder.step(tokens[rows], selected.initial_state, selected)
    torch.testing.assert_close(found[0], logits[rows], **EXACT)
    torch.testing.assert_close(found[1], select_state(state, rows), **EXACT)
    torch.testing.assert_close(found[2], weights[rows], **EXACT)


def test_the_textbook_shapes_of_the_decoder():
    model = build_seq2seq(
        spec_of(
            source_vocabulary_size=10,
            target_vocabulary_size=10,
            embedding_size=8,
            encoder_hidden_size=16,
            decoder_hidden_size=16,
            num_layers=2,
            bidirectional=False,
        )
    )
    tokens = torch.zeros(4, 7, dtype=torch.int64)
    source = SourceBatch(tokens, torch.full((4,), 7))
    memory = encoded(model, source)
    result = model.decoder.unroll(tokens, memory)
    assert model.decoder.output(result.features).shape == (4, 7, 10)
    assert memory.states.shape == (4, 7, 16)
    assert [layer.shape for layer in memory.initial_state] == [(4, 16), (4, 16)]
    assert result.weights.shape == (4, 7, 7)


def test_equal_sizes_copy_the_encoders_state_and_other_sizes_are_bridged(batch):
    model = model_of()
    _, final = model.encoder(batch.source.ids, batch.source.lengths)
    torch.testing.assert_close(encoded(model, batch.source).initial_state, final, **EXACT)
    bridged = model_of(decoder_hidden_size=7)
    state = encoded(bridged, batch.source).initial_state[0]
    assert state.shape == (4, 7)
    assert state.abs().max() <= 1


def test_tying_makes_weights_one(batch):
    tied = model_of(readout_size=4, tying="all")
    assert tied.decoder.output.weight is tied.decoder.embedding.weight
    assert tied.encoder.embedding.weight is tied.decoder.embedding.weight
    output = model_of(readout_size=4, tying="output")
    assert output.encoder.embedding.weight is not output.decoder.embedding.weight


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tying": "output"}, r"set model\.readout_size=4"),
        ({"tying": "all", "readout_size": 4, "source_vocabulary_size": 12}, r"tokenizer\.joint"),
        ({"score": "aditive"}, "additive"),
    ],
)
def test_options_that_do_not_go_together_are_refused_with_the_remedy(changes, message):
    with pytest.raises(ValueError, match=message):
        build_seq2seq(spec_of(**changes))


def test_dropout_acts_in_training_only(batch):
    model = model_of(dropout=0.5)
    torch.testing.assert_close(logits_of(model, batch), logits_of(model, batch), **EXACT)
    model.train()
    assert not torch.equal(logits_of(model, batch), logits_of(model, batch))


def test_a_decoder_from_zeros_starts_there_and_learns_of_the_source_by_attention_only(batch):
    model = model_of(initial_state="zeros", num_layers=2, decoder_hidden_size=7)
    memory = encoded(model, batch.source)
    assert [state.shape for state in memory.initial_state] == [(4, 7), (4, 7)]
    assert not any(state.any() for state in memory.initial_state)
    assert not list(model.decoder.bridge.parameters())
    # another source with the same memory gives the same
    other = encoded(model, SourceBatch(batch.source.ids.flip(0), batch.source.lengths.flip(0)))
    blind = replace(
        other, states=memory.states, keys=memory.keys, projected_keys=memory.projected_keys
    )
    blind = replace(blind, source_is_token=memory.source_is_token)
    torch.testing.assert_close(
        model.decoder.unroll(batch.target_input, blind).features,
        model.decoder.unroll(batch.target_input, memory).features,
        **EXACT,
    )
