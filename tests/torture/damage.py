"""Part 4: files that are cut off, or have a bit flipped."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from seq2seq.decoding.model_folder import load_model_folder
from seq2seq.errors import InputError
from seq2seq.training.checkpoint_file import newest_checkpoint
from tests.torture.comparison import differences, left_by
from tests.torture.victims import log_of, run_child

EVERY = 10
"""Of so many damaged runs, one is continued to its end."""

Damage = Callable[[bytes, random.Random], bytes]


def cut_off(content: bytes, generator: random.Random) -> bytes:
    """A random beginning."""
    return content[: generator.randrange(len(content))]


def flip_a_bit(content: bytes, generator: random.Random) -> bytes:
    """One random bit changed."""
    place = generator.randrange(len(content))
    changed = content[place] ^ (1 << generator.randrange(8))
    return content[:place] + bytes([changed]) + content[place + 1 :]


def damage_checkpoints(folder: Path, damage: Damage, count: int) -> Iterator[tuple[str, list[str]]]:
    """Damage the newest checkpoint of a run that was killed while it was scored."""
    whole, killed = folder / "whole" / "run", folder / "killed" / "run"
    if not whole.exists():
        run_child(whole)
        run_child(killed)
        (killed / "metrics.json").unlink()
    generator = random.Random(5)
    content = (killed / "checkpoints" / "last.ckpt").read_bytes()
    for index in range(count):
        run_dir = folder / f"{damage.__name__}{index}" / "run"
        shutil.copytree(killed, run_dir)
        (run_dir / "checkpoints" / "last.ckpt").write_bytes(damage(content, generator))
        if index % EVERY == 0:
            yield f"{damage.__name__} {index}, continued", _continued(run_dir, whole)
        else:
            yield f"{damage.__name__} {index}", _noticed(run_dir)


def _noticed(run_dir: Path) -> list[str]:
    said = StringIO()
    with redirect_stdout(said):
        found = newest_checkpoint(run_dir / "checkpoints")
    used = found is not None and found[0].name == "previous.ckpt"
    return [] if used and "WARNING" in said.getvalue() else ["the damage was not noticed"]


def _continued(run_dir: Path, whole: Path) -> list[str]:
    status = run_child(run_dir)
    said = log_of(run_dir).read_text()
    if status or "WARNING" not in said:
        return [f"exit status {status}: {said}"]
    return differences(left_by(whole), left_by(run_dir))


def damage_models(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Damage each file of a model folder in turn: the model is refused."""
    run_dir = folder / "model" / "run"
    subwords = ["data.tokenizer.name=unigram", "data.tokenizer.max_size=380"]
    run_child(run_dir, [*subwords, "trainer.max_steps=1"])
    files = sorted((run_dir / "model").iterdir())
    generator = random.Random(6)
    for index in range(count):
        path, damage = files[index % len(files)], (cut_off, flip_a_bit)[index // len(files) % 2]
        content = path.read_bytes()
        path.write_bytes(damage(content, generator))
        try:
            load_model_folder(run_dir)
            wrong = ["the model was loaded"]
        except InputError as error:
            wrong = [] if "\n" not in str(error) else [f"more than a line: {error}"]
        path.write_bytes(content)
        yield f"{path.name}, {damage.__name__} {index}", wrong
