"""What a configuration leaves to the size of its corpus: null in `recipe=standard`."""

from dataclasses import dataclass, replace
from math import ceil, log
from typing import Any

from seq2seq.config import Config, TrainerConfig, plain_values
from seq2seq.text.splitters import SUBWORDS

REFERENCE_PAIRS, REFERENCE_PIECES = 29_000, 8_000
"""Those of Multi30k, where they were measured (docs/recipe.md)."""

LARGE = 500_000
"""Pairs, of a corpus that memory is not to hold, whose number is known only once it is read."""

MOST_PIECES = 16_000
"""Of larger corpora, too: the output layer is most of a step already."""

BATCHES, ENOUGH_STEPS = (128, 64), 2_000
LEAST_BATCH = 32
NUM_VALIDATIONS = 30

FEW_PASSES, MANY_PASSES = 2.5, 34.0
"""Between which dropout grows."""


def sized(config: Config, num_pairs: int, num_processes: int = 1) -> Config:
    """The configuration with numbers for what it leaves to the corpus.

    Args:
        config: of the run.
        num_pairs: of the training split; 0, if it is not held in memory.
        num_processes: that train together.
    """
    num_pairs, tokenizer = num_pairs or LARGE, config.data.tokenizer
    if tokenizer.max_size is None and {tokenizer.name, tokenizer.target_name} & {*SUBWORDS}:
        tokenizer = replace(tokenizer, max_size=vocabulary_size(num_pairs))
    num_read = num_pairs * (2 if config.data.both_directions else 1) / num_processes
    trainer = config.trainer
    if trainer.batch_sentences is None and trainer.batch_tokens is None:
        size = batch_sentences(trainer, num_read)
        trainer = replace(trainer, batch_sentences=size)
    model = config.model
    if model.dropout is None:
        passes = num_passes(trainer, num_read)
        model = replace(model, **_dropouts(model.embedding_dropout, passes))
    data = replace(config.data, tokenizer=tokenizer)
    return replace(config, data=data, model=model, trainer=trainer)


def sized_line(before: Config, after: Config) -> str:
    """What `sized` has chosen, for the terminal."""
    given, chosen = plain_values(before), plain_values(after)
    values = (f"{key}={chosen[key]}" for key in chosen if chosen[key] != given[key])
    return f"by size     {' '.join(values)}"


def vocabulary_size(num_pairs: int) -> int:
    """Subwords for so many training pairs.

    With n pairs 8,000 (n / 29,000)^0.4, in thousands: the exponent is near that of the number of
    different words in a text of n (Heaps 1978), which is what pieces are to cover.
    """
    thousands = REFERENCE_PIECES * (num_pairs / REFERENCE_PAIRS) ** 0.4 / 1_000
    return min(1_000 * max(1, round(thousands)), MOST_PIECES)


def batch_sentences(trainer: TrainerConfig, num_pairs: float) -> int:
    """The largest batch that leaves enough steps: a short training wants many small ones."""
    steps = trainer.max_steps or ENOUGH_STEPS
    for size in BATCHES:
        if min(steps, trainer.max_epochs * num_pairs / size / trainer.accumulate) >= ENOUGH_STEPS:
            return size
    return LEAST_BATCH


def num_passes(trainer: TrainerConfig, num_pairs: float) -> float:
    """How often training sees each of so many pairs."""
    if trainer.max_steps is None or trainer.batch_sentences is None:
        return trainer.max_epochs
    batch = trainer.batch_sentences * trainer.accumulate
    return min(trainer.max_epochs, trainer.max_steps * batch / num_pairs)


def dropouts(passes: float) -> tuple[float, float]:
    """Dropout of embeddings, and of memory and readout, for so many passes over a corpus.

    What is seen often is learnt by heart: 0.3 and 0.5 were best for 34 passes over Multi30k, 0.1
    for two and a half; between them, by the logarithm of the passes.
    """
    share = log(passes / FEW_PASSES) / log(MANY_PASSES / FEW_PASSES)
    share = min(max(0.0, share), 1.0)
    return round(0.1 + 0.2 * share, 2), round(0.1 + 0.4 * share, 2)


def _dropouts(of_embeddings: float | None, passes: float) -> dict[str, Any]:
    fitted, dropout = dropouts(passes)
    return {
        "dropout": dropout,
        "embedding_dropout": fitted if of_embeddings is None else of_embeddings,
    }


@dataclass(frozen=True, slots=True)
class Length:
    """How long a training is.

    Attributes:
        num_steps: of the optimiser.
        num_epochs: passes over the training split, the last of which `max_steps` may cut short.
        validate_every: epochs between two validations.
    """

    num_steps: int
    num_epochs: int
    validate_every: int

    @classmethod
    def of(cls, trainer: TrainerConfig, num_batches: int) -> "Length":
        """That of a training with so many batches in an epoch."""
        steps_of_epoch = ceil(num_batches / trainer.accumulate)
        num_steps = trainer.max_epochs * steps_of_epoch
        num_steps = min(num_steps, trainer.max_steps or num_steps)
        num_epochs = ceil(num_steps / steps_of_epoch)
        return cls(
            num_steps,
            num_epochs,
            trainer.validate_every or max(1, round(num_epochs / NUM_VALIDATIONS)),
        )
