"""The worked example of kernel regression, by its command line."""

import runpy
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from seq2seq.attention.kernel_regression import compare, training_points, true_points
from tests.programs import ROOT, program, started

PROGRAM = "scripts/kernel_regression.py"
SEED = 1
NAMES = {"attention", "curves"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regression") / "new" / "folder"
    done = program(PROGRAM, "--output", folder, "--seed", SEED)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.decode()


@pytest.fixture(scope="module")
def events(written):
    accumulator = EventAccumulator(str(written[0]), size_guidance={"images": 0})
    accumulator.Reload()
    return accumulator


@pytest.fixture(scope="module")
def errors():
    estimates = compare(training_points(SEED), true_points())
    return {estimate.name: estimate.test_error for estimate in estimates}


def test_the_test_errors_are_printed_one_below_the_other(written, errors):
    lines = written[1].splitlines()
    table = {line[:17].strip(): line.split()[-1] for line in lines[1:4]}
    assert table == {name: f"{error:.4f}" for name, error in errors.items()}
    assert len({len(line) for line in lines[:4]}) == 1, "not aligned"


def test_what_was_written_is_named_and_there(written):
    folder, printed = written
    for name in NAMES:
        file = folder / f"{name}.png"
        assert f"{name:<12}{file}" in printed.splitlines()
        with Image.open(file) as image:
            assert image.format == "PNG"
            assert min(image.size) > 200
    assert f"look        tensorboard --logdir {folder}" in printed.splitlines()


def test_events_hold_the_pictures(written, events):
    tags = {f"kernel_regression/{name}" for name in NAMES}
    assert set(events.Tags()["images"]) == tags
    for name in NAMES:
        (event,) = events.Images(f"kernel_regression/{name}")
        assert event.step == SEED
        shown = np.asarray(Image.open(BytesIO(event.encoded_image_string)).convert("RGB"))
        file = np.asarray(Image.open(written[0] / f"{name}.png").convert("RGB"))
        assert np.array_equal(shown, file)


def test_events_hold_the_test_errors(events, errors):
    assert len(events.Tags()["scalars"]) == 3
    for name, error in errors.items():
        (event,) = events.Scalars(f"test_error/{name.replace(' ', '_')}")
        assert (event.step, event.value) == (SEED, pytest.approx(error))


@pytest.mark.parametrize(
    "arguments", [["--seed", "-1"], ["--seed", "x"], ["--seed", str(2**32)], ["--sed", "1"], ["a"]]
)
def test_wrong_options_end_with_status_2(arguments, tmp_path):
    done = program(PROGRAM, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert arguments[-1].encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_no_folder_is_refused_in_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    done = program(PROGRAM, "--output", file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --output {file}".encode())
    assert done.stderr.count(b"\n") == 1
    assert file.read_text() == "mine"


def test_a_file_that_cannot_be_written_is_refused_in_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "curves.png").mkdir()
    monkeypatch.setattr(sys, "argv", ["kernel_regression.py", "--output", str(tmp_path)])
    assert runpy.run_path(str(ROOT / PROGRAM))["main"]() == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(f"error: --output {tmp_path}")
    assert stderr.count("\n") == 1


@pytest.mark.long
def test_a_closed_pipe_ends_quietly_with_everything_written(tmp_path):
    done = started(PROGRAM, "--output", tmp_path, into="true")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {f"{name}.png" for name in NAMES} < {file.name for file in tmp_path.iterdir()}
