"""Attention of other people's models, as they return it."""

import numpy as np
import pytest
import torch

from tensorboard_attention import cross_attention

LAYERS, HEADS, ROWS, STEPS, SOURCE = 2, 3, 4, 5, 6


def random(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).softmax(dim=-1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_forward(dtype):
    layers = tuple(random(ROWS, HEADS, STEPS, SOURCE).to(dtype) + n for n in range(LAYERS))
    found = cross_attention(layers, 2)
    assert found.shape == (LAYERS, HEADS, STEPS, SOURCE)
    for number, layer in enumerate(layers):
        np.testing.assert_array_equal(found[number], layer[2].float().numpy())


@pytest.mark.parametrize("has_cache", [True, False])
def test_of_generate_greedily(has_cache):
    whole = [random(ROWS, HEADS, STEPS, SOURCE) * (n + 1) for n in range(LAYERS)]
    steps = tuple(
        tuple(each[:, :, number if has_cache else 0 : number + 1] for each in whole)
        for number in range(STEPS)
    )
    found = cross_attention(steps, 3)
    np.testing.assert_allclose(found, torch.stack(whole)[:, 3].numpy())


def test_of_generate_the_path_of_a_beam_is_followed():
    steps = tuple(
        tuple(random(ROWS, HEADS, 1, SOURCE) + 10 * number + layer for layer in range(LAYERS))
        for number in range(STEPS)
    )
    beam_indices = torch.tensor([[0, 1, 0, 1, -1, -1], [2, 3, 3, 2, 2, -1]])
    for sequence, path in enumerate([[0, 1, 0, 1], [2, 3, 3, 2, 2]]):
        found = cross_attention(steps, sequence, beam_indices)
        assert found.shape == (LAYERS, HEADS, len(path), SOURCE)
        for number, row in enumerate(path):
            for layer in range(LAYERS):
                expected = steps[number][layer][row, :, 0].numpy()
                np.testing.assert_array_equal(found[layer, :, number], expected)


@pytest.fixture(scope="module")
def marian():
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(1)
    config = transformers.MarianConfig(
        vocab_size=20,
        d_model=8,
        encoder_layers=1,
        decoder_layers=LAYERS,
        encoder_attention_heads=2,
        decoder_attention_heads=HEADS + 1,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
        attn_implementation="eager",  # the others return no weights
    )
    model = transformers.MarianMTModel(config).eval()
    model.requires_grad_(requires_grad=False)
    for parameter in model.parameters():
        parameter.mul_(4)  # else all rows are alike
    return model


@pytest.mark.parametrize("num_beams", [1, 3])
def test_of_a_marian_model_what_generate_gives_is_what_forward_gives(marian, num_beams):
    source = torch.tensor([[5, 6, 7, 8, 1], [9, 4, 1, 0, 0]])
    mask = (source != 0).long()
    output = marian.generate(
        source,
        attention_mask=mask,
        num_beams=num_beams,
        max_new_tokens=6,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    indices = output.beam_indices if num_beams > 1 else None
    forward = marian(
        input_ids=source,
        attention_mask=mask,
        decoder_input_ids=output.sequences[:, :-1],
        output_attentions=True,
    )
    for sequence in range(2):
        generated = cross_attention(output.cross_attentions, sequence, indices)
        forced = cross_attention(forward.cross_attentions, sequence)
        num_tokens = generated.shape[2]
        assert generated.shape[:2] == (LAYERS, HEADS + 1)
        np.testing.assert_allclose(generated, forced[:, :, :num_tokens], atol=1e-5)
