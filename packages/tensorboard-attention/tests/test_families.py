"""Families of transformers: what is captured is what their eager computation returns; README has the table of them."""

import warnings
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers", reason="needs transformers")

from packages import attention_families as families
from packages.attention_families import FAMILIES, REFUSED, built, call_of
from tensorboard_attention import capture
from tensorboard_attention.capturing import Captured

FEW = ("BERT", "MobileBERT", "GPT-2", "gpt-oss", "T5")
README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("name", FEW)
def test_what_is_captured_is_what_the_eager_model_returns(name):
    assert set(families.differences(name).values()) <= {"exact", "–"}


@pytest.mark.long
def test_all_families_are_exact_and_their_table_is_in_the_readme():
    rows = [families.row(name) for name in FAMILIES]
    assert [row for row in rows if "exact" not in row or "wrong" in row] == []
    assert families.table(rows) in README.read_text(encoding="utf-8")


def problems_of(model, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with capture(model) as found, torch.no_grad():
            call(model)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_captured_is_refused_by_name(name):
    make, sizes, reads, said = REFUSED[name]
    found = problems_of(built(make, sizes, None), lambda model: model(**call_of(reads)))
    assert any(said in problem for problem in found.problems), found.problems
    for layer in found.layers:  # which CANINE has, too
        assert layer.weights.size(2) == layer.weights.size(3) > 8


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
@pytest.mark.parametrize("cache", ["dynamic", "static"])
def test_generation_with_any_cache_gives_the_rows_of_one_call(cache, kind):
    make, sizes, _ = FAMILIES["Llama"]
    model = built(f"{make[:-5]}ForCausalLM", sizes, kind)
    ids = torch.randint(3, 40, (2, 6), generator=torch.Generator().manual_seed(2))
    made = []
    options = {"max_new_tokens": 4, "do_sample": False, "cache_implementation": cache, "eos_token_id": None}
    found = problems_of(model, lambda model: made.append(model.generate(ids, **options)))
    once = problems_of(model, lambda model: model(made[0][:, :-1]))
    assert found.problems == []
    assert list(found.kinds()) == ["self-attention"]
    for layer, wanted in zip(found.layers, once.layers, strict=True):
        length = wanted.weights.size(3)
        torch.testing.assert_close(layer.weights[..., :length], wanted.weights, atol=1e-6, rtol=0)
        assert not layer.weights[..., length:].any()


@pytest.mark.parametrize("name", ["BERT", "T5"])
def test_the_loss_is_bitwise_the_same_with_capture(name):
    make, sizes, reads = FAMILIES[name]
    model = built(make, sizes, "sdpa").train()
    call = call_of(reads)
    results = []
    for captures in (False, True):
        torch.manual_seed(3)
        before = Captured()
        if captures:
            with capture(model) as before:
                model(**call)
        results.append(model(**call)[0])
        assert bool(before.layers) is captures
    assert torch.equal(*results)
