import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.data.batch import Batch, EncodedSplit, Sentences, SourceBatch
from seq2seq.data.batching import BatchLoader, BatchSize, share, shuffled_order, sorted_order
from seq2seq.data.report import padding_share
from seq2seq.data.text import SentencePair
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID

LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=80)


def split_of(lengths):
    return EncodedSplit(
        pairs=[SentencePair("s", "t") for _ in lengths],
        source=Sentences.from_lists([[4 + n % 7] * n for n, _ in lengths]),
        target=Sentences.from_lists([[5 + n % 7] * n for _, n in lengths]),
    )


def arrays(lengths):
    return np.array([s for s, _ in lengths]), np.array([t for _, t in lengths])


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.integers(1, 20), st.integers(4, 200), st.integers(0, 3))
def test_an_epoch_holds_every_sentence_once_within_the_bound(lengths, sentences, tokens, epoch):
    source, target = arrays(lengths)
    size = BatchSize(sentences=sentences, tokens=tokens)
    for order in (
        shuffled_order(source, target, size, seed=1, epoch=epoch),
        sorted_order(source, target, size),
    ):
        assert sorted(np.concatenate(order).tolist()) == list(range(len(lengths)))
        for batch in order:
            assert len(batch) <= sentences
            padded = len(batch) * (source[batch].max() + target[batch].max() + 2)
            assert padded <= tokens or len(batch) == 1


def one_by_one(by_length, source, target, size):
    """Batches of sorted sentences, each filled until the next one would be too much."""
    batches = []
    for index in by_length:
        batch = [*batches[-1], index] if batches else [index]
        width = max(source[i] for i in batch) + max(target[i] for i in batch) + 2
        too_many = size.sentences is not None and len(batch) > size.sentences
        too_large = size.tokens is not None and len(batch) * width > size.tokens
        if not batches or too_many or too_large:
            batches.append([index])
        else:
            batches[-1] = batch
    return batches


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.one_of(st.none(), st.integers(1, 9)), st.one_of(st.none(), st.integers(2, 300)))
@example([(1, 1)] * 7, None, 12)
def test_the_order_is_that_of_sorting_and_filling_one_by_one(lengths, sentences, tokens):
    source, target = arrays(lengths)
    size = BatchSize(sentences=sentences, tokens=tokens)
    generator = np.random.default_rng((4, 2))
    shuffle = generator.permutation(len(lengths))
    by_length = shuffle[np.lexsort((source[shuffle], target[shuffle]))]
    expected = one_by_one(by_length.tolist(), source, target, size)
    expected = [expected[index] for index in generator.permutation(len(expected))]
    order = shuffled_order(source, target, size, seed=4, epoch=2)
    in_few_bits = [lengths.astype(np.uint16) for lengths in (source, target)]
    again = shuffled_order(*in_few_bits, size, seed=4, epoch=2)
    assert [batch.tolist() for batch in order] == expected
    assert [batch.tolist() for batch in again] == expected


def test_no_sentences_make_no_batches():
    for size in (BatchSize(4, None), BatchSize(None, 9)):
        assert len(sorted_order(*arrays([]), size)) == 0
        assert len(shuffled_order(*arrays([]), size, seed=1, epoch=0)) == 0


def test_the_order_is_a_function_of_seed_and_epoch():
    source, target = arrays([(index % 13, index % 7) for index in range(200)])

    def order(seed, epoch):
        batches = shuffled_order(source, target, BatchSize(8, None), seed=seed, epoch=epoch)
        return [batch.tolist() for batch in batches]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_buckets_waste_less_on_padding_than_chance():
    generator = np.random.default_rng(0)
    source = generator.integers(5, 40, 2000)
    target = source + generator.integers(-2, 3, 2000)
    order = shuffled_order(source, target, BatchSize(64, None), seed=1, epoch=0)
    assert padding_share(target, order) < 0.03
    assert padding_share(source, order) < 0.08
    assert padding_share(source, np.split(np.arange(1984), 31)) > 0.3


def test_a_batch_owns_padding_shift_and_masks():
    batch = Batch.from_split(split_of([(2, 1), (0, 3)]), [0, 1])
    assert batch.source.ids.tolist() == [[6, 6, END_ID], [END_ID, PADDING_ID, PADDING_ID]]
    assert batch.source.is_token.tolist() == [[True] * 3, [True, False, False]]
    assert batch.target_input.tolist() == [[BEGIN_ID, 6, 1, 1], [BEGIN_ID, 8, 8, 8]]
    assert batch.target_output.tolist() == [[6, END_ID, 1, 1], [8, 8, 8, END_ID]]
    assert batch.target_is_token.sum(dim=1).tolist() == batch.target_lengths.tolist() == [2, 4]
    assert len(batch) == 2


def test_moving_a_batch_moves_all_of_it():
    batch = Batch.from_split(split_of([(2, 1)]), [0]).to(torch.device("meta"))
    assert {batch.source.ids.device.type, batch.target_output.device.type} == {"meta"}


def loader_of(lengths, epoch, num_workers=0):
    split = split_of(lengths)
    source, target = arrays(lengths)
    return BatchLoader(
        lambda _: split,
        lambda number: shuffled_order(source, target, BatchSize(4, None), seed=5, epoch=number),
        epoch,
        num_workers,
    )


@pytest.mark.parametrize(("position", "workers"), [(0, 0), (1, 0), (5, 0), (9, 0), (5, 2)])
def test_a_loader_goes_on_after_the_batches_it_has_given_out(position, workers):
    torch.manual_seed(1)
    lengths = [(index % 9, index % 5) for index in range(40)]
    undisturbed = [batch.sentence_ids.tolist() for batch in loader_of(lengths, lambda: 2)]
    first = loader_of(lengths, lambda: 2, workers)
    iterator = iter(first)
    seen = [next(iterator).sentence_ids.tolist() for _ in range(position)]
    second = loader_of(lengths, lambda: 2, workers)
    second.load_state_dict(first.state_dict())
    assert seen + [batch.sentence_ids.tolist() for batch in second] == undisturbed
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3))  # the training's random numbers are its own


def test_a_state_saved_after_the_last_batch_begins_a_whole_epoch():
    lengths = [(index % 9, index % 5) for index in range(40)]
    loader = loader_of(lengths, lambda: 0)
    whole = list(loader)
    loader.load_state_dict(loader.state_dict())
    assert len(list(loader)) == len(whole) == len(loader)


def test_the_epoch_is_asked_for_at_the_first_batch_not_before():
    epoch = 0
    loader = loader_of([(index % 9, 3) for index in range(40)], lambda: epoch)
    iterator = iter(loader)
    epoch = 1
    expected = [batch.sentence_ids.tolist() for batch in loader]
    assert [batch.sentence_ids.tolist() for batch in iterator] == expected


def test_a_store_gives_back_its_sentences():
    sentences = [[1, 2, 3], [], [4]]
    store = Sentences.from_lists(sentences)
    assert [store[index].tolist() for index in range(len(store))] == sentences
    assert store.lengths.tolist() == [3, 0, 1]


def test_a_source_batch_ends_every_sentence():
    source = SourceBatch.from_sentences([[7, 8], []])
    assert source.ids.tolist() == [[7, 8, END_ID], [END_ID, PADDING_ID, PADDING_ID]]
    assert source.lengths.tolist() == [3, 1]


@settings(deadline=None, max_examples=50)
@given(
    LENGTHS,
    st.one_of(st.none(), st.integers(1, 9)),
    st.one_of(st.none(), st.integers(4, 200)),
    st.integers(1, 5),
)
@example([(3, 3)] * 5, 1, None, 2)
@example([(3, 3)] * 2, None, 200, 3)
def test_shares_hold_every_sentence_once_within_the_limits_of_a_batch(lengths, sentences, tokens, num_shares):
    source, target = arrays(lengths)
    size = BatchSize(sentences, tokens)
    training = shuffled_order(source, target, size, seed=1, epoch=2, num_shares=num_shares)
    held_out = sorted_order(source, target, size, num_shares)
    for order in (training, held_out):
        shares = [share(order, rank, num_shares) for rank in range(num_shares)]
        batches = [batch for each in shares for batch in each]
        if order is training:  # the same number of steps in each process
            assert {len(each) for each in shares} == {len(order)}
        for batch in batches:
            assert 1 <= len(batch) <= (sentences or len(lengths))
            padded = len(batch) * (source[batch].max() + target[batch].max() + 2)
            assert tokens is None or padded <= tokens or len(batch) == 1
        everyone = np.concatenate(batches).tolist()
        assert {*everyone} == {*range(len(lengths))}
        num_twice = len(everyone) - len(lengths)
        single = all(len(batch) == num_shares for batch in order)
        assert num_twice == 0 or (order is training and single and num_twice < num_shares)


def test_a_share_is_within_the_bound_of_a_batch():
    lengths = np.full(60, 8)
    order = sorted_order(lengths, lengths, BatchSize(None, 54), 2)
    assert {len(batch) for batch in order} == {6}
