import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.greedy import greedy_search
from seq2seq.models.limits import DEFAULT_LIMITS
from tests.small import model_of

SENTENCES = [[4, 5, 6, 7], [8], [9, 10, 4, 4, 5, 6], [], [7, 7]]


def translated(model, sentences):
    with torch.no_grad():
        return greedy_search(model, SourceBatch.from_sentences(sentences))


@pytest.fixture(params=["additive", "scaled_dot"])
def model(request):
    model = model_of(score=request.param, num_layers=2)
    # sharper outputs, so that sentences end at different lengths
    model.decoder.output.weight.data.mul_(12)
    return model


def test_a_translation_does_not_depend_on_the_sentences_beside_it(model):
    together = translated(model, SENTENCES)
    reversed_order = translated(model, SENTENCES[::-1])[::-1]
    assert len({len(hypothesis.ids) for hypothesis in together}) > 1
    for sentence, one, other in zip(SENTENCES, together, reversed_order, strict=True):
        (alone,) = translated(model, [sentence])
        assert one.ids == other.ids == alone.ids
        assert one.score == pytest.approx(alone.score, abs=1e-10)
        torch.testing.assert_close(one.weights, alone.weights, rtol=0, atol=1e-12)


def test_float32_scores_agree_between_batches(model):
    model.float()
    together = translated(model, SENTENCES)
    for sentence, hypothesis in zip(SENTENCES, together, strict=True):
        (alone,) = translated(model, [sentence])
        assert hypothesis.score == pytest.approx(alone.score, abs=1e-4)


def test_a_hypothesis_is_scored_by_its_own_log_probability(model):
    for sentence, hypothesis in zip(SENTENCES, translated(model, SENTENCES), strict=True):
        source = SourceBatch.from_sentences([sentence])
        inputs = torch.tensor([[BEGIN_ID, *hypothesis.ids[:-1]]])
        with torch.no_grad():
            forced = model(source.ids, source.lengths, source.is_token, inputs)
            log_probabilities = model.decoder.output(forced[0]).log_softmax(-1)[0]
        score = log_probabilities[torch.arange(len(hypothesis.ids)), list(hypothesis.ids)].sum()
        assert hypothesis.score == pytest.approx(float(score), abs=1e-9)
        torch.testing.assert_close(hypothesis.weights, forced[1][0], rtol=0, atol=1e-12)


def test_every_token_is_the_likeliest_and_never_padding_or_begin(model):
    for bias in (PADDING_ID, BEGIN_ID):
        model.decoder.output.bias.data[bias] = 1e3
    for hypothesis in translated(model, SENTENCES):
        assert not {PADDING_ID, BEGIN_ID} & set(hypothesis.ids)


def test_a_hypothesis_ends_at_eos_or_at_its_own_bound(model):
    model.decoder.output.bias.data[END_ID] = -1e9
    for sentence, hypothesis in zip(SENTENCES, translated(model, SENTENCES), strict=True):
        (bound,) = DEFAULT_LIMITS.maximum(torch.tensor([len(sentence) + 1])).tolist()
        assert len(hypothesis.ids) == len(hypothesis.weights) == bound
        assert hypothesis.weights.shape[1] == len(sentence) + 1
    model.decoder.output.bias.data[END_ID] = 1e9
    assert [hypothesis.ids for hypothesis in translated(model, SENTENCES)] == [(END_ID,)] * 5
