"""An exported model: a folder of weights, sizes and tokenizers that needs nothing else.

``model.safetensors`` (weights), ``model.json`` (format version, sizes, SHA-256 of all files),
``source.json`` and ``target.json`` (tokenizers and vocabularies), ``*.model`` (SentencePiece).
Nothing in it can run code.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import torch
from msgspec import Struct, field
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor
from torch.overrides import TorchFunctionMode

from seq2seq.decoding.lengths import DEFAULT_BOUNDS, LengthBounds
from seq2seq.decoding.model_files import HEADER, MODEL_FILES, WEIGHTS, model_folder
from seq2seq.errors import InputError
from seq2seq.model.build import build_seq2seq
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec
from seq2seq.plain_text import first_line
from seq2seq.storage.digests import file_digests, require_digests, value_digest
from seq2seq.storage.typed_json import Value, converted, encoded, open_regular, read_json
from seq2seq.storage.writing import replacing_folder, write_file
from seq2seq.text.codec import TextCodec, load_codecs, save_codecs

Kind = TypeVar("Kind", ModelSpec, LengthBounds)

FORMAT = "seq2seq-model"
VERSION = 2

FLOATS = {"F64", "F32", "F16", "BF16"}
"""Formats of weights, as safetensors names them."""

UNREADABLE = (
    OSError, SafetensorError, RuntimeError, ValueError, TypeError, ImportError, MemoryError,
)  # fmt: skip
"""What sizes that do not go together raise, and weights that are none."""


class _Header(Struct):
    """What ``model.json`` holds besides format and version."""

    spec: dict[str, Value]
    spec_sha256: str
    sha256: dict[str, str]
    # folders written before there were bounds of their own have those of that time
    bounds: dict[str, Value] = field(default_factory=lambda: asdict(DEFAULT_BOUNDS))
    bounds_sha256: str = value_digest(asdict(DEFAULT_BOUNDS))


@dataclass(frozen=True, slots=True)
class TranslationModel:
    """A model with the codecs it was trained with, and how long its translations may be."""

    spec: ModelSpec
    model: Seq2Seq
    source_codec: TextCodec
    target_codec: TextCodec
    bounds: LengthBounds = DEFAULT_BOUNDS


def save_model_folder(folder: Path, exported: TranslationModel) -> None:
    """Write a model folder beside its place, and put it there when it is whole."""
    spec, bounds = asdict(exported.spec), asdict(exported.bounds)
    with replacing_folder(folder, MODEL_FILES) as partial:
        save_codecs((exported.source_codec, exported.target_codec), partial)
        write_file(partial / WEIGHTS, save(_untied(exported.model)))
        digests = file_digests(partial)
        described = {"spec": spec, "spec_sha256": value_digest(spec), "sha256": digests}
        described |= {"bounds": bounds, "bounds_sha256": value_digest(bounds)}
        header = {"format": FORMAT, "version": VERSION} | described
        write_file(partial / HEADER, encoded(header))


def load_model_folder(path: Path) -> TranslationModel:
    """Read a model folder, or the model of a run folder.

    Raises:
        InputError: the folder is missing, damaged, or of another program or version.
    """
    folder = model_folder(path)
    spec, bounds = _read_header(folder)
    codecs = load_codecs(folder)
    _require_same_sizes(spec, codecs, folder)
    return TranslationModel(spec, _read_model(spec, folder).eval(), *codecs, bounds)


def load_attending(path: Path) -> TranslationModel:
    """`load_model_folder`, for those who look at attention.

    Raises:
        InputError: as there; or the model has no attention.
    """
    exported = load_model_folder(path)
    if not exported.model.decoder.attends:
        raise InputError(f"{path} has no attention: its decoder is {exported.spec.decoder}")
    return exported


def _read_header(folder: Path) -> tuple[ModelSpec, LengthBounds]:
    path = folder / HEADER
    if not path.exists():
        raise InputError(f"{folder} holds no model.json: give a run folder or its model/ folder")
    refusal, remedy = "does not describe a model", "export the model again"
    header = read_json(
        path, _Header, version=VERSION, format_name=FORMAT, refusal=refusal, remedy=remedy
    )
    for what, values, digest in (
        ("sizes", header.spec, header.spec_sha256),
        ("bounds", header.bounds, header.bounds_sha256),
    ):
        if value_digest(values) != digest:
            raise InputError(f"{path} is damaged: its {what} are not those that were written")
    require_digests(folder, header.sha256)
    try:
        spec = _typed("spec", header.spec, ModelSpec)
        return spec, _typed("bounds", header.bounds, LengthBounds)
    except ValueError as error:
        raise InputError(f"{path} {refusal} ({error}): {remedy}") from error


def _typed(name: str, values: Mapping[str, Value], kind: type[Kind]) -> Kind:
    unknown = values.keys() - {described.name for described in fields(kind)}
    if unknown:
        raise ValueError(f"{name}.{min(unknown)}: this program does not know it")
    try:
        return converted(values, kind)
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from error


def _require_same_sizes(spec: ModelSpec, codecs: tuple[TextCodec, TextCodec], folder: Path) -> None:
    """Compare the vocabularies with the model."""
    sizes = (spec.source_vocabulary_size, spec.target_vocabulary_size)
    for side, codec, size in zip(("source", "target"), codecs, sizes, strict=True):
        if len(codec.vocabulary) != size:
            raise InputError(
                f"{folder}/{side}.json has {len(codec.vocabulary):,} tokens, the model "
                f"{size:,}: export the model again"
            )


def _read_model(spec: ModelSpec, folder: Path) -> Seq2Seq:
    """The model of these sizes, built once its weights are known to have them."""
    path = folder / WEIGHTS
    try:
        with _NothingDrawn():
            with torch.device("meta"):
                _require_same_shapes(build_seq2seq(spec), path)
            model = build_seq2seq(spec)
        model.load_state_dict(load_file(path) | _tied(model), strict=True)
        _require_finite(model)
    except UNREADABLE as error:
        reason = first_line(error)
        raise InputError(f"{path} does not hold this model's weights: {reason}") from error
    return model


class _NothingDrawn(TorchFunctionMode):
    """Leaves parameters as they are made: those that are read take their place."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init" and "tensor" in named:
            return named["tensor"]
        return func(*args, **named)


def _require_same_shapes(model: Seq2Seq, path: Path) -> None:
    """Compare the header of the weights with a model that takes no memory."""
    open_regular(path).close()
    expected = {name: (list(t.shape), t.is_floating_point()) for name, t in _untied(model).items()}
    with safe_open(path, framework="pt") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        found = {n: (part.get_shape(), part.get_dtype() in FLOATS) for n, part in parts.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ValueError(f"{name} is {_words(found, name)}, not {_words(expected, name)}")


def _words(shapes: Mapping[str, tuple[list[int], bool]], name: str) -> str:
    if name not in shapes:
        return "absent"
    shape, is_float = shapes[name]
    return f"{'x'.join(map(str, shape))} {'floats' if is_float else 'whole numbers'}"


def _require_finite(model: Seq2Seq) -> None:
    for name, tensor in model.state_dict().items():
        if not all(bound.isfinite() for bound in tensor.aminmax()):
            raise ValueError(f"{name} holds NaN or infinity")


def tied_names(model: Seq2Seq) -> dict[str, str]:
    """Parameters that are another's too: name -> the name that is saved."""
    first: dict[int, str] = {}
    tied = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        owner = first.setdefault(id(tensor), name)
        if owner != name:
            tied[name] = owner
    return tied


def _untied(model: Seq2Seq) -> dict[str, Tensor]:
    """Weights with each shared tensor once, as safetensors wants them."""
    tied = tied_names(model)
    state = model.state_dict()
    return {name: tensor.contiguous() for name, tensor in state.items() if name not in tied}


def _tied(model: Seq2Seq) -> dict[str, Tensor]:
    """Tied names of a fresh model, so that a strict load finds them."""
    return {name: model.state_dict()[name] for name in tied_names(model)}
