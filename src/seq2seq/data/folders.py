"""Folders of models and of runs, as far as they are read without PyTorch.

Models that come with the program are in ``data/models`` of a clone, inside the package where it was installed. Each is a
model folder with a card, README.md: data and license, scores, command and commit that made it.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path

from joined_words import clean, split_words
from seq2seq.common.errors import InputError
from seq2seq.common.named import PARTS, is_within, named
from seq2seq.common.progress import counted
from seq2seq.data.addresses import read_json
from seq2seq.data.text import SentencePair, read_lines, read_parallel

MODELS = next(
    (
        folder
        for folder in (
            Path(__file__).parents[1] / "data" / "models",
            Path(__file__).parents[3] / "data" / "models",
        )
        if folder.is_dir()
    ),
    None,
)

SHIPPED = [] if MODELS is None else sorted(path.parent.name for path in MODELS.glob("*/config.json"))
"""Names of the shipped models, such as ``grammar-en-fr``."""

EXAMPLE = re.compile(r"""[^'"`’$\\!.?。！？…]+[.?。？]?""")
"""One sentence, as a shell takes it in quotation marks of any kind."""


def model_path(name: str | Path) -> Path:
    """Return the folder of a model: a folder of the user's, else the shipped model of this name."""
    path = Path(name)
    if MODELS is not None and not path.exists() and str(name) in SHIPPED:
        return MODELS / path
    return path


def model_name(folder: str | Path) -> str:
    """Return what a model is called: its folder, or the run whose folder ``model`` it is."""
    path = Path(folder).resolve()
    return (
        path.parent.name if path.name == "model" and (path.parent / "metrics.json").is_file() else path.name
    )


def config_of(name: str | Path) -> Path:
    """Return the ``config.json`` of a model folder, of the model in a run folder, or of a shipped model.

    Raises:
        InputError: There is no such folder, or it holds no model.
    """
    path = model_path(name)
    for config in (path / "model" / "config.json", path / "config.json"):
        if config.is_file():
            return config
    if (path / "config.yaml").is_file():
        raise InputError(f"{path}: this run is not finished: give the command of its training again")
    if path.exists():
        raise InputError(
            f"{path} holds no config.json: give the folder of a finished run, or its model/ folder"
        )
    if " " in str(name).strip():
        raise InputError(
            f"{name}: there is no such model: give it before the sentence, a run folder or one of {', '.join(SHIPPED)}"
        )
    runs = {
        file.parent for file in (*path.parent.glob("*/config.*"), *path.parent.glob("*/model/config.json"))
    }
    known = [*SHIPPED, *(str(each.parent if each.name == "model" else each) for each in sorted(runs))]
    *first, source, target = ["", *str(path).split("-")]
    other = "-".join([*first[1:], target, source])
    near = f"{other}, which translates the other way" if other in SHIPPED else None
    meant = near or next(iter(get_close_matches(str(path), known, n=1)), None)
    raise InputError(
        f"{path}: there is no such folder; {f'did you mean {meant}? ' if meant else ''}give a run folder, "
        f"a model folder, or the name of a shipped model: {', '.join(SHIPPED)}"
    )


def own_classes(folder: Path) -> list[str]:
    """Return the classes that a model folder names and that are not part of this program; nothing is imported.

    Files that cannot be read name none.
    """
    names: list[str] = []
    for file in (folder / name for name in ("config.json", "source.json", "target.json")):
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            found = read_json(file)
            names += [*named(found.get("model")), *([str(found["class"])] if "class" in found else [])]
    return [name for name in dict.fromkeys(names) if not is_within(name, PARTS)]


def num_words(text: str) -> int:
    """Return the number of words and signs of a sentence."""
    return len(split_words(text))


def example_sentences(texts: Iterable[str], count: int = 3) -> list[str]:
    """Return sentences to show, the first that are one sentence of 5 to 15 words and signs, without quotation marks.

    Where there are fewer, other sentences follow in their order.
    """
    different = [each for each in dict.fromkeys(map(clean, texts)) if each]
    fit = (each for each in different if EXAMPLE.fullmatch(each) and 5 <= num_words(each) <= 15)
    return list(islice(dict.fromkeys(chain(fit, different)), count))


def examples_of_run(run_dir: Path, count: int = 3) -> list[str]:
    """Return sentences to show of what a run has translated, see `example_sentences`; none where it has not."""
    for split in ("samples", "test", "val"):
        path = run_dir / "predictions" / f"{split}.source.txt"
        if path.is_file():
            with path.open(encoding="utf-8", errors="replace") as file:
                return example_sentences(file.read(2**14).split("\n")[:-1], count)
    return []


def split_of_run(run_dir: Path, *, is_tested: bool) -> str | None:
    """Return the split to score a run on: ``test``; ``val`` where it had none; None where its pairs are gone."""
    found = ("test", "val")[: 1 if is_tested else 2]
    return next((each for each in found if (run_dir / "predictions" / f"{each}.source.txt").is_file()), None)


def pairs_of_run(run_dir: Path, split: str) -> list[SentencePair]:
    """Return the pairs of a split that a run has translated, with their languages if it has several.

    Raises:
        InputError: The files differ in their number of lines.
    """
    files = {
        side: run_dir / "predictions" / f"{split}.{side}.txt" for side in ("source", "reference", "languages")
    }
    pairs = read_parallel(files["source"], files["reference"])
    if not files["languages"].is_file():
        return pairs
    languages = read_lines(files["languages"])
    if len(languages) != len(pairs):
        raise InputError(
            f"{files['languages']} has {counted(len(languages), 'line')} for {counted(len(pairs), 'pair')}"
        )
    return [replace(pair, languages=each) for pair, each in zip(pairs, languages, strict=True)]
