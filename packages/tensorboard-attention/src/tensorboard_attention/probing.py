"""A probe that is recorded every so many steps: `recording`, for a loop written by hand, and what callbacks share."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn

from tensorboard_attention.capturing import capture


class Probe:
    """What a model is called with to look at its attention, and when.

    Args:
        given: A mapping of arguments by name, a tuple of arguments, or a single one, such as a batch; or a function that is
            given the model and calls it.
        every_n_steps: Optimizer steps between two records.
        options: Of `capture`.

    Raises:
        ValueError: The number of steps is no whole number above 0.
    """

    def __init__(self, given: Any | Callable[[Any], Any], every_n_steps: int, **options: Any) -> None:
        if int(every_n_steps) != every_n_steps or every_n_steps < 1:
            raise ValueError(f"every_n_steps={every_n_steps} must be a whole number of at least 1")
        self.given: Any = given
        self.every_n_steps, self.options = every_n_steps, options
        self.last = -1

    def is_due(self, step: int) -> bool:
        """Say whether a step is to be recorded, and is not yet."""
        return step % self.every_n_steps == 0 and step != self.last

    def record(self, model: nn.Module, writer: Any, step: int, given: Any = None) -> None:
        """Call a model with the probe, or with it on its device, and record its attention."""
        self.last = step
        given = self.given if given is None else given
        with capture(model, writer, step, **self.options):
            if callable(given):
                given(model)
            elif isinstance(given, Mapping):
                model(**given)
            elif isinstance(given, tuple):
                model(*given)
            else:
                model(given)


@contextmanager
def recording(
    model: nn.Module, writer: Any, probe: Any, *, every_n_steps: int = 200, **options: Any
) -> Iterator[Callable[[], None]]:
    """Record the attention of a probe while a loop written by hand trains a model: before, every so many steps, and at the end.

        with recording(model, "runs/mine", dict(input_ids=ids), every_n_steps=100) as step:
            for batch in batches:
                loss = train(batch)
                step()

    Args:
        model: Any module.
        writer: As `add_attention` takes it.
        probe: What the model is called with, see `Probe`.
        every_n_steps: Steps between two records.
        options: source_tokens, target_tokens, tokenizer, tag, modules, sentences and effect of `capture`.

    Yields:
        A function to call after each optimizer step.

    Raises:
        ValueError: The number of steps is no whole number above 0.
    """
    shown, done = Probe(probe, every_n_steps, **options), 0
    shown.record(model, writer, 0)

    def step() -> None:
        nonlocal done
        done += 1
        if shown.is_due(done):
            shown.record(model, writer, done)

    yield step
    if shown.last != done:
        shown.record(model, writer, done)
