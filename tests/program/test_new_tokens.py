"""A training that starts from a model whose vocabulary lacks words of the new text: `data.new_tokens`."""

import json
import re
from functools import cache

import pytest

import seq2seq

OLD = {"en": "now I see a man .", "fr": "maintenant je vois un homme ."}
NEW = {"en": "now I see a żółw Ruth .", "fr": "maintenant je vois une żółw Ruth ."}
KINDS = {
    "words": ["tokenizer=words", "data.tokenizer.case=restore"],
    "joint": ["tokenizer=words", "data.joint_vocabulary=true", "model.tie_embeddings=all"],
    "pieces": ["tokenizer=bpe", "data.joint_vocabulary=true", "data.tokenizer.vocab_size=300"],
    "unigram": ["tokenizer=unigram", "data.tokenizer.vocab_size=290"],
}  # fmt: skip
SMALL = [
    "data=parallel", "recipe=small", "data.source_language=en", "data.target_language=fr", "data.batch_size=16",
    "decoding.beam_size=1", "decoding.max_ratio=2", "callbacks.attention=null", "callbacks.samples=null", "logger=none", "scheduler=constant",
    "optimizer.lr=0.02", "trainer.check_val_every_n_epoch=5", "model.encoder.dropout=0.1", "threads=1", "device=cpu",
    "model.decoder.readout_size=${model.embedding_size}", "experiment_name=new",
]  # fmt: skip


def tuning(name):
    return f"init_from=runs/new/{name}", "data.new_tokens=50"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return tmp_path_factory.mktemp("new")


@pytest.fixture(scope="module")
def train(program, here):
    def run(text, name, kind, *more):
        for code, line in text.items():
            (here / f"{name}.{code}").write_text(f"{line}\n" * 80, encoding="utf-8")
        files = [
            f"data.{split}.{side}={name}.{code}"
            for split in ("train", "validation")
            for side, code in (("source", "en"), ("target", "fr"))
        ]
        keys = *SMALL, *files, f"name={name}", *KINDS[kind], *more
        return program(*keys, cwd=here, check=0, timeout=300).text

    return run


@pytest.fixture(scope="module")
def old(train):
    """The name of a model of old text, by its kind."""
    return cache(lambda kind: train(OLD, f"old-{kind}", kind, "trainer.max_epochs=5") and f"old-{kind}")


@pytest.mark.parametrize(
    "kind",
    ["words", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("joint", "pieces", "unigram"))],
)
def test_new_tokens_are_added_and_old_text_is_translated_as_before(kind, train, old, here):
    names = old(kind), f"begun-{kind}"
    told = train(NEW, names[1], kind, *tuning(names[0]), "trainer.max_epochs=0")
    found = re.findall(r"^new tokens  (\w+): (\d+) behind (\d+), .* missing: (.*)$", told, re.MULTILINE)
    assert [each[0] for each in found] == ["source", "target"]
    assert all(re.search("ruth|ż", each[3], re.IGNORECASE) for each in found)
    assert "new tokens" in (here / f"runs/new/{names[1]}/train.log").read_text(encoding="utf-8")

    model, begun = (seq2seq.load(str(here / "runs/new" / name)) for name in names)
    texts = [OLD["en"], "a man I see", "see", "now a man ."]
    before = [each.text for each in model.translate(texts)]
    assert any(before)
    assert [each.text for each in begun.translate(texts)] == before

    def tokens(name, side="source"):
        path = here / f"runs/new/{name}/model/{side}.json"
        return json.loads(path.read_text(encoding="utf-8"))["tokens"]

    before, after = map(tokens, names)
    assert after[: len(before)] == before
    assert len(after) == len(before) + int(found[0][1])
    assert (tokens(names[1], "target") == after) == (kind in ("joint", "pieces"))


def test_new_tokens_are_learned(train, old, here):  # also after kills: tests/reliability/test_kills.py
    train(NEW, "whole", "words", *tuning(old("words")), "trainer.max_epochs=5")
    text = seq2seq.load(str(here / "runs/new/whole")).translate([NEW["en"]])[0].text
    assert text == NEW["fr"]
