"""`asarray`: a lazy tensor of whatever has elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ...diagnostics import located
from ..trace.context import current
from .apply import as_tensor, is_traced, tensor_of_array
from .memory.memory_tensors import TensorMap
from .memory.storage import give_memory
from .methods.elements import astype, element_named
from .methods.elements import copy as copied
from .tensor import Tensor

__all__ = ["asarray"]


def asarray(
    a: Any, /, layout: str = "row", *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """A lazy tensor of an array, a number, or nested lists of them.

    ``layout="col"`` counts its dims as a column-major tensor's.  ``copy=True`` takes the elements as they are now;
    ``copy=False`` shares memory, and is a ValueError where that is not possible.
    """
    with located():
        if layout not in ("row", "col"):
            raise OpError(f"layout {layout!r} is not 'row' or 'col'", code="TX0213")
        if device not in (None, "cpu"):
            raise OpError(
                f"tensors live on 'cpu', not on {device!r}", "with txc.device(…) says what computes", "TX0701"
            )
        element = None if dtype is None else element_named(dtype)
        if isinstance(a, Tensor):
            made = a if element is None or a.element is element else astype(a, element)
            if copy is False and made is not a:
                raise OpError(
                    f"a tensor of {element} made of {a.user_type} is a copy", "leave copy=False out", "TX0240"
                )
            if not copy or made is not a:
                return made
            mine = copied(a)
            if current() is None and mine is not a:
                give_memory(mine)  # stores into it then run one by one, and not all that led to it with the last
            return mine
        if isinstance(a, (list, tuple)) and is_traced(a):
            made = as_tensor(_computed(a) if current() is None and _is_of_elements(a) else a)
            return made if element is None else astype(made, element)
        array = np.array(a, None if element is None else element.numpy, copy=copy)
        if copy is False:
            return TensorMap(array, layout=layout)
        made = tensor_of_array(array.T if layout == "col" else array)
        return Tensor(made.value, layout=layout, boxed=True)


def _is_of_elements(a: Any) -> bool:
    """Whether nested lists are of tensors of rank 0 and one dtype: as many expressions as the array has elements."""
    leaves = list(_leaves(a))
    return all(isinstance(x, Tensor) and not x.ndim and x.element is leaves[0].element for x in leaves)


def _computed(a: Any) -> np.ndarray:
    """Nested lists of tensors as an array."""

    def computed(x: Any) -> Any:
        return [computed(v) for v in x] if isinstance(x, (list, tuple)) else np.asarray(x)[()]

    return np.asarray(computed(a))


def _leaves(a: Any) -> Iterator[Any]:
    for x in a:
        if isinstance(x, (list, tuple)):
            yield from _leaves(x)
        else:
            yield x
