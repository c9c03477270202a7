import pytest
import torch

from seq2seq.model import probe
from seq2seq.model.probe import LEAST_SIZE, bfloat16_pays, processor_gain
from tests.models import spec_of

CPU = torch.device("cpu")


@pytest.mark.parametrize(("gain", "pays"), [(1.29, False), (1.31, True), (0.1, False)])
def test_bf16_pays_where_the_probe_finds_it_faster_by_a_third(monkeypatch, gain, pays):
    monkeypatch.setattr(probe, "processor_gain", lambda _: gain)
    assert bfloat16_pays(spec_of(decoder_hidden_size=LEAST_SIZE), CPU) is pays


def test_small_models_are_not_probed(monkeypatch):
    monkeypatch.setattr(probe, "processor_gain", None)
    assert not bfloat16_pays(spec_of(decoder_hidden_size=LEAST_SIZE - 1), CPU)


def test_the_probe_divides_median_times(monkeypatch):
    times = {torch.float32: 0.6, torch.bfloat16: 0.2}
    monkeypatch.setattr(probe, "_median_seconds", lambda left, _: times[left.dtype])
    assert processor_gain(spec_of()) == pytest.approx(3)


def test_the_probed_product_is_the_models_own_and_bounded(monkeypatch):
    shapes = []

    def record(left, right):
        shapes.append((left.shape, right.shape))
        return 1.0

    monkeypatch.setattr(probe, "_median_seconds", record)
    processor_gain(spec_of(decoder_hidden_size=8, target_vocabulary_size=100))
    assert shapes == [((256, 8), (8, 100))] * 2
    processor_gain(spec_of(decoder_hidden_size=1024, target_vocabulary_size=32_000))
    (rows, inner), (_, columns) = shapes[-1]
    assert 2 * rows * inner * columns <= probe.PROBE_OPERATIONS


@pytest.mark.parametrize("supported", [True, False])
def test_a_gpu_is_asked_instead_of_probing_the_processor(monkeypatch, supported):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: supported)
    monkeypatch.setattr(probe, "processor_gain", None)
    assert bfloat16_pays(spec_of(), torch.device("cuda")) is supported
