"""Runs the parts of the torture and counts: the figures of docs/reliability.md."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import (
    bombs,
    checkpoints,
    configs,
    corpora,
    damage,
    disks,
    endings,
    files,
    fuzz,
    kills,
    leavings,
    links,
    machine,
    malice,
    resuming,
    signals,
    strangers,
    tab,
)

Results = Iterator[tuple[str, list[str]]]

PARTS: dict[str, Callable[[Path, float], Results]] = {
    "resume": resuming.check_all,
    "kills": lambda folder, share: kills.kill_runs(folder, _count(200, share)),
    "saves": lambda folder, share: kills.kill_saves(folder, _count(300, share)),
    "sigterm": lambda folder, share: signals.send_sigterm(folder, _count(40, share)),
    "sigint": lambda folder, share: signals.send_sigint(folder, _count(20, share)),
    "sighup": lambda folder, share: endings.hang_up(folder, _count(40, share)),
    "readers": lambda folder, share: endings.lose_readers(folder, _count(36, share)),
    "clocks": lambda folder, share: endings.set_back_clocks(folder, _count(12, share)),
    "systems": endings.meet_file_systems,
    "disks": lambda folder, share: disks.fill(folder, _count(100, share)),
    "outputs": lambda folder, share: disks.fill_outputs(folder, _count(20, share)),
    "links": links.check_all,
    "truncations": lambda folder, share: damage.damage_checkpoints(
        folder, damage.cut_off, _count(20, share)
    ),
    "flips": lambda folder, share: damage.damage_checkpoints(
        folder, damage.flip_a_bit, _count(50, share)
    ),
    "models": lambda folder, share: damage.damage_models(folder, _count(60, share)),
    "machine": machine.check_all,
    "malice": malice.check_all,
    "configs": lambda _, share: configs.check_generated(_count(600, share)),
    "programs": lambda folder, share: configs.check_programs(folder, _count(140, share)),
    "strangers": strangers.check_all,
    "studies": leavings.check_journals,
    "saved": leavings.check_saved,
    "environment": leavings.check_environment,
    "corpora": corpora.check_all,
    "bombs": bombs.check_all,
    "tab": tab.check_all,
    "files": files.check_all,
    "checkpoints": checkpoints.check_all,
    "fuzz": lambda folder, share: fuzz.fuzz(folder, 300 * share),
}


def _count(full: int, share: float) -> int:
    return max(round(full * share), 1)


def main() -> int:
    """Run the parts; exit status 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--share", type=float, default=1.0, help="of the full counts, 0 to 1")
    parser.add_argument("--folder", type=Path, help="where to work; kept, if given")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - PARTS.keys()
    if unknown or not 0 < arguments.share <= 1:
        parser.error(f"no such part or share: {', '.join(unknown) or arguments.share}")
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="torture"))
    failed = [name for name in arguments.parts or PARTS if not run_part(name, folder, arguments)]
    if not arguments.folder:
        shutil.rmtree(folder)
    return 1 if failed else 0


def run_part(name: str, folder: Path, arguments: argparse.Namespace) -> bool:
    """Run one part and print its figures; returns whether all was well."""
    started = time.monotonic()
    num_checks = num_wrong = 0
    for what, wrong in PARTS[name](folder / name, arguments.share):
        num_checks += 1
        if wrong:
            num_wrong += 1
            print(f"  WRONG {name}, {what}:", *wrong[:8], sep="\n    ", file=sys.stderr, flush=True)
    seconds = time.monotonic() - started
    right = num_checks - num_wrong
    print(
        f"{name:<12} {right:>4} of {num_checks:>4} as they should be  {seconds:>6.0f} s", flush=True
    )
    return not num_wrong
