"""What users of Hydra and Lightning try first, typed as they type it."""

import json
import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from hydra_checked.program import HYDRA_BASE
from seq2seq.common.written import RUN, Written, claim, event_files
from seq2seq.run.finishing import write_hparams
from seq2seq.run.fitting import warn_of_slow_precision
from tests.conftest import ROOT, TINY

pytestmark = pytest.mark.usefixtures("short_corpora")

BROKEN = """
class Broken(Convolution):
    def forward(self, embedded, lengths):
        return super().forward(embedded[..., :-1], lengths)
"""
ENDING = """
import atexit, os
from pathlib import Path
from lightning.pytorch.callbacks import Callback

def write():
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    Path(f"threads{os.environ['LOCAL_RANK']}").write_text("".join(names))

class Ending(Callback):
    def __init__(self):
        atexit.register(write)
"""
"""Writes which threads are left when a process has ended but for Python itself."""
DOCS = (ROOT / "docs/howto/extending.md").read_text(encoding="utf-8")
PARTS = "\n".join([*re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL), BROKEN])
"""Parts of the user's own: those of the docs, and one that fails."""


@pytest.fixture
def here(tmp_path):
    (tmp_path / "mine.py").write_text(PARTS)
    return tmp_path


def finished(here, name="debug_fast", experiment="baseline"):
    return json.loads((here / "runs" / experiment / name / "metrics.json").read_text())


@pytest.mark.long
@pytest.mark.parametrize(
    "overrides",
    [
        ["scheduler._target_=mine.halving", "optimizer=adamw", "+optimizer.betas=[0.9,0.98]"],
        ["+callbacks.mine._target_=mine.Shout", "+callbacks.mine.word=HEARD", "logger=[tensorboard,csv]",
         "+logger.mine._target_=lightning.pytorch.loggers.CSVLogger", "+logger.mine.save_dir=logs"],
        ["data._target_=mine.Letters", "+data.letters=abcdefg", "~data.file", "~init_from"],
        ["data.tokenizer._target_=mine.Halves"],
        ["module.word_dropout=0.1", "module.label_smoothing=0.1",
         "trainer.limit_train_batches=2", "trainer.accelerator=cpu", "trainer.accumulate_grad_batches=2"],
        ["module.guided_alignment_weight=0.3", "data=grammar", "trainer.precision=bf16-mixed"],
    ],
    ids=lambda overrides: overrides[0],
)  # fmt: skip
def test_a_choice_of_the_users_trains(here, program, overrides):
    scheduler = [] if any("scheduler" in each for each in overrides) else ["scheduler.warmup_steps=2"]
    tiny = [each for each in TINY if not each.startswith("scheduler")]
    done = program(*tiny, *scheduler, *overrides, cwd=here, check=0)
    assert finished(here)["val"]["greedy"]["num_sentences"] > 0
    if "mine.Shout" in str(overrides):
        assert "HEARD" in done.text
        assert list((here / "logs").rglob("metrics.csv"))
    if "mine.Halves" in str(overrides):
        again = ["name=more", "init_from=runs/baseline/debug_fast"]
        program(*tiny, *scheduler, *overrides, *again, cwd=here, check=0)


def test_a_run_ends_with_the_translations_of_your_own_sentences(here, program):
    own = ["I see it.", "The cat doesn't like us!"]
    texts = ["data=grammar", f"callbacks.samples.texts={json.dumps(own)}", "trainer.max_epochs=1"]
    done = program(*TINY, *texts, cwd=here, check=0)
    places = [done.text.index(line) for line in (f"samples     {own[0]}  ", f"            {own[1]}  ")]
    assert places == sorted(places)
    assert re.search(r"^translate .* 'I see it\.'$", done.text, re.MULTILINE)
    again = program(*TINY, *texts, cwd=here, check=0).text  # of a finished run
    assert re.findall("samples .*", again) == re.findall("samples .*", done.text)


OWN = {
    "encoder and score": ["model.encoder._target_=mine.Convolution", "+model.encoder.width=5",
                          "model.decoder.attention.score._target_=mine.Cosine"],
    "decoder": ["model.decoder._target_=mine.OneCell", "model.tie_embeddings=none"],
}  # fmt: skip
METRIC = ["+module.metrics.shorter._target_=mine.shorter", "+module.metrics.shorter._partial_=true",
          "+module.metrics.cer._target_=torchmetrics.text.CharErrorRate"]  # fmt: skip


@pytest.mark.parametrize("part", OWN)
def test_a_part_of_the_users_trains_is_seen_searches_and_is_exported(here, program, part):
    trained = program(
        *TINY, *METRIC, *OWN[part], "callbacks.checkpoint.monitor=val/shorter", "callbacks.attention.heatmaps=1",
        cwd=here, check=0,
    )  # fmt: skip
    (line,) = (line for line in trained.text.splitlines() if line.startswith("translate "))
    assert " --trust-custom-code " in line
    run = here / "runs/baseline/debug_fast"
    assert 0 <= finished(here)["test"]["beam"]["shorter"] <= 100
    assert finished(here)["val"]["greedy"]["cer"] > 0
    events = EventAccumulator(str(run), size_guidance={"images": 0}).Reload()
    assert any("attention" in tag for tag in events.Tags()["images"])
    assert "val/shorter" in events.Tags()["scalars"]
    (here / "text.en").write_text("I see it.\n")
    command = [str(run), "--source", "text.en", "--beam-size", "3"]
    refused = program(*command, command="translate", cwd=here)
    assert refused.status == 2
    assert "--trust-custom-code" in refused.text
    found = program(*command, "--trust-custom-code", command="translate", cwd=here, check=0)
    assert found.text.strip()
    page = program(str(run), "--trust-custom-code", "-o", "p.html", command="export page", cwd=here, check=2)
    assert OWN[part][0].rpartition(".")[2] in page.text
    assert "--trust-custom-code" not in page.text
    program(str(run), "I see it.", "--trust-custom-code", command="show", cwd=here, check=0)
    program(str(run), "--trust-custom-code", "-o", "own", command="export model", cwd=here, check=0)
    assert "--trust-custom-code" in (here / "own/README.md").read_text()
    pytest.importorskip("onnx")
    program(str(run), "--trust-custom-code", "-o", "graphs", command="export onnx", cwd=here, check=0)
    assert len(list((here / "graphs").glob("*.onnx"))) == 2


def test_fast_dev_run_leaves_no_run(here, program):
    program(*TINY, "trainer.fast_dev_run=true", cwd=here, check=0)
    assert not (here / "runs/baseline/debug_fast/metrics.json").exists()
    assert not (here / "runs/baseline/debug_fast/config.yaml").exists()


def test_a_config_dir_brings_experiments_and_hydra_run_dir_is_the_folder_of_the_run(here, program):
    (here / "own" / "experiment").mkdir(parents=True)
    (here / "own" / "experiment" / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /attention: dot\nexperiment_name: mine\nmy_seed: 7\nseed: ${my_seed}\n"
    )
    keys = "experiment=mine", *TINY, "hydra.run.dir=elsewhere/mine", "data.target_tokenizer=${data.tokenizer}"
    program("--config-dir", "own", *keys, cwd=here, check=0)
    run = here / "elsewhere/mine"
    assert json.loads((run / "metrics.json").read_text())["finished"]
    assert "seed: 7" in (run / "config.yaml").read_text()
    assert (run / ".hydra/overrides.yaml").is_file()
    assert list(run.glob("events*"))


def test_help_shows_groups_keys_and_examples(here, program):
    done = program("--help", cwd=here, check=0)
    for expected in ("data=parallel", "attention:", "lr:", "--config-dir"):
        assert expected in done.text


SWEEP = [*(each for each in TINY if "debug" not in each), "trainer.max_epochs=1", "model.encoder.hidden_size=8",
         "model.decoder.hidden_size=16"]  # fmt: skip


@pytest.mark.long
def test_a_sweep_runs_each_job_in_the_folder_of_the_run_alone(here, program):
    program("-m", "hydra/launcher=basic", *SWEEP, "seed=1,2", cwd=here, check=0)
    assert len(list((here / "runs/baseline").glob("*/metrics.json"))) == 2
    assert "is finished" in program(*SWEEP, "seed=2", cwd=here, check=0).text
    assert len([*(here / "runs/baseline").glob("settings/*/*.settings")]) == 1  # curves of the two seeds


@pytest.mark.long
def test_a_sweep_goes_on_whatever_becomes_of_a_job(here, program):
    done = program("-m", *SWEEP, "data.max_length=1,30", cwd=here, timeout=300)
    assert done.status not in (0, None)
    assert "data.max_length" in done.text
    assert "done" in done.text
    assert len(list((here / "runs/baseline").glob("*/metrics.json"))) == 1
    assert "is finished" in program(*SWEEP, "data.max_length=30", cwd=here, check=0).text


def test_a_checkpoint_continues_by_its_path_and_the_run_then_from_its_own(here, program, tiny_run):
    run = [*TINY, "name=begun", f"ckpt_path={tiny_run}/checkpoints/last.ckpt"]
    limit = "trainer.max_steps=1000"  # Lightning restores the progress otherwise with a limit
    program(*run, "trainer.max_epochs=3", limit, cwd=here, check=0)
    before, after = json.loads((tiny_run / "metrics.json").read_text()), finished(here, "begun")
    assert (after["epochs"], after["steps"] * before["epochs"]) == (3, before["steps"] * 3)
    done = program(*run, "trainer.max_epochs=4", limit, cwd=here, check=0)
    assert re.search(
        rf"^continues .*step {after['steps']}, .*epoch 3\b.*last\.ckpt$", done.text, re.MULTILINE
    )
    assert "epoch   4/" in done.text
    assert "epoch   3/" not in done.text
    assert hparams_of(here / "runs/baseline/begun")["trainer.max_epochs"].number_value == 4


def test_early_stopping_goes_on_from_the_best_checkpoint_of_another_run(here, program):
    stopping = [*TINY, "callbacks=early_stopping", "callbacks.early_stopping.patience=9"]
    program(*stopping, "name=stopping", "trainer.max_epochs=2", cwd=here, check=0)
    (best,) = here.rglob("stopping/checkpoints/best.ckpt")
    program(*stopping, "name=on", f"ckpt_path={best}", "trainer.max_epochs=4", cwd=here, check=0)
    assert finished(here, "on")["epochs"] == 4


@pytest.mark.long
def test_values_chosen_by_the_size_of_the_corpus_are_kept_when_a_run_continues(here, program):
    run = ["recipe=standard", *TINY, "tokenizer=words", "data.batch_size=null", "name=sized"]
    first, second = (
        program(*run, f"trainer.max_epochs={epochs}", cwd=here, check=0).text for epochs in (2, 6)
    )
    assert finished(here, "sized")["epochs"] == 6
    chosen = re.search("automatic.*batch_size=16.*dropout=0.1 .*", first)[0]
    assert chosen in second
    given = [*run[:-1], "name=given", "model.encoder.dropout=0.45"]
    program(*given, "trainer.max_epochs=2", cwd=here, check=0)
    other = program(*run[:-1], "name=given", "trainer.max_epochs=3", cwd=here, check=2)
    assert "model.encoder.dropout=0.45 (now None)" in other.text
    program(*given, "trainer.max_epochs=3", cwd=here, check=0)
    longer = program(*run[:-1], "name=long", "trainer.max_epochs=45", cwd=here, check=0).text
    assert "automatic" in longer
    assert chosen not in longer
    validated = ["val loss" in line for line in longer.splitlines() if line.startswith("epoch")]
    assert validated == [False, True] * 22 + [False]  # every second epoch, as 45 epochs choose
    assert re.search(r"^kept +step (\d+) of \1\b", longer, re.MULTILINE)  # the last average is exported


@pytest.mark.long
def test_steps_after_the_last_validation_are_told_where_the_best_model_is_kept(here, program):
    run = [*TINY, "name=unjudged", "trainer.check_val_every_n_epoch=2"]
    told = [program(*run, f"trainer.max_epochs={epochs}", cwd=here, check=0).text for epochs in (1, 3, 4)]
    assert ["none was compared by val/loss" in each for each in told] == [True, False, False]
    assert [re.search(r"^kept .* step (\d+)\b", each, re.MULTILINE)[1] for each in told] == ["4", "8", "16"]


def test_a_run_is_repeated_from_its_configuration(here, program, tiny_run):
    source = ["--config-path", tiny_run, "--config-name", "config", f"paths.runs_dir={here}/runs"]
    program(*source, "name=again", cwd=here, check=0)
    one, two = (torch.load(run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
                for run in (tiny_run, here / "runs/baseline/again"))  # fmt: skip
    assert all(torch.equal(one[name], two[name]) for name in one)
    configs = [OmegaConf.load(run / "config.yaml") for run in (tiny_run, here / "runs/baseline/again")]
    for config in configs:
        config.name = config.paths.runs_dir = None
    assert configs[0] == configs[1]


def test_the_log_has_versions_machine_and_warnings(here, program, tiny_run):
    log = (tiny_run / "train.log").read_text()
    for expected in ("torch ", "Python ", "commit ", "optimizer ", "training"):
        assert expected in log
    (here / "warn.py").write_text(
        "import warnings\nfrom lightning.pytorch.callbacks import Callback\n"
        "class Warn(Callback):\n    def on_fit_start(self, *_):\n"
        "        warnings.simplefilter('always')\n        warnings.warn('HEED', stacklevel=1)\n"
    )
    options = ["+callbacks.warn._target_=warn.Warn", "hydra.verbose=true", "trainer.max_epochs=1"]
    done = program(*TINY, *options, cwd=here, check=0)
    log = (here / "runs/baseline/debug_fast/train.log").read_text()
    assert "HEED" in log
    assert "[DEBUG]" in log
    assert "DEBUG: " in done.text


def test_values_that_lightning_takes_train(tmp_path, monkeypatch):
    import seq2seq

    (tmp_path / "plain_logger.py").write_text(PLAIN_LOGGER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    steps = ["trainer.max_epochs=null", "trainer.max_steps=2", "trainer.max_time={minutes:9}"]
    given = [*TINY, *steps, "name=a", "trainer.precision=64-true", "trainer.log_every_n_steps=0",
             "+logger.mine._target_=plain_logger.Plain"]  # fmt: skip
    first = seq2seq.train(*given)
    assert first.metrics["steps"] == 2
    elsewhere = [
        "callbacks.periodic.every_n_train_steps=9",
        "data.num_workers=1",
    ]  # the same run all the same
    assert seq2seq.train(*given, *elsewhere).metrics == first.metrics
    others = [each for each in TINY if not each.startswith("callbacks.")]
    bare = seq2seq.train(*others, "name=b", "~logger", "~callbacks", "~model.encoder.embedding_dropout",
                         "trainer.limit_val_batches=0", "trainer.num_sanity_val_steps=0")  # fmt: skip
    assert bare.metrics["finished"]


PLAIN_LOGGER = """
from lightning.pytorch.loggers.logger import Logger

class Plain(Logger):
    name, version = "plain", 0

    def log_hyperparams(self, params, *args, **options):
        pass

    def log_metrics(self, metrics, step=None):
        pass
"""


@pytest.mark.long
def test_a_schedule_of_torch_is_extended_and_the_run_may_be_moved(tmp_path, monkeypatch):
    import seq2seq

    monkeypatch.chdir(tmp_path)
    tiny = [each for each in TINY if not each.startswith("scheduler")]
    run = [
        *tiny,
        "scheduler._target_=torch.optim.lr_scheduler.OneCycleLR",
        "+scheduler.max_lr=0.01",
        "name=run",
    ]
    assert seq2seq.train(*run, "trainer.max_epochs=1").metrics["epochs"] == 1
    (tmp_path / "runs/baseline").rename(tmp_path / "runs/other")
    longer = seq2seq.train(*run, "trainer.max_epochs=2", "experiment_name=other").metrics
    assert (longer["epochs"], longer["steps"]) == (2, 8)


def test_training_inside_another_hydra_application_and_thread_leaves_no_state(tmp_path, monkeypatch):
    import seq2seq

    monkeypatch.chdir(tmp_path)

    def state():
        return (torch.get_rng_state().tolist(), torch.get_num_threads(), dict(os.environ), [*warnings.filters],
                logging.getLogger("lightning.pytorch.utilities.rank_zero").level, GlobalHydra.instance().is_initialized(),
                HydraConfig.initialized(), compose("config", ["x=5"]))  # fmt: skip

    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("x: 3\n")
    found = []
    with initialize_config_dir(str(tmp_path / "conf"), **HYDRA_BASE):
        before = state()
        thread = threading.Thread(
            target=lambda: found.append(seq2seq.train(*TINY, "trainer.max_epochs=1", "seed=7"))
        )
        thread.start()
        thread.join()
        assert state() == before
    assert found[0].metrics["finished"]
    assert "torch " in (found[0].folder / "train.log").read_text()


def test_importing_sets_no_environment_variable():
    code = "import os; before = dict(os.environ); import seq2seq; assert dict(os.environ) == before"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}
    )


def test_load_from_checkpoint_rebuilds_the_module(tiny_run):
    from seq2seq.training import TranslationModule

    module = TranslationModule.load_from_checkpoint(tiny_run / "checkpoints" / "best.ckpt", weights_only=True)
    state = torch.load(tiny_run / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, state[name])


def test_a_part_that_fails_is_named_with_its_own_frames(here, program):
    done = program(*TINY, "model.encoder._target_=mine.Broken", cwd=here)
    assert done.status == 1
    assert "Broken.forward failed" in done.text or "Convolution.forward failed" in done.text
    assert "mine.py" in done.text
    assert done.text.count("Traceback") == 1
    assert len(done.text) < 3000


@pytest.mark.long
def test_two_processes_train_together(here):
    (here / "ending.py").write_text(ENDING)
    tiny = [*TINY, "device=ddp", "trainer.accelerator=cpu", "+callbacks.ending._target_=ending.Ending"]
    command = [sys.executable, str(ROOT / "train.py"), *tiny]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert finished(here)
    for rank in (0, 1):  # those of torch.distributed would need a Python that is no more
        assert "gloo" not in (here / f"threads{rank}").read_text()
    runner = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(ROOT / "train.py")]
    done = subprocess.run([*runner, *tiny, "name=run2"], cwd=here, capture_output=True, text=True, timeout=300,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert finished(here, "run2")["test"] == finished(here)["test"]


@pytest.mark.long
def test_a_sweep_of_jobs_of_two_processes(here):
    tiny = [*TINY, "device=ddp", "trainer.accelerator=cpu", "name=run-${seed}"]
    command = [sys.executable, str(ROOT / "train.py"), "-m", *tiny, "seed=1,2"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert finished(here, "run-1")
    assert finished(here, "run-2")
    assert not (here / "runs" / "multirun").exists()


def hparams_of(run):
    """The overrides that TensorBoard's HParams tab shows of a run."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    content = EventAccumulator(str(run)).Reload().PluginTagToContent("hparams")
    return HParamsPluginData.FromString(content["_hparams_/session_start_info"]).session_start_info.hparams


@pytest.mark.parametrize(("name", "address"), [("lr=[1]*", "{}"), ("lr=[1]*", "file://{}"), ("a::b", "{}")])
def test_the_row_of_a_folder_of_logs_is_replaced_at_an_address_too(name, address, tmp_path):
    folder, other = tmp_path / name, tmp_path / "a"
    other.mkdir()
    (folder / "own.hparams").mkdir(parents=True)
    (folder / "mine.hparams").write_text("mine")
    (folder / "events.out.tfevents.1.mine.2.0.hparams").touch()
    write_hparams(str(other), {"trainer.max_epochs": 9}, {"test/bleu": 1.0})
    given = {"trainer.max_epochs": 0, "clip": float("inf")}
    for epochs in (1, 2):
        run = RUN.set(Written(tmp_path))
        claim(Path(address.format(folder), event_files()))
        write_hparams(address.format(folder), given | {"trainer.max_epochs": epochs}, {"test/bleu": 1.0})
        RUN.reset(run)
        assert hparams_of(folder)["trainer.max_epochs"].number_value == epochs
        assert hparams_of(folder)["clip"].string_value == "inf"
    assert len(list(folder.iterdir())) == 4
    assert hparams_of(other)["trainer.max_epochs"].number_value == 9


def test_overrides_and_scores_are_a_row_of_the_hparams_tab(tiny_run):
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    events = EventAccumulator(str(tiny_run)).Reload()
    content = events.PluginTagToContent("hparams")
    start = hparams_of(tiny_run)
    assert start["seed"].number_value == OmegaConf.load(tiny_run / "config.yaml").seed
    assert start["data.max_examples"].number_value == 32
    tags = sorted(events.Tags()["scalars"])
    assert [tag for tag in tags if tag.startswith("test/")] == ["test/bleu", "test/chrf"]
    names = HParamsPluginData.FromString(content["_hparams_/experiment"]).experiment.metric_infos
    assert "test/bleu" in {each.name.tag for each in names}


@pytest.mark.long
def test_hparams_have_no_column_of_what_all_jobs_of_a_sweep_share(here, program):
    score = "model.decoder.attention.score"
    scores = f"{score}._target_=seq2seq.attention.AdditiveScore,seq2seq.attention.DotScore"
    program("-m", *SWEEP, scores, cwd=here, check=0, timeout=500)
    rows = [dict(hparams_of(path.parent)) for path in sorted((here / "runs/baseline").glob("*/metrics.json"))]
    assert [sorted(row) for row in rows] == [[score, "seed"]] * 2
    assert [row[score].string_value for row in rows] == ["AdditiveScore", "DotScore"]


def test_loss_and_bleu_are_the_first_curves_of_their_groups_in_tensorboard(tiny_run):
    tags = EventAccumulator(str(tiny_run), size_guidance={"images": 0}).Reload().Tags()
    first = {tag.partition("/")[0]: tag for tag in sorted(tags["scalars"] + tags["images"], reverse=True)}
    assert [*first][::-1][:3] == ["test", "train", "val"]  # pictures come later
    assert [*first.values()][::-1][:3] == ["test/bleu", "train/loss", "val/bleu"]


@pytest.mark.parametrize(
    ("precision", "processor", "warned"),
    [
        ("bf16-mixed", {"architecture": "x86_64", "avx512_bf16": False}, True),
        ("bf16-mixed", {"architecture": "x86_64", "avx512_bf16": True}, False),
        ("bf16-mixed", {"architecture": "aarch64"}, False),
        ("32-true", {"architecture": "x86_64", "avx512_bf16": False}, False),
    ],
)
def test_bfloat16_in_software_is_warned_of(precision, processor, warned, monkeypatch, capsys):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    warn_of_slow_precision(
        pl.Trainer(precision=precision, accelerator="cpu", logger=False, enable_checkpointing=False)
    )
    assert ("trainer.precision=32-true" in capsys.readouterr().err) is warned


@pytest.mark.long
def test_a_model_of_both_directions_translates_back_and_a_new_one_learns_the_case_of_its_own_target(
    here, program
):
    lines = {"en": "now I see a man", "de": "nun sehe ich den Mann"}
    keys = ["data=parallel", "recipe=small", "tokenizer=bpe", "data.joint_vocabulary=true", "scheduler.warmup_steps=2",
            "data.tokenizer={case: restore, vocab_size: 300}",
            "trainer.max_epochs=16", "trainer.check_val_every_n_epoch=16", "optimizer.lr=0.02", "threads=1",
            "experiment_name=back", "model.tie_embeddings=none", "decoding.beam_size=1"]  # fmt: skip

    def train(source, target, *overrides):
        names = [f"data.{split}_language={code}" for split, code in (("source", source), ("target", target))]
        files = [
            f"data.{split}.{side}=text.{code}"
            for split in ("train", "validation")
            for side, code in (("source", source), ("target", target))
        ]
        program(*keys, *names, *files, *overrides, cwd=here, check=0)

    def translated(run, *options):
        return program(f"runs/back/{run}", *options, command="translate", cwd=here)

    for code, line in lines.items():
        (here / f"text.{code}").write_text(f"{line}\n" * 64)
    train("en", "de", "name=both", "data.both_directions=true")
    assert translated("both", lines["en"]).text.splitlines()[0] == lines["de"]
    assert translated("both", lines["de"], "--to", "en").text.splitlines()[0] == lines["en"]
    train("de", "en", "name=one", "init_from=runs/back/both")
    assert translated("one", lines["de"]).text.splitlines()[0] == lines["en"]
    refused = translated("one", lines["en"], "--to", "de")
    assert refused.status == 2
    assert "into en only" in refused.text
    train("de", "en", "name=again", "init_from=runs/back/one", "data.both_directions=true")
    assert translated("again", lines["en"], "--to", "de").text.splitlines()[0] == lines["de"]
