"""Training checkpoints. The one place that calls `torch.load`."""

from pathlib import Path

import torch

from seq2seq.errors import InputError
from seq2seq.model.seq2seq import Seq2Seq

MODEL_PREFIX = "model."
"""How the Lightning module names its model in a checkpoint."""


def load_model_weights(path: Path, model: Seq2Seq) -> None:
    """Put the weights of a checkpoint into a model.

    Raises:
        InputError: the file is damaged or holds another model.
    """
    try:
        state = torch.load(path, map_location=model.device, weights_only=True)["state_dict"]
        weights = {name.removeprefix(MODEL_PREFIX): tensor for name, tensor in state.items()}
        model.load_state_dict(weights, strict=True)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} does not hold this model's weights: {reason}") from error
