import os
import random
from dataclasses import replace

import numpy as np
import pytest

from seq2seq.errors import InputError
from seq2seq.storage.folder_lock import holding
from seq2seq.text import corpus_build, text_digests
from seq2seq.text.block_file import BLOCK_BYTES, BlockArray, BlockWriter, DamagedFileError
from seq2seq.text.bucketing import BatchSize, ShuffledOrders
from seq2seq.text.chunk_encoding import encode_chunk
from seq2seq.text.corpus import SentencePair
from seq2seq.text.corpus_folder import id_type
from seq2seq.text.loader import BatchLoader
from seq2seq.text.store import encode_split
from seq2seq.text.text_digests import are_held_out, digests
from tests.programs import FORKS
from tests.stores import (
    SUBWORDS,
    WORDS,
    Notes,
    build,
    contents,
    opened,
    pairs_of,
    recipe_of,
    write_shards,
)
from tests.torture_store import torture

PAIRS = pairs_of(700)


@pytest.fixture
def shards(tmp_path, monkeypatch):
    monkeypatch.setattr("seq2seq.text.shards.CHUNK_LINES", 64)
    monkeypatch.setattr("seq2seq.text.chunk_encoding.SENTENCES_AT_ONCE", 9)
    return write_shards(tmp_path / "text", PAIRS)


@pytest.fixture
def quick_processes(monkeypatch):
    """Processes that need not load everything again."""
    monkeypatch.setattr(corpus_build, "get_context", lambda _: FORKS)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "store"


def in_memory(codecs, pairs=PAIRS, *, truncate=False):
    return encode_split(pairs, codecs, max_length=9, truncate=truncate)


def ids_of(sentences):
    return [sentences[index].tolist() for index in range(len(sentences))]


def require_alike(stored, expected):
    for side in ("source", "target"):
        found, wanted = getattr(stored, side), getattr(expected, side)
        assert ids_of(found) == ids_of(wanted)
        assert found.lengths.tolist() == wanted.lengths.tolist()
        assert found.num_unknown == wanted.num_unknown
    assert (stored.num_blank, stored.num_long) == (expected.num_blank, expected.num_long)
    assert len(stored) == len(expected)


@pytest.mark.parametrize("settings", [WORDS, SUBWORDS], ids=lambda each: each.source_tokenizer)
@pytest.mark.parametrize("truncate", [False, True])
def test_a_stored_split_is_the_split_in_memory(root, shards, settings, truncate):
    corpus = opened(root, recipe_of(shards, settings, truncate=truncate))
    expected = in_memory(corpus.codecs, truncate=truncate)
    assert truncate or expected.num_long > 0
    assert expected.num_blank > 0
    require_alike(corpus.train, expected)
    assert list(corpus.train.pairs) == list(expected.pairs)


def test_text_that_is_not_kept_is_put_together_from_the_tokens(root, shards):
    corpus = opened(root, recipe_of(shards, SUBWORDS, keep_text=False))
    assert list(corpus.train.pairs) == list(in_memory(corpus.codecs).pairs)
    assert not [name for name in contents(root) if name.endswith("text")]


def test_several_processes_write_the_same_store_as_one(tmp_path, shards):
    recipe = recipe_of(shards)
    opened(tmp_path / "one", recipe)
    opened(tmp_path / "two", recipe, num_processes=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_store_is_made_once_and_read_by_all(root, shards):
    first, second = Notes(), Notes()
    opened(root, recipe_of(shards), first)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    opened(root, recipe_of(shards), second)
    assert first.events == ["sampling", "training", "tokenising"]
    assert not second.events
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_whatever_decides_a_store_makes_another_one(shards):
    recipe = recipe_of(shards)
    others = [
        recipe_of(shards[:1]),
        recipe_of(shards[::-1]),
        recipe_of(shards, SUBWORDS),
        recipe_of(shards, replace(WORDS, lowercase=True)),
        *(recipe_of(shards, **{name: value}) for name, value in OTHER_RULES.items()),
        replace(recipe, languages=("en", "de")),
    ]
    keys = [each.key() for each in [recipe, *others]]
    shards[1].target.write_text(shards[1].target.read_text("utf-8").replace("w1é", "w2é"), "utf-8")
    assert len({*keys, recipe.key()}) == len(others) + 2
    stat = shards[0].source.stat()
    last = recipe.key()
    shards[0].source.write_bytes(shards[0].source.read_bytes()[::-1])
    os.utime(shards[0].source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert recipe.key() != last


OTHER_RULES = {
    "max_length": 8,
    "truncate": True,
    "held_out": 0.1,
    "split_seed": 2,
    "keep_text": False,
}


def test_given_codecs_are_used_and_are_part_of_the_key(root, shards):
    trained = opened(root, recipe_of(shards))
    notes = Notes()
    given = replace(recipe_of(shards), codecs=trained.codecs)
    corpus = opened(root, given, notes)
    assert notes.events == ["tokenising"]
    require_alike(corpus.train, trained.train)
    other = opened(root, recipe_of(shards, replace(WORDS, min_frequency=100))).codecs
    assert replace(given, codecs=other).key() != given.key()


def test_pairs_of_a_held_out_sentence_are_not_trained_on(root, shards):
    corpus = opened(root, recipe_of(shards, held_out=0.2, max_length=None))
    held_out = {pair.source for pair in corpus.held_out}
    assert 0.1 < len(held_out) / len({pair.source for pair in PAIRS}) < 0.3
    assert held_out.isdisjoint(pair.source for pair in corpus.train.pairs)
    assert are_held_out(held_out, 0.2, 1).all()
    other = opened(root, recipe_of(shards, held_out=0.2, split_seed=2, max_length=None))
    assert held_out != {pair.source for pair in other.held_out}
    filled = [pair for pair in PAIRS if pair.source.strip() and pair.target.strip()]
    assert len(corpus.held_out) + len(corpus.train) == len(filled)


def test_batches_from_a_store_are_those_from_memory_also_after_a_resume(root, shards):
    corpus = opened(root, recipe_of(shards))
    splits = [corpus.train, in_memory(corpus.codecs)]
    stored, expected = ([_tensors(batch) for batch in _loader(split)] for split in splits)
    assert stored == expected
    first, second = _loader(corpus.train), _loader(corpus.train)
    iterator = iter(first)
    seen = [_tensors(next(iterator)) for _ in range(5)]
    second.load_state_dict(first.state_dict())
    assert seen + [_tensors(batch) for batch in second] == expected


def _loader(split):
    lengths = (split.source.lengths, split.target.lengths)
    return BatchLoader(split, ShuffledOrders(*lengths, BatchSize(16, 300), seed=3), lambda: 2)


def _tensors(batch):
    return batch.source.ids.tolist(), batch.target_output.tolist(), batch.sentence_ids.tolist()


def test_builds_that_are_killed_leave_nothing_that_is_taken_for_whole(tmp_path):
    random_moments = random.Random(1)
    killed = torture(tmp_path, random_moments, num_kills=5, num_pairs=6000, processes=(1,))
    assert sum(killed) == 5


def test_two_that_start_at_once_build_once(root, shards):
    results = FORKS.SimpleQueue()
    arguments = (root, recipe_of(shards), 1, results)
    builders = [FORKS.Process(target=build, args=arguments) for _ in range(2)]
    for builder in builders:
        builder.start()
    events = [*results.get(), *results.get()]
    for builder in builders:
        builder.join()
    assert events.count("tokenising") == 1


MARK = ".corpus.0123456789abcdef.partial"


def test_leftovers_of_other_stores_are_removed_but_not_what_is_being_built(root, shards):
    left, building = root / f"{1:016x}" / MARK, root / f"{2:016x}" / MARK
    for folder in (left, building):
        (folder / "tokenizer").mkdir(parents=True)
        (folder / "source.ids").write_bytes(b"1234")
        (folder / "tokenizer" / ".source.json.0123456789abcdef.partial").write_bytes(b"1234")
    with holding(building.parent, wait=False) as is_ours:
        assert is_ours
        opened(root, recipe_of(shards))
    assert not left.exists()
    assert (building / "source.ids").exists()


@pytest.mark.parametrize(
    "place",
    [
        "thesis/partial/chapter1.tex",
        f"thesis/{MARK}/chapter1.tex",
        f"{1:016x}/partial/chapter1.tex",
        f"{1:016x}/{MARK}/chapter1.tex",
        f"{1:016x}/.corpus.partial/chapter1.tex",
    ],
)
def test_what_others_keep_in_the_store_stays(root, shards, place):
    (root / place).parent.mkdir(parents=True)
    (root / place).write_text("mine")
    opened(root, recipe_of(shards))
    assert (root / place).read_text() == "mine"
    assert not (root / "thesis" / ".lock").exists()


@pytest.mark.parametrize("name", ["corpus.json", "tokenizer/source.json", "target.lengths"])
def test_damage_that_is_seen_at_once_is_repaired(root, shards, name):
    opened(root, recipe_of(shards))
    expected = contents(root)
    (path,) = root.glob(f"*/corpus/{name}")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    if name == "target.lengths":  # the size tells
        path.write_bytes(content[:-2])
    opened(root, recipe_of(shards))
    assert contents(root) == expected


def test_damaged_sentences_are_never_given_out(root, shards):
    opened(root, recipe_of(shards))
    (path,) = root.glob("*/corpus/source.ids")
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    train = opened(root, recipe_of(shards)).train
    with pytest.raises(DamagedFileError, match=f"remove {path.parent}"):
        train.source[0]


def test_a_file_that_changes_while_it_is_read_is_refused(root, shards):
    def change():
        os.utime(shards[0].source)

    with pytest.raises(InputError, match="was changed while it was read"):
        opened(root, recipe_of(shards), Notes(change))
    assert not contents(root)


def test_what_is_wrong_in_a_file_is_said_by_every_process_and_leaves_nothing(
    root, shards, quick_processes
):
    content = shards[1].target.read_bytes().split(b"\n")
    content[200] = b"\xff"
    shards[1].target.write_bytes(b"\n".join(content))
    given = opened(root / "codecs", recipe_of(shards[:1])).codecs
    recipe = replace(recipe_of(shards), codecs=given)
    for num_processes in (1, 2):
        with pytest.raises(InputError, match="target, line 201: byte 0xff is not UTF-8"):
            opened(root / "wrong", recipe, num_processes=num_processes)
    assert not contents(root / "wrong")


def test_a_process_that_is_lost_is_noticed(shards, root, monkeypatch, quick_processes):
    monkeypatch.setattr(corpus_build, "_encode_chunks", os.abort)
    with pytest.raises(InputError, match="a process that tokenised the corpus has ended"):
        opened(root, recipe_of(shards), num_processes=2)
    assert not contents(root)


def test_a_store_that_cannot_be_written_is_refused_by_key(tmp_path, shards):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot hold .* set data\.store"):
        opened(tmp_path / "file" / "store", recipe_of(shards))


def test_every_block_of_a_file_is_checked(tmp_path):
    values = np.arange(BLOCK_BYTES, dtype=np.int32)
    writer = BlockWriter(tmp_path / "values")
    for part in np.array_split(values, 7):
        writer.write(part)
    seal = writer.close()
    assert len(seal.checksums) == 4
    assert np.array_equal(BlockArray(tmp_path / "values", np.int32, seal).whole(), values)
    for block in range(4):
        content = bytearray(values.tobytes())
        content[(block + 1) * BLOCK_BYTES - 1] ^= 1
        (tmp_path / "values").write_bytes(content)
        with pytest.raises(DamagedFileError):
            BlockArray(tmp_path / "values", np.int32, seal).whole()
        array = BlockArray(tmp_path / "values", np.int32, seal)
        last = (block + 1) * BLOCK_BYTES // 4 - 1
        with pytest.raises(DamagedFileError):
            array.part(last, last + 1)


def test_ids_take_the_room_they_need(root, shards, monkeypatch):
    codecs = opened(root, recipe_of(shards)).codecs
    assert id_type(codecs[0]) == np.uint16
    monkeypatch.setattr(type(codecs[0].vocabulary), "__len__", lambda _: (1 << 16) + 1)
    assert id_type(codecs[0]) == np.int32


def test_subwords_of_many_sentences_are_those_of_each(root, shards):
    for settings in (SUBWORDS, replace(SUBWORDS, source_tokenizer="bpe", target_tokenizer="bpe")):
        codec = opened(root, recipe_of(shards, settings)).codecs[0]
        texts = [pair.source for pair in PAIRS[:50]]
        texts += ["<eos> <bos> <unk> <pad>", "日本 ✓ w1", "", "  w2  é", "▁w3", "a\tb"]
        assert codec.encode_all(texts) == [codec.encode(text) for text in texts]


def test_an_empty_chunk_is_nothing(root, shards):
    from seq2seq.text.shards import Chunk  # noqa: PLC0415

    recipe = recipe_of(shards)
    chunk = Chunk(shards[0], 1, 2, b" \n \n", b"a\nb\n")
    encoded = encode_chunk(chunk, opened(root, recipe).codecs, recipe.rules)
    assert (encoded.num_blank, len(encoded.source.lengths), len(encoded.target.ids)) == (2, 0, 0)


def test_spellings_of_a_sentence_are_held_out_together_and_every_kept_source_has_its_digest(
    root, tmp_path
):
    spellings = ["Say {0}.", "say {0}!", "SAY, {0}"]
    pairs = [SentencePair(each.format(n), "x") for n in range(60) for each in spellings]
    corpus = opened(root, recipe_of(write_shards(tmp_path / "spelt", pairs), held_out=0.3))
    held_out = {pair.source.lower() for pair in corpus.held_out}
    assert len(corpus.held_out) % 3 == 0
    assert 0 < len(held_out) < 180
    trained_on = {int(each) for each in digests(pair.source for pair in corpus.train.pairs)}
    assert corpus.digests.tolist() == sorted(trained_on)


def test_of_too_many_digests_the_least_are_kept_however_they_come(monkeypatch):
    monkeypatch.setattr(text_digests, "MOST", 50)
    numbers = random.Random(1).choices(range(1000), k=700)
    for size in (1, 7, 60, 700):
        kept = text_digests.LeastDigests()
        for first in range(0, 700, size):
            kept.add(np.array(numbers[first : first + size], dtype=np.uint64))
        assert kept.in_order().tolist() == sorted(set(numbers))[:50]
