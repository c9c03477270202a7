"""The interactive page: a model in int8 and its viewer in one HTML file."""

import base64
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from seq2seq.attention import Attention
from seq2seq.data.languages import base_language, has_dotless_i
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)
from seq2seq.errors import InputError
from seq2seq.export.model_folder import Matrix, int8_rows, load_model_folder, tied_names
from seq2seq.models import BahdanauDecoder, GRUEncoder, Seq2Seq
from seq2seq.models.layers import GRUCell
from tensorboard_attention.page import TRANSLATING, page
from tensorboard_attention.views import colours

SCORES = {
    "AdditiveScore": "additive",
    "BilinearScore": "bilinear",
    "UniformScore": "average",
    "DotScore": "dot",
    "GaussianScore": "gaussian",
    "ScaledDotScore": "scaled_dot",
}
"""Names in the page of the scores that it supports, by class."""


def export_page(folder: str | Path, sentence: str) -> str:
    """Return an HTML page with the model of a run folder or a model folder.

    Matrices are rounded by `int8_rows`. Vectors stay in float32.

    Args:
        folder: Of the run or the model.
        sentence: The sentence that the page translates when it is opened.

    Raises:
        InputError: There is no model, or the page does not support it.
    """
    model = page_model(folder)
    data = {"model": model, "sentence": sentence, "colours": colours()}
    languages = [model[side]["language"] for side in ("source", "target")]
    return page(data, title=f"{' → '.join(languages)}, {Path(folder).resolve().name}", parts=TRANSLATING)


def page_model(folder: str | Path) -> dict[str, Any]:
    """Return the model of a folder as a page holds it; errors are those of `export_page`."""
    saved = load_model_folder(folder)
    model = saved.model
    ties, state = tied_names(model), model.state_dict()
    return {
        "spec": _computed(model),
        "bounds": asdict(saved.limits),
        "parameters": {name: _array(state[name]) for name in state.keys() - ties.keys()},
        "ties": ties,
        "source": _described(saved.source_tokenizer),
        "target": _described(saved.target_tokenizer),
    }


def _computed(model: Seq2Seq) -> dict[str, Any]:
    """Return the choices of the model that the page needs.

    Raises:
        InputError: The page does not support the model.
    """
    encoder, decoder = model.encoder, model.decoder
    if type(decoder) is not BahdanauDecoder or type(encoder) is not GRUEncoder:
        raise InputError("a page computes encoder=gru with decoder=bahdanau only")
    attention = decoder.attention
    if type(attention) is not Attention or attention.keeps_history or attention.normalizer != "softmax":
        raise InputError("a page computes attention with a score and a softmax only")
    score = SCORES.get(type(attention.score).__name__)
    if score is None or not isinstance(decoder.stack.cells[0], GRUCell) or decoder.stack.gates_size % 3:
        raise InputError(f"a page computes GRU cells and these scores only: {', '.join(SCORES.values())}")
    if model.reverse_source:
        raise InputError("a page computes model.reverse_source=false only")
    return {
        "num_layers": len(decoder.stack),
        "bidirectional": encoder.layers[0].bidirectional,
        "encoder_hidden_size": encoder.layers[0].hidden_size,
        "decoder_hidden_size": decoder.stack.cells[0].hidden_size,
        "embedding_size": decoder.embedding.embedding_dim,
        "initial_state": decoder.bridge.kind,
        "query": "state_and_token" if decoder.query_with_embedding else "state",
        "score": score,
        "readout_size": None if decoder.readout is None else decoder.output.in_features,
    }


def _array(tensor: Tensor) -> dict[str, Any]:
    values = tensor.detach().float().numpy()
    if values.ndim < 2:
        return {"shape": values.shape, "numbers": _base64(values), "scales": None}
    numbers, scales = int8_rows(values)
    return {"shape": values.shape, "numbers": _base64(numbers), "scales": _base64(scales)}


def _base64(values: Matrix) -> str:
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode("ascii")


def _described(tokenizer: Tokenizer) -> dict[str, Any]:
    kinds = {CharacterTokenizer: "character", WhitespaceTokenizer: "whitespace"}
    scores = ""
    if isinstance(tokenizer, SentencePieceTokenizer):
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(tokenizer.model.serialized_model_proto())
        kind = tokenizer.model_type
        scores = _base64(np.array([piece.score for piece in model.pieces], dtype=np.float32))
    elif type(tokenizer) is WordTokenizer and tokenizer.arguments.get("rules", "word") != "moses":
        kind = tokenizer.arguments.get("rules", "word")
    elif type(tokenizer) in kinds:
        kind = kinds[type(tokenizer)]
    else:
        raise InputError(f"a page cannot split text as {type(tokenizer).__name__} does")
    casing = {"forms": tokenizer.cased_forms, "capital_start": tokenizer.capital_start}
    return {
        "kind": kind,
        "scores": scores,
        "language": base_language(tokenizer.language),
        "dotless": has_dotless_i(tokenizer.language),
        "lowercase": tokenizer.lowercase,
        "tokens": tokenizer.vocabulary,
        "casing": casing if tokenizer.truecase else None,
    }
