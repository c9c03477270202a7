"""Mistakes of users: each is one line, status 2, that names the key or file and what to do."""

import re
import shutil

import pytest

from tests.conftest import TINY

PARALLEL = ["data=parallel", "data.validation.fraction=0.2", "tokenizer=words", "data.source_language=en",
            "data.target_language=fr", "data.train.source=a.en", "data.train.target=a.fr"]  # fmt: skip

TRAIN = {
    "wrong key": (["optimizer.learningrate=1"], r"optimizer\.learningrate.*optimizer\.lr"),
    "old key": (["optim.lr=0.1"], r"optim\.lr.*optimizer\.lr"),
    "wrong group": (["atention=dot"], r"atention.*did you mean attention"),
    "wrong choice": (["attention=aditive"], r"attention=aditive.*additive"),
    "wrong encoder": (["encoder=conv"], r"encoder=conv.*gru"),
    "wrong type": (["trainer.max_epochs=three"], r"trainer\.max_epochs=three"),
    "wrong type of our own": (["model.decoder.hidden_size=big"], r"model\.decoder\.hidden_size=big"),
    "unknown argument": (["+trainer.max_epoch=3"], r"trainer\.max_epoch.*trainer\.max_epochs"),
    "unknown argument of a part": (["+model.encoder.sise=3"], r"model\.encoder\.sise"),
    "unknown target": (["model.encoder._target_=nowhere.Encoder"], r"model\.encoder\._target_=nowhere"),
    "spaces": (["attention", "=", "dot"], r"attention|key=value"),
    "several values": (["attention=additive,dot"], r"(-m|--multirun)"),
    "probability": (["model.encoder.dropout=1.5"], r"dropout=1\.5.*0.*1"),
    "negative rate": (["optimizer.lr=-1"], r"lr|learning rate"),
    "negative epochs": (["trainer.max_epochs=-3"], r"max_epochs"),
    "negative size": (["model.embedding_size=-4"], r"embedding_size"),
    "batch of none": (["data.batch_size=0"], r"batch_size"),
    "seed": (["seed=-1"], r"seed=-1"),
    "no gpu": (["device=gpu"], r"(?i)gpu|cuda|accelerator"),
    "no such metric": (["metric=val/blue"], r"metric=val/blue"),
    "checkpoint": (["ckpt_path=nowhere.ckpt"], r"nowhere\.ckpt"),
    "no such start": (["init_from=nowhere"], r"nowhere"),
    "missing value": (["data=tsv"], r"data\.(file|source_language)"),
    "missing file": ([*PARALLEL, "data.train.source=no.en"], r"no\.en"),
    "folder for a file": ([*PARALLEL, "data.train.source=folder"], r"folder"),
    "unequal": ([*PARALLEL, "data.train.target=short.fr"], r"short\.fr.*(30|29)"),
    "latin-1": ([*PARALLEL, "data.train.source=latin.en"], r"latin\.en.*UTF-8"),
    "utf-16": ([*PARALLEL, "data.train.source=utf16.en"], r"utf16\.en.*UTF-8"),
    "empty": ([*PARALLEL, "data.train.source=void.en", "data.train.target=void.en"], r"void\.en"),
    "one pair": ([*PARALLEL, "data.train.source=one.en", "data.train.target=one.fr"], r"fraction"),
    "two columns": ([*PARALLEL, "data.train.source=two.tsv", "data.train.target=a.fr"], r"two\.tsv.*tab"),
    "no tab": (["data=tsv", "data.file=a.en", "data.source_language=en", "data.target_language=fr"], r"a\.en.*tab"),
    "two targets": ([*PARALLEL, "data.train.target=[a.fr,b.fr]"], r"data\.train\.target"),
    "missing corpus": (["data=tatoeba", "data.file=no/fra.txt"], r"no/fra\.txt"),
    "missing corpus of two files": (["data=multi30k", "data.root=no", "data.download=false"], r"no\b"),
    "missing vectors": (["+model.source_vectors=glove.txt"], r"glove\.txt"),
    "too long sentences": (["data.max_length=1"], r"max_length"),
    "heads": (["attention=multihead", "model.decoder.attention.heads=100000"], r"heads"),
    "window": (["attention=local_m", "model.decoder.attention.alignment.window=0"], r"window"),
    "normalizer": (["model.decoder.attention.normalizer=hardmax"], r"hardmax.*softmax"),
    "initial state": (["model.decoder.initial_state=copy", "model.decoder.hidden_size=7"], r"initial_state|copy"),
    "tying": (["model.tie_embeddings=both"], r"tie_embeddings=both"),
    "tying sizes": (["model.decoder.readout_size=5"], r"readout_size"),
    "joint": (["model.tie_embeddings=all"], r"joint_vocabulary"),
    "monitor": (["callbacks.checkpoint.monitor=val/blue"], r"val/blue"),
    "config name": (["--config-name", "baseline"], r"baseline"),
    "folder is a file": (["paths.runs_dir=a.en"], r"a\.en"),
    "guided without alignments": ([*PARALLEL, "module.guided_alignment_weight=1"], r"alignments"),
}  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    lines = [f"the {n} cats sleep ." for n in range(30)]
    for name in ("a.en", "a.fr", "b.fr"):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    (folder / "short.fr").write_text("".join(f"{line}\n" for line in lines[:-1]))
    (folder / "latin.en").write_bytes("".join(f"caf\u00e9 {line}\n" for line in lines).encode("latin-1"))
    (folder / "utf16.en").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-16"))
    (folder / "two.tsv").write_text("".join(f"{line}\tles {line}\n" for line in lines))
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
    assert len(errors[0]) < 450, errors[0]
    assert "Traceback" not in said


@pytest.mark.parametrize("name", TRAIN)
def test_a_mistake_in_a_training_is_one_line(name, here, program):
    overrides, expected = TRAIN[name]
    tiny = [] if any(each.startswith("-") for each in overrides) else TINY
    assert_is_one_line(program(*tiny, *overrides, f"name={name.replace(' ', '-')}", cwd=here), expected)


def test_another_configuration_under_a_name_names_at_most_three_keys(here, program, tiny_run):
    folder = tiny_run.parents[2]
    done = program(*TINY, "decoder=context", "seed=3", cwd=folder)
    assert_is_one_line(done, r"holds another run.*name=….*overwrite=true")
    assert len(re.findall(r"\(now ", done.text)) <= 3


def test_a_finished_run_says_so_with_its_scores_and_a_longer_one_goes_on(program, tiny_run, tmp_path):
    shutil.copytree(tiny_run.parents[1], tmp_path / "runs")
    done = program(*TINY, "trainer.max_epochs=2", cwd=tmp_path, check=0)
    assert "is finished" in done.text
    assert "BLEU" in done.text
    done = program(*TINY, "trainer.max_epochs=3", cwd=tmp_path, check=0)
    assert "is finished" not in done.text
    done = program(*TINY, "trainer.max_epochs=2", "overwrite=true", cwd=tmp_path, check=0)
    assert "is finished" not in done.text


def test_overwrite_removes_what_a_run_wrote_and_nothing_else(program, tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    (tmp_path / "run" / "predictions" / "old.txt").write_text("of the run before")
    program(*TINY, "seed=2", "overwrite=true", f"hydra.run.dir={tmp_path / 'run'}", cwd=tmp_path, check=0)
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "run" / "predictions" / "old.txt").exists()


def test_an_option_that_hydra_does_not_have_is_named(here, program):
    done = program("--max_epochs", "3", cwd=here, check=2)
    assert "unrecognized arguments: --max_epochs" in done.text.splitlines()[-1]


COMMANDS = {
    "no such run": ("translate", ["runs/none"], r"runs/none.*(no such|does not exist)"),
    "no such file": ("translate", ["RUN", "--input", "no.en"], r"no\.en"),
    "a folder": ("translate", ["RUN", "--input", "folder"], r"folder"),
    "latin-1": ("translate", ["RUN", "--input", "latin.en"], r"latin\.en.*UTF-8"),
    "utf-16": ("translate", ["RUN", "--input", "utf16.en"], r"utf16\.en.*UTF-8"),
    "no beam": ("translate", ["RUN", "--beam-size", "0", "--input", "a.en"], r"beam"),
    "more than the beam": ("translate", ["RUN", "--n-best", "9", "--input", "a.en"], r"9.*(5|beam)"),
    "no gpu": ("translate", ["RUN", "--device", "cuda", "--input", "a.en"], r"cuda"),
    "input is output": ("translate", ["RUN", "--input", "a.en", "-o", "a.en"], r"a\.en"),
    "missing folder of output": ("translate", ["RUN", "--input", "a.en", "-o", "no/b.fr"], r"no"),
    "unequal files": ("evaluate", ["RUN", "--source", "a.en", "--reference", "short.fr"], r"short\.fr"),
    "suffix": ("plot", ["RUN", "--sentence", "the cats sleep .", "-o", "picture.docx"], r"docx"),
    "no attention there": ("plot", ["folder", "--sentence", "the cats", "-o", "p.png"], r"folder"),
    "unequal alignments": ("align", ["RUN", "--source", "a.en", "--target", "short.fr"], r"short\.fr"),
    "export": ("export", ["page", "folder", "-o", "p.html"], r"folder"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_in_a_command_is_one_line(name, here, program, tiny_run):
    command, arguments, expected = COMMANDS[name]
    line = [str(tiny_run) if each == "RUN" else each for each in arguments]
    done = program(command, *line, cwd=here, script="src/seq2seq/__main__.py")
    said = done.text.strip()
    assert done.status == 2, said
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert re.search(expected, last), said
    assert len(last) < 450
