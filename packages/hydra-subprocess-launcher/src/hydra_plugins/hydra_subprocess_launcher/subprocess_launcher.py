"""A Hydra launcher that runs every job of a sweep as a command of its own, several at a time.

    python app.py -m hydra/launcher=subprocess hydra.launcher.n_jobs=4 seed=1,2,3

Works with any Hydra application. A job is the command line that gives the same run alone, so a program that
skips what is finished and continues what was interrupted makes sweeps that resume. What a job prints goes to
``job.log`` in its folder, what it returns to ``job_return.json``. A job that fails does not end the others. A grid
ends with a table, and ``results.csv`` in the folder of the sweep.

A sweeper may end a job early by the values that it reports: `report(value, step)` in the application, or a JSON line
``{"step": 3, "value": 0.71}`` a validation in the file ``reports.jsonl`` in the job's folder. The job is sent
SIGTERM.
"""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import CompactHydraException, HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

try:
    import fcntl
except ImportError:  # Windows: two sweeps are then not kept apart
    fcntl = None  # type: ignore[assignment]

OF_SWEEP = ("hydra.mode", "hydra/launcher", "hydra/sweeper", "hydra.launcher", "hydra.sweep", "hydra.run.dir")
"""Beginnings of the overrides that say how a sweep runs, which its jobs are not given."""


@dataclass
class SubprocessLauncherConf:
    """Settings of the launcher."""

    _target_: str = "hydra_plugins.subprocess_launcher.SubprocessLauncher"
    n_jobs: int | None = None  # at a time; null: 1
    gpus: list[int] | None = None  # indices of GPUs that jobs are given in turn; null: CUDA_VISIBLE_DEVICES


ConfigStore.instance().store("subprocess", SubprocessLauncherConf, "hydra/launcher")


class EndedEarly(HydraException):
    """The result of a job that was ended by the values that it reported."""


def ended_early(job: JobReturn) -> bool:
    """Return whether a job was ended by its reports; by name, as Hydra loads this file apart from other imports."""
    return type(job._return_value).__name__ == EndedEarly.__name__


REPORTS = "reports.jsonl"
"""File in a job's folder, with a line for every reported value."""

SECONDS = 0.3
"""Time between two readings of the reports of a running job."""


def report(value: float, step: int, folder: Path | None = None) -> None:
    """Report a value of the running job to the sweeper, which may end the job early.

    Args:
        value: The score at a validation, of the kind that the job returns.
        step: Number of the step or epoch, from 0 on; a resumed job may report a step again.
        folder: The job's folder; None: Hydra's output folder.
    """
    folder = folder or Path(HydraConfig.get().runtime.output_dir)
    with (folder / REPORTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, "value": value}) + "\n")


def reports_in(folder: Path) -> list[tuple[int, float]]:
    """Return the steps and values that a job has reported; of a step that it reported again, the last value."""
    path, found = folder / REPORTS, {}
    for line in path.read_text(encoding="utf-8").split("\n") if path.is_file() else ():
        try:
            entry = json.loads(line)
            found[int(entry["step"])] = float(entry["value"])
        except (ValueError, TypeError, KeyError):  # half a line, of a job that writes or was killed
            continue
    return list(found.items())


class JobReturnFile(Callback):
    """Write what a job returns into its folder, if JSON can hold it."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Write the file once the job has ended."""
        if job_return.status == JobStatus.COMPLETED:
            text = json.dumps(job_return.return_value, default=lambda _: None)
            (Path(config.hydra.runtime.output_dir) / "job_return.json").write_text(text, encoding="utf-8")


@dataclass
class Job(JobReturn):
    """A job, of which Hydra's class says less."""

    overrides: Sequence[str] = ()
    working_dir: str = ""


class SubprocessLauncher(Launcher):
    """The launcher above."""

    def __init__(self, n_jobs: int | None = None, gpus: list[int] | None = None) -> None:
        self.n_jobs = n_jobs or 1
        self.gpus: Queue[int | None] = Queue()  # those that no job has
        for place in range(self.n_jobs):
            self.gpus.put(gpus[place % len(gpus)] if gpus else None)
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.interrupted: int | None = None
        self.judge: Callable[[int, Sequence[tuple[int, float]]], bool] | None = None
        """From the place of a job and its reports to whether it is to be ended; set by a sweeper."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs."""
        self.context, self.config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; return how each ended, in order."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = str(max(1, cores // self.n_jobs))
        self.variables = {"OMP_NUM_THREADS": threads} | os.environ
        jobs = list[Job]()
        for place, overrides in enumerate(job_overrides):
            sweep = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            OmegaConf.update(sweep, "hydra.job.id", f"job_{initial_job_idx + place}", force_add=True)
            OmegaConf.update(sweep, "hydra.job.num", initial_job_idx + place, force_add=True)
            HydraConfig.instance().set_config(sweep)  # hydra.sweep.subdir may depend on it
            folder = (Path(sweep.hydra.sweep.dir) / sweep.hydra.sweep.subdir).absolute()
            jobs.append(Job(list(filter_overrides(overrides)), cfg=sweep, working_dir=str(folder)))
            jobs[-1].task_name = f"job {place + 1}/{len(job_overrides)}"

        def interrupt(number: int, _: Any) -> None:
            """Have the jobs save and end, and start no more."""
            self.interrupted = number
            for process in [*self.processes]:
                process.send_signal(signal.SIGTERM)

        refuse_shared_folders(jobs)
        self.places = {id(job): place for place, job in enumerate(jobs)}
        before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                [*pool.map(self.run, jobs)]
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.interrupted:
            print("interrupted: the same command continues", flush=True)
            sys.exit(128 + self.interrupted)
        if self.config.hydra.sweeper._target_.endswith("BasicSweeper"):
            rows = [dict(each.lstrip("+").partition("=")[::2] for each in job.overrides)
                    | {"result": job.return_value if job.status == JobStatus.COMPLETED else None,
                       "status": job.status.name.lower(), "folder": job.working_dir} for job in jobs]  # fmt: skip
            sweeps = {str(Path(str(job.cfg.hydra.sweep.dir)).absolute()) for job in jobs if job.cfg}
            write_results(Path(os.path.commonpath(sweeps)), rows)
        return jobs

    def command(self, overrides: Sequence[str], folder: Path) -> list[str]:
        """Return the command line of a job."""
        main, hydra = sys.modules["__main__"], self.config.hydra
        module = getattr(main, "__spec__", None)
        command = [sys.executable, *sys.argv[:1]]
        if module is not None and getattr(main, "__file__", None) == sys.argv[0]:  # python -m package
            command = [sys.executable, "-m", module.name.removesuffix(".__main__")]
        command += ["--config-name", hydra.job.config_name] if hydra.job.config_name else []
        for source in hydra.runtime.config_sources:
            if source.schema == "file" and source.provider in ("main", "command-line"):
                command += ["--config-path" if source.provider == "main" else "--config-dir", source.path]
        command += [each for each in hydra.overrides.hydra if not each.lstrip("+~").startswith(OF_SWEEP)]
        quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
        recorder = f"+hydra.callbacks.job_return_file={{_target_:{__name__}.JobReturnFile}}"
        return [*command, *overrides, f"hydra.run.dir='{quoted}'", recorder]

    def run(self, job: Job) -> None:
        """Run a job and note how it ended.

        Its log is locked. The lock is the open file's, so a job that has it as its output holds the lock, too:
        one that outlives a killed sweep, or belongs to another sweep, is waited for and not started twice.
        """
        job.status, job.return_value, gpu = JobStatus.FAILED, KeyboardInterrupt(), self.gpus.get()
        try:
            self.run_on(job, gpu)
        except (OSError, ValueError) as error:  # its folder, its process or its result
            job.return_value = HydraException(f"{' '.join(job.overrides)} failed: {error}")
            print(f"{job.task_name}  failed: {error}", flush=True)
        finally:
            self.gpus.put(gpu)

    def run_on(self, job: Job, gpu: int | None) -> None:
        """Run a job on a GPU, or where its environment says."""
        folder, words, title = Path(job.working_dir), " ".join(job.overrides), job.task_name
        folder.mkdir(parents=True, exist_ok=True)
        value = folder / "job_return.json"
        variables = self.variables | ({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)})
        with (folder / "job.log").open("a", encoding="utf-8") as log:
            for tries in itertools.count():
                try:
                    if fcntl is not None:
                        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    print(f"{title}  waits for another process\n" * (tries == 0), end="", flush=True)
                    if self.interrupted:
                        break
                    time.sleep(0.2)
            if not self.interrupted:
                print(f"{title}  {words}", flush=True)
                value.unlink(missing_ok=True)
                process = subprocess.Popen(
                    self.command(job.overrides, folder), env=variables, start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                )  # fmt: skip
                self.processes.add(process)
                if self.interrupted:  # meanwhile
                    process.send_signal(signal.SIGTERM)
                ended, status = self.wait(process, self.places[id(job)], folder)
                self.processes.discard(process)
                if ended:
                    print(f"{title}  ended early", flush=True)
                    job.return_value = EndedEarly(f"{words} was ended early")
                elif status == 0:
                    print(f"{title}  done, {folder}", flush=True)
                    job.return_value = json.loads(value.read_text()) if value.is_file() else None
                    job.status = JobStatus.COMPLETED
                elif not self.interrupted:
                    said = (folder / "job.log").read_text(encoding="utf-8", errors="replace").split("\n")
                    # without Hydra's hint at its variable
                    said = [line for line in said if line.strip() and "HYDRA_FULL_ERROR" not in line]
                    last = said[-1] if said else "nothing was printed"
                    message = f"failed with status {status}: {last} (all of it: {folder}/job.log)"
                    print(f"{title}  {message}", flush=True)
                    job.return_value = HydraException(f"{words} {message}")

    def wait(self, process: subprocess.Popen[bytes], place: int, folder: Path) -> tuple[bool, int]:
        """Wait for the end of a job; return whether it was to end early by its reports, and its status."""
        signaled = False
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(None if self.judge is None or signaled else SECONDS)
            status = process.poll()
            if self.judge is None or self.interrupted:
                return False, process.wait()
            # also at the end: however fast a job is, the same reports end it
            ends = signaled or (status in (None, 0) and self.judge(place, reports_in(folder)))
            if status is not None:
                return ends, status
            if ends and not signaled:
                process.send_signal(signal.SIGTERM)
                signaled = True


def refuse_shared_folders(jobs: Sequence[JobReturn]) -> None:
    """Raise CompactHydraException if two jobs would work in one folder."""
    known: dict[str, JobReturn] = {}
    for job in jobs:
        other = known.setdefault(os.path.realpath(str(job.working_dir)), job)
        if other is not job:
            both = " and ".join(" ".join(each.overrides or ()) or "no overrides" for each in (other, job))
            raise CompactHydraException(
                f"{both}: both jobs would work in {job.working_dir}; hydra.sweep.subdir must depend on what differs"
            )


def write_results(sweep: Path, rows: Sequence[dict[str, Any]], key: str = "folder") -> None:
    """Print what differs between rows, and merge them into results.csv by their key."""
    path, partial, kept = sweep / "results.csv", sweep / ".results.csv.partial", {}
    if not rows:
        return
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            kept = {row[key]: row for row in csv.DictReader(file) if row.get(key)}
    kept |= {str(row[key]): row for row in rows}
    with partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(itertools.chain(*kept.values())), restval="")
        writer.writeheader()
        writer.writerows(kept.values())
    os.replace(partial, path)
    names = [name for name in rows[0] if name in ("result", "status")
             or (name != "folder" and len({str(row.get(name)) for row in rows}) > 1)]  # fmt: skip
    cells = [names, *([f"{v:.4f}" if isinstance(v := row.get(name, ""), float) else str(v) for name in names]
                      for row in rows)]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    print(f"results     {path}", flush=True)
