"""The file of ``-o``: results as its suffix says, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from ..aot.whole_file import whole_file
from .inputs import CliError

__all__ = ["check_output", "write_results"]

#: What stands between the numbers of a line.
_TABLES = {".csv": ",", ".txt": " "}


def check_output(path: Path) -> None:
    """CliError, before anything runs, where a file is no file, or its suffix names no format."""
    if not path.name or path.is_dir():
        raise CliError(f"cannot write {path}: it is a folder", "name a file in it")
    if path.suffix not in (".npy", ".npz", *_TABLES) and (path.is_file() or not path.exists()):
        raise CliError(f"cannot write {path}: its suffix names no format", "write to a .npy, .npz, .csv or .txt file")


def write_results(path: Path, results: Sequence[np.ndarray]) -> None:
    """Write the results: several into a .npz; into a table one of rank 2 at most.  CliError where that cannot be."""
    if len(results) > 1 and path.suffix != ".npz":
        raise CliError(f"there are {len(results)} results, and {path} holds one array", "write to a .npz file")
    separator = _TABLES.get(path.suffix)
    if separator is not None and (results[0].ndim > 2 or results[0].dtype.kind not in "biuf"):
        what = f"{results[0].dtype} of rank {results[0].ndim}"
        raise CliError(f"{path} is a table of numbers, and the result is {what}", "write to a .npy file")
    try:
        with whole_file(path) as file:
            if path.suffix == ".npz":
                np.savez(file, *results)
            elif separator is not None:
                _write_table(file, results[0], separator)
            else:
                np.save(file, results[0])
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror or error}") from None


def _write_table(file: IO[bytes], array: np.ndarray, separator: str) -> None:
    """A line for each row, or for each element of a vector, each number so that it is read back as it was."""
    rows = array.reshape(-1, 1) if array.ndim < 2 else array
    if array.dtype.kind == "b":
        rows = rows.astype(np.int8)  # which NumPy reads bools from
    for row in rows:
        file.write(separator.join(map(str, row)).encode() + b"\n")
