"""Jobs of two processes, killed and stopped at random: python -m tests.torture_together [COUNT]."""

import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.torture.comparison import differences, left_by
from tests.torture.together import run_job, said_by, start_job
from tests.torture.victims import wait

OPTIONS = ["model.dropout=0.2", "trainer.accumulate=2", "trainer.checkpoint_every=2"]
NUMBERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def main() -> int:
    """Check so many jobs; exit status 1 if anything was wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    generator = random.Random(5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "jobs"
        whole = folder / "whole" / "run"  # pictures hold the name of the run
        started = time.monotonic()
        if run_job(whole, OPTIONS) != [0, 0]:
            print(said_by(whole))
            return 1
        seconds = time.monotonic() - started
        wrong = [
            check(folder / str(index) / "run", whole, seconds, generator) for index in range(count)
        ]
    print(f"{count - sum(map(bool, wrong))} of {count} as they should be")
    return int(any(wrong))


def check(run_dir: Path, whole: Path, seconds: float, generator: random.Random) -> list[str]:
    """Disturb one process of a job, continue it, and compare it with one left alone."""
    number, rank = generator.choice(NUMBERS), generator.randrange(2)
    processes = start_job(run_dir, OPTIONS)
    time.sleep(generator.uniform(0, seconds))
    have_met = (run_dir / "ledger.json").exists()
    os.kill(processes[rank], number)
    if not have_met:  # who waits for the others to come is ended by the launcher
        os.kill(processes[1 - rank], signal.SIGKILL)
    statuses = [wait(process) for process in processes]
    hangs = have_met and statuses[1 - rank] == -signal.SIGKILL
    wrong = [f"hangs after signal {number}"] if hangs else []
    if run_job(run_dir, OPTIONS) != [0, 0]:
        wrong.append(f"does not continue: {said_by(run_dir)}")
    else:
        wrong += differences(left_by(whole), left_by(run_dir))
    if wrong:
        print(f"WRONG signal {number} to process {rank}, {statuses}:", *wrong[:8], sep="\n  ")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
