import csv
import io
from copy import copy

import numpy as np
import pytest

from seq2seq.application.comparison import as_csv, as_markdown, compare_runs, write_report
from seq2seq.application.comparison import test_statistics as statistics_of_test
from seq2seq.errors import InputError
from seq2seq.evaluation.bleu_statistics import sentence_statistics
from seq2seq.experiments.comparison import Run
from tests.sweeps import folders_of, run_sweep


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two settings with three seeds each: one translates well, one loses a third of the words."""
    folder = tmp_path_factory.mktemp("runs")
    tiny = ["model.embedding_size=1", "trainer.max_epochs=2", "sweep.jobs=2"]
    assert run_sweep(folder, "attention.dropout=0.3,0.02", "seed=1,2,3", *tiny)[0] == 0
    return folder


def test_groups_are_runs_that_differ_in_the_seed_only(runs):
    groups = compare_runs([runs]).groups
    assert {group.label for group in groups} == {"attention.dropout=0.3", "attention.dropout=0.02"}
    assert [[run.ledger.seed for run in group.runs] for group in groups] == [[1, 2, 3]] * 2


def test_a_difference_is_called_significant_or_not(runs):
    report = compare_runs([runs])
    verdicts = [row["against the best"] for row in report.rows]
    assert verdicts[0] == "best"
    assert ", significant (p = " in verdicts[1] or ", not significant (p = " in verdicts[1]


def test_translations_are_compared_in_the_tokens_of_their_language(runs):
    report = compare_runs([runs])
    run = report.groups[-1].runs[0]
    ledger = copy(run.ledger)
    data = {**ledger.config["data"], "target_language": "th"}
    ledger.config = {**ledger.config, "data": data}
    kept = run.translations("test")
    for each, language in ((run, "fr"), (Run(run.folder, ledger), "th")):
        expected = sentence_statistics(kept.hypotheses, kept.references, language)
        np.testing.assert_array_equal(statistics_of_test([each], {})[0], expected)
    assert "BLEU: stub" in report.notes


def test_the_table_has_mean_deviation_and_number(runs):
    row = compare_runs([runs]).rows[0]
    assert row["runs"] == "3"
    assert " ± " in row["test BLEU"]
    assert "| attention.dropout=" in as_markdown(compare_runs([runs]))


def test_the_csv_has_a_line_for_each_run(runs):
    rows = list(csv.DictReader(io.StringIO(as_csv(compare_runs([runs])))))
    assert len(rows) == 6
    assert {row["attention.dropout"] for row in rows} == {"0.3", "0.02"}
    assert {row["seed"] for row in rows} == {"1", "2", "3"}


def test_the_page_needs_no_other_file(runs, tmp_path):
    paths = write_report(compare_runs([runs]), tmp_path)
    names = {path.name for path in paths}
    assert {"comparison.html", "comparison.csv", "comparison.md"} <= names
    assert {"validation_bleu.png", "parallel_coordinates.png"} <= names
    page = (tmp_path / "comparison.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert "http" not in page
    assert 'src="data' in page


def test_the_same_configuration_counts_once(runs):
    folder = next(iter(folders_of(runs).values()))
    assert len(compare_runs([folder, runs]).groups[0].runs) == 3


def test_folders_without_finished_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="no finished run"):
        compare_runs([tmp_path])
    with pytest.raises(InputError, match="is no folder"):
        compare_runs([tmp_path / "absent"])
