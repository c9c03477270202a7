"""Pages that translate: their modules without a browser, and what they are compared with."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch

from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.decoding.translator import Translator
from seq2seq.tensorboard.plugin.page import MODEL_MODULES, bundle
from seq2seq.text.bucketing import BatchSize

READ = 'const given = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'


def data_of(page):
    """What a page holds, as its script reads it."""
    return json.loads(re.search(r'id="attention-data">(.*?)</script>', page, re.DOTALL)[1])


def in_node(body, **given):
    """The value of the body of a function, which sees the model's modules and `given`."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    script = f"{bundle(MODEL_MODULES)}{READ}console.log(JSON.stringify((() => {{{body}}})()));"
    command = [node, "-e", script]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def rounded(folder):
    """A translator whose matrices are rounded to 255 steps a row, as docs/viewing.md says."""
    exported = load_model_folder(folder)
    for parameter in exported.model.parameters():
        if parameter.ndim == 2:
            values = parameter.detach().numpy()
            scale = (np.abs(values).max(axis=1, keepdims=True) / 127).astype(np.float32)
            scale[scale == 0] = 1
            parameter.data = torch.from_numpy(np.round(values / scale) * scale)
    size = BatchSize(sentences=None, tokens=4096)
    return Translator(exported, device=torch.device("cpu"), batch_size=size)


def assert_same(found, expected, tolerance=1e-4):
    assert found["target"] == list(expected.target_tokens)
    assert found["source"] == list(expected.source_tokens)
    assert found["text"] == expected.text
    assert found["score"] == pytest.approx(expected.score, abs=tolerance)
    weights = np.reshape(found["weights"], expected.weights.shape)
    np.testing.assert_allclose(weights, expected.weights, atol=tolerance)
