"""New memory for tensors of sizes that the user gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import dtype
from .....runtime.buffers.buffer_pool import empty
from ....diagnostics import located

__all__ = ["allocated", "check_layout", "checked_sizes"]


def allocated(element: Any, sizes: Sequence[int] | int, layout: str) -> np.ndarray:
    """New memory for a tensor, in graph dims; TxcError for dtypes and sizes that there are not."""
    with located():
        check_layout(layout)
        try:
            kind = dtype(element)
        except TypeError as error:
            raise OpError(str(error), code="TX0205") from error
        shape = checked_sizes(sizes)
        return empty(shape[::-1] if layout == "col" else shape, kind.numpy)


def check_layout(layout: str) -> None:
    """OpError for a layout that there is not."""
    if layout not in ("row", "col"):
        raise OpError(f"layout {layout!r} is not 'row' or 'col'", code="TX0213")


def checked_sizes(sizes: Sequence[int] | int) -> tuple[int, ...]:
    given = (sizes,) if isinstance(sizes, (int, np.integer)) else tuple(sizes)
    for n in given:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise OpError(f"sizes are integers that are not negative, not {given!r}", code="TX0280")
    return tuple(int(n) for n in given)
