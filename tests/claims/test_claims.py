"""Claims: what the program says of runs whose truth is known."""

import random
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
import sacrebleu
import yaml

from seq2seq.claims import pictures, searches
from seq2seq.claims.arms import Arms, UnfinishedError
from seq2seq.claims.measures import Material, measured
from seq2seq.claims.page import write_page
from seq2seq.claims.result import claim_names, configured, judged, keep, material
from seq2seq.claims.verdict import Compared, Finding, Verdict, compared, verdict_of
from seq2seq.commands.claim import refuse_changes
from seq2seq.config import Sampler, all_keys
from seq2seq.errors import InputError
from seq2seq.experiments.comparison import Group
from seq2seq.experiments.ledger import read_ledger
from seq2seq.experiments.translations import Translations
from seq2seq.pictures.curves import Scale
from seq2seq.sweeps import hypothesis
from seq2seq.sweeps.hypothesis import Question, Statement, claim_of, keep_hypothesis
from tests.swept import folders_of, run_sweep

MADE = random.Random(1)
SOURCES = [
    " ".join(f"w{MADE.randrange(30)}" for _ in range(MADE.choice([6, 8, 14, 16])))
    for _ in range(120)
]


def translated(lost_short, lost_long, seed):
    """Copies that lose so many of a hundred words."""
    generator = random.Random(seed)
    hypotheses = []
    for source in SOURCES:
        words = source.split()
        share = (lost_short if len(words) <= 8 else lost_long) / 100
        hypotheses.append(" ".join(w for w in words if generator.random() >= share))
    return Translations(SOURCES, SOURCES, hypotheses)


def arm(lost_short, lost_long, seed):
    runs = [SimpleNamespace(language="en", folder=(seed, n)) for n in range(3)]
    return Material(runs, [translated(lost_short, lost_long, seed + n) for n in range(3)])


ARMS = {
    "good": arm(5, 5, 10),
    "as good": arm(5, 5, 20),
    "bad": arm(15, 15, 30),
    "tires": arm(5, 20, 40),
}


def finding(these, those, expected, measure="bleu", margin=0.0):
    comparison = {
        "says": "",
        "measure": measure,
        "these": {"arm": these},
        "those": those and {"arm": those},
        "expected": expected,
        "margin": margin,
    }
    claim = {"source": "", "says": "", "comparisons": [comparison], "lengths": [8, 14]}
    found = compared(msgspec.convert(claim, Statement), lambda setting: ARMS[setting["arm"]])
    return found[0]


@pytest.mark.parametrize(
    ("these", "those", "expected", "is_found"),
    [
        ("good", "bad", "more", Finding.so),
        ("bad", "good", "less", Finding.so),
        ("good", "as good", "more", Finding.unclear),
        ("as good", "good", "less", Finding.unclear),
        ("bad", "good", "more", Finding.opposite),
        ("good", "bad", "less", Finding.opposite),
        ("good", "bad", None, Finding.asked),
    ],
)
def test_a_planted_effect_is_found_and_none_where_there_is_none(these, those, expected, is_found):
    found = finding(these, those, expected)
    assert found.finding is is_found
    low, high = found.interval
    assert low < found.difference < high


def test_searches_of_the_same_models_are_paired(monkeypatch):
    # each model loses as many more words as it has, whatever those are
    kept = [translated(lost, lost, 1) for lost in (5, 15, 25)]
    worse = [translated(lost, lost, 1) for lost in (8, 18, 28)]
    runs = [SimpleNamespace(language="en", folder=n) for n in range(3)]
    others = [SimpleNamespace(language="en", folder=n + 3) for n in range(3)]
    monkeypatch.setitem(ARMS, "kept", Material(runs, kept))
    monkeypatch.setitem(ARMS, "of the same", Material(runs, worse))
    monkeypatch.setitem(ARMS, "of others", Material(others, worse))
    assert finding("kept", "of the same", "more").finding is Finding.so
    assert finding("kept", "of others", "more").finding is Finding.unclear


def test_within_a_margin_is_told_from_beyond_it_and_from_unknown():
    assert finding("as good", "good", "no_more", margin=5).finding is Finding.so
    assert finding("good", "bad", "no_more", margin=5).finding is Finding.opposite
    assert finding("as good", "good", "no_more", margin=0).finding is Finding.unclear
    assert finding("good", "bad", "more", margin=60).finding is Finding.opposite
    assert finding("bad", "good", "less", margin=60).finding is Finding.opposite


def test_a_fall_with_length_is_that_of_one_arm_or_the_difference_of_two():
    assert finding("tires", None, "more", "fall").finding is Finding.so
    assert finding("bad", None, "more", "fall", margin=10).finding is not Finding.so
    assert finding("tires", "bad", "more", "fall").finding is Finding.so
    assert finding("good", "tires", "more", "fall").finding is Finding.opposite


def test_the_fall_is_between_the_sentences_of_the_two_lengths():
    material = ARMS["tires"]
    statement = Statement(source="", says="", comparisons=[], lengths=(8, 14))
    for found, each in zip(
        measured("fall", material, statement).by_seed(), material.translations, strict=True
    ):
        pairs = list(zip(each.hypotheses, each.references, strict=True))
        short, long = (
            sacrebleu.corpus_bleu([h for h, _ in some], [[r for _, r in some]]).score
            for some in (
                [pair for pair in pairs if len(pair[1].split()) <= 8],
                [pair for pair in pairs if len(pair[1].split()) >= 14],
            )
        )
        assert found == pytest.approx(short - long)


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        ([Finding.so, Finding.asked, Finding.so], Verdict.reproduced),
        ([Finding.so, Finding.unclear], Verdict.depends),
        ([Finding.opposite, Finding.so], Verdict.depends),
        ([Finding.unclear, Finding.opposite, Finding.asked], Verdict.not_reproduced),
    ],
)
def test_a_verdict_is_of_what_was_expected_alone(findings, verdict):
    assert verdict_of([SimpleNamespace(finding=each) for each in findings]) is verdict


@pytest.mark.parametrize("name", claim_names())
def test_a_claim_names_settings_and_at_least_three_seeds(name):
    config = configured(name, [])
    claim = claim_of(config.sweep)
    assert len(config.sweep.parameters["seed"].split(",")) >= 3
    beside = {"weights", *(f"decoding.{key}" for key in claim.searches)}
    for each in claim.comparisons:
        for setting in filter(None, (each.these, each.those)):
            assert setting.keys() <= all_keys().keys() | beside
    assert any(each.expected for each in claim.comparisons)


def test_what_is_no_claim_or_would_change_one_is_refused():
    with pytest.raises(InputError, match="nosuch: there is no such claim; there are additive"):
        configured("nosuch", [])
    for changed in ("seed=4", "sweep.parameters.seed=4", "model.dropout=0"):
        with pytest.raises(InputError, match="a claim is tested as its file says"):
            refuse_changes(["sweep.jobs=2", "data.root=folder", changed])


DESIGN = """
name: planted
metric: bleu
tuned: model.dropout
parameters:
  experiment_name: planted
  attention.dropout: 0.3,0.02
  model.dropout: 0.1,0.5
  model.embedding_size: "1"
  trainer.max_epochs: "1"
  seed: 1,2,3
claim:
  source: a book
  says: Losing words costs.
  comparisons:
    - says: few lost words against many
      measure: bleu
      these: {attention.dropout: 0.02}
      those: {attention.dropout: 0.3}
      expected: %s
"""


def sweep_of(folder, expected="more"):
    """The configuration of the planted claim, whose runs are in a folder."""
    base = configured("guided", [f"runs_dir={folder}"])
    values = yaml.safe_load(DESIGN % expected)
    return replace(base, sweep=replace(base.sweep, sampler=Sampler.tuned, **values))


def swept(folder, expected="more"):
    """Exit status and what was printed."""
    conf = folder / "conf" / "sweep"
    conf.mkdir(parents=True, exist_ok=True)
    lines = ["defaults: [grid, _self_]", "sampler: tuned", DESIGN % expected]
    (conf / "planted.yaml").write_text("\n".join(lines))
    return run_sweep(folder, f"--config-dir={conf.parent}", "sweep=planted", "sweep.jobs=2")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    status, printed = swept(folder)
    assert status == 0, printed
    return folder


def test_each_setting_takes_its_best_value_with_the_other_seeds(runs):
    found = [read_ledger(path).config for path in folders_of(runs).values()]
    seeds = {0.1: [1, 1, 2, 2, 3, 3], 0.5: [1, 1]}
    for dropout, expected in seeds.items():
        of_value = [c["seed"] for c in found if c["model"]["dropout"] == dropout]
        assert sorted(of_value) == expected


def test_finished_runs_are_judged_without_their_models(runs):
    for folder in folders_of(runs).values():
        (folder / "model" / "model.json").unlink(missing_ok=True)
    result, picture = judged("length", sweep_of(runs))
    assert result.verdict is Verdict.reproduced
    assert result.num_runs == 8
    assert picture.startswith(b"\x89PNG")


def test_a_hypothesis_that_was_edited_after_its_runs_is_refused(runs):
    with pytest.raises(InputError, match="has been edited since its first run"):
        judged("length", sweep_of(runs, "less"))
    with pytest.raises(InputError, match="has been edited since its first run"):
        keep_hypothesis(sweep_of(runs, "less").sweep, str(runs))


def test_runs_from_before_their_hypothesis_are_refused(runs):
    kept = runs / "planted" / "hypothesis.json"
    content = kept.read_text()
    kept.unlink()
    with pytest.raises(InputError, match="does not say what the runs beside it were to show"):
        judged("length", sweep_of(runs))
    kept.write_text(content)


def test_no_verdict_comes_of_fewer_runs_than_the_sweep_has(runs):
    config = sweep_of(runs)
    arms = Arms.found(config.sweep, runs / "planted")
    some = [replace(g, runs=[r for r in g.runs if r.ledger.seed != 3]) for g in arms.groups]
    with pytest.raises(UnfinishedError, match="lacks finished runs"):
        replace(arms, groups=some).runs({"attention.dropout": 0.02})
    unchosen = [group for group in arms.groups if len(group.runs) == 3]
    with pytest.raises(UnfinishedError, match="lacks finished runs"):
        replace(arms, groups=unchosen).runs({"attention.dropout": 0.02})


def test_a_search_is_a_setting_of_finished_runs_and_made_once(runs, monkeypatch):
    run = Arms.found(sweep_of(runs).sweep, runs / "planted").groups[0].runs[0]
    asked = []

    def translated(_, given, options):
        asked.append(options)
        return [text.upper() for text in given.sources]

    monkeypatch.setattr(searches, "_translated", translated)
    options = list(searches.every({"beam": [2, 5], "length_penalty": ["none"]}))
    for _ in range(2):
        found = [searches.searched(run, each) for each in options]
        assert all(each.hypotheses == [s.upper() for s in each.sources] for each in found)
    assert asked == [{"beam": 2, "length_penalty": "none"}, {"beam": 5, "length_penalty": "none"}]


@pytest.mark.parametrize("picture", ["bleu_by_length", "aer_against_bleu", "bleu_by_beam"])
def test_a_picture_shows_what_its_runs_scored(runs, monkeypatch, picture):
    arms = Arms.found(sweep_of(runs).sweep, runs / "planted")
    for run in (run for group in arms.groups for run in group.runs):
        run.ledger.best = {"alignment/aer": 0.1 * run.ledger.seed}
    monkeypatch.setattr(searches, "_translated", lambda _run, given, _options: given.references)
    drawn = []
    monkeypatch.setattr(
        pictures, "render_curves", lambda series, **labels: drawn.append((series, labels))
    )
    wanted = {"beam": [1, 4, 8], "length_penalty": ["none", "average"]}
    statement = Statement(source="", says="", comparisons=[], picture=picture, searches=wanted)
    pictures.draw_claim(statement, arms, [], material)
    ((series, labels),) = drawn
    lines = [each for each in series if each.name]
    if picture == "bleu_by_beam":
        assert len(lines) == 4
        assert all(list(each.x) == [0, 2, 3] and min(each.y) == 100 for each in lines)
        assert {"none" in each.name for each in lines} == {True, False}
    elif picture == "aer_against_bleu":
        tested = [run.score("test", "bleu") for run in arms.every()[0].runs]
        assert [list(each.y) for each in lines] == [pytest.approx([10, 20, 30])] * 2
        assert list(lines[0].x) == tested
    else:
        assert [each.name for each in lines] == [name for name, _ in arms.named()]
        assert labels["x_label"] == "words of the source"


def test_arms_have_the_fewest_keys_that_tell_them_apart_in_pictures(runs):
    config = sweep_of(runs).sweep
    rates = {"model.decoder": ["a", "b"], "model.bridge": ["1", "2"], "optim.rate": [3, 4]}
    alike = [
        Group("", {key: each[place] for key, each in rates.items()}, [None] * 3) for place in (0, 1)
    ]
    config.tuned = None
    named = Arms(config, runs, alike).named()
    assert [name for name, _ in named] == ["decoder=a", "decoder=b"]
    crossed = [*alike, Group("", {"model.decoder": "a", "model.bridge": "1", "optim.rate": 4}, [])]
    names = [name for name, _ in Arms(config, runs, crossed).named()]
    assert names == ["decoder=a, rate=3", "decoder=b, rate=4", "decoder=a, rate=4"]
    more = [*alike[:1], Group("", {**alike[0].values, "model.heads": 2}, [])]
    names = [name for name, _ in Arms(config, runs, more).named()]
    assert names == ["heads=None", "heads=2"]
    assert Arms(config, runs, [Group("all runs", {}, [])]).named()[0][0] == "all runs"


def test_words_that_stay_are_told_by_what_a_run_keeps(runs):
    found = Arms.found(sweep_of(runs).sweep, runs / "planted").groups[0].runs[:1]
    (found[0].folder / "probed.json").write_text('{"all": {"even": 0.25, "permuted": null}}')
    statement = claim_of(sweep_of(runs).sweep)
    assert measured("stays", Material(found, [], "even"), statement).by_seed() == [25.0]
    with pytest.raises(InputError, match="nothing is probed with weights='permuted'"):
        measured("stays", Material(found, [], "permuted"), statement)


def test_other_weights_that_nobody_knows_are_refused_before_the_first_run(runs):
    config = sweep_of(runs).sweep
    asked = {"says": "", "measure": "stays", "these": {"weights": "evne"}}
    config.claim = {**config.claim, "comparisons": [asked]}
    with pytest.raises(InputError, match="probed with weights=evne; there are most_attended"):
        claim_of(config)


def test_what_decides_a_training_is_of_its_corpus():
    of_text = hypothesis.files_of(configured("length_multi30k", []).sweep)
    of_grammar = hypothesis.files_of(configured("length", []).sweep)
    real = {f"conf/recipe/{name}.yaml" for name in ("multi30k", "standard")}
    assert of_text.keys() - of_grammar.keys() == real | {"conf/experiment/speedrun.yaml"}
    made = {f"data/grammar/{name}.yaml" for name in ("lexicon", "rules")}
    assert of_grammar.keys() - of_text.keys() == made | {"conf/recipe/small.yaml"}
    assert of_text.items() | of_grammar.items() == hypothesis.files_now().items()


def test_a_row_is_stale_when_code_that_it_rests_on_has_changed(runs, tmp_path, monkeypatch):
    result, picture = judged("length", sweep_of(runs))
    keep(result, picture, tmp_path / "claims")
    assert "(stale" not in write_page(tmp_path).read_text()
    package = tmp_path / "seq2seq"
    layers = package / "model" / "layers.py"
    layers.parent.mkdir(parents=True)
    layers.write_text('"""What it is."""\nSIZE = 1\n')
    said = package / "training" / "progress.py"
    said.parent.mkdir()
    said.write_text("SIZE = 1\n")
    monkeypatch.setattr(hypothesis, "PACKAGE", package)
    result.rests_on = hypothesis.files_now()
    assert "seq2seq/training/progress.py" not in result.rests_on
    result.rests_on |= {"seq2seq/training/progress.py": "noted by a version before"}
    layers.write_text('"""What it was."""\nSIZE = 1  # of all\n')
    (package / "model" / "new.py").write_text("1")
    said.write_text("SIZE = 2\n")
    assert result.changed(hypothesis.files_now()) == []
    layers.write_text("SIZE = 2\n")
    assert result.changed(hypothesis.files_now()) == ["seq2seq/model/layers.py"]
    keep(result, picture, tmp_path / "claims")
    page = write_page(tmp_path).read_text()
    assert "**reproduced** (stale: seq2seq/model/layers.py has changed)" in page


@pytest.mark.parametrize("num_compared", range(1, 8))
def test_comparisons_have_whole_numbers(num_compared):
    """The axis runs as far as the line of no difference."""
    ends = np.array([0.5, num_compared + 0.5])
    scale = Scale.around(ends, pictures.ROW * num_compared, upwards=True)
    assert [name for _, name in scale.ticks()] == [str(1 + n) for n in range(num_compared)]


def test_differences_stand_beside_what_they_are_to_pass(monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "render_curves", lambda series, **_: drawn.append(series))
    asked = [
        Question(says="a", measure="bleu", these={}, expected="more", margin=2),
        Question(says="b", measure="bleu", these={}),
        Question(says="c", measure="bleu", these={}, expected="less", margin=3),
    ]
    found = [
        Compared(
            says=each.says,
            measure="bleu",
            these="",
            those="",
            difference=0.0,
            interval=(place, place + 1),
            p=1.0,
            finding=Finding.asked,
        )
        for place, each in enumerate(asked)
    ]
    statement = Statement(source="", says="", comparisons=asked)
    pictures.draw_claim(statement, None, found, material)
    ((*intervals, zero, passed),) = drawn
    assert [each.name for each in intervals] == ["1  a", "2  b", "3  c"]
    assert [(*each.x, *each.y) for each in intervals] == [(0, 1, 1, 1), (1, 2, 2, 2), (2, 3, 3, 3)]
    assert list(zip(passed.x, passed.y, strict=True)) == [(2, 1), (-3, 3)]
    assert list(zero.x) == [0, 0]
