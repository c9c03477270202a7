"""ONNX: the encoder and a step of the decoder as graphs for any batch size and any lengths."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from seq2seq.attention.attention import Memory
from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.export.files import require_mark
from seq2seq.models.folder import load_model_folder
from seq2seq.models.limits import MAX_TOKENS
from seq2seq.models.proof import LENGTHS, Steps, prove
from seq2seq.models.seq2seq import Seq2Seq

GRAPHS = "encoder.onnx", "step.onnx"

BOUND = 1e-5
"""Maximum difference between the graphs and the model, see `prove`."""

ADVICE = (
    "Sizes in the code of a model must be those of its tensors: batch size x.shape[0], not len(x) or a number"
)


class _Encoder(nn.Module):
    """ids (B, S), lengths (B,) -> memory and first state, as a flat tuple."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        encoded: list[Any] = []
        hook = self.model.encoder.register_forward_hook(lambda *call: encoded.append(call[-1]))
        try:
            memory = self.model.encode(SourceBatch(source, lengths))
        finally:
            hook.remove()
        # torch cannot export the packing of sentences whose states have no use, as without attention
        states = memory.states + 0 * encoded[0][0].sum()
        return states, memory.keys, memory.source_is_token, *self.model.decoder.initial_state(memory)


class _Step(nn.Module):
    """tokens (B,), memory, state -> log-probabilities (B, V), weights (B, S), the mean of the heads, new state."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, tokens: Tensor, states: Tensor, keys: Tensor, is_token: Tensor, *state: Tensor
    ) -> tuple[Tensor, ...]:
        memory = Memory(states, keys, is_token, summary=states[:, 0])
        features, new, weights = self.model.decoder.step(tokens, state, memory)
        logs = self.model.decoder.output(features).log_softmax(dim=-1)
        found = (logs,) if weights is None else (logs, weights.mean(dim=1))
        return *found, *new


class _SelfAttention(nn.Module):
    """`torch.nn.MultiheadAttention` of sentences (B, S, D) with themselves, which exports with any length S."""

    def __init__(self, attention: nn.MultiheadAttention) -> None:
        super().__init__()
        self.of_torch, self.batch_first = attention, attention.batch_first

    def forward(
        self, inputs: Tensor, *_: Tensor, key_padding_mask: Tensor | None = None, **options: Any
    ) -> tuple[Tensor, None]:
        weight, bias, heads = (
            self.of_torch.in_proj_weight,
            self.of_torch.in_proj_bias,
            self.of_torch.num_heads,
        )
        projected = nn.functional.linear(inputs, weight, bias).chunk(3, dim=-1)
        query, key, value = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in projected)
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.of_torch.head_dim)
        if key_padding_mask is not None:
            scores = scores + key_padding_mask[:, None, None]  # 0 or minus infinity (B, S)
        context = scores.softmax(dim=-1) @ value
        return self.of_torch.out_proj(context.transpose(1, 2).flatten(2)), None


@contextmanager
def _exportable(model: Seq2Seq) -> Iterator[None]:
    """Replace the self-attentions of a Transformer, which torch exports with the length of the traced source."""
    layers = [module for module in model.modules() if isinstance(module, nn.TransformerEncoderLayer)]
    attentions, fast = [layer.self_attn for layer in layers], torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        for layer, attention in zip(layers, attentions, strict=True):
            layer.add_module("self_attn", _SelfAttention(attention))
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for layer, attention in zip(layers, attentions, strict=True):
            layer.self_attn = attention


class _Graphs:
    """The two graphs in onnxruntime."""

    def __init__(self, paths: Sequence[Path]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors are raised, and need not be printed too
        self.sessions = [onnxruntime.InferenceSession(path, options) for path in paths]

    def call(self, place: int, given: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs of the encoder (0) or the step (1) by name."""
        session = self.sessions[place]
        wanted = {each.name: given[each.name] for each in session.get_inputs()}
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, session.run(None, wanted), strict=True))

    def steps_of(self, source: SourceBatch, tokens: Tensor) -> Steps:
        """Return what the graphs compute, as `seq2seq.models.proof.steps_of`."""
        given, steps = self.call(0, {"source": source.ids.numpy(), "lengths": source.lengths.numpy()}), []
        for row in tokens:
            steps.append(self.call(1, {"tokens": row.numpy(), **given}))
            given |= {name.removeprefix("new_"): each for name, each in steps[-1].items()}
        return steps


def export_onnx(path: str | Path, folder: str | Path, *, trust_custom_code: bool = False) -> list[Path]:
    """Write ``encoder.onnx`` and ``step.onnx`` of a model into a folder.

    A search runs the encoder once, and then the step with the previous token of every row, beginning with
    ``<bos>`` (2), until ``<eos>`` (3). Inputs and outputs are named as in the classes of this module; the
    tensors of the state are ``state_0``, ``state_1``, … Both graphs are run by onnxruntime and compared with the
    model, see `prove`, before they are in the folder.

    Raises:
        InputError: There is no model, a package is missing, torch cannot export the model, its graphs differ
            from it, or other files have their names.
    """
    try:
        import onnx  # noqa: F401 - what torch writes with
        import onnxruntime  # noqa: F401 - what the graphs are run with
    except ImportError as error:
        raise InputError("this export needs two packages: pip install onnx onnxruntime") from error
    folder = Path(folder)
    for name in GRAPHS:
        require_mark(folder / name, b"memory_states")
    model = load_model_folder(path, trust_custom_code=trust_custom_code).model.eval()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as partial:
        written = _written(model, Path(partial))
        # the longest too: a trace takes the branches of its own lengths
        batches = [*LENGTHS, (MAX_TOKENS, 3)]
        prove("the graph", model, _Graphs(written).steps_of, BOUND, ADVICE, batches)
        folder.mkdir(exist_ok=True)
        return [each.replace(folder / each.name) for each in written]


@torch.no_grad()
def _written(model: Seq2Seq, folder: Path) -> list[Path]:
    """Trace both graphs with a batch of three sentences of up to four tokens, and write them."""
    kind = f"{type(model.encoder).__name__} and {type(model.decoder).__name__}"
    source, lengths = torch.tensor([[5, 6, 7, 3], [5, 6, 3, 1], [8, 3, 1, 1]]), torch.tensor([4, 3, 2])
    source = source.clamp(max=model.source_embedding.num_embeddings - 1)
    encoder, step = _Encoder(model).eval(), _Step(model).eval()
    states, keys, is_token, *state = encoder(source, lengths)
    longer = model.encode(SourceBatch(nn.functional.pad(source, (0, 1), value=1), lengths))
    names = [f"state_{place}" for place in range(len(state))]
    batch, length, tokens = {0: "batch"}, {0: "batch", 1: "length"}, torch.full((3,), 2)
    _, *found = step(tokens, states, keys, is_token, *state)
    after = found[-len(state) :]
    of_state = [  # the axes of a state whose size is the source length, as of coverage, or the number of steps
        {0: "batch"}
        | {axis: "length" for axis in range(1, one.dim()) if one.shape[axis] != of_longer.shape[axis]}
        | {axis: "steps" for axis in range(1, one.dim()) if one.shape[axis] != later.shape[axis]}
        for one, of_longer, later in zip(state, model.decoder.initial_state(longer), after, strict=True)
    ]
    inputs = tokens, states, keys, is_token, *after
    weights = {"weights": {0: "batch", found[0].dim() - 1: "length"}} if model.decoder.has_attention else {}
    axes = {"memory_states": length, "memory_keys": length, "source_is_token": length} | weights
    exports = {
        "encoder": (
            encoder, (source, lengths), ["source", "lengths"],
            ["memory_states", "memory_keys", "source_is_token", *names], {"source": length, "lengths": batch},
        ),
        "step": (
            step, inputs, ["tokens", "memory_states", "memory_keys", "source_is_token", *names],
            ["log_probabilities", *weights, *(f"new_{name}" for name in names)],
            {"tokens": batch, "log_probabilities": batch},
        ),
    }  # fmt: skip
    for name, of_axes in zip(names, of_state, strict=True):
        one_more = {axis: "new_steps" if kind == "steps" else kind for axis, kind in of_axes.items()}
        axes |= {name: of_axes, f"new_{name}": one_more}
    for name, (module, given, input_names, output_names, own_axes) in exports.items():
        with warnings.catch_warnings(), _exportable(model):
            warnings.simplefilter("ignore")  # about the exporter itself, which is deprecated but right
            try:
                torch.onnx.export(
                    module, given, folder / f"{name}.onnx", dynamo=False, opset_version=17,
                    input_names=input_names, output_names=output_names, dynamic_axes=axes | own_axes,
                )  # fmt: skip
            except RuntimeError as error:
                reason = " ".join(f"{error}".split())
                raise InputError(
                    f"torch cannot export the {name} of a model with {kind}: {reason:.200}"
                ) from error
    return [folder / name for name in GRAPHS]
