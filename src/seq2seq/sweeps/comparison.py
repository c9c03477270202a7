"""Compares groups of runs: table, significance, pictures and a page."""

import base64
import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from seq2seq.errors import InputError
from seq2seq.evaluation.metrics import quick_metrics
from seq2seq.evaluation.significance import compare, statistics_of
from seq2seq.experiments.comparison import Group, Run, find_runs, group_runs, mean, spread
from seq2seq.experiments.translations import Translations
from seq2seq.plain_text import one_line
from seq2seq.storage.removal import remove_leftovers
from seq2seq.storage.writing import write_file
from seq2seq.sweeps.by_length import ByLength, by_length

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class ComparedGroups:
    """What was found.

    Attributes:
        rows: a row for each group, best first, by column.
        notes: what to know when reading them.
        groups: best first.
        by_length: scores of those on the best one's test text; None where it is not kept.
    """

    rows: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    groups: Sequence[Group] = field(repr=False)
    by_length: ByLength | None = field(repr=False)

    def tables(self) -> list[Sequence[Mapping[str, str]]]:
        """The rows, and those of the scores by length."""
        return [self.rows, *([] if self.by_length is None else [self.by_length.rows()])]

    def _repr_html_(self) -> str:
        """What a notebook shows: tables and notes."""
        notes = [f"<p>{html.escape(note)}</p>" for note in self.notes]
        return "\n".join([*map(_html_table, self.tables()), *notes])


def compare_runs(paths: Sequence[Path]) -> ComparedGroups:
    """Group the runs and compare each group with the best one.

    Raises:
        InputError: there are no finished runs.
    """
    found = find_runs(paths)
    groups = sorted(
        group_runs(found.finished), key=lambda group: -(_test_or_validation(group) or 0.0)
    )
    level = LEVEL / max(1, len(groups) - 1)
    damaged: dict[str, None] = {}
    tested = [translations_of_test(group.runs, damaged) for group in groups]
    known = [_statistics(g.runs, each) for g, each in zip(groups, tested, strict=True)]
    best, *others = zip(groups, known, strict=True)
    verdicts = ["best", *(_verdict(*best, *other, level) for other in others)]
    rows = [
        _row(group) | {"against the best": verdict}
        for group, verdict in zip(groups, verdicts, strict=True)
    ]
    shown = [column for column in rows[0] if any(row[column] for row in rows)]
    rows = [{column: row[column] for column in shown} for row in rows]
    notes = [
        "mean ± standard deviation over seeds; p: how often luck with test sentences and seeds "
        f"alone makes such a difference, significant below {level:.3g} ({LEVEL} divided by the "
        "number of comparisons)"
    ]
    signatures = dict.fromkeys(run.signature for group in groups for run in group.runs)
    notes.append(f"BLEU: {', '.join(map(one_line, signatures))}")
    if found.others:
        notes.append(f"left out: {len(found.others)} runs that are not finished")
    notes += [f"left out: {one_line(reason)}" for reason in [*found.unreadable, *damaged]]
    return ComparedGroups(rows, notes, groups, _by_length(groups, tested, known))


def _by_length(
    groups: Sequence[Group],
    tested: Sequence[Sequence[Translations]],
    known: Sequence[NDArray | None],
) -> ByLength | None:
    if not tested[0]:
        return None
    comparable = {
        group.label: statistics
        for group, each, statistics in zip(groups, tested, known, strict=True)
        if statistics is not None and each[0].text == tested[0][0].text
    }
    return by_length(tested[0][0].sources, comparable)


def _test_or_validation(group: Group) -> float | None:
    return mean(group.scores("test", "bleu") or group.scores("validation", "bleu"))


def _row(group: Group) -> dict[str, str]:
    ledgers = [run.ledger for run in group.runs]
    speeds = [each.tokens_per_second for each in ledgers if each.tokens_per_second is not None]
    tested = {
        f"test {title}": spread(group.scores("test", name)) for name, title in compared_by().items()
    }
    return {
        "group": group.label,
        "runs": str(len(group.runs)),
        "validation BLEU": spread(group.scores("validation", "bleu")),
        **tested,
        "tokens/s": "" if not speeds else f"{mean(speeds):,.0f}",
        "seconds": f"{mean([ledger.wall_seconds for ledger in ledgers]):,.0f}",
    }


def compared_by() -> dict[str, str]:
    """The metrics of translations that are compared, with their titles."""
    return {name: each.title for name, each in quick_metrics().items() if each.score is not None}


def _verdict(
    best: Group, statistics: NDArray | None, group: Group, own: NDArray | None, level: float
) -> str:
    if statistics is None or own is None:
        return "no test translations"
    if best.runs[0].texts().get("test") != group.runs[0].texts().get("test"):
        return "not comparable: other test sentences"
    comparison = compare(statistics, own, level)
    return f"{comparison.difference:+.2f}, {comparison.words(level)}"


def statistics_on_test(runs: Sequence[Run]) -> NDArray | None:
    """What `significance.compare` wants of runs on one test text; None where it is not kept."""
    return _statistics(runs, translations_of_test(runs, {}))


def _statistics(runs: Sequence[Run], tested: Sequence[Translations]) -> NDArray | None:
    if not tested:
        return None
    hypotheses = [each.hypotheses for each in tested]
    return statistics_of(hypotheses, tested[0].references, runs[0].language)


def translations_of_test(runs: Sequence[Run], damaged: dict[str, None]) -> list[Translations]:
    """The test translations of runs that keep them.

    Args:
        runs: the runs.
        damaged: notes which translations cannot be read.
    """
    kept = []
    for run in runs:
        try:
            translated = run.translations("test")
            kept += [] if translated is None else [translated]
        except InputError as error:
            damaged[str(error)] = None
    return kept


def as_markdown(report: ComparedGroups) -> str:
    """The table in Markdown."""
    return "\n".join([*map(_markdown_table, report.tables()), *report.notes]) + "\n"


def _markdown_table(rows: Sequence[Mapping[str, str]]) -> str:
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([row[c] for c in columns] for row in rows)]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
    )


def _html_table(rows: Sequence[Mapping[str, str]]) -> str:
    lines = [("th", list(rows[0])), *(("td", list(row.values())) for row in rows)]
    cells = ("".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
    return "\n".join(["<table>", *(f"<tr>{line}</tr>" for line in cells), "</table>"])


def as_csv(report: ComparedGroups) -> str:
    """A line for each run: values that set groups apart, seed, scores, folder."""
    file = io.StringIO()
    keys = list(dict.fromkeys(key for group in report.groups for key in group.values))
    tested = compared_by()
    names = ["validation_bleu", *(f"test_{name}" for name in tested)]
    names += ["tokens_per_second", "wall_seconds"]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_cell, [*keys, "seed", *names, "folder"]))
    for group in report.groups:
        for run in group.runs:
            ledger = run.ledger
            scores = [run.score("validation", "bleu"), *(run.score("test", n) for n in tested)]
            scores += [ledger.tokens_per_second, ledger.wall_seconds]
            values = [group.values.get(key) for key in keys]
            writer.writerow(map(_cell, [*values, ledger.seed, *scores, str(run.folder)]))
    return file.getvalue()


def _cell(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.lstrip().startswith(tuple("=+-@")) else text


def write_report(report: ComparedGroups, folder: Path) -> list[Path]:
    """Write the table as CSV and Markdown, the pictures, and a page with all of it."""
    from seq2seq.pictures.heatmap import png_bytes  # noqa: PLC0415
    from seq2seq.sweeps.comparison_pictures import draw  # noqa: PLC0415 - after the table

    pictures = draw(report.groups, report.by_length)
    encoded = {name: png_bytes(picture) for name, picture in pictures.items()}
    contents: dict[str, str | bytes] = {
        "comparison.html": as_page(report, encoded),
        "comparison.md": as_markdown(report),
        "comparison.csv": as_csv(report),
    }
    contents |= {f"{name}.png": content for name, content in encoded.items()}
    remove_leftovers(folder, contents)
    for name, content in contents.items():
        write_file(folder / name, content)
    return [folder / name for name in contents]


def as_page(report: ComparedGroups, pictures: Mapping[str, bytes]) -> str:
    """One page of HTML that needs no other file."""
    images = [
        f'<p><img alt="{name}" src="data:image/png;base64,{base64.b64encode(data).decode()}"></p>'
        for name, data in pictures.items()
    ]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Runs compared</title>',
            "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.3em .8em;"
            "text-align:left;border-bottom:1px solid #ccc}img{max-width:100%}</style>",
            f"<h1>Runs compared</h1>{report._repr_html_()}",
            *images,
            "</html>",
        ]
    )
