"""Random numbers that go on after a resume as if nothing had happened."""

from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback
from msgspec import Struct

from seq2seq.storage.typed_json import converted
from seq2seq.training.process_group import ALONE, ProcessGroup


class RandomState(Callback):
    """Keeps the generators of every process in the checkpoints, which Lightning leaves out.

    They are set in `on_train_start`: Lightning draws random numbers between loading the
    checkpoint and the first batch.

    Args:
        job: the processes that train together.
    """

    def __init__(self, job: ProcessGroup = ALONE) -> None:
        self._job = job
        self._restored: dict[str, Any] | None = None

    def state_dict(self) -> dict[str, Any]:
        """States of the generators of the processor and the GPU, by process."""
        states = {"cpu": torch.get_rng_state().tolist()}
        if torch.cuda.is_available():
            states["cuda"] = torch.cuda.get_rng_state().tolist()
        return {"processes": [_as_tensors(each) for each in self._job.gather(states)]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the states for the start of training."""
        self._restored = state_dict

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Go on where the checkpoint was written; a process that was not there begins its own."""
        if self._restored is None:
            return
        states = dict(enumerate(self._restored["processes"])).get(self._job.rank, {})
        if "cpu" in states:
            torch.set_rng_state(states["cpu"].cpu())
        if "cuda" in states and torch.cuda.is_available():
            torch.cuda.set_rng_state(states["cuda"].cpu())
        self._restored = None

    def require_state(self, found: Any, module: pl.LightningModule) -> None:  # noqa: ARG002
        """Check what `load_state_dict` is to get.

        Raises:
            ValueError: it is no state of generators.
        """
        for states in converted(found, _States, "callbacks.RandomState").processes:
            try:
                torch.Generator().set_state(states.cpu)
            except (RuntimeError, TypeError) as error:
                raise ValueError(f"callbacks.RandomState: {error!s:.80}") from error


class _Generators(Struct):
    cpu: torch.Tensor
    cuda: torch.Tensor | None = None


class _States(Struct):
    processes: list[_Generators]


def _as_tensors(states: dict[str, list[int]]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(state, dtype=torch.uint8) for name, state in states.items()}
