"""Whole runs of the family. A sample of a cover of all pairs; `make family` runs the cover."""

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.decoding.aligner import word_attention
from seq2seq.decoding.search import Search
from seq2seq.decoding.translator import Translator
from seq2seq.errors import InputError, TrainingInterrupted
from seq2seq.experiments.translations import read_translations
from seq2seq.runs.run import run
from tests.stops import ctrl_c, stopped_after

MORE = ["data.train_pairs=200", "model.dropout=0.2", "data.tokenizer.joint=true"]


def weights_of(run_dir):
    return torch.load(run_dir / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]


def overrides_of(chosen):
    """As the command line has them."""
    values = {key: str(value).lower() for key, value in chosen.items()}
    values |= {"model.readout_size": "null"} if chosen["model.readout_size"] is None else {}
    values |= {"attention.hidden_size": 6} if chosen["attention.score"] == "additive" else {}
    return [f"{key}={value}" for key, value in values.items()]


@pytest.mark.long
def test_a_run_is_resumed_bit_for_bit_exported_and_translates_the_same(
    covered, tiny, tmp_path, capsys
):
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    config = tiny(*overrides_of(covered), *MORE)
    run(config, whole)
    with stopped_after(9, ctrl_c), pytest.raises(TrainingInterrupted):
        run(config, halved)
    run(config, halved)
    expected, found = weights_of(whole), weights_of(halved)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    kept = read_translations(whole / "translations" / "test.jsonl")
    translator = Translator.load(whole / "model")
    assert [each.text for each in translator.translate(kept.sources)] == list(kept.hypotheses)
    attends = config.model.decoder not in ("plain", "context")
    for each in translator.translate(kept.sources, search=Search(beam=5)):
        columns = len(each.source_tokens) if attends else 0
        assert each.weights.shape == (len(each.target_tokens), columns)
        assert bool(each.as_dict()["attention"]) == attends
    events = EventAccumulator(str(whole)).Reload()
    assert ("attention/entropy" in events.Tags()["scalars"]) == attends
    assert bool(events.Tags()["images"]) == attends
    if not attends:
        said = capsys.readouterr().out
        assert said.count("nothing is drawn, recorded or measured\n") == 3  # once a run
        with pytest.raises(InputError, match="has no attention: its decoder is"):
            word_attention(whole / "model", [], device="cpu", max_tokens=100)
        with pytest.raises(InputError, match="replaced by attention"):
            translator.translate(["a"], replace_unknown=True)
