import csv
import io
import os
import shutil
from copy import copy

import numpy as np
import pytest

from seq2seq.errors import InputError
from seq2seq.evaluation.bleu_statistics import sentence_statistics
from seq2seq.experiments.comparison import Run
from seq2seq.experiments.ledger import read_ledger, write_ledger
from seq2seq.experiments.report import print_rows
from seq2seq.sweeps.comparison import (
    as_csv,
    as_markdown,
    compare_runs,
    statistics_on_test,
    write_report,
)
from tests.swept import folders_of, run_sweep


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
        np.testing.assert_array_equal(statistics_on_test([each])[0], expected)
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
    assert {"validation_bleu.png", "bleu_by_length.png", "parallel_coordinates.png"} <= names
    page = (tmp_path / "comparison.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "http" not in page
    assert 'src="data' in page


def test_the_same_configuration_counts_once(runs):
    folder = next(iter(folders_of(runs).values()))
    assert len(compare_runs([folder, runs]).groups[0].runs) == 3


@pytest.fixture
def copied(runs, tmp_path):
    """The runs, to be changed, and the folder of one of them."""
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs", next(iter(folders_of(tmp_path / "runs").values()))


@pytest.mark.parametrize(
    "content",
    [b"{", b"[" * 100_000, b'{"version": 2}', b'{"version": 1, "scores": []}', b"\xff", b"null"],
)
def test_a_bad_record_is_left_out_with_a_line_and_the_others_are_shown(copied, content, capsys):
    folder, bad = copied
    (bad / "ledger.json").write_bytes(content)
    report = compare_runs([folder])
    assert sorted(row["runs"] for row in report.rows) == ["2", "3"]
    assert [note for note in report.notes if note.startswith(f"left out: {bad / 'ledger.json'}")]
    print_rows(report.rows, report.notes)
    assert "left out" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"no finished run in .*ledger\.json"):
        compare_runs([bad])


def test_a_pipe_in_the_place_of_a_record_holds_nobody_up(copied):
    folder, bad = copied
    (bad / "ledger.json").unlink()
    os.mkfifo(bad / "ledger.json")
    assert sorted(row["runs"] for row in compare_runs([folder]).rows) == ["2", "3"]


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"source": "a", "reference": "b"}', b"[]", b'{"source": 1}', b"[" * 9999]
)
def test_bad_translations_are_left_out_with_a_line(copied, line):
    folder, bad = copied
    with (bad / "translations" / "test.jsonl").open("ab") as file:
        file.write(line + b"\n")
    report = compare_runs([folder])
    assert sorted(row["runs"] for row in report.rows) == ["3", "3"]
    assert any("test.jsonl, line 31, cannot be read" in note for note in report.notes)


@pytest.mark.parametrize("path", ["corpus/[a-c]*", "[/x]", "[red]a[/red] [a,b]", "[link=x]y"])
def test_labels_keep_their_brackets_on_the_terminal(copied, path, capsys):
    folder, changed = copied
    ledger = read_ledger(changed)
    ledger.config["init_from"], ledger.fingerprint = path, "other"
    write_ledger(changed, ledger)
    report = compare_runs([folder])
    print_rows(report.rows, report.notes)
    assert f"init_from={path}" in capsys.readouterr().out


def test_no_control_sign_is_shown_and_no_cell_is_a_formula(copied, tmp_path, capsys):
    folder, changed = copied
    ledger = read_ledger(changed)
    ledger.config |= {"init_from": "\x1b[2J\x07\r\n=1", "name": "x"}
    ledger.config["data"] |= {"source_language": '=HYPERLINK("x")', "target_language": " @SUM(1)"}
    ledger.fingerprint = "other"
    write_ledger(changed, ledger)
    report = compare_runs([folder])
    print_rows(report.rows, report.notes)
    write_report(report, tmp_path / "report")
    texts = [capsys.readouterr().out, as_csv(report), as_markdown(report)]
    texts.append((tmp_path / "report" / "comparison.html").read_text())
    for text in texts:
        assert not {sign for sign in text if not sign.isprintable()} - {"\n"}
    cells = [cell for row in csv.reader(io.StringIO(as_csv(report))) for cell in row]
    assert '\'=HYPERLINK("x")' in cells
    assert not [cell for cell in cells if cell.strip().startswith(("=", "@", "+"))]


def test_folders_without_finished_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="no finished run"):
        compare_runs([tmp_path])
    with pytest.raises(InputError, match="is no folder"):
        compare_runs([tmp_path / "absent"])
