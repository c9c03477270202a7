"""Small models for tests."""

import torch

from seq2seq.model.build import build_seq2seq
from seq2seq.model.spec import ModelSpec

VARIANTS = {
    "additive": {},
    "scaled_dot": {"score": "scaled_dot"},
    "dot": {"score": "dot"},
    "bilinear": {"score": "bilinear"},
    "gaussian": {"score": "gaussian"},
    "one_way_two_layers": {"bidirectional": False, "num_layers": 2, "encoder_hidden_size": 6},
    "bridge_and_readout": {"decoder_hidden_size": 7, "readout_size": 5, "num_layers": 2},
    "from_zeros": {"initial_state": "zeros", "num_layers": 2},
    "token_in_query": {"query": "state_and_token", "num_layers": 2},
    "sparse_coverage": {"attention_coverage": True, "attention_normaliser": "sparsemax"},
    "local_m": {"attention_kind": "local_m", "attention_window": 1},
    "local_p_heads": {"attention_kind": "local_p", "attention_window": 2, "attention_heads": 2},
    "monotonic": {"attention_kind": "monotonic"},
    "tied": {"readout_size": 4, "embedding_size": 4, "tying": "all"},
}


def spec_of(**changes):
    base = {
        "source_vocabulary_size": 11,
        "target_vocabulary_size": 11,
        "padding_id": 1,
        "embedding_size": 4,
        "encoder_hidden_size": 3,
        "decoder_hidden_size": 6,
        "num_layers": 1,
        "bidirectional": True,
        "dropout": 0.0,
        "readout_size": None,
        "tying": "none",
        "score": "additive",
        "attention_size": 5,
        "attention_dropout": 0.0,
    }
    return ModelSpec(**{**base, **changes})


def model_of(**changes):
    torch.manual_seed(7)
    model = build_seq2seq(spec_of(**changes)).double().eval()
    if changes.get("attention_kind") == "monotonic":  # else too little is attended to for a test
        model.decoder.attention.weighing.offset.data.zero_()
    return model
