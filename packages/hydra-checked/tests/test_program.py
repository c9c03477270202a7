"""An application that is not ours, as a program: the mistakes of its user, how it ends, and the names of its runs."""

import os
import re
import signal
import subprocess
import sys

import pytest
from hydra.errors import HydraException, InstantiationException
from omegaconf import OmegaConf

from hydra_checked import Failed, Wrong
from hydra_checked.program import (
    Application,
    as_value,
    exit_on_error,
    folder_name,
    given_keys,
    message_of,
    run_name,
)

APP = """
import atexit, errno, os, signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig

from hydra_checked import Failed, Wrong, check
from hydra_checked.program import Application, folder_name, given_keys, register_resolver, run_name, run_task, start

class Terminated(Failed):
    status = 143


ENDS = {
    "terminated": Terminated("stopped; the same command continues"),
    "wrong": Wrong("the line\\nis \\x1b[2J wrong"), "failed": Failed("no more"), "pipe": BrokenPipeError(),
    "stop": KeyboardInterrupt(), "disk": OSError(errno.ENOSPC, "No space left on device", "kept"),
    "large": OSError(errno.EFBIG, "File too large", "kept"), "gone": FileNotFoundError(errno.ENOENT, "No such file", "in"),
    "memory": RuntimeError("[enforce fail] can't allocate memory: you tried 9 bytes"), "fault": AttributeError("ours"),
}  # fmt: skip
register_resolver("run_name", run_name, replace=True)
register_resolver("folder_name", folder_name, replace=True)


@dataclass
class Root:
    model: dict[str, Any]
    seed: int = 1
    name: str = ""
    out: str = "runs"


class Model:
    def __init__(self, width: int = 4, depth: int | None = None, end: str | None = None) -> None:
        self.end = end


HERE = Path(__file__).parent
APPLICATION = Application(
    conf=HERE / "conf", code=[HERE / "library"], schema=Root, classes={"model": "model"},
    other_choices={("model", "tiny"): "small"}, other_keys={"hidden": "model.width"}, moved={"model.size": "it is model.width"},
    answers={"resume": "the same command goes on"}, files={"model": "give a file by model.file=FILE"}, memory="lower model.width",
)


def task(config):
    if lines := APPLICATION.unread(config, given_keys(HydraConfig.get().overrides.task)):
        raise Wrong(lines[0])
    check(config)
    model = hydra.utils.instantiate(config.model)
    if model.end == "cleaning":
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("of cleaning up")
    if model.end is not None:
        raise ENDS[model.end]
    print("trained", os.path.basename(os.getcwd()))


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config):
    return run_task(APPLICATION, task, config)


if __name__ == "__main__":
    if os.environ.get("AGAIN"):
        atexit.register(os.kill, os.getpid(), signal.SIGINT)
    start(APPLICATION, main)
"""

CONFIG = {
    "defaults": [{"model": "small"}, "_self_"],
    "seed": 1,
    "out": "runs",
    "name": "${run_name:${hydra:overrides.task},[name,out],app}",
    "hydra": {
        "run": {"dir": "${out}/${folder_name:${name}}"},
        "job": {"chdir": True},
        "sweep": {"dir": "${out}", "subdir": "${folder_name:${name}}"},
    },
}
CHOICES = {
    "small": "_target_: __main__.Model\nwidth: 4\n",
    "large": "_target_: __main__.Model\nwidth: 64\ndepth: 2\n",
}
BROKEN = "class Broken:\n    def __init__(self, width):\n        raise AttributeError('of my own')\n"


@pytest.fixture
def program(app):
    (app.folder / "conf/model").mkdir()
    for name, text in CHOICES.items():
        (app.folder / f"conf/model/{name}.yaml").write_text(text)
    (app.folder / "conf/part").mkdir()
    (app.folder / "conf/part/wide.yaml").write_text("# @package model\nwidth: 64\n")
    (app.folder / "broken.py").write_text(BROKEN)
    (app.folder / "saved").mkdir()
    (app.folder / "saved/config.yaml").write_text("model:\n  _target_: __main__.Model\n")
    return app


WRONG = {
    "key": (["seeed=2"], r"seeed: no such key; did you mean seed\? --help lists the keys"),
    "key in a node": (["model.wdith=2"], r"model\.wdith: no such key; did you mean model\.width\? write \+model\.wdith=…"),
    "key without its node": (["width=2"], r"width: no such key; did you mean model\.width\?"),
    "key of another program": (["hidden=2"], r"hidden: no such key; did you mean model\.width\?"),
    "key of an earlier version": (["model.size=2"], r"model\.size: it is model\.width$"),
    "key in the folder of a choice": (["+part=wide", "part.width=2"], r"part\.width: no such key; did you mean model\.width\?"),
    "key of another choice": (["model.depth=3"], r"model\.depth: no such key with what was chosen; it belongs to model=large"),
    "what is done without a key": (["resume=true"], r"resume: no such key; the same command goes on"),
    "key of Hydra": (["hydra.job.nmae=a"], r"hydra\.job\.nmae: no such key; did you mean hydra\.job\.name\?"),
    "key that there is": (["+seed=2"], r"\+seed=2: this key exists; write seed=2"),
    "key to delete": (["~nothing"], r"nothing: no such key"),
    "key that nothing reads": (["+sede=2"], r"sede: nothing reads this key; did you mean seed\?"),
    "argument": (["+model.widht=2"], r"model\.widht: .*Model has no argument widht; did you mean model\.width\?"),
    "class": (["model._target_=broken.Brokn"], r"model\._target_=broken\.Brokn: .*did you mean broken\.Broken\?"),
    "choice": (["model=lagre"], r"model=lagre: there is no such choice; did you mean large\? choose one of large, small; your own class: model\._target_="),
    "choice of another program": (["model=tiny"], r"did you mean small\?"),
    "number for a choice": (["model=3"], r"model=3: choose one of large, small; "),
    "list for a choice": (["model=[3]"], r"model=\[3\]: expected names of choices"),
    "file for a choice": (["model=my/own.pt"], r"model=my/own\.pt: there is no such choice: give a file by model\.file=FILE"),
    "choice of Hydra": (["-m", "hydra/launcher=basik"], r"hydra/launcher=basik: there is no such choice; did you mean basic\?"),
    "several values": (["seed=1,2"], r"seed=1,2.* 3\. To sweep over it, add --multirun"),
    "spaces": (["seed", "=", "2"], r"'seed' cannot be read: write key=value, without spaces"),
    "special characters": (["name=a=b"], r"""'name=a=b' cannot be read: .* into quotes, 'name="a=b"'"""),
    "null among several": (["-m", "model.width=choice(null,1)"], r"cannot be read: .*NoneType.*; with -m, write model\.width=null,1$"),
    "word in a range": (["-m", "seed=range(a)"], r"'seed=range\(a\)' cannot be read: .*str is incompatible"),
    "name of a folder": (["name=a/../b"], r"name=a/\.\./b: the name of a folder is needed"),
    "interpolation": (["seed=${nothing}"], r"(seed|hydra\.run\.dir): Interpolation key 'nothing' not found"),
    "file for a folder": (["out=app.py"], r"out=app\.py: this is a file, and a folder is needed"),
    "option": (["--width", "3"], r"--width; did you mean model\.width=3\? values are set by key=value"),
    "option of another program": (["--hidden=3"], r"--hidden=3; did you mean model\.width=3\?"),
    "what is done without an option": (["--resume"], r"--resume; the same command goes on"),
    "option between keys": (["seed=2", "--config-dir", ".", "model=large"], r"options, such as --config-dir FOLDER, stand before the keys"),
    "two options": (["--info", "--cfg", "job"], r"Only one of --"),
    "name of the configuration": (["--config-name", "large"], r"--config-name large: there is no such file in .*; did you mean model=large\?"),
    "folder of the configuration": (["--config-path", "/nowhere"], r"--config-path /nowhere: there is no such folder"),
    "configuration without groups": (["--config-path", "saved", "model=large"], r"model=…: this configuration has no groups"),
    "what the task refuses": (["+model.end=wrong"], r"the line is \?\[2J wrong"),
    "disk": (["+model.end=disk"], r"kept: No space left on device: free some space"),
    "limit of a file": (["+model.end=large"], r"kept: File too large: raise the limit"),
    "file": (["+model.end=gone"], r"in: No such file"),
    "memory": (["+model.end=memory"], r"there is not enough memory: lower model\.width \(.*9 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_one_line_and_status_2(name, program):
    arguments, said = WRONG[name]
    done = program(*arguments)
    assert (done.status, done.text.count("\n")) == (2, 1), done.text
    assert re.search(said, done.text), done.text
    assert done.text.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["+model.end=failed"], 1, r"error: no more\n"),
        (["+model.end=terminated"], 143, r"stopped; the same command continues\n"),
        (["+model.end=stop"], 130, ""),
        (["+model.end=cleaning"], 130, ""),
        (["+model.end=pipe"], 141, ""),
        (["+model.end=fault"], 1, r"(?s)Traceback.*AttributeError: ours\n"),
        (["model._target_=broken.Broken"], 1,
         r"(?s)Traceback of your code .*broken\.py.*error: Broken\.__init__ failed: AttributeError: of my own\n"),
        ([], 0, "trained default\n"),
        (["~model.width"], 0, "trained -width\n"),
        (["seed=2", "-m", "model.width=1,2"], 0, r"(?s).*trained width=1,seed=2\n.*trained width=2,seed=2\n"),
    ],
)  # fmt: skip
def test_a_program_ends_with_its_status(arguments, status, said, program):
    done = program(*arguments, check=status)
    assert re.fullmatch(said, done.text), done.text


def test_ctrl_c_while_python_ends_after_it_is_silent(program):
    line = [sys.executable, "app.py", "+model.end=stop"]
    done = subprocess.run(
        line, check=False, cwd=program.folder, env=os.environ | {"AGAIN": "1"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


FULL = {"model": {"width": 4, "depth": 2}, "data": {"width": 1}, "part": {"_target_": "a.B"}}


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ([], "default"),
        (["seed=3"], "seed=3"),
        (["model.depth=2", "seed=3", "+data.file=in/a.txt"], r"file=in-a\.txt,depth=2-\w{8},seed=3"),
        (["model.width=2", "out=elsewhere"], r"model\.width=2"),
        (["part._target_=app.parts.Part", "kind=new"], "part=Part,kind=new"),
        (["part._target_=mine.parts.Part"], r"part=mine\.parts\.Part"),
        ([f"name={'long ' * 20}", "seed=3"], r"name=(long-)*-?\w{8},seed=3"),
        (["~model.depth", "model.width=_unset_", "~model.width"], r"-depth,-model\.width.*"),
    ],
)
def test_a_run_is_named_by_its_overrides(overrides, name):
    found = run_name(overrides, ["out"], "app", _root_=OmegaConf.create(FULL))
    assert re.fullmatch(name, found), found
    assert len(found) <= 40
    assert folder_name(found) == found


@pytest.mark.parametrize(
    "text", ["plain", "a b", "it's", "back\\", "a=b", "[1,2]", "$HOME", "\u00e9t\u00e9", "'"]
)
def test_a_text_is_read_as_it_was(text):
    assert given_keys([f"key={as_value(text)}", "~other", "gone=_unset_"]) == {"key": text}


def test_keys_of_mappings_are_given_by_dotted_keys():
    assert given_keys(["+a={b: 1, c: {d: x}}", "e=1,2", "~f"]) == {
        "a.b": 1,
        "a.c.d": "x",
        "e": given_keys(["e=1,2"])["e"],
    }


def test_what_is_said_from_python_needs_no_command_line(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/config.yaml").write_text("seed: 1\n")
    app = Application(conf=tmp_path / "conf", code=[tmp_path])
    with app.composed(["seed=2"]) as config:
        assert config.seed == 2
    for overrides, said in (["sed=2"], "sed: no such key; did you mean seed"), (["seed"], "write key=value"):
        with pytest.raises(HydraException) as caught, app.composed(overrides):
            raise AssertionError
        assert said in message_of(app, caught.value, overrides)
    error = InstantiationException("in class")
    error.__cause__ = Wrong("this line")
    assert message_of(app, error, []) == "this line"
    assert message_of(app, KeyError("ours"), []) is None
    with pytest.raises(SystemExit, match="1"), exit_on_error(app):
        raise Failed("no more")
