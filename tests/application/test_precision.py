import pytest
import torch

from seq2seq.application.build import precision
from seq2seq.application.build.precision import build_precision, processor_gain
from seq2seq.config import Precision
from tests.models import spec_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(("gain", "taken"), [(1.29, "fp32"), (1.31, "bf16-mixed"), (0.1, "fp32")])
def test_auto_takes_bf16_where_the_probe_finds_it_faster_by_a_third(monkeypatch, gain, taken):
    monkeypatch.setattr(precision, "processor_gain", lambda _: gain)
    assert build_precision(Precision.auto, spec_of(), CPU) == taken


def test_the_probe_divides_median_times(monkeypatch):
    times = {torch.float32: 0.6, torch.bfloat16: 0.2}
    monkeypatch.setattr(precision, "_median_seconds", lambda left, _: times[left.dtype])
    assert processor_gain(spec_of()) == pytest.approx(3)


def test_the_probed_product_is_the_models_own_and_bounded(monkeypatch):
    shapes = []

    def record(left, right):
        shapes.append((left.shape, right.shape))
        return 1.0

    monkeypatch.setattr(precision, "_median_seconds", record)
    processor_gain(spec_of(decoder_hidden_size=8, target_vocabulary_size=100))
    assert shapes == [((256, 8), (8, 100))] * 2
    processor_gain(spec_of(decoder_hidden_size=1024, target_vocabulary_size=32_000))
    (rows, inner), (_, columns) = shapes[-1]
    assert 2 * rows * inner * columns <= precision.PROBE_OPERATIONS


@pytest.mark.parametrize("name", ["fp32", "bf16-mixed", "fp16-mixed"])
def test_a_precision_that_is_named_is_not_probed(monkeypatch, name):
    monkeypatch.setattr(precision, "processor_gain", None)
    assert build_precision(Precision[name], spec_of(), CPU) == name


@pytest.mark.parametrize(("supported", "taken"), [(True, "bf16-mixed"), (False, "fp32")])
def test_auto_asks_a_gpu_instead_of_probing_the_processor(monkeypatch, supported, taken):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: supported)
    monkeypatch.setattr(precision, "processor_gain", None)
    assert build_precision(Precision.auto, spec_of(), torch.device("cuda")) == taken
