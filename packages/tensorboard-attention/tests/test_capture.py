"""Attention of models that know nothing of this program: what is recorded is what the eager computation has."""

import inspect
import math
import os
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import tensorboard_attention
from tensorboard_attention import capture
from tensorboard_attention.event_files import read_log_folder, read_steps

B, S, T, D, H = 2, 7, 5, 16, 4
"""Sentences, source, target, vector, heads."""


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def source_padding(length=S):
    """True where the second sentence has ended."""
    is_padding = torch.zeros(B, length, dtype=torch.bool)
    is_padding[1, length - 2 :] = True
    return is_padding


def softmax(scores, mask=None):
    """In numpy, from scores in float64; mask: True is left out."""
    scores = np.where(False if mask is None else mask, -np.inf, scores)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def array(tensor):
    return tensor.detach().double().numpy()


def by_projections(attention, query, key, mask):
    """Weights (B, H, T, S) of an `nn.MultiheadAttention`, from its parameters."""
    weight, bias = array(attention.in_proj_weight), array(attention.in_proj_bias)
    split = lambda x: x.reshape(*x.shape[:2], H, -1).swapaxes(1, 2)  # noqa: E731
    q = split(array(query) @ weight[:D].T + bias[:D])
    k = split(array(key) @ weight[D : 2 * D].T + bias[D : 2 * D])
    return softmax(q @ k.swapaxes(2, 3) / math.sqrt(D / H), mask)


def all_layers(found, kind):
    return [array(layer.weights) for layer in found.kinds()[kind]]


def assert_same(found, expected, atol=1e-6):
    assert found.problems == []
    assert set(found.kinds()) == set(expected)
    for kind, layers in expected.items():
        shown = all_layers(found, kind)
        assert len(shown) == len(layers), kind
        for weights, wanted in zip(shown, layers, strict=True):
            np.testing.assert_allclose(weights, wanted, atol=atol, err_msg=kind)


# ---- PyTorch's own


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_transformer_of_torch_in_the_middle_of_training(batch_first):
    model = nn.Transformer(D, H, 2, 2, 32, dropout=0.5, batch_first=batch_first)
    source, target = torch.randn(B, S, D), torch.randn(B, T, D)
    sides = (source, target) if batch_first else (source.transpose(0, 1), target.transpose(0, 1))
    causal = nn.Transformer.generate_square_subsequent_mask(T)
    padding = source_padding()
    masks = {"tgt_mask": causal, "src_key_padding_mask": padding, "memory_key_padding_mask": padding}
    state = torch.get_rng_state()
    with capture(model) as found:
        model(*sides, tgt_is_causal=True, **masks)
    assert model.training
    assert torch.backends.mha.get_fastpath_enabled()
    assert torch.equal(torch.get_rng_state(), state)
    model.eval()
    hidden = padding[:, None, None].numpy()
    expected = {name: [] for name in ("encoder self-attention", "decoder self-attention", "cross-attention")}
    torch.backends.mha.set_fastpath_enabled(False)
    for layer in model.encoder.layers:
        expected["encoder self-attention"].append(by_projections(layer.self_attn, source, source, hidden))
        source = layer(source if batch_first else source.transpose(0, 1), src_key_padding_mask=padding)
        source = source if batch_first else source.transpose(0, 1)
    memory, future = model.encoder.norm(source), np.triu(np.ones((T, T), bool), 1)
    for layer in model.decoder.layers:
        expected["decoder self-attention"].append(by_projections(layer.self_attn, target, target, future))
        mix = layer.self_attn if batch_first else partial(_swapped, layer.self_attn)
        middle = layer.norm1(target + mix(target, target, target, attn_mask=causal)[0])
        expected["cross-attention"].append(by_projections(layer.multihead_attn, middle, memory, hidden))
        mix = layer.multihead_attn if batch_first else partial(_swapped, layer.multihead_attn)
        middle = layer.norm2(middle + mix(middle, memory, memory, key_padding_mask=padding)[0])
        target = layer.norm3(middle + layer.linear2(F.relu(layer.linear1(middle))))
    torch.backends.mha.set_fastpath_enabled(True)
    assert_same(found, expected)


def _swapped(attention, *tensors, **options):
    output, weights = attention(*(each.transpose(0, 1) for each in tensors), **options)
    return output.transpose(0, 1), weights


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_the_effect_of_leaving_out_stands_beside_cross_attention(tmp_path):
    model = nn.Transformer(D, H, 1, 1, 32, dropout=0.5, batch_first=True)
    output, source, target = nn.Linear(D, 9), torch.randn(B, S, D), torch.randn(B, T, D)

    def effect(sentence, is_kept):
        kept = torch.from_numpy(is_kept)
        features = model(
            source[[sentence] * len(kept)],
            target[[sentence] * len(kept)],
            src_key_padding_mask=~kept,
            memory_key_padding_mask=~kept,
        )
        return output(features).log_softmax(dim=-1)[..., 4]

    with capture(model, tmp_path, 3, effect=effect):
        model(source, target)
    assert model.training
    model.eval()
    for sentence in range(B):
        tag = f"probe {sentence + 1}/cross-attention"
        (record,) = read_steps(tmp_path, tag, most=1, most_bytes=1 << 20).values()

        def said(places, sentence=sentence):
            features = model(source[sentence, places][None], target[sentence][None])
            return array(output(features).log_softmax(dim=-1)[0, :, 4])

        whole = said(list(range(S)))
        expected = [whole - said([j for j in range(S) if j != left_out]) for left_out in range(S)]
        np.testing.assert_allclose(record.effects(), np.transpose(expected), atol=1e-5)
    (other,) = read_steps(tmp_path, "probe 1/encoder self-attention", most=1, most_bytes=1 << 20).values()
    assert other.effects() is None


def test_an_encoder_in_evaluation_mode_whose_fast_path_hides_all():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 32, batch_first=True), 2).eval()
    states, padding = torch.randn(B, S, D), source_padding()
    with warnings.catch_warnings(), capture(model) as found:
        warnings.simplefilter("ignore")  # nested tensors are a prototype
        model(states, src_key_padding_mask=padding)
    first = by_projections(model.layers[0].self_attn, states, states, padding[:, None, None].numpy())
    assert len(found.layers) == 2
    np.testing.assert_allclose(array(found.layers[0].weights), first, atol=1e-6)


class Attend(nn.Module):
    """One call of `F.scaled_dot_product_attention`."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key, value):
        return F.scaled_dot_product_attention(query, key, value, **self.options)


MASK = torch.rand(B, 1, T, S, generator=torch.Generator().manual_seed(1)) > 0.4
MASK[..., 0] = True
BIAS = torch.randn(B, 1, T, S, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ({}, lambda scores: scores),
        ({"scale": 0.3}, lambda scores: scores * math.sqrt(D) * 0.3),
        ({"attn_mask": MASK}, lambda scores: np.where(MASK, scores, -np.inf)),
        ({"attn_mask": BIAS}, lambda scores: scores + array(BIAS)),
        ({"is_causal": True}, lambda scores: np.where(np.tri(T, S, dtype=bool), scores, -np.inf)),
        ({"dropout_p": 0.9}, lambda scores: scores),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_every_argument_of_scaled_dot_product_attention(options, change, dtype):
    query, key = torch.randn(B, H, T, D).to(dtype), torch.randn(B, H, S, D).to(dtype)
    options = {
        k: v.to(dtype) if k == "attn_mask" and v.is_floating_point() else v for k, v in options.items()
    }
    with capture(Attend(**options)) as found:
        found_output = Attend(**options)(query, key, key)
    (layer,) = found.layers
    scores = change(array(query) @ array(key).swapaxes(2, 3) / math.sqrt(D))
    tolerance = (
        1e-2 if dtype == torch.bfloat16 and "attn_mask" in options else 1e-6
    )  # the mask is rounded, too
    np.testing.assert_allclose(array(layer.weights), softmax(scores), atol=tolerance)
    assert found_output.dtype == dtype


def test_heads_that_share_keys():
    query, key = torch.randn(B, 4, T, D), torch.randn(B, 2, S, D)
    with capture(Attend(enable_gqa=True)) as found:
        Attend(enable_gqa=True)(query, key, key)
    shared = array(key).repeat(2, axis=1)
    expected = softmax(array(query) @ shared.swapaxes(2, 3) / math.sqrt(D))
    np.testing.assert_allclose(array(found.layers[0].weights), expected, atol=1e-6)


def test_a_row_that_may_attend_to_nothing_is_0_and_never_nan():
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[2] = False
    query, key = torch.randn(B, H, T, D), torch.randn(B, H, S, D)
    attention = nn.MultiheadAttention(D, H, batch_first=True)
    with capture(Attend(attn_mask=mask)) as found:
        Attend(attn_mask=mask)(query, key, key)
    with capture(attention) as by_module:
        attention(torch.randn(B, T, D), *[torch.randn(B, S, D)] * 2, attn_mask=~mask)
    for each in (found, by_module):
        sums = each.layers[0].weights.sum(dim=-1)[0, 0]
        torch.testing.assert_close(sums, torch.tensor([1.0, 1, 0, 1, 1]))


class Block(nn.Module):
    """A block of a small GPT: one linear layer for all of queries, keys and values, causal self-attention."""

    def __init__(self, fused):
        super().__init__()
        self.ln_1, self.c_attn, self.c_proj = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fused, self.dropout = fused, nn.Dropout(0.3)

    def forward(self, x):
        q, k, v = self.c_attn(self.ln_1(x)).unflatten(2, (3, H, D // H)).permute(2, 0, 3, 1, 4)
        if self.fused:
            y = F.scaled_dot_product_attention(
                q, k, v, dropout_p=0.3 if self.training else 0.0, is_causal=True
            )
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(D // H)
            is_future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            y = self.dropout(F.softmax(scores.masked_fill(is_future, -math.inf), dim=-1)) @ v
        return x + self.c_proj(y.transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    "wrap", [lambda model: model, partial(torch.compile, backend="eager")], ids=["plain", "compiled"]
)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "by hand"])
def test_a_small_gpt(fused, wrap, tmp_path):
    blocks = nn.Sequential(nn.Embedding(20, D), Block(fused), Block(fused), nn.Linear(D, 20))
    ids = torch.randint(20, (1, T))
    with capture(wrap(blocks), tmp_path, 3, source_tokens=list("abcde")) as found:
        wrap(blocks)(ids)
    expected, x = [], blocks[0](ids)
    for block in blocks[1:3]:
        q, k, _ = np.split(array(block.c_attn(block.ln_1(x))), 3, axis=-1)
        q, k = (each.reshape(1, T, H, -1).swapaxes(1, 2) for each in (q, k))
        future = np.triu(np.ones((T, T), bool), 1)
        expected.append(softmax(q @ k.swapaxes(2, 3) / math.sqrt(D // H), future))
        x = block.eval()(x)
    assert_same(found, {"self-attention": expected})
    (record,) = read_steps(tmp_path, "probe/self-attention", most=1, most_bytes=10**6).values()
    assert record.source == record.target == tuple("abcde")
    assert record.layers == ("1", "2")
    np.testing.assert_allclose(record.weights / 65535, np.concatenate(expected), atol=1e-5)


# ---- Hugging Face. The oracle is its own eager implementation

VOCABULARY = [f"w{number}" for number in range(30)]


class Vocabulary:
    """What of a tokenizer is needed."""

    pad_token = "w0"

    def convert_ids_to_tokens(self, ids):
        return [VOCABULARY[token] for token in ids]


def both_of(make, config, **more):
    """The model as users have it, by the fused kernel, and the same that returns its weights."""
    sizes = {"vocab_size": 30, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1} | more
    fused, eager = (make(config(**sizes, attn_implementation=kind)) for kind in ("sdpa", "eager"))
    for parameter in fused.parameters():
        if parameter.dim() > 1 and parameter.std() < 0.05:  # with which all attention is even
            parameter.data *= 8
    eager.load_state_dict(fused.state_dict())
    return fused.train(), eager.eval()


def ids_and_mask(length):
    is_token = ~source_padding(length)
    return torch.randint(2, 30, (B, length)) * is_token, is_token.long()


ENCODER_DECODER = {
    "d_model": D, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": H,
    "decoder_attention_heads": H, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "decoder_start_token_id": 1,
}  # fmt: skip


def huggingface(name):
    """Both models, and the arguments of a call."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    ids, is_token = ids_and_mask(S)
    one = {"input_ids": ids, "attention_mask": is_token}
    two = one | {"decoder_input_ids": torch.randint(2, 30, (B, T))}
    small = {"hidden_size": D, "num_hidden_layers": 2, "num_attention_heads": H, "intermediate_size": 32}
    get = partial(getattr, transformers)
    if name == "Marian":
        sizes = ENCODER_DECODER | {"max_position_embeddings": 16, "forced_eos_token_id": 1}
        return *both_of(get("MarianMTModel"), get("MarianConfig"), **sizes), two
    if name == "T5":
        sizes = {
            "d_model": D,
            "d_kv": 4,
            "d_ff": 32,
            "num_layers": 2,
            "num_heads": H,
            "decoder_start_token_id": 0,
        }
        return *both_of(get("T5ForConditionalGeneration"), get("T5Config"), **sizes), two
    if name == "Whisper":
        sizes = ENCODER_DECODER | {"num_mel_bins": 4, "max_source_positions": 12, "max_target_positions": 16}
        call = {"input_features": torch.randn(B, 4, 24), "decoder_input_ids": two["decoder_input_ids"]}
        return *both_of(get("WhisperForConditionalGeneration"), get("WhisperConfig"), **sizes), call
    if name == "BERT":
        return *both_of(get("BertModel"), get("BertConfig"), **small), one
    if name == "Llama":
        sizes = small | {"num_key_value_heads": 2, "bos_token_id": 1}
        return *both_of(get("LlamaForCausalLM"), get("LlamaConfig"), **sizes), one
    sizes = small | {"image_size": 6, "patch_size": 2}
    return *both_of(get("ViTModel"), get("ViTConfig"), **sizes), {"pixel_values": torch.randn(B, 3, 6, 6)}


KINDS = {
    "encoder_attentions": "encoder self-attention",
    "decoder_attentions": "decoder self-attention",
    "cross_attentions": "cross-attention",
    "attentions": "self-attention",
}


@pytest.mark.parametrize("name", ["Marian", "T5", "Whisper", "BERT", "Llama", "ViT"])
def test_a_model_of_hugging_face(name, tmp_path):
    fused, eager, call = huggingface(name)
    tokenizer = Vocabulary() if "input_ids" in call else None
    with capture(fused, tmp_path, 1, tokenizer=tokenizer) as found:
        fused(**call)
    output = eager(**call, output_attentions=True)
    expected = {kind: list(map(array, output[key])) for key, kind in KINDS.items() if output.get(key)}
    assert_same(found, expected)
    with capture(eager) as by_hand:  # whatever computes them
        eager(**call)
    assert_same(by_hand, expected)
    views = {view["tag"]: view for view in read_log_folder(tmp_path)["views"]}
    assert set(views) == {f"probe {n}/{kind}" for n in (1, 2) for kind in expected}
    for tag, view in views.items():
        (source,), (target,) = view["sources"], view["targets"]
        of_sentence = int(tag[6]) - 1
        tokens = {"encoder": "input_ids", "decoder": "decoder_input_ids"}.get(tag[8:15], "input_ids")
        if tokenizer is None:
            assert not any((*source, *target))
            continue
        ids = [token for token in call[tokens][of_sentence].tolist() if token or tag[8:15] == "decoder"]
        assert source == tuple(VOCABULARY[token] for token in ids)
        if "cross" in tag:
            assert len(target) == T


def test_generating_token_by_token_gives_the_rows_of_one_call():
    fused, eager, call = huggingface("Marian")
    with capture(fused) as found:
        ids = fused.generate(call["input_ids"], attention_mask=call["attention_mask"], max_new_tokens=4)
    output = eager(**call | {"decoder_input_ids": ids[:, :-1]}, output_attentions=True)
    kinds = {kind: list(map(array, output[key])) for key, kind in KINDS.items() if output.get(key)}
    assert_same(found, kinds)


def test_a_loop_that_reads_all_tokens_so_far_gives_the_rows_of_one_call():
    model = nn.Transformer(D, H, 1, 1, 32, batch_first=True)
    source, target = torch.randn(B, S, D), torch.randn(B, T, D)
    mask = nn.Transformer.generate_square_subsequent_mask
    with capture(model) as once:
        model(source, target, tgt_mask=mask(T))
    with capture(model) as looped:
        for length in range(1, T + 1):
            model(source, target[:, :length], tgt_mask=mask(length))
    kinds = {kind: [array(layer.weights) for layer in layers] for kind, layers in once.kinds().items()}
    assert set(kinds) == {"encoder self-attention", "decoder self-attention", "cross-attention"}
    assert_same(looped, kinds)


def test_beams_are_refused_by_name():
    fused, _, call = huggingface("Marian")
    options = {"attention_mask": call["attention_mask"], "max_new_tokens": 3, "num_beams": 2}
    with (
        pytest.warns(UserWarning, match=r"decoder.*beams"),
        capture(fused, source_tokens=[["a"]] * B) as found,
    ):
        fused.generate(call["input_ids"], **options)
    assert set(found.kinds()) == {"self-attention"}  # of the encoder, which runs once


# ---- Recurrent decoders


class LocationSensitiveAttention(nn.Module):
    """As Tacotron 2 has it: previous weights and their sum are read by a convolution."""

    def __init__(self):
        super().__init__()
        self.query, self.memory, self.location = nn.Linear(D, 8), nn.Linear(D, 8), nn.Linear(4, 8)
        self.convolution, self.v = nn.Conv1d(2, 4, 3, padding=1), nn.Linear(8, 1)

    def forward(self, attention_hidden_state, memory, processed_memory, attention_weights_cat, mask):
        location = self.location(self.convolution(attention_weights_cat).transpose(1, 2))
        query = self.query(attention_hidden_state)[:, None]
        scores = self.v(torch.tanh(query + location + processed_memory)).squeeze(-1)
        weights = self.normalized(scores.masked_fill(mask, -math.inf))
        return torch.bmm(weights[:, None], memory).squeeze(1), weights

    def normalized(self, scores):
        return F.softmax(scores, dim=1)


class Tacotron(nn.Module):
    """Characters, and a decoder that is given the frames of sound."""

    def __init__(self, attention):
        super().__init__()
        self.encoder, self.attention_layer = nn.Embedding(30, D), attention
        self.cell = nn.LSTMCell(2 * D, D)
        self.told = []

    def forward(self, text, frames, mask):
        memory = self.encoder(text)
        processed, state = self.attention_layer.memory(memory), None
        weights = total = torch.zeros(memory.shape[:2])
        context = torch.zeros(len(memory), D)
        for frame in frames.unbind(1):
            state = self.cell(torch.cat([F.dropout(frame, 0.5, training=True), context], 1), state)
            history = torch.stack([weights, total], 1)
            context, weights = self.attention_layer(state[0], memory, processed, history, mask)
            total = total + weights
            self.told.append(weights)
        return context


class OwnSoftmax(LocationSensitiveAttention):
    """Normalizes in a way that no mode can know."""

    def normalized(self, scores):
        powers = scores.exp()
        return powers / powers.sum(dim=1, keepdim=True)


@pytest.mark.parametrize(
    ("attention", "modules"),
    [
        (LocationSensitiveAttention, ()),
        (OwnSoftmax, "attention_layer"),
        (OwnSoftmax, {"attention_layer": lambda output: output[1]}),
    ],
)
def test_a_recurrent_decoder_of_speech_has_a_row_for_each_frame(attention, modules, tmp_path):
    model = Tacotron(attention())
    call = torch.randint(30, (B, S)), torch.randn(B, T, D), source_padding()
    with capture(model, tmp_path, source_tokens=[list("speaker"), list("speak")], modules=modules) as found:
        model(*call)
    expected = array(torch.stack(model.told, dim=1))[:, None]
    assert_same(found, {"cross-attention": [expected]})
    (record,) = read_steps(tmp_path, "probe 2/cross-attention", most=1, most_bytes=10**6).values()
    assert record.source == tuple("speak")
    assert set(record.target) == {""}
    np.testing.assert_allclose(record.weights[0, 0] / 65535, expected[1, 0, :, :5], atol=1e-5)


class BahdanauAttention(nn.Module):
    """As JoeyNMT's: keys are projected once, the mask says what is a token."""

    def __init__(self):
        super().__init__()
        self.key_layer, self.query_layer = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.energy_layer, self.softmax = nn.Linear(D, 1, bias=False), nn.Softmax(dim=-1)

    def forward(self, query, mask, values):
        scores = self.energy_layer(torch.tanh(self.query_layer(query) + self.key_layer(values)))
        weights = self.softmax(scores.squeeze(2)[:, None].masked_fill(~mask, -math.inf))
        return weights @ values, weights


class RecurrentDecoder(nn.Module):
    """As JoeyNMT's: a GRU with input feeding, which returns its weights."""

    def __init__(self):
        super().__init__()
        self.rnn, self.attention = nn.GRU(2 * D, D, batch_first=True), BahdanauAttention()
        self.att_vector_layer = nn.Linear(2 * D, D)

    def forward(self, trg_embed, encoder_output, src_mask):
        fed, hidden, all_weights = torch.zeros(len(trg_embed), 1, D), None, []
        for step in trg_embed.split(1, dim=1):
            query, hidden = self.rnn(torch.cat([step, fed], dim=2), hidden)
            context, weights = self.attention(query, src_mask, encoder_output)
            fed = torch.tanh(self.att_vector_layer(torch.cat([query, context], dim=2)))
            all_weights.append(weights)
        return fed, torch.cat(all_weights, dim=1)


@pytest.mark.parametrize("modules", [(), "attention", ""], ids=["found", "of a step", "of the decoder"])
def test_the_recurrent_decoder_of_joeynmt(modules):
    decoder = RecurrentDecoder()
    call = torch.randn(B, T, D), torch.randn(B, S, D), ~source_padding()[:, None]
    with capture(decoder, modules=(modules,) if modules == "" else modules) as found:
        decoder(*call)
    assert_same(found, {"cross-attention": [array(decoder.eval()(*call)[1])[:, None]]})


# ---- Attention by hand: heads and sentences in one dimension


def folded(x, heads):
    """Vectors (B, T, D) as (B * heads, T, D / heads)."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2).flatten(0, 1)


class HandAttention(nn.Module):
    """Has a softmax over (B * heads, T, S)."""

    def __init__(self, heads, is_batch_first=True):
        super().__init__()
        self.heads, self.is_batch_first = heads, is_batch_first

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        if not self.is_batch_first:
            x, memory = x.transpose(0, 1), memory.transpose(0, 1)
        if x.dim() == 2:  # of one target token
            x = x[:, None]
        memory = folded(memory, self.heads)
        self.weights = (folded(x, self.heads) @ memory.transpose(1, 2)).softmax(dim=-1)
        return (self.weights @ memory).unflatten(0, (-1, self.heads)).transpose(1, 2).flatten(2)


class FoldedAttention(nn.Module):
    """Is given heads as sentences."""

    def forward(self, x):
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x


def of_heads(x, memory, heads):
    """Weights (B, heads, T, S) of `HandAttention`."""
    split = lambda x: array(x).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)  # noqa: E731
    return softmax(split(x) @ split(memory).swapaxes(2, 3))


SIZES = [
    *[(1, 5, 5, 4), (1, 4, 4, 4), (1, 1, 1, 4), (2, 4, 4, 2), (4, 2, 2, 2), (4, 4, 4, 1), (8, 4, 4, 2)],
    *[(1, 1, 4, 4), (1, 1, 8, 8), (2, 4, 2, 2), (2, 2, 4, 4), (4, 4, 2, 1), (2, 1, 2, 2), (3, 3, 9, 1)],
]
"""Sentences, target, source, heads."""


@pytest.mark.parametrize("is_batch_first", [True, False], ids=["batch first", "batch second"])
@pytest.mark.parametrize(("sentences", "rows", "columns", "heads"), SIZES)
def test_heads_and_sentences_are_told_apart_whatever_their_numbers(
    sentences, rows, columns, heads, is_batch_first
):
    x, memory = torch.randn(sentences, rows, 16), torch.randn(sentences, columns, 16)
    model = HandAttention(heads, is_batch_first)
    given = [x] if rows == columns else [x, memory]
    with capture(model) as found:
        model(*(each if is_batch_first else each.transpose(0, 1).contiguous() for each in given))
    kind = "self-attention" if rows == columns else "cross-attention"
    assert_same(found, {kind: [of_heads(x, given[-1], heads)]})


@pytest.mark.parametrize("columns", [2, 4, 7])
def test_heads_of_a_decoder_of_one_token_after_the_other(columns):
    state, memory = torch.randn(2, 16), torch.randn(2, columns, 16)
    model = HandAttention(4)
    with capture(model) as found:
        model(state, memory)
    assert_same(found, {"cross-attention": [of_heads(state[:, None], memory, 4)]})


def test_a_sentence_without_a_batch():
    model = nn.MultiheadAttention(D, H)
    batch, other = torch.randn(1, H, D), torch.randn(H, D)
    x = batch[0]
    with capture(model) as found:
        model(x, batch[0], batch[0])  # views of the same values
    assert found.layers[0].weights.shape == (1, H, H, H)
    assert not found.layers[0].is_cross
    with capture(model) as found:
        model(x, other, other)
    assert found.layers[0].is_cross

    class UnbatchedAttention(nn.Module):
        def forward(self, x):
            heads = x.unflatten(1, (H, -1)).transpose(0, 1)
            return torch.softmax(heads @ heads.transpose(1, 2), dim=-1) @ heads

    model = UnbatchedAttention()
    with capture(model) as found:
        model(x)
    assert_same(found, {"self-attention": [of_heads(x[None], x[None], H)]})


class SentencesAttention(nn.Module):
    """Computes the weights of one sentence after the other."""

    def forward(self, queries, keys):
        return [(query @ key.T).softmax(-1) @ key for query, key in zip(queries, keys, strict=True)]


class WindowAttention(nn.Module):
    def forward(self, query, keys):
        return (query @ keys.transpose(1, 2)).softmax(-1) @ keys


class Window(nn.Module):
    """Keeps the keys of the last three tokens."""

    def __init__(self):
        super().__init__()
        self.attention = WindowAttention()

    def forward(self, queries, keys):
        return [self.attention(queries[:, [t]], keys[:, max(0, t - 2) : t + 1]) for t in range(keys.size(1))]


@pytest.mark.parametrize(
    ("model", "call", "said"),
    [
        (SentencesAttention(), (torch.randn(3, 5, D), torch.randn(3, 7, D)), "are of one sentence"),
        (Window(), (torch.randn(3, 5, D), torch.randn(3, 5, D)), "in a window"),
    ],
    ids=["sentences", "window"],
)
def test_rows_that_belong_to_several_sentences_or_places_are_named(model, call, said):
    with pytest.warns(UserWarning, match=said), capture(model) as found:
        model(*call)
    assert not found.layers


class FourWordsAttention(nn.Module):
    """Has a softmax over (B, heads, T, T)."""

    def forward(self, x):
        heads = x.unflatten(2, (2, -1)).transpose(1, 2)
        return torch.softmax(heads @ heads.transpose(2, 3), dim=-1) @ heads


class Windows(nn.Module):
    """Attends within windows of four places, each a part of the batch, as a Swin transformer does."""

    def __init__(self):
        super().__init__()
        self.attention = FourWordsAttention()

    def forward(self, x):
        return self.attention(x.reshape(-1, 4, D))


def test_windows_are_said_not_to_be_sentences():
    for images, said in ((2, "8 matrices for a batch of 2"), (1, "4 matrices for a batch of 1")):
        model = Windows()
        with pytest.warns(UserWarning, match=said), capture(model):
            model(torch.randn(images, 16, D))


class HeadsFirstAttention(nn.Module):
    """Has a softmax over (heads * B, T, S), made of a dimension of its own, or of parts."""

    def __init__(self, heads, fold):
        super().__init__()
        self.heads, self.fold = heads, fold

    def forward(self, x):
        x = self.fold(x, self.heads)
        return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x


FOLDS = {
    "view": lambda x, heads: x.unflatten(2, (heads, -1)).permute(2, 0, 1, 3).contiguous().view(-1, x.size(1), D // heads),
    "reshape": lambda x, heads: x.unflatten(2, (heads, -1)).permute(2, 0, 1, 3).reshape(-1, x.size(1), D // heads),
    "flatten": lambda x, heads: x.unflatten(2, (heads, -1)).permute(2, 0, 1, 3).flatten(0, 1),
    "cat": lambda x, heads: torch.cat(x.chunk(heads, dim=2), dim=0),
    "stack": lambda x, heads: torch.stack(x.chunk(heads, dim=2)).flatten(0, 1),
    "sentences first": folded,
}  # fmt: skip


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(("sentences", "heads"), [(1, 4), (2, 4), (4, 2), (4, 4), (3, 1)])
def test_heads_may_come_before_sentences(sentences, heads, fold):
    model, x = HeadsFirstAttention(heads, FOLDS[fold]), torch.randn(sentences, T, D)
    with capture(nn.Sequential(HandAttention(heads), model)) as found:
        model(x)
    assert_same(found, {"self-attention": [of_heads(x, x, heads)]})


def test_two_sentences_need_two_names(tmp_path):
    with pytest.raises(ValueError, match="name"), capture(Block(fused=True), tmp_path, tag=["a", "a"]):
        pass


def test_a_sentence_without_a_name_is_said_to_be_left_out(tmp_path):
    model = HandAttention(H)
    with (
        pytest.warns(UserWarning, match="of 1 sentences.*no name"),
        capture(model, tmp_path, tag=["a"]) as found,
    ):
        model(torch.randn(B, T, D))
    assert read_steps(tmp_path, "a/self-attention", most=1, most_bytes=10**6).keys() == {0}
    assert len(found.problems) == 1


class Folding(nn.Module):
    """Folds heads into sentences outside of its attention."""

    def __init__(self):
        super().__init__()
        self.embedding, self.attention = nn.Embedding(30, D), FoldedAttention()

    def forward(self, input_ids):
        self.x = self.embedding(input_ids)
        return self.attention(folded(self.x, H))


@pytest.mark.parametrize("told", ["source_tokens", "tokenizer"])
def test_tokens_and_a_tokenizer_say_how_many_sentences_there_are(told, tmp_path):
    model, ids = Folding(), torch.randint(1, 30, (B, H))
    tokens = {"source_tokens": [list("abcd")] * B, "tokenizer": Vocabulary()}[told]
    with capture(model, tmp_path, **{told: tokens}) as found:
        model(ids)
    assert_same(found, {"self-attention": [of_heads(model.x, model.x, H)]})
    assert len(read_log_folder(tmp_path)["views"]) == B


def test_heads_that_another_module_folds_are_known_without_tokens():
    model, ids = Folding(), torch.randint(1, 30, (B, H))
    with capture(model) as found:
        model(ids)
    assert_same(found, {"self-attention": [of_heads(model.x, model.x, H)]})


@pytest.mark.parametrize("number", [1, 4])
def test_tokens_of_another_number_of_sentences_than_the_folded_are_named(number, tmp_path):
    model, tokens = HandAttention(H), [list("abcde")] * number
    with pytest.warns(UserWarning, match=f"tokens of {number} sentences, and the batch has 2"):  # noqa: SIM117
        with capture(model, tmp_path, source_tokens=tokens):
            model(torch.randn(2, T, D))


# ---- Self or cross


class NamedAttention(nn.Module):
    """Is given sequences by any names, and attends from the first to that of a place."""

    def __init__(self, names, place=0):
        super().__init__()

        def forward(*given):
            return torch.softmax(given[0] @ given[place].transpose(1, 2), dim=-1) @ given[place]

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        forward.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names.split()])
        self.forward = forward


def sequence(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


@pytest.mark.parametrize("has_own", [True, False], ids=["within", "alone"])
@pytest.mark.parametrize(
    ("names", "place", "others", "kind"),
    [
        ("hidden_states residual", 0, [(B, T, D)], "self-attention"),
        ("hidden_states residual alibi attention_mask", 0, [(B, T, D), (B * H, 1, T), (B, T, T)], "self-attention"),
        ("x skip", 0, [(B, T, D)], "self-attention"),
        ("x time_embedding", 0, [(B, D)], "self-attention"),
        ("x encoder_hidden_states", 1, [(B, T, D)], "cross-attention"),
        ("x encoder_hidden_states residual", 1, [(B, T, D), (B, T, D)], "cross-attention"),
        ("x memory", 1, [(B, T, D)], "cross-attention"),
        ("x y", 1, [(B, S, D)], "cross-attention"),
        ("x y z", 1, [(B, S, D), (B, T, D)], "cross-attention"),
        ("query key", 1, [(B, T, D)], "cross-attention"),
    ],
)  # fmt: skip
def test_only_another_sequence_that_is_attended_to_makes_cross_attention(names, place, others, kind, has_own):
    model = NamedAttention(names, place)
    given = [sequence(B, T, D), *(sequence(*shape, 1).squeeze(-1) for shape in others)]
    with capture(nn.ModuleList([model]) if has_own else model) as found:
        model(*given)
    assert found.problems == []
    assert list(found.kinds()) == [kind]


@pytest.mark.parametrize("place", [0, 1])
def test_names_of_arguments_say_nothing(place):
    model = NamedAttention("x y", place)
    with capture(model) as found:
        model(sequence(B, T, D), sequence(B, T, D, 1).squeeze(-1))
    assert found.problems == []
    assert list(found.kinds()) == [("self-attention", "cross-attention")[place]]


class ProjectedAttention(nn.Module):
    """Attention that another module computes from queries and keys, with heads or without."""

    def __init__(self, has_heads):
        super().__init__()
        self.query, self.key, self.has_heads = nn.Linear(D, D), nn.Linear(D, D), has_heads
        self.dot = NamedAttention("q k", 1)
        if has_heads:
            self.dot = Attend()

    def forward(self, q, k):
        q, k = self.query(q), self.key(k)
        if self.has_heads:
            q, k = (each.unflatten(2, (H, -1)).transpose(1, 2) for each in (q, k))
            return self.dot(q, k, k)
        return self.dot(q, k)


@pytest.mark.parametrize("has_heads", [True, False], ids=["heads", "one head"])
@pytest.mark.parametrize("columns", [None, T, S], ids=["self", "as long", "longer"])
def test_queries_and_keys_are_of_the_sequences_of_the_attention_around(columns, has_heads):
    model, x = ProjectedAttention(has_heads), sequence(B, T, D)
    model.dot.__class__.__name__ = "DotProductAttention"
    with capture(model) as found:
        model(x, x if columns is None else torch.randn(B, columns, D))
    assert list(found.kinds()) == ["self-attention" if columns is None else "cross-attention"]


@pytest.mark.parametrize("length", [2, 1])
def test_bloom_whose_residual_and_alibi_are_no_source(length):
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    config = transformers.BloomConfig(
        vocab_size=30, hidden_size=D, n_layer=2, n_head=H, attn_implementation="eager"
    )
    model, ids = transformers.BloomModel(config), torch.randint(30, (B, length))
    with capture(model) as found:
        model(ids)
    expected = model.eval()(ids, output_attentions=True).attentions
    assert_same(found, {"self-attention": list(map(array, expected))})


# ---- Weights are a copy


class ChangingAttention(nn.Module):
    """Changes its weights in place after the softmax."""

    def __init__(self, change, dtype=torch.float32):
        super().__init__()
        self.change, self.dtype = change, dtype

    def forward(self, x):
        weights = torch.softmax((x @ x.transpose(1, 2)).to(self.dtype), dim=-1)
        self.weights = weights.clone()
        self.context = weights @ x.to(self.dtype)
        return weights, self.change(weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    "change",
    [
        lambda weights: weights.mul_(0.5),
        lambda weights: F.dropout(weights, 0.5, training=True, inplace=True),
        lambda weights: weights[:, 0].zero_(),
        lambda weights: torch.softmax(torch.ones_like(weights), dim=-1, out=weights),
    ],
    ids=["scaled", "dropout", "a view", "out"],
)
def test_weights_are_those_before_the_model_changes_them(change, dtype):
    model = ChangingAttention(change, dtype)
    x = torch.randn(B, T, D)
    with capture(model) as found:
        model(x)
    assert torch.equal(found.layers[0].weights[:, 0], model.weights.to(found.layers[0].weights.dtype))


def test_weights_that_a_named_module_returns_are_those_before_others_change_them():
    inner = ChangingAttention(lambda weights: weights.sum())

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            self.inner(x)[0].zero_()

    model = Outer()
    with capture(model, modules={"inner": lambda output: output[0]}) as found:
        model(torch.randn(B, T, D))
    assert torch.equal(found.layers[0].weights[:, 0], inner.weights)


# ---- Layers that share a module


class Shared(nn.Module):
    """One layer that is run several times."""

    def __init__(self, layer, times=3):
        super().__init__()
        self.layer, self.times = layer, times

    def forward(self, x, *memory):
        for _ in range(self.times):
            x = self.layer(x, *memory)
        return x


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize(
    ("layer", "kinds"),
    [
        (HandAttention(H), ["self-attention"]),
        (nn.TransformerEncoderLayer(D, H, 32, batch_first=True), ["self-attention"]),
        (nn.TransformerDecoderLayer(D, H, 32, batch_first=True), ["self-attention", "cross-attention"]),
    ],
    ids=["by hand", "encoder", "decoder"],
)
def test_a_shared_module_is_as_many_layers_whatever_the_length(layer, kinds, length):
    model = Shared(layer)
    memory = [torch.randn(1, S, D)] if len(kinds) == 2 else []
    with capture(model) as found:
        model(torch.randn(1, length, D), *memory)
    assert found.problems == []
    shapes = {
        kind: [tuple(layer.weights.shape) for layer in layers] for kind, layers in found.kinds().items()
    }
    columns = {"self-attention": length, "cross-attention": S}
    assert shapes == {kind: [(1, H, length, columns[kind])] * 3 for kind in kinds}


def test_a_shared_module_of_a_model_that_runs_for_each_token_is_named():
    model = Shared(nn.TransformerDecoderLayer(D, H, 32, batch_first=True))
    with warnings.catch_warnings(), capture(model) as found:
        warnings.simplefilter("ignore")
        for _ in range(2):
            model(torch.randn(1, 1, D), torch.randn(1, S, D))
    assert found.layers == []
    assert len(found.problems) == 2


def test_rows_of_a_source_of_one_token_stay_rows():
    call = torch.randint(30, (B, 1)), torch.randn(B, T, D), torch.zeros(B, 1, dtype=torch.bool)
    model = Tacotron(LocationSensitiveAttention())
    with capture(model) as found:
        model(*call)
    assert_same(found, {"cross-attention": [array(torch.stack(model.told, dim=1))[:, None]]})


# ---- What cannot be captured is named


def test_a_kernel_that_nobody_knows_is_named():
    model = nn.Sequential(nn.Linear(D, D), UnknownAttention())
    with pytest.warns(UserWarning, match="UnknownAttention"), capture(model) as found:
        model(torch.randn(B, T, D))
    assert found.layers == []


class UnknownAttention(nn.Module):
    def forward(self, x):
        powers = (x @ x.transpose(1, 2)).exp()
        return powers / powers.sum(dim=-1, keepdim=True) @ x


@pytest.mark.parametrize(
    "call",
    [
        lambda model: model(torch.nested.nested_tensor([torch.randn(H, 3, D), torch.randn(H, 2, D)])),
        lambda model: model(torch.nested.nested_tensor([torch.randn(H, 3, D)] * 2).contiguous()),
        lambda model: None,
        lambda model: [model(torch.randn(B, H, T, D)) for _ in range(2)],
    ],
    ids=["nested", "nested, alike", "never called", "called twice"],
)
def test_what_does_not_fit_is_named(call):
    class Itself(Attend):
        def forward(self, x):
            return super().forward(x.contiguous(), x, x)

    model = Itself()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with capture(model) as found:
            call(model)
    assert found.layers == []
    assert len(found.problems) == 1


def test_a_scripted_part_is_named():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = nn.Sequential(torch.jit.script(nn.Linear(D, D)), Block(fused=True))
    with pytest.warns(UserWarning, match="0 is a ScriptModule"), capture(model):
        model(torch.randn(B, T, D))


def test_tokens_that_do_not_fit_are_named(tmp_path):
    model, states = nn.TransformerEncoderLayer(D, H, 32, batch_first=True), torch.randn(1, T, D)
    for tokens, said in (("abcdefgh", "8 tokens for 5"), ("ab", "the others are attended to")):
        with pytest.warns(UserWarning, match=said), capture(model, tmp_path, source_tokens=list(tokens)):
            model(states)


@pytest.mark.parametrize("number", [1, 2, 5])
def test_tokens_of_more_or_fewer_sentences_than_the_batch_are_named(number, tmp_path):
    model, states = nn.TransformerEncoderLayer(D, H, 32, batch_first=True), torch.randn(3, T, D)
    tokens = [list("abcde")] * number
    with pytest.warns(UserWarning, match=f"tokens of {number} sentences.*the batch has 3"):  # noqa: SIM117
        with capture(model, tmp_path, source_tokens=tokens) as found:
            model(states)
    assert len(found.problems) == 1
    tags = [tag["tag"] for tag in read_log_folder(tmp_path)["index"]["runs"][0]["tags"]]
    assert tags == [f"probe {n + 1}/self-attention" for n in range(min(number, 3))]


def test_tokens_of_the_sentences_that_are_recorded_are_enough(tmp_path):
    model = nn.TransformerEncoderLayer(D, H, 32, batch_first=True)
    with capture(model, tmp_path, source_tokens=[list("abcde")] * 2, sentences=2) as found:
        model(torch.randn(3, T, D))
    assert found.problems == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sentences": 0}, "sentences=0 must be at least 1"),
        ({"sentences": -1}, "sentences=-1 must be at least 1"),
        ({"source_tokens": "abcd"}, "source_tokens must be a list.*'abcd'"),
        ({"target_tokens": "abcd"}, "target_tokens must be a list.*'abcd'"),
        ({"source_tokens": [["a", "b"], "cd"]}, "source_tokens must be a list"),
    ],
)
def test_text_for_tokens_and_no_sentence_are_refused_before_the_model_runs(options, said, tmp_path):
    with pytest.raises(ValueError, match=said), capture(nn.Linear(D, D), tmp_path, **options):
        pytest.fail("the block has run")


@pytest.mark.parametrize("steps", [0, 2.5, "2"])
def test_records_are_whole_numbers_of_steps_apart(steps):
    pytest.importorskip("lightning")
    with pytest.raises(ValueError, match=f"every_n_steps={steps} must be a whole number"):
        tensorboard_attention.AttentionCapture(torch.randn(1, T, D), every_n_steps=steps)


def test_an_unknown_module_and_an_output_without_weights_are_refused():
    model = nn.Sequential(nn.Linear(D, D))
    with pytest.raises(ValueError, match="no such module"), capture(model, modules="attention"):
        pass
    with pytest.raises(ValueError, match="lambda"), capture(model, modules="0"):
        model(torch.randn(B, T, D))


def test_a_failing_probe_leaves_the_model_as_it_was_and_writes_nothing(tmp_path):
    model = nn.Sequential(nn.MultiheadAttention(D, H), nn.Dropout(0.5))
    model[0].eval()
    with pytest.raises(TypeError), capture(model, tmp_path):
        model(torch.randn(B, T, D))
    assert [each.training for each in (model, *model)] == [True, False, True]
    assert not model[0]._forward_hooks
    assert not model[0]._forward_pre_hooks
    assert torch.is_grad_enabled()
    assert os.listdir(tmp_path) == []


def test_a_long_sound_is_recorded_as_the_mean_of_heads(tmp_path):
    states = torch.randn(1, 16, 600, 4)
    model = Attend()
    with pytest.warns(UserWarning, match="mean"), capture(model, tmp_path) as found:
        model(states, states, states)
    (record,) = read_steps(tmp_path, "probe/self-attention", most=1, most_bytes=10**9).values()
    wanted = found.layers[0].weights.mean(dim=1)
    assert record.marks == ("too large for a record: of each layer the mean of its heads is recorded",)
    np.testing.assert_allclose(record.weights[0] / 65535, wanted, atol=1e-5)


def test_of_a_long_text_the_last_rows_are_kept_and_the_page_says_so(tmp_path):
    torch.manual_seed(1)
    states, model = torch.randn(1, 2, 4096, 4), Attend()
    tokens = [f"w{place}" for place in range(4096)]
    with capture(model, tmp_path, source_tokens=tokens) as found:
        model(states, states, states)
    (layer,) = found.layers
    assert (tuple(layer.weights.shape), layer.first) == ((1, 2, 512, 4096), 3584)
    assert layer.weights.untyped_storage().nbytes() == 4 * 2 * 512 * 4096  # the whole is not held
    wanted = (states[:, :, 3584:] @ states.transpose(-2, -1) / 2).softmax(dim=-1)
    torch.testing.assert_close(layer.weights, wanted)
    (record,) = read_steps(tmp_path, "probe/self-attention", most=1, most_bytes=10**9).values()
    assert record.target == tuple(tokens[3584:])
    assert record.source == tuple(tokens)
    assert record.marks == ("rows 3,585 to 4,096 of 4,096: a record holds no more of so long a text",)
    np.testing.assert_allclose(record.weights[0] / 65535, wanted[0], atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"is_causal": True},
        {"attn_mask": torch.ones(2100, 2100).tril(3).bool()},
        {"attn_mask": torch.linspace(-3, 0, 2100)[None]},
    ],
    ids=["causal", "mask of rows", "mask of columns"],
)
def test_of_a_long_text_the_last_rows_have_their_own_masks(options):
    states, model = torch.randn(1, 1, 2100, 4), Attend(**options)
    with capture(model) as found:
        output = model(states, states, states)
    (layer,) = found.layers
    assert layer.first > 0
    torch.testing.assert_close(layer.weights @ states, output[:, :, layer.first :])


def test_layers_that_share_a_module_are_layers_of_a_long_text_too():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend = Attend()

        def forward(self, states):
            return self.attend(*[self.attend(states, states, states)] * 3)

    model = Twice()
    with capture(model) as found:
        model(torch.randn(1, 1, 2100, 4))
    assert len(found.layers) == 2


def test_effects_of_heads_of_a_long_text_are_refused():
    states, model = torch.randn(1, 1, 2100, 4), Attend()
    with pytest.warns(UserWarning, match="no effects of heads: only the last rows"), capture(model, loss=lambda: model(states, states, states).sum()) as found:  # fmt: skip
        model(states, states, states)
    assert found.layers[0].effects is None


def test_a_sound_that_no_record_holds_is_named(tmp_path):
    states, model = torch.randn(1, 1, 4100, 4), Attend()
    with pytest.warns(UserWarning, match="4100 positions"), capture(model, tmp_path):
        model(states, states, states)
    assert os.listdir(tmp_path) == []


# ---- Lightning, and without torch


def test_the_callback_of_lightning_records_and_changes_nothing(tmp_path):
    import lightning.pytorch as pl

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(D, H, 32, batch_first=True)

        def forward(self, states):
            return self.layer(states)

        def training_step(self, batch):
            return self(batch).square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def trained(callbacks, folder):
        pl.seed_everything(1, verbose=False)
        model = Model()
        logger = pl.loggers.TensorBoardLogger(folder, name="", version="run")
        quiet = {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
        trainer = pl.Trainer(accelerator="cpu", max_steps=5, logger=logger, callbacks=callbacks, **quiet)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer.fit(model, torch.utils.data.DataLoader(torch.randn(12, T, D), batch_size=2))
        return model.state_dict()

    probe = torch.randn(2, T, D)
    watch = tensorboard_attention.AttentionCapture(probe, every_n_steps=2, source_tokens=[list("abcde")] * 2)
    watched, alone = trained([watch], tmp_path / "watched"), trained([], tmp_path / "alone")
    assert all(torch.equal(watched[name], alone[name]) for name in alone)
    (first, second) = read_log_folder(tmp_path / "watched")["views"]
    assert (first["tag"], second["tag"]) == ("probe 1/self-attention", "probe 2/self-attention")
    assert first["steps"] == [0, 2, 4]
    with pytest.raises(ValueError, match="TensorBoardLogger"):
        pl.Trainer(
            accelerator="cpu",
            logger=False,
            callbacks=[watch],
            max_steps=1,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
        ).fit(Model(), torch.utils.data.DataLoader(torch.randn(2, T, D), num_workers=0))


def test_the_package_needs_no_torch():
    without = "import sys; sys.modules['torch'] = sys.modules['lightning'] = None; import tensorboard_attention as t; t.add_attention"
    subprocess.run([sys.executable, "-c", without], check=True)
