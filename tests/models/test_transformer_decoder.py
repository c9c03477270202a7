"""The Transformer decoder: torch's own layer with the same weights, steps in a search, and the names of its heads.

Its formula, with every gradient, is in `tests.oracles`.
"""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from seq2seq.attention import masked_softmax
from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.decoding.forced import force_decode, with_heads
from seq2seq.decoding.greedy import greedy_search
from seq2seq.decoding.int8 import quantized
from seq2seq.decoding.search import beam_search
from seq2seq.models import TransformerDecoder, TransformerEncoder, build_model
from seq2seq.models.decoder import Decoder, num_heads
from seq2seq.models.transformer import positions
from tests.small import batch_of

SOURCES, TARGETS = [[4, 5, 6], [7], [8, 9, 10, 4]], [[4, 5], [6, 7, 8, 9], [5]]


def transformer(tie="none", num_layers=2, heads=2):
    torch.manual_seed(1)
    model = build_model(
        encoder=partial(TransformerEncoder, num_layers=1, heads=2),
        decoder=partial(TransformerDecoder, num_layers=num_layers, heads=heads, feedforward_size=12),
        source_vocab_size=11, target_vocab_size=11, embedding_size=8, tie_embeddings=tie,
    )  # fmt: skip
    return model.double().eval()


def of_torch(layer):
    """A layer of torch with the weights of ours."""
    size, memory_size = layer.second.out_features, layer.cross_attention.keys_values.in_features
    assert size == memory_size
    made = nn.TransformerDecoderLayer(
        size, layer.self_attention.heads, layer.first.out_features, 0.0, batch_first=True, norm_first=True
    ).double()
    pairs = ((made.self_attn, layer.self_attention), (made.multihead_attn, layer.cross_attention))
    weights = {}
    for theirs, ours in pairs:
        name = next(name for name, module in made.named_children() if module is theirs)
        for kind in ("weight", "bias"):
            parts = getattr(ours.query, kind), getattr(ours.keys_values, kind)
            weights[f"{name}.in_proj_{kind}"] = torch.cat(parts)
            weights[f"{name}.out_proj.{kind}"] = getattr(ours.output, kind)
    for number, norm in enumerate(layer.norms, 1):
        weights |= {f"norm{number}.{kind}": getattr(norm, kind) for kind in ("weight", "bias")}
    for number, linear in enumerate((layer.first, layer.second), 1):
        weights |= {f"linear{number}.{kind}": getattr(linear, kind) for kind in ("weight", "bias")}
    made.load_state_dict(weights)
    return made.eval()


def test_the_layers_are_those_of_torch_with_the_same_weights():
    model = transformer(tie="output")
    decoder, batch = model.decoder, batch_of(SOURCES, TARGETS)
    for norm in (module for module in decoder.modules() if isinstance(module, nn.LayerNorm)):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    memory = model.encode(batch.source)
    found, weights = decoder(batch.target_input, memory, batch.target_lengths)
    embedded = decoder.embedding(batch.target_input) * 8**0.5
    x = embedded + positions(0, embedded.shape[1], embedded)
    causal = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=torch.float64)
    of_layers = []
    for layer in decoder.layers:
        theirs = of_torch(layer)
        asking = theirs.self_attn(*[theirs.norm1(x)] * 3, attn_mask=causal)[0] + x
        of_layers.append(
            theirs.multihead_attn(
                theirs.norm2(asking), memory.states, memory.states,
                key_padding_mask=~memory.source_is_token, average_attn_weights=False,
            )[1].transpose(1, 2)
        )  # fmt: skip
        x = theirs(
            x,
            memory.states,
            tgt_mask=causal,
            memory_key_padding_mask=~memory.source_is_token,
            tgt_is_causal=True,
        )
    is_token = batch.target_is_token
    torch.testing.assert_close(found[is_token], decoder.norm(x)[is_token], rtol=0, atol=1e-6)
    torch.testing.assert_close(weights[is_token], torch.cat(of_layers, dim=2)[is_token], rtol=0, atol=1e-6)
    assert not found[~is_token].any()
    assert not weights[~is_token].any()


def test_the_masked_softmax_attends_as_scaled_dot_product_attention():
    torch.manual_seed(0)
    query, keys, values = (torch.randn(2, 3, length, 4, dtype=torch.float64) for length in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7) < 0.7
    mask[..., 0] = True
    found = masked_softmax(query @ keys.transpose(-1, -2) / 2, mask=mask) @ values
    expected = scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_steps_compute_what_the_parallel_pass_does(kind):
    model = transformer().to(kind)
    batch = batch_of(SOURCES, TARGETS)
    memory = model.encode(batch.source)
    together = model.decoder(batch.target_input, memory, batch.target_lengths)
    by_steps = Decoder.forward(model.decoder, batch.target_input, memory, batch.target_lengths)
    for found, expected in zip(by_steps, together, strict=True):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 if kind is torch.float32 else 1e-12)


def test_what_a_search_finds_has_the_score_and_attention_of_forced_decoding():
    model = transformer()
    model.decoder.output.weight.data.mul_(5)
    source = SourceBatch.from_sentences(SOURCES)
    found = [[each] for each in greedy_search(model, source)]
    found = [
        one + more for one, more in zip(found, beam_search(model, source, size=4, num_best=2), strict=True)
    ]
    for sentence, hypotheses in zip(SOURCES, found, strict=True):
        for each in (each for each in hypotheses if each.ids[-1] == 3):
            (forced,) = force_decode(model, batch_of([sentence], [list(each.ids[:-1])]))
            assert forced.score == pytest.approx(each.score, abs=1e-9)
            torch.testing.assert_close(forced.weights, each.weights, rtol=0, atol=1e-9)
    assert any(each.ids[-1] == 3 and len(each.ids) > 2 for hypotheses in found for each in hypotheses)


def test_int8_products_are_near_those_of_float32():
    model, batch = transformer().float(), batch_of(SOURCES, TARGETS)
    try:
        rounded = quantized(model)
    except InputError as error:  # no exact kernel
        pytest.skip(str(error))
    for exact, found in zip(force_decode(model, batch), force_decode(rounded, batch), strict=True):
        assert found.score != exact.score
        assert found.score == pytest.approx(exact.score, rel=0.02)
        torch.testing.assert_close(found.weights, exact.weights, rtol=0, atol=0.02)


def test_heads_are_kept_by_layer_and_their_mean_is_shown_by_default():
    model, batch = transformer(num_layers=3), batch_of(SOURCES, TARGETS)
    assert num_heads(model.decoder) == 6
    _, weights = model(batch)
    forced = force_decode(model, batch)
    ((again,), *_) = with_heads(model, batch.source, [[each] for each in forced])
    first = forced[0]
    assert first.heads.shape == (3, 2, 3, 4)
    torch.testing.assert_close(again.heads, first.heads)
    torch.testing.assert_close(first.heads.flatten(0, 1).transpose(0, 1), weights[0, :3, :, :4])
    torch.testing.assert_close(first.weights, first.heads.mean(dim=(0, 1)))


def test_heads_that_do_not_divide_the_embedding_are_refused():
    with pytest.raises(ValueError, match="heads=3 must divide embedding_size=8"):
        TransformerDecoder(nn.Embedding(11, 8), 8, 8, heads=3)
