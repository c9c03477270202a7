"""What a cell, an attention and a decoder are to the rest of the program.

A member of the family is a small file that keeps one of these contracts. Training by the plain loop
(`seq2seq.model.decoder.unroll`) and every search know nothing else of it; a fast way of its own is
an addition, see `seq2seq.model.fused`.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2seq.model.memory import Encoded, Memory, State


class _WithModules(type(Protocol)):  # type: ignore[misc]
    """Of contracts whose members are modules, which another module has by its ``__getattr__``.

    From Python 3.12 on, `isinstance` overlooks them.
    """

    def __instancecheck__(cls, part: object) -> bool:
        members = [*cls.__annotations__, *(name for name in vars(cls) if name[0] != "_")]
        return all(hasattr(part, name) for name in members)


@runtime_checkable
class Encoder(Protocol, metaclass=_WithModules):
    """From source tokens to a vector for each of them, and the last states of every layer.

    Attributes:
        embedding: of the source (V, E).
        memory_size: size M of a vector.
    """

    embedding: nn.Embedding
    memory_size: int

    def __call__(
        self, source: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"]
    ) -> tuple[Float[Tensor, "B S M"], tuple[Float[Tensor, "B ..."], ...]]:
        """States, zero on padding, and the final state of each layer, see `Encoded`."""


@runtime_checkable
class Cell(Protocol):
    """One recurrent layer. Its state is one tensor, however much it keeps (N, …).

    Attributes:
        num_gates: size of the inputs' share, in H.
        num_states: size of the state, in H.
    """

    num_gates: int
    num_states: int

    def inputs(self, inputs: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """What depends on the inputs alone, for one step or for all of them at once."""

    def advance(self, inputs: Float[Tensor, "N G"], state: Tensor) -> Tensor:
        """The state after a step, from that share and the state before."""

    def output(self, state: Tensor) -> Float[Tensor, "N H"]:
        """What the layer above sees of a state."""


@runtime_checkable
class MemoryAttention(Protocol):
    """Attention over a memory, with or without a state of its own."""

    def remember(self, keys: Float[Tensor, "B S K"]) -> Tensor:
        """What depends on the keys alone (B, S, …), once a sentence."""

    def initial_state(self, memory: Memory) -> State:
        """The state before the first step; nothing where nothing is kept."""

    def attend(
        self, query: Float[Tensor, "N Q"], memory: Memory, state: State
    ) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"], State]:
        """Context, weights and new state; N = B K rows, those of a sentence beside each other."""


@runtime_checkable
class Decoder(Protocol, metaclass=_WithModules):
    """From a memory and the tokens so far to features of the next one.

    Attributes:
        attends: whether it has attention: the weights of a step are None where it has not.
        embedding: of the target (V, E).
        output: turns features into logits (R -> V).
    """

    attends: bool
    embedding: nn.Embedding
    output: nn.Linear

    def remember(self, encoded: Encoded) -> Memory:
        """What every step needs of the encoded sentences, once a sentence."""

    def initial_state(self, memory: Memory) -> State:
        """The state before the first step, one hypothesis a sentence."""

    def step(
        self, embedded: Float[Tensor, "N E"], state: State, memory: Memory
    ) -> tuple[Float[Tensor, "N R"], State, Float[Tensor, "N S"] | None]:
        """Features, new state and attention weights after the previous target tokens, embedded."""
