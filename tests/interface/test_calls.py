"""From Python: the runs of the command line, errors as exceptions, and a process left as it was."""

import base64
import html
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra._internal import hydra as hydra_itself
from hydra.core.global_hydra import GlobalHydra

import seq2seq
from seq2seq.errors import InputError, TrainingFailed
from seq2seq.experiments import processes
from seq2seq.interface import calls
from seq2seq.sweeps import sweep as sweep_module
from tests.conftest import TINY
from tests.forks import FORKING
from tests.programs import program
from tests.stops import stopped_after
from tests.swept import STUB

SMALL = [*TINY, "device.threads=1", "trainer.max_epochs=1"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
SOURCE, TARGET = (
    [f"{first} {second} ." for first in subjects for second in verbs]
    for subjects, verbs in (("abcdefgh", "ijklm"), ("ABCDEFGH", "IJKLM"))
)
GIVEN = [
    *[each for each in SMALL if not each.startswith("data.")],
    "data.source_language=en", "data.target_language=fr", "data.validation.fraction=0.2",
    "data.tokenizer.name=whitespace", "recipe=small",
]  # fmt: skip


def state_of_process():
    """What belongs to the process, not to a call."""
    return {
        "signals": [signal.getsignal(number) for number in SIGNALS],
        "arguments": sys.argv,
        "threads": torch.get_num_threads(),
        "lightning": logging.getLogger("lightning.pytorch").level,
        "loader": hydra_itself.ConfigLoaderImpl,
        "hydra": GlobalHydra.instance().hydra,
        "streams": (sys.stdout, sys.stderr),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The working folder of a person."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("work"))
        yield Path.cwd()


@pytest.fixture(scope="module")
def given(folder):
    """A run on text in two lists, with the state of the process before and after it.

    The person uses Hydra too, other numbers of threads, and signals.
    """
    torch.set_num_threads(2)
    (folder / "config.yaml").write_text("own: 1\n")
    before_signal = signal.signal(signal.SIGTERM, handler := lambda *_: None)
    with initialize_config_dir(str(folder), version_base="1.3"):
        before = state_of_process()
        run = seq2seq.train(*GIVEN, source=SOURCE, target=TARGET)
        after = state_of_process()
        assert compose("config") == {"own": 1}
    assert signal.getsignal(signal.SIGTERM) is handler
    signal.signal(signal.SIGTERM, before_signal)
    torch.set_num_threads(1)
    return run, before, after


@pytest.fixture(scope="module")
def second(given):
    """The second run of the process."""
    return seq2seq.train(*SMALL, "name=second")


def in_python(code, folder):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=False
    )


def test_the_import_is_light_and_shows_what_there_is(tmp_path):
    heavy = {"torch", "lightning", "hydra", "omegaconf", "numpy", "tensorboard", "yaml", "msgspec"}
    code = f"""
import sys
import seq2seq
print(sorted({heavy} & set(sys.modules)))
print({{"train", "sweep", "compare", "load", "show_attention", "InputError"}} <= set(dir(seq2seq)))
try:
    seq2seq.train("trainer.max_epoch=2")
except seq2seq.InputError as error:
    print(error)
print("torch" in sys.modules)
try:
    seq2seq.trial
except AttributeError as error:
    print(error)
"""
    done = in_python(code, tmp_path)
    told = "trainer.max_epoch: there is no such key, did you mean trainer.max_epochs"
    light, shown, wrong, torch_loaded, missing = done.stdout.splitlines()
    assert (light, shown, torch_loaded) == ("[]", "True", "False"), done.stderr
    assert wrong.startswith(told)
    assert missing == "module 'seq2seq' has no attribute 'trial'"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("trainer.max_epoch=2", "did you mean trainer.max_epochs"),
        ("attention=scaled_dott", "did you mean scaled_dot"),
        ("model.dropout=7", "from 0 to 0.95"),
        (
            "attention=dot,additive",
            "is several values: write one, or add --multirun (from Python: seq2seq.sweep)",
        ),
        ("sweep=attention_scores", "from Python: seq2seq.sweep"),
        ("-m", "'-m' is no override: write 'key=value', as text"),
        (2, "2 is no override"),
        ("data=tatoeba", "data/tatoeba/fra.txt does not exist"),
    ],
)
def test_what_is_wrong_is_an_exception_of_one_line(folder, override, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        seq2seq.train(*SMALL, "model.readout_size=8", "name=refused", override)
    assert "\n" not in str(caught.value)
    assert not (folder / "runs" / "baseline" / "refused").exists()


def test_a_call_leaves_the_process_as_it_was(given):
    _, before, after = given
    assert after == before


def contents(folder):
    """What a run decides, byte by byte, and its history."""
    names = ["config.yaml", "model/model.safetensors", "model/model.json", "model/source.json"]
    names += [f"translations/{split}.jsonl" for split in ("validation", "test")]
    ledger = json.loads((folder / "ledger.json").read_text())
    speed = "train/tokens_per_second"
    history = [{k: v for k, v in each.items() if k != speed} for each in ledger["history"]]
    facts = [history, ledger["overrides"], ledger["fingerprint"], ledger["threads"]]
    return [*((folder / name).read_bytes() for name in names), *facts]


def test_the_second_call_gives_the_run_of_the_command_line_to_the_bit(second, tmp_path):
    assert program("train.py", *SMALL, "name=second", cwd=tmp_path).returncode == 0
    of_command = tmp_path / "runs" / "baseline" / "second"
    assert contents(second.folder) == contents(of_command)
    assert {p.name.partition(".")[0] for p in second.folder.iterdir()} == {
        p.name.partition(".")[0] for p in of_command.iterdir()
    }


def test_a_call_that_has_ended_gives_its_run_again(second, capsys):
    written = (second.folder / "checkpoints" / "last.ckpt").stat().st_mtime_ns
    again = seq2seq.train(*SMALL, "name=second")
    assert "second is finished; give another name=" in capsys.readouterr().out
    assert (again.folder, again.metrics) == (second.folder, second.metrics)
    assert (second.folder / "checkpoints" / "last.ckpt").stat().st_mtime_ns == written


def test_a_run_tells_its_scores_and_translates(second, folder):
    loaded = seq2seq.load("runs/baseline/second")
    assert loaded.folder == folder / "runs" / "baseline" / "second"
    assert loaded.metrics == json.loads((second.folder / "metrics.json").read_text())
    (one,) = loaded.translator.translate(["I see it."], beam=5)
    shown = loaded.attention("I see it.")
    assert (shown.text, shown.score) == (one.text, one.score)
    assert shown.weights.shape == (len(shown.target_tokens), len(shown.source_tokens))
    forced = loaded.attention("I see it.", "Je le vois.")
    assert forced.text == "Je le vois."


def test_what_is_no_finished_run_is_not_loaded(tmp_path):
    with pytest.raises(InputError, match="holds no finished run"):
        seq2seq.load(tmp_path)


class Frame:
    """What a notebook makes of the HTML of a translation."""

    def __init__(self, code):
        (whole,) = re.findall(r"<iframe ([^<>]*?)>", re.sub(r'srcdoc="[^"]*"', "", code))
        self.attributes = whole
        self.page = html.unescape(re.fullmatch(r'.*srcdoc="([^"]*)"></iframe>', code, re.S)[1])
        found = re.search(r'id="attention-data">(.*?)</script>', self.page)[1]
        (self.view,) = json.loads(found)["views"]


def test_a_translation_shows_its_attention_in_a_frame_that_asks_nobody(second):
    translation = second.attention("I see it.")
    frame = Frame(translation._repr_html_())
    assert [*frame.view["sources"][0]] == [*translation.source_tokens]
    assert [*frame.view["targets"][0]] == [*translation.target_tokens]
    assert frame.page.startswith("<!doctype html>")
    assert "default-src 'none'" in frame.page
    assert 'sandbox="allow-scripts allow-downloads"' in frame.attributes
    outside = re.sub(r'srcdoc="[^"]*"', "", translation._repr_html_())
    assert not re.search(r"\bid=|<script|<style", outside)  # so many of them do not clash


def test_hostile_text_stays_in_its_frame(second):
    hostile = '"></iframe><script>alert(1)</script>'
    code = second.attention(hostile, hostile)._repr_html_()
    assert code.count("<iframe") == code.count('"></iframe>') == 1
    assert "<script>alert" not in Frame(code).page


def test_attention_of_any_model_is_shown_with_its_heads():
    weights = np.random.default_rng(0).random((2, 3, 1, 2))
    tokens = ["<b>", '"></iframe>']
    code = seq2seq.show_attention(weights, tokens, ["c"])._repr_html_()
    view = Frame(code).view
    assert (view["sources"], view["targets"]) == ([tokens], [["c"]])
    (frame,) = view["frames"]
    assert frame["maps"] == [2, 3]
    read = np.frombuffer(base64.b64decode(frame["weights"]), "<u2") / 65535
    np.testing.assert_allclose(read.reshape(weights.shape), weights, atol=1e-5)
    with pytest.raises(ValueError, match="do not fit 2 target tokens"):
        seq2seq.show_attention(weights, tokens, ["c", "d"])


def test_what_has_no_attention_to_show_is_its_text(second):
    (bare,) = second.translator.translate(["I see it."], return_attention=False)
    assert bare._repr_html_() == f"<p>{html.escape(bare.text)}</p>"
    assert second.attention(" ").text == ""


def test_a_comparison_shows_its_table(second, given):
    table = seq2seq.compare(second, str(given[0].folder))._repr_html_()
    assert table.count("<tr>") == 3
    assert "<th>test BLEU</th>" in table
    with pytest.raises(InputError, match="no finished run"):
        seq2seq.compare()


def test_an_interrupted_call_keeps_its_checkpoint_and_the_same_call_continues(second, capsys):
    interrupted = "runs_dir=interrupted"
    stop = lambda: signal.raise_signal(signal.SIGINT)  # noqa: E731
    with (
        stopped_after(3, stop),
        pytest.raises(KeyboardInterrupt, match=r"last.ckpt; the same call continues"),
    ):
        seq2seq.train(*SMALL, "name=second", interrupted)
    checkpoint = Path("interrupted/baseline/second/checkpoints/last.ckpt")
    assert torch.load(checkpoint, weights_only=True)["global_step"] == 4
    run = seq2seq.train(*SMALL, "name=second", interrupted)
    assert "step 4" in capsys.readouterr().out
    for name in ("model/model.safetensors", "translations/test.jsonl"):
        assert (run.folder / name).read_bytes() == (second.folder / name).read_bytes()


def test_a_person_who_insists_loses_the_call_and_not_the_notebook(monkeypatch, folder):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    before = state_of_process()

    def insist():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with stopped_after(2, insist), pytest.raises(KeyboardInterrupt):
        seq2seq.train(*SMALL, "name=insisted")
    assert state_of_process() == before
    ledger = json.loads((folder / "runs/baseline/insisted/ledger.json").read_text())
    assert ledger["state"] == "interrupted"


def test_a_thread_trains_and_hears_no_signal(folder):
    before, heard, runs = state_of_process(), [], []

    def train():
        runs.append(seq2seq.train(*SMALL, "trainer.max_steps=2", "name=thread"))

    def look():
        heard.append([signal.getsignal(number) for number in SIGNALS])
        with pytest.raises(InputError, match="this process is training already"):
            seq2seq.train("name=another")

    with stopped_after(1, look):
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
    assert runs[0].metrics["num_steps"] == 2
    assert heard == [before["signals"]]
    assert state_of_process() == before


def test_a_driver_in_a_thread_hears_no_signal():
    driver = sweep_module.Driver(
        None, command=[], metric=None, slots=[], keep=None, retry_failed=False, deadline=None,
        observer=None,
    )  # fmt: skip
    before, heard = [signal.getsignal(number) for number in SIGNALS], []

    def listen():
        with driver._listening():
            heard.append([signal.getsignal(number) for number in SIGNALS])

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert heard == [before]


def test_lists_are_a_corpus_that_is_named_by_what_it_holds(given, capsys):
    run = given[0]
    (store,) = (run.folder.parents[1] / ".text").iterdir()
    for side, sentences in (("source", SOURCE), ("target", TARGET)):
        assert (store / f"train.{side}").read_text().splitlines() == sentences
        assert f"{side}: runs/.text/{store.name}/train.{side}" in (
            run.folder / "config.yaml"
        ).read_text("utf-8")
    again = seq2seq.train(*GIVEN, source=tuple(SOURCE), target=iter(TARGET))
    assert "is finished" in capsys.readouterr().out
    assert again.folder == run.folder


def test_held_out_lists_are_the_splits_and_other_text_is_another_run(given, folder):
    overrides = [each for each in GIVEN if "fraction" not in each]
    held_out = {"validation": (SOURCE[:4], TARGET[:4]), "test": (SOURCE[4:9], TARGET[4:9])}
    text = {"source": SOURCE[9:], "target": TARGET[9:], **held_out}
    with mock.patch.object(calls, "start", return_value=0) as started:
        other = seq2seq.train(*overrides, **text)
        changed = seq2seq.train(*overrides, **text | {"source": [*SOURCE[9:-1], "another"]})
        named = seq2seq.train(*overrides, "name=mine", 'runs_dir="it\'s here"', **text)
    assert len({other.folder, changed.folder, given[0].folder}) == 3
    assert named.folder == folder / "it's here" / "baseline" / "mine"
    configs = [config for (config, _), _ in started.call_args_list]
    assert Path(configs.pop(1).data.train.source).read_text().splitlines()[-1] == "another"
    for config in configs:
        assert Path(config.data.validation.source).read_text().splitlines() == SOURCE[:4]
        assert Path(config.data.validation.target).read_text().splitlines() == TARGET[:4]
        assert Path(config.data.test.target).read_text().splitlines() == TARGET[4:9]
        assert Path(config.data.train.source).read_text().splitlines() == SOURCE[9:]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ({"source": ["a"]}, "target is missing: give a list of sentences"),
        ({"source": "a", "target": ["b"]}, "source is one text: give a list"),
        ({"source": ["a", "b"], "target": ["c"]}, "source has 2 sentences but target has 1"),
        ({"source": ["a", None], "target": ["b", "c"]}, "source[1] is no text but NoneType"),
        ({"source": ["a\nb"], "target": ["c"]}, "source[0] is no line of text: 'a\\nb'"),
        ({"source": ["a"], "target": ["\ud800"]}, "target[0] is no line of text"),
        ({"source": [], "target": []}, "source holds no sentence"),
        ({"validation": (["a"], ["b"])}, "validation and test go with source=[…]"),
        (
            {"source": ["a"], "target": ["b"], "test": (["a"], ["b", "c"])},
            "test source has 1 sentences but test target has 2",
        ),
    ],
)
def test_lists_that_are_no_corpus_are_refused_and_leave_nothing(tmp_path, text, said):
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        seq2seq.train(f"runs_dir={tmp_path}", **text)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def stub_jobs(monkeypatch):
    """The jobs of sweeps take no time, and are forks; returns the commands they would be."""
    commands = []

    def own_command():
        commands.append([*sys.argv])
        return [sys.executable, str(STUB)]

    monkeypatch.setattr(sweep_module, "own_command", own_command)
    monkeypatch.setattr(processes, "subprocess", FORKING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return commands


def test_a_sweep_gives_its_runs(stub_jobs, tmp_path):
    before = state_of_process()
    runs = seq2seq.sweep("attention=additive,dot", "trainer.max_epochs=1", f"runs_dir={tmp_path}")
    assert [run.metrics["test"]["bleu_signature"] for run in runs] == ["stub", "stub"]
    scores = [json.loads((run.folder / "ledger.json").read_text())["config"] for run in runs]
    assert [each["attention"]["score"] for each in scores] == ["additive", "dot"]
    assert stub_jobs[0][0] == "seq2seq train"
    assert state_of_process() == before
    assert seq2seq.compare(*runs)._repr_html_().count("<tr>") == 2 * 3


def test_a_sweep_whose_jobs_went_wrong_is_an_exception(stub_jobs, tmp_path):
    with pytest.raises(TrainingFailed, match="some jobs have not finished"):
        seq2seq.sweep("data.seed=1,102", "trainer.max_epochs=1", f"runs_dir={tmp_path}")
    assert seq2seq.compare(tmp_path).groups


def test_a_sweep_that_is_wrong_starts_nothing(stub_jobs, tmp_path):
    for wrong in ("trainer.max_epoch=1,2", "model.dropout=0,7", "hydra/sweeper=basic"):
        with pytest.raises(InputError) as caught:
            seq2seq.sweep(wrong, f"runs_dir={tmp_path}")
        assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("**/log.txt"))
