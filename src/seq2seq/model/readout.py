"""From the decoder's state to the features that the output layer scores."""

import torch
from torch import Tensor, nn


class StateReadout(nn.Module):
    """The state itself is the feature vector: R = H."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.feature_size = hidden_size

    def forward(self, state: Tensor, context: Tensor, embedded: Tensor) -> Tensor:  # noqa: ARG002
        """Return the state (..., H)."""
        return state


class DeepReadout(nn.Module):
    """tanh(W_s s + W_c c + W_e e), the deep output of Bahdanau et al. (2015) with a tanh.

    Args:
        hidden_size: size H of the state s.
        memory_size: size M of the context c.
        embedding_size: size E of the embedded previous token e.
        feature_size: size R of the features.
    """

    def __init__(
        self, hidden_size: int, memory_size: int, embedding_size: int, feature_size: int
    ) -> None:
        super().__init__()
        self.feature_size = feature_size
        self.state = nn.Linear(hidden_size, feature_size)
        self.context = nn.Linear(memory_size, feature_size, bias=False)
        self.embedded = nn.Linear(embedding_size, feature_size, bias=False)

    def forward(self, state: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """Features (..., R) of state (..., H), context (..., M) and embedded token (..., E)."""
        return torch.tanh(self.state(state) + self.context(context) + self.embedded(embedded))


Readout = StateReadout | DeepReadout
