"""The cases of the golden set: sizes, parameters by formula, batches, and what is recorded of a model.

Nothing here imports the program, so that the same file serves the recorder, which ran on commit 2fbdffe, and
the test, which runs on the present code.
"""

import math
import zlib

import torch

SOURCE = [[5, 6, 7, 8], [9, 10], [11, 4, 5, 12, 6, 13], [7]]
TARGET = [[8, 7, 6], [12, 9, 10, 11], [5, 4, 13, 6], [9]]
"""Token ids of a batch, without ``<eos>``."""
VOCABULARY, PADDING_ID, EMBEDDING, ENCODER, DECODER, ATTENTION, READOUT = 15, 1, 6, 4, 8, 5, 6
STEPS, LEARNING_RATE, SMOOTHING, BEAM = 20, 0.02, 0.1, 3

CASES = {
    "default": {"tie": "output", "readout": True},
    "standard": {"tie": "all", "readout": True, "query_with_embedding": True},
    "lstm": {"cell": "lstm", "readout": True},
    "two_layers": {"num_layers": 2, "initial_state": "copy"},
    "one_direction": {"bidirectional": False, "initial_state": "zeros"},
    "dot": {"score": "dot"},
    "scaled_dot": {"score": "scaled_dot", "readout": True},
    "bilinear": {"score": "bilinear"},
    "gaussian": {"score": "gaussian"},
    "average": {"score": "average", "readout": True},
    "sparsemax": {"normalizer": "sparsemax"},
    "coverage": {"score": "coverage", "readout": True},
    "local_m": {"alignment": "local_m"},
    "local_p": {"alignment": "local_p"},
    "heads": {"heads": 2, "readout": True},
    "conditional": {"decoder": "conditional", "readout": True},
    "luong": {"decoder": "luong", "score": "dot", "readout": True},
    "luong_without_feeding": {"decoder": "luong", "score": "bilinear", "input_feeding": False},
    "context": {"decoder": "context", "readout": True},
    "plain": {"decoder": "plain", "readout": True},
    "reversed_lstm": {"decoder": "plain", "cell": "lstm", "reverse_source": True},
}
"""Name -> what differs from a one-layer GRU encoder-decoder with additive attention."""


def fill(name, tensor):
    """Fill a parameter with numbers that follow from its name and shape."""
    places = torch.arange(tensor.numel(), dtype=torch.float64)
    values = torch.sin(1.7 * places + zlib.crc32(name.encode()) % 1000)
    with torch.no_grad():
        tensor.copy_(0.4 * values.view(tensor.shape))
        if name.endswith("embedding.weight") or name == "decoder.output.weight":
            tensor[PADDING_ID] = 0


def rounded(values):
    """Nested lists of floats with nine digits."""
    if isinstance(values, list):
        return [rounded(each) for each in values]
    return float(f"{values:.9g}") if math.isfinite(values) else str(values)
