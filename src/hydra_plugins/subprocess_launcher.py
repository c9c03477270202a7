"""A Hydra launcher that runs every job of a sweep as a command of its own, several at a time.

    python app.py -m hydra/launcher=subprocess hydra.launcher.n_jobs=4 seed=1,2,3

Works with any Hydra application. A job is the command line that gives the same run alone, so a program that
skips what is finished and continues what was stopped makes sweeps that resume. A job that fails does not end
the others; the sweep then ends with an error that Hydra raises.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict


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


class SubprocessLauncher(Launcher):
    """The launcher above."""

    def __init__(self, n_jobs: int | None = None, gpus: list[int] | None = None) -> None:
        self.n_jobs, self.gpus = n_jobs or 1, list(gpus) if gpus else None
        self.config: DictConfig | None = None
        self.context: HydraContext | None = None
        self.processes: set[subprocess.Popen] = set()
        self.interrupted = False

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs."""
        self.context, self.config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; return how each ended, in order."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = max(1, cores // self.n_jobs)
        gpus: Queue[int] = Queue()
        for gpu in self.gpus or []:
            gpus.put(gpu)
        jobs = []
        for place, overrides in enumerate(job_overrides):
            sweep = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            with open_dict(sweep):
                sweep.hydra.job.id = f"job_{initial_job_idx + place}"
                sweep.hydra.job.num = initial_job_idx + place
            HydraConfig.instance().set_config(sweep)  # hydra.sweep.subdir may depend on it
            folder = Path(sweep.hydra.sweep.dir) / sweep.hydra.sweep.subdir
            jobs.append((place, list(filter_overrides(overrides)), sweep, folder))
        self._take_signals()
        try:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                return list(pool.map(lambda job: self._run(*job, len(jobs), threads, gpus), jobs))
        finally:
            self._give_signals_back()

    def _run(
        self,
        place: int,
        overrides: list[str],
        config: DictConfig,
        folder: Path,
        num_jobs: int,
        threads: int,
        gpus: "Queue[int]",
    ) -> JobReturn:
        returned = JobReturn(overrides=overrides, cfg=config, working_dir=str(folder))
        returned.hydra_cfg = OmegaConf.create({"hydra": config.hydra})
        gpu = gpus.get() if self.gpus else None
        try:
            if self.interrupted:
                raise KeyboardInterrupt
            variables = dict(os.environ)
            variables.setdefault("OMP_NUM_THREADS", str(threads))
            if gpu is not None:
                variables["CUDA_VISIBLE_DEVICES"] = str(gpu)
            if variables.pop("SEQ2SEQ_ONE_LINE", None):
                variables.pop("HYDRA_FULL_ERROR", None)
            folder.mkdir(parents=True, exist_ok=True)
            quoted = str(folder).replace("'", "\\'")
            command = [sys.executable, sys.argv[0], *overrides, f"hydra.run.dir='{quoted}'"]
            print(f"job {place + 1}/{num_jobs}  {' '.join(overrides)}", flush=True)
            with (folder / "train.log").open("a", encoding="utf-8") as log:
                process = subprocess.Popen(
                    command, env=variables, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
                )
                self.processes.add(process)
                status = process.wait()
                self.processes.discard(process)
            said = (folder / "train.log").read_text(encoding="utf-8").strip().splitlines()
            if status:
                last = said[-1] if said else "nothing was printed"
                print(f"job {place + 1}/{num_jobs}  failed with status {status}: {last}", flush=True)
                raise RuntimeError(
                    f"{' '.join(overrides)} failed with status {status}, see {folder}/train.log"
                )
            print(f"job {place + 1}/{num_jobs}  done, {folder}", flush=True)
            returned.status, returned.return_value = JobStatus.COMPLETED, None
        except (Exception, KeyboardInterrupt) as error:
            returned.status, returned.return_value = JobStatus.FAILED, error
        finally:
            if gpu is not None:
                gpus.put(gpu)
        return returned

    def _take_signals(self) -> None:
        """Hand SIGTERM and Ctrl-C to the jobs, which save and end, and start no more."""

        def stop(number: int, _: Any) -> None:
            self.interrupted = True
            for process in [*self.processes]:
                process.send_signal(signal.SIGTERM)

        self.before = {}
        if threading.current_thread() is threading.main_thread():
            self.before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT)}

    def _give_signals_back(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
