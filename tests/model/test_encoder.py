import pytest
import torch

from tests.models import model_of

SHAPES = [
    {"num_layers": 1},
    {"num_layers": 2},
    {"num_layers": 3, "bidirectional": False, "encoder_hidden_size": 6},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_unrolled_encoder_equals_torchs_packed_one_with_every_gradient(batch, shape):
    encoder = model_of(**shape).encoder
    source = batch.source

    def results(encode):
        memory, final = encode(source.ids, source.lengths)
        loss = (memory**2).sum() + sum((state**3).sum() for state in final)
        return [memory, *final], torch.autograd.grad(loss, list(encoder.parameters()))

    (found, gradients), (expected, packed) = map(results, (encoder._unrolled, encoder._packed))
    for tensor, other in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor, other, rtol=0, atol=1e-12)
    for gradient, other in zip(gradients, packed, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-12)
