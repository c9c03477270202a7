from types import SimpleNamespace

import pytest

from seq2seq.runs.run_folder import name_from_overrides, naming, run_folder, safe_name


@pytest.mark.parametrize(
    "name", ["日" * 110, "🦊" * 300, "é" * 130, "a" * 500, "\udcff" * 300, "日" * 85 + "x"]
)
def test_a_folder_can_have_the_name_of_a_run(tmp_path, name):
    (tmp_path / safe_name(name)).mkdir()
    assert safe_name(name) != safe_name(name + "2")


def test_names_that_fit_stay_as_they_are():
    assert safe_name("日" * 85) == "日" * 85
    assert safe_name("a" * 120) == "a" * 120


def test_names_are_made_of_what_changes_a_run():
    overrides = [
        *(
            "seed=2",
            "attention=dot",
            "data=parallel",
            "data.train.source=/a/b.en",
            "resume=required",
        ),
        *("device.threads=1", "tensorboard.heatmaps=0", "data.test_set=coco", "logger=[csv]"),
    ]
    named = "attention=dot,data.test_set=coco,data=parallel,seed=2"
    assert name_from_overrides(overrides) == named
    assert naming(overrides) == dict(part.split("=") for part in named.split(","))
    assert name_from_overrides(["device.threads=1", "runs_dir=x"]) == "default"


def test_a_folder_that_an_earlier_version_has_named_is_found(tmp_path):
    config = SimpleNamespace(name=None, runs_dir=str(tmp_path), experiment_name="e")
    overrides = ["device.threads=1", "seed=2"]
    now, earlier = tmp_path / "e" / "seed=2", tmp_path / "e" / "device.threads=1,seed=2"
    assert run_folder(config, overrides) == now
    earlier.mkdir(parents=True)
    assert run_folder(config, overrides) == earlier
    assert run_folder(replace_name(config, "seed=2"), overrides) == now
    now.mkdir()
    assert run_folder(config, overrides) == now


def replace_name(config, name):
    return SimpleNamespace(**{**vars(config), "name": name})
