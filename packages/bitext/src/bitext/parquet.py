"""Parquet, by the package pyarrow."""

import os
from collections.abc import Iterator

from bitext.columns import Columns
from bitext.pair import File, FormatError, Pair


def read(path: File, columns: Columns) -> Iterator[Pair]:
    """Yield the pairs of rows; ``{"translation": {"en": …}}`` has the column ``translation.en``.

    Raises:
        FormatError: The package is missing, the file is damaged, or it is not clear which columns are meant.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise FormatError(f"{path} is Parquet, which needs a package: pip install pyarrow") from error
    try:
        with parquet.ParquetFile(os.fspath(path)) as file:
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"{path} is damaged or cannot be read: {error}") from error
    while any(pyarrow.types.is_struct(each.type) for each in table.schema):
        table = table.flatten()
    numbers = range(1, table.num_rows + 1)
    yield from columns.pairs(
        path, table.column_names, lambda name: table.column(name).to_pylist(), numbers, "row"
    )
