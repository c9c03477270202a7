"""docs/models.md: a section for every decoder, and the decoder that it writes."""

import re
from pathlib import Path

import pytest
import torch
import yaml

from seq2seq.model.decoders.registry import DECODERS
from tests.oracles import decoders
from tests.oracles.cases import FAST, training_case
from tests.oracles.test_training import compared

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "models.md").read_text("utf-8")


@pytest.mark.parametrize("name", DECODERS.names())
def test_every_decoder_has_a_section_a_file_and_a_choice(name):
    section = re.search(rf"^## {name}\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)[1]
    (file,) = re.findall(r"`(src/seq2seq/model/\S+\.py)`", section)
    assert (ROOT / file).is_file()
    choice = (ROOT / "conf" / "decoder" / f"{name}.yaml").read_text("utf-8")
    assert choice.startswith("# @package model\n")
    assert yaml.safe_load(choice)["decoder"] == name
    assert "python train.py" in section
    assert name == "bahdanau" or f"decoder={name}" in section


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_decoder_of_the_page_is_its_oracle(cell, monkeypatch):
    written, oracle = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (choice,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (name,) = yaml.safe_load(choice).values()
    code, of_oracle = {}, {"torch": torch, "layer_names": decoders.layer_names}
    exec(written, code)
    exec(oracle, of_oracle)
    monkeypatch.setitem(DECODERS.built_in, name, code["MeanDecoder"])
    monkeypatch.setitem(decoders.STEPS, name, of_oracle[name])
    for seed in (1, 2):
        worst, of_gradients = compared(training_case(seed, FAST, decoder=name, cell=cell))
        assert max(worst, of_gradients) < 1e-12
