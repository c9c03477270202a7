"""Part 5: files that would run code if anything did; a canary file tells."""

import hashlib
import io
import json
import os
import pickle
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from seq2seq.storage.digests import file_digests
from tests.torture.victims import ROOT, command, log_of, main, run_child, start, wait


class Reducer:
    """A pickle of this calls a function with arguments when it is loaded."""

    def __init__(self, function: Callable, *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self):
        return self._call


def reducers(canary: Path) -> dict[str, object]:
    """Objects whose loading would make the canary file."""
    return {
        "system": Reducer(os.system, f"touch {canary}"),
        "popen": Reducer(os.popen, f"touch {canary}"),
        "subprocess": Reducer(subprocess.call, ["touch", str(canary)]),
        "eval": Reducer(eval, f"open({str(canary)!r}, 'w')"),
        "exec": Reducer(exec, f"open({str(canary)!r}, 'w')"),
        "open": Reducer(open, str(canary), "w"),
        "torch_load": {"state_dict": Reducer(exec, f"open({str(canary)!r}, 'w')")},
    }


def plain_pickle(payload: object) -> bytes:
    """As `pickle.dump`, and `torch.save` of old, write."""
    return pickle.dumps(payload)


def torch_archive(payload: object) -> bytes:
    """As `torch.save` writes."""
    content = io.BytesIO()
    torch.save({"state_dict": {}, "loops": payload, "global_step": 0}, content)
    return content.getvalue()


def sealed(payload: object) -> bytes:
    """As our own checkpoints, with the right digest."""
    content = torch_archive(payload) + b"\nseq2seq-checkpoint step=%012d" % 9
    return content + b" sha256=%s\n" % hashlib.sha256(content).hexdigest().encode()


def renamed_archive(payload: object) -> bytes:
    """A zip file whose only member is a pickle."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(payload))
        archive.writestr("archive/version", "3")
    return content.getvalue()


FORMATS = (plain_pickle, torch_archive, sealed, renamed_archive)
MODEL_FILES = ("model.safetensors", "model.json", "source.json", "target.json", "source.model")
YAML = {
    "target": "_target_: os.system\ncommand: touch {canary}\n",
    "callback": "hydra:\n  callbacks:\n    x:\n      _target_: subprocess.getoutput\n"
    "      cmd: touch {canary}\n",
    "launcher": "hydra:\n  launcher:\n    _target_: os.system\n    command: touch {canary}\n",
    "handler": "hydra:\n  job_logging:\n    version: 1\n    handlers:\n      x:\n"
    "        (): os.system\n        command: touch {canary}\n",
    "class": "hydra:\n  job_logging:\n    version: 1\n    handlers:\n      x:\n"
    "        class: subprocess.Popen\n        args: touch {canary}\n",
    "escaped": 'hydra:\n  callbacks:\n    x:\n      "\\x5ftarget_": os.system\n'
    "      command: touch {canary}\n",
    "python": "!!python/object/apply:os.system ['touch {canary}']\n",
    "interpolated": "name: ${{oc.env:HOME}}\nmodel:\n  _target_: ${{oc.decode:os.system}}\n",
    "deep": "model:\n  a:\n    - b:\n        _target_: os.system\n        command: x {canary}\n",
    "searchpath": "hydra:\n  searchpath: ['file://{canary}']\n",
}


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Bring each malicious file to its door; yields what ran, or how badly it was refused."""
    run_dir = folder / "honest" / "run"
    if run_child(run_dir):
        raise AssertionError(log_of(run_dir).read_text())
    cases = [*_checkpoints(folder, run_dir), *_models(folder, run_dir), *_configs(folder)]
    keep = max(round(1 / share), 1)
    for index, (name, bring) in enumerate(cases):
        if index % keep == 0:
            canary = folder / f"canary{index}"
            yield name, _judge(bring(canary), canary)


def _judge(said: tuple[int, str], canary: Path) -> list[str]:
    status, text = said
    wrong = ["it was executed"] if canary.exists() else []
    if "Traceback" in text or status not in {0, 1, 2}:
        wrong.append(f"exit status {status}: {text[-1500:]}")
    return wrong


def _run(run_dir: Path, *overrides: str) -> tuple[int, str]:
    log_of(run_dir).unlink(missing_ok=True)
    return run_child(run_dir, overrides), log_of(run_dir).read_text()


def _checkpoints(folder: Path, honest: Path) -> Iterator[tuple[str, Callable]]:
    for encode in FORMATS:
        for number, name in enumerate(reducers(folder)):
            file = ("last.ckpt", "best.ckpt")[number % 2]

            def bring(canary, encode=encode, name=name, file=file):
                run_dir = folder / f"{encode.__name__}_{name}" / "run"
                shutil.copytree(honest, run_dir)
                (run_dir / "metrics.json").unlink()
                (run_dir / "checkpoints" / file).write_bytes(encode(reducers(canary)[name]))
                return _run(run_dir)

            yield f"{file}: {encode.__name__} of {name}", bring


def _models(folder: Path, honest: Path) -> Iterator[tuple[str, Callable]]:
    for encode in (plain_pickle, renamed_archive):
        for file in MODEL_FILES:

            def bring(canary, encode=encode, file=file):
                run_dir = folder / f"model_{encode.__name__}_{file}" / "run"
                shutil.copytree(honest / "model", run_dir / "model")
                (run_dir / "model" / file).write_bytes(encode(reducers(canary)["system"]))
                _point_at_sentencepiece(run_dir / "model", file)
                return _run(
                    folder / f"start_{encode.__name__}_{file}" / "run", f"init_from='{run_dir}'"
                )

            yield f"model/{file}: {encode.__name__}", bring
    for file in ("metrics.json", "config.yaml"):

        def bring_result(canary, file=file):
            run_dir = folder / f"result_{file}" / "run"
            shutil.copytree(honest, run_dir)
            (run_dir / file).write_bytes(plain_pickle(reducers(canary)["system"]))
            return _run(run_dir)

        yield file, bring_result


def _point_at_sentencepiece(model: Path, file: str) -> None:
    """With right digests, a vocabulary that says its tokenizer is the file."""
    if file == "source.model":
        (model / "source.json").write_text('{"tokenizer": "sentencepiece", "lowercase": false}')
    if file != "model.json":
        header = json.loads((model / "model.json").read_text())
        (model / "model.json").unlink()
        (model / "model.json").write_text(json.dumps(header | {"sha256": file_digests(model)}))


def _configs(folder: Path) -> Iterator[tuple[str, Callable]]:
    for name, text in YAML.items():

        def bring(canary, name=name, text=text):
            other = folder / f"conf_{name}"
            (other / "experiment").mkdir(parents=True)
            content = "# @package _global_\n" + text.format(canary=canary)
            (other / "experiment" / "evil.yaml").write_text(content)
            return _train(folder / f"out_{name}", ["--config-dir", str(other), "experiment=evil"])

        def bring_lexicon(canary, name=name, text=text):
            grammar = folder / f"grammar_{name}"
            shutil.copytree(ROOT / "data" / "grammar", grammar)
            (grammar / "rules.yaml").write_text(text.format(canary=canary))
            return _run(folder / f"lexicon_{name}" / "run", f"data.folder='{grammar}'")

        yield f"--config-dir with {name}", bring
        yield f"lexicon with {name}", bring_lexicon
    for index, override in enumerate(
        ("+model._target_=os.system", "+hydra.callbacks.x._target_=os.system", "_target_=x")
    ):
        yield (
            override,
            lambda canary, index=index, override=override: _train(
                folder / f"override{index}", [override, f"+x.command='touch {canary}'"]
            ),
        )


def _train(folder: Path, arguments: list[str]) -> tuple[int, str]:
    run_dir = folder / "run"
    options = [*arguments[:2], *command(run_dir), *arguments[2:]]
    status = wait(start(lambda: main(options), log_of(run_dir)))
    return status, log_of(run_dir).read_text()
