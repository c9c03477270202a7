"""Nothing that a stranger's configuration names is imported, called, written or looked for."""

import copy
import pickle

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from omegaconf import OmegaConf

from seq2seq.command_line.arguments import ONE_OR_MANY, check_arguments
from seq2seq.command_line.composition import judged_compositions
from seq2seq.command_line.config_errors import as_config
from seq2seq.command_line.hydra_section import judge_hydra
from seq2seq.commands import train
from seq2seq.config import register_schema
from seq2seq.errors import InputError
from tests.torture import strangers
from tests.torture.malice import Reducer

TOUCH = "callback seq2seq.runs.run_folder.Path.touch"
PLAIN = "a choice is a plain name"
WAYS = {
    "a link": "hydra.callbacks: ",
    "--config-path": "hydra.callbacks: ",
    "a package": "hydra.callbacks: ",
    "a choice": PLAIN,
    "an absolute choice": PLAIN,
    "--config-name": PLAIN,
    "defaults": PLAIN,
    "a sweep": PLAIN,
    "hydra.searchpath": "give a folder of configurations by --config-dir",
}
"""How a text reaches Hydra, and what is said of it."""
EVIL = {"_target_": "seq2seq.runs.run_folder.Path.touch"}
SLURM = "hydra/launcher=submitit_slurm"


def composed(*overrides, whole=False):
    register_schema()
    with judged_compositions(), initialize_config_dir(str(strangers.CONF), version_base="1.3"):
        return compose("config", overrides=list(overrides), return_hydra_config=whole)


@pytest.fixture(scope="module")
def sections():
    """The section of Hydra as this program composes it, without and with a cluster."""
    return {
        override: OmegaConf.to_container(composed(*override, whole=True)["hydra"], resolve=False)
        for override in ((), (SLURM,))
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_call_is_not_made_by_whatever_way_it_comes(tmp_path, way):
    stage = strangers.Stage(tmp_path)
    text = stage.text(strangers.hydra_sections()[TOUCH])
    arguments = strangers.carriers()[way](stage, text)
    status, said = strangers.in_process([*arguments, *strangers.QUICK], stage.home)
    assert stage.wrong(status, said) == []
    assert status == 2
    assert WAYS[way] in said


def test_no_pickle_is_loaded_to_run_something_again(tmp_path):
    stage = strangers.Stage(tmp_path)
    path = stage.put("config.pickle", pickle.dumps(Reducer(open, str(stage.canary), "w")))
    said = strangers.in_process(["--experimental-rerun", str(path)], stage.home)
    assert stage.wrong(*said) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("callbacks", {"x": EVIL}),
        ("callbacks", "${sweep.parameters}"),
        ("sweeper", EVIL),
        ("launcher", EVIL),
        ("launcher", "${sweep.parameters}"),
        ("searchpath", ["file:///tmp"]),
        ("job_logging", {"version": 1, "root": {"handlers": ["x"]}, "handlers": {"x": EVIL}}),
        ("hydra_logging", "${oc.create:{}}"),
        ("run", {"dir": "/tmp/x"}),
        ("sweep", {"dir": ".", "subdir": ".", "mode": "777"}),
        ("output_subdir", ".hydra"),
        ("env", {"x": EVIL}),
        ("anything", EVIL),
        ("overrides", {"hydra": ["hydra.launcher.setup=[evil]"], "task": []}),
    ],
)
def test_what_hydra_would_use_is_refused_unless_it_is_ours(sections, key, value):
    section = sections[()] | {key: value}
    with pytest.raises(InputError, match=rf"^hydra\.{key}"):
        judge_hydra(section, [])
    judge_hydra(sections[()], [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("env_set", {"LD_PRELOAD": "x.so"}),
        ("env_copy", ["HOME"]),
        ("chdir", True),
        ("name", "../../x"),
        ("new", 1),
    ],
)
def test_a_job_has_hydras_own_settings(sections, key, value):
    section = copy.deepcopy(sections[()])
    section["job"][key] = value
    with pytest.raises(InputError, match=rf"^hydra\.job\.{key}"):
        judge_hydra(section, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("setup", ["rm x"]),
        ("additional_parameters", {"wrap": "rm x"}),
        ("partition", "x\nrm x"),
        ("submitit_folder", "/tmp/x"),
        ("name", "${oc.env:HOME}"),
    ],
)
def test_a_file_gives_words_to_a_launcher_and_the_command_line_anything(sections, key, value):
    section = copy.deepcopy(sections[(SLURM,)])
    section["launcher"] |= {"timeout_min": 600, "partition": "gpu", "mem_gb": 8}
    judge_hydra(section, [SLURM])
    section["launcher"][key] = value
    with pytest.raises(InputError, match=rf"^hydra\.launcher\.{key}"):
        judge_hydra(section, [SLURM])


def test_commands_of_a_cluster_are_typed():
    typed = [SLURM, "hydra.launcher.setup=[module load x]", "hydra.launcher.comment='a b'"]
    assert composed(*typed, whole=True).hydra.launcher.setup == ["module load x"]
    with pytest.raises(InputError, match=r"additional_parameters\.wrap"):
        composed(SLURM, "+hydra.launcher.additional_parameters={wrap: x y}")


def test_a_value_may_be_that_of_another_key():
    config = as_config(composed("seed='${trainer.max_epochs}'", "trainer.max_epochs=7"))
    assert config.seed == 7


@pytest.mark.parametrize(
    "overrides",
    [
        ["name='${runs_dir}${runs_dir}'"],
        ["name=${runs_dir}", "runs_dir=${experiment_name}"],
        ["name=${model}"],
        ["name=${name}"],
        ["name=${oc.env:HOME}"],
        ["name=${now:%Y}"],
        ["name=\\${x"],
    ],
)
def test_interpolations_can_neither_compute_nor_add_up(overrides):
    with pytest.raises(InputError):
        composed(*overrides)


@pytest.mark.parametrize("name", ["../attention/dot", "/dot", "a\\b", "x/../dot", "x//dot"])
def test_choices_are_plain_names(name):
    with pytest.raises(InputError, match=PLAIN):
        composed(f"attention='{name}'")


def test_a_file_chooses_by_no_resolver(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHOSEN", "dot")
    (tmp_path / "debug").mkdir()
    text = "defaults: [{override /attention: '${oc.env:CHOSEN}'}]\ndebug: 1\n"
    (tmp_path / "debug" / "x.yaml").write_text(text)
    options = ["--cfg=job", f"--config-dir={tmp_path}", "debug=x"]
    monkeypatch.setattr("sys.argv", ["train.py", *options])
    assert train.main() == 2
    assert "${oc.env:CHOSEN} is refused" in capsys.readouterr().err


@pytest.mark.parametrize("override", ["hydra.mode=MULTIRUN", "debug=x"])
def test_nothing_but_its_option_asks_for_many_runs(tmp_path, monkeypatch, capsys, override):
    (tmp_path / "debug").mkdir()
    (tmp_path / "debug" / "x.yaml").write_text("# @package _global_\nhydra: {mode: MULTIRUN}\n")
    monkeypatch.setattr("sys.argv", ["train.py", f"--config-dir={tmp_path}", "--cfg=job", override])
    assert train.main() == 2
    assert f"{ONE_OR_MANY}\n" in capsys.readouterr().err


def test_a_command_line_is_composed_once(monkeypatch):
    compositions = []
    count = lambda self, *_, **__: compositions.append(self) or {}[0]  # noqa: E731
    monkeypatch.setattr(ConfigLoaderImpl, "_load_configuration_impl", count)
    monkeypatch.setattr("sys.argv", ["train.py"])
    assert train.main() == 2
    assert len(compositions) == 1


def test_a_configuration_begins_at_the_schema():
    with pytest.raises(InputError, match="begin with schema"):
        as_config(OmegaConf.create({"a": [1]}))


@pytest.mark.parametrize("path", ["../elsewhere", "conf", ""])
def test_a_folder_in_place_of_ours_has_a_whole_path(path):
    with pytest.raises(InputError, match="give a whole path, or a folder by --config-dir"):
        check_arguments(["--config-path", path], strangers.CONF)
