"""The interactive page: a model in int8 and its viewer in one HTML file.

The page computes a model by its own JavaScript. So what it holds is run by node, if it is installed, and compared with
the rounded model in PyTorch, see `prove`.
"""

import json
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor

from seq2seq.attention import Attention, MeanAttention
from seq2seq.common.errors import InputError
from seq2seq.data.batch import SourceBatch
from seq2seq.data.folders import config_of, own_classes
from seq2seq.data.languages import base_language, has_dotless_i, is_unspaced
from seq2seq.data.tokenizers import (
    CharacterTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    WordTokenizer,
)
from seq2seq.models import BahdanauDecoder, GRUEncoder, Seq2Seq
from seq2seq.models.folder import load_model_folder, tied_names
from seq2seq.models.int8 import as_json, base64_of
from seq2seq.models.layers import GRUCell
from seq2seq.models.proof import Steps, prove, require_near
from tensorboard_attention import Framed, bundle, color_scales, html_page, viewer_modules

SCORES = {
    "AdditiveScore": "additive",
    "BilinearScore": "bilinear",
    "UniformScore": "average",
    "DotScore": "dot",
    "GaussianScore": "gaussian",
    "ScaledDotScore": "scaled_dot",
}
"""Names in the page of the scores that it supports, by class."""

SHOW = '; seq2seq show MODEL "A sentence." shows its attention'

BOUND = 1e-9
"""Maximum difference between the page and the rounded model in float64, see `prove`."""

STEPS = """
const { model, sentences } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const network = new Network(model);
console.log(JSON.stringify(sentences.map(({ ids, tokens }) => {
  const memory = network.encode(ids);
  let states = network.start(memory);
  return tokens.map((token) => {
    const made = network.step(memory, states, token);
    states = made.states;
    return { log_probabilities: [...made.logProbabilities], weights: [...made.weights] };
  });
})));
"""
"""Steps of sentences (ids, and the previous token of each step), in JavaScript."""


def export_page(folder: str | Path, sentence: str) -> str:
    """Return an HTML page with the model of a run folder or a model folder.

    Weights are rounded as `seq2seq.models.int8` says.
    The page translates the sentence when it is opened.

    Raises:
        InputError: There is no model, the page does not support it, or it computes something else.
    """
    model = page_model(folder)
    data = {"model": model, "sentence": sentence, "colors": color_scales()}
    languages = [model[side]["language"] for side in ("source", "target")]
    return html_page(
        data,
        title=f"{' → '.join(languages)}, {Path(folder).resolve().name}",
        modules=[model_module(), *viewer_modules(), static_file("asking.js")],
        start="translating(document.body);\n",
        style=static_file("asking.css"),
    )


def framed_page(folder: str | Path, sentence: str, height: int) -> Framed:
    """Return this page in a frame of a notebook, so many pixels high."""
    return Framed(export_page(folder, sentence), height=height)


def model_module() -> str:
    """Return the JavaScript of the model, which knows nothing of pages."""
    return static_file("model.js")


def static_file(name: str) -> str:
    """Return the text of a file of the page that is not the viewer's."""
    return files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def page_model(folder: str | Path) -> dict[str, Any]:
    """Return the model of a folder as a page holds it; errors are those of `export_page`."""
    if own := own_classes(config_of(folder).parent):
        names = ", ".join(name.rpartition(".")[2] for name in own)
        raise InputError(f"a page computes classes of this program only, not {names}")
    saved = load_model_folder(folder)
    if saved.target_tokenizer.language == "mul":
        raise InputError("a page translates into one language, and this model into several")
    model, ties = deepcopy(saved.model).double(), tied_names(saved.model)
    parameters: dict[str, Any] = {}
    found = {
        "spec": _computed(saved.model),
        "bounds": asdict(saved.limits),
        "parameters": parameters,
        "ties": ties,
        "source": _described(saved.source_tokenizer),
        "target": _described(saved.target_tokenizer),
    }
    for name, tensor in model.state_dict().items():  # `model` becomes the rounded one
        if name not in ties:
            parameters[name], rounded = as_json(tensor)
            tensor.copy_(torch.from_numpy(rounded))
    require_near(
        "the page's int8 weights", saved.model.eval(), model.eval(), "train with a lower optimizer.lr"
    )
    if shutil.which("node") is None:
        print("The page was not compared with the model: that needs node", file=sys.stderr)
    else:
        advice = "This is an error of the program: please report it"
        prove("the page", model, lambda *given: _steps_in_node(found, *given), BOUND, advice)
    return found


def _steps_in_node(model: dict[str, Any], source: SourceBatch, tokens: Tensor) -> Steps:
    """Return what a page computes, as `seq2seq.models.proof.steps_of`."""
    lengths = source.lengths.tolist()
    columns = zip(source.ids.tolist(), lengths, tokens.T.tolist(), strict=True)
    sentences = [{"ids": ids[:length], "tokens": chosen} for ids, length, chosen in columns]
    done = subprocess.run(
        ["node", "-e", bundle([model_module()]) + STEPS],
        input=json.dumps({"model": model, "sentences": sentences}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    steps = []
    for rows in zip(*json.loads(done.stdout), strict=True):
        weights = np.zeros((len(rows), max(lengths)))
        for weights_row, row in zip(weights, rows, strict=True):
            weights_row[: len(row["weights"])] = row["weights"]
        steps.append({"log_probabilities": [row["log_probabilities"] for row in rows], "weights": weights})
    return steps


def _computed(model: Seq2Seq) -> dict[str, Any]:
    """Return the choices of the model that the page needs.

    Raises:
        InputError: The page does not support the model.
    """
    encoder, decoder = model.encoder, model.decoder
    hint = SHOW if decoder.has_attention else ""
    if type(decoder) is not BahdanauDecoder or type(encoder) is not GRUEncoder:
        raise InputError(f"a page computes encoder=gru with decoder=bahdanau only{hint}")
    attention = decoder.attention
    is_plain = (
        type(attention) in (Attention, MeanAttention)
        and attention.alignment is None
        and attention.history_class is None
    )
    if not is_plain or attention.normalizer != "softmax":
        raise InputError(f"a page computes attention with a score and a softmax only, of one head{hint}")
    score = SCORES.get(type(attention.score).__name__)
    if score is None or any(type(cell) is not GRUCell for cell in decoder.stack.cells):
        raise InputError(
            f"a page computes GRU cells and these scores only: {', '.join(SCORES.values())}{hint}"
        )
    width = getattr(attention.score, "inverse_width", None)  # of GaussianScore: a parameter, or a number
    if model.reverse_source:
        raise InputError(f"a page computes model.reverse_source=false only{hint}")
    return {
        "encoder_layers": len(encoder.layers),
        "decoder_layers": len(decoder.stack),
        "bidirectional": encoder.layers[0].bidirectional,
        "encoder_hidden_size": encoder.layers[0].hidden_size,
        "decoder_hidden_size": decoder.stack.cells[0].hidden_size,
        "embedding_size": decoder.embedding.embedding_dim,
        "initial_state": decoder.bridge.kind,
        "query": "state_and_token" if decoder.query_with_embedding else "state",
        "score": score,
        "inverse_width": width.item() if isinstance(width, Tensor) else width,
        "readout_size": None if decoder.readout is None else decoder.output.in_features,
    }


def _described(tokenizer: Tokenizer) -> dict[str, Any]:
    kinds = {CharacterTokenizer: "character", WhitespaceTokenizer: "whitespace"}
    scores = ""
    if isinstance(tokenizer, SentencePieceTokenizer):
        model = sentencepiece_model_pb2.ModelProto()  # type: ignore[attr-defined]  # which protobuf makes
        model.ParseFromString(tokenizer.model.serialized_model_proto())
        kind = tokenizer.model_type
        scores = base64_of(np.array([piece.score for piece in model.pieces], dtype=np.float32))
    elif type(tokenizer) is WordTokenizer and tokenizer.arguments.get("rules", "word") != "moses":
        kind = "joints" if tokenizer.joints else tokenizer.arguments.get("rules", "word")
    elif type(tokenizer) in kinds:
        kind = kinds[type(tokenizer)]
    else:
        raise InputError(f"a page cannot split text as {type(tokenizer).__name__} does")
    return {
        "kind": kind,
        "scores": scores,
        "language": base_language(tokenizer.language),
        "dotless": has_dotless_i(tokenizer.language),
        "unspaced": is_unspaced(tokenizer.language),
        "lowercase": tokenizer.case != "keep",
        "tokens": tokenizer.vocabulary,
        "casing": tokenizer.casing.saved() if tokenizer.case == "restore" else None,
    }
