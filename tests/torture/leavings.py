"""What a stranger leaves beside a configuration: a study, a saved configuration, an environment."""

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import optuna
import yaml
from hydra import compose, initialize_config_dir
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from seq2seq.command_line.config_errors import as_config
from seq2seq.config import Config, register_schema
from seq2seq.errors import InputError
from seq2seq.experiments.job import Job, Objective, Outcome
from seq2seq.experiments.ledger import State
from seq2seq.experiments.search import SearchSettings, TrialSource
from seq2seq.experiments.source import Claim
from seq2seq.runs.launch import job_process, needs_launch, place_in_job
from seq2seq.runs.run_folder import run_folder
from seq2seq.runs.run_record import config_yaml
from seq2seq.runs.saved_config import load_config
from seq2seq.storage.folder_lock import FolderLock
from tests.torture.limits import limited
from tests.torture.strangers import ODD, traps, wrong_about
from tests.torture.victims import ROOT, log_of, run_child

SPACE = {
    "attention": CategoricalDistribution(["additive", "dot"]),
    "model.dropout": FloatDistribution(0.0, 0.4),
    "model.num_layers": IntDistribution(1, 4),
}
SAMPLERS = {
    "tpe": lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=1),
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def _answer(work: Callable[[], object]) -> list[str]:
    """What is wrong about an answer that should be a value, or one line."""
    with limited() as wrong:
        try:
            work()
        except InputError as error:
            wrong.extend(wrong_about(2, f"error: {error}\n"))
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
    return wrong


def search_in(folder: Path, sampler: str) -> TrialSource:
    """The source of a search in a folder; its jobs do nothing."""
    search = SearchSettings(
        folder=folder,
        space=SPACE,
        fixed=(),
        num_trials=8,
        metric=Objective("validation/bleu", "max"),
        sampler=SAMPLERS[sampler],
        pruner=optuna.pruners.MedianPruner(n_startup_trials=1),
        seed=1,
    )

    def job_of(overrides: tuple[str, ...]) -> Job:
        return Job(overrides, folder / "jobs" / str(abs(hash(overrides))), "f", 1, "job")

    return TrialSource(search, job_of=job_of, retry_failed=True)


def go_on(folder: Path, sampler: str) -> None:
    """Continue a search by three trials."""
    source = search_in(folder, sampler)
    for _ in range(3):
        claim = source.claim()
        if isinstance(claim, Claim):
            source.ended(claim.job, Outcome(State.finished, value=1.0))
            claim.lock.close()
    source.trials()


def honest_journal(folder: Path) -> list[dict]:
    """The entries of a search of three trials, of which one is running."""
    go_on(folder, "tpe")
    search_in(folder, "tpe").study.enqueue_trial({"attention": "dot"})
    search_in(folder, "tpe").claim()
    return [json.loads(line) for line in (folder / "study.journal").read_text().splitlines()]


def check_journals(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Continue studies of which a line is foreign, or a field odd; yields what was wrong."""
    entries, generator = honest_journal(folder / "honest"), random.Random(12)
    lines = [json.dumps(entry) for entry in entries]
    for number, (name, text) in enumerate(_journals(entries, lines, generator, round(600 * share))):
        place = folder / str(number)
        place.mkdir()
        (place / "study.journal").write_bytes(text)
        yield name, _answer(lambda place=place, n=number: go_on(place, list(SAMPLERS)[n % 2]))


def _journals(
    entries: list[dict], lines: list[str], generator: random.Random, count: int
) -> Iterator[tuple[str, bytes]]:
    foreign = ["x", "{}", "[]", "1", "null", '{"op_code": 99, "worker_id": "x"}', "[" * 10**5, "\0"]
    for line in foreign:
        yield f"a line {line:.40}", "\n".join([*lines, line, ""]).encode()
        yield f"alone {line:.40}", f"{line}\n".encode()
    yield "bytes", b"\xff\xfe\n"
    yield "empty", b""
    for _ in range(count):
        changed = json.loads(json.dumps(entries))
        where, odd = generator.randrange(len(changed)), generator.choice(ODD)
        key = _make_odd(changed[where], odd, generator)
        text = "\n".join(json.dumps(entry) for entry in changed) + "\n"
        yield f"{key}={odd!r:.60} in line {where}", text.encode(errors="surrogatepass")
    for _ in range(count // 4):
        kept = [line for line in lines if generator.random() < 0.8]
        generator.shuffle(kept)
        yield "lines left out and mixed", ("\n".join(kept) + "\n").encode()


def _make_odd(entry: dict, odd: object, generator: random.Random) -> str:
    """Replace a field of an entry, or something in it; returns the key."""
    key, inside = generator.choice(list(entry)), generator.random() < 0.7
    if inside and isinstance(entry[key], dict) and entry[key]:
        entry[key][generator.choice(list(entry[key]))] = odd
    elif inside and key == "distribution":
        distribution = json.loads(entry[key])
        attributes = distribution["attributes"]
        attributes[generator.choice(list(attributes))] = odd
        entry[key] = json.dumps(distribution)
    else:
        entry[key] = odd
    return key


def saved_config() -> str:
    """The text of an honest ``config.yaml``."""
    register_schema()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return config_yaml(as_config(compose("config")))


def check_saved(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Read saved configurations of which a field is odd, and traps; yields what was wrong."""
    generator, honest = random.Random(13), saved_config()
    folder.mkdir(parents=True)
    texts = {
        name: text if isinstance(text, bytes) else text.encode() for name, text in traps().items()
    }
    for number in range(round(400 * share)):
        values = yaml.safe_load(honest)
        section = values
        while True:
            key, odd = generator.choice(list(section)), generator.choice(ODD)
            if not isinstance(section[key], dict) or not section[key] or generator.random() < 0.1:
                break
            section = section[key]
        section[key] = odd
        texts[f"{number}: {key}={odd!r:.60}"] = yaml.safe_dump(values).encode()
    for name, content in texts.items():
        (folder / "config.yaml").write_bytes(content)
        yield name, _answer(lambda: _accept(load_config(folder)))
    (folder / "config.yaml").unlink()
    os.mkfifo(folder / "config.yaml")
    yield "FIFO", _answer(lambda: load_config(folder))


def _accept(config: Config) -> None:
    config_yaml(config)
    run_folder(config, [])


NUMBERS = ("x", "", "-1", "1.5", "99", "9" * 30, "9" * 5000, "١", "\x1b[31m", "0x1", " 1", "1e3")
VARIABLES = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS",
    "SEQ2SEQ_LAUNCHED", "SEQ2SEQ_FOLDER_LOCK",
)  # fmt: skip
PLACED = {
    "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_LOCALID": "0",
    "SLURM_STEP_NUM_TASKS": "2",
}  # fmt: skip
PROGRAMS = (
    {"RANK": "x", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}, {"SLURM_STEP_NUM_TASKS": "abc"},
    {"SEQ2SEQ_LAUNCHED": "abc"}, {"SEQ2SEQ_FOLDER_LOCK": "9" * 30},
)  # fmt: skip


def check_environment(folder: Path, share: float) -> Iterator[tuple[str, list[str]]]:
    """Odd variables of the environment, and names of runs; yields what was wrong."""
    generator = random.Random(14)
    register_schema()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = as_config(compose("config"))
    for number, (name, odd) in enumerate((n, o) for n in VARIABLES for o in NUMBERS):
        place = generator.choice([{}, PLACED, dict(list(PLACED.items())[:3])])
        environment = place | {name: odd}
        with mock.patch.dict(os.environ, environment):
            yield f"{environment}", _answer(lambda n=number: _look_around(folder / str(n), config))
    for number in range(round(300 * share)):
        signs = generator.choice(["日", "é", "a", "\x1b", "/", ".", "\udcff", "🦊", "=", "\n", "-"])
        other = chr(generator.randrange(1, 0x110000))
        config.name = "".join(generator.choice([signs, other]) for _ in range(number))
        yield f"name {config.name[:20]!r}…", _answer(lambda: _make(folder / "names", config))
    for variables in PROGRAMS[: max(round(4 * share), 1)]:
        run_dir = folder / "".join(variables)[:40] / "run"
        with mock.patch.dict(os.environ, variables):
            status = run_child(run_dir, ["trainer.max_steps=1"])
        yield f"{variables}", wrong_about(status, _errors(log_of(run_dir)))


def _errors(log: Path) -> str:
    text = log.read_text()
    return text if "Traceback" in text or "error: " not in text else text[text.find("error: ") :]


def _look_around(folder: Path, config: Config) -> None:
    needs_launch(config.device, os.environ)
    place_in_job(config.device, os.environ)
    job_process()
    lock = FolderLock.acquire(folder)
    if lock is not None:
        lock.close()


def _make(folder: Path, config: Config) -> None:
    config.runs_dir = str(folder)
    made = run_folder(config, [])
    if made.parents[1] != folder:
        raise AssertionError(f"{made} is elsewhere")
    made.mkdir(parents=True, exist_ok=True)
