"""Measure how long a command says nothing on a terminal, after what.

    python benchmarks/silence.py -- python train.py trainer.max_epochs=1 name=silence overwrite=true

Runs the command under a pseudo-terminal and notes when it writes. A silence is announced if the line before it says what
is being done (it ends in "…") or is a bar. Prints the longest silences, and the longest one that was not announced.
"""

import argparse
import os
import pty
import re
import select
import sys
import time

BAR = re.compile(r"\d+%\||it/s|━")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def silences(command: list[str]) -> tuple[list[tuple[float, bool, str]], int]:
    """Return the silences of a command in seconds, whether each was announced, and the line before it; and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    found, line, last = [], "", time.monotonic()
    while True:
        select.select([terminal], [], [])
        try:
            text = os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the command has ended
            text = ""
        now = time.monotonic()
        found.append((now - last, line.endswith("…") or BAR.search(line) is not None, line))
        if not text:
            break
        sys.stdout.write(text)
        sys.stdout.flush()
        lines = [part.strip() for part in re.split(r"[\r\n]+", ESCAPES.sub("", text)) if part.strip()]
        line, last = (lines[-1] if lines else line), now
    return found, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Run the command and print its silences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=8, help="of silences to print (default: 8)")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    found, status = silences(options.command)
    print(f"\nstatus {status}; the longest silences [s]:")
    for seconds, announced, line in sorted(found, reverse=True)[: options.number]:
        print(f"{seconds:6.1f}  {'announced' if announced else 'not announced':<14} after: {line[:80]!r}")
    longest = max((seconds for seconds, announced, _ in found[:-1] if not announced), default=0.0)
    print(
        f"the longest that was not announced: {longest:.1f} s; the end of the process after its last line: {found[-1][0]:.1f} s"
    )


if __name__ == "__main__":
    main()
