"""make store-torture: builds of a store that are killed at random moments; the next start is right.

Kills with SIGKILL builds of one process and of two, alone and beside a second builder.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from tests.programs import FORKS
from tests.stores import (
    build,
    contents,
    opened,
    pairs_of,
    recipe_of,
    write_shards,
)

NUM_KILLS = 30
NUM_PAIRS = 60_000


def torture(folder, generator, *, num_kills, num_pairs, processes=(1, 2)):
    """Kill so many builds before they end; tells of each build whether it was."""
    recipe = recipe_of(write_shards(folder / "text", pairs_of(num_pairs)))
    durations, expected = {}, None
    for count in processes:
        root = folder / f"undisturbed-{count}"
        builder = run_builder(root, recipe, count)
        started = time.monotonic()
        builder.join()
        durations[count] = time.monotonic() - started
        assert expected in (None, contents(root))
        expected = contents(root)
    assert expected
    killed = []
    while sum(killed) < num_kills:
        turn = len(killed)
        root, count = folder / f"build-{turn}", processes[turn % len(processes)]
        builders = [run_builder(root, recipe, count) for _ in range(1 + turn % 3 // 2)]
        time.sleep(generator.uniform(0, durations[count]) if turn else 0)
        killed.append(builders[0].is_alive())
        builders[0].kill()
        for builder in builders:
            builder.join()
        whole = contents(root) == expected if root.exists() else False
        left = sum(".partial/" in name for name in contents(root)) if root.exists() else 0
        opened(root, recipe)
        assert contents(root) == expected
        how = "killed" if killed[-1] else "ended "
        print(f"{turn + 1:>2} {how}: {'whole' if whole else f'{left} files of a part'}; then right")
    return killed


def run_builder(root, recipe, num_processes):
    builder = FORKS.Process(target=build, args=(root, recipe, num_processes))
    builder.start()
    while builder.is_alive() and not root.exists():  # what loads its modules builds nothing yet
        time.sleep(0.001)
    return builder


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as scratch:
        killed = torture(
            Path(scratch), random.Random(seed), num_kills=NUM_KILLS, num_pairs=NUM_PAIRS
        )
    late = len(killed) - NUM_KILLS
    print(f"{NUM_KILLS} builds killed, {late} more had ended before; every next start right")
