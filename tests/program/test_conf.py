"""Every file of conf trains a tiny model, or composes where this machine lacks what it needs."""

import gzip
import json
import re
from itertools import islice

import pytest
from omegaconf import OmegaConf

from seq2seq.common.errors import InputError
from seq2seq.run.checks import check_early
from seq2seq.settings.config import complete, composed, settings_of
from tests.conftest import ROOT, TINY

SUBWORDS = ["data.tokenizer.vocab_size=300"]
TINY_TASK = ["data.train_pairs=80", "data.validation_pairs=10", "data.test_pairs=10"]
TINY_EPOCH = ["trainer.max_epochs=1", "trainer.check_val_every_n_epoch=1"]

TRAINED = [
    ["attention=additive", "encoder=gru", "decoder=bahdanau", "model=gru", "optimizer=adam",
     "scheduler=warmup_cosine", "trainer=default", "device=auto", "callbacks=default", "averaging=none",
     "logger=tensorboard", "paths=default", "tokenizer=words", "recipe=small", "decoding=beam", "penalty=average", "data=grammar", "experiment=baseline"],
    ["attention=average", "optimizer=sgd", "scheduler=constant", "~scheduler.warmup_steps", "device=cpu",
     "experiment=numbers", *TINY_TASK],
    ["attention=bilinear", "optimizer=adamw", "averaging=ema", "callbacks.averaging.decay=0.9", "experiment=reverse", "logger=none",
     *TINY_TASK],
    ["attention=coverage", "data=everyday", "recipe=everyday", "tokenizer=whitespace", "objective=scheduled_sampling"],
    ["attention=dot", "decoder=luong", "tokenizer=bpe", "data=grammar", *SUBWORDS],
    ["attention=gaussian", "decoder=conditional", "tokenizer=unigram", "recipe=standard", "averaging=ema_200", "data=grammar",
     *SUBWORDS, *TINY_EPOCH],
    ["attention=local_m", "tokenizer=characters", "logger=csv", "data=tasks", "experiment=dates", *TINY_TASK],
    ["attention=local_p", "scheduler=plateau", "callbacks=early_stopping"],
    ["attention=monotonic", "recipe=textbook", "averaging=ema_100", "penalty=none", "logger=none", "objective=minimum_risk"],
    ["attention=multihead", "model.decoder.attention.heads=2", "model=lstm", "debug=overfit", *TINY_EPOCH],
    ["attention=scaled_dot", "encoder=transformer", "model.encoder.heads=2", "debug=trial", "decoding=greedy", *TINY_EPOCH],
    ["decoder=context", "encoder=lstm", "penalty=gnmt", "decoding.penalty.alpha=1", "debug=profile", "trainer.max_steps=2"],
    ["decoder=plain", "recipe=multi30k", "data=grammar", *SUBWORDS, "trainer.max_epochs=1"],
    ["decoder=transformer", "recipe=small_transformer", "data=grammar"],
]  # fmt: skip
"""Command lines, each with the files of conf that it chooses; files of several groups share a training."""

REAL = [
    *([f"experiment={name}", "data=multi30k", *SUBWORDS, "callbacks.attention=null"]
      for name in ("multi30k_en_de", "multi30k_de_en", "multi30k_en_fr", "speedrun")),
    *(["experiment=multi30k_en_de", "data=multi30k", f"recipe={name}", *SUBWORDS, "callbacks.attention=null"]
      for name in ("multi30k_transformer", "multi30k_all_transformer")),
    ["experiment=multi30k_multi", "data=multi", *SUBWORDS, "callbacks.attention=null"],
    ["data=tatoeba", *SUBWORDS],
    ["experiment=textbook"],
]  # fmt: skip
"""The same on real corpora."""

COMPOSED = {
    "experiment=everyday_full": "experiment_name: everyday_en_", "device=gpu": "accelerator: gpu", "device=mps": "accelerator: mps", "device=ddp": "strategy: ddp",
    "logger=mlflow": "artifact_location: ${paths.runs_dir}/", "logger=wandb": "WandbOfRun", "hparams_search=example": "interval(0.001, 0.01)",
}  # fmt: skip
"""What needs hardware or packages that are not here, or a sweep; and text that it brings."""

ELSEWHERE = {
    "debug=fast", "hydra/help=seq2seq", "hydra/job_logging=seq2seq",  # in every command line here
    "data=parallel", "data=tsv", "data=large", "data=torchtext", "data=libreoffice",  # below
    "callbacks=lr_finder",  # test_rate_finder
    "experiment=libreoffice_en_de", "experiment=everyday_full", "experiment=libreoffice_en_fr", "experiment=libreoffice_en_zh",
}  # fmt: skip


def tiny(line):
    """`TINY` with half of its pairs, less what the choices of a line do away with."""
    debug = any(each.startswith("debug=") for each in line)
    lacks = [*(["scheduler"] if "scheduler=" in str(line) or "textbook" in str(line) else []),
             *(["debug"] if debug else []), *(["decoding."] if "decoding=greedy" in line else []), *(["callbacks."] if "callbacks.attention=null" in line else [])]  # fmt: skip
    few = [*TINY, "data.max_examples=16", "data.batch_size=4"]
    return [each for each in few if not each.startswith(tuple(lacks))]


def test_every_file_of_conf_is_in_a_command_line_of_this_module():
    words = [word.partition("=") for line in (*TRAINED, *REAL) for word in line]
    lines = [f"{group}={name}" for group, _, names in words for name in names.strip("[]").split(",")]
    for path in (ROOT / "conf").rglob("*/*.yaml"):
        choice = f"{path.parent.relative_to(ROOT / 'conf').as_posix()}={path.stem}"
        assert choice in {*lines, *COMPOSED, *ELSEWHERE}, f"no test here chooses {choice}"


def scores_of_the_run(folder):
    (found,) = (folder / "runs").rglob("metrics.json")
    return json.loads(found.read_text())


@pytest.mark.parametrize("line", TRAINED, ids=lambda line: line[0])
def test_every_choice_trains(line, tmp_path, program):
    program(*tiny(line), *line, cwd=tmp_path, check=0)
    metrics = scores_of_the_run(tmp_path)
    assert metrics["finished"]
    assert 0 <= metrics["test"]["greedy"]["bleu"] <= 100
    assert ("beam" in metrics["test"]) == ("decoding=greedy" not in line)


LEFT_OUT = {
    "experiment=textbook attention=scaled_dot": "model.decoder.attention.score.hidden_size",
    "recipe=textbook attention=multihead": "model.decoder.attention.dropout",
    "recipe=textbook encoder=transformer": "model.encoder.bidirectional",
    "recipe=standard decoder=context": "model.decoder.query_with_embedding",
    "recipe=standard decoder=transformer": "model.decoder.hidden_size",
    "recipe=standard scheduler=plateau": "scheduler.warmup_steps",
    "experiment=numbers data=grammar": "data.task",
}
"""Command line -> key that a file gives and that the class of another choice does not take."""


@pytest.mark.parametrize("line", LEFT_OUT)
def test_a_choice_leaves_out_what_a_file_gives_to_another_class_with_a_note(line):
    parent, _, name = LEFT_OUT[line].rpartition(".")
    given = [*line.split(), "data.source_language=en", "data.target_language=fr", "++data.file=none"]
    with composed(given) as config:
        settings = complete(settings_of(config, given, "run"))
        OmegaConf.update(config, LEFT_OUT[line], 1, force_add=True)
        typed = settings_of(config, [*given, f"{LEFT_OUT[line]}=1"], "run")
    assert name not in OmegaConf.select(settings.config, parent)
    (note,) = settings.notes
    assert note.startswith(f"{parent}: ")
    assert name in note
    with pytest.raises(InputError, match=f"~{re.escape(LEFT_OUT[line])}"):
        complete(typed)


def test_numbers_of_a_class_of_the_users_own_have_no_limit():
    own = ["+callbacks.mine._target_=mine.Mine", f"+callbacks.mine.number={2**40}"]
    with composed(own) as config:
        check_early(settings_of(config, own, "run"))
    with (
        composed([f"trainer.log_every_n_steps={2**40}"]) as config,
        pytest.raises(InputError, match="log_every_n_steps"),
    ):
        check_early(settings_of(config, [], "run"))


def test_a_finished_run_whose_choice_left_something_out_is_recognized(tmp_path, program):
    line = [
        *tiny([]),
        "experiment=numbers",
        "data=grammar",
        "data.target_language=fr",
        "trainer.max_epochs=1",
    ]
    assert "left out" in program(*line, cwd=tmp_path, check=0).text
    assert "is finished" in program(*line, cwd=tmp_path, check=0).text


@pytest.fixture(scope="module")
def beginnings(real_data, tmp_path_factory):
    """A folder with the first lines of the real corpora."""
    folder = tmp_path_factory.mktemp("beginnings")
    for file in real_data.glob("*/*"):
        kept = folder / file.relative_to(real_data)
        kept.parent.mkdir(exist_ok=True)
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rb") as whole, opened(kept, "wb") as beginning:
            beginning.writelines(islice(whole, 4000 if file.suffix == ".txt" else 1000))
    return folder


@pytest.mark.parametrize("line", REAL, ids=lambda line: " ".join(line[:3:2]))
def test_every_choice_of_a_real_corpus_trains(line, beginnings, tmp_path, program):
    is_multi30k = "data=multi" in str(line)
    where = (
        f"data.root={beginnings / 'multi30k'}"
        if is_multi30k
        else f"data.file={beginnings / 'tatoeba/fra.txt'}"
    )
    program(*tiny(line), *line, where, cwd=tmp_path, timeout=300, check=0)
    assert scores_of_the_run(tmp_path)["finished"]


@pytest.mark.parametrize("choice", COMPOSED)
def test_what_is_not_here_composes(choice):
    with composed([choice]) as config:
        assert COMPOSED[choice] in OmegaConf.to_yaml(config)


@pytest.mark.parametrize("form", ["parallel", "large", pytest.param("tsv", marks=pytest.mark.long)])
def test_own_text_trains_whatever_the_ends_of_its_lines(tmp_path, program, form):
    pairs = [(f"the {n} cat", f"die {n} Katze") for n in range(60)] + [("", "leer")]
    sides = [
        b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in side).encode()
        for side in zip(*pairs, strict=True)
    ]
    (tmp_path / "a.en").write_bytes(sides[0])
    (tmp_path / "a.de.gz").write_bytes(gzip.compress(sides[1]))
    (tmp_path / "a.tsv").write_text("".join(f"{source}\t{target}\tthird\n" for source, target in pairs))
    files = ["data.train.source=a.en", "data.train.target=a.de.gz"]
    held = ["data.validation.source=a.en", "data.validation.target=a.de.gz"]
    keys = {"tsv": ["data.file=a.tsv", "data.split.validation=8", "data.split.test=8"], "large": [*files, *held],
            "parallel": [*files, "data.split.validation=0.2"]}[form]  # fmt: skip
    done = program(
        *TINY, f"data={form}", *keys, "data.source_language=en", "data.target_language=de",
        "data.max_examples=64", "tokenizer=words", "callbacks.attention=null", "name=own", cwd=tmp_path, check=0,
    )  # fmt: skip
    assert re.search(r"train +\d+ +1 blank", done.text), done.text
    words = json.loads((tmp_path / "runs/baseline/own/tokenizers/source.json").read_text())["tokens"]
    assert set(words) <= {"<unk>", "<pad>", "<bos>", "<eos>", "the", "cat", "die", "katze", "leer",
                          *map(str, range(60))}  # fmt: skip


@pytest.mark.parametrize(
    "language", ["zh", *(pytest.param(each, marks=pytest.mark.long) for each in ("de", "fr"))]
)
def test_the_help_of_libreoffice_trains_from_its_file(language, tmp_path, program):
    rows = (f"{split}\tp{n}\tThe {n} cats.\tDie {n} 猫。\n" for split, size in (("train", 60), ("validation", 8), ("test", 8))
            for n in range(size))  # fmt: skip
    (tmp_path / f"en-{language}.tsv").write_text("".join(rows), encoding="utf-8")
    program(
        *TINY, f"experiment=libreoffice_en_{language}", f"data.root={tmp_path}", *SUBWORDS,
        "callbacks.attention=null", cwd=tmp_path, check=0,
    )  # fmt: skip
    assert scores_of_the_run(tmp_path)["finished"]


FUNCTION = """
from torchtext.data import Field
from torchtext.datasets import TranslationDataset


def my_dataset(folder):
    fields = [Field(tokenize=str.split, init_token="<sos>", eos_token="<eos>", lower=True) for _ in range(2)]
    return TranslationDataset.splits(path=folder, exts=(".en", ".de"), fields=fields, train="train", validation="val", test="test")
"""


def test_datasets_of_torchtext_train(tmp_path, program):
    (tmp_path / "my_file.py").write_text(FUNCTION)
    for split, size in (("train", 60), ("val", 8), ("test", 8)):
        (tmp_path / f"{split}.en").write_text("".join(f"The {n} CATS .\n" for n in range(size)))
        (tmp_path / f"{split}.de").write_text("".join(f"Die {n} Katzen .\n" for n in range(size)))
    program(
        *TINY, "data=torchtext", "data.dataset._target_=my_file.my_dataset", f"+data.dataset.folder={tmp_path}",
        "data.source_language=en", "data.target_language=de", "callbacks.attention=null", cwd=tmp_path, check=0,
    )  # fmt: skip
    assert scores_of_the_run(tmp_path)["finished"]
