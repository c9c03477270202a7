"""Pictures of attention: what each pixel promises."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from seq2seq.pictures import grid, heatmap
from seq2seq.pictures.colours import LEVELS, PALETTE, colour, ink, oklab
from seq2seq.pictures.heatmap import (
    LABEL_LIMIT,
    MAX_CELL,
    MIN_CELL,
    attention_title,
    png_bytes,
    render_attention,
    render_matrices,
    shortened,
)
from seq2seq.pictures.panel import Axis

SOURCE = ["the", "red", "car", ".", "<eos>"]
TARGET = ["la", "voiture", "rouge", "<eos>"]
HOSTILE = [
    *("", " ", "\n", "\t", "\x00", "\ud800", "\u200b", "\u202e", "\u2028\u2029", "<>"),
    *("x" * 10_000, "a\u0301" * 5_000, "😀", "👩\u200d👩\u200d👧"),
    *("שלום", "مرحبا", "你好", "नमस्ते"),
]
WEIGHTS = np.linspace(0, 1, 20).reshape(4, 5)


def rgb(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("RGB"))


def corner(pixels: np.ndarray) -> tuple[int, int]:
    """The first pixel of the first cell: just inside the largest rectangle framed in grey."""
    frame = (pixels == PALETTE[int(ink(255, grid.FRAME))]).all(axis=2)
    row = int(frame.sum(axis=1).argmax())
    return row + 1, int(frame[row].argmax()) + 1


def cell_blocks(image: Image.Image, shape: tuple[int, int], size: int) -> np.ndarray:
    """Pixels of each cell without separators (T, S, size - 1, size - 1, 3)."""
    pixels = rgb(image)
    top, left = corner(pixels)
    return np.array(
        [
            [
                pixels[top + row * size :, left + column * size :][: size - 1, : size - 1]
                for column in range(shape[1])
            ]
            for row in range(shape[0])
        ]
    )


@pytest.mark.parametrize("size", [16, 17, 24, 40])
def test_every_pixel_of_a_cell_has_the_colour_of_its_weight(size: int) -> None:
    image = render_attention(WEIGHTS, SOURCE, TARGET, title="t", cell_size=size)
    blocks = cell_blocks(image, WEIGHTS.shape, size)
    expected = np.array([[colour(weight) for weight in row] for row in WEIGHTS])
    assert (blocks == expected[:, :, None, None]).all()


def test_cells_are_parted_by_separators_and_enclosed_by_a_frame() -> None:
    pixels = rgb(render_attention(np.ones((3, 4)), list("abcd"), list("efg"), cell_size=20))
    top, left = corner(pixels)
    separator, frame = (PALETTE[int(ink(255, strength))] for strength in (0.1, grid.FRAME))
    row = pixels[top + 5, left - 1 : left + 4 * 20]
    assert (row[20:-1:20] == separator).all()
    assert (row[[0, -1]] == frame).all()


def test_the_picture_does_not_depend_on_the_container_or_precision_of_exact_weights() -> None:
    weights = [[0.5, 0.25], [0.0, 1.0]]
    images = [
        render_attention(form, ["a", "b"], ["c", "d"]).tobytes()
        for form in (weights, np.array(weights, np.float32), np.array(weights, np.float16))
    ]
    assert len(set(images)) == 1


def test_rounding_beyond_one_is_drawn_as_one() -> None:
    exact = render_attention([[1.0, 0.0]], ["a", "b"], ["c"])
    rounded = render_attention([[1.004, -0.004]], ["a", "b"], ["c"])
    assert exact.tobytes() == rounded.tobytes()


def test_the_picture_grows_with_each_token_by_one_cell() -> None:
    def size(columns: int, rows: int) -> tuple[int, int]:
        weights = np.zeros((rows, columns))
        return render_attention(weights, ["a"] * columns, ["b"] * rows, cell_size=20).size

    width, height = size(10, 10)
    assert size(11, 10) == (width + 20, height)
    assert size(10, 11) == (width, height + 20)


def test_cells_shrink_with_the_number_of_tokens_between_the_bounds() -> None:
    sizes = [
        corner_to_corner(render_attention(np.zeros((n, n)), ["a"] * n, ["b"] * n)) // n
        for n in (6, 14, 22, 45)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == MAX_CELL
    assert sizes[-1] == MIN_CELL


def corner_to_corner(image: Image.Image) -> int:
    frame = (rgb(image) == PALETTE[int(ink(255, grid.FRAME))]).all(axis=2)
    return int(frame.sum(axis=0).max())


def test_labels_stand_beside_their_cells() -> None:
    size = 24
    plain = render_attention(np.zeros((3, 2)), ["a", "a"], ["wxyz"] * 3, cell_size=size)
    named = render_attention(np.zeros((3, 2)), ["a", "a"], ["wxyz", "word", "wxyz"], cell_size=size)
    assert plain.size == named.size
    top, left = corner(rgb(plain))
    rows, columns = np.nonzero((rgb(plain) != rgb(named)).any(axis=2))
    assert top + size <= rows.min()
    assert rows.max() < top + 2 * size
    assert columns.max() < left


def test_labels_of_any_length_end_at_the_matrix() -> None:
    pixels = rgb(render_attention(np.zeros((2, 1)), ["x"], ["wwwwwwwwww", "w"], cell_size=24))
    top, left = corner(pixels)
    ends = [
        np.nonzero(pixels[row : row + 23, : left - 1].min(axis=(0, 2)) < 200)[0].max()
        for row in (top, top + 24)
    ]
    assert ends[0] == ends[1] > left - 14


def test_source_labels_read_upwards_above_their_columns() -> None:
    size = 24
    first, second = (
        render_attention(np.zeros((1, 3)), ["word", word, "word"], ["t"], cell_size=size)
        for word in ("word", "wo")
    )
    top, left = corner(rgb(first))
    rows, columns = np.nonzero((rgb(first) != rgb(second)).any(axis=2))
    assert left + size <= columns.min()
    assert columns.max() < left + 2 * size
    assert rows.max() < top - 20


def test_special_tokens_are_grey() -> None:
    def darkest(label: str) -> int:
        pixels = rgb(render_attention([[0.0]], [label], ["x"], cell_size=32))
        top, left = corner(pixels)
        return int(pixels[: top - 1, left : left + 31].min())

    assert darkest("<eos>") > darkest("eos") + 60


def test_the_title_is_shown_whole() -> None:
    short = render_attention([[1.0]], ["a"], ["b"], title="run")
    long = render_attention([[1.0]], ["a"], ["b"], title="run 17, step 12000, BLEU 30 " * 4)
    assert long.width > 4 * short.width
    assert long.height == short.height


@pytest.mark.parametrize("label", HOSTILE)
def test_any_label_is_drawn_in_a_picture_of_sane_size(label: str) -> None:
    image = render_attention([[0.5, 0.5]], [label, "a"], [label], title=label)
    assert max(image.size) < 4000
    blank = rgb(image)[:, : corner(rgb(image))[1] - 1]
    assert blank.min() < 200


def test_a_label_up_to_the_limit_is_whole_and_a_longer_one_loses_its_middle() -> None:
    assert shortened("x" * LABEL_LIMIT, LABEL_LIMIT) == "x" * LABEL_LIMIT
    for length in (LABEL_LIMIT + 1, 10_000):
        text = shortened("a" + "x" * (length - 2) + "z", LABEL_LIMIT)
        assert len(text) == LABEL_LIMIT
        assert (text[0], text[-1], text.count("…")) == ("a", "z", 1)


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4,), (4, 5, 1), (0, 5)])
def test_weights_that_do_not_fit_the_labels_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"4 target tokens by 5 source tokens, shape \(4, 5\)"
    ) as error:
        render_attention(np.zeros(shape), SOURCE, TARGET)
    assert str(shape) in str(error.value)


def test_a_picture_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(0, 0\)"):
        render_attention(np.zeros((0, 0)), [], [])


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -0.01, 1.01])
def test_weights_outside_zero_to_one_are_refused(wrong: float) -> None:
    weights = WEIGHTS.copy()
    weights[2, 3] = wrong
    with pytest.raises(ValueError, match=r"\(4, 5\).*must lie in 0\.\.1"):
        render_attention(weights, SOURCE, TARGET)


@pytest.mark.parametrize("size", [MIN_CELL - 1, 0, -3])
def test_cells_too_small_for_labels_are_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"at least {MIN_CELL} pixels, got {size}"):
        render_attention(WEIGHTS, SOURCE, TARGET, cell_size=size)


def test_lightness_falls_strictly_from_near_white_to_dark() -> None:
    lightness = oklab(PALETTE[:LEVELS])[:, 0]
    assert (np.diff(lightness) < 0).all()
    assert lightness[0] > 0.97
    assert lightness[-1] < 0.3


def test_equal_differences_of_weight_look_equally_large() -> None:
    steps = np.linalg.norm(np.diff(oklab(PALETTE[:LEVELS:10]), axis=0), axis=1)
    assert steps.max() < 1.15 * steps.min()


def test_the_map_is_used_from_end_to_end() -> None:
    assert colour(0) == tuple(PALETTE[0])
    assert colour(1) == tuple(PALETTE[LEVELS - 1])


def test_white_and_black_have_the_lightness_they_should() -> None:
    assert oklab([[0, 0, 0], [255, 255, 255]]) == pytest.approx(
        np.array([[0, 0, 0], [1, 0, 0]]), abs=1e-6
    )


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (
        png_bytes(render_attention(WEIGHTS, SOURCE, TARGET, title="step 3")) for _ in range(2)
    )
    assert first == second


def test_encoding_loses_nothing_and_keeps_the_palette() -> None:
    image = render_attention(WEIGHTS, SOURCE, TARGET, title="step 3")
    decoded = Image.open(BytesIO(png_bytes(image)))
    assert decoded.mode == "P"
    assert np.array_equal(rgb(decoded), rgb(image))


def test_a_heatmap_of_usual_size_is_a_small_file() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(22), 20)
    source, target = ([f"word{i}" for i in range(count)] for count in (22, 20))
    assert len(png_bytes(render_attention(weights, source, target, title="t"))) < 40_000


def matrices(
    *arrays: np.ndarray, shared_scale: bool = True, columns: int | None = None
) -> Image.Image:
    titles = [f"m{place}" for place in range(len(arrays))]
    return render_matrices(
        arrays,
        titles=titles,
        x_label="key",
        y_label="query",
        shared_scale=shared_scale,
        columns=columns,
    )


def has_colour(image: Image.Image, weight: float) -> int:
    """Number of pixels with the colour of a weight."""
    return int((rgb(image) == colour(weight)).all(axis=2).sum())


def test_a_shared_scale_reaches_to_the_greatest_number_of_all() -> None:
    image = matrices(np.full((4, 4), 3.0), np.full((4, 4), 1.5))
    cells = 16 * 39 * 39
    assert has_colour(image, 1) >= cells
    assert has_colour(image, 0.5) >= cells


def test_without_a_shared_scale_each_matrix_reaches_the_darkest_colour() -> None:
    image = matrices(np.full((4, 4), 3.0), np.full((4, 4), 1.5), shared_scale=False)
    assert has_colour(image, 1) >= 2 * 16 * 39 * 39


def test_matrices_of_zeros_are_drawn() -> None:
    assert has_colour(matrices(np.zeros((4, 4))), 0) >= 16 * 39 * 39


def test_columns_say_how_many_matrices_stand_side_by_side() -> None:
    arrays = [np.eye(5)] * 5
    wide, square, tall = (matrices(*arrays, columns=columns) for columns in (5, None, 1))
    assert wide.width > square.width > tall.width
    assert wide.height < square.height < tall.height


def test_ticks_are_the_coordinates_of_evenly_spaced_cells() -> None:
    axis = Axis.along(50, "query", [place / 10 for place in range(50)])
    assert [number for _, number in axis.ticks(4)] == ["0", "2", "4"]
    assert [place for place, _ in axis.ticks(4)] == [2, 82, 162]
    assert [number for _, number in Axis.along(2, "key", None).ticks(60)] == ["0", "1"]


def test_ticks_that_do_not_fit_the_matrix_are_refused() -> None:
    with pytest.raises(ValueError, match="3 'key' ticks for a side of 4 cells"):
        render_matrices([np.eye(4)], titles=["m"], x_label="key", y_label="q", x_ticks=[1, 2, 3])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([], "0 matrices"),
        ([np.eye(2), np.eye(3)], r"\(2, 2\), \(3, 3\)"),
        ([np.zeros(3)], r"\(3,\)"),
        ([np.zeros((0, 2))], r"\(0, 2\)"),
        ([np.array([[np.nan]])], "non-finite"),
        ([np.array([[-1.0]])], "negative"),
    ],
)
def test_matrices_that_make_no_picture_are_refused(arrays: list[np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matrices(*arrays)


def test_one_title_is_needed_for_each_matrix() -> None:
    with pytest.raises(ValueError, match=r"1 matrices .* for 2 titles"):
        render_matrices([np.eye(2)], titles=["a", "b"], x_label="x", y_label="y")


def test_a_title_names_the_run_the_step_and_the_score_that_there_are():
    assert attention_title("default", step=0, score=-1.2345) == "default  step 0  score -1.23"
    assert attention_title("default", score=0.0) == "default  score 0.00"
    assert attention_title("default") == "default"


def test_a_picture_is_as_wide_as_it_is_asked_to_be_where_that_can_be_read():
    def drawn(count, width=None, title="t" * 90):
        words = ["word"] * count
        return render_attention(np.eye(count), words, words, title=title, width=width)

    assert [drawn(count, 350).width for count in (1, 4, 9, 14)] == [350] * 4
    assert drawn(4, 350).height > drawn(9, 350).height / 2
    assert 350 < drawn(30, 350).width < drawn(30).width
    assert drawn(4, 350, title="").height < drawn(4, 350).height


def test_a_title_is_as_long_as_there_is_room_for():
    title = "abcdefghij" * 9
    room = grid.text(title, 15).shape[1] // 2
    cut = heatmap._fitting(title, room)
    longer = heatmap.shortened(title, len(cut) + 1)
    assert grid.text(cut, 15).shape[1] <= room < grid.text(longer, 15).shape[1]
    assert heatmap._fitting(title, 10_000) == title


@pytest.mark.parametrize("count", [1, 4, 9, 14, 30])
def test_cells_are_the_largest_that_leave_a_picture_within_its_width(count):
    words, matrix = ["word"] * count, np.eye(count)
    charts = [
        heatmap._chart(matrix, words, words, size)[1]
        for size in range(heatmap.MAX_CELL, heatmap.MIN_CELL - 1, -1)
    ]
    room = 350 - 2 * grid.EDGE
    fitting = next((chart for chart in charts if chart.shape[1] <= room), charts[-1])
    picture = render_attention(matrix, words, words, width=350)
    assert picture.height == fitting.shape[0] + 2 * grid.EDGE
