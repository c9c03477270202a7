"""ONNX: the encoder and a step of the decoder as graphs for any batch size and any lengths."""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.data.batch import SourceBatch
from seq2seq.errors import InputError
from seq2seq.export.model_folder import load_model_folder
from seq2seq.models.seq2seq import Seq2Seq


class _Encoder(nn.Module):
    """ids (B, S), lengths (B,) -> memory and first state, as a flat tuple."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        memory = self.model.encode(SourceBatch(source, lengths))
        return memory.states, memory.keys, memory.source_is_token, *self.model.decoder.initial_state(memory)


class _Step(nn.Module):
    """tokens (B,), memory, state -> log-probabilities (B, V), weights (B, S), the mean of the heads, new state."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, states: Tensor, keys: Tensor, is_token: Tensor, *state: Tensor
    ) -> tuple[Tensor, ...]:
        memory = Memory(states, keys, is_token, states[:, 0], self.masks)
        features, new, weights = self.model.decoder.step(tokens, state, memory)
        logs = self.model.decoder.output(features).log_softmax(dim=-1)
        found = (logs,) if weights is None else (logs, weights.mean(dim=1))
        return *found, *new


def export_onnx(path: str | Path, folder: str | Path, *, trust_custom_code: bool = False) -> list[Path]:
    """Write ``encoder.onnx`` and ``step.onnx`` of a model into a folder.

    A search runs the encoder once, and then the step with the previous token of every row, beginning with
    ``<bos>`` (2), until ``<eos>`` (3). Inputs and outputs are named as in the classes of this module; the
    tensors of the state are ``state_0``, ``state_1``, …

    Raises:
        InputError: There is no model, or the package onnx is missing.
    """
    try:
        import onnx  # noqa: F401 - what torch writes with
    except ImportError as error:
        raise InputError("this export needs a package: pip install onnx") from error
    model, folder = load_model_folder(path, trust_custom_code=trust_custom_code).model.eval(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    source, lengths = torch.tensor([[5, 6, 7, 3], [5, 6, 3, 1], [8, 3, 1, 1]]), torch.tensor([4, 3, 2])
    encoder, step = _Encoder(model), _Step(model)
    with torch.no_grad():
        memory = model.encode(SourceBatch(source, lengths))
        step.masks = memory.masks
        states, keys, is_token, *state = encoder(source, lengths)
    names = [f"state_{place}" for place in range(len(state))]
    batch, length = {0: "batch"}, {0: "batch", 1: "length"}
    inputs = torch.full((3,), 2), states, keys, is_token, *state
    weights = ["weights"] if model.decoder.has_attention else []
    axes = {"memory_states": length, "memory_keys": length, "source_is_token": length}
    # a state with the length of the source, such as coverage, has it as its last dimension
    of_state = [
        batch | ({each.dim() - 1: "length"} if each.dim() > 1 and each.shape[-1] == states.shape[1] else {})
        for each in state
    ]
    exports = {
        "encoder": (
            encoder, (source, lengths), ["source", "lengths"],
            ["memory_states", "memory_keys", "source_is_token", *names], {"source": length, "lengths": batch},
        ),
        "step": (
            step, inputs, ["tokens", "memory_states", "memory_keys", "source_is_token", *names],
            ["log_probabilities", *weights, *(f"new_{name}" for name in names)],
            {"tokens": batch, "log_probabilities": batch, "weights": length},
        ),
    }  # fmt: skip
    for prefix in ("", "new_"):
        axes |= {f"{prefix}{name}": axis for name, axis in zip(names, of_state, strict=True)}
    for name, (module, given, input_names, output_names, own_axes) in exports.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the exporter itself, which is deprecated but right
            try:
                torch.onnx.export(
                    module, given, folder / f"{name}.onnx", dynamo=False, opset_version=17,
                    input_names=input_names, output_names=output_names, dynamic_axes=axes | own_axes,
                )  # fmt: skip
            except RuntimeError as error:
                kind = type(model.decoder).__name__
                raise InputError(
                    f"torch cannot export the {name} of a model with {kind}: {error!s:.200}"
                ) from error
    return [folder / "encoder.onnx", folder / "step.onnx"]
