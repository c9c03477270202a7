"""Several attentions beside each other, each with its own view of query, keys and values.

    c = [V_1 c_1; ...; V_h c_h],  w = (w_1 + ... + w_h) / h,
    c_i and w_i: context and weights of attention i with the query Q_i q and the keys K_i m

Q_i (Q / h, Q), K_i (Q / h, M), V_i (M / h, M). Vaswani et al., "Attention is all you need", 2017.
(Their last matrix is left out: whatever reads the context begins with one.)
"""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.contracts import MemoryAttention
from seq2seq.model.memory import Memory, State
from seq2seq.model.precision import at_least_float32


class HeadsAttention(nn.Module):
    """The attention above. Its weights are the mean of all heads.

    The weights of each head are the last tensor of its state (N, h, S), for whoever asks.

    Args:
        make: an attention of queries and keys of the size that it is given.
        num_heads: h, at most the sizes.
        query_size: size of a query.
        memory_size: size M of the encoder outputs.
    """

    def __init__(
        self,
        make: Callable[[int], MemoryAttention],
        num_heads: int,
        query_size: int,
        memory_size: int,
    ) -> None:
        super().__init__()
        size = query_size // num_heads
        shares = [len(share) for share in torch.arange(memory_size).tensor_split(num_heads)]
        self.heads = nn.ModuleList(cast("nn.Module", make(size)) for _ in shares)
        self.queries = _projections(query_size, [size] * num_heads)
        self.keys = _projections(memory_size, [size] * num_heads)
        self.values = _projections(memory_size, shares)

    def _each(self) -> list[MemoryAttention]:
        return cast("list[MemoryAttention]", list(self.heads))

    def remember(self, keys: Float[Tensor, "B S K"]) -> Tensor:
        """What the heads need of their keys (B, S, h, ...)."""
        pairs = zip(self._each(), self.keys, strict=True)
        return torch.stack([head.remember(project(keys)) for head, project in pairs], dim=2)

    def initial_state(self, memory: Memory) -> State:
        """Those of the heads, one after the other, and weights of zero."""
        weights = at_least_float32(torch.zeros_like(memory.states[..., 0]))
        every = weights.unsqueeze(1).repeat(1, len(self.heads), 1)
        return (*(part for head in self._each() for part in head.initial_state(memory)), every)

    def attend(
        self, query: Float[Tensor, "N Q"], memory: Memory, state: State
    ) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"], State]:
        """Context and mean weights; N = B K rows, those of a sentence beside each other."""
        size = (len(state) - 1) // len(self.heads)
        found = []
        for place, (head, keys) in enumerate(
            zip(self._each(), memory.projected_keys.unbind(2), strict=True)
        ):
            own = replace(memory, keys=keys, projected_keys=keys)  # a score reads the latter alone
            of_head = state[place * size : (place + 1) * size]
            found.append(head.attend(self.queries[place](query), own, of_head))
        contexts, weights, states = zip(*found, strict=True)
        pairs = zip(self.values, contexts, strict=True)
        context = torch.cat([project(each) for project, each in pairs], dim=-1)
        every = torch.stack(weights, dim=1)
        return context, every.mean(dim=1), (*(part for each in states for part in each), every)


def _projections(input_size: int, sizes: list[int]) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(input_size, size, bias=False) for size in sizes)
