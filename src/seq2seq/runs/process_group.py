"""A process takes its place among those that train together."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from seq2seq.command_line.program import SAID
from seq2seq.config import Config
from seq2seq.errors import InputError, JobBroken, TrainingFailed, TrainingInterrupted
from seq2seq.runs.launch import (
    LAUNCHED,
    LOCAL_RANK,
    RANK,
    SIZE,
    Place,
    follow_launcher,
    place_in_job,
)
from seq2seq.training.process_group import ALONE, ProcessGroup


@contextmanager
def process_group(config: Config) -> Iterator[ProcessGroup]:
    """Be what the environment says this process is: alone, or one of several.

    Of several, the first alone prints; what ends them all is said by one.

    Raises:
        InputError: there are more or fewer processes than devices, or no device for this one.
        TrainingFailed: the others do not come.
    """
    place = place_in_job(config.device, os.environ)
    if place.size == 1:
        yield ALONE
        return
    follow_launcher()
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stdout(sys.stdout if place.rank == 0 else nowhere),
        _joined(config, place) as job,
    ):
        try:
            yield job
        except (InputError, TrainingFailed, TrainingInterrupted) as error:
            # the launcher knows more of a broken job than those that are left
            told = isinstance(error, JobBroken) and LAUNCHED in os.environ
            if told or not job.may_speak():
                error.add_note(SAID)
            raise


@contextmanager
def _joined(config: Config, place: Place) -> Iterator[ProcessGroup]:
    # torch takes seconds, and one process alone refuses wrong input without it
    from seq2seq.runs.making.device import build_device  # noqa: PLC0415
    from seq2seq.training.joined_group import joined, slurm_address  # noqa: PLC0415

    device = build_device(config.device, place.local_rank)
    os.environ |= {RANK: str(place.rank), LOCAL_RANK: str(place.local_rank), SIZE: str(place.size)}
    os.environ["NODE_RANK"] = str(place.rank // config.device.devices)
    if "MASTER_ADDR" not in os.environ:
        os.environ |= slurm_address()
    with joined(place.rank, place.size, device) as job:
        yield job
