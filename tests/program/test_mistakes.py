"""Mistakes of users: each is one line, status 2, that names the key or file and what to do."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

import seq2seq
from seq2seq import InputError
from seq2seq.cli.main import main
from tests.conftest import TINY
from tests.small import train

PARALLEL = ["data=parallel", "data.split.validation=0.2", "tokenizer=words", "data.source_language=en",
            "data.target_language=fr", "data.train.source=a.en", "data.train.target=a.fr"]  # fmt: skip

TRAIN = {
    "wrong key": (["optimizer.learningrate=1"], r"optimizer\.learningrate.*optimizer\.lr"),
    "key of another choice": (["scheduler=plateau", "scheduler.warmup_steps=5"], r"scheduler\.warmup_steps(?!.*did you mean)"),
    "short section": (["optim.lr=0.1"], r"optim\.lr.*optimizer\.lr"),
    "wrong group": (["atention=dot"], r"atention.*attention"),
    "wrong choice": (["attention=aditive"], r"attention=aditive.*additive\?"),
    "wrong encoder": (["encoder=conv"], r"encoder=conv.*gru"),
    "wrong type": (["trainer.max_epochs=three"], r"trainer\.max_epochs=three.*number"),
    "metric without a split": (["metric=bleu"], r"metric=bleu.*val/bleu"),
    "metric of a split that is not there": (["data=tasks", "data.train_pairs=80", "data.validation_pairs=10",
                                              "data.test_pairs=0", "metric=test/bleu"], r"metric=test/bleu"),
    "unknown argument": (["+trainer.max_epoch=3"], r"trainer\.max_epoch.*trainer\.max_epochs"),
    "unknown argument of a part": (["+model.encoder.sise=3"], r"model\.encoder\.sise"),
    "unknown target": (["model.encoder._target_=nowhere.Encoder"], r"model\.encoder\._target_=nowhere"),
    "spaces": (["attention", "=", "dot"], r"'attention'.*key=value"),
    "several values": (["attention=additive,dot"], r"attention=additive,dot.*-m"),
    "records at no step": (["callbacks.attention.every_n_steps=0"], r"every_n_steps=0: expected a whole number from 1"),
    "a folder that follows from others": (["paths.run_dir=elsewhere"], r"paths\.run_dir .*paths\.runs_dir=.*hydra\.run\.dir="),
    "scores without names": (["module.metrics=seq2seq"], r"module\.metrics=seq2seq"),
    "numbers for choices": (["callbacks=[-1,nan]"], r"callbacks=\[-1,nan\]: expected names"),
    "stopping without scores": (
        ["callbacks=early_stopping", "trainer.limit_val_batches=0"], r"callbacks.early_stopping: there is no val/loss"
    ),
    "no gpu": (["device=gpu"], r"device=gpu.*device=cpu"),
    "no such metric": (["metric=val/blue"], r"metric=val/blue.*val/bleu"),
    "checkpoint": (["ckpt_path=nowhere.ckpt"], r"nowhere\.ckpt"),
    "no such start": (["init_from=nowhere"], r"nowhere"),
    "missing value": (["data=tsv"], r"data\.(file|source_language)"),
    "missing file before its languages": (["data=tsv", "data.file=no.tsv"], r"no\.tsv.*no such file"),
    "missing file of two before their languages": (["data=parallel", "data.train.source=a.en", "data.train.target=no.fr"], r"no\.fr.*no such file"),
    "languages": (["data=tsv", "data.file=pairs.json"], r"data\.source_language=CODE"),
    "missing file": ([*PARALLEL, "data.train.source=no.en"], r"no\.en"),
    "folder for a file": ([*PARALLEL, "data.train.source=folder"], r"folder"),
    "unequal": ([*PARALLEL, "data.train.target=short.fr"], r"short\.fr.*(30|29)"),
    "latin-1": ([*PARALLEL, "data.train.source=latin.en"], r"latin\.en.*UTF-8"),
    "utf-16": ([*PARALLEL, "data.train.source=utf16.en"], r"utf16\.en.*UTF-8"),
    "empty": ([*PARALLEL, "data.train.source=void.en", "data.train.target=void.en"], r"void\.en"),
    "one pair": ([*PARALLEL, "data.train.source=one.en", "data.train.target=one.fr"], r"data\.split\.validation"),
    "two columns": ([*PARALLEL, "data.train.source=two.tsv", "data.train.target=a.fr"], r"two\.tsv.*tab"),
    "no tab": (["data=tsv", "data.file=a.en", "data.source_language=en", "data.target_language=fr"], r"a\.en.*tab"),
    "two targets": ([*PARALLEL, "data.train.target=[a.fr,b.fr]"], r"data\.train\.target"),
    "missing corpus": (["data=tatoeba", "data.file=no/fra.txt"], r"no/fra\.txt"),
    "missing corpus of two files": (["data=multi30k", "data.root=no", "data.download=false"], r"no\b"),
    "missing vectors": (["+model.source_vectors=glove.txt"], r"glove\.txt"),
    "too long sentences": (["data.max_length=1"], r"max_length"),
    "heads": (["attention=multihead", "model.decoder.attention.heads=100000"], r"heads"),
    "normalizer": (["model.decoder.attention.normalizer=hardmax"], r"hardmax.*softmax"),
    "initial state": (["model.decoder.initial_state=copy", "model.decoder.hidden_size=7"], r"initial_state|copy"),
    "tying": (["model.tie_embeddings=both"], r"tie_embeddings=both"),
    "tying sizes": (["model.decoder.readout_size=5"], r"readout_size"),
    "joint": (["model.tie_embeddings=all"], r"joint_vocabulary"),
    "monitor": (["callbacks.checkpoint.monitor=val/blue"], r"val/blue.*val/bleu\?"),
    "monitor with mode": (["callbacks.checkpoint.monitor=val/blue", "callbacks.checkpoint.mode=max"],
                          r"val/blue.*val/bleu"),
    "monitor to stop by": (["callbacks=early_stopping", "callbacks.early_stopping.monitor=val/blue",
                            "callbacks.early_stopping.mode=max"], r"val/blue.*val/bleu"),
    "monitor with another sign": (["callbacks=early_stopping", "callbacks.early_stopping.monitor=val_bleu"], r"did you mean val/bleu\?"),
    "direction": (["callbacks.checkpoint.monitor=val/bleu", "callbacks.checkpoint.mode=min"],
                  r"callbacks\.checkpoint\.mode=min"),
    "direction of a search": (["-m", "hydra/sweeper=optuna", "metric=val/ter", "hydra.sweeper.direction=maximize"],
                              r"hydra\.sweeper\.direction=maximize"),
    "no class": (["callbacks=early_stopping", "callbacks.early_stopping=true"], r"callbacks.early_stopping: there is no class"),
    "no class of another callback": (["+callbacks.mine=0.5"], r"callbacks.mine: there is no class"),
    "a score that is none": (["+module.metrics.mine=3"], r"module\.metrics=.*_target_"),
    "null for attention": (["model.decoder.attention=null"], r"model\.decoder\.attention=null"),
    "null for a score": (["model.decoder.attention.score=null"], r"model\.decoder\.attention\.score=null"),
    "null for a tokenizer": (["data.tokenizer=null"], r"data\.tokenizer=null"),
    "no batch": (["trainer.limit_train_batches=0"], r"trainer\.limit_train_batches=0"),
    "batches to overfit": (["+trainer.overfit_batches=2"], r"debug=overfit"),
    "no epoch": (["trainer.max_epochs=0"], r"trainer\.max_epochs=0"),
    "no steps": (["trainer.max_steps=0"], r"trainer\.max_steps=0"),
    "config name": (["--config-name", "baseline"], r"--config-name baseline.*experiment=baseline"),
    "folder is a file": (["paths.runs_dir=a.en"], r"^paths\.runs_dir=a\.en: give the folder of all runs"),
    "null among several": (["-m", "trainer.gradient_clip_val=choice(null,1)"], r"NoneType.*; with -m, write trainer\.gradient_clip_val=null,1$"),
    "short group": (["optim=adam"], r"optim\b.*optimizer"),
    "part of a key": (["decoding.beam=1"], r"decoding\.beam.*decoding\.beam_size"),
    "no such attention": (["attention=cosine"], r"attention=cosine.*additive.*score\._target_"),
    "no such model": (["model=transformer"], r"model=transformer.*encoder=transformer\?.*gru, lstm"),
    "attention of a decoder without": (["decoder=context", "attention=dot"], r"attention=dot: .*decoder=context: leave out"),
    "attention for a decoder without": (["attention=monotonic", "decoder=plain"], r"attention=monotonic: .*decoder=plain"),
    "average that is deleted": (["averaging=ema", "~callbacks.averaging"], r"averaging=ema: .*leave out"),
    "no folder of a configuration": (["--config-path", "runs/nope", "--config-name", "config"], r"--config-path .*runs/nope: there is no such folder"),
    "no file in a folder": (["--config-path", "/", "--config-name", "nope"], r"--config-name nope: .* in /;"),
    "text of both sides": (["data=parallel", "data.source=a.en"], r"data\.train\.source\?"),
    "long name": ([f"name={'x' * 300}"], r"at most 255 bytes"),
    "empty range": (["-m", "seed=range(1,1)"], r"there is no job"),
    "two options": (["-m", "--cfg", "job", "attention=dot", "seed=1,2"], r"--multirun, --cfg, --info"),
    "option that is the default": (["--resume"], r"the same command"),
    "key that is the default": (["resume=true"], r"resume: .*the same command"),
    "key of a choice that is not there": (["callbacks.early_stopping.patience=3"], r"callbacks=early_stopping"),
    "key that a choice does not list": (["callbacks=early_stopping", "callbacks.early_stopping.min_delta=0.05"],
                                        r"(?!.*is given)callbacks\.early_stopping\.min_delta: .*write \+callbacks\.early_stopping\.min_delta=…"),
    "misspelled key of a choice": (["callbacks=early_stopping", "callbacks.early_stopping.patiance=5"], r"callbacks\.early_stopping\.patience\?"),
    "keys of another corpus": (["data.train.source=a", "data.train.target=b"], r"belongs to data=parallel$"),
    "key of several other corpora": (["data.validation_pairs=9"], r"since 0\.5 it is data\.split\.validation"),
    "key of another encoder": (["model.encoder.heads=2"], r"belongs to encoder=transformer$"),
    "file of pairs without its choice": ([f"data.file={Path(__file__).parents[2] / 'data/samples/pairs.tsv'}"], r"line 1: .*data=tsv"),
    "no choice in a sweep": (["-m", "debug=null,fast"], r"debug=null,fast: choose one of fast"),
    "no choice of a printed configuration": (["--cfg", "job", "attention=null"], r"attention=null: choose one of additive"),
    "a job twice": (["-m", "seed=1,1"], r"seed=1 .*given twice"),
    "key within a value": (["data.train.foo=1"], r"(?!.*train_pairs\.foo).*no such key"),
    "key that no choice has": (["data.tsv.file=a"], r"data\.tsv\.file: no such key"),
    "key of a logger that is not there": (["logger.csv.name=a"], r"logger=csv"),
    "time": (["trainer.max_time=1h"], r"trainer\.max_time=1h.*00:01:30:00"),
    "no such experiment": (["experiment=multi30k_en_it"], r"multi30k_en_it.*multi30k_en_"),
    "a rate in words": (["optimizer.lr=fast"], r"optimizer\.lr=fast.*number"),
    "precision": (["trainer.precision=8"], r"trainer\.precision=8.*bf16-mixed"),
    "several languages": ([*PARALLEL, "data.target_language=[fr,de]"], r"data\.target_language.*text"),
    "json": (["data=tsv", "data.file=pairs.json", "data.source_language=en", "data.target_language=fr"], r"pairs\.json.*data\.source_column"),
    "csv": (["data=tsv", "data.file=pairs.csv", "data.source_language=en", "data.target_language=fr"], r"pairs\.csv.*data\.source_column"),
    "text named gz": ([*PARALLEL, "data.train.source=plain.en.gz", "data.train.target=short.fr"], r"plain\.en\.gz.*30"),
    "null": (["logger=null"], r"logger=null.*none"),
    "misspelled class": (["model.encoder._target_=seq2seq.models.GRUEncodr"], r"seq2seq\.models\.GRUEncoder\?"),
    "argument that is not listed": (["trainer.detect_anomaly=true"], r"write \+trainer\.detect_anomaly"),
    "strategy": (["trainer.strategy=nope"], r"trainer: .*nope"),
    "too large": (["model.encoder.hidden_size=10000000"], r"memory.*data\.batch_size"),
    "wrong shape of a score": (["model.decoder.attention.score._target_=mine.Wrong", "~model.decoder.attention.score.hidden_size"],
                               r"Wrong.*\(batch, queries, keys\)"),
    "broken import": (["model.decoder.attention.score._target_=lacking.Score"], r"lacking\.Score.*nowhere_at_all"),
    "no such file of weights": (["--config-dir", "nowhere"], r"nowhere"),
    "attention of another toolkit": (["attention=bahdanau"], r"additive\?"),
    "no attention": (["attention=none"], r"did you mean decoder=context\? "),
    "general attention": (["attention=luong"], r"bilinear\?"),
    "device of another toolkit": (["device=cuda"], r"gpu\?"),
    "key of another toolkit": (["epochs=5"], r"trainer\.max_epochs\?"),
    "a number for a function": (["module.objective=1"], r"module\.objective=1: expected a node"),
    "numbers for texts": (["callbacks.attention.texts=[1]"], r"callbacks\.attention\.texts.*a list"),
    "a text for a list": (["callbacks.attention.texts=abc"], r"callbacks\.attention\.texts=abc: expected a list"),
    "sweep between keys": (["seed=1", "-m", "attention=additiv"], r"attention=additiv: .*additive\?"),
    "option between keys": (["seed=1", "--config-dir", ".", "attention=dot"], r"options.*before"),
    "option of another toolkit": (["--epochs", "5"], r"--epochs.*trainer\.max_epochs=5\?"),
    "option with a value": (["--learning-rate=0.1"], r"optimizer\.lr=0\.1\?"),
    "key of the launcher": (["-m", "hydra.launcher.num_jobs=2", "seed=1,2"], r"hydra\.launcher\.num_jobs.*hydra\.launcher\.n_jobs\?"),
    "key of Hydra": (["hydra.run.folder=here"], r"hydra\.run\.folder.*hydra\.run\.dir"),
    "node of Hydra": (["-m", "hydra.sweper.n_trials=2", "seed=1,2"], r"hydra\.sweper.*hydra\.sweeper\.n_trials\?"),
    "choice of Hydra": (["-m", "hydra/launcher=subproces", "seed=1,2"], r"hydra/launcher=subproces: .*subprocess\?"),
    "group of Hydra": (["-m", "hydra/lancher=basic", "seed=1,2"], r"hydra/lancher.*hydra/launcher\?"),
    "option of the launcher": (["--n-jobs", "2"], r"hydra\.launcher\.n_jobs=2\?"),
    "text as a corpus": (["data=my/pairs.tsv"], r"data=my/pairs\.tsv.*data=tsv data\.file=FILE"),
    "guided without alignments": ([*PARALLEL, "module.guided_alignment_weight=1"], r"alignments"),
}  # fmt: skip


WRONG_SCORE = """
import torch


class Wrong(torch.nn.Module):
    def __init__(self, query_size, key_size):
        super().__init__()

    def forward(self, queries, keys, projected_keys=None):
        return queries
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    lines = [f"the {n} cats sleep ." for n in range(30)]
    (folder / "unfinished").mkdir()
    (folder / "unfinished/config.yaml").write_text("seed: 1")
    for name in ("a.en", "a.fr", "b.fr"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    (folder / "short.fr").write_text("".join(f"{line}\n" for line in lines[:-1]))
    (folder / "latin.en").write_bytes("".join(f"caf\u00e9 {line}\n" for line in lines).encode("latin-1"))
    (folder / "utf16.en").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-16"))
    (folder / "two.tsv").write_text("".join(f"{line}\tles {line}\n" for line in lines))
    (folder / "plain.en.gz").write_text("".join(f"{line}\n" for line in lines))
    (folder / "pairs.json").write_text('{"q": "the cat", "a": "le chat"}\n' * 30)
    (folder / "pairs.csv").write_text("".join(f"{line},les {line}\n" for line in lines))
    (folder / "french.txt").write_text("".join(f"les {line} dorment\n" for line in "abcdefghij"))
    (folder / "ten.txt").write_text("the cats sleep .\n" * 10)
    (folder / "mark.en").write_bytes(b"\xef\xbb\xbfI see it.\n")
    (folder / "without.en").write_bytes(b"I see it.\n")
    (folder / "mine.py").write_text(WRONG_SCORE)
    (folder / "lacking.py").write_text("import nowhere_at_all\n")
    (folder / "void.en").write_text("")
    (folder / "one.en").write_text("one line .\n")
    (folder / "one.fr").write_text("une ligne .\n")
    (folder / "folder").mkdir()
    return folder


def assert_is_one_line(done, expected):
    said = done.text.strip()
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert done.status == 2, said
    assert len(errors) == 1, said
    assert said.endswith(errors[0]), said
    assert re.search(expected, errors[0]), errors[0]
    assert len(errors[0]) < 500, errors[0]
    assert "Traceback" not in said


SHORT = ["debug=fast", "data.max_examples=32", "scheduler.warmup_steps=2", "threads=1"]

OF_PROGRAMS = [
    "wrong key", "spaces", "several values", "too large", "wrong shape of a score", "broken import", "key of Hydra",
    *(name for name, (overrides, _) in TRAIN.items() if any(each.startswith("-") for each in overrides)),
]  # fmt: skip
"""Mistakes of a command line, and those that need a process of their own."""


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_a_mistake_in_a_command_line_is_one_line(name, here, program):
    overrides, expected = TRAIN[name]
    tiny = [] if any(each.startswith("-") for each in overrides) else SHORT
    assert_is_one_line(program(*tiny, *overrides, f"name={name.replace(' ', '-')}", cwd=here), expected)


@pytest.mark.parametrize("name", [name for name in TRAIN if name not in OF_PROGRAMS])
def test_a_mistake_in_a_training_is_one_line(name, here, monkeypatch):
    overrides, expected = TRAIN[name]
    monkeypatch.chdir(here)
    with pytest.raises(InputError) as caught:
        train(*SHORT, *overrides)
    assert re.search(expected, str(caught.value)), caught.value
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_another_configuration_under_a_name_names_at_most_three_keys(here, program, tiny_run):
    folder = tiny_run.parents[2]
    done = program(*TINY, "decoder=context", "seed=3", cwd=folder)
    assert_is_one_line(done, r"model\.decoder.*name=.*overwrite=true")
    assert len(re.findall(r"\(now ", done.text)) <= 3


def test_a_finished_run_says_so_with_its_scores_and_is_overwritten(program, tiny_run, tmp_path):
    shutil.copytree(tiny_run.parents[1], tmp_path / "runs")
    same = *TINY, "seed=3"
    done = program(*same, "trainer.max_epochs=2", cwd=tmp_path, check=0)
    assert re.search(r"is finished; .*\bname=debug_fast trainer\.max_epochs=… goes on", done.text)
    assert "BLEU" in done.text
    suggested = next(line for line in done.text.splitlines() if line.startswith("translate "))
    same = *same, "scheduler.warmup_steps=99", "name=debug_fast"
    done = program(*same, "trainer.max_epochs=2", "overwrite=true", cwd=tmp_path, check=0)
    assert "is finished" not in done.text
    assert suggested in done.text.splitlines()
    again = program(*same, "trainer.max_epochs=2", cwd=tmp_path, check=0)
    told = [re.findall(r"^(?:WARNING|kept).*", each.text, re.MULTILINE) for each in (done, again)]
    assert sorted(told[0]) == sorted(told[1])
    assert "warmup_steps=99" in "".join(told[0])
    assert "A sentence." not in suggested


DIVERGED = {
    "without a validation": ["trainer.limit_val_batches=0", "callbacks.checkpoint.monitor=null"],
    "in lower precision": ["trainer.precision=bf16-mixed"],
}


@pytest.mark.parametrize("name", DIVERGED)
def test_a_training_that_diverges_in_its_last_step_names_its_rate(name, here, program):
    scheduled = [
        "scheduler=constant",
        "~scheduler.warmup_steps",
        "trainer.max_steps=1",
        "module.max_nonfinite_steps=9",
    ]
    tiny = [each for each in TINY if not each.startswith("scheduler")]
    rate = ["optimizer.lr=1e30", f"name=diverged {name}"]
    done = program(*tiny, *scheduled, *rate, *DIVERGED[name], cwd=here, check=1)
    (line,) = (each for each in done.text.splitlines() if each.startswith("error: "))
    assert "optimizer.lr" in line
    assert ("trainer.precision" in line) == (name == "in lower precision")


def test_overwrite_removes_what_a_run_wrote_and_nothing_else(program, tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    mine = [tmp_path / "run" / name for name in ("notes.txt", "model/net.py", "predictions/old.txt")]
    for path in mine:
        path.write_text("mine")
    greedy = [*TINY, "decoding.beam_size=1", "overwrite=true", f"hydra.run.dir={tmp_path / 'run'}"]
    program(*greedy, cwd=tmp_path, check=0)
    assert {path.read_text() for path in mine} == {"mine"}
    assert not (tmp_path / "run" / "predictions" / "test.beam.txt").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        ["data.max_length=1"],
        ["model.decoder.readout_size=9"],
        ["ckpt_path=RUN/checkpoints/best.ckpt"],
        ["callbacks.attention.indices=[99999]"],  # what only the training refuses
        ["model.encoder.hidden_size=8", "ckpt_path=RUN2/checkpoints/best.ckpt"],
    ],
)
def test_an_overwrite_that_is_refused_leaves_the_run_as_it_was(wrong, program, tiny_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    given = [each.replace("RUN2", str(tiny_run)).replace("RUN", str(run)) for each in wrong]
    program(*TINY, "overwrite=true", f"hydra.run.dir={run}", *given, cwd=tmp_path, check=2)
    after = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    changed = {
        str(path.relative_to(run)) for path in {*before, *after} if before.get(path) != after.get(path)
    }
    written = run / ".seq2seq"  # the list of what runs have written, which grows
    assert after[written].startswith(before[written])
    hydra = (f".hydra/{name}.yaml" for name in ("config", "hydra", "overrides"))
    assert changed <= {".seq2seq", "train.log", *hydra}


FAILS = """
import errno
from lightning.pytorch import Callback
ERRORS = {"disk": OSError(errno.ENOSPC, "No space left on device"), "fault": AttributeError("of my own"), "stop": KeyboardInterrupt()}
class Fails(Callback):
    def __init__(self, kind):
        self.kind = kind
    def on_fit_start(self, trainer, pl_module):
        raise ERRORS[self.kind]
"""


@pytest.mark.parametrize("kind", ["disk", "fault", "stop", "rate"])
def test_an_overwrite_that_ends_before_its_first_checkpoint_leaves_the_run_as_it_was(
    kind, program, tiny_run, tmp_path
):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    (tmp_path / "fails.py").write_text(FAILS)
    given = {"rate": ["optimizer.lr=1e38", "trainer.gradient_clip_val=null"]}.get(
        kind, ["+callbacks.own._target_=fails.Fails", f"+callbacks.own.kind={kind}"]
    )
    left = ["model/model.safetensors", "checkpoints/last.ckpt", "metrics.json", "config.yaml"]
    before = {name: (run / name).read_bytes() for name in left}
    assert program(*TINY, "overwrite=true", f"hydra.run.dir={run}", *given, cwd=tmp_path).status
    assert {name: (run / name).read_bytes() for name in left} == before
    assert len([*run.glob("events.out.tfevents.*")]) == len([*tiny_run.glob("events.out.tfevents.*")])
    assert not (run / ".replaced").exists()


def test_a_first_start_that_is_refused_leaves_its_name_free(program, tmp_path):
    run = [*TINY, "name=free"]
    program(*run, "model.encoder.hidden_size=8", "trainer.limit_train_batches=0", cwd=tmp_path, check=2)
    program(*run, cwd=tmp_path, check=0)


def test_an_overwrite_that_goes_on_from_another_run_leaves_the_old_tokenizers(program, tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    given = [*TINY, "data.max_examples=9"]  # other words
    program(*given, f"hydra.run.dir={tmp_path / 'other'}", cwd=tmp_path, check=0)
    on = ["overwrite=true", "trainer.max_epochs=3", f"ckpt_path={tmp_path}/other/checkpoints/last.ckpt"]
    program(*given, *on, f"hydra.run.dir={tmp_path / 'run'}", cwd=tmp_path, check=0)
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"] == 3


def test_a_file_of_the_users_that_is_no_checkpoint_is_not_to_be_removed(here, program, tmp_path):
    (tmp_path / "notes.md").write_text("mine")
    done = program(*TINY, f"ckpt_path={tmp_path / 'notes.md'}", cwd=here, check=2)
    (line,) = (each for each in done.text.splitlines() if each.startswith("error: "))
    assert "ckpt_path=" in line
    assert "remove" not in line


def test_an_option_that_hydra_does_not_have_is_named(here, program):
    done = program("--max_epochs", "3", cwd=here, check=2)
    assert re.search(r"--max_epochs.*trainer\.max_epochs=", done.text.splitlines()[-1])


COMMANDS = {
    "no such run": ("translate", ["runs/none"], r"runs/none"),
    "unfinished run": ("translate", ["unfinished"], r"unfinished.*not finished"),
    "blank target on a page": ("show", ["RUN", "A.", "--target", "", "--no-open"], r"--target.*blank"),
    "blank target in a picture": ("plot", ["RUN", "A.", "--target", ""], r"--target.*blank"),
    "misspelled name": ("translate", ["grammar-en-fn"], r"grammar-en-fr"),
    "no such file": ("translate", ["RUN", "--source", "no.en"], r"no\.en"),
    "a folder": ("translate", ["RUN", "--source", "folder"], r"folder"),
    "latin-1": ("translate", ["RUN", "--source", "latin.en"], r"latin\.en.*UTF-8"),
    "utf-16": ("translate", ["RUN", "--source", "utf16.en"], r"utf16\.en.*UTF-8"),
    "no beam": ("translate", ["RUN", "--beam-size", "0", "--source", "a.en"], r"--beam-size: 0"),
    "more than the beam": ("translate", ["RUN", "--n-best", "9", "--source", "a.en"], r"9.*(5|beam)"),
    "no gpu": ("translate", ["RUN", "--device", "cuda", "--source", "a.en"], r"device 'cuda'.*cpu"),
    "input is output": ("translate", ["RUN", "--source", "a.en", "-o", "a.en"], r"a\.en"),
    "a page in a picture": ("show", ["RUN", "A.", "-o", "s.png"], r"s\.png.*\.html"),
    "a page in its own picture": ("demo", ["RUN", "-o", "d.png"], r"d\.png.*\.html"),
    "an exported page in a picture": ("export", ["page", "RUN", "-o", "e.png"], r"e\.png.*\.html"),
    "exported attention in a picture": ("export", ["attention", "RUN", "-o", "e.pdf"], r"e\.pdf.*\.html"),
    "full disk": ("translate", ["RUN", "--source", "a.en", "-o", "/dev/full"], r"/dev/full|No space left"),
    "missing folder of output": ("translate", ["RUN", "--source", "a.en", "-o", "no/b.fr"], r"no/b\.fr"),
    "temperature": ("translate", ["RUN", "--sample", "--temperature", "0", "--source", "a.en"], r"temperature"),
    "temperature of no sample": ("translate", ["RUN", "A.", "--temperature", "3"], r"temperature.*--sample"),
    "few tokens of no sample": ("translate", ["RUN", "A.", "--top-k", "3"], r"top-k.*--sample"),
    "too wide a beam": ("translate", ["RUN", "A.", "--beam-size", "99999999999999999999"], r"beam_size=9+"),
    "the effect of what is recorded": ("plot", ["RUN", "--steps", "attention/0/forced", "--effect", "-o", "p.gif"], r"--effect"),
    "unquoted sentence": ("show", ["RUN", "the", "cats"], r"\bcats\b"),
    "part of an option": ("translate", ["RUN", "--alpha", "1"], r"--alpha.*--length-penalty-alpha"),
    "name of another toolkit": ("translate", ["RUN", "--src", "a.en"], r"--src.*--source\?"),
    "name of another command": ("translate", ["RUN", "--input", "a.en"], r"--input.*--source\?"),
    "a file as a sentence": ("translate", ["RUN", "a.en"], r"a\.en.*--source a\.en"),
    "a file to show": ("show", ["RUN", "a.en"], r"a\.en.*--source"),
    "a file to plot": ("plot", ["RUN", "a.en", "-o", "p.png"], r"a\.en.*--source"),
    "what has no name": ("plot", ["RUN", "--sentence", "A."], r"--sentence.*SENTENCE"),
    "a model by name": ("align", ["--model", "RUN"], r"--model.*MODEL"),
    "no such record": ("plot", ["RUN", "--steps", "nothing", "-o", "p.gif"], r"nothing.*attention/0/forced"),
    "no links": ("align", ["RUN", "--source", "a.en", "--target", "a.fr", "--gold", "a.en"], r"a\.en, line 1.*0-1"),
    "no such member": ("translate", ["RUN", "--ensemble", "folder", "--source", "a.en"], r"folder"),
    "unequal files": ("evaluate", ["RUN", "--source", "a.en", "--reference", "short.fr"], r"short\.fr"),
    "reference by another name": ("evaluate", ["RUN", "--source", "a.en", "--target", "a.fr"], r"--reference\?"),
    "card of a shipped model": ("export", ["model", "grammar-en-fr", "-o", "exported"], r"grammar-en-fr .*has its card already: copy"),
    "suffix": ("plot", ["RUN", "the cats sleep .", "-o", "picture.docx"], r"docx"),
    "no attention there": ("plot", ["folder", "the cats", "-o", "p.png"], r"folder"),
    "unequal alignments": ("align", ["RUN", "--source", "a.en", "--target", "short.fr"], r"short\.fr"),
    "results that are not there": ("judge", ["a.csv", "b.csv", "--metric", "loss", "--direction", "min"], r"a\.csv.*no such"),
    "a judgment without a direction": ("judge", ["a.csv", "b.csv", "--metric", "loss"], r"--direction"),
    "export": ("export", ["page", "folder", "-o", "p.html"], r"folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_in_a_command_is_one_line(name, here, tiny_run, monkeypatch, capfd):
    command, arguments, expected = COMMANDS[name]
    monkeypatch.chdir(here)
    with pytest.raises(SystemExit) as end:
        main([command, *(str(tiny_run) if each == "RUN" else each for each in arguments)])
    said = capfd.readouterr().err.strip()
    assert end.value.code == 2, said
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert re.search(expected, last), said
    assert len(last) < 450


def test_a_command_that_does_not_exist_is_told_the_nearest_one(here, program):
    done = program("trian", cwd=here, script="src/seq2seq/__main__.py", check=2)
    assert re.fullmatch(r"error: .*trian.*train\?.*\n", done.text)


def test_a_source_in_another_language_is_a_warning(here, program, tiny_run):
    files = ["--source", "french.txt", "--reference", "ten.txt"]
    done = program("evaluate", tiny_run, *files, cwd=here, script="src/seq2seq/__main__.py", check=0)
    assert re.search(r"WARNING: .*french\.txt.*ten\.txt", done.text)


def test_a_byte_order_mark_is_no_word(here, program, tiny_run):
    for name in ("mark", "without"):
        command = ["translate", tiny_run, "--source", f"{name}.en", "--output", f"{name}.fr"]
        program(*command, cwd=here, script="src/seq2seq/__main__.py", check=0)
    assert (here / "mark.fr").read_text() == (here / "without.fr").read_text()


def test_names_of_runs_may_have_spaces_and_slashes(here, program):
    program(*TINY, "name=my run/b", cwd=here, check=0)
    assert (here / "runs/baseline/my run/b/metrics.json").is_file()


PYTHON = {
    "attention=aditive": r"attention=aditive.*additive\?",
    "~optimizer": r"optimizer.*adam",
    "~model.decoder.attention": r"model\.decoder.*needs attention",
    "~nothing": "nothing",
    "+data.nothing=1": r"data\.nothing",
    "trainer.accelerator=gpu": r"trainer\.accelerator=gpu.*trainer\.accelerator=cpu",
    "trainer.max_time=soon": "soon",
    "trainer.precision=bf16-true": r"trainer\.precision=bf16-true.*bf16-mixed",
    "+callbacks.more._target_=lightning.pytorch.callbacks.WeightAveraging": "trainer: ",
    "+trainer.callbacks=5": r"trainer\.callbacks",
    "logger.tensorboard=5": r"logger\.tensorboard",
    "+callbacks.mine.word=x": r"callbacks\.mine.*_target_",
    "model.decoder=x": r"model\.decoder=x",
    "module=0.5": "module=0.5",
    "scheduler._partial_=[a,b]": r"scheduler\._partial_",
    "++model.encoder.output_dropout={}": r"model\.encoder\.output_dropout",
    "++trainer.accumulate_grad_batches={a:1}": r"trainer\.accumulate_grad_batches",
    "optimizer._target_=3": r"optimizer\._target_=3",
    "name=''": "name=",
    "name=..": r"name=\.\.",
    "experiment_name=a/../b": r"a/\.\./b",
    "name=\u00e9t\u00e9": "quotes",
    "ckpt_path=epoch=1-step=2.ckpt": r"'ckpt_path=\"epoch=1-step=2\.ckpt\"'",
    "logger=null": "logger=null",
    "model=3": "model=3",
    "+experiment=baseline": r"experiment=baseline",
    "attention=dot,additive": r"attention=dot,additive",
    "scheduler=plateau recipe=standard scheduler.warmup_steps=3": r"~scheduler\.warmup_steps",
    "name=1_0": r"name=1_0 is read as 10: .*name='1_0'",
    "experiment_name=1e3": r"experiment_name=1e3 is read as 1000\.0",
    "model.encoder.hidden_size=null": r"model\.encoder\.hidden_size=null: expected a whole number from 1 to 16,777,216, got null",
    "data.tokenizer._partial_=null": r"data\.tokenizer\._partial_=null",
    "callbacks.attention.indices=null": r"callbacks\.attention\.indices=null: expected a list",
    "+optimizer.betas=true": r"optimizer\.betas=True: expected a list of 2",
    "+optimizer.betas=[0.9]": r"optimizer\.betas=\[0\.9\]: expected a list of 2",
    "model.target_vectors=gone.vec": r"model\.target_vectors=gone\.vec: there is no such file",
    "+trainer.limit_test_batches=1": r"limit_test_batches=1: .*data\.max_examples",
    "averaging=none +callbacks.mine={_target_:lightning.pytorch.callbacks.EMAWeightAveraging,update_starting_at_step:5}": r"callbacks\.mine\.update_starting_at_step=5: ",
    "decoding.penalty.name=null": r"decoding\.penalty\.name=null: .*none",
    "decoding.length_penalty=null": r"length_penalty: since 0\.5 .*penalty=none",
    "paths.runs_dir=null": r"paths\.runs_dir=None: ",
    "paths.runs_dir=''": r"paths\.runs_dir=: ",
    "+optimizer.foreach=true": r"optimizer: .*fused.*foreach",
    "data=tsv": r"data\.file, data\.source_language, data\.target_language",
    "optimizer._target_=torch.optim.SGD optimizer.fused=true +optimizer.nodes=1 +optimizer.edges=2": r"nodes.*edges",
}


def test_keys_that_a_run_derives_may_be_null(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nulls = ("callbacks.checkpoint.mode", "model.encoder.dropout", "data.batch_size", "trainer.gradient_clip_val",
             "trainer.log_every_n_steps", "optimizer.fused", "threads", "decoding.max_ratio")  # fmt: skip
    seq2seq.train(
        *TINY,
        *(f"{key}=null" for key in nulls),
        "callbacks=early_stopping",
        "callbacks.early_stopping.mode=null",
    )


@pytest.mark.parametrize("overrides", PYTHON)
def test_a_mistake_from_python_is_an_input_error_of_one_line(overrides, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(seq2seq.InputError, match=PYTHON[overrides]) as caught:
        train("debug=fast", "data.max_examples=32", "scheduler.warmup_steps=2", *overrides.split())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 450


def test_folders_without_a_model_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(seq2seq.InputError, match=r"nope"):
        seq2seq.load("nope")
    with pytest.raises(seq2seq.InputError, match=re.escape(str(tmp_path))):
        seq2seq.load(tmp_path)


def test_a_checkpoint_of_another_model_is_one_line(tiny_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights = torch.load(tiny_run / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    torch.save({"state_dict": weights}, tmp_path / "weights.ckpt")
    for number, given in enumerate([
        ["model.encoder.hidden_size=24", f"ckpt_path='{tiny_run}/checkpoints/last.ckpt'"],
        ["ckpt_path=weights.ckpt"],
    ]):  # fmt: skip
        with pytest.raises((seq2seq.InputError, seq2seq.TrainingFailed), match=r"\.ckpt"):
            seq2seq.train(*TINY, *given, f"name=run{number}")
