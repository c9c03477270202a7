"""The matrix products of a training step, alone: what the machine allows at these shapes.

Only those that any implementation needs that leaves out padding: none is repeated in backward,
every weight's gradient is one product, and nothing is computed but products. They run in the order
and at the shapes of the model's steps, into memory that is there already.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.sizes import Size
from seq2seq.text.batch import Batch

Product = Callable[[], object]


class Products:
    """The products of batches."""

    def __init__(
        self, size: Size, batches: list[Batch], dtype: torch.dtype, device: torch.device
    ) -> None:
        self._size = size
        self._dtype, self._device = dtype, device
        shapes = {id(batch): list(self._of_batch(batch)) for batch in batches}
        every = [shape for of_batch in shapes.values() for shape in of_batch]
        self._left = self._memory(max(n * rows * inner for n, rows, inner, _ in every))
        self._right = self._memory(max(n * inner * columns for n, _, inner, columns in every))
        self._out = self._memory(max(n * rows * columns for n, rows, _, columns in every))
        self._calls = {
            key: [self._call(*shape) for shape in of_batch] for key, of_batch in shapes.items()
        }

    def _memory(self, count: int) -> Tensor:
        return torch.randn(count, device=self._device).to(self._dtype)

    def run(self, batch: Batch) -> None:
        """All products of a step on one of the batches."""
        for call in self._calls[id(batch)]:
            call()

    def _call(self, count: int, rows: int, inner: int, columns: int) -> Product:
        left = self._left[: count * rows * inner].view(count, rows, inner)
        right = self._right[: count * inner * columns].view(count, inner, columns)
        out = self._out[: count * rows * columns].view(count, rows, columns)
        if count == 1:
            left, right, out = left[0], right[0], out[0]
            return lambda: torch.mm(left, right, out=out)
        return lambda: torch.bmm(left, right, out=out)

    def _of_batch(self, batch: Batch) -> Iterator[tuple[int, int, int, int]]:
        """(products at once, rows, inner, columns) of every product."""
        size = self._size
        hidden, memory, gates = size.hidden, size.memory, 3 * size.hidden
        source, target = _counts(batch.source.lengths), _counts(batch.target_lengths)
        num_source, num_target = sum(source), sum(target)
        for layer in range(size.num_layers):
            for _ in range(2 if size.bidirectional else 1):
                yield from _at_once(num_source, memory if layer else hidden, gates)
                yield from _stepwise(source, hidden, gates)
        yield from _at_once(num_source, memory, hidden)  # keys
        yield from _at_once(num_target, hidden, gates)  # embedded tokens
        width = batch.source.ids.shape[1]
        for count in target:
            yield from ((count, 1, width, memory), (count, 1, memory, width))
        yield len(batch), width, len(target), memory
        yield from _stepwise(target, memory, gates)  # context
        for layer in range(size.num_layers):
            top = layer == size.num_layers - 1
            yield from _stepwise(target, hidden, gates + (hidden if top else 0))  # with the query
            if layer:
                yield from _stepwise(target, hidden, gates)
        yield from _at_once(num_target, hidden, size.vocabulary)


def _counts(lengths: Tensor) -> list[int]:
    """Sentences that have a token at each step."""
    return [int((lengths > step).sum()) for step in range(int(lengths.max()))]


def _at_once(rows: int, inner: int, columns: int) -> Iterator[tuple[int, int, int, int]]:
    """A layer over all tokens: forward, gradient of the input, gradient of the weight."""
    yield from ((1, rows, inner, columns), (1, rows, columns, inner), (1, inner, rows, columns))


def _stepwise(counts: list[int], inner: int, columns: int) -> Iterator[tuple[int, int, int, int]]:
    """A layer inside the recurrence: only its weight's gradient waits until the end."""
    for rows in counts:
        yield from ((1, rows, inner, columns), (1, rows, columns, inner))
    yield 1, inner, sum(counts), columns
