"""What ends a program, and what does not: signals, readers, disks, outputs that are inputs."""

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.command_line.program import program_parser, refuse_same_file, run_program, writing
from seq2seq.decoding.resumable_output import ResumableOutput, progress_of
from seq2seq.errors import InputError, TrainingFailed, TrainingInterrupted
from seq2seq.experiments.driver import Driver
from seq2seq.runs.preparation import prepare
from seq2seq.runs.rerun import rerun
from seq2seq.runs.run import run
from seq2seq.signals import STOP_SIGNALS, insists, stop_signals
from seq2seq.storage import writing as writing_room
from seq2seq.storage.failures import refusals_in_one_line
from seq2seq.text.corpus import ParallelCorpus
from seq2seq.training.interruption import StopOnSignal
from tests.stops import stopped_after

SOURCE = Path(__file__).parents[2] / "src"
HANGUP, TERMINATE, CTRL_C = signal.SIGHUP, signal.SIGTERM, signal.SIGINT


@pytest.fixture
def hangup_handler():
    before = signal.getsignal(HANGUP)
    yield lambda handler: signal.signal(HANGUP, handler)
    signal.signal(HANGUP, before)


def test_a_hangup_stops_a_program_unless_it_was_started_to_ignore_it(hangup_handler):
    hangup_handler(signal.SIG_DFL)
    assert set(stop_signals()) == {HANGUP, TERMINATE, CTRL_C}
    hangup_handler(signal.SIG_IGN)
    assert set(stop_signals()) == {TERMINATE, CTRL_C}


def test_what_listens_to_a_hangup_leaves_an_ignored_one_ignored(hangup_handler, tmp_path):
    hangup_handler(signal.SIG_IGN)
    with StopOnSignal(tmp_path / "last.ckpt"):
        assert signal.getsignal(HANGUP) is signal.SIG_IGN
    hangup_handler(signal.SIG_DFL)
    with StopOnSignal(tmp_path / "last.ckpt"):
        assert callable(signal.getsignal(HANGUP))
    assert signal.getsignal(HANGUP) is signal.SIG_DFL


def test_a_sweep_leaves_an_ignored_hangup_ignored(hangup_handler):
    hangup_handler(signal.SIG_IGN)
    driver = Driver(
        None, command=[], metric=None, slots=[], keep=None, retry_failed=False, deadline=None,
        observer=None,
    )  # fmt: skip
    with driver._listening():
        assert signal.getsignal(HANGUP) is signal.SIG_IGN
        assert signal.getsignal(TERMINATE) == driver._receive


def test_a_second_signal_insists_but_for_the_second_hangup_of_a_closed_terminal():
    found = {(before, number) for before in (None, HANGUP, CTRL_C) for number in STOP_SIGNALS}
    insisting = {pair for pair in found if insists(pair[1], pair[0])}
    assert insisting == {(b, n) for b in (HANGUP, CTRL_C) for n in (CTRL_C, TERMINATE)}


SAY = """
import sys
from seq2seq.command_line.printing import print_while_read
print_while_read()
for _ in range(3):
    print("x" * 9000, flush=True)
    print("y", file=sys.stderr)
assert not sys.stdout.isatty() and sys.stdout.encoding
open(sys.argv[1], "w").write("went on")
"""


def spoken(folder, stdout, stderr=None):
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", SAY, folder / "proof"]
    done = subprocess.run(command, stdout=stdout, stderr=stderr, env=environment, check=False)
    return done.returncode, (folder / "proof").read_text()


def test_a_program_goes_on_where_nobody_reads_it_any_more(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe, Path("/dev/full").open("w") as full:
        for streams in ((pipe, None), (full, None), (pipe, full), (full, full)):
            assert spoken(tmp_path, *streams) == (0, "went on")
    said = tmp_path / "said"
    with said.open("w") as file:
        spoken(tmp_path, file, file)
    assert said.read_text().count("y\n") == 3


def test_a_line_that_is_printed_to_a_file_can_be_read_while_the_program_goes_on(tmp_path):
    said = tmp_path / "said"
    program = """
import sys
from pathlib import Path
from seq2seq.command_line.printing import print_while_read
print_while_read()
print("epoch 1")
print(Path(sys.argv[1]).read_text() == "epoch 1\\n")
"""
    with said.open("w") as file:
        command = [sys.executable, "-c", program, said]
        subprocess.run(
            command, stdout=file, env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=True
        )
    assert said.read_text() == "epoch 1\nTrue\n"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_one_line_and_status_1_whatever_the_program(tmp_path, capsys, number):
    def work(_):
        with writing(tmp_path / "page.html", "-o"):
            raise OSError(number, "no room", str(tmp_path / "page.html"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["program"])
        assert run_program(program_parser(None), work) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {tmp_path}/page.html cannot be written to (no room)")


ONE_EPOCH = [
    "trainer.max_epochs=1", "data.train_pairs=64", "data.validation_pairs=4", "data.test_pairs=1",
    "tensorboard.heatmaps=0", "tensorboard.panel.first=0", "tensorboard.samples=0",
    "decoding.beam=1",
]  # fmt: skip
WRITTEN = ("ledger.json", "source.json", "model.safetensors", "test.jsonl", "metrics.json")
"""By a run, in this order."""


def test_a_run_that_finds_no_room_says_so_and_goes_on_by_the_same_command(
    tiny, tmp_path, monkeypatch
):
    full = []

    def flush(file, flush=writing_room.flush):
        if full and full[-1] in Path(f"/proc/self/fd/{file.fileno()}").readlink().name:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(file)

    monkeypatch.setattr(writing_room, "flush", flush)
    config = tiny(*ONE_EPOCH)
    for name in WRITTEN:
        full.append(name)
        with pytest.raises(TrainingFailed, match=f"{name} cannot be written to .*free some space"):
            run(config, tmp_path / "run")
    full.clear()
    assert run(config, tmp_path / "run")["num_epochs"] == 1
    assert not list(tmp_path.rglob("*.partial"))


PLANTED = (
    ".lock", "ledger.json", "config.yaml", "metrics.json", "tokenizer/source.json",
    "tokenizer/target.json", "checkpoints/best.ckpt", "checkpoints/previous.ckpt",
    "translations/validation.jsonl", "translations/test.jsonl", f".ledger.json.{os.getpid()}",
    f".config.yaml.{os.getpid()}", f"checkpoints/.last.ckpt.{os.getpid()}.partial",
    f".model.{os.getpid()}.partial", "events.out.tfevents.1.host.1.0.run",
)  # fmt: skip


def test_a_hangup_keeps_progress_and_links_planted_meanwhile_lead_nowhere(
    tiny, tmp_path, hangup_handler
):
    hangup_handler(signal.SIG_DFL)  # the tests may run under nohup
    config = tiny(*ONE_EPOCH)
    run_dir, thesis = tmp_path / "run", tmp_path / "elsewhere" / "thesis.txt"
    hang_up = lambda: signal.raise_signal(HANGUP)  # noqa: E731
    with stopped_after(3, hang_up), pytest.raises(TrainingInterrupted, match="signal 1, progress"):
        run(config, run_dir)
    thesis.parent.mkdir()
    thesis.write_text("mine")
    for number, name in enumerate(PLANTED):
        (run_dir / name).parent.mkdir(exist_ok=True)
        (run_dir / name).unlink(missing_ok=True)
        (run_dir / name).symlink_to(thesis.with_name("new") if number % 2 else thesis)
    with pytest.raises(InputError, match="lock is a link"):
        run(config, run_dir)
    (run_dir / ".lock").unlink()
    (run_dir / "metrics.json").unlink()  # it would be read
    assert run(config, run_dir)["num_epochs"] == 1
    assert [path.read_text() for path in thesis.parent.iterdir()] == ["mine"]


def test_an_error_of_the_program_itself_is_not_taken_for_one_of_the_disk(tmp_path):
    with pytest.raises(FileNotFoundError), refusals_in_one_line(tmp_path):
        (tmp_path / "not there").read_text()


def test_a_translation_that_found_no_room_is_continued(tmp_path):
    output = tmp_path / "out"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ResumableOutput(output, {}, resume=False) as first:
        first.add(["a"], "1\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
        try:
            with pytest.raises(TrainingFailed, match=f"{output} cannot be written to .*free some"):
                first.add(["b"], "2" * 1000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with ResumableOutput(output, {}, resume=True) as second:
        assert list(second.remaining(["a", "b"])) == ["b"]
        second.add(["b"], "2\n")
        second.complete()
    assert output.read_text() == "1\n2\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_that_never_began_is_begun_by_the_same_command(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("seq2seq.storage.writing.flush", full)
        with pytest.raises(TrainingFailed, match="free some space"):
            ResumableOutput(tmp_path / "out", {}, resume=True)
    assert not list(tmp_path.iterdir())
    with ResumableOutput(tmp_path / "out", {}, resume=True) as output:
        assert output.num_lines == 0


@pytest.mark.parametrize("kind", ["itself", "symlink_to", "hardlink_to", "descriptor"])
def test_a_file_that_is_read_is_not_written_to_by_any_of_its_names(tmp_path, kind):
    read = tmp_path / "text"
    read.write_text("mine")
    output = tmp_path / "output"
    if kind in {"symlink_to", "hardlink_to"}:
        getattr(output, kind)(read)
    with read.open("a") as opened:
        written = {"itself": read, "descriptor": opened.fileno()}.get(kind, output)
        with pytest.raises(InputError, match="--input and --output are the same file"):
            refuse_same_file({"--input": read}, {"other": tmp_path / "x", "--output": written})


def test_other_files_devices_and_those_that_are_not_there_may_be_written_to(tmp_path):
    (tmp_path / "a").write_text("same")
    (tmp_path / "b").write_text("same")
    null = Path(os.devnull)
    refuse_same_file({"--input": tmp_path / "a"}, {"--output": tmp_path / "b", "x": None})
    refuse_same_file({"a": null, "b": None}, {"c": null, "d": tmp_path / "not there", "e": 99999})


def test_a_progress_file_is_an_output_too(tmp_path):
    read = progress_of(tmp_path / "out")
    read.write_text("mine")
    with pytest.raises(InputError, match="same file"):
        refuse_same_file({"--input": read}, {"its .progress": progress_of(tmp_path / "out")})


def test_a_run_is_not_repeated_into_itself(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is the run that is to be repeated"):
        rerun(tmp_path, tmp_path / "link")


def test_a_run_does_not_start_from_the_model_it_will_replace(configured, tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setattr("seq2seq.runs.preparation.conditions_of", lambda *_: {})
    config = configured(f"init_from={tmp_path}/link", "device=cpu")
    from seq2seq.training.process_group import ALONE  # noqa: PLC0415

    with pytest.raises(InputError, match="is the model of this run itself"):
        prepare(config, ParallelCorpus([], [], []), tmp_path, ALONE)
