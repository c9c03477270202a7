"""Train by data diversification: models translate the training text both ways, and new models learn from all of it.

    python scripts/diversify.py en de --root FOLDER
    python scripts/diversify.py en de --root FOLDER --jobs 4 --device cuda
    python scripts/diversify.py en de --root FOLDER --text more.de.gz --name more

FOLDER has the files of Multi30k, `train.en.gz` and so on, or files of these names. Every teacher learns both directions
and translates both sides of the training text. A student starts with a teacher's weights and learns one direction, from
the pairs and from all translations. `--text` is further text in the target language, which the teachers translate back.

The steps are commands, which are printed. What they have made stays: the same command goes on where an earlier one ended,
and the other direction (`de en`) has the same teachers and translations. KEY=VALUE, such as threads=1, is for every training.

Nguyen et al., "Data diversification: a simple strategy for neural machine translation", 2020; Sennrich et al.,
"Improving neural machine translation models with monolingual data", 2016.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hydra_checked.program import as_value, exit_on_error
from seq2seq.cli.options import Count
from seq2seq.cli.parser import number_of
from seq2seq.common.errors import InputError
from seq2seq.data.text import stream_lines
from seq2seq.settings.application import APPLICATION

TRAINING = ["recipe=multi30k", "data=parallel", "data.batch_size=256", "optimizer.lr=0.006"]
TEACHER = ["data.both_directions=true", "trainer.max_epochs=16", "trainer.check_val_every_n_epoch=4"]


@dataclass(frozen=True)
class Task:
    """A text in `language` that a teacher translates; the names of both files of the pairs begin with `stem`."""

    teacher: Path
    text: Path
    language: str
    other: str
    stem: str


def main() -> None:
    """Train the teachers, translate, and train the students."""
    options = _options()
    pair = sorted((options.source, options.target))
    folder = options.runs / f"diversified_{'_'.join(pair)}"
    texts = {language: text_file(options.root / "train", language) for language in pair}
    train(options, folder, pair, list(texts.values()), [*TEACHER, "name=teacher-${seed}"], options.teachers)

    teachers = [folder / f"teacher-{number + 1}" for number in range(options.teachers)]
    tasks = [
        Task(teacher, texts[language], language, other, f"{teacher.name}-{language}")
        for teacher in teachers
        for language, other in (pair, pair[::-1])
    ]
    more = [
        Task(
            teachers[number % len(teachers)],
            text,
            options.target,
            options.source,
            f"{options.name}-{number + 1}",
        )
        for number, text in enumerate(options.text)
    ]
    pairs = folder / "pairs"
    for language, text in texts.items():
        copy(text, pairs / f"original.{language}")
    translate(tasks, pairs, options)
    if more:
        plain, pairs = pairs, folder / f"pairs-{options.name}"
        for path in sorted(plain.iterdir()):
            copy(path, pairs / path.name)
        translate([*tasks, *more], pairs, options)

    if not options.students:
        return
    direction = [options.source, options.target]
    name = "-".join(["student", *direction, *([options.name] if more else [])])
    student = [
        "init_from=${paths.runs_dir}/${experiment_name}/teacher-${seed}",
        f"trainer.max_epochs={options.epochs}",
    ]
    require_same_texts(folder / f"{name}.txt", sorted({path.stem for path in pairs.iterdir()}))
    files = [pairs / f"*.{language}" for language in direction]
    train(options, folder, direction, files, [*student, f"name={name}-${{seed}}"], options.students)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="language of the source text, such as en")
    parser.add_argument("target", help="language of its translation")
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="for every training, such as threads=1"
    )
    parser.add_argument("--root", type=Path, default=Path("data/multi30k"), help="default: data/multi30k")
    parser.add_argument(
        "--test", default="test_2016_flickr", help="files to score (default: test_2016_flickr)"
    )
    parser.add_argument(
        "--teachers", type=number_of(Count), default=4, help="number of teachers (default: 4)"
    )
    parser.add_argument("--students", type=int, default=1, help="number of students (default: 1; 0: none)")
    parser.add_argument(
        "--epochs", type=number_of(Count), default=3, help="of a student, over all pairs (default: 3)"
    )
    parser.add_argument(
        "--text", type=Path, nargs="+", default=[], help="further text in the target language"
    )
    parser.add_argument("--name", default="more", help="of what --text makes (default: more)")
    parser.add_argument(
        "--jobs", type=number_of(Count), default=1, help="number of commands at a time (default: 1)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps (default: cpu)")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), help="folder of the results (default: runs)"
    )
    options = parser.parse_intermixed_args()
    for path in options.text:
        if not path.is_file():
            hint = ": give KEY=VALUE before --text" if "=" in path.name else ""
            raise InputError(f"--text {path}: there is no such file{hint}")
    if any(each.startswith("overwrite=") for each in options.overrides):
        raise InputError(
            "overwrite=… would keep the translations of the teachers before: remove the folder of the results"
        )
    if options.source == options.target:
        raise InputError(f"{options.source} {options.target}: two languages are needed")
    if not 0 <= options.students <= options.teachers:
        raise InputError(
            f"--students={options.students}: each starts with a teacher: 0 to {options.teachers}"
        )
    return options


def train(
    options: argparse.Namespace,
    folder: Path,
    direction: Sequence[str],
    files: Sequence[Path],
    overrides: Iterable[str],
    number: int,
) -> None:
    """Train models with the seeds from 1 to `number`, in folders below `folder`."""
    keys = []
    for side, language, path in zip(("source", "target"), direction, files, strict=True):
        keys += [f"data.{side}_language={language}", f"data.train.{side}={as_value(str(path))}"]
        for split, stem in (("validation", "val"), ("test", options.test)):
            keys.append(f"data.{split}.{side}={as_value(str(text_file(options.root / stem, language)))}")
    seeds = ",".join(str(seed + 1) for seed in range(number))
    keys += [
        f"paths.runs_dir={as_value(str(folder.parent))}",
        f"experiment_name={folder.name}",
        f"seed={seeds}",
    ]
    device = {"cuda": "gpu"}.get(options.device, options.device)
    keys += [f"device={device}", f"hydra.launcher.n_jobs={options.jobs}", *options.overrides]
    run("-m", "seq2seq", "train", "-m", *TRAINING, *overrides, *keys)


def translate(tasks: Sequence[Task], pairs: Path, options: argparse.Namespace) -> None:
    """Write the two files of each task into `pairs`, the translations last.

    Raises:
        InputError: `pairs` has translations of other teachers or texts.
    """

    def work(task: Task) -> None:
        copy(task.text, pairs / f"{task.stem}.{task.language}")
        made, part = pairs / f"{task.stem}.{task.other}", pairs.parent / f"{pairs.name}-{task.stem}.part"
        if not made.exists():
            command = ["-m", "seq2seq", "translate", str(task.teacher), "--source", str(task.text)]
            run(*command, "--to", task.other, "--output", str(part), "--device", options.device)
            part.replace(made)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, tasks))
    wanted = {"original", *(task.stem for task in tasks)}
    if others := {path.stem for path in pairs.iterdir() if not path.name.endswith(".part")} - wanted:
        raise InputError(f"{pairs} has {min(others)} of other teachers or texts: give these, or remove it")


def require_same_texts(path: Path, names: Sequence[str]) -> None:
    """Note of which texts students learn, the first time.

    Raises:
        InputError: Earlier ones have learned of others.
    """
    if path.exists() and (earlier := path.read_text(encoding="utf-8").split()) != [*names]:
        other = min({*earlier} ^ {*names})
        raise InputError(
            f"the models {path.with_suffix('')}-… have learned {'with' if other in earlier else 'without'} {other}: give "
            "another --name or --runs, or remove them and this list of their texts"
        )
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def copy(path: Path, to: Path) -> None:
    """Copy a text, decompressed, unless it is there.

    Raises:
        InputError: Another text is there.
    """
    if to.exists():
        if list(stream_lines(to)) != list(stream_lines(path)):
            raise InputError(f"{to} is not {path}, of which it was a copy: give another --name or --runs")
    else:
        to.parent.mkdir(parents=True, exist_ok=True)
        part = to.with_name(f"{to.name}.part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{line}\n" for line in stream_lines(path))
        part.replace(to)


def text_file(stem: Path, language: str) -> Path:
    """Return a file of the corpus, decompressed or not.

    Raises:
        InputError: It is missing.
    """
    plain, packed = Path(f"{stem}.{language}"), Path(f"{stem}.{language}.gz")
    if not plain.exists() and not packed.exists():
        raise InputError(f"there is no {packed}: --root is the folder of the files")
    return plain if plain.exists() else packed


def run(*command: str) -> None:
    """Print a command of this Python and run it.

    Raises:
        SystemExit: It fails.
    """
    print("$ python", shlex.join(command), flush=True)
    status = subprocess.run([sys.executable, *command], check=False).returncode
    if status:
        raise SystemExit(status)


if __name__ == "__main__":
    with exit_on_error(APPLICATION):
        main()
