"""Fetching a public corpus, with a progress bar."""

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from seq2seq.errors import InputError
from seq2seq.plain_text import one_line
from seq2seq.storage.failures import is_full, refusal
from seq2seq.text.download import Patience, download
from seq2seq.text.multi30k import checksum


def download_multi30k(address: str, root: Path, names: list[str]) -> None:
    """Fetch files of Multi30k into a folder.

    Args:
        address: where the files lie, without the last slash.
        root: the folder.
        names: such as ``train.en``.

    Raises:
        InputError: a file cannot be fetched, or is not the published one.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"data.root={root} cannot be made ({error.strerror})") from error
    console = Console(stderr=True)
    console.print(Text(one_line(f"fetching {len(names)} files of Multi30k to {root}")))
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bars:
        for name in names:
            _download_one(address, root, name, bars)


def _download_one(address: str, root: Path, name: str, bars: Progress) -> None:
    bar = bars.add_task(f"{name}.gz", total=None)
    try:
        download(
            f"{address.rstrip('/')}/{name}.gz",
            root / f"{name}.gz",
            checksum(name),
            progress=lambda have, total: bars.update(bar, completed=have, total=total),
            patience=Patience(),
        )
    except OSError as error:
        if is_full(error):
            raise refusal(error, root) from error
        raise InputError(f"data.root={root} cannot be written to ({error.strerror})") from error
    except InputError as error:
        raise InputError(f"{error}; or set data.root to a folder that holds {name}.gz") from error
