"""Attention of models that are put together otherwise than most: by hand it is the same."""

import math
import warnings

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.utils.tensorboard import SummaryWriter

from tensorboard_attention import AttentionCapture, add_attention, capture, export_html
from tensorboard_attention.event_files import read_log_folder, read_steps

D = 8
"""Size of a vector; there are two heads of four."""


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def split(values):
    """(B, T, D) as (B, heads, T, D / heads)."""
    return values.unflatten(-1, (2, 4)).transpose(1, 2)


def joined(values):
    return values.transpose(1, 2).flatten(2)


def attend(query, key, **options):
    return joined(F.scaled_dot_product_attention(split(query), split(key), split(key), **options))


def by_hand(query, key, is_kept=None):
    """Weights in numpy, in float64."""
    query, key = (each.detach().double().numpy() for each in (query, key))
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    powers = np.exp(scores if is_kept is None else np.where(is_kept, scores, -np.inf))
    return powers / powers.sum(axis=-1, keepdims=True)


def captured(model, *inputs, writer=None, **options):
    """What is captured of a run, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with capture(model, writer, 0 if writer else None, **options) as found:
            model(*inputs)
    return found, [str(each.message) for each in said]


def records_of(folder):
    tags = [tag["tag"] for run in read_log_folder(folder)["index"]["runs"] for tag in run["tags"]]
    return {tag: read_steps(folder, tag, most=1, most_bytes=1 << 20)[0] for tag in tags}


def assert_layers(found, *expected):
    shown = [layer.weights.detach().double().numpy() for layer in found.layers]
    assert len(shown) == len(expected)
    for weights, wanted in zip(shown, expected, strict=True):
        np.testing.assert_allclose(weights, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("bias", "rows", "columns", "shift"),
    [
        (causal_upper_left, 4, 4, 0),
        (causal_upper_left, 3, 5, 0),
        (causal_upper_left, 5, 3, 0),
        (causal_lower_right, 4, 4, 0),
        (causal_lower_right, 3, 5, 2),
    ],
)
def test_causal_masks_that_torch_keeps_as_objects(bias, rows, columns, shift):
    class Model(nn.Module):
        def forward(self, query, key):
            return F.scaled_dot_product_attention(query, key, key, attn_mask=bias(rows, columns))

    query, key = torch.randn(1, 2, rows, 4), torch.randn(1, 2, columns, 4)
    is_kept = np.tril(np.ones((rows, columns), dtype=bool), shift)
    assert_layers(captured(Model(), query, key)[0], by_hand(query, key, is_kept))


@pytest.mark.parametrize(("rows", "columns"), [(6, 4), (1, 5), (4, 6)])
def test_one_module_that_attends_to_itself_and_to_a_memory(rows, columns):
    class Decoder(nn.Module):
        def forward(self, x, memory):
            self.first = x
            self.second = x + attend(x, x)
            return self.second + attend(self.second, memory)

    model, memory = Decoder(), torch.randn(2, columns, D)
    found, _ = captured(model, torch.randn(2, rows, D), memory)
    own = by_hand(split(model.first), split(model.first))
    assert_layers(found, own, by_hand(split(model.second), split(memory)))
    assert [layer.is_cross for layer in found.layers] == [False, True]


def test_positions_that_are_added_to_queries_and_keys_apart():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(D, 2, batch_first=True)

        def forward(self, x, positions):
            return self.attention(x + positions, x + positions, x)[0]

    found, _ = captured(Model(), torch.randn(2, 4, D), torch.randn(4, D))
    assert [layer.is_cross for layer in found.layers] == [False]


@pytest.mark.parametrize("lengths", [(4, 7), (7, 4), (5, 1), (2, 4, 8)])
def test_one_module_reads_sentences_of_several_lengths(lengths):
    class Siamese(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = SelfAttention()

        def forward(self, *sentences):
            return [self.attention(each) for each in sentences]

    class SelfAttention(nn.Module):
        def forward(self, x):
            return attend(x, x)

    sentences = [torch.randn(3, length, D) for length in lengths]
    found, _ = captured(Siamese(), *sentences)
    assert_layers(found, *(by_hand(split(each), split(each)) for each in sentences))


class SoftmaxAttention(nn.Module):
    def forward(self, x, memory):
        return torch.softmax(x @ memory.T / D**0.5, -1) @ memory


class ByTorch(nn.Module):
    def forward(self, x, memory):
        return F.scaled_dot_product_attention(x, memory, memory)


@pytest.mark.parametrize("model", [SoftmaxAttention(), ByTorch()])
@pytest.mark.parametrize("length", [5, 7])
def test_one_sentence_without_a_batch(model, length):
    x, memory = torch.randn(5, D), torch.randn(length, D)
    assert_layers(captured(model, x, memory)[0], by_hand(x, memory)[None, None])


def test_weights_with_rows_before_heads_are_told_apart():
    class RowsFirst(nn.Module):
        def forward(self, x):
            heads = x.unflatten(-1, (2, 4))
            scores = torch.einsum("bthd,bshd->bths", heads, heads)
            return torch.einsum("bths,bshd->bthd", scores.softmax(-1), heads).flatten(2)

    x = torch.randn(3, 6, D)
    found, said = captured(RowsFirst(), x)
    assert not said
    assert_layers(found, by_hand(2 * split(x), split(x)))  # without the scale


@pytest.mark.parametrize("option", ["add_zero_attn", "add_bias_kv"])
def test_a_causal_hint_masks_the_columns_that_torch_adds(option):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(D, 2, batch_first=True, **{option: True})

        def forward(self, x):
            mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
            return self.attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]

    model, x = Model(), torch.randn(2, 4, D)
    parts = model.attention.in_proj_weight.chunk(3)
    with torch.no_grad():
        query, key, value = (split(x @ part.T) for part in parts)
    weights = by_hand(query, key, np.tril(np.ones((4, 4), dtype=bool)))
    expected = joined(torch.from_numpy(weights).float() @ value)
    torch.testing.assert_close(model(x), model.attention.out_proj(expected), atol=1e-5, rtol=0)
    found, _ = captured(model, x)
    (layer,) = found.layers
    np.testing.assert_allclose(layer.weights[..., :4].detach(), weights, atol=1e-6)
    assert not layer.weights[..., 4:].any()


def test_queries_that_are_no_tokens_have_no_labels(tmp_path):
    class Latents(nn.Module):
        def __init__(self):
            super().__init__()
            self.latents = nn.Parameter(torch.randn(7, D))

        def forward(self, x):
            return attend(self.latents.expand(len(x), -1, -1), x)

    captured(Latents(), torch.randn(1, 5, D), writer=tmp_path, source_tokens=list("abcde"))
    (record,) = records_of(tmp_path).values()
    assert record.weights.shape[-2:] == (7, 5)
    assert [*record.source] == [*"abcde"]
    assert not {*record.target} & {*"abcde"}


class Tokenizer:
    pad_token = "<pad>"

    def convert_ids_to_tokens(self, ids):
        return [f"w{int(each)}" for each in ids]


class LanguageModel(nn.Module):
    """Hands its ids on to an inner model, as those of Hugging Face do."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, input_ids):
        return self.inner(input_ids=input_ids)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, D)

    def forward(self, input_ids):
        x = self.embedding(input_ids)
        return attend(x, x)


@pytest.mark.parametrize("ids", [[5], [5, 6, 7]])
def test_ids_that_are_handed_on_are_read_once(ids, tmp_path):
    _, said = captured(LanguageModel(), torch.tensor([ids]), writer=tmp_path, tokenizer=Tokenizer())
    assert not said
    (record,) = records_of(tmp_path).values()
    assert [*record.source] == [f"w{each}" for each in ids]
    assert record.weights.shape[-2:] == (len(ids), len(ids))


class Own(nn.MultiheadAttention):
    def __init__(self):
        super().__init__(D, 2, batch_first=True)

    def forward(self, x):
        return super().forward(x, x, x)[0]


def test_modules_of_one_name_at_several_depths_are_all_recorded(tmp_path):
    class Part(nn.Module):
        def __init__(self, inner=None):
            super().__init__()
            self.attn, self.pool, self.sub = Own(), Own(), inner or nn.Identity()

        def forward(self, x):
            return self.sub(self.pool(self.attn(x)))

    class Root(Part):
        def __init__(self):
            super().__init__()
            self.enc = Part(Part())

        def forward(self, x):
            return super().forward(self.enc(x))

    found, _ = captured(Root(), torch.randn(1, 3, D), writer=tmp_path)
    assert len(found.layers) == 6
    recorded = records_of(tmp_path)
    assert sum(len(layers) for layers in found.kinds().values()) == 6
    assert len(recorded) == len(found.kinds())
    names = [layer.module for layers in found.kinds().values() for layer in layers]
    assert sorted(names) == ["attn", "enc.attn", "enc.pool", "enc.sub.attn", "enc.sub.pool", "pool"]


def test_a_module_named_for_both_sides_has_the_tokens_of_each(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder_decoder = nn.Transformer(D, 2, 1, 1, 16, dropout=0, batch_first=True)

        def forward(self, source, target):
            return self.encoder_decoder(source, target)

    sides = torch.randn(1, 4, D), torch.randn(1, 4, D)
    captured(Model(), *sides, writer=tmp_path, source_tokens=list("abcd"), target_tokens=list("wxyz"))
    found = {tag: ([*each.target], [*each.source]) for tag, each in records_of(tmp_path).items()}
    by_kind = {tag.rpartition("/")[2]: tokens for tag, tokens in found.items()}
    assert by_kind["decoder self-attention"] == ([*"wxyz"], [*"wxyz"])
    assert by_kind["encoder self-attention"] == ([*"abcd"], [*"abcd"])
    assert by_kind["cross-attention"] == ([*"wxyz"], [*"abcd"])


def test_a_compiled_model_that_runs_a_layer_several_times():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Own()

        def forward(self, x):
            for _ in range(3):
                x = self.layer(x)
            return x

    model, x = Shared(), torch.randn(2, 4, D)
    plain, _ = captured(model, x)
    found, said = captured(torch.compile(model, backend="eager"), x)
    assert_layers(found, *(layer.weights.detach().double().numpy() for layer in plain.layers))
    assert len(found.layers) == 3
    assert not said


def test_a_silent_module_is_told_below_a_root_that_attends_itself():
    class LinearAttention(nn.Module):
        def forward(self, x):
            return x

    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = LinearAttention()

        def forward(self, x):
            return self.linear(attend(x, x))

    _, said = captured(Root(), torch.randn(2, 4, D))
    assert any("LinearAttention" in line for line in said)


def test_a_logger_of_a_process_that_does_not_write_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    add_attention(TensorBoardLogger(tmp_path), "a", np.ones((1, 1)), ["a"], ["b"], 0)
    assert not [*tmp_path.rglob("*tfevents*")]


def test_an_address_is_no_folder():
    with pytest.raises(ValueError, match="gs://bucket/run"):
        add_attention("gs://bucket/run", "a", np.ones((1, 1)), ["a"], ["b"], 0)


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-true", "bf16-mixed"])
def test_a_probe_is_in_the_precision_of_the_training(precision, tmp_path):
    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.attention = Own()

        def forward(self, x):
            return self.attention(x)

        def training_step(self, batch, _):
            return self(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    trainer = pl.Trainer(
        max_epochs=1, accelerator="cpu", precision=precision, logger=TensorBoardLogger(tmp_path),
        callbacks=[AttentionCapture(torch.randn(1, 4, D), every_n_steps=1)], enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(4, 4, D), batch_size=2))
    (folder,) = {path.parent for path in tmp_path.rglob("*tfevents*")}
    (tag,) = {tag["tag"] for run in read_log_folder(folder)["index"]["runs"] for tag in run["tags"]}
    for record in read_steps(folder, tag, most=9, most_bytes=1 << 20).values():
        np.testing.assert_allclose(record.mean().sum(axis=-1), 1, atol=0.02)


def test_a_damaged_record_is_told(tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(9):
            add_attention(writer, "a", np.array([[1.0, 0.0]]), ["b", "c"], ["a"], step)
    (path,) = tmp_path.glob("*tfevents*")
    content = path.read_bytes()
    path.write_bytes(content[:-5])  # a writer that was killed
    assert len(read_steps(tmp_path, "a/forced", most=9, most_bytes=1 << 20)) == 8
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    for read in (
        lambda: read_steps(tmp_path, "a/forced", most=9, most_bytes=1 << 20),
        lambda: read_log_folder(tmp_path),
    ):
        with pytest.warns(UserWarning, match=path.name):
            read()


def test_a_run_has_the_name_of_its_folder_unless_another_one_has_it(tmp_path):
    folder = tmp_path / "runs"
    for place, value in ((folder, 1), (folder / "runs", 0)):
        with SummaryWriter(str(place)) as writer:
            add_attention(writer, "a", np.array([[value, 1 - value]]), ["b", "c"], ["a"], 0)
    found = read_log_folder(folder)
    assert len({run["run"] for run in found["index"]["runs"]}) == 2
    assert len({view["run"] for view in found["views"]}) == 2
    assert export_html(folder)
