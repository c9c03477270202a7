import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import speed
from benchmarks.baselines import Recurrences, build_baselines
from benchmarks.batches import even_batch, training_batches
from benchmarks.memory import kept_bytes
from benchmarks.products import Products
from benchmarks.sizes import QUICK, SMALL, WIDE, Size
from benchmarks.timing import Spread, alternate
from benchmarks.variants import Variant, build_models
from seq2seq.errors import InputError

CPU = torch.device("cpu")
TOY = Size(hidden=6, num_layers=1, bidirectional=True, vocabulary=30, sentences=4)


@pytest.mark.long
def test_a_quick_run_writes_the_ratios_of_its_main_size(tmp_path, monkeypatch, capsys):
    quick = replace(
        QUICK,
        batches=1,
        rounds=1,
        other_rounds=1,
        kept_length=4,
        decoded=4,
    )
    monkeypatch.setattr(speed, "QUICK", quick)
    path = tmp_path / "figures.json"
    arguments = ["speed.py", "--quick", "--sizes", TOY.name, "--json", str(path)]
    monkeypatch.setattr("sys.argv", arguments)
    assert speed.main() == 0
    figures = json.loads(path.read_text())
    for key in (
        "fused_fp32_over_textbook",
        "fused_bf16_over_textbook",
        "product_limit_share",
        "activation_ratio",
        "beam5_over_textbook_greedy",
        "fused_fp32_over_textbook_bucketed",
        "fused_bf16_over_textbook_bucketed",
        "product_limit_share_bucketed",
    ):
        assert figures[key] > 0, key
    shuffled, bucketed = (figures["training"][TOY.name][kind] for kind in ("shuffled", "bucketed"))
    assert (
        figures["fused_fp32_over_textbook"]
        == (shuffled["ratios"]["fused_fp32_over_textbook"]["median"])
    )
    assert bucketed["padding_share"] < shuffled["padding_share"]
    assert TOY.name in capsys.readouterr().out


def test_a_size_that_is_none_is_refused_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["speed.py", "--sizes", "256"])
    assert speed.main() == 2
    assert capsys.readouterr().err.startswith("error: --sizes 256: ")


@pytest.mark.parametrize("size", [SMALL, WIDE, TOY], ids=lambda size: size.name)
def test_a_size_is_what_its_name_says(size):
    assert Size.parse(size.name) == size


@pytest.mark.parametrize("name", ["H0-L1-V30-B4", "H6-L1-V4-B4", "H6-L1-V30", "h6-l1-v30-b4"])
def test_names_of_no_size_are_refused(name):
    with pytest.raises(InputError, match="no size"):
        Size.parse(name)


def test_all_variants_see_the_same_batches_in_turn():
    seen = []
    steps = {name: lambda b, n=name: seen.append((n, b)) for name in ("a", "b")}
    times = alternate(steps, [1, 2], rounds=2, device=CPU)
    warm_up = [("a", 1), ("b", 1)]
    block = [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert seen == warm_up + block * 2
    assert {name: taken.shape for name, taken in times.items()} == {"a": (2, 2), "b": (2, 2)}


def test_a_spread_is_median_and_quartiles():
    assert Spread.of(np.arange(5.0)) == Spread(2.0, 1.0, 3.0)


def test_kept_bytes_are_what_autograd_holds():
    weight = torch.nn.Linear(1, 1)
    rows = 1000

    def loss(batch):
        hidden = torch.ones(rows, 1) * weight.weight  # kept: the ones
        return torch.tanh(hidden).sum()  # kept: the result

    kept = kept_bytes(Variant(loss, weight, None), even_batch(1, 2, 2, 30))
    assert 2 * rows * 4 <= kept < 2 * rows * 4 + 1000


def test_products_leave_out_padding():
    """As many operations as three times those of the model's layers on its tokens."""
    (batch,) = training_batches(TOY, 1, bucketed=False)
    h, m, v = TOY.hidden, TOY.memory, TOY.vocabulary
    source, target = int(batch.source.lengths.sum()), int(batch.target_lengths.sum())
    layers = source * (2 * (h + h) * 3 * h + m * h) + target * ((h + m + h) * 3 * h + h * h + h * v)
    shapes = list(Products(TOY, [batch], torch.float32, CPU)._of_batch(batch))
    width, steps = batch.source.ids.shape[1], batch.target_input.shape[1]
    attention = 2 * target * width * m + len(batch) * width * steps * m
    assert sum(n * r * i * c for n, r, i, c in shapes) == 3 * layers + attention


def test_products_of_a_batch_run():
    batches = training_batches(TOY, 2, bucketed=True)
    products = Products(TOY, batches, torch.bfloat16, CPU)
    assert [products.run(batch) for batch in batches] == [None, None]


def test_baselines_of_a_gpu_train_on_any_device():
    (batch,) = training_batches(TOY, 1, bucketed=False)
    for variant in build_baselines(TOY, CPU).values():
        before = variant.loss(batch).detach()
        for _ in range(30):
            variant.step(batch)
        assert variant.loss(batch) < before


def test_the_recurrences_that_are_compared_have_gradients():
    (batch,) = training_batches(TOY, 1, bucketed=False)
    models = build_models(TOY, CPU)
    recurrences = Recurrences(TOY, models)
    recurrences.fused(batch)
    recurrences.bare(batch)
    assert models.project.decoder.context_gates.weight.grad.abs().sum() > 0
    assert models.textbook.decoder.weight_hh_l0.grad.abs().sum() > 0
