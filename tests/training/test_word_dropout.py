import torch

from seq2seq.data.batch import Batch, EncodedSplit, Sentences
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import UNKNOWN_ID
from seq2seq.training.regularization import drop_words

LENGTHS = [100, 400, 300]


def batch():
    store = Sentences.from_lists([[4 + place % 7 for place in range(n)] for n in LENGTHS])
    split = EncodedSplit([SentencePair("a", "b")] * 3, store, store)
    return Batch.from_split(split, [0, 1, 2])


def test_dropped_words_are_unknown_in_their_share_and_all_else_stays():
    torch.manual_seed(1)
    before = batch()
    after = drop_words(before, 0.3)
    for old, new in ((before.source.ids, after.source.ids), (before.target_input, after.target_input)):
        changed = old != new
        assert (new[changed] == UNKNOWN_ID).all()
        assert (old[changed] >= 4).all()
        assert abs(float(changed.sum() / (old >= 4).sum()) - 0.3) < 0.06
    assert torch.equal(before.target_output, after.target_output)
    assert torch.equal(before.source.lengths, after.source.lengths)
    assert not torch.equal(after.source.ids[:, :99] == 0, after.target_input[:, 1:100] == 0)


def test_without_dropout_the_batch_is_the_same():
    before = batch()
    assert torch.equal(drop_words(before, 0.0).source.ids, before.source.ids)
