"""What CONTRIBUTING tells to read is what runs, and the examples in its docstrings do what they show."""

import doctest
import re
from collections import Counter
from importlib import import_module

import lightning.pytorch as pl
import pytest
import torch

from seq2seq.attention import AdditiveScore, Attention, masked_softmax
from seq2seq.attention.attention import NORMALIZERS
from seq2seq.data import GrammarCorpus
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.search import beam_search
from seq2seq.models import BahdanauDecoder, GRUEncoder, Seq2Seq
from seq2seq.training import TranslationModule
from tests.conftest import ROOT
from tests.small import batch_of, model_of

EXAMPLES = (
    "seq2seq.attention.masking", "seq2seq.attention.attention", "seq2seq.models.seq2seq", "seq2seq.decoding.greedy",
    "seq2seq.decoding.search", "seq2seq.decoding.translator", "tensorboard_attention.writer",
)  # fmt: skip
MAX_FILES, MAX_LINES = 7, 900


@pytest.fixture
def calls(monkeypatch):
    """Counts calls of the methods and functions of the reading path."""
    counter = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*args, **keywords):
            counter[getattr(owner, "__qualname__", owner), name] += 1
            return original(*args, **keywords)

        monkeypatch.setattr(owner, name, counted)

    for owner in (Seq2Seq, GRUEncoder, BahdanauDecoder, Attention, AdditiveScore):
        count(owner, "forward")
    count(BahdanauDecoder, "recur")
    count(BahdanauDecoder, "step")
    for name in ("training_step", "teacher_forcing", "optimizer_step", "configure_gradient_clipping"):
        count(TranslationModule, name)

    def counted_softmax(*args, **keywords):
        counter["masked_softmax"] += 1
        return masked_softmax(*args, **keywords)

    monkeypatch.setitem(NORMALIZERS, "softmax", counted_softmax)
    return counter


def test_every_part_of_the_reading_path_runs_in_every_step_of_a_training(calls):
    data = GrammarCorpus(source_language="en", target_language="fr", batch_size=8, max_examples=24)
    sizes = (tokenizer.vocab_size for tokenizer in data.tokenizers)
    names = ("source_vocab_size", "target_vocab_size")
    model = model_of(**dict(zip(names, sizes, strict=True)), encoder_layers=1).float().train()
    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, limit_val_batches=0, num_sanity_val_steps=0,
    )  # fmt: skip
    trainer.fit(TranslationModule(model), datamodule=data)
    num_tokens = sum(batch.target_input.shape[1] for batch in data.train_dataloader())
    for part in ("Seq2Seq", "GRUEncoder", "BahdanauDecoder"):
        assert calls[part, "forward"] == 3
    for name in ("training_step", "teacher_forcing", "optimizer_step", "configure_gradient_clipping"):
        assert calls["TranslationModule", name] == 3
    assert calls["BahdanauDecoder", "recur"] == calls["masked_softmax"] == num_tokens
    assert calls["Attention", "forward"] == calls["AdditiveScore", "forward"] == num_tokens


@pytest.mark.parametrize("search", [greedy_search, lambda *inputs: beam_search(*inputs, size=3)])
def test_a_search_computes_the_equations_that_the_training_computes(search, calls):
    hypotheses = search(model_of(), batch_of([[4, 5]], [[6]]).source)
    first = hypotheses[0] if hasattr(hypotheses[0], "ids") else hypotheses[0][0]
    assert calls["BahdanauDecoder", "recur"] >= len(first.ids)
    assert calls["BahdanauDecoder", "step"] == calls["BahdanauDecoder", "recur"]
    assert calls["BahdanauDecoder", "recur"] == calls["masked_softmax"] == calls["AdditiveScore", "forward"]


def test_the_reading_path_is_short():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## The default model")[1].split("\n## ")[0]
    files = [ROOT / name for name in re.findall(r"^\d\. \[.*?\]\((.*?)\)", section, flags=re.M)]
    lines = sum(len(file.read_text().splitlines()) for file in files)
    assert 5 <= len(files) <= MAX_FILES
    assert lines <= MAX_LINES


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
