"""The elements of a tensor as numbers, arrays and memory: the protocols by which Python takes them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....dialects.registry import OpError
from ...diagnostics import located
from ..staging.no_source import refuse_array
from ..trace.context import current
from .memory import storage

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["Elements"]


class Elements:
    """What asks for the value of a tensor: it is computed, once, and from then on the tensor has memory.

    Arrays and buffers made of a tensor share that memory.  Of a tensor in a function that is being compiled there is
    no value yet: TxcError.
    """

    __slots__ = ()

    @property
    def data(self) -> memoryview:
        """The memory of the elements: a view that writes through, dims as the user counts them."""
        with located():
            array = self._memory("data")
            return (array.view(f"V{array.itemsize}") if array.dtype.kind == "V" else array).data

    def data_ptr(self) -> int:
        """The address of the first element; valid while the tensor lives."""
        with located():
            return self._memory("data_ptr()").ctypes.data

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        with located():
            return np.array(self._shared("np.asarray").view(), dtype, copy=copy)

    @property
    def __array_struct__(self) -> Any:
        # What NumPy asks for before `__array__`.  The struct keeps the array that it is of.
        if current() is not None:
            raise AttributeError("a tensor of a function that is being compiled has no array struct")
        array = self._shared("__array_struct__")
        if array.dtype.kind == "V":  # bfloat16, which the struct cannot name
            raise AttributeError(f"the array struct has no {array.dtype}")
        return array.__array_struct__

    @property
    def __array_interface__(self) -> dict[str, Any]:
        # Whoever takes the interface keeps this tensor alive, so the memory must be the tensor's.
        here = _tensor(self)
        if current() is not None or (here.is_view and storage.place(here) is None):
            raise AttributeError("a tensor that is not in memory has no array interface")
        array = self._array("__array_interface__")
        if array.dtype.kind == "V":  # bfloat16, which the interface cannot name
            raise AttributeError(f"the array interface has no {array.dtype}")
        return array.__array_interface__

    def __buffer__(self, flags: int) -> memoryview:
        # What NumPy asks for first, before the struct, from Python 3.12 on.
        with located():
            array = self._memory("memoryview()")
        if array.dtype.kind == "V":  # bfloat16, which a buffer cannot name
            raise BufferError(f"a buffer has no {array.dtype}")
        return array.data

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        with located():
            array = self._memory("__dlpack__()")
            return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def _memory(self, what: str) -> np.ndarray:
        """The memory of the elements in the user's dims; that of its owner, where it is a view."""
        self._not_traced(what)
        here = _tensor(self)
        found = storage.give_memory(here)
        return found.T if here.layout == "col" else found

    def _shared(self, what: str) -> np.ndarray:
        """The elements, where they lie: stores into the array reach all that share them, the owner of a view too.

        A view of padding, or of several tensors, lies nowhere: its array is one of its own, as NumPy's is.  That of a
        view that cannot be stored into is read-only, as that of `np.broadcast_to` is.
        """
        here = _tensor(self)
        if here.reads_only:
            array = self._array(what).view()
            array.flags.writeable = False
            return array
        if not here.is_view or storage.place(here) is not None:
            return self._array(what)
        try:
            return self._memory(what)
        except OpError as error:
            if error.code != "TX0709":
                raise
            return self._elements()

    def _array(self, what: str) -> np.ndarray:
        self._not_traced(what)
        return self._elements()

    def _elements(self) -> np.ndarray:
        """The elements in the user's dims, outside a trace."""
        return storage.array_of(_tensor(self))

    @staticmethod
    def _not_traced(what: str) -> None:
        trace = current()
        if trace is not None:
            raise refuse_array(trace, what)

    def _number(self, what: str) -> Any:
        """Its only element, of NumPy's type, whose conversions Python's are."""
        with located():
            if current() is not None:
                raise OpError(
                    f"{what} needs the value of a tensor, which is known only when the compiled function runs",
                    "keep it a tensor: .astype() converts, np.floor rounds",
                    "TX0231",
                )
            array = self._array(what)
            if array.size != 1:
                raise OpError(f"{what} takes a tensor of one element, not {_tensor(self).user_type}", code="TX0242")
            return array.reshape(())[()]

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __index__(self) -> int:
        return operator.index(self._number("an index"))


def _tensor(elements: Elements) -> Tensor:
    return cast("Tensor", elements)
