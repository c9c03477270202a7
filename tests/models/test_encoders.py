"""The Transformer encoder: positions by their formula, padding without influence, sizes of its own."""

import math

import pytest
import torch

from seq2seq.models import TransformerEncoder


@pytest.mark.parametrize(("embedding_size", "hidden_size"), [(8, None), (6, 8)])
def test_the_states_are_those_of_torchs_layers_on_scaled_embeddings_and_positions(
    embedding_size, hidden_size
):
    torch.manual_seed(0)
    encoder = TransformerEncoder(embedding_size, hidden_size, num_layers=2, heads=2).double().eval()
    embedded = torch.randn(1, 5, embedding_size, dtype=torch.float64)
    size = 8
    positions = torch.tensor(
        [
            [(math.sin if i % 2 == 0 else math.cos)(p / 10_000 ** (2 * (i // 2) / size)) for i in range(size)]
            for p in range(5)
        ],
        dtype=torch.float64,
    )
    projected = (
        embedded if hidden_size is None else embedded @ encoder.project.weight.T + encoder.project.bias
    )
    expected = encoder.layers(projected * math.sqrt(size) + positions)
    states, summary = encoder(embedded, torch.tensor([5]))
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(summary, states.mean(dim=1), rtol=0, atol=1e-12)


def test_padding_changes_nothing_and_has_zero_states():
    torch.manual_seed(0)
    encoder = TransformerEncoder(8, num_layers=2, heads=2).double().eval()
    embedded = torch.randn(2, 6, 8, dtype=torch.float64)
    states, summary = encoder(embedded, torch.tensor([6, 4]))
    alone, of_alone = encoder(embedded[1:, :4], torch.tensor([4]))
    torch.testing.assert_close(states[1:, :4], alone, rtol=0, atol=1e-10)
    torch.testing.assert_close(summary[1:], of_alone, rtol=0, atol=1e-10)
    assert not states[1, 4:].any()


def test_a_size_that_the_heads_do_not_divide_is_refused():
    with pytest.raises(ValueError, match="heads=3 must divide hidden_size=8"):
        TransformerEncoder(6, 8, heads=3)
