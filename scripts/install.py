"""Install packages into an environment, and say in a few lines how far it is.

    python scripts/install.py .venv --editable .            # make train
    python scripts/install.py .venv --cpu --editable '.[dev]'

The environment is made where there is none. uv installs where it is on the path, else pip. PyTorch comes first; with
``--cpu`` its build without CUDA, which is smaller. Versions are those of constraints.txt.
"""

import argparse
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
EVERY = 25
"""A log that is no terminal has a line for so many packages."""


def show(text: str, *, is_last: bool = False) -> None:
    """Show how far it is: on a terminal in place of what was shown before."""
    if sys.stdout.isatty():
        print(
            f"\r\033[K{text:.{shutil.get_terminal_size().columns - 1}}",
            end="\n" if is_last else "",
            flush=True,
        )
    else:
        print(text, flush=True)


def pip(python: Path, arguments: list[str]) -> None:
    """Install with pip; its output is shown only if it fails."""
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-color",
        "--progress-bar",
        "off",
        *arguments,
    ]
    lines, names, size = list[str](), set[str](), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            lines.append(line)
            if found := re.match(r"\s*Collecting ([\w.-]+)", line):
                names.add(found[1])
                if sys.stdout.isatty() or len(names) % EVERY == 0:
                    show(f"  {len(names)} packages, {size:,.0f} MB: {found[1]}")
            elif found := re.search(r"(?:Downloading|Using cached) .*\(([\d.]+) (kB|MB|GB)\)", line):
                size += float(found[1]) * {"kB": 1e-3, "MB": 1, "GB": 1e3}[found[2]]
                if sys.stdout.isatty() and found[2] != "kB":
                    show(line.strip())
            elif line.startswith("Installing collected packages"):
                show(f"  unpacking {line.count(',') + 1} packages, {size:,.0f} MB")
    if process.returncode:
        sys.exit(f"{''.join(lines)}error: pip could not install the packages: see above")


def uv(python: Path, arguments: list[str]) -> None:
    """Install with uv, which draws a bar on a terminal."""
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    command = ["uv", "pip", "install", "--python", str(python), *quiet, *arguments]
    if status := subprocess.run(command, check=False).returncode:
        sys.exit(status)


def main() -> None:
    """Install what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment", type=Path)
    parser.add_argument("--cpu", action="store_true", help="PyTorch's build without CUDA")
    parser.add_argument("--editable", action="append", default=[], metavar="FOLDER[EXTRAS]")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036  # this file itself runs on older ones
        sys.exit("error: Python 3.11 or later is needed: make PYTHON=python3.12 …")
    python = options.environment / "bin" / "python"
    if not python.exists():
        show(f"making the environment {options.environment}", is_last=True)
        venv.create(options.environment, symlinks=True, with_pip=True)
    install = uv if shutil.which("uv") else pip
    constraints = ["--constraint", "constraints.txt"]
    show(f"installing PyTorch with {install.__name__}", is_last=True)
    install(python, [*constraints, "torch", *(["--index-url", CPU_INDEX] if options.cpu else [])])
    show(f"installing the other packages with {install.__name__}", is_last=True)
    install(python, [*constraints, *(part for each in options.editable for part in ("--editable", each))])
    show(f"installed in {options.environment}", is_last=True)


if __name__ == "__main__":
    main()
