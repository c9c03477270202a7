"""Attention: scores, masked softmax, pooling, and the attention of a decoder.

    pooling  f(q, (k_i, v_i)) = sum over i of softmax(a(q, k_i)) v_i

`AttentionPooling` computes this formula for any queries, keys and values; examples/kernel_regression.py uses it.
`Attention` is the attention of a decoder: the keys of a sentence are projected once, for all steps.
"""

from seq2seq.attention.attention import AdditiveScore, Attention, Memory
from seq2seq.attention.masking import length_mask, masked_softmax
from seq2seq.attention.other_kinds import (
    AttentionHistory,
    CoverageScore,
    LocalAlignment,
    MeanAttention,
    MonotonicAlignment,
    MultiHeadAttention,
)
from seq2seq.attention.other_scores import (
    BilinearScore,
    DotScore,
    GaussianScore,
    ScaledDotScore,
    UniformScore,
)
from seq2seq.attention.pooling import AttentionPooling, AveragePooling
from seq2seq.attention.sparsemax import sparsemax

__all__ = [
    "AdditiveScore", "Attention", "AttentionHistory", "AttentionPooling", "AveragePooling", "BilinearScore",
    "CoverageScore", "DotScore", "GaussianScore", "LocalAlignment", "MeanAttention", "Memory", "MonotonicAlignment",
    "MultiHeadAttention", "ScaledDotScore", "UniformScore", "length_mask", "masked_softmax", "sparsemax",
]  # fmt: skip
