"""Claims, results, runs and labels of anybody: nothing outside their folders is touched."""

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from seq2seq.claims import searches
from seq2seq.claims.page import write_page
from seq2seq.claims.result import Result, _result, configured, keep
from seq2seq.claims.verdict import Compared, Finding
from seq2seq.commands import compare
from seq2seq.errors import InputError
from seq2seq.experiments.job import Job, Objective, Outcome
from seq2seq.experiments.ledger import State
from seq2seq.experiments.report import SweepReport, results_table
from seq2seq.experiments.translations import Translations
from seq2seq.sweeps import comparison
from seq2seq.sweeps.hypothesis import keep_hypothesis

COMPARED = Compared(
    says="x", measure="bleu", these="1", those="", difference=1.0, interval=(0.5, 1.5), p=0.01,
    finding=Finding.so,
)  # fmt: skip
RESULT = Result(
    name="length", source="a book", says="Long is hard.", found=[COMPARED], minutes=1.0,
    num_runs=1, commits=["0123456"], rests_on={},
)  # fmt: skip


@pytest.mark.parametrize("name", ["", "..", "../above", "{}/above", "a/b", "a\0b", "x" * 300])
def test_a_hypothesis_is_kept_in_the_folder_of_runs_alone(tmp_path, name):
    config = configured("length", []).sweep
    name = name.format(tmp_path)
    config = replace(config, parameters={**config.parameters, "experiment_name": name})
    with pytest.raises(InputError, match=r"experiment_name .* with a plain name"):
        keep_hypothesis(config, str(tmp_path / "runs"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["../secret", "x" * 300, "a\0b"])
def test_a_result_has_the_name_of_its_file(tmp_path, name):
    (tmp_path / "secret.txt").write_text("secret")
    keep(RESULT, b"", tmp_path / "claims")
    (tmp_path / "claims" / "length.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(RESULT, name=name))
    )
    with pytest.raises(InputError, match=r"length\.json is no result of a claim \(.*not length"):
        write_page(tmp_path)


def test_what_a_result_says_stays_in_its_place(tmp_path):
    said = msgspec.structs.replace(RESULT, says="\x1b[31m\n# Another", commits=["\x9b|\nx"])
    keep(said, b"", tmp_path / "claims")
    (tmp_path / "claims" / "length.txt").write_bytes(b"Noted: caf\xe9.\n")
    page = write_page(tmp_path).read_text("utf-8")
    assert not {"\x1b", "\x9b"} & set(page)
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# Claims about attention, tested",
        "## length",
    ]
    assert "Noted: caf\N{REPLACEMENT CHARACTER}." in page


@pytest.mark.parametrize(
    ("git", "commits"),
    [
        ({"commit": "0123456789"}, ["0123456"]),
        ({"commit": 5}, ["5"]),
        ({"commit": ["x"]}, ["['x']"]),
        ({"dirty": True}, []),
        (None, []),
    ],
)
def test_a_record_with_an_odd_commit_is_judged(git, commits):
    run = SimpleNamespace(ledger=SimpleNamespace(git=git, wall_seconds=60.0))
    arms = SimpleNamespace(groups=[SimpleNamespace(runs=[run])])
    assert _result("length", SimpleNamespace(source="", says=""), arms, [], {}).commits == commits


def test_translations_of_a_claim_are_kept_through_no_link(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "translations").symlink_to(tmp_path / "elsewhere")
    given = Translations(["a"], ["b"], ["c"])
    run = SimpleNamespace(folder=tmp_path / "run", translations=lambda _: given)
    monkeypatch.setattr(searches, "_translated", lambda *_: ["d"])
    with pytest.raises(InputError, match="translations is a link that leads out of"):
        searches.searched(run, {"beam": 2})
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_comparison_is_written_through_no_link(tmp_path, monkeypatch, capsys):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "comparison").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(comparison, "compare_runs", lambda _: None)
    monkeypatch.setattr("sys.argv", ["compare_runs.py", str(tmp_path / "runs")])
    assert compare.main() == 2
    assert "comparison is a link that leads out of" in capsys.readouterr().err


def test_labels_of_jobs_are_text(tmp_path, capsys):
    label = "data.train.source='corpus/[a-c]*',[/x],[red]a[/red] \x1b[31m"
    job = Job((), tmp_path / "[b]", "f", 1, label)
    outcome = Outcome(State.failed, detail="[/y] \x1b[2J")
    metric = Objective("validation/bleu", "max")
    report = SweepReport(num_jobs=1, metric=metric)
    report.console.width = 300
    report.ended(job, outcome)
    report.console.print(results_table({job: outcome}, metric))
    said = capsys.readouterr().out
    shown = label.replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    assert said.count(shown) == 2
    assert "[/y]" in said
    assert "[b]" in said
    assert "\x1b" not in said
