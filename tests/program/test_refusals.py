"""Values that would be ignored, and runs that a refused command would have changed, by commands and from Python."""

import json
import re
import shutil
import sys
import types
from pathlib import Path

import pytest

import seq2seq
from seq2seq.attention import AdditiveScore
from seq2seq.common.errors import InputError
from seq2seq.data import GrammarCorpus, PairsCorpus, ParallelText
from seq2seq.export.card import save_pretrained
from seq2seq.models.folder import load_model_folder, save_model_folder
from seq2seq.run.checks import check_early
from seq2seq.settings.config import complete, composed, settings_of
from tests.conftest import ROOT, TINY
from tests.small import settings_with, train

pytestmark = pytest.mark.usefixtures("short_corpora")

LINES = [f"the {n} cats see a dog ." for n in range(40)]


@pytest.fixture
def run(tiny_run, tmp_path, monkeypatch):
    """A copy of the finished run, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs/baseline/debug_fast"
    shutil.copytree(tiny_run, folder)
    return folder


def again(*overrides):
    return seq2seq.train(*TINY, "seed=3", *overrides)


def held(folder):
    """What a run holds, but for its log, its list and Hydra's own files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and ".hydra" not in path.parts
        and path.name not in ("train.log", ".lock", ".seq2seq")
    }


def test_a_refused_command_leaves_the_run_and_its_name_as_they_were(run, program, tmp_path):
    before = held(run)
    program(*TINY, "trainer.max_epochs=2", "seed=3", "optimizer.lr=0.5", cwd=tmp_path, check=2)
    assert held(run) == before
    assert "seed=3" in (run / "overrides.yaml").read_text()
    python = seq2seq.train(*TINY, "name=python", "trainer.max_epochs=1").folder
    program(*TINY, "name=python", "trainer.max_epochs=1", "optimizer.lr=0.5", cwd=tmp_path, check=2)
    assert "lr=0.5" not in (python / "overrides.yaml").read_text()
    wider = [*TINY, "name=wider", "model.decoder.hidden_size=40", "trainer.max_epochs=1"]
    program(*wider, cwd=tmp_path, check=0)
    given = f"ckpt_path={run.parent / 'wider/checkpoints/last.ckpt'}"
    program(*TINY, "trainer.max_epochs=3", "seed=3", given, cwd=tmp_path, check=2)  # which does not fit
    assert {name: content for name, content in held(run).items() if "events" not in name} == {
        name: content for name, content in before.items() if "events" not in name
    }
    shown = program(
        run, run.parent / "wider", "--metric", "val/bleu", cwd=tmp_path, command="compare", check=0
    )
    assert "lr=0.5" not in shown.text
    save_pretrained(run, "card")
    assert "optimizer.lr=0.5" not in Path("card/README.md").read_text()


def test_what_is_missing_of_a_run_is_made_again_or_named(run):
    shutil.rmtree(run / "model")
    assert again("trainer.max_epochs=2").translate(["a dog"])  # exported from its checkpoint
    kept = run.parent / "kept"
    shutil.move(run / "checkpoints", kept)
    with pytest.raises(InputError, match=r"last\.ckpt is missing"):
        again("trainer.max_epochs=3")
    shutil.move(kept, run / "checkpoints")
    (run / "config.yaml").unlink()
    with pytest.raises(InputError, match=r"no config\.yaml"):
        again("trainer.max_epochs=3", "optimizer.lr=0.5")


def test_a_run_without_a_file_of_its_model_exports_it_again(run):
    expected = seq2seq.load(run).translate(["a dog"])[0].score
    for name in ("model.safetensors", "target.json"):
        (run / "model" / name).unlink()
        assert again("trainer.max_epochs=2").translate(["a dog"])[0].score == expected
        assert (run / "model" / name).is_file()


@pytest.mark.parametrize("split", ["validation", "test"])
@pytest.mark.parametrize("number", [0, 2, 12])
def test_a_split_of_training_pairs_is_told(split, number, capsys):
    train = [(f"a {n}", f"b {n}") for n in range(60)]
    others = {each: [(f"c {n}", f"d {n}") for n in range(12)] for each in ("validation", "test")}
    others[split][:number] = train[:number]
    data = PairsCorpus(train=train, **others)
    assert len(data.prepared.train) == 60
    said = capsys.readouterr().err
    assert (f"{number} of 12 {split} pairs are training pairs" in said) == (number > 1)
    assert said.count("training pairs") == (number > 1)


def test_a_run_whose_text_was_written_later_says_so(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name in ("a.en", "a.fr"):
        Path(name).write_text("".join(f"{line}\n" for line in LINES))
    command = [*TINY, "data=parallel", "data.train.source=a.en", "data.train.target=a.fr", "data.source_language=en",
               "data.target_language=fr", "data.split.validation=0.2", "trainer.max_epochs=1"]  # fmt: skip
    seq2seq.train(*command)
    seq2seq.train(*command)
    assert "was written after" not in capfd.readouterr().err
    Path("a.fr").write_text("".join(f"{line} !\n" for line in LINES))
    found = seq2seq.train(*command)
    assert "data.train.target=a.fr was written after" in capfd.readouterr().err
    found.evaluate()
    assert "no test split" in capfd.readouterr().err


def test_the_same_sentences_from_python_are_not_newer_than_their_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    languages = "data.source_language=en", "data.target_language=fr"
    for _ in range(2):
        seq2seq.train(
            *TINY, *languages, "data.split.validation=0.2", "trainer.max_epochs=1", source=LINES, target=LINES
        )
    said = capfd.readouterr()
    assert "is finished" in said.out
    assert "was written after" not in said.err


def test_scores_of_a_lost_test_split_are_not_those_of_another(run):
    (run / "predictions/test.source.txt").unlink()
    with pytest.raises(InputError, match="no test split"):
        seq2seq.load(run).evaluate()
    with pytest.raises(InputError, match="no scored text"):
        save_pretrained(run, "card")
    assert not Path("card").exists()


OWN_PARTS = """
import lightning.pytorch as pl
from torch import nn
from seq2seq.attention import AdditiveScore
from seq2seq.models.decoder import Decoder

class TwoArguments(AdditiveScore):
    def forward(self, queries, keys): ...
class NoLengths(nn.Module):
    def __init__(self, input_size): ...
    def forward(self, embedded): ...
class NoMemory(Decoder):
    def __init__(self, embedding, memory_size, summary_size, tie_output=False): ...
    def step(self, tokens, state): ...
class NoSteps(nn.Module):
    def __init__(self, embedding, memory_size, summary_size, tie_output=False): ...
class NoTrainer(pl.Callback):
    def on_train_start(self, module): ...
class Fewer(pl.Callback):
    def on_validation_batch_end(self, trainer, module, outputs, batch, number): ...
"""


@pytest.mark.parametrize(
    ("key", "name", "said"),
    [
        ("model.decoder.attention.score", "TwoArguments",
         "TwoArguments.forward takes (queries, keys); a score takes (queries, keys, projected_keys)"),
        ("model.encoder", "NoLengths", "NoLengths.forward takes (embedded); an encoder takes (embedded, lengths)"),
        ("model.decoder", "NoMemory", "NoMemory.step takes (tokens, state); a decoder takes (tokens, state, memory)"),
        ("model.decoder", "NoSteps", "NoSteps.step is missing; it takes (tokens, state, memory)"),
        ("+callbacks.mine", "NoTrainer", "NoTrainer.on_train_start takes (module); a callback takes (trainer, pl_module)"),
        ("+callbacks.mine", "Fewer", None),
    ],
)  # fmt: skip
def test_a_part_of_the_users_own_is_told_what_its_method_takes(key, name, said, tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(OWN_PARTS)
    monkeypatch.syspath_prepend(tmp_path)
    given = [f"{key}._target_=own_parts.{name}"]
    with composed(given) as config:
        settings = settings_of(config, given, "run")
    if said is None:
        complete(settings)
    else:
        with pytest.raises(InputError, match=re.escape(f"own_parts.{said}")):
            complete(settings)


FILES = [
    "data=parallel",
    "data.source_language=en",
    "data.target_language=fr",
    "data.train.source=a",
    "data.train.target=b",
]


@pytest.mark.parametrize(
    ("overrides", "needed"),
    [
        (["data.max_length.over=cut"], "data.max_length.tokens"),
        (["data.new_tokens=5"], "init_from=None"),
        (["data.max_length.over=cut", "data.max_length.tokens=9"], None),
        ([*FILES, "data.split.validation=0.1", "data.alignments=links"], "module.guided_alignment_weight"),
        ([*FILES, "data.split.validation=0.1", "data.alignments=links", "module.guided_alignment_weight=1"], None),
        (["objective=minimum_risk", "module.label_smoothing=0.1"], "cross_entropy_weight"),
        (["module.label_smoothing=0.1"], None),
        (["scheduler=plateau", "trainer.limit_val_batches=0"], "validations"),
        (["scheduler=plateau"], None),
    ],
    ids=str,
)  # fmt: skip
def test_a_key_without_an_effect_is_named_with_what_it_needs(
    overrides, needed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("A cat .\n" * 30)
    Path("b").write_text("Un chat .\n" * 30)
    Path("links").write_text("0-0\n" * 30)
    Path("c").write_text("".join(f"A cat {n} .\tUn chat {n} .\n" for n in range(30)))
    check_early(settings_with(*overrides))
    lines = [line for line in capsys.readouterr().err.splitlines() if "no effect" in line]
    assert len(lines) == (needed is not None)
    assert needed is None or needed in lines[0]


def test_a_corpus_of_two_languages_has_no_others():
    for languages in (("fr", "en"), ("en", "de")):
        with pytest.raises(InputError, match="en into fr"):
            GrammarCorpus(source_language=languages[0], target_language=languages[1])
    assert GrammarCorpus(source_language="en-GB", target_language="fra", max_examples=1).read().train


def test_files_of_text_have_no_columns():
    files, named = {"source": "a", "target": "b"}, {"source_column": "x", "target_column": "y"}
    with pytest.raises(InputError, match="no columns"):
        ParallelText(train=files, validation=files, **named)
    ParallelText(train={"source": "a"}, validation=files, **named)


def test_validation_pairs_of_a_corpus_are_not_replaced_by_a_share_of_its_training_pairs():
    with pytest.raises(InputError, match=r"data\.split\.validation: .* [\d,]+ validation pairs"):
        _ = GrammarCorpus(split={"validation": 0.1}, max_examples=200).splits


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["tokenizer=bpe"], "init_from keeps the tokenizers"),
        (["data.tokenizer.case=lower"], "data.tokenizer.case=lower: init_from keeps"),
        (["data.joint_vocabulary=true", "data.both_directions=true"], "two vocabularies"),
        (["data.joint_vocabulary=true"], "two vocabularies"),
        (["ckpt_path=other.ckpt"], "init_from and ckpt_path"),
        (["model.source_vectors=vectors.txt"], "init_from and vectors"),
    ],
    ids=str,
)
def test_a_model_to_start_from_is_not_given_what_it_would_ignore(overrides, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("other.ckpt").write_bytes(b"")
    Path("vectors.txt").write_text("dog 1 2\n")
    with pytest.raises(InputError, match=said):
        train("debug=fast", "init_from=grammar-en-fr", "optimizer.lr=1e-9", *overrides)


def test_one_embedding_is_not_given_the_vectors_of_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("en.txt", "fr.txt"):
        Path(name).write_text("dog 1 2\n")
    vectors = "model.source_vectors=en.txt", "model.target_vectors=fr.txt"
    with pytest.raises(InputError, match="tie_embeddings=all has one embedding"):
        seq2seq.train(*TINY, *vectors, "data.joint_vocabulary=true", "model.tie_embeddings=all")


def test_a_model_of_the_same_classes_has_the_same_arguments(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    options = [each for each in TINY if each != "debug=fast"]
    seq2seq.train(*options, "init_from=grammar-en-fr", "trainer.max_epochs=0", "tokenizer=words")
    assert "compute something else" not in capfd.readouterr().err


def test_text_that_belongs_to_no_training_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in ({"test": (LINES, LINES)}, {"validation": (LINES, LINES)}):
        with pytest.raises(InputError, match="belong to source and target"):
            seq2seq.train(*TINY, **options)
    with pytest.raises(InputError, match="each override"):
        seq2seq.train(["seed=1"])


def test_sentences_may_come_from_whatever_can_be_read_once(tmp_path):
    model, lines = seq2seq.load("grammar-en-fr"), ["I see the dog.", "The cat sleeps."]
    expected = [each.text for each in model.translate(lines)]
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in lines))
    with (tmp_path / "lines.txt").open() as file:
        assert [each.text for each in model.translate(file)] == expected
    assert [each.text for each in model.translate(each for each in lines)] == expected
    for size in ("5", 2.5, True):
        with pytest.raises(InputError, match="whole number"):
            model.translate(lines, beam_size=size)


def test_the_members_of_an_ensemble_may_come_from_whatever_can_be_read_once(tmp_path):
    other = load_model_folder("grammar-en-fr")
    other.model.decoder.output.bias.data[::2] += 1
    save_model_folder(tmp_path / "other", other)
    model = seq2seq.load("grammar-en-fr")
    alone, both, read_once = (
        model.translate(["I see the dog."], ensemble=each)[0].score
        for each in ((), [tmp_path / "other"], tmp_path.glob("*"))
    )
    assert both == read_once != alone


@pytest.mark.parametrize(
    "pairs", [[{"en": "a", "fr": "b"}] * 9, ["ab"] * 9, [("a", "b", 1)] * 9, [(1, 2)] * 9, [("a", None)] * 9]
)
def test_what_is_no_pair_of_texts_is_refused(pairs):
    with pytest.raises(InputError, match="is no pair"):
        _ = PairsCorpus(train=pairs, validation=[("a", "b")]).splits


def test_text_with_a_carriage_return_is_not_written_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines, written = [f"{line}\r" for line in LINES], []
    for _ in range(2):
        with pytest.raises(InputError, match="source_language"):
            seq2seq.train(source=lines, target=lines)
        written.append({path: path.stat().st_mtime_ns for path in Path("runs/.text").rglob("*.source")})
    assert written[0] == written[1] != {}


def test_an_export_does_not_replace_the_model_that_was_scored(run):
    before = held(run)
    with pytest.raises(InputError, match="own model"):
        save_pretrained(run, run / "model", precision="int8")
    assert held(run) == before


def test_limits_are_those_of_both_searches():
    from seq2seq.data.text import SentencePair
    from seq2seq.decoding.scoring import score_searches
    from seq2seq.decoding.search import Search
    from seq2seq.decoding.translator import Translator

    translator = Translator.load(ROOT / "data/models/grammar-en-fr")
    pairs = [SentencePair("I see the dog.", "Je vois le chien.")]
    for beam in (1, 2):
        usual, longer = (
            score_searches(translator, pairs, Search(beam_size=beam, min_ratio=ratio))["greedy"].texts[0]
            for ratio in (None, 1.8)
        )
        assert len(longer.split()) > len(usual.split())


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        (["averaging=ema,none", "callbacks.averaging.decay=0.9"], "callbacks.averaging.decay: no such key"),
        (["decoding=beam,greedy", "decoding.beam_size=3"], "decoding.beam_size"),
    ],
    ids=str,
)  # fmt: skip
def test_a_job_that_lacks_a_key_is_refused_before_the_first_starts(overrides, named, program, tmp_path):
    done = program("-m", *overrides, cwd=tmp_path, check=2)
    assert named in done.text
    assert "job 1" not in done.text


def test_jobs_of_a_sweep_have_the_same_text_and_code(tmp_path, program):
    lines = [f"a b {number}" for number in range(40)]
    for name in ("en", "fr"):
        (tmp_path / f"t.{name}").write_text("\n".join(lines) + "\n")
    files = [
        f"data.{split}.{side}=t.{end}"
        for split in ("train", "validation")
        for side, end in (("source", "en"), ("target", "fr"))
    ]
    tiny = [
        *TINY[:2],
        *TINY[3:],
        "data=parallel",
        *files,
        "data.source_language=en",
        "data.target_language=fr",
    ]

    def job(number, *more, check=0):  # as the launcher of subprocesses begins it
        folder = tmp_path / f"runs/baseline/job_{number}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.json").write_text("{}")
        return program(*tiny, f"name=job_{number}", f"seed={number}", *more, cwd=tmp_path, check=check).text

    job(1, "trainer.strategy=nonsense", check=2)
    assert not (tmp_path / "runs/baseline/.parts").exists()  # nothing has begun
    job(1)
    job(2, "tokenizer=characters", "data.max_length.tokens=5")  # fewer pairs of it
    (tmp_path / "t.fr").write_text("\n".join(reversed(lines)) + "\n")
    for more in ((), ("data.batch_size=7",)):  # of the same text
        assert "the text has changed since earlier jobs of this sweep" in job(3, *more, check=2)
    job(3, "data.max_examples=31")  # other data
    (tmp_path / "sweep_score.py").write_text(
        "from seq2seq.attention import AdditiveScore as Own\n\n\nclass Score(Own):\n    pass\n"
    )
    own = "data.max_examples=31", "model.decoder.attention.score._target_=sweep_score.Score"
    job(4, *own)
    with (tmp_path / "sweep_score.py").open("a") as file:
        file.write("    scale = 2\n")
    assert "sweep_score.py has changed" in job(5, *own, check=2)
    job(5, *own, "overwrite=true")
    digests = [
        json.loads((tmp_path / f"runs/baseline/job_{n}/metrics.json").read_text())["made_of"]
        for n in (1, 2, 3, 4, 5)
    ]
    assert [digests.count(each) for each in digests] == [2, 2, 1, 1, 1]


def test_a_class_of_a_notebook_trains(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cells = types.ModuleType("__main__")  # without a file
    cells.Own = type("Own", (AdditiveScore,), {"__module__": "__main__"})
    monkeypatch.setitem(sys.modules, "__main__", cells)
    run = seq2seq.train(*TINY, "data=grammar", "model.decoder.attention.score._target_=__main__.Own")
    assert run.metrics["made_of"]
