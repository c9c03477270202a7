"""Configuration of a stranger: files that name code, names that lead elsewhere, traps in YAML."""

import contextlib
import io
import os
import random
import runpy
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import yaml
from hydra.core.global_hydra import GlobalHydra

from tests.torture.limits import limited
from tests.torture.victims import ROOT, SMALL_GRAMMAR, log_of, start, wait
from tests.torture.victims import main as train_main

CONF = ROOT / "conf"
HEAD = "# @package _global_\n"

ODD = (
    None, True, -1, 0, 1.5, float("nan"), float("inf"), 10**40, -(10**40), "", " ", "null",
    "\x1b[31m", "a\nb", "日" * 110, "../x", "/etc/passwd", "a\\b", "${seed}", "${x}",
    "${oc.env:HOME}", "???", "${oc.create:[1]}", "x" * 5000, [], [1], {}, {"a": 1}, [[[[]]]],
    {"_target_": "os.system"},
)  # fmt: skip
"""Thirty values that hardly any key takes."""

CALLS = {
    "os.system": {"command": "touch {canary}"},
    "subprocess.getoutput": {"cmd": "touch {canary}"},
    "builtins.open": {"file": "{canary}", "mode": "w"},
    "shutil.copy": {"src": "/etc/hostname", "dst": "{canary}"},
    "seq2seq.training.checkpoint_file.torch.hub.load": {
        "repo_or_dir": "{hub}", "model": "m", "source": "local",
    },
    "seq2seq.runs.run_folder.Path.write_text": {
        "self": {"_target_": "pathlib.Path", "_args_": ["{canary}"]}, "data": "x",
    },
    "seq2seq.runs.run_folder.Path.touch": {
        "self": {"_target_": "seq2seq.runs.run_folder.Path", "_args_": ["{canary}"]},
    },
    "seq2seq.text.corpus_store.shutil.copy": {"src": "/etc/hostname", "dst": "{canary}"},
}  # fmt: skip
"""What a target may name, with arguments that make the canary."""


def hydra_sections() -> dict[str, dict]:
    """Sections of Hydra that would call something, write a file or look elsewhere."""
    found = {f"callback {name}": {"callbacks": {"x": call}} for name, call in _calls().items()}
    first = _calls()["os.system"]
    as_handler = {"()": first["_target_"], "command": first["command"]}
    file = {"class": "logging.FileHandler", "filename": "{canary}"}
    for log in ("job_logging", "hydra_logging"):
        for kind, handler in (("factory", as_handler), ("file", file)):
            handlers = {"version": 1, "handlers": {"x": handler}, "root": {"handlers": ["x"]}}
            found[f"{log} {kind}"] = {log: handlers}
    text = yaml.safe_dump(first, default_flow_style=True).strip()
    return found | {
        "launcher": {"launcher": first},
        "sweeper": {"sweeper": first},
        "made by resolvers": {"callbacks": {"x": f"${{oc.create:${{oc.decode:'{text}'}}}}"}},
        "all made by resolvers": {"callbacks": f"${{oc.create:{{x:{text}}}}}"},
        "interpolated section": {"callbacks": "${sweep.parameters}"},
        "search path": {"searchpath": ["file://{folder}"]},
        "search path of a package": {"searchpath": ["pkg://this"]},
        "folder": {"run": {"dir": "{canary}"}},
        "subfolder": {"output_subdir": "{canary}"},
        "environment": {"job": {"env_set": {"LD_PRELOAD": "{canary}.so"}}},
        "copied environment": {"job": {"env_copy": ["HOME"]}},
        "working folder": {"job": {"chdir": True}},
        "job name": {"job": {"name": "../../{canary}"}},
        "overrides": {"overrides": {"hydra": ["hydra.launcher.setup=[touch {canary}]"]}},
        "script": {"launcher": {"setup": ["touch {canary}"]}},
        "parameter": {"launcher": {"additional_parameters": {"wrap": "touch {canary}"}}},
        "partition": {"launcher": {"partition": "x\ntouch {canary}"}},
        "whole": "${sweep.parameters}",
    }


def _calls() -> dict[str, dict]:
    return {name: {"_target_": name, **arguments} for name, arguments in CALLS.items()}


class Stage:
    """A folder with what a stranger left, and beside it what nobody may touch.

    Args:
        folder: of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "stranger", folder / "home"
        self.canary, hub = folder / "canary", folder / "stranger" / "hub"
        for each in (self.home, hub):
            each.mkdir(parents=True)
        (hub / "hubconf.py").write_text(f"open({str(self.canary)!r}, 'w')\ndef m(): pass\n")

    def text(self, section: object, *, escaped: bool = False) -> str:
        """A section of Hydra as a file's text, with the places filled in."""
        text = yaml.safe_dump({"hydra": section}, allow_unicode=True)
        text = text.replace("{canary}", str(self.canary)).replace("{folder}", str(self.folder))
        text = text.replace("{hub}", str(self.folder / "hub"))
        return HEAD + (text.replace("_target_:", '"\\x5ftarget_":') if escaped else text)

    def put(self, place: str, content: str | bytes) -> Path:
        """Write a file of the stranger."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def wrong(self, status: int, said: str) -> list[str]:
        """What is wrong about an end."""
        wrong = ["it was executed, or written"] if self.canary.exists() else []
        wrong += [f"{path} was made" for path in self.home.iterdir() if path.name != "runs"]
        return wrong + wrong_about(status, said)


def wrong_about(status: int, said: str) -> list[str]:
    """What is wrong about a program's end that should be good, or one line."""
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    good = status == 0 or (status == 2 and len(errors) == 1 and said.count("\n") == 1)
    if not good or "Traceback" in said or "\x1b" in said:
        return [f"exit status {status}: {said[-1200:]!r}"]
    return []


def in_process(arguments: list[str], home: Path) -> tuple[int, str]:
    """train.py in this process, in a folder: exit status, and what it said."""
    said, status = io.StringIO(), 70
    previous, handler = Path.cwd(), signal.getsignal(signal.SIGTERM)
    os.chdir(home)
    try:
        with (
            mock.patch.object(sys, "argv", [str(ROOT / "train.py"), *arguments]),
            mock.patch.dict(os.environ),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
        ):
            runpy.run_path(str(ROOT / "train.py"), run_name="__main__")
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        said.write(traceback.format_exc())
    finally:
        os.chdir(previous)
        GlobalHydra.instance().clear()
        signal.signal(signal.SIGTERM, handler)
    return status, said.getvalue()


def carriers() -> dict[str, Callable[[Stage, str], list[str]]]:
    """Ways by which a text reaches Hydra: they leave files, and return the command line."""

    def elsewhere(stage: Stage, text: str, start: Path = CONF / "experiment") -> str:
        return os.path.relpath(stage.put("elsewhere/evil.yaml", text).with_suffix(""), start)

    def here(stage: Stage, text: str, group: str = "experiment") -> list[str]:
        stage.put(f"{group}/evil.yaml", text)
        return ["--config-dir", str(stage.folder), f"{group}=evil"]

    def linked(stage: Stage, text: str) -> list[str]:
        stage.put("beyond/experiment/evil.yaml", text)
        (stage.folder / "experiment").symlink_to(stage.folder / "beyond" / "experiment")
        return ["-cd", str(stage.folder), "experiment=evil"]

    def in_place_of_ours(stage: Stage, text: str) -> list[str]:
        shutil.copytree(CONF, stage.folder, dirs_exist_ok=True)
        stage.put("experiment/evil.yaml", text)
        return ["--config-path", str(stage.folder), "experiment=evil"]

    def by_defaults(stage: Stage, text: str) -> list[str]:
        return here(stage, f"{HEAD}defaults:\n  - /other: {elsewhere(stage, text)}\n")

    def by_defaults_of_root(stage: Stage, text: str) -> list[str]:
        return here(stage, f"{HEAD}defaults:\n  - /{elsewhere(stage, text, CONF)}\n")

    def by_package(stage: Stage, text: str) -> list[str]:
        stage.put("experiment/evil.yaml", text.replace("_global_", "hydra.callbacks.x"))
        return ["-cd", str(stage.folder), "+experiment@hydra.callbacks.y=evil"]

    def by_sweep(stage: Stage, text: str) -> list[str]:
        choice = elsewhere(stage, text)
        stage.put("sweep/evil.yaml", f"defaults: [grid]\nparameters: {{experiment: '{choice},x'}}")
        return ["-m", "--config-dir", str(stage.folder), "sweep=evil", "sweep.dry_run=true"]

    return {
        "--config-dir": here,
        "another group": lambda stage, text: here(stage, text, "recipe"),
        "a link": linked,
        "--config-path": in_place_of_ours,
        "a choice": lambda stage, text: [f"experiment={elsewhere(stage, text)}"],
        "an absolute choice": lambda stage, text: [
            f"experiment=/{elsewhere(stage, text, Path('/'))}",
        ],
        "--config-name": lambda stage, text: ["--config-name", elsewhere(stage, text, CONF)],
        "defaults": by_defaults,
        "defaults of the root": by_defaults_of_root,
        "a package": by_package,
        "hydra.searchpath": lambda stage, text: [
            f"hydra.searchpath=[file://{stage.folder}]", here(stage, text)[2],
        ],
        "a sweep": by_sweep,
        "a swept choice": lambda stage, text: [
            "-m", "sweep.dry_run=true", f"experiment=baseline,{elsewhere(stage, text)}",
        ],
        "choice()": lambda stage, text: [
            "-m", "sweep.dry_run=true", f"experiment=choice('{elsewhere(stage, text)}',baseline)",
        ],
        "a sweep of a file": lambda stage, text: ["-m", *here(stage, text), "sweep.dry_run=true"],
    }  # fmt: skip


def traps() -> dict[str, str | bytes]:
    """Texts of which a reader makes something huge or odd, or which it stumbles over."""
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    strings = "\n".join(f"s{n}: '{f'${{s{n - 1}}}' * 9}'" for n in range(1, 12))
    return {
        "laughs": "a0: &a0 [x]\n" + "\n".join(levels),
        "recursion": "a: &a [*a]",
        "merged recursion": "a: &a\n  <<: *a\n",
        "strings": "s0: x\n" + strings,
        "own strings": "name: '${runs_dir}${runs_dir}'\nruns_dir: '${name}${name}'",
        "cycle": "name: ${runs_dir}\nruns_dir: ${name}",
        "sections": "name: ${model}\nmodel: ${optim}",
        "deep": "seed: " + "[" * 100_000 + "]" * 100_000,
        "deep mappings": "a: " + "{a: " * 1_000 + "1" + "}" * 1_000,
        "deep blocks": "\n".join(" " * n + "a:" for n in range(1_000)),
        "large": "name: " + "x" * (5 << 20),
        "wide": "\n".join(f"k{n}: {n}" for n in range(200_000)),
        "digits": "seed: " + "1" * 100_000,
        "sexagesimal": "seed: " + ":".join(["1"] * 10_000),
        "tag": "!!python/object/apply:os.getcwd []",
        "own tag": "seed: !int 1",
        "binary": "name: !!binary aGk=",
        "timestamp": "name: 2001-99-99",
        "NUL": 'runs_dir: "a\\0b"',
        "ESC": 'seed: "\\e[31m"',
        "ESC in a key": '"\\e[31m": 1',
        "raw ESC": "name: \x1b[31m",
        "twice": "seed: 1\nseed: 2",
        "two documents": "seed: 1\n---\nseed: 2",
        "a list": "- seed",
        "a word": "seed",
        "nothing": "",
        "odd keys": "? [a]\n: 1\n1: 2\n~: 3\n",
        "UTF-16": "seed: 1".encode("utf-16"),
        "Latin-1": "name: é".encode("latin-1"),
        "surrogate": b"name: \xed\xa0\x80",
        "unfinished": "seed: [",
        "tabs": "model:\n\tx: 1",
        "header": "# @package a.b..c[\nx: 1",
        "odd header": "# @nothing x\nseed: 1",
    }  # fmt: skip


def odd_defaults() -> list[str]:
    """Defaults lists that nobody writes."""
    return [yaml.safe_dump({"defaults": value}) for value in ODD] + [
        yaml.safe_dump({"defaults": [value]}) for value in ODD
    ]


Case = tuple[str, Callable[[Stage], list[str]]]


def cases() -> list[Case]:
    """Every section once, every carrier once, every trap once."""
    sections, ways, found = hydra_sections(), carriers(), []
    for number, (name, section) in enumerate(sections.items()):
        way = list(ways)[number % 4]  # those that a file passes
        found.append((f"{name} by {way}", _bringing(ways[way], section)))
    call = sections["callback seq2seq.runs.run_folder.Path.touch"]
    found += [(f"a call by {name}", _bringing(way, call)) for name, way in ways.items()]
    found += [(name, _with_text(text)) for name, text in traps().items()]
    for number, arguments in enumerate(command_lines()):
        found.append((f"command line {number}", lambda _, arguments=arguments: arguments))
    return [*found, ("FIFO", _fifo), ("device", _device)]


def command_lines() -> list[list[str]]:
    """Arguments that would be enough without a file."""
    return [
        ["+hydra.callbacks.x._target_=os.getcwd"], ["hydra.searchpath=[pkg://this]"],
        ["--experimental-rerun", "x.pickle"], ["--experimental-rer=x.pickle"],
        ["--config-path", "pkg://this"], ["--config-path=x.yaml"], ["--config-path", "/nowhere"],
        ["--config-dir", "pkg://this"], ["--config-dir=/nowhere"], ["--config-name", "/etc/x"],
        ["--config-name", "a\\b"], ["+x._target_=os.system"], ["hydra.job.env_set={PATH:x}"],
        ["hydra/launcher=../x"], ["-m", "hydra.sweeper._target_=os.system", "seed=1,2"],
        ["--run", "--multirun"], ["--cfg", "job", "-m"], ["--resolve"], ["hydra.output_subdir=x"],
        ["name=${oc.env:HOME}"], ["name='${runs_dir}${runs_dir}'"],
        ["-m", "+sweep.parameters={hydra.launcher.setup:x}", "seed=1,2", "sweep.dry_run=true"],
        ["-m", "experiment=glob(*,exclude=../*)", "../experiment=glob(*)", "sweep.dry_run=true"],
    ]  # fmt: skip


def random_case(generator: random.Random) -> Case:
    """A section, a trap or odd values, by any way."""
    ways, sections = carriers(), hydra_sections()
    way, kind = generator.choice(list(ways)), generator.random()
    if kind < 0.5:
        name = generator.choice(list(sections))
        escaped = generator.random() < 0.5
        return f"{name} by {way}", _bringing(ways[way], sections[name], escaped=escaped)
    if kind < 0.6:
        text = generator.choice(odd_defaults())
    else:
        keys = ["seed", "name", "model", "model.dropout", "data", "hydra", "hydra.job", "hydra.run",
                "hydra.launcher", "hydra.callbacks", "hydra.mode", "hydra.verbose", "hydra.help",
                "hydra.job.name", "hydra.launcher.x", "hydra.sweep.dir", "hydra.overrides.task",
                "hydra.runtime.choices", "sweep.parameters", "defaults", "panel"]  # fmt: skip
        text = _nested(generator.choice(keys).split("."), generator.choice(ODD))
    return f"{text!r:.200} by {way}", lambda stage: ways[way](stage, HEAD + text)


def _nested(keys: list[str], value: object) -> str:
    for key in reversed(keys):
        value = {key: value}
    return yaml.safe_dump(value, allow_unicode=True)


def _bringing(
    way: Callable[[Stage, str], list[str]], section: object, *, escaped: bool = False
) -> Callable[[Stage], list[str]]:
    cluster = ["hydra/launcher=submitit_slurm"] if "launcher" in section else []
    return lambda stage: [*way(stage, stage.text(section, escaped=escaped)), *cluster]


def _with_text(text: str | bytes) -> Callable[[Stage], list[str]]:
    def bring(stage: Stage) -> list[str]:
        stage.put("experiment/evil.yaml", HEAD + text if isinstance(text, str) else text)
        return ["--config-dir", str(stage.folder), "experiment=evil"]

    return bring


def _fifo(stage: Stage) -> list[str]:
    arguments = _with_text("")(stage)
    (stage.folder / "experiment" / "evil.yaml").unlink()
    os.mkfifo(stage.folder / "experiment" / "evil.yaml")
    return arguments


def _device(stage: Stage) -> list[str]:
    arguments = _with_text("")(stage)
    (stage.folder / "experiment" / "evil.yaml").unlink()
    (stage.folder / "experiment" / "evil.yaml").symlink_to("/dev/zero")
    return arguments


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Bring a stranger's configuration to train.py; yields what was wrong about its end.

    Every case as it is, as many drawn at random, and a few by a program of their own.
    """
    generator, every = random.Random(11), cases()
    drawn = [random_case(generator) for _ in every]
    keep = max(round(1 / share), 1)
    for number, (name, bring) in enumerate([*every, *drawn]):
        if number % keep == 0:
            stage = Stage(folder / f"case{number}")
            arguments = [*bring(stage), *QUICK]
            alone = number % (10 * keep) == 0
            with limited() as wrong:
                ended = (_alone if alone else in_process)(arguments, stage.home)
            yield name, wrong + stage.wrong(*ended)
            shutil.rmtree(folder / f"case{number}")


QUICK = ["debug=data", "runs_dir=runs", "experiment_name=e", *SMALL_GRAMMAR]


def _alone(arguments: list[str], home: Path) -> tuple[int, str]:
    run_dir = home / "runs" / "run"

    def action() -> int:
        os.chdir(home)
        return train_main(arguments)

    status = wait(start(action, log_of(run_dir)))
    return status, log_of(run_dir).read_text(errors="backslashreplace")
