"""Every decoder with every cell, against the oracle: loss, attention and every gradient."""

import pytest
import torch

from tests.oracles.cases import FAST, training_case
from tests.oracles.decoders import STEPS
from tests.oracles.test_training import compared

CELLS = ("gru", "lstm")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("decoder", STEPS)
def test_every_decoder_is_its_formula_with_every_gradient(decoder, cell, seed):
    changes = {
        "decoder": decoder,
        "cell": cell,
        "reverse_source": seed % 2 == 1,
        "input_feeding": seed < 3,
    }
    worst, of_gradients = compared(training_case(seed, FAST, **changes))
    assert worst < 1e-12
    assert of_gradients < 1e-12


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("decoder", STEPS)
def test_bfloat16_products_leave_every_decoder_what_it_is(decoder, cell):
    case = training_case(1, FAST, decoder=decoder, cell=cell)
    worst, of_gradients = compared(case, torch.float32, mixed=True)
    assert worst < 0.05
    assert of_gradients < 0.03
