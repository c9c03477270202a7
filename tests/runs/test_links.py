"""Where the links that guide attention come from, and what is refused."""

from types import SimpleNamespace

import pytest
import torch

from seq2seq.errors import InputError
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.preparation import _require_guides
from seq2seq.runs.run import run
from seq2seq.text.corpus import ParallelCorpus, SentencePair
from seq2seq.training.module_state import RESUMED, module_state


@pytest.fixture(params=["links", "validation_links"])
def linked(request, configured, tmp_path):
    """Two lines with links in a file: the training pairs, and those of validation."""
    (tmp_path / "a.en").write_text("don't sleep.\nyes\n")
    (tmp_path / "a.fr").write_text("ne dors pas.\noui\n")

    def read(links, *overrides):
        (tmp_path / "links").write_text(links)
        files = [
            f"data.{split}.{side}={tmp_path}/a.{language}"
            for split in ("train", "validation")
            for side, language in (("source", "en"), ("target", "fr"))
        ]
        corpus = build_corpus(
            configured(
                "data=parallel", "data.source_language=en", "data.target_language=fr", *files,
                f"data.{request.param}={tmp_path}/links", *overrides,
            ).data
        )  # fmt: skip
        splits = corpus.train, corpus.validation
        own, other = splits if request.param == "links" else reversed(splits)
        assert all(pair.alignment is None for pair in other)
        return own

    read.split = {"links": "training", "validation_links": "validation"}[request.param]
    return read


# the program's words: don' t sleep .   ne dors pas .
@pytest.mark.parametrize(
    ("links", "sure", "possible"),
    [
        ("1-2", {(2, 2), (3, 3)}, set()),  # sleep. pas.: like with like
        ("1-1", {(2, 1)}, {(3, 1)}),  # sleep. dors: the full stop is alone
        ("0-2", {(0, 2), (1, 2)}, {(0, 3), (1, 3)}),  # don't pas.
        ("0?0", set(), {(0, 0), (1, 0)}),
        ("1?2 1-1", {(2, 1)}, {(2, 2), (3, 1), (3, 3)}),
    ],
)
def test_links_of_words_between_white_space_become_those_of_their_like_parts(
    linked, links, sure, possible
):
    first, second = linked(f"{links}\n\n")
    assert set(first.alignment) == sure | possible
    assert set(first.possible) == possible
    assert list(first.alignment) == sorted(first.alignment)
    assert second.alignment == ()


@pytest.mark.parametrize(("link", "is_sure"), [("0-1", True), ("0?1", False)])
def test_a_sign_by_itself_goes_with_the_word_that_it_is_linked_with(
    linked, tmp_path, link, is_sure
):
    (tmp_path / "a.en").write_text("& so\nyes\n")
    (tmp_path / "a.fr").write_text("ainsi et\noui\n")
    first, _ = linked(f"{link}\n\n")
    assert first.alignment == ((0, 1),)
    assert (first.possible == ()) is is_sure


def test_a_line_is_of_a_pair(linked):
    assert [pair.alignment for pair in linked("0-0\n0-0\n", "data.limit=2")][1] == ((0, 0),)
    assert len(linked("0-0\n0-0\n0-0\n", "data.limit=2")) == 2
    with pytest.raises(
        InputError, match=f"links has 3 lines for 2 {linked.split} pairs: line n is of"
    ):
        linked("0-0\n0-0\n0-0\n")
    with pytest.raises(
        InputError, match=f"links has 1 lines for 2 {linked.split} pairs: line n is of"
    ):
        linked("0-0\n", "data.limit=2")
    with pytest.raises(
        InputError, match="line 2: link 1-0 is outside the sentence pair of 1 and 1"
    ):
        linked("0-0\n1-0\n")


def test_guidance_needs_attention_and_links():
    pairs = [SentencePair("a", "b", ()), SentencePair("a", "b", ((0, 0),))]
    _require_guides(ParallelCorpus(pairs, [], []), "luong", attends=True)
    with pytest.raises(InputError, match=r"^optim\.guidance is for attention, which decoder plain"):
        _require_guides(ParallelCorpus(pairs, [], []), "plain", attends=False)
    for without in (pairs[:1], ()):
        with pytest.raises(InputError, match=r"no training pair has links: .* data\.links=FILE$"):
            _require_guides(ParallelCorpus(without, [], []), "luong", attends=True)


def test_a_run_refuses_guidance_before_training(tiny, tmp_path):
    with pytest.raises(InputError, match="which decoder plain has not"):
        run(tiny("optim.guidance=1", "decoder=plain"), tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_sums_from_before_there_was_guidance_are_continued():
    sums = {"nll": 2.0, "smoothed": 3.0, "num_correct": 1, "num_tokens": 4}
    state = {"num_skipped": 0, "train_sums": {k: torch.tensor(v) for k, v in sums.items()}}
    found = module_state({RESUMED: state}).sums_on(torch.device("cpu"))
    assert SimpleNamespace(**sums).nll == found.nll == found.metrics()["loss"] * 4
    assert "guidance" not in found.metrics()
