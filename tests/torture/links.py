"""Links planted where the program writes: nothing outside of the folder changes."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from seq2seq.errors import InputError
from seq2seq.text.download import Checksum, Patience, download
from tests.stores import pairs_of, write_shards
from tests.torture.leavings import go_on
from tests.torture.victims import ROOT, command, log_of, main, run_child, script, start, wait

FILES = (
    ".lock", "ledger.json", "config.yaml", "metrics.json", "log.txt", "tokenizer/source.json",
    "tokenizer/target.json", "checkpoints/last.ckpt",
    "checkpoints/best.ckpt", "checkpoints/previous.ckpt", "model/model.json",
    "model/model.safetensors",
    "model/source.json", "translations/validation.jsonl", "translations/test.jsonl",
    ".ledger.json.{process}", ".ledger.json.1", ".config.yaml.1",
    "checkpoints/.last.ckpt.1.partial",
    "checkpoints/.last.ckpt.0123456789abcdef.partial", ".model.1.partial/model.safetensors",
    "events.out.tfevents.1.host.1.0", "events.out.tfevents.9999999999.host.1.0.run", "EVENTS",
)  # fmt: skip
"""In a run folder; ``EVENTS`` is the event file that the checkpoint knows."""
FOLDERS = (
    "tokenizer", "checkpoints", "model", "translations", ".model.1.partial",
    ".model.0123456789abcdef.partial",
)  # fmt: skip
KINDS = ("link", "dangling", "second name")

Plant = Callable[[Path, Path], None]
Case = tuple[str, Callable[[Path, Path], tuple[int, str]]]


def check_all(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Every path with every kind of link, before a run, and within one that is continued."""
    half = folder / "half" / "run"
    whole = folder / "whole" / "run"
    for run_dir, epochs in ((half, 1), (whole, 2)):
        if run_child(run_dir, [f"trainer.max_epochs={epochs}"]):
            raise AssertionError(log_of(run_dir).read_text())
    (half / "metrics.json").unlink()
    cases = [*_runs(half), *_comparisons(whole), *_stores(folder), *_downloads(), *_outputs(whole)]
    cases += _studies()
    random.Random(8).shuffle(cases)
    for index, (name, act) in enumerate(cases[: max(round(len(cases) * share), 1)]):
        place = folder / f"case{index}"
        yield name, _judge(place, act)


def _judge(place: Path, act: Callable[[Path, Path], tuple[int, str]]) -> list[str]:
    """Run a case beside a folder of the user, which has to stay as it is."""
    outside = place / "outside"
    (outside / "inner").mkdir(parents=True)
    for name in ("thesis.txt", "inner/source.json", "inner/last.ckpt", "inner/comparison.md"):
        (outside / name).write_text("mine " * 2000)
    before = _content(outside)
    status, said = act(place, outside)
    wrong = [] if _content(outside) == before else ["something outside was changed"]
    if "Traceback" in said or status not in {0, 1, 2}:
        wrong.append(f"exit status {status}: {said[-1500:]}")
    return wrong


def _content(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def plant(path: Path, outside: Path, kind: str, *, folder: bool) -> None:
    """Put a link where the program is to write; what was there goes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    target = outside / ("inner" if folder else "thesis.txt")
    if kind == "second name":
        path.hardlink_to(target)
    else:
        path.symlink_to(outside / "not there" if kind == "dangling" else target)


def _runs(half: Path) -> Iterator[Case]:
    places = [(name, kind, False) for name in FILES for kind in KINDS]
    places += [(name, kind, True) for name in FOLDERS for kind in KINDS[:2]]
    for name, kind, is_folder in places:
        for continued in (False, True):

            def act(place, outside, name=name, kind=kind, is_folder=is_folder, continued=continued):
                run_dir = place / "runs" / "run"
                if continued:
                    shutil.copytree(half, run_dir)
                events = sorted(run_dir.glob("events*"))
                real = events[0].name if name == "EVENTS" and events else name
                return _trained(run_dir, real, outside, kind, is_folder)

            when = "continued" if continued else "new"
            yield f"{name}, {kind}, {when} run", act


def _trained(
    run_dir: Path, name: str, outside: Path, kind: str, is_folder: bool
) -> tuple[int, str]:
    def child() -> int:
        path = run_dir / name.format(process=os.getpid())
        plant(path, outside, kind, folder=is_folder)
        return main(command(run_dir, ["trainer.max_epochs=2"]))

    status = wait(start(child, log_of(run_dir)))
    return status, log_of(run_dir).read_text()


def _comparisons(whole: Path) -> Iterator[Case]:
    names = ["comparison", *(f"comparison/comparison.{end}" for end in ("md", "csv", "html"))]
    for name in [*names, "comparison/curves.png"]:
        for kind in KINDS:
            if (name, kind) == ("comparison", "second name"):
                continue

            def act(place, outside, name=name, kind=kind):
                shutil.copytree(whole, place / "runs" / "run")
                plant(place / "runs" / name, outside, kind, folder=name == "comparison")
                log = place / "out"
                status = wait(start(lambda: script("compare_runs.py", place / "runs"), log))
                return status, log.read_text()

            yield f"{name}, {kind}", act


def _studies() -> Iterator[Case]:
    for kind in KINDS:
        for begun in (False, True):

            def act(place, outside, kind=kind, begun=begun):
                study = place / "study"
                if begun:
                    go_on(study, "random")
                plant(study / "study.journal", outside, kind, folder=False)
                try:
                    go_on(study, "random")
                except InputError as error:
                    return 2, str(error)
                return 0, ""

            yield f"study.journal, {kind}, {'continued' if begun else 'new'} study", act


def _stores(folder: Path) -> Iterator[Case]:
    text = folder / "text"
    write_shards(text, pairs_of(120))
    options = [
        "data=parallel", f"data.train.source='{text}/*.source'",
        f"data.train.target='{text}/*.target'", "data.source_language=en",
        "data.target_language=fr", "data.tokenizer.name=word", "data.tokenizer.max_size=null",
        "data.tokenizer.joint=false", "data.store_from=0", "data.validation.fraction=0.2",
    ]  # fmt: skip
    first = folder / "store"
    run_child(folder / "stored" / "run", [*options, f"data.store={first}"])
    (key,) = [path.name for path in first.iterdir()]
    mark = ".corpus.0123456789abcdef.partial"
    for name in ("", "/.lock", "/corpus", "/partial", f"/{mark}", "/corpus/corpus.json"):
        for kind in KINDS[:2]:

            def act(place, outside, name=name, kind=kind):
                is_folder = name in {"", "/corpus", "/partial", f"/{mark}"}
                plant(place / f"store/{key}{name}", outside, kind, folder=is_folder)
                run_dir = place / "runs" / "run"
                status = run_child(run_dir, [*options, f"data.store={place / 'store'}"])
                return status, log_of(run_dir).read_text()

            yield f"store/KEY{name}, {kind}", act


def _downloads() -> Iterator[Case]:
    for name in (".f.gz.part", ".f.gz.part-{process}", "f.gz"):
        for kind in KINDS:

            def act(place, outside, name=name, kind=kind):
                def child() -> int:
                    path = place / "data" / name.format(process=os.getpid())
                    plant(path, outside, kind, folder=False)
                    return _download(place)

                log = place / "out"
                return wait(start(child, log)), log.read_text()

            yield f"download {name}, {kind}", act


def _download(place: Path) -> int:
    """From a server that is not there: the part is looked at, and nothing comes."""
    try:
        download(
            "http://127.0.0.1:9/f.gz",
            place / "data" / "f.gz",
            Checksum("md5", "0", most_bytes=1 << 20),
            progress=lambda *_: None,
            patience=Patience(attempts=1, timeout=1.0),
        )
    except InputError as error:
        print(error)
        return 2
    return 0


def _outputs(whole: Path) -> Iterator[Case]:
    """Inputs that are outputs, by their own name and by others."""
    for script_name in ("translate.py", "export_attention.py"):
        option = "--output" if script_name == "translate.py" else "-o"
        for kind in ("itself", "link", "second name"):

            def act(place, outside, script_name=script_name, option=option, kind=kind):
                text, output = outside / "thesis.txt", place / "output"
                if kind == "itself":
                    output = text
                else:
                    plant(output, outside, kind, folder=False)
                options = (whole, "--input", text, option, output)
                log = place / "out"
                status = wait(start(lambda: script(script_name, *options), log))
                return status if status == 2 else 70, log.read_text()

            yield f"{script_name} --input f {option} f, {kind}", act

    def redirected(place, outside):
        text = outside / "thesis.txt"
        line = f"{sys.executable} scripts/translate.py {whole} < {text} >> {text}"
        done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, check=False)
        return done.returncode if done.returncode == 2 else 70, done.stderr.decode()

    yield "translate.py < f >> f", redirected
