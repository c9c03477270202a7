"""The page that translates: a model in int8 and the viewer around it, in one HTML file."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from seq2seq.attention.scores import SCORES
from seq2seq.decoding.model_folder import TranslationModel, load_model_folder, tied_names
from seq2seq.decoding.portable import require_portable
from seq2seq.errors import InputError
from seq2seq.model.spec import ModelSpec
from seq2seq.tensorboard.plugin.page import TRANSLATING, page
from seq2seq.tensorboard.plugin.views import colours
from seq2seq.text.codec import TextCodec
from seq2seq.text.tokenizers import SubwordTokenizer

CLIPPED = np.linspace(1, 0.85, 16, dtype=np.float32)
"""Shares of the greatest weight of a row; what is above becomes that."""

Matrix = np.ndarray[Any, Any]

WORD_KINDS = ("word", "basic_english", "character", "whitespace")
SUBWORD_KINDS = {1: "unigram", 2: "bpe"}
"""Numbers of SentencePiece's algorithms."""


def export_page(folder: Path, sentence: str) -> str:
    """The page of the model of a run folder or a model folder.

    Matrices are rounded to int8: w ~ s q with a scale s for each row and q the integer nearest to
    w / s, -127 to 127; s is that of `CLIPPED` max |w| / 127 with the least sum of squared errors.
    Vectors stay in float32.

    Args:
        folder: of the run or the model.
        sentence: what the page translates when it is opened.

    Raises:
        InputError: there is no model, or one that the page does not compute.
    """
    model = page_model(folder)
    data = {"model": model, "sentence": sentence, "colours": colours()}
    languages = [model[side]["language"] for side in ("source", "target")]
    return page(data, title=f"{' → '.join(languages)}, {folder.resolve().name}", parts=TRANSLATING)


def page_model(folder: Path) -> dict[str, Any]:
    """The model of a folder as a page holds it; its errors are those of `export_page`."""
    exported = load_model_folder(folder)
    _require_spoken(exported.spec)
    return _model(exported)


def _require_spoken(spec: ModelSpec) -> None:
    require_portable(spec, "a page")
    if spec.score not in SCORES.built_in:
        raise InputError(f"a page computes this program's scores only, not attention={spec.score}")


def _model(exported: TranslationModel) -> dict[str, Any]:
    ties = tied_names(exported.model)
    state = exported.model.state_dict()
    source, target = map(_codec, (exported.source_codec, exported.target_codec))
    return {
        "spec": asdict(exported.spec),
        "bounds": asdict(exported.bounds),
        "parameters": {name: _array(state[name]) for name in state.keys() - ties.keys()},
        "ties": ties,
        "source": source,
        "target": target,
    }


def _array(tensor: Tensor) -> dict[str, Any]:
    values = tensor.detach().float().numpy()
    if values.ndim < 2:
        return {"shape": values.shape, "numbers": _base64(values), "scales": None}
    greatest = np.abs(values).max(axis=1, keepdims=True)
    widest = np.where(greatest > 0, greatest / np.float32(127), np.float32(1))
    tried = [widest * share for share in CLIPPED]
    errors = [np.square(_whole(values, scales) * scales - values).sum(axis=1) for scales in tried]
    scales = np.stack(tried)[np.argmin(errors, axis=0), np.arange(len(values))]
    numbers = _whole(values, scales).astype(np.int8)
    return {"shape": values.shape, "numbers": _base64(numbers), "scales": _base64(scales)}


def _whole(values: Matrix, scales: Matrix) -> Matrix:
    return np.rint(values / scales).clip(-127, 127)


def _base64(values: Matrix) -> str:
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode("ascii")


def _codec(codec: TextCodec) -> dict[str, Any]:
    tokenizer = codec.tokenizer
    described: Mapping[str, Any]
    if isinstance(tokenizer, SubwordTokenizer):
        described = _subwords(tokenizer)
    elif tokenizer.name in WORD_KINDS:
        described = {"kind": tokenizer.name, "scores": ""}
    else:
        raise InputError(f"a page cannot split as data.tokenizer.name={tokenizer.name} does")
    return {
        **described,
        "language": tokenizer.language,
        "lowercase": tokenizer.lowercase,
        "tokens": codec.vocabulary.tokens,
        "casing": None if codec.casing is None else asdict(codec.casing),
    }


def _subwords(tokenizer: SubwordTokenizer) -> dict[str, Any]:
    model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(tokenizer.model.serialized_model_proto())
    kind = SUBWORD_KINDS.get(model.trainer_spec.model_type)
    if kind is None or model.normalizer_spec.name != "identity":
        raise InputError(
            "a page cannot split as this SentencePiece model: it is not of this program"
        )
    scores = np.array([piece.score for piece in model.pieces], dtype=np.float32)
    return {"kind": kind, "scores": _base64(scores)}
