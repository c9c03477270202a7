"""Attention records: what is written is read again, and nothing else is."""

import json
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.loggers import TensorBoardLogger
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention.event_files import read_steps
from tensorboard_attention.record import (
    MAGIC,
    MAX_TOKEN_LENGTH,
    AttentionRecord,
    RecordError,
    decode_record,
    encode_record,
    quantized,
)
from tensorboard_attention.writer import add_attention

SOURCE_TEXT = "The red cat does not see the small black bird ."
TARGET_TEXT = "Le chat rouge ne voit pas le petit oiseau noir dans le jardin"
SOURCE = (*SOURCE_TEXT.split(), "<eos>")
TARGET = (*TARGET_TEXT.split(), "<eos>")


def weights_of(rows, columns, seed=0):
    logits = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    return logits.softmax(dim=-1)


def events_of(folder):
    (file,) = folder.iterdir()
    return [event for event in EventFileLoader(str(file)).Load() if event.HasField("summary")]


def logged(folder, *arguments, **keywords):
    """The one value that a call writes."""
    with SummaryWriter(str(folder)) as writer:
        add_attention(writer, *arguments, **keywords)
    (event,) = events_of(folder)
    (value,) = event.summary.value
    return event.step, value


def record_in(value):
    return decode_record(value.tensor.string_val[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_weights_come_back_within_the_documented_error(tmp_path, dtype):
    weights = weights_of(14, 12).to(dtype).requires_grad_()
    links = [(1, 2), (0, 0), (1, 2)]
    step, value = logged(
        tmp_path, "attention/0", weights, SOURCE, TARGET, 7, score=-3.5, bleu=41.0, alignment=links
    )
    record = record_in(value)
    assert step == 7
    assert (record.source, record.target) == (SOURCE, TARGET)
    assert (record.score, record.bleu, record.alignment) == (-3.5, 41.0, ((0, 0), (1, 2)))
    error = np.abs(record.weights / 65535 - weights.detach().double().numpy())
    assert error.max() <= 1 / 131070 + 1e-12


def test_a_record_of_12_by_14_tokens_takes_at_most_1500_bytes_in_the_event_file(tmp_path):
    empty = tmp_path / "empty"
    SummaryWriter(str(empty)).close()
    full = tmp_path / "full"
    logged(full, "attention/0", weights_of(14, 12), SOURCE, TARGET, 7, score=-3.5, bleu=41.0)
    sizes = [next(folder.iterdir()).stat().st_size for folder in (empty, full)]
    assert sizes[1] - sizes[0] <= 1500


@pytest.mark.parametrize(
    ("kind", "rank", "tag"), [("forced", 0, "s/forced"), ("beam", 0, "s/beam"), ("beam", 2, "s/beam/2")]
)
def test_every_kind_and_rank_of_a_sentence_is_a_tag_that_describes_itself(tmp_path, kind, rank, tag):
    _, value = logged(tmp_path, "s", [[1.0]], ["a"], ["b"], 1, kind=kind, rank=rank)
    assert value.tag == tag
    assert value.metadata.data_class == DATA_CLASS_TENSOR
    assert value.metadata.plugin_data.plugin_name == "attention"
    assert json.loads(value.metadata.plugin_data.content) == {
        "version": 5,
        "sentence": "s",
        "kind": kind,
        "rank": rank,
        "text": "a",
    }


HEADS = torch.stack([weights_of(14, 12, seed) for seed in range(6)]).unflatten(0, (2, 3))


@pytest.mark.parametrize(
    ("weights", "maps"),
    [
        (HEADS[0].bfloat16(), (1, 3)),
        (HEADS.numpy(), (2, 3)),
        ([layer.requires_grad_() for layer in HEADS.clone()], (2, 3)),
        (tuple(HEADS[:, :1].numpy()), (2, 1)),
    ],
    ids=["heads", "layers", "list of layers", "layers of one head"],
)
def test_heads_and_layers_are_one_record(tmp_path, weights, maps):
    _, value = logged(tmp_path, "s", weights, SOURCE, TARGET, 1, score=-2.0)
    record = record_in(value)
    assert record.weights.shape == (*maps, 14, 12)
    error = np.abs(record.weights / 65535 - HEADS[: maps[0], : maps[1]].numpy())
    assert error.max() <= (2e-3 if maps == (1, 3) else 1 / 131070 + 1e-7)
    assert (record.source, record.target, record.score) == (SOURCE, TARGET, -2)


def test_without_heads_the_first_dimension_counts_layers(tmp_path):
    _, value = logged(tmp_path, "s", HEADS[0], SOURCE, TARGET, 1, heads=False)
    record = record_in(value)
    assert record.maps == (3, 1)
    np.testing.assert_allclose(record.weights[:, 0] / 65535, HEADS[0], atol=1e-5)


@pytest.mark.parametrize(("weights", "maps"), [(HEADS[0, 0], ()), (HEADS, (2, 3))], ids=["one", "heads"])
def test_a_record_has_its_reference(tmp_path, weights, maps):
    text = "Le chat <b> ne voit pas \ud800" + "x" * 200_000
    _, value = logged(tmp_path, "s", weights, SOURCE, TARGET, 1, reference=text)
    record = record_in(value)
    assert record.maps == maps
    assert record.reference.startswith("Le chat <b> ne voit pas \ufffdx")
    assert record.reference.endswith("x…")
    assert len(record.reference) == 100_000


EFFECT = np.random.default_rng(3).normal(size=(14, 12)) * 4


@pytest.mark.parametrize("weights", [HEADS[0, 0], HEADS], ids=["one", "heads"])
def test_a_record_has_effects_and_marks(tmp_path, weights):
    _, value = logged(
        tmp_path, "s", weights, SOURCE, TARGET, 1, effect=EFFECT.tolist(), marks=["late \ud800"]
    )
    record = record_in(value)
    assert record.marks == ("late \ufffd",)
    np.testing.assert_allclose(record.effects(), EFFECT, rtol=0, atol=np.abs(EFFECT).max() / 65534 + 1e-12)
    np.testing.assert_allclose(record.weights / 65535, weights, atol=1 / 131070 + 1e-7)


def test_marks_alone_and_an_effect_of_nothing(tmp_path):
    _, value = logged(tmp_path / "a", "s", [[1.0]], ["a"], ["b"], 1, marks=["m"])
    assert (record_in(value).effects(), record_in(value).marks) == (None, ("m",))
    _, value = logged(tmp_path / "b", "s", [[1.0]], ["a"], ["b"], 1, effect=[[0.0]])
    assert record_in(value).effects().tolist() == [[0]]


def test_a_function_computes_the_effect(tmp_path):
    contributions = torch.randn(14, 12, generator=torch.Generator().manual_seed(1))
    asked = []

    def log_probabilities(is_kept):
        asked.append(is_kept)
        return torch.from_numpy(is_kept).float() @ contributions.T

    _, value = logged(tmp_path, "s", HEADS, SOURCE, TARGET, 1, effect=log_probabilities)
    np.testing.assert_allclose(record_in(value).effects(), contributions, atol=2e-4)
    (is_kept,) = asked
    assert is_kept[0].all()
    assert (~is_kept[1:]).tolist() == np.eye(12, dtype=bool).tolist()


def test_a_log_folder_is_written_without_a_writer_in_one_event_file(tmp_path):
    for step in (1, 2):
        for name in ("a", "b"):
            add_attention(str(tmp_path / "run"), name, [[1.0]], ["a"], ["b"], step)
    found = [(event.step, event.summary.value[0].tag) for event in events_of(tmp_path / "run")]
    assert found == [(1, "a/forced"), (1, "b/forced"), (2, "a/forced"), (2, "b/forced")]


def test_sentences_kinds_and_ranks_are_different_tags(tmp_path):
    written = [
        (tag, kind, rank)
        for tag in ("s", "s/k", "s/k/1")
        for kind in ("k", "1st", "-1")
        for rank in (0, 1, 11)
    ]
    for tag, kind, rank in written:
        add_attention(tmp_path, tag, [[1.0]], ["a"], ["b"], 1, kind=kind, rank=np.int64(rank))
    add_attention(tmp_path, "s/True", [[1.0]], ["a"], ["b"], 1, kind="k", rank=True)
    tags = [event.summary.value[0].tag for event in events_of(tmp_path)]
    assert len(set(tags)) == len(tags) == len(written) + 1
    assert tags[-1] == "s/True/k/1"


def test_log_folders_are_closed_after_each_record(tmp_path):
    num_before = threading.active_count()
    for step in (1, 2):
        for number in range(20):
            add_attention(tmp_path / f"run {number}", "s", [[1.0]], ["a"], ["b"], step)
    assert threading.active_count() == num_before
    for number in range(20):
        assert [event.step for event in events_of(tmp_path / f"run {number}")] == [1, 2]


def test_threads_write_whole_records_into_one_log_folder(tmp_path):
    def write(number):
        tokens = ["a" * 500] * 60
        add_attention(
            tmp_path, f"s{number}", np.random.default_rng(number).random((60, 60)), tokens, tokens, 1
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(16)))
    assert {event.summary.value[0].tag for event in events_of(tmp_path)} == {
        f"s{n}/forced" for n in range(16)
    }


def test_a_log_folder_that_was_removed_is_written_anew(tmp_path):
    for step in (1, 2):
        add_attention(tmp_path / "run", "a", [[1.0]], ["a"], ["b"], step)
        (event,) = events_of(tmp_path / "run")
        assert event.step == step
        shutil.rmtree(tmp_path / "run")


def lightning_writer(folder):
    return TensorBoardLogger(str(folder), name="", version="")


def tensorboardx_writer(folder):
    return pytest.importorskip("tensorboardX").SummaryWriter(str(folder))


@pytest.mark.parametrize(
    "make", [lightning_writer, tensorboardx_writer, lambda folder: SummaryWriter(str(folder))]
)
def test_every_writer_of_event_files_writes_the_same(tmp_path, make):
    writer = make(tmp_path / "own")
    add_attention(writer, "s", HEADS, SOURCE, TARGET, 3, score=-1.0)
    getattr(writer, "experiment", writer).close()
    add_attention(tmp_path / "path", "s", HEADS, SOURCE, TARGET, 3, score=-1.0)
    (own,), (expected,) = events_of(tmp_path / "own"), events_of(tmp_path / "path")
    assert (own.step, own.summary) == (expected.step, expected.summary)


def test_what_is_no_writer_is_refused(tmp_path):
    with pytest.raises(TypeError, match="writer must be a SummaryWriter"):
        add_attention(3, "s", [[1.0]], ["a"], ["b"], 1)
    writer = SummaryWriter(str(tmp_path))
    writer.close()
    with pytest.raises(ValueError, match="the writer is closed"):
        add_attention(writer, "s", [[1.0]], ["a"], ["b"], 1)


def test_rows_need_not_sum_to_one(tmp_path):
    _, value = logged(tmp_path, "s", np.array([[1.0, 1.0], [0.0, 0.0]]), ["a", "b"], ["c", "d"], 1)
    assert record_in(value).weights.tolist() == [[65535, 65535], [0, 0]]


def test_a_perfect_score_may_be_a_rounding_error_above_its_range(tmp_path):
    _, value = logged(tmp_path, "s", [[1.002]], ["a"], ["b"], 1, bleu=100.00000000000004)
    record = record_in(value)
    assert (record.bleu, record.weights.item()) == (100, 65535)


def test_tokens_are_kept_whatever_they_are(tmp_path):
    tokens = ["<script>", "", " ", "绿茶", "الشاي", "\ud800", "x" * 2000]
    _, value = logged(tmp_path, "s", np.zeros((1, 7)), tokens, ["\u2028"], 1)
    kept = ["<script>", "", " ", "绿茶", "الشاي", "\ufffd", "x" * (MAX_TOKEN_LENGTH - 1) + "…"]
    assert list(record_in(value).source) == kept


WRONG = {
    "shape": ({"weights": np.zeros((2, 1))}, r"shape \(2, 1\) do not fit 1 target tokens by 1"),
    "NaN": ({"weights": [[np.nan]]}, "must lie in 0..1"),
    "NaN in a head": ({"weights": [[[0.5]], [[np.nan]]]}, "must lie in 0..1"),
    "shape of heads": ({"weights": np.zeros((3, 2, 1))}, r"shape \(3, 2, 1\) do not fit 1 target"),
    "five dimensions": ({"weights": np.zeros((1, 1, 1, 1, 1))}, "do not fit 1 target tokens by 1"),
    "heads of layers without heads": (
        {"weights": np.zeros((1, 1, 1, 1)), "heads": False},
        r"heads=False is for weights of three dimensions, got the shape \(1, 1, 1, 1\)",
    ),
    "no heads": ({"weights": np.zeros((0, 1, 1))}, "shape"),
    "heads": ({"weights": np.zeros((1025, 1, 1))}, "too many for a record"),
    "infinite": ({"weights": [[np.inf]]}, "must lie in 0..1"),
    "negative": ({"weights": [[-0.1]]}, "must lie in 0..1"),
    "greater than one": ({"weights": [[1.1]]}, "must lie in 0..1"),
    "no tokens": ({"weights": np.zeros((1, 0)), "source_tokens": []}, "source_tokens must be 1 to"),
    "text for tokens": ({"source_tokens": "a"}, "source_tokens must be 1 to"),
    "score": ({"score": float("nan")}, "score=nan must be a number"),
    "bleu": ({"bleu": 100.5}, "bleu=100.5 must be a number from 0"),
    "link": ({"alignment": [(0, 1)]}, "link 0-1 is outside 1-1"),
    "half a link": ({"alignment": [(0.9, 0)]}, "alignment must be pairs of whole numbers, got 0.9"),
    "numbers for tokens": ({"target_tokens": [7]}, "target_tokens must be text, got 7"),
    "numbers for names of layers": (
        {"weights": np.ones((1, 1, 1, 1)), "layer_names": [0]},
        "layer_names must be text, got 0",
    ),
    "a number for the reference": ({"reference": 3}, "reference must be text, got 3"),
    "a number for a mark": ({"marks": [3]}, "marks must be text, got 3"),
    "a number for the tag": ({"tag": 3}, "tag must be text"),
    "kind": ({"kind": "a/b"}, "kind must hold no slash"),
    "rank": ({"rank": -1}, "rank be at least 0"),
    "kind that is a rank": ({"tag": "s/forced", "kind": "1"}, "kind must be no number"),
    "kind that is a rank of many digits": ({"kind": "10"}, "kind must be no number"),
    "kind that is a rank, with a rank": ({"kind": "2", "rank": 1}, "kind must be no number"),
    "tag": ({"tag": " "}, "tag must be text"),
    "half a surrogate pair in the tag": ({"tag": "s \ud800"}, "^tag must be text that UTF-8 can encode"),
    "half a surrogate pair in the kind": ({"kind": "\udc00"}, "^kind must be text that UTF-8 can encode"),
    "names of layers without layers": ({"layer_names": []}, "layer_names"),
    "effect": ({"effect": [[1.0, 2.0]]}, r"effect must be numbers \(target, source\) = \(1, 1\)"),
    "infinite effect": ({"effect": [[np.inf]]}, "effect must be finite numbers.* inf$"),
    "effect of no probability": ({"effect": [[-np.inf]]}, "effect must be finite numbers.*-inf$"),
    "effect that is no number": ({"effect": [[np.nan]]}, "effect must be finite numbers.* nan$"),
    "effect of a function": ({"effect": lambda is_kept: np.zeros(2)}, r"effect= returned the shape \(2,\)"),
    "text for marks": ({"marks": "late"}, "marks must be at most 16 texts"),
    "many marks": ({"marks": ["m"] * 17}, "marks must be at most 16 texts"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path, case):
    changes, message = WRONG[case]
    arguments = {"tag": "s", "weights": [[1.0]], "source_tokens": ["a"], "target_tokens": ["b"], "step": 1}
    with SummaryWriter(str(tmp_path)) as writer, pytest.raises(ValueError, match=message):
        add_attention(writer, **{**arguments, **changes})
    assert not events_of(tmp_path)


RECORD = AttentionRecord(("a", "b"), ("c",), quantized([[0.25, 0.75]]), -1.0, 50.0, ((1, 0),))


def packed(header=None, planes=None, *, version=b"\x05", magic=MAGIC, **changes):
    """A record with something about it changed."""
    described = {
        "source": ["a", "b"],
        "target": ["c"],
        "score": -1.0,
        "bleu": 50.0,
        "alignment": [[1, 0]],
        "maps": None,
        "reference": None,
        "layers": None,
        "effect": None,
        "marks": [],
        **changes,
    }
    text = json.dumps(described).encode() if header is None else header
    planes = bytes([63, 191, 255, 0]) if planes is None else planes
    return magic + version + zlib.compress(struct.pack("<I", len(text)) + text + planes)


def test_the_format_is_as_documented():
    high_then_low = bytes([0x40, 0xBF, 0x00, 0xFF])
    assert decode_record(packed(planes=high_then_low)).weights.tolist() == [[0x4000, 0xBFFF]]
    two = packed(maps=[2, 1], planes=bytes([64, 191, 1, 2, 0, 255, 3, 4]))
    assert decode_record(two).weights.tolist() == [[[[0x4000, 0xBFFF]]], [[[0x103, 0x204]]]]
    referred = decode_record(packed(reference="r"))
    assert (referred.reference, referred.weights.shape) == ("r", (1, 2))
    tested = decode_record(packed(effect=2.0, marks=["m"], planes=high_then_low + bytes([128, 0, 0, 1])))
    assert (tested.effects().tolist(), tested.marks) == ([[0, -2]], ("m",))
    assert encode_record(RECORD)[:5] == b"ATTN\x05"
    assert decode_record(encode_record(RECORD)).weights.tolist() == RECORD.weights.tolist()


HOSTILE = {
    "nothing": b"",
    "text": b"hello",
    "pickle": b"\x80\x04\x95",
    "another version": packed(version=b"\x04"),
    "a field that is missing": packed(header=b"{}"),
    "a field too many": packed(other=1),
    "no heads": packed(maps=[1, 0], planes=b""),
    "fewer heads": packed(maps=[1, 2]),
    "heads without end": packed(maps=[1 << 40, 1]),
    "too many heads": packed(maps=[33, 32], planes=bytes(2 * 2 * 33 * 32)),
    "reference that is no text": packed(reference=["a"]),
    "long reference": packed(reference="a" * 100_001),
    "an effect of nothing": packed(effect=0.0, planes=bytes(8)),
    "an effect without numbers": packed(effect=2.0),
    "numbers without an effect": packed(planes=bytes(8)),
    "many marks": packed(marks=["m"] * 17),
    "names of layers without layers": packed(layers=["l"]),
    "as many names as rows, without layers": packed(
        layers=["l", "m"], source=["a"], target=["c", "d"], alignment=None
    ),
    "no names of layers": packed(layers=[]),
    "no compression": b"ATTN\x05abc",
    "cut": packed()[:-3],
    "something behind": packed() + b"x",
    "too little inside": b"ATTN\x05" + zlib.compress(b"ab"),
    "a bomb": b"ATTN\x05" + zlib.compress(bytes(200_000_000), 1),
    "header length beyond the end": b"ATTN\x05" + zlib.compress(b"\xff\xff\xff\x7f{}"),
    "no JSON": packed(header=b"{"),
    "not UTF-8": packed(header=b"\xff"),
    "deep": packed(header=b"[" * 100_000),
    "long number": packed(header=b"1" * 10_000),
    "a list": packed(header=b"[]"),
    "a key too many": packed(more=1),
    "a key too few": packed(header=b'{"source": ["a"]}'),
    "tokens as text": packed(source="ab"),
    "tokens as numbers": packed(source=[1, 2]),
    "no tokens": packed(source=[], planes=b""),
    "long token": packed(source=["a" * (MAX_TOKEN_LENGTH + 1), "b"]),
    "half a surrogate pair": packed(source=["\ud800", "b"]),
    "NaN": packed(score=float("nan")),
    "infinite": packed(score=float("inf")),
    "infinite by its digits": packed(
        header=json.dumps({"source": ["a", "b"], "target": ["c"], "bleu": 1, "alignment": None, "score": 0})
        .replace('"score": 0', '"score": 1e999')
        .encode()
    ),
    "score as text": packed(score="1"),
    "score as truth": packed(score=True),
    "bleu out of range": packed(bleu=101),
    "link outside": packed(alignment=[[2, 0]]),
    "negative link": packed(alignment=[[-1, 0]]),
    "link of one": packed(alignment=[[1]]),
    "link of truths": packed(alignment=[[True, False]]),
    "alignment as text": packed(alignment="ab"),
    "too few weights": packed(planes=b"abc"),
    "too many weights": packed(planes=b"abcde"),
}


def test_links_are_bounded_where_they_are_written_and_where_they_are_read(tmp_path):
    tokens = ["a"] * 257
    links = [(row, column) for row in range(257) for column in range(256)]
    _, value = logged(tmp_path, "s", np.zeros((257, 257)), tokens, tokens, 1, alignment=links[:65_536])
    assert len(record_in(value).alignment) == 65_536
    with pytest.raises(ValueError, match="more than 65536 links"):
        logged(tmp_path / "more", "s", np.zeros((257, 257)), tokens, tokens, 1, alignment=links)
    more = packed(alignment=[[0, 0]] * 65_537)
    with pytest.raises(RecordError, match="65536"):
        decode_record(more)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_record_is_refused(case):
    with pytest.raises(RecordError):
        decode_record(HOSTILE[case])


@given(st.binary(max_size=200), st.integers(0, 60))
def test_no_bytes_at_all_end_in_another_error(noise, place):
    good = encode_record(RECORD)
    for content in (noise, good[:5] + zlib.compress(noise), good[:place] + noise + good[place:]):
        try:
            decode_record(content)
        except RecordError as error:
            assert str(error)  # noqa: PT017 - any other error fails the test


def test_neither_logging_nor_the_tab_imports_torch():
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "import tensorboard_attention.writer, tensorboard_attention.plugin\n"
        "import tensorboard_attention.event_files\n"
        "print(sorted({'torch', 'lightning', 'torchtext', 'tensorflow'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_effects_of_heads_are_as_many_as_heads_or_refused(tmp_path):
    maps, words = np.full((2, 3, 2, 2), 0.5), ["a", "b"]
    effects = [[0.5, -1, 2], [0, 1e-9, 3]]
    add_attention(tmp_path, "s", maps, words, words, 0, head_effects=effects)
    (record,) = read_steps(tmp_path, "s/forced", most=1, most_bytes=1 << 20).values()
    assert record.head_effects == (0.5, -1, 2, 0, 1e-9, 3)
    for wrong in ([1, 2, 3], [[1, 2], [3, 4], [5, 6]], [[float("nan")] * 3] * 2):
        with pytest.raises(ValueError, match="head_effects"):
            add_attention(tmp_path, "s", maps, words, words, 1, head_effects=wrong)
    for number in (5, 7):
        with pytest.raises(RecordError, match="effects of heads"):
            decode_record(encode_record(replace(record, head_effects=(0.0,) * number)))
