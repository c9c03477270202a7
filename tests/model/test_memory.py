from dataclasses import fields

import pytest
import torch

from seq2seq.text.batch import SourceBatch
from tests.models import model_of

SCORES = {
    "additive": {},
    "nothing projected": {"score": "dot"},
    "keys projected": {"score": "dot", "decoder_hidden_size": 7},
    "keys projected twice": {"score": "bilinear"},
}


@pytest.mark.parametrize("name", SCORES)
def test_selected_memory_holds_the_rows_of_every_part_and_shares_what_was_shared(name):
    source = SourceBatch.from_sentences([[4, 5, 6], [7], [8, 9]])
    model = model_of(**SCORES[name], dropout=0.5, dropout_by_sentence=True).train()
    memory = model.encode(source.ids, source.lengths, source.is_token)
    rows = torch.tensor([2, 0])
    found = memory.select(rows)
    for field in fields(memory):
        whole, part = getattr(memory, field.name), getattr(found, field.name)
        if field.name in {"final_states", "masks"}:
            (whole, *_), (part, *_) = whole, part
        assert torch.equal(part, whole[rows]), field.name
    assert (found.keys is found.states) == (memory.keys is memory.states)
    assert (found.projected_keys is found.keys) == (memory.projected_keys is memory.keys)


@pytest.mark.parametrize("name", SCORES)
def test_rows_of_one_sentence_share_its_memory_in_a_step(name):
    model = model_of(**SCORES[name])
    source = SourceBatch.from_sentences([[4, 5, 6], [7]])
    memory = model.encode(source.ids, source.lengths, source.is_token)
    rows = torch.tensor([0, 0, 0, 1, 1, 1])
    tokens = torch.tensor([4, 5, 6, 7, 8, 9])
    state = tuple(
        layer[rows] + torch.arange(6).unsqueeze(1) for layer in model.decoder.initial_state(memory)
    )
    shared = model.decoder.step(model.decoder.embedding(tokens), state, memory)
    repeated = model.decoder.step(model.decoder.embedding(tokens), state, memory.select(rows))
    for one, other in ((shared[0], repeated[0]), (shared[2], repeated[2])):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
