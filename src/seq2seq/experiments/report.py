"""What a sweep says on the terminal: a live status where there is one, plain lines elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from seq2seq.experiments.driver import Results
from seq2seq.experiments.job import Job, Objective, Outcome
from seq2seq.experiments.ledger import FAILURES, State
from seq2seq.experiments.processes import LOG_NAME
from seq2seq.experiments.running import Running
from seq2seq.plain_text import one_line

COLOURS = {
    State.finished: "green",
    State.failed: "red",
    State.exited: "red",
    State.killed: "red",
    State.interrupted: "yellow",
    State.pruned: "cyan",
    State.skipped: "dim",
    State.running: "blue",
}
WRONG = FAILURES | {State.killed}
UNFINISHED = {State.killed, State.interrupted, State.skipped, State.running}
WIDTH = 240
"""Columns where there is no terminal."""


class SweepReport:
    """A line when a job begins and ends; below them what runs now, if there is a terminal.

    Args:
        num_jobs: of the whole sweep; None where it is not known.
        metric: the metric that is shown.
    """

    def __init__(self, *, num_jobs: int | None, metric: Objective) -> None:
        self.console = terminal()
        self._num_jobs, self._metric = num_jobs, metric
        self._states: Counter[State] = Counter()
        self._started = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(console=self.console, transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, job: Job, *, continued: bool) -> None:
        """Say so where the status does not show it."""
        if self._live is None:
            said = f"{'continues' if continued else 'starts':<20} {job.label}"
            self.console.print(Text(one_line(said)))

    def ended(self, job: Job, outcome: Outcome) -> None:
        """A line that stays."""
        self._states[outcome.state] += 1
        text = Text(f"{one_line(outcome.words()):<20} ", style=COLOURS[outcome.state])
        text.append(one_line(job.label), style="default")
        facts = [_scores(outcome), "before" if outcome.before else "", _reason(outcome)]
        text.append("".join(f"   {one_line(fact)}" for fact in facts if fact), style="default")
        self.console.print(text)

    def tick(self, running: Sequence[Running]) -> None:
        """Renew the status."""
        if self._live is not None:
            self._live.update(Group(*map(self._line, running), self._status(len(running))))

    def stopping(self, *, at_once: bool) -> None:
        """Tell the person who waits."""
        self.console.print(
            "stopping at once"
            if at_once
            else "stopping: running jobs write their checkpoints (again: stop at once)",
            style="yellow",
        )

    def _line(self, running: Running) -> Text:
        ledger = running.ledger
        said = f"  {clock(running.seconds):>7}  {running.job.label}"
        text = Text(one_line(said), no_wrap=True)
        if ledger is not None and ledger.history:
            latest = ledger.history[-1]
            value = latest.get(self._metric.name, float("nan"))
            text.append(f"   epoch {latest['epoch']:.0f}  {self._metric.name} {value:.4g}")
        return text

    def _status(self, num_running: int) -> Text:
        num_ended = sum(self._states.values())
        of = f"/{self._num_jobs}" if self._num_jobs is not None else ""
        parts = [f"{num_ended}{of} done", f"{num_running} running"]
        parts += [
            f"{count} {state.name}"
            for state, count in self._states.items()
            if state is not State.finished
        ]
        elapsed = clock(time.monotonic() - self._started)
        return Text(f"{elapsed:>9}  " + ", ".join(parts), style="bold")


def _scores(outcome: Outcome) -> str:
    if outcome.value is None:
        return ""
    seconds = "" if outcome.seconds is None else f"  {clock(outcome.seconds)}"
    test = "" if outcome.test_bleu is None else f"  test BLEU {outcome.test_bleu:.1f}"
    return f"{outcome.value:.4g}{test}{seconds}"


def _reason(outcome: Outcome) -> str:
    return "" if outcome.state in {State.finished, State.exited, State.killed} else outcome.detail


def clock(seconds: float) -> str:
    """A duration as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def results_table(outcomes: Mapping[Job, Outcome], metric: Objective) -> Table:
    """All jobs: overrides, state, metric, test BLEU, seed, wall time, folder."""
    parents = {job.folder.parent for job in outcomes}
    parent = parents.pop() if len(parents) == 1 else None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in (
        ("overrides", "left"),
        ("state", "left"),
        (metric.name, "right"),
        ("test BLEU", "right"),
        ("seed", "right"),
        ("time", "right"),
    ):
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    title = "folder" if parent is None else f"folder in {parent}"
    table.add_column(Text(one_line(title)), overflow="fold")
    for job, outcome in outcomes.items():
        cells = (
            job.label,
            outcome.words(),
            _number(outcome.value),
            "" if outcome.test_bleu is None else f"{outcome.test_bleu:.1f}",
            str(job.seed),
            "" if outcome.seconds is None else clock(outcome.seconds),
            str(job.folder) if parent is None else job.folder.name,
        )
        texts = [Text(one_line(cell)) for cell in cells]
        texts[1].stylize(COLOURS[outcome.state])
        table.add_row(*texts)
    return table


def print_rows(rows: Sequence[Mapping[str, str]], notes: Iterable[str]) -> None:
    """A table of texts, all rows with the same columns, and what to know when reading it."""
    console = terminal()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        numeric = name not in {"group", "against the best"}
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row.values()))
    console.print(table)
    for note in notes:
        console.print(Text(one_line(note)))


def terminal() -> Console:
    """Standard output; where it is no terminal, wide enough that nothing is cut."""
    # a notebook asks for colours, but is no terminal
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return Console(
        highlight=False,
        soft_wrap=True,
        force_jupyter=False,
        force_terminal=is_terminal,
        width=None if is_terminal else WIDTH,
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def conclusion(
    outcomes: Mapping[Job, Outcome], results: Results, metric: Objective, seconds: float
) -> Iterator[str]:
    """Why jobs went wrong, how many there are of each kind, the best one, and how to go on."""
    for job, outcome in outcomes.items():
        if outcome.state in WRONG:
            because = f" ({outcome.detail})" if outcome.state is State.failed else ""
            yield f"{job.label}: {outcome.words()}{because}; see {job.folder / LOG_NAME}"
    counts = Counter(outcome.state for outcome in outcomes.values())
    kinds = ", ".join(f"{count} {state.name}" for state, count in counts.items())
    yield f"{'jobs':<12}{kinds or 'none'} in {clock(seconds)}"
    if best := _best(outcomes, metric):
        yield f"{'best':<12}{best.label}   {metric.name} {outcomes[best].value:.4g}"
    yield from _what_next(counts, results)


def _best(outcomes: Mapping[Job, Outcome], metric: Objective) -> Job | None:
    having = {
        job: outcome.value
        for job, outcome in outcomes.items()
        if outcome.state is State.finished and outcome.value is not None
    }
    choose = min if metric.direction == "min" else max
    return choose(having, key=having.__getitem__, default=None)


def _what_next(counts: Counter[State], results: Results) -> Iterator[str]:
    if results.out_of_time:
        yield f"{'time':<12}sweep.time_budget is used up"
    if results.signal_number is not None or counts.keys() & UNFINISHED:
        yield f"{'continue':<12}by the same command"
    if counts.keys() & FAILURES:
        yield f"{'try again':<12}by the same command with sweep.retry_failed=true"
