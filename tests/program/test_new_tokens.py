"""A training that starts from a model whose vocabulary lacks words of the new text: `data.new_tokens`."""

import json
import re

import pytest

import seq2seq
from tests.conftest import TINY

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
    "optimizer.lr=0.02", "trainer.check_val_every_n_epoch=25", "model.encoder.dropout=0.1", "threads=1", "device=cpu",
    "model.decoder.readout_size=${model.embedding_size}", "experiment_name=new",
]  # fmt: skip
TUNING = "init_from=runs/new/old", "data.new_tokens=50"


@pytest.fixture
def train(request, program, tmp_path):
    def run(text, name, kind, *more):
        for code, line in text.items():
            (tmp_path / f"{name}.{code}").write_text(f"{line}\n" * 16, encoding="utf-8")
        files = [
            f"data.{split}.{side}={name}.{code}"
            for split in ("train", "validation")
            for side, code in (("source", "en"), ("target", "fr"))
        ]
        keys = *SMALL, *files, f"name={name}", *KINDS[kind], *more
        return program(*keys, cwd=tmp_path, check=0, timeout=300).text

    return run


@pytest.mark.parametrize(
    "kind",
    ["words", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("joint", "pieces", "unigram"))],
)
def test_new_tokens_are_added_and_old_text_is_translated_as_before(kind, train, tmp_path):
    train(OLD, "old", kind, "trainer.max_epochs=25")
    told = train(NEW, "begun", kind, *TUNING, "trainer.max_epochs=0")
    found = re.findall(r"^new tokens  (\w+): (\d+) behind (\d+), .* missing: (.*)$", told, re.MULTILINE)
    assert [each[0] for each in found] == ["source", "target"]
    assert all(re.search("ruth|ż", each[3], re.IGNORECASE) for each in found)
    assert "new tokens" in (tmp_path / "runs/new/begun/train.log").read_text(encoding="utf-8")

    old, begun = (seq2seq.load(str(tmp_path / "runs/new" / name)) for name in ("old", "begun"))
    texts = [OLD["en"], "a man I see", "see", "now a man ."]
    before = [each.text for each in old.translate(texts)]
    assert any(before)
    assert [each.text for each in begun.translate(texts)] == before

    def tokens(name, side="source"):
        path = tmp_path / f"runs/new/{name}/model/{side}.json"
        return json.loads(path.read_text(encoding="utf-8"))["tokens"]

    assert tokens("begun")[: len(tokens("old"))] == tokens("old")
    assert len(tokens("begun")) == len(tokens("old")) + int(found[0][1])
    assert (tokens("begun", "target") == tokens("begun")) == (kind in ("joint", "pieces"))


def test_new_tokens_are_learned_and_a_training_that_goes_on_has_the_same_weights(train, tmp_path):
    train(OLD, "old", "words", "trainer.max_epochs=1")
    train(NEW, "whole", "words", *TUNING, "trainer.max_epochs=25")
    text = seq2seq.load(str(tmp_path / "runs/new/whole")).translate([NEW["en"]])[0].text
    assert text == NEW["fr"]
    train(NEW, "halves", "words", *TUNING, "trainer.max_epochs=10")
    assert "continues" in train(NEW, "halves", "words", *TUNING, "trainer.max_epochs=25")
    whole, halves = (
        (tmp_path / f"runs/new/{name}/model/model.safetensors").read_bytes() for name in ("whole", "halves")
    )
    assert whole == halves


def test_without_a_model_to_start_from_nothing_is_added(program, tmp_path):
    told = program(*TINY, "data.new_tokens=5", "trainer.max_epochs=1", cwd=tmp_path, check=0).text
    assert "data.new_tokens=5 has no effect with init_from=None" in told
