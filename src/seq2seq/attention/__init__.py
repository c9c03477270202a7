"""Attention: scores, masked softmax, pooling, and the attention of a decoder.

    pooling  f(q, (k_i, v_i)) = sum over i of softmax(a(q, k_i)) v_i

`AttentionPooling` is this formula for any queries, keys and values; `kernel_regression` is its origin.
`Attention` is what a decoder uses: it keeps the projected keys of a sentence for all of its steps.
"""

from seq2seq.attention.attention import (
    AdditiveScore,
    Attention,
    AttentionHistory,
    Memory,
)
from seq2seq.attention.kinds import CoverageScore, LocalAlignment, MonotonicAlignment, MultiHeadAttention
from seq2seq.attention.masking import attention_weights, length_mask, masked_softmax, sparsemax
from seq2seq.attention.pooling import AttentionPooling, AveragePooling
from seq2seq.attention.scores import (
    BilinearScore,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    UniformScore,
)

__all__ = [
    "AdditiveScore", "Attention", "AttentionHistory", "AttentionPooling", "AveragePooling", "BilinearScore",
    "CoverageScore", "DotScore", "GaussianScore", "LocalAlignment", "Memory", "MonotonicAlignment", "MultiHeadAttention",
    "ScaledDotScore", "UniformScore", "attention_weights", "length_mask", "masked_softmax", "sparsemax",
]  # fmt: skip
