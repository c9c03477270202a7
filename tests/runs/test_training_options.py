from collections import defaultdict
from itertools import count
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.errors import InputError, TrainingInterrupted
from seq2seq.experiments.ledger import read_ledger
from seq2seq.runs.run import run
from seq2seq.training import module
from tests.stops import ctrl_c, stopped_after

SUBWORDS = ["data.tokenizer.name=unigram", "data.tokenizer.max_size=500"]
TIED = ["model.tying=output", "model.readout_size=8"]
OPTIONS = {
    "optim.word_dropout=0.3": [],
    "optim.r_drop=5": [],
    "optim.guidance=0.5": ["optim.word_dropout=0.3"],
    "model.dropout_by_sentence=true": ["model.dropout=0.3"],
    "optim.averaging=ema": ["optim.ema_decay=0.9"],
    "optim.averaging=epochs": TIED,
    "data.tokenizer.sampling=0.2": [*SUBWORDS, "data.tokenizer.joint=true"],
}
SHORT = [
    "tensorboard.heatmaps=0", "tensorboard.samples=0", "tensorboard.panel.first=0",
    "data.train_pairs=64", "data.validation_pairs=8", "data.test_pairs=4",
]  # fmt: skip


def checkpoint_of(run_dir, name="last"):
    return torch.load(run_dir / "checkpoints" / f"{name}.ckpt", weights_only=True)


def same(first, second):
    return all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return defaultdict(lambda: tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture
def trained(tiny, folders):
    """Overrides -> the folder of their run, which is trained once."""

    def run_of(*overrides):
        folder = folders[frozenset(overrides)]
        if not folder.exists():
            run(tiny(*SHORT, *overrides), folder)
        return folder

    return run_of


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_training_and_resumes_exactly(tiny, trained, tmp_path, option):
    others = OPTIONS[option]
    whole, plain = trained(option, *others), trained(*others)
    stopped = tmp_path / "stopped"
    with stopped_after(5, ctrl_c), pytest.raises(TrainingInterrupted):
        run(tiny(*SHORT, *others, option), stopped)
    run(tiny(*SHORT, *others, option), stopped)
    expected = checkpoint_of(whole)["state_dict"]
    assert same(expected, checkpoint_of(stopped)["state_dict"])
    assert not same(expected, checkpoint_of(plain)["state_dict"])


@pytest.mark.parametrize("kind", ["ema", "epochs"])
def test_the_average_is_what_is_exported_and_chosen_and_training_does_not_see_it(trained, kind):
    averaged = trained(f"optim.averaging={kind}", "trainer.max_epochs=3")
    plain = trained("trainer.max_epochs=3")
    best = checkpoint_of(averaged, "best")["state_dict"]
    exported = load_file(averaged / "model" / "model.safetensors")
    assert all(torch.equal(exported[name], best[f"model.{name}"]) for name in exported)
    trained = checkpoint_of(averaged)["callbacks"]["WeightAverage"]["trained"]
    weights = checkpoint_of(plain)["state_dict"]
    assert all(
        torch.equal(found, expected)
        for found, expected in zip(trained, weights.values(), strict=True)
    )
    assert not same(checkpoint_of(averaged)["state_dict"], weights)


def test_pretrained_vectors_are_where_training_begins(tiny, tmp_path, capsys):
    vectors = tmp_path / "vectors.txt"
    numbers = " ".join(["0.25"] * 8)
    vectors.write_text(f"The {numbers}\n. {numbers}\nabsent {numbers}\n")
    overrides = [*SHORT, f"model.source_vectors={vectors}", "optim.learning_rate=1e-9"]
    run(tiny(*overrides), tmp_path / "run")
    assert "vectors     2 of" in capsys.readouterr().out
    exported = load_model_folder(tmp_path / "run")
    (place,) = exported.source_codec.vocabulary.ids(["The"])
    found = exported.model.encoder.embedding.weight[place]
    torch.testing.assert_close(found, torch.full((8,), 0.25), rtol=0, atol=1e-6)


def test_vectors_do_not_go_with_a_model_that_has_its_own(tiny, trained, tmp_path):
    start = [f"init_from='{trained()}'", "model.target_vectors=absent"]
    with pytest.raises(InputError, match="target_vectors does not go with init_from"):
        run(tiny(*SHORT, *start), tmp_path / "second")


def test_without_dropout_a_second_reading_changes_nothing(tiny, tmp_path, monkeypatch):
    clock = SimpleNamespace(perf_counter=count().__next__)
    monkeypatch.setattr(module, "time", clock)
    once, twice = tmp_path / "once", tmp_path / "twice"
    others = [*SHORT, "model.dropout=0", "trainer.max_epochs=2"]
    run(tiny(*others), once)
    run(tiny(*others, "optim.r_drop=5"), twice)
    speeds = {read_ledger(folder).tokens_per_second for folder in (once, twice)}
    assert len(speeds) == 1, "a token that is read twice counts once"
    first, second = (checkpoint_of(folder)["state_dict"] for folder in (once, twice))
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=0, atol=1e-3)
