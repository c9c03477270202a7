"""An exported model: a folder of weights, sizes and tokenizers that needs nothing else.

``model.safetensors`` (weights), ``model.json`` (format version, sizes, SHA-256 of all files),
``source.json`` and ``target.json`` (tokenizers and vocabularies), ``*.model`` (SentencePiece).
Nothing in it can run code.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from seq2seq.decoding.model_files import HEADER, MODEL_FILES, WEIGHTS, model_folder
from seq2seq.errors import InputError
from seq2seq.model.seq2seq import Seq2Seq
from seq2seq.model.spec import ModelSpec, build_seq2seq
from seq2seq.storage.digests import file_digests, require_digests, value_digest
from seq2seq.storage.writing import replacing_folder, write_file
from seq2seq.text.codec import TextCodec, load_codecs, save_codecs

FORMAT = "seq2seq-model"
VERSION = 2


@dataclass(frozen=True, slots=True)
class TranslationModel:
    """A model with the codecs it was trained with."""

    spec: ModelSpec
    model: Seq2Seq
    source_codec: TextCodec
    target_codec: TextCodec


def save_model_folder(folder: Path, exported: TranslationModel) -> None:
    """Write a model folder beside its place, and put it there when it is whole."""
    spec = asdict(exported.spec)
    with replacing_folder(folder, MODEL_FILES) as partial:
        save_codecs((exported.source_codec, exported.target_codec), partial)
        write_file(partial / WEIGHTS, save(_untied(exported.model)))
        digests = file_digests(partial)
        described = {"spec": spec, "spec_sha256": value_digest(spec), "sha256": digests}
        header = {"format": FORMAT, "version": VERSION} | described
        write_file(partial / HEADER, json.dumps(header, indent=1))


def load_model_folder(path: Path) -> TranslationModel:
    """Read a model folder, or the model of a run folder.

    Raises:
        InputError: the folder is missing, damaged, or of another program or version.
    """
    folder = model_folder(path)
    spec = _read_spec(folder)
    model = _build(spec, folder)
    weights_path = folder / WEIGHTS
    try:
        model.load_state_dict(load_file(weights_path) | _tied(model), strict=True)
    except (OSError, SafetensorError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{weights_path} does not hold this model's weights: {reason}") from error
    return TranslationModel(spec, model.eval(), *load_codecs(folder))


def _build(spec: ModelSpec, folder: Path) -> Seq2Seq:
    try:
        return build_seq2seq(spec)
    except (ValueError, TypeError, RuntimeError, ImportError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{folder}/model.json describes no model ({reason})") from error


def _read_spec(folder: Path) -> ModelSpec:
    path = folder / HEADER
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        _require_readable(path, header)
        require_digests(folder, header["sha256"])
        return ModelSpec(**header["spec"])
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no model.json: give a run folder or its model/ folder"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} does not describe a model ({error})") from error


def _require_readable(path: Path, header: dict[str, Any]) -> None:
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise InputError(
            f"{path} is {header['format']} version {header['version']}, this program reads "
            f"{FORMAT} version {VERSION}: export the model again, or use the program it is from"
        )
    if value_digest(header["spec"]) != header["spec_sha256"]:
        raise InputError(f"{path} is damaged: its sizes are not those that were written")


def _tied_names(model: Seq2Seq) -> dict[str, str]:
    """Parameters that share another's memory: name -> the name that is saved."""
    first: dict[int, str] = {}
    tied = {}
    for name, tensor in model.state_dict().items():
        owner = first.setdefault(tensor.data_ptr(), name)
        if owner != name:
            tied[name] = owner
    return tied


def _untied(model: Seq2Seq) -> dict[str, Tensor]:
    """Weights with each shared tensor once, as safetensors wants them."""
    tied = _tied_names(model)
    state = model.state_dict()
    return {name: tensor.contiguous() for name, tensor in state.items() if name not in tied}


def _tied(model: Seq2Seq) -> dict[str, Tensor]:
    """Tied names of a fresh model, so that a strict load finds them."""
    return {name: model.state_dict()[name] for name in _tied_names(model)}
