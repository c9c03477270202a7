import json
import shutil
import signal
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from seq2seq.errors import InputError, TrainingInterrupted
from seq2seq.evaluation.metrics import progress_in, quick_metrics
from seq2seq.evaluation.score_card import score_card
from seq2seq.experiments.ledger import State, read_ledger, write_ledger
from seq2seq.experiments.translations import read_translations
from seq2seq.runs import run as run_module
from seq2seq.runs.rerun import differences, rerun
from seq2seq.runs.run import run
from seq2seq.runs.run_record import config_values, finished_scores
from seq2seq.runs.saved_config import load_config
from seq2seq.runs.summary import summary
from seq2seq.storage.folder_lock import FolderLock
from seq2seq.training.checkpoint_file import read_checkpoint, write_checkpoint
from seq2seq.training.interruption import StopOnSignal
from tests.stops import crash, ctrl_c, stopped_after


def weights_of(run_dir, name="last"):
    path = run_dir / "checkpoints" / f"{name}.ckpt"
    return torch.load(path, weights_only=True)["state_dict"]


BUILD_MODEL = "seq2seq.runs.making.model.build_seq2seq"


def events_of(run_dir):
    events = EventAccumulator(str(run_dir), size_guidance={"images": 0})
    events.Reload()
    return events


@pytest.fixture(scope="module")
def finished(request, tmp_path_factory):
    """A finished tiny run, made once."""
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def finished_run(tiny, finished, capsys):
    if not finished.exists():
        run(tiny(), finished, ["attention=additive", "seed=1", "device.threads=1"])
    return finished


def test_the_record_of_a_run_tells_all_of_it(finished_run):
    ledger = read_ledger(finished_run)
    assert ledger.state is State.finished
    assert [entry["epoch"] for entry in ledger.history] == [1, 2]
    logged = {progress_in(name)[0] for name in quick_metrics()}
    assert logged <= ledger.best.keys()
    assert "alignment/aer" in logged
    assert ledger.best == min(ledger.history, key=lambda entry: entry["validation/loss"])
    assert ledger.scores == json.loads((finished_run / "metrics.json").read_text())
    assert ledger.config["attention"]["score"] == "additive"
    assert "sweep" not in ledger.config
    assert ledger.versions["torch"] == torch.__version__
    assert min(ledger.tokens_per_second, ledger.peak_memory_bytes, ledger.wall_seconds) > 0


def test_the_test_translations_are_kept_with_sources_and_references(finished_run):
    kept = read_translations(finished_run / "translations" / "test.jsonl")
    assert len(kept.sources) == 20
    card = score_card(kept.hypotheses, kept.references, language="fr")
    assert card.scores["bleu"] == read_ledger(finished_run).scores["test"]["bleu"]


def test_the_hparams_tab_has_the_values_and_metrics_of_the_run_once(finished_run):
    summaries = events_of(finished_run).summary_metadata
    names = ["experiment", "session_start_info", "session_end_info"]
    assert {f"_hparams_/{name}" for name in names} <= summaries.keys()
    scores = read_ledger(finished_run).scores
    content = summaries["_hparams_/experiment"].plugin_data.content
    experiment = HParamsPluginData.FromString(content).experiment
    shown_first = {info.name for info in experiment.hparam_infos if info.differs}
    assert shown_first == {"attention", "seed"}
    assert len(shown_first) < len(experiment.hparam_infos)
    (best,) = events_of(finished_run).Scalars("best/test_bleu")
    assert best.value == pytest.approx(scores["test"]["bleu"], abs=1e-5)


def test_a_folder_is_not_given_to_another_configuration(finished_run, tiny):
    with pytest.raises(InputError, match=r"optim\.learning_rate=0\.003 there, 0\.5 here"):
        run(tiny("optim.learning_rate=0.5"), finished_run)
    run(tiny("name=elsewhere"), finished_run)


def test_a_folder_in_which_another_process_trains_is_refused(tiny, tmp_path):
    lock = FolderLock.acquire(tmp_path / "run")
    with pytest.raises(InputError, match="is being trained by another process"):
        run(tiny(), tmp_path / "run")
    lock.close()


def test_a_run_that_ended_before_it_could_say_so_is_finished(finished_run, tiny, capsys):
    ledger = read_ledger(finished_run)
    before = ledger.scores
    ledger.state, ledger.scores = State.running, {}
    write_ledger(finished_run, ledger)
    run(tiny(), finished_run)
    assert read_ledger(finished_run).state is State.finished
    assert read_ledger(finished_run).scores == before


def test_a_run_is_repeated_bit_for_bit_from_what_it_left(finished_run, tmp_path, capsys):
    assert rerun(finished_run, tmp_path / "again") == []
    translations = tmp_path / "again" / "translations" / "test.jsonl"
    translations.write_text("")
    assert differences(finished_run, tmp_path / "again") == ["translations/test.jsonl"]


def test_a_saved_configuration_is_read_back_by_the_schema_alone(finished_run, tiny, tmp_path):
    assert config_values(load_config(finished_run)) == config_values(tiny())
    text = (finished_run / "config.yaml").read_text()
    for wrong in [
        text.replace("seed: 1", "seed: ${oc.env:HOME}", 1),
        text.replace("dropout: 0.1", "dropout: 7"),
        text + "new: 1\n",
        "a: !!python/object/apply:os.getcwd []",
    ]:
        (tmp_path / "config.yaml").write_text(wrong)
        with pytest.raises(InputError):
            load_config(tmp_path)


def test_a_run_leaves_config_checkpoints_events_metrics_and_model(finished_run):
    names = {path.name.split(".tfevents")[0] for path in finished_run.iterdir()}
    assert names == {
        "config.yaml",
        "tokenizer",
        "checkpoints",
        "events.out",
        "model",
        "metrics.json",
        "ledger.json",
        "translations",
        "seen.digests",
        ".lock",
    }
    checkpoints = {path.name for path in (finished_run / "checkpoints").iterdir()}
    assert checkpoints == {"best.ckpt", "last.ckpt", "previous.ckpt"}
    metrics = json.loads((finished_run / "metrics.json").read_text())
    assert metrics["test"]["num_sentences"] == 20
    assert 0 <= metrics["test"]["bleu"] <= 100
    assert metrics["num_epochs"] == 2
    assert "score: additive" in (finished_run / "config.yaml").read_text()


def test_tensorboard_has_scalars_config_samples_and_one_heatmap_tag_a_sentence(finished_run):
    events = events_of(finished_run)
    scalars = {
        f"{split}/{name}"
        for split in ("train", "validation")
        for name in ("loss", "perplexity", "accuracy")
    } | {
        *(
            f"attention/{name}"
            for name in (
                "entropy",
                "padding_mass",
                "eos_mass",
                "peak",
                "unattended",
                "monotonicity",
                "causal_maximum",
                "causal_random",
                "causal_context",
            )
        ),
        *(f"alignment/{name}" for name in ("aer", "least_aer", "precision", "recall")),
        "validation/bleu",
        "train/learning_rate",
        "train/gradient_norm",
        "train/tokens_per_second",
    }
    assert scalars <= set(events.Tags()["scalars"])
    assert [event.value for event in events.Scalars("attention/padding_mass")] == [0, 0]
    causes = [event.value for event in events.Scalars("attention/causal_context")]
    assert len(causes) == 2
    assert all(0 <= share <= 1 for share in causes)
    assert causes[-1] > 0
    assert set(events.Tags()["images"]) == {"attention/0", "attention/1"}
    images = events.Images("attention/0")
    assert [image.step for image in images] == [8, 16]
    assert images[0].encoded_image_string.startswith(b"\x89PNG")
    assert images[0].encoded_image_string != images[1].encoded_image_string
    assert {"config/text_summary", "validation/samples/text_summary"} <= set(
        events.Tags()["tensors"]
    )


def test_the_exported_model_is_the_best_one_not_the_last(tiny, tmp_path, monkeypatch):
    falling = iter([20.0, 10.0])
    scores_of = "seq2seq.training.module.scores_of"
    monkeypatch.setattr(scores_of, lambda *_, **__: {"bleu": next(falling)})
    run_dir = tmp_path / "run"
    run(tiny("trainer.monitor=bleu"), run_dir)
    best, last = weights_of(run_dir, "best"), weights_of(run_dir)
    exported = load_file(run_dir / "model" / "model.safetensors")
    assert any(not torch.equal(best[name], last[name]) for name in best)
    assert all(torch.equal(exported[name], best[f"model.{name}"]) for name in exported)


def test_the_last_model_is_exported_where_validation_does_not_choose(tiny, tmp_path):
    run_dir = tmp_path / "run"
    options = ["optim.learning_rate=0.5", "trainer.max_epochs=2", "trainer.monitor=last"]
    run(tiny(*options, "tensorboard.heatmaps=0", "data.validation_pairs=8"), run_dir)
    kept = {path.name for path in (run_dir / "checkpoints").iterdir()}
    assert kept == {"last.ckpt", "previous.ckpt"}
    last, exported = weights_of(run_dir), load_file(run_dir / "model" / "model.safetensors")
    assert all(torch.equal(exported[name], last[f"model.{name}"]) for name in exported)


def test_a_finished_run_is_not_repeated(finished_run, tiny, capsys, monkeypatch):
    monkeypatch.setattr("seq2seq.runs.run.build_corpus", lambda *_: pytest.fail("ran again"))
    assert run(tiny(), finished_run) == json.loads((finished_run / "metrics.json").read_text())
    printed = capsys.readouterr().out
    assert "is finished" in printed
    assert "test        BLEU" in printed


def test_the_same_command_gives_the_same_weights(tiny, tmp_path, finished_run):
    run(tiny(), tmp_path / "run")
    first, second = weights_of(finished_run), weights_of(tmp_path / "run")
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_another_seed_gives_other_weights(tiny, tmp_path, finished_run):
    run(tiny("seed=2"), tmp_path / "run")
    first, second = weights_of(finished_run), weights_of(tmp_path / "run")
    assert not any(torch.equal(first[name], second[name]) for name in first if "weight" in name)


@pytest.mark.parametrize("step", [3, 8, 11])
def test_an_interrupted_run_continues_to_the_same_weights(tiny, tmp_path, finished_run, step):
    with stopped_after(step - 1, ctrl_c), pytest.raises(TrainingInterrupted) as caught:
        run(tiny(), tmp_path / "run")
    assert caught.value.signal_number == signal.SIGINT
    assert torch.load(caught.value.checkpoint, weights_only=True)["global_step"] == step
    run(tiny(), tmp_path / "run")
    expected, found = weights_of(finished_run), weights_of(tmp_path / "run")
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_a_refused_continuation_leaves_the_record_as_it_was(tiny, tmp_path, finished_run):
    run_dir = tmp_path / "run"
    shutil.copytree(finished_run, run_dir)
    (run_dir / "metrics.json").unlink()
    before = (run_dir / "ledger.json").read_bytes()
    with pytest.raises(InputError, match=r"model\.num_layers=1, not 2"):
        run(tiny("model.num_layers=2"), run_dir)
    assert (run_dir / "ledger.json").read_bytes() == before


ODD_PARTS = {
    "translation_module": {"num_skipped": 0},
    "optimizer_states": [],
    "lr_schedulers": [],
    "callbacks": {},
    "RandomState": {"cpu": torch.zeros(1)},
}


@pytest.mark.parametrize("part", list(ODD_PARTS))
def test_a_checkpoint_of_another_form_is_refused_by_its_part(tiny, tmp_path, finished_run, part):
    run_dir = tmp_path / "run"
    shutil.copytree(finished_run, run_dir)
    (run_dir / "metrics.json").unlink()
    last = run_dir / "checkpoints" / "last.ckpt"
    content = read_checkpoint(last)
    (content["callbacks"] if part == "RandomState" else content)[part] = ODD_PARTS[part]
    write_checkpoint(last, content)
    with pytest.raises(InputError, match=f"last.ckpt cannot be continued from .*{part}") as caught:
        run(tiny("trainer.max_epochs=3"), run_dir)
    assert "\n" not in str(caught.value)
    assert "its format version is 1, this program's 1" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"{", b"{}", b'{"seconds": "x"}', b'{"seconds": NaN}', b'{"seconds": -1}',
        b'{"seconds": 1, "test": {"bleu": 1}}', b'{"seconds": 1, "test": []}',
        b'{"seconds": 1%s}' % (b"0" * 400), b"[" * 100_000, b'{"seconds": 1, "version": 2}',
    ],
)  # fmt: skip
def test_metrics_of_another_form_are_refused_in_one_line(finished_run, tmp_path, content):
    shutil.copytree(finished_run, tmp_path / "run")
    (tmp_path / "run" / "metrics.json").write_bytes(content)
    with pytest.raises(InputError, match=r"metrics\.json .*: remove it to score") as caught:
        finished_scores(tmp_path / "run")
    assert "\n" not in str(caught.value)


def test_scores_that_are_no_numbers_are_shown_as_such(finished_run, tmp_path):
    shutil.copytree(finished_run, tmp_path / "run")
    path = tmp_path / "run" / "metrics.json"
    metrics = json.loads(path.read_text())
    metrics["test"]["bleu"] = metrics["data_share"] = float("nan")
    path.write_text(json.dumps(metrics | {"\x1b[2J": metrics["test"]}))
    shown = summary(finished_scores(tmp_path / "run"), tmp_path / "run")
    assert "test        BLEU –   lower-cased" in shown
    assert "– waiting for data" in shown
    assert "\x1b" not in shown


def test_a_continued_run_keeps_the_precision_that_was_probed(tiny, tmp_path, monkeypatch, capsys):
    auto = "device.precision=auto"
    for pays in (True, False):
        probe = lambda *_, pays=pays: pays  # noqa: E731
        monkeypatch.setattr("seq2seq.runs.making.device.bfloat16_pays", probe)
        run(tiny(auto, f"trainer.max_steps={4 if pays else 6}"), tmp_path / "run")
        (tmp_path / "run" / "metrics.json").unlink()
        assert "device  cpu, bf16-mixed" in capsys.readouterr().out


def test_a_crashed_run_continues_from_its_last_epoch_to_the_same_weights(
    tiny, tmp_path, finished_run
):
    with stopped_after(12, crash), pytest.raises(RuntimeError, match="power"):
        run(tiny(), tmp_path / "run")
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    assert torch.load(last, weights_only=True)["global_step"] == 8
    run(tiny(), tmp_path / "run")
    expected, found = weights_of(finished_run), weights_of(tmp_path / "run")
    assert all(torch.equal(expected[name], found[name]) for name in expected)


def test_listening_for_signals_ends_with_training(finished_run, tiny, tmp_path):
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    run(tiny("trainer.max_steps=1"), tmp_path / "run")
    assert [signal.getsignal(number) for number in numbers] == before
    listener = StopOnSignal(tmp_path / "last.ckpt")
    with listener:
        assert [signal.getsignal(number) for number in numbers] == [listener._receive] * 3
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_bound_on_steps_ends_with_a_validation(tiny, tmp_path):
    metrics = run(tiny("trainer.max_steps=3"), tmp_path / "run")
    assert metrics["num_steps"] == 3
    assert [event.step for event in events_of(tmp_path / "run").Scalars("validation/bleu")] == [3]


def test_training_shorter_than_the_validation_interval_still_gives_a_model(tiny, tmp_path):
    metrics = run(tiny("trainer.validate_every=5"), tmp_path / "run")
    assert metrics["num_epochs"] == 2


def test_a_warm_start_begins_with_the_weights_and_vocabulary_of_another_run(
    finished_run, tiny, tmp_path
):
    overrides = [f"init_from='{finished_run}'", "trainer.max_steps=1", "optim.learning_rate=1e-9"]
    run(tiny(*overrides), tmp_path / "run")
    start, after = weights_of(finished_run, "best"), weights_of(tmp_path / "run")
    for name, tensor in start.items():
        torch.testing.assert_close(after[name], tensor, rtol=0, atol=1e-6)
    for side in ("source", "target"):
        file = f"model/{side}.json"
        assert (tmp_path / "run" / file).read_text() == (finished_run / file).read_text()


def test_a_warm_start_from_another_shape_is_refused(finished_run, tiny, tmp_path):
    with pytest.raises(InputError, match=r"its model\.decoder_hidden_size is 12, this run's is 10"):
        run(tiny(f"init_from='{finished_run}'", "model.decoder_hidden_size=10"), tmp_path / "run")


@pytest.mark.parametrize(
    "overrides",
    [
        ["attention=scaled_dot", "model.num_layers=2", "model.bidirectional=false"],
        ["attention=dot", "model.readout_size=8", "model.tying=output"],
        ["attention=bilinear", "optim.schedule=plateau", "optim.warmup_steps=0"],
        ["attention=gaussian", "trainer.accumulate=2", "trainer.monitor=bleu", "decoding.beam=2"],
        ["data.tokenizer.name=bpe", "data.tokenizer.joint=true", "data.tokenizer.max_size=400"],
        ["device.precision=bf16-mixed", "optim.label_smoothing=0.1", "trainer.early_stopping=1"],
        [
            "trainer.batch_sentences=null",
            "trainer.batch_tokens=300",
            "data.overfit=true",
            "data.limit=20",
        ],
    ],
    ids=lambda overrides: overrides[0],
)
def test_every_kind_of_model_trains_translates_and_exports(tiny, tmp_path, overrides):
    metrics = run(tiny("trainer.max_epochs=1", *overrides), tmp_path / "run")
    assert metrics["test"]["num_sentences"] > 0
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()


def test_a_model_larger_than_memory_is_refused_before_it_is_built(tiny, tmp_path):
    with pytest.raises(InputError, match=r"parameters and needs .* GiB, this machine has"):
        run(tiny("model.decoder_hidden_size=1000000"), tmp_path / "run")
    with pytest.raises(InputError, match="the model cannot be built"):
        run(tiny("model.decoder_hidden_size=1000000000"), tmp_path / "run")


def test_a_device_that_is_not_there_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    config = tiny()
    config.device = replace(config.device, accelerator=type(config.device.accelerator).gpu)
    with pytest.raises(InputError, match="device=gpu: this machine has none, choose among auto"):
        run(config, tmp_path / "run")


def test_a_model_learns_a_few_pairs_by_heart(tiny, tmp_path):
    overrides = ["data.limit=8", "data.overfit=true", "trainer.max_epochs=60", "seed=3"]
    sizes = ["model.decoder_hidden_size=64", "model.encoder_hidden_size=32", "model.dropout=0"]
    rate = ["optim.learning_rate=0.01", "trainer.validate_every=20", "tensorboard.heatmaps=0"]
    metrics = run(tiny(*overrides, *sizes, *rate), tmp_path / "run")
    assert metrics["test"]["bleu"] > 95


def test_the_corpus_check_prints_its_report_and_leaves_and_builds_nothing(
    tiny, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(BUILD_MODEL, lambda *_: pytest.fail("built a model"))
    assert run(tiny("debug=data"), tmp_path / "run") == {}
    printed = capsys.readouterr().out
    for section in ("split", "ratios", "unknown", "repeated", "overlap", "characters", "batches"):
        assert f"\n{section} " in f"\n{printed}"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("init_from=absent", "absent holds no model"),
        ("resume=required", "resume=required, but .* holds no checkpoint"),
        ("", "file is no folder that can be written to: set runs_dir"),
    ],
)
def test_wrong_folders_are_refused_before_the_corpus_is_read(
    change, refusal, configured, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_module, "build_corpus", lambda _: pytest.fail("the corpus is read"))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=refusal):
        run(configured(*change.split()), tmp_path / ("run" if change else "file/run"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
