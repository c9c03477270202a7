"""The command that compares finished runs: settings over seeds and test sentences."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from seq2seq.cli.options import Output
from seq2seq.common.errors import InputError
from seq2seq.common.progress import announce, counted
from seq2seq.evaluation.comparison import (
    Setting,
    comparable,
    compared,
    comparison_table,
    direction,
    find_runs,
    settings_of,
    tries_in,
)
from seq2seq.export.files import require_mark, write_export

FORMATS = ".png", ".pdf", ".svg", ".html"


def compare(
    runs: Annotated[Sequence[Path], "RUNS"],
    *,
    metric: str = "test/bleu",
    baseline: Annotated[str, "SETTING"] | None = None,
    all: bool = False,  # noqa: A002 - the name of the option
    output: Output | None = None,
) -> None:
    """Compare finished runs: ``seq2seq compare runs/baseline``

    Groups runs that differ only in the seed into settings, and compares each setting with the best one, or with
    ``--baseline``. For BLEU and exact match, p and the interval include the variation of seeds and of test sentences
    (`judged_seeds.compare`); for other scores Welch's t-test over seeds is used. p is corrected for the
    number of comparisons by Holm's method; against the best setting, which was selected by the scores, this is the
    number of all pairs. Writes a table and a figure; of one setting only where ``-o`` says so. Runs that were scored
    on other sentences have a table of their own. These p hold for one look at a fixed number of seeds; the last column,
    over seeds, holds however often you look and add some.

    Args:
        runs: Run folders, or folders that contain them.
        metric: Such as val/chrf or test/beam/bleu.
        baseline: Compare with this setting, as the table names it.
        all: Judge the last column by all settings that were tried in the folders, also those that failed, against --baseline;
            at most 5 % of those that are shown are expected to be wrong (e-BH).
        output: Picture to write, .png, .pdf or .svg, or a page, .html, with the table in it; the table is written beside it, too; without it comparison.png in the folder that
            is given, in the one that holds all that are given, or else in the first.
    """
    runs = [
        each for each in runs if each.name not in ("comparison.csv", "comparison.png")
    ] or runs  # of runs/NAME/*
    parents = {each.parent for each in runs}
    picture = output or (runs[0] if len(runs) == 1 or len(parents) > 1 else runs[0].parent) / "comparison.png"
    if picture.suffix.lower() not in FORMATS:
        raise InputError(f"-o {picture}: the ending decides the format: choose {', '.join(FORMATS)}")
    if all and baseline is None:
        raise InputError("--all judges changes of a baseline: give --baseline SETTING, too")
    found, left_out = find_runs(runs)
    tries = tries_in(runs) - 1 if all else None
    groups, others = comparable(found, metric)
    for number, group in enumerate(groups, 1):
        place = picture if len(groups) == 1 else picture.with_stem(f"{picture.stem}-{number}")
        if len(groups) > 1:
            print(f"\n--- {number} of {len(groups)}: scored on the sentences of {group[0].folder}")
        _compare(settings_of(group), metric, baseline, place, tries, is_asked=output is not None)
    for reason in [*left_out, *others]:
        print(f"left out: {reason}")


def _compare(
    settings: Sequence[Setting],
    metric: str,
    baseline: str | None,
    picture: Path,
    tries: int | None,
    *,
    is_asked: bool,
) -> None:
    """Print the table of settings that were scored on the same sentences, and write it with its picture."""
    announce(f"comparing {counted(len(settings), 'setting')}")
    rows = compared(settings, metric, baseline, tries)
    num_runs = sum(len(setting.runs) for setting in settings)
    table = f"{metric} of {counted(num_runs, 'run')}\n\n{comparison_table(rows)}\n"
    print(table)
    if len(rows) > 1:
        print("intervals hold jointly at 95 %, for one look at a fixed number of seeds")
        if tries is not None:
            print(f"the last column judges {counted(tries, 'change')} of the baseline, by e-BH")
    else:
        print("there is one setting, so nothing is compared" if is_asked else
              "there is one setting, so nothing is compared or written: train another one, or give more folders")  # fmt: skip
    if any(row.get("basis") == "sentences" for row in rows):
        print("one seed: the difference is of these models, not of the settings")
    if direction(settings, metric) is None:
        print(f"higher is taken for better, as these runs do not say it of {metric}")
    if len(rows) < 2 and not is_asked:
        return
    from seq2seq.cli.comparison_figure import comparison_page, draw_comparison

    table_file = picture.with_suffix(".csv")
    require_mark(table_file, b"setting,runs,mean,sd")
    with table_file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, ["metric", *dict.fromkeys(key for row in rows for key in row)], restval=""
        )
        writer.writeheader()
        writer.writerows({"metric": metric} | {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in row.items()}
                         for row in rows)  # fmt: skip
    if picture.suffix.lower() == ".html":
        write_export(picture, comparison_page(rows, metric, table))
    else:
        draw_comparison(rows, metric, picture)
    print(f"written     {picture.with_suffix('.csv')}, {picture}")
