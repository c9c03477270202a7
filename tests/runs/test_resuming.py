import re
from dataclasses import replace

import pytest
import torch

from seq2seq.errors import InputError
from seq2seq.runs.resuming import (
    ResumePoint,
    conditions_of,
    corpus_fingerprint,
    find_resume_point,
    require_same_conditions,
    vocabulary_fingerprint,
)
from seq2seq.text.codec import TextCodec
from seq2seq.text.corpus import ParallelCorpus, SentencePair, Shard
from seq2seq.text.tokenizers import WordTokenizer
from seq2seq.text.vocabulary import SPECIALS, Vocabulary
from seq2seq.training.checkpoint_file import VERSION, write_checkpoint

PAIRS = [SentencePair("a b", "c d"), SentencePair("e", "f")]
CORPUS = ParallelCorpus(PAIRS, PAIRS[:1], PAIRS)


@pytest.fixture
def resumed(configured, tmp_path):
    """Overrides -> whether a run that began with the default ones may continue with these."""

    def resume(*overrides, corpus=CORPUS, **known):
        began = conditions_of(configured(), CORPUS) | {"vocabulary": "v"}
        point = ResumePoint(tmp_path / "last.ckpt", 3, began, {})
        config = configured(*overrides)
        require_same_conditions(
            point, conditions_of(config, corpus) | known, force=config.resume.force
        )
        return True

    return resume


@pytest.mark.parametrize(
    "override",
    [
        "trainer.max_epochs=9",
        "trainer.max_steps=9",
        "trainer.log_every=9",
        "trainer.checkpoint_every=2",
        "device=gpu",
        "device.precision=bf16-mixed",
        "tensorboard.heatmaps=1",
        "runs_dir=elsewhere",
        "resume=required",
        "data.folder=elsewhere",
    ],
)
def test_training_length_device_logging_and_places_may_change(resumed, override):
    assert resumed(override)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.num_layers=2", "model.num_layers=1, not 2"),
        ("attention=dot", "attention.score=additive, not dot"),
        ("data.tokenizer.lowercase=true", "data.tokenizer.lowercase=False, not True"),
        ("optim.learning_rate=0.1", "optim.learning_rate=0.003, not 0.1"),
        ("init_from=x", "init_from=null, not x"),
    ],
)
def test_architecture_vocabulary_and_optimiser_may_not_even_by_force(resumed, override, message):
    with pytest.raises(InputError, match=re.escape(message)):
        resumed(override, "resume.force=true")


def test_what_a_checkpoint_does_not_tell_may_not_be_what_nobody_knows(configured, tmp_path):
    now = conditions_of(configured(), CORPUS)
    told = {key: value for key, value in now["config"].items() if key != "optim.optimiser"}
    point = ResumePoint(tmp_path / "last.ckpt", 3, now | {"config": told}, {})
    with pytest.raises(InputError, match=r"optim\.optimiser=unknown, not adam"):
        require_same_conditions(point, now, force=True)
    without = {key: value for key, value in now["config"].items() if key != "optim.ema_decay"}
    point = ResumePoint(tmp_path / "last.ckpt", 3, now | {"config": without}, {})
    require_same_conditions(point, now, force=False)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("attention.normaliser=sparsemax", "attention.normaliser=softmax, not sparsemax"),
        ("attention=local_m", "attention.kind=global, not local_m"),
        ("data.reverse_source=true", "data.reverse_source=False, not True"),
        ("data.both_directions=true", "data.both_directions=False, not True"),
        ("model.initial_state=zeros", "model.initial_state=encoder, not zeros"),
        ("optim.r_drop=1", "optim.r_drop=0.0, not 1.0"),
        ("optim.guidance=1", "optim.guidance=0.0, not 1.0"),
    ],
)
def test_what_was_no_choice_when_a_run_began_may_not_change_either(
    configured, tmp_path, override, message
):
    given = ("model.initial_state=encoder", "data.tokenizer.joint=true")
    before = configured(*given)
    began = conditions_of(before, CORPUS)
    for key in [*began["config"]]:
        if key.startswith(message.partition("=")[0]):
            del began["config"][key]
    point = ResumePoint(tmp_path / "last.ckpt", 3, began, {})
    require_same_conditions(point, conditions_of(before, CORPUS), force=False)
    now = conditions_of(configured(*given, override), CORPUS)
    with pytest.raises(InputError, match=re.escape(message)):
        require_same_conditions(point, now, force=True)


@pytest.mark.parametrize(
    "override", ["seed=5", "trainer.batch_sentences=3", "model.dropout=0.5", "trainer.accumulate=2"]
)
def test_seed_batch_size_and_dropout_may_by_force(resumed, override):
    with pytest.raises(InputError, match=r"continue all the same with resume\.force=true"):
        resumed(override)
    assert resumed(override, "resume.force=true")


def test_another_corpus_or_vocabulary_is_refused_by_its_fingerprint(resumed):
    with pytest.raises(InputError, match="another corpus"):
        resumed("resume.force=true", corpus=replace(CORPUS, train=PAIRS[::-1]))
    with pytest.raises(InputError, match="another vocabulary"):
        resumed("resume.force=true", vocabulary="w")
    assert resumed(vocabulary="v")


def test_the_fingerprints_see_every_change():
    changed = [
        replace(CORPUS, train=PAIRS[:1]),
        replace(CORPUS, validation=[]),
        replace(CORPUS, train=[replace(PAIRS[0], source="a  b"), PAIRS[1]]),
        ParallelCorpus([*PAIRS, PAIRS[0]], [], PAIRS),
    ]
    assert len({corpus_fingerprint(corpus) for corpus in [CORPUS, *changed]}) == 5
    linked = replace(CORPUS, train=[replace(PAIRS[0], alignment=((0, 0),)), PAIRS[1]])
    assert corpus_fingerprint(linked) == corpus_fingerprint(CORPUS)
    with_links = {corpus_fingerprint(corpus, with_links=True) for corpus in (CORPUS, linked)}
    assert len(with_links) == 2
    tokenizer = WordTokenizer(language="en", lowercase=False)
    codecs = [
        TextCodec(tokenizer, Vocabulary([*SPECIALS, *words])) for words in ("ab", "ba", "a", "abc")
    ]
    fingerprints = {vocabulary_fingerprint([codec, codecs[0]]) for codec in codecs}
    assert len(fingerprints) == 4
    assert vocabulary_fingerprint(codecs[:2]) != vocabulary_fingerprint(codecs[1::-1])


def test_the_fingerprint_sees_a_change_of_large_files_but_not_their_place(tmp_path):
    def fingerprint(folder):
        return corpus_fingerprint(
            ParallelCorpus((), (), (), (Shard(folder / "en", folder / "fr"),))
        )

    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    for name in ("en", "fr"):
        (first / name).write_text("a\n")
    before = fingerprint(first)
    first.rename(second)
    assert fingerprint(second) == before
    (second / "fr").write_text("b\n")
    assert fingerprint(second) != before


WHOLE = {
    "epoch": 1,
    "global_step": 3,
    "pytorch-lightning_version": "2.6.6",
    "state_dict": {},
    "loops": {},
    "callbacks": {},
    "optimizer_states": [],
    "lr_schedulers": [],
    "conditions": {
        "config": {}, "corpus": "c", "vocabulary": "v",
        "precision": {"device": "cpu", "is": "fp32"},
    },
    "events": {"events.out": 5},
    "translation_module": {},
}  # fmt: skip


def resume_point(folder, config, content):
    write_checkpoint(folder / "checkpoints" / "last.ckpt", content)
    return find_resume_point(config, {"config": {}}, folder)


def test_a_checkpoint_is_read_as_it_was_written(configured, tmp_path):
    point = resume_point(tmp_path, configured(), WHOLE)
    assert (point.step, point.event_sizes) == (3, WHOLE["events"])
    assert point.conditions == WHOLE["conditions"]


@pytest.mark.parametrize(
    ("part", "odd"),
    [
        ("epoch", "x"), ("epoch", -1), ("epoch", None), ("global_step", True),
        ("pytorch-lightning_version", None), ("pytorch-lightning_version", "1.0.0"),
        ("pytorch-lightning_version", "2.x"), ("state_dict", []), ("loops", None),
        ("callbacks", []), ("optimizer_states", {}), ("lr_schedulers", None),
        ("conditions", {}), ("conditions", WHOLE["conditions"] | {"config": []}),
        ("conditions", WHOLE["conditions"] | {"precision": {"device": "cpu"}}),
        ("conditions", WHOLE["conditions"] | {"config": {"seed": torch.zeros(2)}}),
        ("events", {"x": -1}), ("events", {"x": "1"}), ("events", [1]), ("events", {1: 1}),
        ("translation_module", None),
    ],
)  # fmt: skip
def test_a_part_that_is_odd_is_one_line_that_names_it(configured, tmp_path, part, odd):
    with pytest.raises(InputError, match="cannot be continued from") as caught:
        resume_point(tmp_path, configured(), WHOLE | {part: odd})
    said = str(caught.value)
    assert part in said or "it holds more than plain values" in said
    assert "\n" not in said
    assert f"version is 1, this program's {VERSION}" in said


def test_what_resume_asks_for_is_kept(configured, tmp_path):
    folder = tmp_path / "checkpoints"
    assert find_resume_point(configured(), {}, tmp_path) is None
    assert find_resume_point(configured("resume=never"), {}, tmp_path) is None
    with pytest.raises(InputError, match=r"resume=required, but .* holds no checkpoint"):
        find_resume_point(configured("resume=required"), {}, tmp_path)
    folder.mkdir()
    (folder / "last.ckpt").write_bytes(b"whatever")
    with pytest.raises(InputError, match=r"resume=never, but .* holds last\.ckpt"):
        find_resume_point(configured("resume=never"), {}, tmp_path)


def test_an_option_without_effect_may_change(configured, tmp_path):
    began = conditions_of(configured("attention=dot", "attention.hidden_size=128"), CORPUS)
    point = ResumePoint(tmp_path / "last.ckpt", 3, began, {})
    now = conditions_of(configured("attention=dot", "optim.ema_decay=0.5"), CORPUS)
    require_same_conditions(point, now, force=False)
    other = conditions_of(configured("attention=additive"), CORPUS)
    with pytest.raises(InputError, match=r"attention\.score=dot, not additive"):
        require_same_conditions(point, other, force=False)
