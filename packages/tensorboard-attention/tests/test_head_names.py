"""Names of heads: each pattern that is made by hand has its name, a near miss has not, and another program agrees, also of a training."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from tensorboard_attention import capture, page

STATIC = Path(page.__file__).with_name("static")

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]
TWICE = ["a", "b", "c", "d", "[sep]", "a", "b", "c", "d"]
T = len(TWICE)


def names_of(cases):
    """The names of each (source, target, weights), by the viewer's own program."""
    script = f"""
import {{ readFileSync }} from "node:fs";
import {{ namesOfHead }} from '{STATIC}/heads.js';
const cases = JSON.parse(readFileSync(0));
console.log(JSON.stringify(cases.map(([source, target, weights]) => namesOfHead({{ source, target }}, {{ weights: Float64Array.from(weights) }}).map((each) => each.name))));
"""
    given = json.dumps([(list(s), list(t), np.asarray(w).ravel().tolist()) for s, t, w in cases])
    command = [
        "node",
        "--no-warnings",
        "--input-type=module",
        "--experimental-default-type=module",
        "-e",
        script,
    ]
    found = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def mixed(share, pattern, *, is_causal=True):
    """A share of the weight follows a pattern, the rest is spread otherwise: mostly far behind or on oneself."""
    pattern = np.asarray(pattern, dtype=float)
    rest = np.zeros_like(pattern)
    for row in range(len(pattern)):
        columns = range(row + 1) if is_causal else range(pattern.shape[1])
        free = [column for column in columns if not pattern[row, column]]
        for column in free:
            rest[row, column] = 1 / len(free)
        if not free:
            rest[row] = pattern[row]
        if not pattern[row].any():
            pattern[row] = rest[row]
    return share * pattern + (1 - share) * rest


def shifted(by, size=8):
    return np.eye(size, k=by)


def of_the_first(size=8):
    found = np.zeros((size, size))
    found[:, 0] = 1
    return found


def where(holds, tokens=TWICE):
    found = np.array([[float(holds(i, j)) for j in range(len(tokens))] for i in range(len(tokens))])
    return found / np.maximum(found.sum(axis=1, keepdims=True), 1)


def is_twin(i, j):
    return i != j and TWICE[i] == TWICE[j]


def follows_twin(i, j):
    return 0 < j < i - 1 and TWICE[j - 1] == TWICE[i]


SELF = {
    "previous token": (WORDS, shifted(-1), 0.5),
    "next token": (WORDS, shifted(1), 0.5),
    "first token": (WORDS, of_the_first(), 0.3),
    "diagonal": (WORDS, shifted(0), 0.5),
    "same word": (TWICE, where(is_twin), 0.5),
    "induction": (TWICE, where(follows_twin), 0.4),
    "separator": (TWICE, where(lambda i, j: j == 4), 0.5),
}
"""Tokens, all of the weight on the pattern, threshold."""


@pytest.mark.parametrize("name", SELF)
def test_a_pattern_has_its_name_and_a_near_miss_has_not(name):
    tokens, pattern, threshold = SELF[name]
    is_causal = name not in ("next token", "same word", "separator")
    shares = (1.0, threshold + 0.03, threshold - 0.03)
    made = [mixed(share, pattern, is_causal=is_causal) for share in shares]
    whole, enough, less = names_of([(tokens, tokens, weights) for weights in made])
    assert whole == [name]
    assert name in enough
    assert name not in less


def test_a_pattern_that_is_one_place_off_has_another_name_or_none():
    cases = {
        (): (WORDS, shifted(-2)),  # two before
        ("first token",): (WORDS, of_the_first()),
        ("next token",): (WORDS, shifted(1)),
        ("same word",): (TWICE, where(is_twin)),  # not induction
    }
    found = names_of([(tokens, tokens, mixed(1, pattern)) for tokens, pattern in cases.values()])
    assert [tuple(each) for each in found] == [*cases]


def test_names_of_cross_attention():
    source, target = ["le", "chat", "Anna", "dort", "bien", "ici", "."], ["the", "cat", "Anna", "sleeps"]
    diagonal = np.zeros((4, 7))
    diagonal[range(4), [0, 2, 4, 6]] = 1
    copied = np.full((4, 7), 1 / 7)
    copied[2] = np.eye(7)[2]
    point = np.eye(7)[[6] * 4]
    even = np.full((4, 7), 1 / 7)
    names = ["Anna", "Anna", "dort"]
    twice = np.eye(7)[[2, 2, 3]]
    found = names_of(
        [
            (source, target, diagonal),
            (source, target, copied),
            (source, target, point),
            (source, target, even),
            (source, names, twice),
            (source, names, np.eye(7)[[3, 4, 2]]),
        ]
    )
    assert found[0] == ["diagonal"]
    assert "copy of the source's word" not in found[1]  # one row proves nothing
    assert found[2] == ["separator"]
    assert found[3] == ["uniform"]
    assert "copy of the source's word" in found[4]
    assert "copy of the source's word" not in found[5]


def test_the_last_rows_of_a_long_text_have_the_names_of_all():
    """Of texts that are too long for a record only these are kept."""
    for name in ("previous token", "first token", "diagonal", "induction", "same word"):
        tokens, pattern, _ = SELF[name]
        whole = mixed(1, pattern, is_causal=name != "same word")
        assert names_of([(tokens, tokens[-5:], whole[-5:])]) == [[name]]


def test_even_weights_are_uniform_and_nearly_even_are_not():
    causal = np.tril(np.ones((8, 8)))
    causal /= causal.sum(axis=1, keepdims=True)
    bent = np.tril(np.exp(-0.9 * np.arange(8))[None, :].repeat(8, 0))
    bent /= bent.sum(axis=1, keepdims=True)
    found = names_of([(WORDS, WORDS, causal), (WORDS, WORDS, bent)])
    assert "uniform" in found[0]
    assert "uniform" not in found[1]


def test_axes_without_labels_and_hostile_tokens_have_no_names_of_words():
    blank, hostile = [""] * 8, ["<img src=x onerror=alert(1)>"] * 8
    found = names_of([(blank, blank, mixed(1, shifted(-1))), (hostile, hostile, mixed(1, shifted(-1)))])
    assert "previous token" in found[0]
    assert "same word" not in found[0]
    assert found[1]


def independent_names(tokens, weights):
    """The same published definitions of self-attention, in numpy, from their descriptions."""
    size = len(tokens)
    rows, columns = np.indices((size, size))
    same = np.array(tokens)[:, None] == np.array(tokens)[None, :]
    after_same = np.zeros_like(same)
    after_same[:, 1:] = same[:, :-1]
    stops = np.isin(np.array(tokens), ["[sep]", "."])[None, :] & (columns > 0) & (abs(columns - rows) > 1)
    causal = not np.triu(weights, 1).any()
    seen = np.where(causal & (columns > rows), 0, 1).sum(axis=1)
    nats = -np.where(weights > 0, weights * np.log(np.where(weights > 0, weights, 1)), 0).sum(axis=1)
    shares = {
        "previous token": (weights[rows - columns == 1][1:], 0.5),
        "next token": (weights[columns - rows == 1], 0.5),
        "diagonal": (np.diag(weights)[1:], 0.5),
        "first token": (weights[2:, 0], 0.3),
        "uniform": ((nats / np.log(np.maximum(seen, 2)))[seen > 2], 0.95),
    }
    for name, mask, least in (
        ("same word", same & (rows != columns), 0.5),
        ("induction", after_same & (columns < rows - 1), 0.4),
        ("separator", stops, 0.5),
    ):
        shares[name] = ((weights * mask).sum(axis=1)[mask.any(axis=1)], least)
    return {name for name, (found, least) in shares.items() if len(found) > 1 and found.mean() >= least}


def test_another_program_of_the_same_definitions_agrees():
    generator = np.random.default_rng(5)
    cases = []
    for _ in range(300):
        tokens = [*generator.choice([*"abcdefgh", "."], 12)]
        weights = generator.dirichlet(np.full(12, 0.3), 12)
        patterns = (np.eye(12, k=-1), np.eye(12, k=1), np.eye(12), of_the_first(12), where(lambda i, j, t=tokens: j < i - 1 and t[j - 1] == t[i] and j, tokens))  # fmt: skip
        pattern = patterns[generator.integers(5)]
        share = generator.uniform(0, 1)
        weights = (1 - share) * weights + share * pattern
        weights = np.tril(weights) if generator.integers(2) else weights
        cases.append((tokens, tokens, weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)))
    found = names_of(cases)
    agreed = [
        {*names} == independent_names(tokens, weights)
        for names, (tokens, _, weights) in zip(found, cases, strict=True)
    ]
    assert np.mean(agreed) >= 0.95
    assert len({name for names in found for name in names}) >= 5


# ---- Of a model that is trained

NUM_WORDS, HEADS, LAYERS, HALF, SENTENCES = 24, 2, 2, 9, 16
EVERY, LAST = 25, 400


class Look(NamedTuple):
    """What a probe shows at a step: the loss of the repeated half, weights and names of each sentence and head."""

    step: int
    loss: float
    weights: np.ndarray
    names: list[list[list[str]]]


def sentences(count, half, generator):
    """The first token, then different words twice."""
    order = 1 + torch.rand(count, NUM_WORDS - 1, generator=generator).argsort(1)[:, :half]
    return torch.cat([torch.zeros(count, 1, dtype=torch.long), order, order], dim=1)


def labels_of(probe):
    return [[f"w{number}" if number else "[bos]" for number in row] for row in probe.tolist()]


@pytest.fixture(scope="module")
def probe():
    return sentences(SENTENCES, HALF, torch.Generator().manual_seed(9))


@pytest.fixture(scope="module")
def looks(probe):
    """A Llama of two layers reads words and then the same words again, for 400 steps: what it shows every so many of them.

    Of the second half it can know all by an induction head.
    """
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=NUM_WORDS, hidden_size=64, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=128,
        max_position_embeddings=64, pad_token_id=None, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    found = []
    for step in range(LAST + 1):
        if step % EVERY == 0:
            found.append(look(model, probe, step))
        half = int(torch.randint(6, 11, (1,), generator=generator))
        batch = sentences(64, half, generator)
        model(input_ids=batch, labels=batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return found


def look(model, probe, step):
    with capture(model) as captured:
        logits = model(input_ids=probe).logits
    loss = cross_entropy(logits[:, HALF + 1 : -1].flatten(0, 1), probe[:, HALF + 2 :].flatten())
    weights = torch.stack([layer.weights for layer in captured.layers], dim=1).flatten(1, 2).numpy()
    cases = [(tokens, tokens, head) for tokens, heads in zip(labels_of(probe), weights, strict=True) for head in heads]  # fmt: skip
    names, count = names_of(cases), LAYERS * HEADS
    return Look(
        step, float(loss), weights, [names[first : first + count] for first in range(0, len(names), count)]
    )


def named(look, name):
    """In what share of the sentences each head has a name."""
    return np.mean([[name in head for head in heads] for heads in look.names], axis=0)


@pytest.mark.long
def test_another_program_agrees_on_all_heads_of_a_trained_model(looks, probe):
    agreed, names = [], set()
    for each in looks:
        for tokens, heads, called in zip(labels_of(probe), each.weights, each.names, strict=True):
            for weights, own in zip(heads, called, strict=True):
                agreed.append({*own} == independent_names(tokens, weights))
                names |= {*own}
    assert len(agreed) == len(looks) * SENTENCES * LAYERS * HEADS
    assert np.mean(agreed) >= 0.95
    assert {"induction", "previous token", "first token", "uniform"} <= names


@pytest.mark.long
def test_a_head_is_named_induction_only_when_the_loss_of_the_repeated_half_has_dropped(looks):
    """Olsson et al., 2022: below the loss of a model that knows which words come, but not in which order."""
    dropped = next(each.step for each in looks if each.loss < np.log(HALF))
    first = next(each.step for each in looks if named(each, "induction").max() >= 0.5)
    assert 0 < dropped <= first
    last = looks[-1]
    assert last.loss < 0.1
    assert named(last, "induction").max() == 1
    assert named(last, "induction")[:HEADS].max() == 0  # it needs the layer before


@pytest.mark.long
def test_the_weight_of_the_first_token_grows_with_training_in_the_second_layer(looks):
    """Gu et al., 2024; the first layer, whose heads look at the words before, goes the other way."""
    shares = np.array([each.weights[:, :, 2:, 0].mean(axis=(0, 2)) for each in looks])  # (looks, heads)
    second = shares[:, HEADS:].mean(axis=1)
    assert second[-4:].min() > 1.5 * second[0]
    formed = next(place for place, each in enumerate(looks) if named(each, "induction").max() >= 0.5)
    assert second[-4:].mean() > second[formed] > second[0]
    assert named(looks[0], "first token").max() == 0
    assert named(looks[-1], "first token").max() >= 0.25
