"""The weights of every head of what a search has found."""

import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.decoding.forced import with_heads
from seq2seq.decoding.search import beam_search
from seq2seq.decoding.translation import Translation
from tests.small import model_of

SENTENCES = [[4, 5, 6, 7], [8, 4], [9, 9, 5]]
MODELS = {
    "dot": {"score": "scaled_dot", "heads": 3},
    "local": {"alignment": "local_p", "heads": 2},
    "luong": {"decoder": "luong", "heads": 2, "score": "coverage"},
}


def found_by(model):
    source = SourceBatch.from_sentences(SENTENCES)
    return source, beam_search(model, source, size=3, num_best=2)


def watched(model, sentence, ids):
    """What each head's softmax gives, one step after the other (heads, target, source)."""
    seen = [[] for _ in model.decoder.attention.heads]
    hooks = [
        head.dropout.register_forward_hook(lambda _, __, out, into=into: into.append(out.flatten()))
        for head, into in zip(model.decoder.attention.heads, seen, strict=True)
    ]
    source, target = SourceBatch.from_sentences([sentence]), torch.tensor([[2, *ids[:-1]]])
    model(source.ids, source.lengths, source.is_token, target, torch.tensor([len(ids)]))
    for hook in hooks:
        hook.remove()
    return torch.stack([torch.stack(steps) for steps in seen])


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_each_head_of_each_hypothesis_is_what_its_softmax_gave(name):
    model = model_of(**MODELS[name])
    source, found = found_by(model)
    every = with_heads(model, source, found)
    assert [len(hypotheses) for hypotheses in every] == [2, 2, 2]
    for sentence, hypotheses in zip(SENTENCES, every, strict=True):
        for hypothesis in hypotheses:
            expected = watched(model, sentence, hypothesis.ids)
            torch.testing.assert_close(hypothesis.heads, expected)
            torch.testing.assert_close(hypothesis.heads.mean(dim=0), hypothesis.weights)


def test_one_head_and_several_models_have_none():
    single, several = model_of(), model_of(heads=2)
    for models in (single, [several, several]):
        source, found = found_by(models)
        every = with_heads(models, source, found)
        assert [each.heads for hypotheses in every for each in hypotheses] == [None] * 6


def test_json_has_every_head_where_there_are_several():
    heads = torch.tensor([[[0.25, 0.75]], [[1.0, 0.0]]])
    told = Translation("c", ("a", "b"), ("c",), -1.0, heads.mean(dim=0), heads=heads).as_dict()
    assert told["heads"] == [[[0.25, 0.75]], [[1.0, 0.0]]]
    assert told["attention"] == [[0.625, 0.375]]
    one = Translation("c", ("a", "b"), ("c",), -1.0, heads[0])
    assert "heads" not in one.as_dict()
