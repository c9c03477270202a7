import pytest
import torch

from benchmarks.batches import even_batch, training_batches
from benchmarks.sizes import Size
from benchmarks.textbook import copy_weights, read_weights, translate_singly
from benchmarks.variants import build_models, build_variants
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.lengths import LengthBounds
from seq2seq.model.decoder import unroll
from seq2seq.text.vocabulary import SPECIALS

CPU = torch.device("cpu")
SIZES = {
    "two_layers": Size(hidden=6, num_layers=2, bidirectional=False, vocabulary=30, sentences=5),
    "both_ways": Size(hidden=6, num_layers=1, bidirectional=True, vocabulary=30, sentences=5),
}
AS_LONG = LengthBounds(min_factor=1.0, max_factor=1.0, max_extra=0)


@pytest.fixture(params=SIZES.values(), ids=SIZES.keys())
def size(request):
    return request.param


@pytest.fixture
def models(size):
    models = build_models(size, CPU, dropout=0.0)
    models.textbook.double()
    models.project.double()
    return models


def test_the_textbook_decoder_is_this_projects_decoder_with_the_same_weights(size, models):
    (batch,) = training_batches(size, 1, bucketed=False)
    source = batch.source
    assert not source.is_token.all()
    memory = models.project.encode(source.ids, source.lengths, source.is_token)
    unrolled = unroll(models.project.decoder, batch.target_input, memory)
    logits = models.project.decoder.output(unrolled.features)
    state = torch.stack(models.project.decoder.initial_state(memory))
    expected = models.textbook.decode(batch.target_input, state, memory.states, source.is_token)
    torch.testing.assert_close(logits, expected)


def test_all_variants_have_one_loss_where_nothing_is_padding(size, models):
    batch = even_batch(4, 5, 6, size.vocabulary)
    losses = {
        name: variant.loss(batch).double()
        for name, variant in build_variants(models).items()
        if name != "fused_bf16"
    }
    for loss in losses.values():
        torch.testing.assert_close(loss, losses["textbook"])


def test_bfloat16_changes_the_loss_a_little(size):
    models = build_models(size, CPU, dropout=0.0)
    batch = even_batch(4, 5, 6, size.vocabulary)
    variants = build_variants(models)
    mixed, whole = (variants[name].loss(batch) for name in ("fused_bf16", "fused_fp32"))
    assert mixed != whole
    torch.testing.assert_close(mixed, whole, rtol=0.02, atol=0.0)


def test_translating_singly_gives_the_tokens_of_greedy_search(size, models):
    # both are kept from special tokens, which greedy search never gives in the middle of a sentence
    with torch.no_grad():
        models.textbook.output.bias[: len(SPECIALS)] = -100
    copy_weights(models.textbook, models.project)
    source = even_batch(3, 7, 2, size.vocabulary).source
    greedy = greedy_search(models.project.eval(), source, bounds=AS_LONG)
    for ids, hypothesis in zip(source.ids, greedy, strict=True):
        assert translate_singly(models.textbook.eval(), ids, len(ids)) == list(hypothesis.ids)


@pytest.mark.parametrize("name", ["textbook", "stepwise", "fused_fp32", "fused_bf16"])
def test_a_step_of_every_variant_lowers_the_loss(size, name):
    variant = build_variants(build_models(size, CPU, dropout=0.0))[name]
    batch = even_batch(4, 5, 6, size.vocabulary)
    before = variant.loss(batch).detach()
    for _ in range(3):
        variant.step(batch)
    assert variant.loss(batch) < before


def test_the_textbook_reads_the_weights_that_it_gave(size, models):
    other = build_models(size, CPU, dropout=0.0).textbook.double()
    for parameter in other.parameters():
        parameter.data.zero_()
    read_weights(other, models.project)
    for found, expected in zip(other.parameters(), models.textbook.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
