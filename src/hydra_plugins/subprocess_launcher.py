"""A Hydra launcher that runs every job of a sweep as a command of its own, several at a time.

    python app.py -m hydra/launcher=subprocess hydra.launcher.n_jobs=4 seed=1,2,3

Works with any Hydra application. A job is the command line that gives the same run alone, so a program that
skips what is finished and continues what was interrupted makes sweeps that resume. What a job prints goes to
``job.log`` in its folder, what it returns to ``job_return.json``. A job that fails does not end the others; the
sweep then ends with an error. A grid ends with a table, and ``results.csv`` in the folder of the sweep.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

try:
    import fcntl
except ImportError:  # Windows: two sweeps are then not kept apart
    fcntl = None  # type: ignore[assignment]

OF_SWEEP = ("hydra.mode", "hydra/launcher", "hydra/sweeper", "hydra.launcher", "hydra.sweep", "hydra.run.dir")
"""Beginnings of the overrides that say how a sweep runs, which its jobs are not given."""


@dataclass
class SubprocessLauncherConf:
    """Settings of the launcher.

    Attributes:
        n_jobs: Jobs at a time; null: 1.
        gpus: Indices of the GPUs that jobs are given one of, in turn; null: as CUDA_VISIBLE_DEVICES says.
    """

    _target_: str = "hydra_plugins.subprocess_launcher.SubprocessLauncher"
    n_jobs: int | None = None
    gpus: list[int] | None = None


ConfigStore.instance().store(
    group="hydra/launcher", name="subprocess", node=SubprocessLauncherConf, provider="subprocess_launcher"
)


class JobReturnFile(Callback):
    """Write what a job returns into its folder, if JSON can hold it."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Write the file once the job has ended."""
        if job_return.status == JobStatus.COMPLETED:
            text = json.dumps(job_return.return_value, default=lambda _: None)
            (Path(config.hydra.runtime.output_dir) / "job_return.json").write_text(text, encoding="utf-8")


class SubprocessLauncher(Launcher):
    """The launcher above."""

    def __init__(self, n_jobs: int | None = None, gpus: list[int] | None = None) -> None:
        self.n_jobs, self.gpus = n_jobs or 1, list(gpus) if gpus else None
        self.processes: set[subprocess.Popen] = set()
        self.interrupted: int | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs."""
        self.context, self.config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; return how each ended, in order."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.variables = {
            "OMP_NUM_THREADS": str(max(1, cores // self.n_jobs)), "HYDRA_FULL_ERROR": "1", **os.environ
        }  # fmt: skip
        self.free_gpus: Queue[int] = Queue()
        for gpu in self.gpus or []:
            self.free_gpus.put(gpu)
        jobs = []
        for place, overrides in enumerate(job_overrides):
            sweep = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            with open_dict(sweep):
                sweep.hydra.job.id = f"job_{initial_job_idx + place}"
                sweep.hydra.job.num = initial_job_idx + place
            HydraConfig.instance().set_config(sweep)  # hydra.sweep.subdir may depend on it
            folder = (Path(sweep.hydra.sweep.dir) / sweep.hydra.sweep.subdir).absolute()
            title = f"job {place + 1}/{len(job_overrides)}"
            returned = JobReturn(list(filter_overrides(overrides)), cfg=sweep, working_dir=str(folder))
            jobs.append((title, returned))

        def interrupt(number: int, _: Any) -> None:
            """Have the jobs save and end, and start no more."""
            self.interrupted = number
            for process in [*self.processes]:
                process.send_signal(signal.SIGTERM)

        before = {}
        if threading.current_thread() is threading.main_thread():
            before = {n: signal.signal(n, interrupt) for n in (signal.SIGTERM, signal.SIGINT)}
        try:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                [*pool.map(lambda job: self.run(*job), jobs)]
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if self.interrupted:
            print("interrupted: the same command continues", flush=True)
            sys.exit(128 + self.interrupted)
        done = [returned for _, returned in jobs]
        if self.config.hydra.sweeper._target_.endswith("BasicSweeper"):
            write_results(Path(self.config.hydra.sweep.dir), [row_of(each) for each in done])
        return done

    def command(self, overrides: Sequence[str], folder: Path) -> list[str]:
        """Return the command line of a job."""
        main, hydra = sys.modules["__main__"], self.config.hydra
        module = getattr(main, "__spec__", None)
        command = [sys.executable, sys.argv[0]]
        if module is not None and getattr(main, "__file__", None) == sys.argv[0]:  # python -m package.module
            command = [sys.executable, "-m", module.name.removesuffix(".__main__")]
        if hydra.job.config_name is not None:
            command += ["--config-name", hydra.job.config_name]
        for source in hydra.runtime.config_sources:
            if source.schema == "file" and source.provider in ("main", "command-line"):
                command += ["--config-path" if source.provider == "main" else "--config-dir", source.path]
        command += [each for each in hydra.overrides.hydra if not each.lstrip("+~").startswith(OF_SWEEP)]
        quoted = str(folder).replace("\\", "\\\\").replace("'", "\\'")
        recorder = f"+hydra.callbacks.job_return_file={{_target_:{__name__}.JobReturnFile}}"
        return [*command, *overrides, f"hydra.run.dir='{quoted}'", recorder]

    def run(self, title: str, returned: JobReturn) -> None:
        """Run a job and note how it ended.

        Its log is locked. The lock is the open file's, so a job that has it as its output holds the lock, too:
        one that outlives a killed sweep, or belongs to another sweep, is waited for and not started twice.
        """
        folder, words = Path(returned.working_dir), " ".join(returned.overrides)
        returned.status, returned.return_value = JobStatus.FAILED, KeyboardInterrupt()
        folder.mkdir(parents=True, exist_ok=True)
        gpu = self.free_gpus.get() if self.gpus else None
        devices = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)}
        with (folder / "job.log").open("a", encoding="utf-8") as log:
            waits = False
            while fcntl is not None and not self.interrupted:
                try:
                    fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not waits:
                        print(f"{title}  {words} waits: another process works in {folder}", flush=True)
                    waits = True
                    time.sleep(0.2)
            if not self.interrupted:
                print(f"{title}  {words}", flush=True)
                value = folder / "job_return.json"
                value.unlink(missing_ok=True)
                process = subprocess.Popen(
                    self.command(returned.overrides, folder), env=self.variables | devices,
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
                self.processes.add(process)
                if self.interrupted:  # meanwhile
                    process.send_signal(signal.SIGTERM)
                status = process.wait()
                self.processes.discard(process)
                said = (folder / "job.log").read_text(encoding="utf-8", errors="replace").strip()
                if status == 0:
                    print(f"{title}  done, {folder}", flush=True)
                    returned.status = JobStatus.COMPLETED
                    returned.return_value = json.loads(value.read_text()) if value.is_file() else None
                elif not self.interrupted:
                    last = said.splitlines()[-1] if said else "nothing was printed"
                    message = f"failed with status {status}: {last} (all of it: {folder}/job.log)"
                    print(f"{title}  {message}", flush=True)
                    returned.return_value = HydraException(f"{words} {message}")
        if gpu is not None:
            self.free_gpus.put(gpu)


def row_of(job: JobReturn) -> dict[str, Any]:
    """Return a job's row of the table: its overrides, what it returned, how it ended, its folder."""
    done = job.status == JobStatus.COMPLETED
    return dict(each.lstrip("+").partition("=")[::2] for each in job.overrides) | {
        "result": job.return_value if done else None,
        "status": "done" if done else "failed",
        "folder": job.working_dir,
    }


def write_results(sweep: Path, rows: Sequence[dict[str, Any]], key: str = "folder") -> None:
    """Print what differs between rows, and put them into results.csv, where those with another key stay."""
    path, kept = sweep / "results.csv", {}
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            kept = {row[key]: row for row in csv.DictReader(file) if row.get(key)}
    kept |= {str(row[key]): row for row in rows}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, dict.fromkeys(name for row in kept.values() for name in row), restval=""
        )
        writer.writeheader()
        writer.writerows(kept.values())
    names = [name for name in rows[0] if name in ("result", "status")
             or (name != "folder" and len({str(row.get(name)) for row in rows}) > 1)]  # fmt: skip
    cells = [names, *([f"{v:.4f}" if isinstance(v := row.get(name, ""), float) else str(v) for name in names]
                      for row in rows)]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    print(f"results     {path}", flush=True)
