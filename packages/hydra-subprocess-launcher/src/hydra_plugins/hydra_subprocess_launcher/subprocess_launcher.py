"""A Hydra launcher that runs every job of a sweep as a command of its own, several at a time.

    python app.py -m hydra/launcher=subprocess hydra.launcher.n_jobs=4 seed=1,2,3

Works with any Hydra application. A job is the command line that gives the same run alone, so a program that
skips what is finished and continues what was interrupted makes sweeps that resume. What a job prints goes to
``job.log`` in its folder, what it returns to ``job_return.json``. A job that fails does not end the others. A grid
ends with a table, and ``results.csv`` in the folder of the sweep.

With ``hydra.launcher.wait=false`` a grid runs in the background: the command returns once a process of its own launches
the jobs. The same command later prints the table, and starts again what failed.

A sweeper may end a job early by the values that it reports: `report(value, step)` in the application, or a JSON line
``{"step": 3, "value": 0.71}`` a validation in the file ``reports.jsonl`` in the job's folder. The job is sent
SIGTERM.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import IO, Any

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import CompactHydraException, HydraException
from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from hydra_plugins.hydra_subprocess_launcher._files import (
    beside,
    lock,
    metric_of,
    name_of_result,
    print_table,
    results_file,
    write_results,
    write_whole,
)
from hydra_plugins.hydra_subprocess_launcher._reports import REPORTS, EndedEarly, plain, reports_in

OF_SWEEP = ("hydra.mode", "hydra/launcher", "hydra/sweeper", "hydra.launcher", "hydra.sweep", "hydra.run.dir")
"""Beginnings of the overrides that say how a sweep runs, which its jobs are not given."""

HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)
"""The signal of a terminal that is closed; Windows does not have it."""

CLEAR = "\r\x1b[K"
"""Removes the line of a terminal."""

SECONDS = 0.3
"""Time between two readings of the reports of a running job."""


@dataclass
class SubprocessLauncherConf:
    """Settings of the launcher."""

    _target_: str = "hydra_plugins.hydra_subprocess_launcher.subprocess_launcher.SubprocessLauncher"
    n_jobs: int | None = None  # at a time; null: as many as `gpus`, or 1
    gpus: list[int] | None = None  # indices of GPUs that jobs are given in turn; null: CUDA_VISIBLE_DEVICES
    wait: bool = True  # false: run the jobs of a grid in the background


ConfigStore.instance().store("subprocess", SubprocessLauncherConf, "hydra/launcher")


class JobReturnFile(Callback):
    """Write what a job returns into its folder, if JSON can hold it."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Write the file once the job has ended."""
        if job_return.status == JobStatus.COMPLETED:
            text = json.dumps(job_return.return_value, default=plain)
            write_whole(Path(config.hydra.runtime.output_dir) / "job_return.json", text)


class SubprocessLauncher(Launcher):
    """The launcher above."""

    def __init__(self, n_jobs: int | None = None, gpus: list[int] | None = None, wait: bool = True) -> None:
        given: Sequence[int | None] = gpus or [None]
        self.n_jobs, self.waits = len(given) if n_jobs is None else n_jobs, wait
        self.gpus: Queue[int | None] = Queue()  # those that no job has, the one that was used last at the end
        for place in range(max(self.n_jobs, len(given))):
            self.gpus.put(given[place % len(given)])
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.running: dict[str, tuple[Path, int]] = {}
        """Titles of the jobs that run, their folders, and where in their logs they began."""
        self.logs: dict[int, IO[str]] = {}
        """By the id of a job, its open log, if it is locked before the job's turn."""
        self.interrupted: int | None = None
        self.judge: Callable[[int, Sequence[tuple[int, float]]], bool] | None = None
        """From the place of a job and its reports to whether it is to be ended; set by a sweeper."""
        self.in_all: int | None = None
        self.same: set[str] = set()  # overrides of all jobs
        """Number of jobs over all launches; set by a sweeper that knows it."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what `launch` needs.

        Raises:
            CompactHydraException: Less than one job at a time, or a sweep that cannot run in the background.
        """
        self.context, self.config = hydra_context, config
        if self.n_jobs < 1:
            raise CompactHydraException(f"hydra.launcher.n_jobs={self.n_jobs}: write a number from 1 on")
        self.is_grid = config.hydra.sweeper._target_.endswith("BasicSweeper")
        if not self.waits:
            refuse_background(config, self.is_grid)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; return how each ended, in order."""
        if not job_overrides:
            raise CompactHydraException("there is no job: a range or list of the sweep is empty")
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = str(max(1, cores // self.n_jobs))
        self.variables = {"OMP_NUM_THREADS": threads} | os.environ
        jobs, in_all = [], self.in_all
        if self.is_grid and self.config.hydra.sweeper.get("max_batch_size") is None:  # all in this launch
            in_all = len(job_overrides)
        of_all = "" if in_all is None else f"/{in_all}"
        for place, overrides in enumerate(job_overrides):
            sweep = self.context.config_loader.load_sweep_config(self.config, list(overrides))
            OmegaConf.update(sweep, "hydra.job.id", f"job_{initial_job_idx + place}", force_add=True)
            OmegaConf.update(sweep, "hydra.job.num", initial_job_idx + place, force_add=True)
            HydraConfig.instance().set_config(sweep)  # hydra.sweep.subdir may depend on it
            folder = (Path(sweep.hydra.sweep.dir) / sweep.hydra.sweep.subdir).absolute()
            jobs.append(JobReturn(list(filter_overrides(overrides)), cfg=sweep, working_dir=str(folder)))
            jobs[-1].task_name = f"job {initial_job_idx + place + 1}{of_all}"
        if len(jobs) > 1:
            self.same = set.intersection(*(set(job.overrides or ()) for job in jobs))
        if self.is_grid:
            self.check(jobs)
        refuse_shared_folders(jobs)
        for job in jobs if self.is_grid else ():  # what a search has found is in its study
            refuse_other_job(job)
        self.places = {id(job): place for place, job in enumerate(jobs)}
        sweeps = {str(Path(str(job.cfg.hydra.sweep.dir)).absolute()) for job in jobs if job.cfg}
        folder = Path(os.path.commonpath(sweeps))
        for each in sweeps:
            results_file(Path(each))
        if not self.waits:
            self.launch_in_background(jobs, folder)
            return jobs
        self.run_all(jobs)
        if self.interrupted:
            print("interrupted: the same command continues", flush=True)
            sys.exit(128 + self.interrupted)
        if self.is_grid:
            show_results(jobs, folder)
        return jobs

    def check(self, jobs: Sequence[JobReturn]) -> None:
        """Call ``on_job_composed(config)`` of the application's callbacks that have it, which may refuse a job before the first starts."""
        found = [getattr(each, "on_job_composed", None) for each in self.context.callbacks.callbacks]
        for config in [job.cfg for job in jobs if job.cfg is not None]:
            HydraConfig.instance().set_config(config)
            for each in filter(None, found):
                each(config)

    def run_all(self, jobs: Sequence[JobReturn]) -> None:
        """Run the jobs and note how each ended."""

        def interrupt(number: int, _: Any) -> None:
            """Have the jobs save and end, and start no more."""
            self.interrupted = number
            for process in [*self.processes]:
                process.send_signal(signal.SIGTERM)

        numbers = {signal.SIGTERM, signal.SIGINT}
        if signal.getsignal(HANGUP) is not signal.SIG_IGN:  # as it is by nohup
            numbers.add(HANGUP)
        before = {number: signal.signal(number, interrupt) for number in numbers}
        is_over = threading.Event()
        status = threading.Thread(target=self.show_status, args=(is_over,), daemon=True)
        if sys.stdout.isatty():
            status.start()
        try:
            with ThreadPoolExecutor(self.n_jobs) as pool:
                [*pool.map(self.run, jobs)]
        finally:
            is_over.set()
            if status.is_alive():
                status.join()
            for number, handler in before.items():
                signal.signal(number, handler)

    def show_status(self, is_over: threading.Event) -> None:
        """Keep a line on the terminal that says what each job that runs has printed last, until it is over."""
        started = time.monotonic()
        while not is_over.wait(1):
            minutes, seconds = divmod(int(time.monotonic() - started), 60)
            running = [
                f"{title}: {last_line(folder, begin, nothing='starts', warnings=False).strip()}"
                for title, (folder, begin) in [*self.running.items()]
            ]
            text = f"{minutes}:{seconds:02}  {';  '.join(running)}"
            width = shutil.get_terminal_size().columns - 3
            print(f"{CLEAR}{text[:width]} …", end="", flush=True)
        print(CLEAR, end="", flush=True)

    def launch_in_background(self, jobs: Sequence[JobReturn], sweep: Path) -> None:
        """Print the results that are there, and have another process run the jobs that nobody runs.

        A log is locked from here to the end of its job, also while the job waits for its turn. So whoever gets the
        lock of a log knows that the job is finished, or that it has failed, was killed or never began.
        """
        allow_open_files(len(jobs) + 100)
        begin, rows = [], []
        for job in jobs:
            folder = Path(str(job.working_dir))
            folder.mkdir(parents=True, exist_ok=True)
            log = (folder / "job.log").open("a", encoding="utf-8")
            job.status, status = JobStatus.COMPLETED, "running"  # for Hydra: nothing has failed yet
            if not lock(log, wait=False):
                log.close()
            elif (found := finished(folder)) is not None:
                job.return_value, status = found[0], "completed"
                log.close()
            else:
                status = "started"
                if log.tell():
                    print(
                        f"{job.task_name}  ended without a result: {last_line(folder)}; starts again",
                        flush=True,
                    )
                note_job(job, self.same)
                self.logs[id(job)] = log
                begin.append(job)
            rows.append(row_of(job, status))
        if len(begin) < len(jobs):
            print_table(rows, name_of_result(job.cfg for job in jobs))
        if done := [row for row in rows if row["status"] == "completed"]:
            write_results(sweep, done)
            print(f"results     {sweep / 'results.csv'}", flush=True)
        if begin:
            process = self.in_background(begin, sweep)
            print(
                f"started     {len(begin)} of {len(jobs)} job{'' if len(jobs) == 1 else 's'} in the background, {self.n_jobs} at a time"
            )
            print(f"watch       tail -f {sweep / 'launcher.log'}\nstop        kill {process}")
        if any(row["status"] != "completed" for row in rows):
            print("collect     the same command again", flush=True)

    def in_background(self, jobs: Sequence[JobReturn], sweep: Path) -> int:
        """Run the jobs, whose logs are locked, in a process without a terminal; return the id of the process."""
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            for log in self.logs.values():
                log.close()
            return process
        try:
            os.setsid()
            output = os.open(sweep / "launcher.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            for place, file in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
                os.dup2(file, place)
            self.run_all(jobs)
            if self.interrupted:
                print("interrupted: the same command continues")
            else:
                show_results(jobs, sweep)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

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
        recorder = f"+hydra.callbacks.job_return_file={{_target_:{__name__}.JobReturnFile}}"
        # no sweep, whatever the configuration says
        return [*command, *overrides, "hydra.mode=RUN", f"hydra.run.dir={quoted(str(folder))}", recorder]

    def run(self, job: JobReturn) -> None:
        """Run a job and note how it ended."""
        job.status, job.return_value, gpu = JobStatus.FAILED, KeyboardInterrupt(), self.gpus.get()
        try:
            with self.locked_log(job) as log:
                if not self.interrupted:
                    self.run_on(job, gpu, log)
        except (OSError, ValueError) as error:  # its folder, its process or its result
            job.return_value = HydraException(f"{' '.join(job.overrides or ())} failed: {error}")
            say(f"{job.task_name}  failed: {error}")
        finally:
            self.gpus.put(gpu)

    @contextmanager
    def locked_log(self, job: JobReturn) -> Iterator[IO[str]]:
        """Yield the log of a job, locked, or at an interruption as it is.

        The lock is the open file's, so a job that has it as its output holds the lock, too: one that outlives a
        killed sweep, or belongs to another sweep, is waited for and not started twice.
        """
        folder = Path(str(job.working_dir))
        folder.mkdir(parents=True, exist_ok=True)
        held = self.logs.pop(id(job), None)
        with held or (folder / "job.log").open("a", encoding="utf-8") as log:
            if held is None and not lock(log, wait=False):
                say(f"{job.task_name}  waits for another process")
                while not self.interrupted and not lock(log, wait=False):
                    time.sleep(0.2)
            yield log

    def run_on(self, job: JobReturn, gpu: int | None, log: IO[str]) -> None:
        """Run a job on a GPU, or where its environment says."""
        folder, words, title = Path(str(job.working_dir)), " ".join(job.overrides or ()), job.task_name
        own = " ".join(each for each in job.overrides or () if each not in self.same)
        say(f"{title}  {own}; its output: {nearby(folder)}/job.log")
        value = folder / "job_return.json"
        value.unlink(missing_ok=True)
        note_job(job, self.same)
        begin = os.fstat(log.fileno()).st_size  # before it is what earlier starts printed
        variables = self.variables | ({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)})
        process = subprocess.Popen(
            self.command(job.overrides or (), folder), env=variables, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.processes.add(process)
        self.running[str(title)] = folder, begin
        if self.interrupted:  # meanwhile
            process.send_signal(signal.SIGTERM)
        ended, status = self.wait(process, self.places[id(job)], folder)
        self.processes.discard(process)
        del self.running[str(title)]
        if ended:
            say(f"{title}  ended early")
            job.return_value = EndedEarly(f"{words} was ended early")
        elif status == 0:
            say(f"{title}  done, {nearby(folder)}")
            job.return_value = json.loads(value.read_text()) if value.is_file() else None
            job.status = JobStatus.COMPLETED
        elif not self.interrupted:
            message = f"failed with status {status}: {last_line(folder, begin)} (all of it: {nearby(folder)}/job.log)"
            say(f"{title}  {message}")
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


def quoted(text: str) -> str:
    """Return a text in the quotes of Hydra's grammar, in which a backslash is doubled only before a quote."""
    return "'" + re.sub(r"(\\*)('|$)", lambda found: 2 * found[1] + ("\\'" if found[2] else ""), text) + "'"


def nearby(path: Path) -> Path:
    """Return a path from the working directory, if it is in there."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def say(text: str) -> None:
    """Print a line in place of the one that says what runs."""
    print(f"{CLEAR if sys.stdout.isatty() else ''}{text}", flush=True)


def refuse_background(config: DictConfig, is_grid: bool) -> None:
    """Raise CompactHydraException if a sweep cannot run in the background."""
    copy, begin = config.copy(), "hydra.launcher.wait=false:"
    OmegaConf.clear_cache(copy)
    folder = copy.hydra.sweep.dir
    if not is_grid:
        raise CompactHydraException(
            f"{begin} {config.hydra.sweeper._target_} needs the values of the jobs: leave it out, or run the command "
            "in the background (nohup … &)"
        )
    if config.hydra.sweeper.get("max_batch_size") is not None:
        raise CompactHydraException(
            f"{begin} leave out hydra.sweeper.max_batch_size; hydra.launcher.n_jobs is a limit"
        )
    if OmegaConf.get_cache(copy).get("now"):
        raise CompactHydraException(
            f"{begin} the folder {folder} has the time in its name, so that the same command would not find it; "
            "set hydra.sweep.dir"
        )
    if not hasattr(os, "fork"):
        raise CompactHydraException(f"{begin} needs a system with fork, which Windows does not have")


def refuse_shared_folders(jobs: Sequence[JobReturn]) -> None:
    """Raise CompactHydraException if two jobs would work in one folder."""
    known: dict[str, JobReturn] = {}
    for job in jobs:
        other = known.setdefault(os.path.realpath(str(job.working_dir)), job)
        if other is not job:
            if sorted(other.overrides or ()) == sorted(job.overrides or ()):
                raise CompactHydraException(f"{' '.join(job.overrides or ())}: given twice in this sweep")
            both = " and ".join(" ".join(each.overrides or ()) or "no overrides" for each in (other, job))
            named = next((each for each in job.overrides or () if each.startswith("name=")), None)
            differs = what_differs(other.overrides or (), job.overrides or ())
            advice = f"leave out {named}" if named else f"hydra.sweep.subdir must depend on {differs}"
            raise CompactHydraException(f"{both}: both jobs would work in {job.working_dir}; {advice}")


def refuse_other_job(job: JobReturn) -> None:
    """Raise CompactHydraException if the folder of a job has another job: its result would be lost, or taken for this one's.

    Keys that the folders of the application do not depend on (``hydra.job.config.override_dirname.exclude_keys``) may differ.
    """
    known, given = noted_overrides(job), job.overrides or ()
    changed = set() if known is None or job.cfg is None else {*known} ^ {*given}
    excluded = [] if job.cfg is None else job.cfg.hydra.job.config.override_dirname.exclude_keys
    if any(each.partition("=")[0].lstrip("+~") not in excluded for each in changed):
        raise CompactHydraException(
            f"{' '.join(given)}: {job.working_dir} has the job {' '.join(known or ()) or 'without overrides'}; give another "
            f"hydra.sweep.dir, or let hydra.sweep.subdir depend on {what_differs(known or (), given)}"
        )


def what_differs(first: Sequence[str], second: Sequence[str]) -> str:
    """Return the keys of the overrides that one of two jobs has and the other has not."""
    keys = {each.partition("=")[0].lstrip("+~") for each in {*first} ^ {*second}}
    return " and ".join(sorted(keys)) or "what differs"


def noted_overrides(job: JobReturn) -> list[str] | None:
    """Return the overrides of the job that worked in the folder of a job last; None if that is not known."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        path = Path(str(job.working_dir)) / "job.json"
        return list(json.loads(path.read_text(encoding="utf-8"))["overrides"])
    return None


def note_job(job: JobReturn, same: Collection[str]) -> None:
    """Write into the folder of a job which one it is and what all jobs share, and remove what another one has reported there."""
    folder, known = Path(str(job.working_dir)), noted_overrides(job)
    if known is None or sorted(known) != sorted(job.overrides or ()):
        (folder / REPORTS).unlink(missing_ok=True)
    write_whole(folder / "job.json", json.dumps({"overrides": job.overrides, "same": sorted(same)}))


def finished(folder: Path) -> tuple[Any] | None:
    """Return what the job in a folder returned, in a tuple; None if it has not come to its end."""
    path = folder / "job_return.json"
    return (json.loads(path.read_text(encoding="utf-8")),) if path.is_file() else None


def last_line(
    folder: Path, begin: int = 0, *, nothing: str = "nothing was printed", warnings: bool = True
) -> str:
    """Return the last line of a job's log from a byte on, a warning only with `warnings`; `nothing` if there is none."""
    said = re.split("[\r\n]", (folder / "job.log").read_bytes()[begin:].decode("utf-8", errors="replace"))
    left_out = ("HYDRA_FULL_ERROR",) if warnings else ("HYDRA_FULL_ERROR", "WARNING")
    said = [line for line in said if line.strip() and not any(word in line for word in left_out)]
    return said[-1] if said else nothing


def allow_open_files(num_files: int) -> None:
    """Raise this process's limit of open files; raise CompactHydraException if the system does not allow it."""
    import resource

    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < num_files:
        raise CompactHydraException(
            f"hydra.launcher.wait=false: a file is open for each job, and the system allows {most} (ulimit -Hn); "
            "give fewer jobs"
        )
    if limit != resource.RLIM_INFINITY and limit < num_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (num_files, most))


def row_of(job: JobReturn, status: str) -> dict[str, Any]:
    """Return the row of a job in the table of results."""
    overrides = dict(each.lstrip("+").partition("=")[::2] for each in job.overrides or ())
    result = job.return_value if job.status == JobStatus.COMPLETED else None
    own = metric_of(job.cfg) | {"result": result, "status": status, "folder": job.working_dir}
    return beside(overrides, own) | own


def show_results(jobs: Sequence[JobReturn], sweep: Path) -> None:
    """Print the table of the results of a grid, and write it."""
    rows = [row_of(job, job.status.name.lower()) for job in jobs]
    write_results(sweep, rows)
    print_table(rows, name_of_result(job.cfg for job in jobs))
    print(f"results     {sweep / 'results.csv'}", flush=True)
