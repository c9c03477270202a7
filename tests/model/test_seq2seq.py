from dataclasses import replace

import pytest
import torch
from torch.nn.functional import pad

from seq2seq.model.attentions.monotonic import MonotonicWeighing
from seq2seq.model.build import build_seq2seq
from seq2seq.model.fused.choice import teacher_force
from seq2seq.model.memory import select_state
from seq2seq.text.batch import SourceBatch
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
    sums = weights.sum(-1)
    is_hard = isinstance(getattr(model.decoder.attention, "weighing", None), MonotonicWeighing)
    expected = sums.round() if is_hard else torch.ones_like(sums)
    torch.testing.assert_close(sums, expected, **EXACT)
    assert ((sums == 0) | (expected == 1)).all()
    assert (expected == 1).any()
    padding = ~batch.source.is_token.unsqueeze(1).expand_as(weights)
    assert padding.any()
    assert (weights[padding] == 0).all()


def test_selecting_rows_of_a_memory_selects_its_sentences(model, batch):
    memory, rows = encoded(model, batch.source), torch.tensor([2, 0])
    tokens = model.decoder.embedding(batch.target_input[:, 0])
    initial, selected = model.decoder.initial_state(memory), memory.select(rows)
    features, state, weights = model.decoder.step(tokens, initial, memory)
    found = model.decoder.step(tokens[rows], select_state(initial, rows), selected)
    torch.testing.assert_close(found[0], features[rows], **EXACT)
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
    result = teacher_force(model.decoder, tokens, memory)
    assert model.decoder.output(result.features).shape == (4, 7, 10)
    assert memory.states.shape == (4, 7, 16)
    assert [layer.shape for layer in model.decoder.initial_state(memory)] == [(4, 16), (4, 16)]
    assert result.weights.shape == (4, 7, 7)


def test_equal_sizes_copy_the_encoders_state_and_other_sizes_are_bridged(batch):
    model = model_of()
    _, final = model.encoder(batch.source.ids, batch.source.lengths)
    memory = encoded(model, batch.source)
    torch.testing.assert_close(model.decoder.initial_state(memory), final, **EXACT)
    bridged = model_of(decoder_hidden_size=7)
    state = bridged.decoder.initial_state(encoded(bridged, batch.source))[0]
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
    first = model.decoder.initial_state(memory)
    assert [state.shape for state in first] == [(4, 7), (4, 7)]
    assert not any(state.any() for state in first)
    assert not list(model.decoder.bridge.parameters())
    # another source with the same memory gives the same
    other = encoded(model, SourceBatch(batch.source.ids.flip(0), batch.source.lengths.flip(0)))
    blind = replace(
        other, states=memory.states, keys=memory.keys, projected_keys=memory.projected_keys
    )
    blind = replace(blind, source_is_token=memory.source_is_token)
    torch.testing.assert_close(
        teacher_force(model.decoder, batch.target_input, blind).features,
        teacher_force(model.decoder, batch.target_input, memory).features,
        **EXACT,
    )
