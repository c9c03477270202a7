"""A figure of settings that are compared."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from tensorboard_attention import new_figure, styled

NAMES = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "exact_match": "exact matches [%]"}
"""Titles of scores in figures; others have their own names."""


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title><style>img {{ max-width: 100% }} pre {{ overflow-x: auto }}</style>
<h1>{title}</h1><img alt="the scores of all runs, and the differences with their intervals" src="data:image/svg+xml;base64,{picture}">
<pre>{table}</pre></html>
"""


def comparison_page(rows: Sequence[dict[str, Any]], metric: str, table: str) -> str:
    """Return the figure and a table as one HTML file, which sends no request."""
    picture = BytesIO()
    draw_comparison(rows, metric, picture, "svg")
    return PAGE.format(
        title=escape(metric), picture=b64encode(picture.getvalue()).decode(), table=escape(table)
    )


def draw_comparison(
    rows: Sequence[dict[str, Any]], metric: str, path: Path | IO[bytes], kind: str | None = None
) -> None:
    """Draw the scores of all runs, and beside them the differences with their intervals, if there are any, into a file of a kind."""
    compares = any("difference" in row for row in rows)
    split, *search, name = metric.split("/")
    score = f"{NAMES.get(name, name)} ({', '.join([split, *(f'{each} search' for each in search)])})"
    with styled():
        figure = new_figure(9 if compares else 6, 1 + 0.35 * len(rows))
        left, *right = figure.subplots(1, 1 + compares, sharey=True, squeeze=False)[0]
        for place, row in enumerate(rows):
            left.plot(row["scores"], [place] * row["runs"], "o", color="C0", alpha=0.5)
            left.plot(row["mean"], place, "|", color="black", markersize=14)
            for axes in right if "difference" in row else ():
                axes.plot([row["low"], row["high"]], [place, place], color="C0", linewidth=2)
                axes.plot(row["difference"], place, "o", color="C0")
        left.set_yticks(range(len(rows)), [row["setting"][:60].replace("$", r"\$") for row in rows])
        left.set_ylim(len(rows) - 0.4, -0.6)
        left.set_xlabel(f"{score}: each run, and the mean as a line")
        for axes in right:
            axes.locator_params(axis="x", nbins=5)
            axes.axvline(0, color="#777777", linestyle="dashed", linewidth=1)
            best = next(row["setting"] for row in rows if "difference" not in row)
            shown = best[:30].replace("$", r"\$")
            axes.set_xlabel(f"difference [{NAMES.get(name, name)}] from\n{shown}")
        figure.savefig(path, format=kind)
