"""A callback of another package looks on; a resume keeps its state, and its failures are a line."""

import re

import pytest

from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.experiments.ledger import differing_keys, fingerprint, read_ledger
from seq2seq.runs.making.callbacks import build_callbacks
from seq2seq.runs.rerun import FILES
from seq2seq.runs.run import run
from seq2seq.runs.run_record import config_values
from seq2seq.training.checkpoint_file import read_checkpoint
from tests.stops import ctrl_c, stopped_after

CHOSEN = "trainer.callbacks=[milestones]"
CALLBACK = "from lightning.pytorch.callbacks import Callback\nclass Bad(Callback):\n"


@pytest.fixture
def short(tiny):
    return lambda *overrides: tiny("decoding.beam=1", "tensorboard.heatmaps=0", *overrides)


def kept(run_dir):
    state = read_checkpoint(run_dir / "checkpoints" / "last.ckpt")["callbacks"]["Milestones"]
    return state, (run_dir / "milestones.txt").read_text()


def test_a_resumed_run_has_the_state_and_the_results_of_an_undisturbed_one(
    install_example, short, tmp_path
):
    install_example("milestones")
    run(short(CHOSEN), tmp_path / "whole")
    with stopped_after(9, ctrl_c), pytest.raises(TrainingInterrupted):
        run(short(CHOSEN), tmp_path / "resumed")
    run(short(CHOSEN), tmp_path / "resumed")
    state, written = kept(tmp_path / "whole")
    assert kept(tmp_path / "resumed") == (state, written)
    assert state["epochs"] == 2
    assert len(state["best"]) == len(written.splitlines()) >= 1
    for name in FILES:
        assert (tmp_path / "resumed" / name).read_bytes() == (
            tmp_path / "whole" / name
        ).read_bytes()
    assert read_ledger(tmp_path / "whole").config["trainer"]["callbacks"] == ["milestones"]


def test_a_callback_does_not_make_another_run_of_it(install_example, short):
    install_example("milestones")
    one, other = config_values(short()), config_values(short(CHOSEN))
    assert fingerprint(one) == fingerprint(other)
    assert differing_keys(one, other) == {}
    assert fingerprint(one) != fingerprint(config_values(short("trainer.max_epochs=3")))


def test_an_unknown_name_is_answered_with_the_nearest(install_example, short):
    install_example("milestones")
    line = "trainer.callbacks: unknown callback 'milestone', did you mean 'milestones'"
    with pytest.raises(InputError, match=line):
        short("trainer.callbacks=[milestone]")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("raise OSError('no\\nlicence')", "callback 'bad' of the package 'bad-callback' cannot be"),
        ("Bad = 7", "callback 'bad' of the package 'bad-callback' is no CallbackMaker: 7"),
        ("Bad = str", "callback 'bad' makes no Callback of Lightning"),
        ("def Bad(run_dir):\n    exit(1)", "callback 'bad' fails: SystemExit: 1"),
    ],
)
def test_a_broken_package_is_one_line_that_names_it(install_part, tmp_path, code, line):
    install_part("bad-callback", "seq2seq.callbacks", "bad = bad_callback:Bad", code)
    with pytest.raises(InputError, match=line) as refusal:
        build_callbacks(["bad"], tmp_path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("on_train_start(self, *_):\n        1 / 0", "fails in on_train_start: ZeroDivisionError"),
        ("setup(self, *_, stage):\n        exit()", "fails in setup: SystemExit"),
        ("state_dict(self):\n        return {'k': Bad}", "fails in state_dict: UnpicklingError"),
    ],
)
def test_a_callback_that_fails_ends_the_training_in_one_line(
    install_part, short, tmp_path, method, line
):
    code = f"{CALLBACK}    def __init__(self, run_dir):\n        pass\n    def {method}\n"
    install_part("bad-callback", "seq2seq.callbacks", "bad = bad_callback:Bad", code)
    with pytest.raises(TrainingFailed, match=f"callback 'bad' {line}") as failure:
        run(short("trainer.callbacks=[bad]", "trainer.max_steps=1"), tmp_path / "run")
    assert "\n" not in str(failure.value)
    assert not re.search("Traceback", read_ledger(tmp_path / "run").detail)
