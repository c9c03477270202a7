"""The row of a run in TensorBoard's HParams tab."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsspec import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from torch.utils.tensorboard import FileWriter
from torch.utils.tensorboard.summary import hparams

from seq2seq.common.written import is_own


def write_hparams(folder: str, given: Mapping[str, Any], scores: Mapping[str, float]) -> None:
    """Write the row of TensorBoard's HParams tab, in the place of that of an earlier start.

    It has a file of events of its own: of all rows in the files of a folder TensorBoard shows the first, which for a
    run that goes on, such as with more epochs, would be overrides beside the scores of other ones. A TensorBoard that
    is open shows the first one until it is started again. The folder may be an address.
    """
    # a name of a folder may have ``::``, which would join two addresses
    system, path = url_to_fs(folder) if "://" in folder else (LocalFileSystem(), folder)
    names = [each["name"] for each in system.ls(path, detail=True) if each["type"] == "file"]
    earlier = [
        name for name in names if name.endswith(".hparams") and is_own(Path(folder, name.rpartition("/")[2]))
    ]
    plain = {key: value if is_plain(value) else str(value) for key, value in given.items()}
    writer = FileWriter(folder, filename_suffix=".hparams")
    for each in hparams(plain, dict(scores)):
        writer.add_summary(each)
    writer.close()
    for file in earlier:
        system.rm(file)


def is_plain(value: Any) -> bool:
    """Return whether TensorBoard shows a hyperparameter as it is: it leaves out infinite ones."""
    return isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
