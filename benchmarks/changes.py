"""Changes of the default model and of its optimizer, each by `_target_`:

    PYTHONPATH=benchmarks python train.py experiment=speedrun model.decoder._target_=changes.NormedDecoder
    PYTHONPATH=benchmarks python train.py experiment=speedrun optimizer._target_=changes.MuonAndAdam

docs/results/recipe.md compares them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Muon, Optimizer

from seq2seq.attention.attention import Memory
from seq2seq.models import BahdanauDecoder
from seq2seq.models.layers import DeepOutput

LAYER_ROWS = 4000
"""A matrix with at least as many rows is an embedding, one with fewer is of a layer."""


class NormedDecoder(BahdanauDecoder):
    """A Bahdanau decoder with layer normalization of the encoder's states and of the deep output before its tanh."""

    def __init__(
        self,
        embedding: nn.Embedding,
        memory_size: int,
        summary_size: int,
        *,
        readout_size: int,
        **options: Any,
    ) -> None:
        super().__init__(embedding, memory_size, summary_size, readout_size=readout_size, **options)
        self.memory_norm, self.readout_norm = nn.LayerNorm(memory_size), nn.LayerNorm(readout_size)

    def init_memory(self, states: Tensor, source_is_token: Tensor, summary: Tensor) -> Memory:
        """Normalize the states (B, S, M) first."""
        return super().init_memory(self.memory_norm(states), source_is_token, summary)

    def features(self, top: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """Return o_t = tanh(norm(W_s s_t + b + W_c c_t + W_e e)), after dropout."""
        layers = self.readout
        assert isinstance(layers, DeepOutput)
        total = layers.state(top) + layers.context(context) + layers.embedded(embedded)
        return self.output_dropout(torch.tanh(self.readout_norm(total)))


class OneNormAdam(Adam):
    """Adam that gives each row of the embeddings the norm 2 after every step.

    Nguyen and Chiang, "Improving lexical choice in neural machine translation", 2018.
    """

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step, then scale the rows."""
        loss = super().step(closure)
        for group in self.param_groups:
            for rows in (each for each in group["params"] if each.ndim == 2 and len(each) >= LAYER_ROWS):
                rows.data.mul_(2 / rows.data.norm(dim=1, keepdim=True).clamp(min=1e-6))
        return loss


class MuonAndAdam(Optimizer):
    """Muon for the matrices of the layers, scaled to the steps of Adam, and Adam for the rest.

    Its own state is not saved: a training that was interrupted begins with new moments.
    """

    def __init__(self, params: Iterable[nn.Parameter], lr: float = 0.004) -> None:
        given = [*params]
        super().__init__(given, {"lr": lr})
        matrices = [each for each in given if each.ndim == 2 and len(each) < LAYER_ROWS]
        others = [each for each in given if each.ndim != 2 or len(each) >= LAYER_ROWS]
        self.parts = (
            Muon(matrices, lr=lr, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"),
            Adam(others, lr=lr, fused=True),
        )
        self.param_groups = [group for part in self.parts for group in part.param_groups]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step of both."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for part in self.parts:
            part.step()
        return loss
