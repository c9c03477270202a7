"""Pages that translate: their modules without a browser, and what they are compared with."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch

from seq2seq.data.batch import SourceBatch
from seq2seq.data.batching import BatchSize
from seq2seq.data.vocabulary import BEGIN_ID, END_ID, PADDING_ID
from seq2seq.decoding.translator import Translator
from seq2seq.export.translating_page import model_module
from seq2seq.models.folder import load_model_folder
from tensorboard_attention.page import bundle

READ = 'const given = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'


def data_of(page):
    """What a page holds, as its script reads it."""
    return json.loads(re.search(r'id="attention-data">(.*?)</script>', page, re.DOTALL)[1])


def in_node(body, **given):
    """The value of the body of a function, which sees the model's modules and `given`."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    script = f"{bundle([model_module()])}{READ}console.log(JSON.stringify((() => {{{body}}})()));"
    command = [node, "-e", script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def matrix_of(array):
    """The matrix of a page, as numbers; None of what is a vector there."""
    if array["scales"] is None:
        return None
    numbers = np.frombuffer(base64.b64decode(array["numbers"]), np.int8).astype(np.float32)
    scales = np.frombuffer(base64.b64decode(array["scales"]), "<f4")
    return numbers.reshape(array["shape"]) * scales[:, None]


def rounded(folder, page):
    """The translator of a folder, with the rounded matrices of its page."""
    exported = load_model_folder(folder)
    arrays = data_of(page)["model"]["parameters"]
    for name, parameter in exported.model.named_parameters():
        matrix = matrix_of(arrays[name])
        if matrix is not None:
            parameter.data = torch.from_numpy(matrix)
    size = BatchSize(sentences=None, tokens=4096)
    return Translator(exported, device=torch.device("cpu"), batch_size=size)


def assert_same(found, expected, tolerance=1e-4):
    assert found["target"] == list(expected.target_tokens)
    assert found["source"] == list(expected.source_tokens)
    assert found["text"] == expected.text
    assert found["score"] == pytest.approx(expected.score, abs=tolerance)
    weights = np.reshape(found["weights"], expected.weights.shape)
    np.testing.assert_allclose(weights, expected.weights, atol=tolerance)


@torch.no_grad()
def steps_of(translator, sentence, prefix=(), weights=None, count=8):
    """The first steps of a greedy translation with given tokens and weights, number by number.

    Args:
        translator: of one model.
        sentence: what is translated.
        prefix: ids that it begins with.
        weights: what is attended to, by the number of the step.
        count: steps at most.
    """
    model, tokenizer = translator._models[0], translator._source_tokenizer
    decoder, ids = model.decoder, torch.tensor([[*tokenizer.encode(sentence), END_ID]])
    memory = model.encode(SourceBatch(ids, torch.tensor([ids.shape[1]])))
    states, token, steps = decoder.initial_state(memory), BEGIN_ID, []
    while len(steps) < count and token != END_ID:
        embedded = decoder.embedding(torch.tensor([token]))
        query = torch.cat([states[-1], embedded], -1) if decoder.query_with_embedding else states[-1]
        score = decoder.attention.score(query[None], memory.keys, memory.keys)[0]
        given = (weights or {}).get(len(steps))
        looked = score.softmax(-1) if given is None else torch.tensor(given)[None]
        context = looked @ memory.states[0]
        new, parts = _advanced(decoder, embedded, context, states)
        features = new[-1] if decoder.readout is None else decoder.readout(new[-1], context, embedded)
        logs = decoder.output(features).log_softmax(-1)[0]
        allowed = logs.index_fill(0, torch.tensor([PADDING_ID, BEGIN_ID]), -torch.inf)
        token = prefix[len(steps)] if len(steps) < len(prefix) else int(allowed.argmax())
        found = {"query": query, "scores": score, "weights": looked, "context": context}
        found |= {"features": features, "log_probabilities": logs, "token": token} | parts
        steps.append({name: np.squeeze(np.asarray(value)) for name, value in found.items()})
        states = new
    return steps


def _advanced(decoder, embedded, context, states):
    """The states after a step, and the gates of the first layer."""
    new, parts = [], {}
    inputs = decoder.stack.input_gates(embedded) + decoder.context_gates(context)
    for layer, state in zip(decoder.stack.cells, states, strict=True):
        if new:
            inputs = layer.input_gates(new[-1])
        of_input, of_state = inputs.chunk(3, -1), layer.state_gates(state).chunk(3, -1)
        reset, update = (torch.sigmoid(of_input[gate] + of_state[gate]) for gate in (0, 1))
        candidate = torch.tanh(of_input[2] + reset * of_state[2])
        new.append((1 - update) * candidate + update * state)
        parts = parts or {"reset": reset, "update": update, "candidate": candidate, "state": new[0]}
    return new, parts


@torch.no_grad()
def tree_of(translator, sentence, size, limits):
    """Every continuation that a beam search by average log-probability chooses, step by step.

    Returns:
        For each step token, score and last token before it, the likeliest first.
    """
    model, tokenizer = translator._models[0], translator._source_tokenizer
    ids = torch.tensor([[*tokenizer.encode(sentence), END_ID]])
    lengths = torch.tensor([ids.shape[1]])
    greatest = int(limits.maximum(lengths))
    going, finished, levels = [((), 0.0)], [], []
    while going:
        found = []
        for written, score in going:
            read = torch.tensor([[BEGIN_ID, *written]])
            features, _ = model.decoder(read, model.encode(SourceBatch(ids, lengths)))
            logs = model.decoder.output(features[0, -1]).log_softmax(-1).tolist()
            allowed = (t for t in range(len(logs)) if t not in (PADDING_ID, BEGIN_ID))
            found += [(score + logs[token], written, token) for token in allowed]
        chosen = sorted(found, reverse=True)[: size - len(finished)]
        levels.append([(token, score, (BEGIN_ID, *written)[-1]) for score, written, token in chosen])
        length = len(levels)
        has_ended = [token == END_ID or length == greatest for *_, token in chosen]
        finished += [each[0] / length for each, end in zip(chosen, has_ended, strict=True) if end]
        going = [
            ((*written, token), score)
            for (score, written, token), end in zip(chosen, has_ended, strict=True)
            if not end and score / greatest > max(finished, default=-float("inf"))
        ]
    return levels
