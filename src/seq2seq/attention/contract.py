"""What a scoring function is to the rest, one of this project or of another package."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Score(Protocol):
    """What a scoring function offers. A `torch.nn.Module` offers the call through `forward`.

    Keys are often compared with many queries, one after the other. What depends on the keys alone
    is therefore separate: `score(queries, keys)` and
    `score(queries, keys, score.project_keys(keys))` are equal, and the second does not project.
    """

    @property
    def needs_equal_sizes(self) -> bool:
        """Whether queries and keys must be of one size. Usually a class attribute."""

    def project_keys(self, keys: Float[Tensor, "B K k"]) -> Tensor:
        """The part of the work that depends on the keys alone, (B, K, anything)."""

    def __call__(
        self,
        queries: Float[Tensor, "B Q q"],
        keys: Float[Tensor, "B K k"],
        projected_keys: Tensor | None = None,
    ) -> Float[Tensor, "B Q K"]:
        """The scores; `projected_keys`, where given, instead of projecting `keys` again."""


@runtime_checkable
class ScoreFactory(Protocol):
    """What a name stands for. Sizes may go unused."""

    def __call__(self, *, query_size: int, key_size: int, hidden_size: int | None) -> Score:
        """A new score."""
