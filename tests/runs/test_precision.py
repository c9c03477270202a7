import pytest
import torch

from seq2seq.config import Precision
from seq2seq.runs.making import device
from seq2seq.runs.making.device import build_precision
from tests.models import spec_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(("pays", "taken"), [(True, "bf16-mixed"), (False, "fp32")])
def test_auto_takes_bf16_where_it_pays(monkeypatch, pays, taken):
    monkeypatch.setattr(device, "bfloat16_pays", lambda *_: pays)
    assert build_precision(Precision.auto, spec_of(), CPU) == taken


@pytest.mark.parametrize("name", ["fp32", "bf16-mixed", "fp16-mixed"])
def test_a_precision_that_is_named_is_not_probed(monkeypatch, name):
    monkeypatch.setattr(device, "bfloat16_pays", None)
    assert build_precision(Precision[name], spec_of(), CPU) == name
