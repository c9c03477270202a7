"""Pictures of curves: what lies where, in which colour."""

import numpy as np
import pytest
from PIL import Image

from seq2seq.pictures import curves, grid
from seq2seq.pictures.colours import PALETTE, ink, oklab
from seq2seq.pictures.curves import HEIGHT, WIDTH, Scale, Series, render_curves

FRAME = PALETTE[int(ink(255, grid.FRAME))]
DIAGONAL = Series("diagonal", [0, 1, 2], [0, 1, 2], curves.BLUE)


def drawn(*series, **options):
    image = render_curves(series, **{"x_label": "x", "y_label": "y", **options})
    return np.asarray(image)


def corner(pixels):
    """Row and column where the frame of the plot begins."""
    frame = (pixels == FRAME).all(axis=2)
    rows = np.flatnonzero(frame.sum(axis=1) > WIDTH // 2)
    columns = np.flatnonzero(frame.sum(axis=0) > HEIGHT // 2)
    return rows[0], columns[0]


def field(pixels):
    """The plot between its axes."""
    top, left = corner(pixels)
    return pixels[top : top + HEIGHT, left : left + WIDTH]


def of_colour(pixels, colour):
    return (pixels == colour).all(axis=2)


def middle(mask):
    return np.argwhere(mask).mean(axis=0)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (10, 4), (5, 1), (2.5, 3)])
def test_a_point_lies_where_its_numbers_say(x, y):
    corners = Series("corners", [0, 10], [0, 4], curves.GREY, kind="points")
    one = Series("one", [x], [y], curves.BLUE, kind="points")
    found = middle(of_colour(field(drawn(corners, one)), curves.BLUE))
    air_x, air_y = 10 * 0.03, 4 * 0.03
    column = (x + air_x) / (10 + 2 * air_x) * (WIDTH - 1)
    row = (1 - (y + air_y) / (4 + 2 * air_y)) * (HEIGHT - 1)
    assert found == pytest.approx([row, column], abs=0.6)


@pytest.mark.parametrize("height", [160, HEIGHT])
def test_the_field_is_as_high_as_is_said(height):
    frame = (drawn(DIAGONAL, height=height) == FRAME).all(axis=2)
    rows = np.flatnonzero(frame.sum(axis=1) > WIDTH // 2)
    assert rows[-1] - rows[0] == height - 1


def test_a_line_passes_through_its_coordinates_without_gaps():
    plot = of_colour(field(drawn(DIAGONAL)), curves.BLUE)
    scale = Scale.around(np.array([0.0, 2.0]), WIDTH)
    first, last = scale.places([0, 2]).round().astype(int)
    columns = plot.any(axis=0)
    assert columns[first : last + 1].mean() > 0.95
    assert not columns[: first - 3].any()
    assert not columns[last + 4 :].any()
    assert middle(plot) == pytest.approx([(HEIGHT - 1) / 2, (WIDTH - 1) / 2], abs=1)


def test_dashes_cover_their_share_of_the_line():
    def length(kind):
        line = Series("level", [0, 1], [1, 1], curves.GREEN, kind=kind)
        return of_colour(field(drawn(line)), curves.GREEN).any(axis=0)

    whole, dashed = length("line"), length("dashes")
    # round ends add the width of the line to every dash of 7 pixels out of 12
    assert 0.5 < dashed.sum() / whole.sum() < 0.8
    assert (whole >= dashed).all()
    assert (np.diff(dashed.astype(int)) == 1).sum() == pytest.approx(whole.sum() / 12, abs=1.5)


def test_edges_are_smooth():
    steep = Series("steep", [0, 1], [0, 0.7], curves.BLACK)
    plot = field(drawn(steep, Series("top", [0, 1], [1, 1], curves.BLUE)))
    greys = np.unique(plot[(plot[..., 0] == plot[..., 1]) & (plot[..., 1] == plot[..., 2])])
    assert len(greys) > 20


def test_the_last_series_lies_on_top():
    below, above = (Series("s", [0, 1], [0, 1], colour) for colour in (curves.BLUE, curves.ORANGE))
    plot = field(drawn(below, above))
    assert of_colour(plot, curves.ORANGE).any()
    assert not of_colour(plot, curves.BLUE).any()


def test_the_legend_shows_each_series_in_order_in_its_colour():
    kinds = {"points": curves.ORANGE, "line": curves.BLUE, "dashes": curves.GREEN}
    series = [Series(kind, [0, 1], [0, 1], colour, kind=kind) for kind, colour in kinds.items()]
    pixels = drawn(*series)
    legend = pixels[:, corner(pixels)[1] + WIDTH :]
    rows = [middle(of_colour(legend, colour))[0] for colour in kinds.values()]
    assert np.diff(rows) == pytest.approx([22, 22], abs=0.6)


def test_longer_names_take_more_room_and_a_title_more_height():
    short, long = drawn(DIAGONAL), drawn(Series("a much longer name", [0, 1], [0, 1]))
    assert long.shape[1] > short.shape[1]
    assert drawn(DIAGONAL, title="title").shape[0] > short.shape[0]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 5, ["0", "1", "2", "3", "4", "5"]),
        (-1, 1, ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        (0, 0.05, ["0.00", "0.01", "0.02", "0.03", "0.04", "0.05"]),
        (0, 4200, ["0", "1000", "2000", "3000", "4000"]),
    ],
)
def test_ticks_are_round_numbers(low, high, expected):
    scale = Scale.around(np.array([low, high], dtype=float), 600)
    assert [number for _, number in scale.ticks()] == expected
    for place, number in scale.ticks():
        assert scale.places(float(number)) == pytest.approx(place, abs=0.5)


@pytest.mark.parametrize("magnitude", [1e-6, 0.3, 7, 1e5])
@pytest.mark.parametrize(("length", "upwards", "least"), [(WIDTH, False, 68), (HEIGHT, True, 43)])
def test_ticks_keep_their_distance(magnitude, length, upwards, least):
    scale = Scale.around(np.array([0, magnitude]), length, upwards=upwards)
    places = [place for place, _ in scale.ticks()]
    assert len(places) >= 3
    assert np.abs(np.diff(places)).min() >= least


def test_grid_lines_run_at_the_ticks():
    faint = PALETTE[int(ink(255, grid.SEPARATOR))]
    plot = field(drawn(Series("p", [0, 5], [0, 5], kind="points")))
    columns = np.flatnonzero(of_colour(plot, faint).mean(axis=0) > 0.9)
    scale = Scale.around(np.array([0.0, 5.0]), WIDTH)
    assert columns.tolist() == [place for place, _ in scale.ticks()]


@pytest.mark.parametrize("kind", ["line", "dashes", "points"])
def test_one_place_is_a_dot_in_the_middle(kind):
    plot = field(drawn(Series("one", [3], [0], curves.GREEN, kind=kind))).astype(int)
    greenish = plot[..., 1] - plot[..., 0] > 50
    assert middle(greenish) == pytest.approx([(HEIGHT - 1) / 2, (WIDTH - 1) / 2], abs=0.6)


def test_colours_are_far_apart():
    names = ("BLACK", "GREY", "ORANGE", "BLUE", "GREEN", "VERMILION")
    places = oklab([getattr(curves, name) for name in names])
    distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
    assert distances[np.triu_indices(len(names), 1)].min() > 0.1


def test_the_same_numbers_give_the_same_picture_from_any_container():
    numbers = [0.0, 0.5, 2.0]
    forms = [Series("s", x, x) for x in (numbers, tuple(numbers), np.array(numbers, np.float32))]
    first, *others = [drawn(form) for form in forms]
    assert all(np.array_equal(first, other) for other in others)
    assert isinstance(render_curves(forms, x_label="x", y_label="y"), Image.Image)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0, 1], [0], r"'bad' has x of shape \(2,\), y of \(1,\)"),
        ([], [], "'bad' has x of shape"),
        ([[0]], [[0]], "'bad' has x of shape"),
        ([0, 1], [0, np.nan], "'bad' holds numbers that are not finite"),
        ([0, np.inf], [0, 1], "'bad' holds numbers that are not finite"),
    ],
)
def test_unfit_coordinates_are_refused_by_name(x, y, message):
    with pytest.raises(ValueError, match=message):
        drawn(DIAGONAL, Series("bad", x, y))


def test_no_series_is_refused():
    with pytest.raises(ValueError, match="at least one series"):
        render_curves([], x_label="x", y_label="y")
