"""What CONTRIBUTING tells to read is what runs, and the examples in its docstrings do what they show."""

import doctest
import re
import sys
from importlib import import_module
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch
from hydra import compose, initialize_config_dir

from hydra_checked.program import HYDRA_BASE
from seq2seq.attention import AdditiveScore, masked_softmax
from seq2seq.data import GrammarCorpus
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import beam_search
from seq2seq.models import BahdanauDecoder
from seq2seq.models.layers import GRUCell
from seq2seq.run.building import build
from seq2seq.training import TranslationModule
from seq2seq.training.losses import token_cross_entropy
from tests.conftest import ROOT
from tests.small import batch_of, model_of

EXAMPLES = (
    "seq2seq.attention.masking", "seq2seq.attention.attention", "seq2seq.decoding.greedy",
    "seq2seq.decoding.search", "seq2seq.decoding.translator", "tensorboard_attention.writer",
)  # fmt: skip
MAX_FILES, MAX_LINES = 8, 1000
SOURCE = str(ROOT / "src/seq2seq")


def listed():
    """The files that CONTRIBUTING tells to read."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## The default model")[1].split("\n## ")[0]
    return [ROOT / name for name in re.findall(r"^\d\. \[.*?\]\((.*?)\)", section, flags=re.M)]


class Executed:
    """The functions of the program that run while this is the context, but for what a constructor calls."""

    def __init__(self):
        self.functions = set()

    @property
    def files(self):
        return {Path(function.co_filename) for function in self.functions}

    def __enter__(self):
        sys.setprofile(self.called)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def called(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            above = frame
            while above and above.f_code.co_name not in ("__init__", "__post_init__"):
                above = above.f_back
            if above is None:
                self.functions.add(frame.f_code)


STEP = (BahdanauDecoder.recur, AdditiveScore.forward, masked_softmax, GRUCell.forward)


def test_a_step_of_training_and_a_search_run_the_files_that_are_to_be_read_and_no_others(monkeypatch):
    """Of a step of the default configuration, from its batch to the new weights."""
    executed, step = Executed(), pl.LightningModule.optimizer_step

    def traced(*inputs, **options):
        with executed:
            step(*inputs, **options)

    monkeypatch.setattr(pl.LightningModule, "optimizer_step", traced)
    with initialize_config_dir(str(ROOT / "conf"), **HYDRA_BASE):
        config = compose("config")
    data = GrammarCorpus(source_language="en", target_language="fr", batch_size=8, max_examples=24)
    names = ("source_vocab_size", "target_vocab_size")
    sizes = dict(zip(names, (tokenizer.vocab_size for tokenizer in data.tokenizers), strict=True))
    module = TranslationModule(build(config.model)(**sizes), build(config.optimizer))
    clipped = config.trainer.gradient_clip_val
    trainer = pl.Trainer(
        gradient_clip_val=clipped, max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, limit_val_batches=0, num_sanity_val_steps=0,
    )  # fmt: skip
    trainer.fit(module, datamodule=data)
    assert {each.__code__ for each in (*STEP, token_cross_entropy)} <= executed.functions
    source = next(iter(data.val_dataloader())).source
    with executed:
        greedy_search(module.model.eval(), source)
    assert executed.files == set(listed())


@pytest.mark.parametrize("search", [greedy_search, lambda *inputs: beam_search(*inputs, size=3)])
def test_a_search_computes_the_equations_that_the_training_computes(search):
    with Executed() as executed:
        search(model_of(), batch_of([[4, 5]], [[6]]).source)
    assert {each.__code__ for each in STEP} <= executed.functions


def test_the_reading_path_is_short():
    assert len(listed()) <= MAX_FILES
    assert sum(len(file.read_text().splitlines()) for file in listed()) <= MAX_LINES


def test_nothing_is_named_fast():
    assert not [*(ROOT / "src").rglob("fast.py")]
    config = import_module("yaml").safe_load((ROOT / "conf/config.yaml").read_text())
    assert "fast" not in config["module"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_do_what_they_show(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    torch.manual_seed(0)
    result = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed
