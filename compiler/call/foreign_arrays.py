"""Arrays whose class has a say in what NumPy does with them: masked arrays, matrices, objects with NumPy's protocols.

Compiled code knows plain arrays only, so calls that meet such an array are Python's.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .signature import is_named

if TYPE_CHECKING:
    from ..cache.captured_value import Captured

__all__ = ["InChunks", "LeftToPython", "foreign", "is_dask_array", "is_xarrays", "refuse_container", "refuse_foreign"]

#: Subclasses that compute as plain arrays do.
_PLAIN_ARRAYS = (np.ndarray, np.memmap)
#: By any of these NumPy asks an object for an array, or to compute itself.
_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__array__", "__array_interface__", "__array_struct__")
#: Names that say nothing about what a container holds.
_NOT_READ = frozenset(
    "__init__ __new__ __doc__ __repr__ __str__ __init_subclass__ __class_getitem__ __hash__ __reduce__ __reduce_ex__ "
    "__sizeof__ __dir__ __setattr__ __delattr__ __getstate__".split()
)
#: What NumPy reads as an array though it says nothing, and whose content may change; `array.array` is another.
_BUFFERS = (bytearray, memoryview)


class LeftToPython(TypeError):
    """A call that Python makes, and why; the facts that a trace took before it knew."""

    captured: Sequence[Captured] = ()

    def again(self) -> LeftToPython:
        """The same for a later call: an error that was raised holds the frames that it went through."""
        made = LeftToPython(*self.args)
        made.captured = self.captured
        return made


class InChunks(LeftToPython):
    """A call with an array of Dask's, which is in chunks: a program for each (`compiler/chunks/`)."""


def foreign(value: Any) -> bool:
    """Whether compiled code must not take the object for a plain array, nor NumPy compute with it while staging."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return kind not in _PLAIN_ARRAYS
    if isinstance(value, np.generic) or kind.__module__.partition(".")[0] in ("txc", "builtins", "types"):
        return isinstance(value, _BUFFERS)
    return (
        isinstance(value, _BUFFERS)
        or _is_machine_array(value)
        or (not hasattr(kind, "__txc_array__") and any(hasattr(kind, name) for name in _PROTOCOLS))
    )


def _is_machine_array(value: Any) -> bool:
    """Whether it is an `array.array`; its module is there where one is, and costs a start where none is."""
    module = sys.modules.get("array")
    return module is not None and isinstance(value, module.array)


def is_dask_array(value: Any) -> bool:
    """Whether it is an array of Dask's: there are none before Dask is imported."""
    module = sys.modules.get("dask.array.core")
    kind = getattr(module, "Array", None)  # another thread may be importing it now
    return kind is not None and isinstance(value, kind)


def is_xarrays(value: Any) -> bool:
    """Whether it is one of xarray's arrays or tables, which are known by their names."""
    return type(value).__module__.partition(".")[0] == "xarray"


def refuse_container(name: str, value: Any) -> None:
    """LeftToPython where a list, tuple or dict is of a class of its own that answers otherwise than they do."""
    if type(value) not in (list, tuple, dict, OrderedDict) and not is_named(value) and _answers_by_itself(type(value)):
        raise LeftToPython(f"{name}, of class {type(value).__name__}, is no plain list, tuple or dict")


def _answers_by_itself(kind: type) -> bool:
    """Whether a subclass of a container has another method than that one for reading it."""
    plain = next(c for c in (list, tuple, dict) if issubclass(kind, c))
    own = {name for c in kind.__mro__[: kind.__mro__.index(plain)] for name in vars(c)}
    return "__missing__" in own or bool((own - _NOT_READ) & set(dir(plain)))


def refuse_foreign(name: str, value: Any) -> None:
    """LeftToPython where the value called `name` is foreign."""
    if foreign(value):
        if is_dask_array(value):
            raise InChunks(f"{name} is an array of Dask's")
        raise LeftToPython(
            f"{name}, of class {type(value).__name__}, follows rules of its own where compiled code takes plain "
            "arrays, as np.asarray makes them"
        )
