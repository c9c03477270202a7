"""Where the time of a training went besides the model."""

import time
from collections.abc import Callable

import lightning.pytorch as pl
from lightning.pytorch.callbacks import Callback

from seq2seq.text.loader import BatchLoader, LoaderCost


class TimeSpent(Callback):
    """Measures a training, from its first batch or that at which it was continued.

    Args:
        tensorboard_seconds: tells how much time TensorBoard has cost so far.
    """

    def __init__(self, tensorboard_seconds: Callable[[], float]) -> None:
        self._tensorboard_seconds = tensorboard_seconds
        self._started = 0.0
        self._tensorboard_before = 0.0
        self._loader_before = 0.0
        self.shares: dict[str, float] = {}
        """See `time_shares`."""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Begin."""
        self._started = time.perf_counter()
        self._tensorboard_before = self._tensorboard_seconds()
        self._loader_before = _loader_cost(trainer).seconds

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Divide."""
        wall = time.perf_counter() - self._started
        cost = _loader_cost(trainer)
        tensorboard = self._tensorboard_seconds() - self._tensorboard_before
        self.shares = {
            "tensorboard_share": tensorboard / wall,
            "data_share": (cost.seconds - self._loader_before) / wall,
            "padding_share": 1 - cost.num_tokens / max(cost.num_places, 1),
        }


def time_shares(trainer: pl.Trainer) -> dict[str, float]:
    """Shares of the training's wall time, and of its padding; none where nothing was trained.

    Of a training that was continued, they are those since then.

    - ``tensorboard_share``: drawing and writing what TensorBoard shows;
    - ``data_share``: waiting for batches;
    - ``padding_share``: positions of source and target, not time, that hold no token.
    """
    spent = next(each for each in trainer.callbacks if isinstance(each, TimeSpent))  # type: ignore[attr-defined]
    return spent.shares


def _loader_cost(trainer: pl.Trainer) -> LoaderCost:
    loader = trainer.train_dataloader
    if not isinstance(loader, BatchLoader):
        raise TypeError("waiting for data is measured in a BatchLoader")
    return loader.cost
