import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from seq2seq.commands.speedrun import main
from seq2seq.own_files import OWN as ROOT
from seq2seq.runs.making.corpus import build_corpus
from seq2seq.runs.making.text import build_codecs
from seq2seq.runs.run import run
from seq2seq.runs.speedrun import Goal, Mark, as_lines, speedrun
from tests.runs.test_training_options import SHORT

OPTIONS = [*SHORT, "trainer.max_epochs=3"]


def test_training_ends_at_the_first_validation_that_reaches_the_score(tiny, tmp_path):
    (mark,) = speedrun(tiny(*OPTIONS), tmp_path / "reached", [], bleu=0.0)
    assert mark.epoch == 1
    marks = speedrun(tiny(*OPTIONS), tmp_path / "whole", [], bleu=100.0)
    assert [mark.epoch for mark in marks] == [1, 2, 3]
    assert [mark.seconds for mark in marks] == sorted({mark.seconds for mark in marks})


def test_the_tokens_are_those_that_were_trained_on(tiny, tmp_path):
    config = tiny(*OPTIONS)
    marks = speedrun(config, tmp_path / "run", [], bleu=100.0)
    corpus = build_corpus(config.data)
    _, target_codec = build_codecs(config.data, corpus, tmp_path / "codecs")
    in_an_epoch = sum(len(target_codec.encode(pair.target)) + 1 for pair in corpus.train)
    assert [mark.num_tokens for mark in marks] == [in_an_epoch * epoch for epoch in (1, 2, 3)]


def test_the_score_is_that_of_the_run_with_an_average_too(tiny, tmp_path, monkeypatch):
    scored, score = {}, Goal._score

    def noting(goal):
        scored.update({name: w.clone() for name, w in goal._exported.model.state_dict().items()})
        return score(goal)

    monkeypatch.setattr(Goal, "_score", noting)
    options = [*OPTIONS, "optim.averaging=ema", "optim.ema_decay=0.9", "trainer.monitor=last"]
    marks = speedrun(tiny(*options), tmp_path / "speedrun", [], bleu=100.0)
    metrics = run(tiny(*options), tmp_path / "run")
    assert marks[-1].bleu == pytest.approx(metrics["validation"]["bleu"])
    exported = load_file(tmp_path / "run" / "model" / "model.safetensors")
    assert all(torch.equal(scored[name], weight) for name, weight in exported.items())


def test_the_time_of_the_scores_does_not_count(tiny, monkeypatch):
    clock = [0.0]

    def score(_):
        clock[0] += 100
        return 1.0

    monkeypatch.setattr(Goal, "_score", score)
    monkeypatch.setattr("seq2seq.runs.speedrun.perf_counter", lambda: clock[0])
    validation = SimpleNamespace(pairs=[])
    prepared = SimpleNamespace(
        corpus=SimpleNamespace(validation=validation), exported=None, device=None
    )
    goal = Goal(prepared, tiny(), bleu=50.0, started=0.0)
    for epoch in range(2):
        clock[0] += 7
        goal.on_validation_end(SimpleNamespace(current_epoch=epoch), None)
    assert [mark.seconds for mark in goal.marks] == [7, 14]


def test_the_line_for_the_table_is_of_the_mark_that_reached_the_score():
    below, reached = Mark(1, 60.0, 1000, 20.0), Mark(2, 120.4, 2000, 33.25)
    assert as_lines([below, reached], bleu=33.0)[-1].endswith("| 120 | 2,000 | 33.25 |")
    assert as_lines([below], bleu=33.0)[-1] == "BLEU 33 not reached"


@pytest.mark.parametrize(("least", "status"), [(33.0, 0), (33.4, 1)])
def test_a_row_is_verified_by_three_seeds_all_of_which_have_to_reach_the_score(
    least, status, tmp_path, monkeypatch, capsys
):
    seen = []

    def trained(config, folder, overrides, *, bleu):
        seen.append((config.seed, config.model.query.value, folder.name, overrides[0], bleu))
        return [Mark(1, 10.0 * config.seed, 1000, 20.0), Mark(2, 60.0, 3000, 33.0 + config.seed)]

    monkeypatch.setattr("seq2seq.runs.speedrun.speedrun", trained)
    options = ["--verify", "speedrun_1", "--bleu", str(least + 1), f"runs_dir={tmp_path}"]
    monkeypatch.setattr(sys, "argv", ["speedrun.py", *options, "data.root=x"])
    assert main() == status
    row = ("state", "experiment=speedrun_1", least + 1)
    assert seen == [(n, row[0], f"verify_{n}", *row[1:]) for n in (1, 2, 3)]
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "mean        60 s   3,000 target tokens   BLEU 35.00"


def test_the_rows_of_the_page_are_experiments(configured):
    page = (ROOT / "docs" / "speedrun.md").read_text("utf-8")
    rows = [line.split("|")[1].strip(" `") for line in page.splitlines() if "| 202" in line]
    assert rows == ["speedrun_1", "speedrun"]
    for row in rows:
        assert configured(f"experiment={row}").trainer.max_epochs <= 5
