"""make sweep-torture: a sweep whose driver is killed at random moments ends as if it had not been.

Kills the driver of a grid and the two drivers of a search, with SIGKILL, and starts them again.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.swept import ends_of, folders_of, ledgers_of, run_sweep, start_sweep

NUM_KILLS = 20
GRID = ["seed=range(1,31)", "sweep.jobs=2", "model.embedding_size=60", "trainer.max_epochs=5"]
SEARCH = [
    "sweep.sampler=tpe",
    "sweep.name=torture",
    "sweep.trials=40",
    "sweep.jobs=2",
    "model.dropout=interval(0,0.5)",
    "attention=additive,dot",
    "model.embedding_size=60",
    "trainer.max_epochs=5",
]


def disturb(folder, overrides, num_drivers, generator):
    """Start drivers, kill them, start them again."""
    for kill in range(NUM_KILLS):
        drivers = [
            start_sweep(folder, *overrides, stdout=subprocess.DEVNULL) for _ in range(num_drivers)
        ]
        for driver in drivers:
            try:
                driver.wait(timeout=generator.uniform(0.5, 5))
            except subprocess.TimeoutExpired:
                driver.kill()
                driver.wait()
        num_ended = sum(len(ends_of(each)) for each in folders_of(folder).values())
        print(f"kill {kill + 1:>2}: {num_ended} jobs have ended", flush=True)


def torture_grid(root, generator):
    undisturbed, disturbed = root / "undisturbed", root / "disturbed"
    for folder in (undisturbed, disturbed):
        folder.mkdir()
    status, printed = run_sweep(undisturbed, *GRID)
    assert status == 0, printed
    disturb(disturbed, GRID, 1, generator)
    status, printed = run_sweep(disturbed, *GRID)
    assert status == 0, printed
    expected = {name: ends_of(folder) for name, folder in folders_of(undisturbed).items()}
    found = {name: ends_of(folder) for name, folder in folders_of(disturbed).items()}
    assert all(len(ends) == 1 for ends in found.values()), found
    assert found == expected
    histories = [
        {name: ledger.history for name, ledger in ledgers_of(folder).items()}
        for folder in (undisturbed, disturbed)
    ]
    assert histories[0] == histories[1]
    print(f"grid: {len(found)} jobs, each ended once with the result of the undisturbed sweep")


def torture_search(root, generator):
    folder = root / "search"
    folder.mkdir()
    disturb(folder, SEARCH, 2, generator)
    status, printed = run_sweep(folder, *SEARCH)
    assert status == 0, printed
    ends = {name: ends_of(run) for name, run in folders_of(folder).items()}
    assert all(len(each) == 1 for each in ends.values()), ends
    assert len(ends) == 40, len(ends)
    assert "40 finished" in printed, printed
    print("search: 40 trials, none lost, none twice, each ended once")


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as root:
        torture_grid(Path(root), random.Random(seed))
        torture_search(Path(root), random.Random(seed))
