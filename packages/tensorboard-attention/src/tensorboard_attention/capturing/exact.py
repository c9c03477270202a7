"""Weights of the three functions of torch that compute attention and do not return it, or only of the mean of heads."""

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (its usual name)
from torch.nn.attention.bias import CausalBias, CausalVariant


def of_scaled_dot_product(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    first: int = 0,
) -> Tensor:
    """Return the weights of `F.scaled_dot_product_attention` from row `first` on, in float32 at least and without dropout.

    A row in which nothing may be attended to is 0.
    """
    if query.is_nested:
        raise ValueError("its tensors are nested")
    if isinstance(attn_mask, CausalBias):  # whose own values mean nothing
        longer = attn_mask.seq_len_kv - attn_mask.seq_len_q
        diagonal = longer if attn_mask.variant == CausalVariant.LOWER_RIGHT else 0
        every = torch.ones(attn_mask.seq_len_q, attn_mask.seq_len_kv, dtype=torch.bool, device=query.device)
        attn_mask = every.tril(diagonal)
    number = torch.promote_types(query.dtype, torch.float32)
    query, key = query[..., first:, :].to(number), key.to(number)
    if enable_gqa:  # several heads share one of keys
        key = key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)
    scores = query @ key.transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if is_causal:
        is_past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(first)
        scores = scores.masked_fill(~is_past, -torch.inf)
    if attn_mask is not None:
        attn_mask = attn_mask[..., first:, :] if attn_mask.size(-2) > 1 else attn_mask
        is_kept = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if is_kept else scores + attn_mask.to(number)
    return _safe_softmax(scores)


def _safe_softmax(scores: Tensor) -> Tensor:
    return scores.softmax(dim=-1).masked_fill((scores == -torch.inf).all(dim=-1, keepdim=True), 0)


FLEX: Any = torch.ops.higher_order.flex_attention
"""What `torch.nn.attention.flex_attention` calls, where it is not compiled."""


def of_flex(query: Tensor, key: Tensor, value: Tensor, *args: Any, first: int = 0) -> Tensor:
    """Return the weights of FlexAttention (B, heads, T - first, S), in float32 at least: its result where the values are the unit vectors."""
    number = torch.promote_types(query.dtype, torch.float32)
    units = torch.eye(key.size(-2), dtype=number, device=key.device).expand(*value.shape[:2], -1, -1)
    weights: Tensor = FLEX(query.to(number), key.to(number), units, *args)[0]
    return weights[..., first:, :]


MULTI_HEAD = inspect.signature(F.multi_head_attention_forward)


def of_multi_head(*args: Any, **kwargs: Any) -> Tensor:
    """Return the weights of `F.multi_head_attention_forward` (B, heads, T, S), in float32 at least and without dropout."""
    call = MULTI_HEAD.bind(*args, **kwargs)
    call.apply_defaults()
    given = call.arguments
    query, key = given["query"], given["key"]
    is_hint = given["is_causal"] and given["key_padding_mask"] is None and not given["need_weights"]
    if is_hint:  # the mask
        is_future = torch.ones(len(query), len(key), dtype=torch.bool, device=query.device).triu(1)
        given["attn_mask"] = is_future
    number = torch.promote_types(query.dtype, torch.float32)
    for name, each in given.items():
        if isinstance(each, Tensor) and each.is_floating_point():
            given[name] = each.to(number)
    given |= {"training": False, "need_weights": True, "average_attn_weights": False, "is_causal": False}
    weights: Any = F.multi_head_attention_forward(*call.args, **call.kwargs)[1]  # for need_weights is set
    weights = weights if query.dim() == 3 else weights[None]
    if is_hint and weights.size(-1) > len(
        key
    ):  # columns of add_bias_kv and add_zero_attn, which are masked then
        weights = weights.tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
    is_masked = weights.isnan().all(dim=-1, keepdim=True)  # nothing may be attended to: 0 / 0
    return weights if is_masked.all() else weights.masked_fill(is_masked, 0)
