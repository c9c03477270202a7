"""seq2seq compare on folders of runs."""

import base64
import csv
import json
import random
import re

import numpy as np
import pytest
import yaml
from scipy.stats import ttest_ind

from judged_seeds import e_value, holm
from seq2seq.common.errors import InputError
from seq2seq.evaluation.bleu import cased_bleu
from seq2seq.evaluation.comparison import Setting, compared, comparison_table, find_runs, settings_of

REFERENCES = [f"the {noun} sees the {other} number {n} ." for n in range(8)
              for noun, other in (("cat", "dog"), ("man", "car"), ("girl", "house"))]  # fmt: skip


def make_run(folder, seed, quality, *, references=REFERENCES, texts=True, **values):
    """A finished run, of whose words a share is right."""
    draw = random.Random(f"{seed} {quality}")
    lines = [" ".join(w if draw.random() < quality else "x" for w in line.split()) for line in references]
    folder.mkdir(parents=True)
    config = {"seed": seed, "name": folder.name, "paths": {"run_dir": str(folder)}, "data": {"target_language": "en", "seed": seed},
              "callbacks": {"checkpoint": {"dirpath": f"{folder}/checkpoints"}}, **values}  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    scores = {"bleu": cased_bleu(lines, references, "en"), "chrf": 50 + 10 * quality + draw.random()}
    (folder / "metrics.json").write_text(json.dumps({"test": {"greedy": scores}, "finished": True}))
    if texts:
        (folder / "predictions").mkdir()
        for name, written in (("greedy", lines), ("reference", references), ("source", references)):
            (folder / "predictions" / f"test.{name}.txt").write_text("".join(f"{line}\n" for line in written))
    (folder / ".hydra").mkdir()
    typed = [f"{key}={value}" for key, value in values.items() if not isinstance(value, dict)]
    (folder / ".hydra" / "overrides.yaml").write_text(
        yaml.safe_dump([*typed, f"seed={seed}", f"name={folder.name}"])
    )


def make_three(folder, **options):
    for kind, quality in (("good", 0.97), ("same", 0.96), ("bad", 0.7)):
        for seed in (1, 2, 3):
            make_run(folder / f"{kind}-{seed}", seed, quality, kind=kind, **options)


def test_runs_that_were_scored_on_other_sentences_have_tables_of_their_own(tmp_path, program):
    others = [f"{line} now" for line in REFERENCES]
    for seed in (1, 2):
        make_run(tmp_path / f"runs/a{seed}", seed, 0.9, kind="good")
        make_run(tmp_path / f"runs/b{seed}", seed, 0.5, kind="bad")
        make_run(tmp_path / f"runs/c{seed}", seed, 0.9, kind="else", references=others)
    make_run(tmp_path / "runs/d", 1, 0.9, kind="no text", texts=False)
    metrics = tmp_path / "runs/d/metrics.json"
    metrics.write_text('{"val": {"loss": 1.0}, "finished": true}')
    done = program("runs", cwd=tmp_path, command="compare", check=0)
    heads = [line.split()[-1] for line in done.text.splitlines() if line.startswith("---")]
    assert heads == ["runs/a1", "runs/c1"]
    assert done.text.count("kind=good") == 1
    assert "there is one setting" in done.text
    assert f"left out: {metrics.parent.relative_to(tmp_path)} has no test/bleu" in done.text
    assert sorted(path.name for path in (tmp_path / "runs").glob("*.png")) == ["comparison-1.png"]


def test_seeds_of_other_text_code_or_weights_are_another_setting(tmp_path, program):
    for seed, text in ((1, "aa"), (2, "aa"), (3, "bb")):
        make_run(tmp_path / f"runs/{seed}", seed, 0.9)
        path = tmp_path / f"runs/{seed}/metrics.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"made_of": text}))
    done = program("runs", cwd=tmp_path, command="compare", check=0)
    rows = [line.split()[:2] for line in done.text.splitlines() if line.startswith("made_of=")]
    assert sorted(rows) == [["made_of=aa", "2"], ["made_of=bb", "1"]]


def test_runs_that_start_from_models_of_their_own_seeds_are_of_one_setting(tmp_path, program):
    for seed in (1, 2, 3):
        make_run(tmp_path / f"own/student-{seed}", seed, 0.9, init_from=f"runs/teacher-{seed}")
        make_run(tmp_path / f"one/student-{seed}", seed, 0.8, init_from="runs/teacher-1")
        path = tmp_path / f"own/student-{seed}/metrics.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"start": f"{seed}"}))
    for folder in ("own", "one"):
        done = program(folder, cwd=tmp_path, command="compare", check=0)
        (row,) = (line.split() for line in done.text.splitlines() if line.startswith("all runs"))
        assert row[2] == "3", done.text


@pytest.mark.parametrize("metric", ["seconds", "seconds/a", "test", "test/greedy"])
def test_what_is_no_score_is_refused(tmp_path, program, metric):
    make_run(tmp_path / "runs/a", 1, 0.9, kind="good")
    path = tmp_path / "runs/a/metrics.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seconds": 3.5}))
    done = program("runs", "--metric", metric, cwd=tmp_path, command="compare", check=2)
    assert f"metric={metric}: there is no such score" in done.text


def test_settings_are_compared_over_seeds_and_sentences(tmp_path, program):
    make_three(tmp_path / "runs")
    (tmp_path / "here").mkdir()
    make_run(tmp_path / "runs" / "again", 1, 0.97, kind="good")  # the same setting and seed
    (tmp_path / "runs" / "begun").mkdir()
    (tmp_path / "runs" / "begun" / "config.yaml").write_text("seed: 1\n")
    done = program("runs", "-o", "here/table.svg", cwd=tmp_path, command="compare", check=0)
    lines = {line.split()[0]: line for line in done.text.splitlines() if line.startswith("kind=")}
    assert list(lines) == ["kind=good", "kind=same", "kind=bad"]
    assert "not significant" in lines["kind=same"]
    assert "not significant" not in lines["kind=bad"]
    assert "significant" in lines["kind=bad"]
    assert "begun is not finished" in done.text
    assert done.text.count("left out") == 2
    assert (tmp_path / "here/table.svg").read_text().startswith("<?xml")
    with (tmp_path / "here/table.csv").open() as file:
        rows = {row["setting"]: row for row in csv.DictReader(file)}
    for kind in ("good", "bad"):
        scores = [json.loads((tmp_path / "runs" / f"{kind}-{n}" / "metrics.json").read_text())["test"]["greedy"]["bleu"]
                  for n in (1, 2, 3)]  # fmt: skip
        assert float(rows[f"kind={kind}"]["mean"]) == pytest.approx(np.mean(scores))
        assert float(rows[f"kind={kind}"]["sd"]) == pytest.approx(np.std(scores, ddof=1))
    bad = rows["kind=bad"]
    assert float(bad["difference"]) == pytest.approx(float(bad["mean"]) - float(rows["kind=good"]["mean"]))
    assert float(bad["low"]) < float(bad["difference"]) < float(bad["high"]) < 0
    assert 3 * float(bad["p"]) >= float(bad["p_holm"]) >= float(bad["p"])


def test_a_page_has_the_figure_of_the_intervals_and_the_table(tmp_path, program):
    hostile = "</pre><script>alert(1)</script>"
    for kind, quality in (("good", 0.97), (hostile, 0.5)):
        for seed in (1, 2, 3):
            make_run(tmp_path / f"runs/{len(kind)}-{seed}", seed, quality, kind=kind)
    program("runs", "-o", "page.html", cwd=tmp_path, command="compare", check=0)
    page = (tmp_path / "page.html").read_text()
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    drawn = base64.b64decode(picture).decode()
    assert "difference [BLEU] from" in drawn
    assert "alert(1)" in drawn
    for text in (page, drawn):  # nothing of a label is markup, and nothing is asked of another host
        assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert re.search(r"kind=good +3 ", page)
    assert "&lt;script&gt;" in page


def test_a_table_of_others_stays(tmp_path, program):
    make_three(tmp_path / "runs")
    (tmp_path / "table.csv").write_text("mine\n")
    done = program("runs", "-o", "table.pdf", cwd=tmp_path, command="compare", check=2)
    assert "table.csv is nothing that this export writes" in done.text
    assert (tmp_path / "table.csv").read_text() == "mine\n"
    for _ in range(2):  # its own is replaced
        program("runs", "-o", "other.png", cwd=tmp_path, command="compare", check=0)


def test_runs_for_debugging_are_left_out_unless_they_are_named_or_alone(tmp_path):
    for name, more in (("one", {}), ("tried", {"debug": "fast"})):
        make_run(tmp_path / "runs" / name, 1, 0.9, references=REFERENCES[:20] if more else REFERENCES, **more)
    found, left_out = find_runs([tmp_path / "runs"])
    assert [run.folder.name for run in found] == ["one"]
    assert len(left_out) == 1
    assert "debug=fast" in left_out[0]
    for paths in (["runs/tried"], ["runs", "runs/tried"]):
        found, left_out = find_runs([tmp_path / path for path in paths])
        assert "tried" in [run.folder.name for run in found]
        assert not any("is a run for debugging" in reason for reason in left_out)
    make_run(tmp_path / "only" / "tried", 1, 0.9, debug="fast")
    assert len(find_runs([tmp_path / "only"])[0]) == 1


@pytest.mark.parametrize("content", ["", "seed: 1\n", "seed: 1\nname: damaged\npaths: {runs_dir: runs}\n"])
def test_a_run_without_settings_is_left_out(content, tmp_path):
    for name in ("whole", "damaged"):
        make_run(tmp_path / name, 1, 0.9)
    (tmp_path / "damaged" / "config.yaml").write_text(content)
    found, left_out = find_runs([tmp_path])
    assert [run.folder.name for run in found] == ["whole"]
    assert len(left_out) == 1
    assert "damaged cannot be read" in left_out[0]


def test_scores_of_runs_alone_are_compared_by_welchs_test(tmp_path):
    make_three(tmp_path)
    settings = settings_of(find_runs([tmp_path])[0])
    rows = {row["setting"]: row for row in compared(settings, "test/chrf", "kind=bad")}
    scores = {name: row["scores"] for name, row in rows.items()}
    expected = ttest_ind(scores["kind=good"], scores["kind=bad"], equal_var=False).pvalue
    assert rows["kind=good"]["p"] == pytest.approx(expected)
    assert rows["kind=good"]["basis"] == "seeds"
    assert "p" not in rows["kind=bad"]


def test_one_seed_is_said(tmp_path, program):
    make_run(tmp_path / "a", 1, 0.95, kind="a")
    make_run(tmp_path / "b", 1, 0.6, kind="b")
    done = program("a", "b", cwd=tmp_path, command="compare", check=0)
    assert "significant, one seed" in done.text
    assert "one seed: the difference is of these models" in done.text
    assert (tmp_path / "comparison.csv").is_file()
    assert (tmp_path / "comparison.png").is_file()


def test_several_seeds_of_one_setting_are_not_said_to_be_compared(tmp_path, program):
    for seed in (1, 2):
        make_run(tmp_path / "runs" / str(seed), seed, 0.95, kind="a")
    done = program("runs", cwd=tmp_path, command="compare", check=0)
    assert "nothing is compared" in done.text
    assert not [*tmp_path.rglob("comparison.*")]
    done = program("runs", "-o", "one.pdf", cwd=tmp_path, command="compare", check=0)
    assert "one seed" not in done.text
    assert "nothing is compared" in done.text
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


def test_settings_are_named_by_their_values_where_nothing_was_typed(tmp_path):
    for size in (8, 16):
        make_run(tmp_path / str(size), 1, 0.9, model={"hidden_size": size, "other": 1})
    assert [s.label for s in settings_of(find_runs([tmp_path])[0])] == ["hidden_size=16", "hidden_size=8"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-4e-4, "-0.0004"), (-0.0, "+0.00"), (-1e-12, "+0.00"), (-0.006, "-0.01"), (0.0049, "+0.005")],
)
def test_a_difference_that_two_decimals_do_not_show_has_more(value, shown):
    row = {
        "setting": "a",
        "runs": 1,
        "mean": 1.0,
        "sd": None,
        "difference": value,
        "low": value,
        "high": value,
        "p_holm": 0.01,
    }
    assert comparison_table([row | {"basis": "seeds"}]).split("\n")[1].split()[3:7] == [
        shown,
        shown,
        "to",
        shown,
    ]


@pytest.mark.parametrize("arguments", [["nowhere"], ["empty"], ["runs", "--metric", "test/blue"], ["runs", "--baseline", "x"], ["runs", "-o", "a.jpg"],
                                       ["untested"]])  # fmt: skip
def test_mistakes_are_a_line(arguments, tmp_path, program):
    (tmp_path / "empty").mkdir()
    make_run(tmp_path / "runs" / "a", 1, 0.9, kind="a")
    make_run(tmp_path / "untested" / "c", 1, 0.9, kind="c")
    (tmp_path / "untested/c/metrics.json").write_text('{"val": {"greedy": {"bleu": 1}}, "finished": true}')
    done = program(*arguments, cwd=tmp_path, command="compare", check=2)
    assert {"untested": "untested/c"}.get(arguments[-1], "") in done.text  # the run is named
    assert len(done.text.splitlines()) == 1
    assert done.text.startswith("error: ")


@pytest.mark.parametrize("number", [1, 3])
def test_few_sentences_of_one_seed_each_say_nothing(number, tmp_path):
    for kind, quality in (("a", 1.0), ("b", 0.0)):
        make_run(tmp_path / kind, 1, quality, kind=kind, references=REFERENCES[:number])
    settings = settings_of(find_runs([tmp_path])[0])
    table = comparison_table(compared(settings, "test/bleu")).splitlines()
    assert "unknown" in table[2]
    assert "significant" not in table[2]


DAMAGES = {
    "fewer lines": ("predictions/test.greedy.txt", b"a line\n"),
    "latin-1": ("predictions/test.greedy.txt", b"\xe9\n" * len(REFERENCES)),
    "no number": ("metrics.json", b'{"test": {"greedy": {"bleu": NaN}}, "finished": true}'),
    "a text": ("metrics.json", b'{"test": {"greedy": {"bleu": "9"}}, "finished": true}'),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_that_is_damaged_is_named(damage, tmp_path):
    for kind in "ab":
        make_run(tmp_path / kind, 1, 0.9, kind=kind)
    name, content = DAMAGES[damage]
    (tmp_path / "b" / name).write_bytes(content)
    with pytest.raises(InputError, match=str(tmp_path / "b")):
        compared(settings_of(find_runs([tmp_path])[0]), "test/bleu")


@pytest.mark.parametrize("typed", ["lr=0.1 kind=a", "kind=a,optimizer.lr=0.1", "optimizer.lr=0.1, kind=a"])
def test_a_baseline_is_named_as_its_overrides_are_typed(typed, tmp_path):
    for kind in "ab":
        for rate in (0.1, 0.2):
            make_run(tmp_path / f"{kind}{rate}", 1, 0.9 - rate, kind=kind, **{"optimizer.lr": rate})
    settings = settings_of(find_runs([tmp_path])[0])
    (chosen,) = (row for row in compared(settings, "test/bleu", typed) if "difference" not in row)
    assert chosen["setting"] == "kind=a lr=0.1"
    with pytest.raises(InputError, match="kind=a lr=0"):
        compared(settings, "test/bleu", "kind=a")


def test_all_that_a_folder_holds_may_be_given(tmp_path, program):
    make_run(tmp_path / "runs/a", 1, 0.9, kind="a")
    make_run(tmp_path / "runs/b", 1, 0.5, kind="b")
    for given in (["runs"], ["runs/a", "runs/b", "runs/comparison.csv", "runs/comparison.png"]):
        program(*given, cwd=tmp_path, command="compare", check=0)
    assert not [*tmp_path.glob("runs/?/comparison.*")]


def test_differences_are_judged_at_any_number_of_looks(tmp_path):
    for seed in range(1, 7):
        make_run(tmp_path / f"good-{seed}", seed, 0.97, kind="good")
        make_run(tmp_path / f"bad-{seed}", seed, 0.5, kind="bad")
    settings = settings_of(find_runs([tmp_path])[0])
    best, bad = compared(settings, "test/bleu")
    differences = np.subtract(bad["scores"], best["scores"])
    assert bad["p_looks"] == pytest.approx(1 / e_value(differences))
    assert bad["is_shown"]
    assert "shown after 6 seeds" in comparison_table([best, bad])
    few = [Setting(each.label, each.runs[:2]) for each in settings]
    rows = compared(few, "test/bleu")
    assert not rows[1]["is_shown"]  # two seeds show nothing
    assert re.search(r"not shown after 2 seeds; \d more to know", comparison_table(rows))


def test_the_best_of_a_hundred_is_judged_as_such(tmp_path, program):
    for seed in (1, 2, 3, 4):
        make_run(tmp_path / f"runs/base-{seed}", seed, 0.5, kind="base")
        make_run(tmp_path / f"runs/good-{seed}", seed, 0.9, kind="good")
    line = ("runs", "--baseline", "kind=base", "--all")
    done = program(*line, cwd=tmp_path, command="compare", check=0)
    assert "judges 1 change of the baseline" in done.text
    assert re.search(r"kind=good.* shown after 4 seeds", done.text)
    assert "not shown" not in done.text
    for number in range(99):
        folder = tmp_path / f"runs/failed-{number}"
        folder.mkdir()
        (folder / "config.yaml").write_text(f"seed: 1\nkind: failed {number}\n" if number else "kind: [")
    done = program(*line, cwd=tmp_path, command="compare", check=0)
    assert "judges 100 changes of the baseline" in done.text
    assert re.search(r"kind=good.* not shown after 4 seeds", done.text)
    done = program("runs", "--all", cwd=tmp_path, command="compare", check=2)
    assert "--baseline" in done.text


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1, 1]


def test_runs_without_a_test_split_are_pointed_to_their_validation_scores(tmp_path):
    make_run(tmp_path / "a", 1, 0.9, texts=False)
    (tmp_path / "a" / "metrics.json").write_text(
        json.dumps({"val": {"greedy": {"bleu": 9.5}}, "finished": True})
    )
    (run,) = find_runs([tmp_path])[0]
    with pytest.raises(InputError, match=r"--metric val/bleu$"):
        run.score("test/greedy/bleu")
    assert run.score("val/bleu") == 9.5


def test_a_score_of_torchmetrics_is_better_as_its_class_says(tmp_path, program):
    for name, value in (("bad", 0.9), ("good", 0.1)):
        for seed in (1, 2):
            folder = tmp_path / "runs" / f"{name}{seed}"
            metrics = {
                "cer": {"_target_": "torchmetrics.text.CharErrorRate"},
                "mine": {"_target_": "mine.Score"},
            }
            make_run(folder, seed, 0.9, kind=name, module={"metrics": metrics})
            scores = {"bleu": 50, "cer": value + seed / 100, "mine": value}
            (folder / "metrics.json").write_text(json.dumps({"test": {"greedy": scores}, "finished": True}))
    found, _ = find_runs([tmp_path / "runs"])
    assert [row["setting"] for row in compared(settings_of(found), "test/cer")] == ["kind=good", "kind=bad"]
    done = program("runs", "--metric", "test/mine", cwd=tmp_path, command="compare", check=0)
    assert "do not say it of test/mine" in done.text
    assert (
        "do not say"
        not in program("runs", "--metric", "test/cer", cwd=tmp_path, command="compare", check=0).text
    )


def test_a_mean_of_languages_is_compared_as_a_mean(tmp_path):
    for name, quality, score in (("one", 0.9, 50.0), ("two", 0.8, 60.0)):
        for seed in (1, 2, 3):
            folder = tmp_path / "runs" / f"{name}{seed}"
            make_run(folder, seed, quality, kind=name)
            scores = {"bleu": score + seed, "bleu_en-de": score - 10, "bleu_en-fr": score + 10}
            (folder / "metrics.json").write_text(json.dumps({"test": {"greedy": scores}, "finished": True}))
    best, other = compared(settings_of(find_runs([tmp_path / "runs"])[0]), "test/bleu")
    assert (best["setting"], best["mean"], other["basis"]) == ("kind=two", 62, "seeds")
    assert other["difference"] == pytest.approx(-10)


def test_keys_of_one_last_name_are_told_apart(tmp_path):
    for seed, (side, size) in enumerate((("encoder", 64), ("decoder", 32))):
        folder = tmp_path / "runs" / side
        make_run(
            folder,
            seed,
            0.9,
            model={each: {"hidden_size": 64} for each in ("encoder", "decoder")}
            | {side: {"hidden_size": size}},
        )
        (folder / ".hydra" / "overrides.yaml").write_text(
            yaml.safe_dump([f"model.{side}.hidden_size={size}"])
        )
    labels = {setting.label for setting in settings_of(find_runs([tmp_path / "runs"])[0])}
    assert all("model." in label for label in labels if label != "default"), labels
    assert len(labels) == 2


def test_a_name_has_the_other_keys_that_differ_too(tmp_path):
    for seed, (rate, score) in enumerate(((1, "dot"), (2, "additive"), (3, "additive"))):
        make_run(tmp_path / "runs" / str(rate), seed, 0.9, rate=rate, score=score)
    labels = [setting.label for setting in settings_of(find_runs([tmp_path / "runs"])[0])]
    assert sorted(labels) == ["rate=1 score=dot", "rate=2 score=additive", "rate=3 score=additive"]


def test_a_reference_that_is_no_text_is_named(tmp_path):
    for name in ("one", "two"):
        make_run(tmp_path / "runs" / name, 1, 0.9, kind=name)
    (tmp_path / "runs/one/predictions/test.reference.txt").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=r"test.reference.txt is damaged"):
        compared(settings_of(find_runs([tmp_path / "runs"])[0]), "test/bleu")
