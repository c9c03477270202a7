"""The picture that shows what a claim is about, drawn of all its runs."""

from collections.abc import Callable, Sequence
from itertools import cycle

import numpy as np
from PIL.Image import Image

from seq2seq.claims import searches
from seq2seq.claims.arms import OF_SEARCH, Arms
from seq2seq.claims.measures import Material, number_of
from seq2seq.claims.verdict import Compared
from seq2seq.errors import InputError
from seq2seq.evaluation.bleu_statistics import bleu_of
from seq2seq.experiments.comparison import Run
from seq2seq.pictures.curves import Series, render_curves
from seq2seq.sweeps.by_length import by_length
from seq2seq.sweeps.comparison_pictures import COLOURS, on_bands, series_by_length
from seq2seq.sweeps.hypothesis import Question, Setting, Statement

ROW = 80
"""Pixels of a comparison."""

TestMaterial = Callable[[Sequence[Run], Setting], Material]
"""What is known of runs, by the search that a setting names."""


def draw_claim(
    claim: Statement, arms: Arms, found: Sequence[Compared], material: TestMaterial
) -> Image:
    """The picture that the claim names."""
    match claim.picture:
        case "bleu_by_length":
            return _by_length(arms, material)
        case "aer_against_bleu":
            return _aer_against_bleu(arms)
        case "bleu_by_beam":
            return _by_beam(claim, arms, material)
    return _differences(claim.comparisons, found)


def _by_length(arms: Arms, material: TestMaterial) -> Image:
    known = {name: material(group.runs, {}) for name, group in arms.named()}
    sources = next(iter(known.values())).translations[0].sources
    found = by_length(sources, {label: each.statistics() for label, each in known.items()})
    return render_curves(
        series_by_length(found), x_label="words of the source", y_label="test BLEU"
    )


def _aer_against_bleu(arms: Arms) -> Image:
    series = [
        Series(
            name,
            [number_of(run, "bleu") for run in group.runs],
            [number_of(run, "aer") for run in group.runs],
            colour,
            kind="points",
        )
        for (name, group), colour in zip(arms.named(), cycle(COLOURS), strict=False)
    ]
    return render_curves(series, x_label="test BLEU", y_label="validation AER")


def _by_beam(claim: Statement, arms: Arms, material: TestMaterial) -> Image:
    beams = [int(str(each)) for each in claim.searches.get("beam", [])]
    if not beams:
        raise InputError("sweep.claim: bleu_by_beam needs searches of several beams")
    rest = {key: each for key, each in claim.searches.items() if key != "beam"}
    measured = [
        (_label(name, options), np.log2(beams), _bleu(group.runs, options, beams, material))
        for name, group in arms.named()
        for options in searches.every(rest)
    ]
    return render_curves(on_bands(measured), x_label="beam, as a power of 2", y_label="test BLEU")


def _label(group: str, options: searches.Options) -> str:
    return ", ".join([group, *(f"{key}={value}" for key, value in options.items())])


def _bleu(
    runs: Sequence[Run], options: searches.Options, beams: Sequence[int], material: TestMaterial
) -> np.ndarray:
    """Of each run, by each beam: (seeds, beams)."""
    by_beam = []
    for beam in beams:
        setting = {f"{OF_SEARCH}{key}": v for key, v in (options | {"beam": beam}).items()}
        by_beam.append(bleu_of(material(runs, setting).statistics().sum(axis=1)))
    return np.stack(by_beam, axis=1)


def _differences(asked: Sequence[Question], found: Sequence[Compared]) -> Image:
    """The interval of each comparison beside what was to be passed."""
    intervals = [
        Series(f"{row}  {each.says}", each.interval, [row, row], colour)
        for row, (each, colour) in enumerate(zip(found, cycle(COLOURS), strict=False), start=1)
    ]
    passed = {row: each.bound for row, each in enumerate(asked, start=1) if each.expected}
    bounds = Series("to be passed", [*passed.values()], [*passed], kind="points")
    zero = Series("no difference", [0, 0], [0.5, len(found) + 0.5], kind="dashes")
    shown = [*intervals, zero, *([bounds] if passed else [])]
    height = ROW * len(found)
    return render_curves(shown, x_label="difference", y_label="comparison", height=height)
