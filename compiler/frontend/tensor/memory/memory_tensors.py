"""Tensors with memory: `TensorFixedSize`, `TensorMap` on memory of others, and `TensorRef`, single elements on demand.

The semantics are the Eigen documents' (classes Tensor, TensorFixedSize, TensorMap, TensorRef).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....dialects.dims.dims import dim
from .....dialects.registry import OPS, OpError
from .....dialects.types import dtype
from ....diagnostics import located
from ...lazy.evaluate import evaluate_value
from ...trace.emit import emit
from ...trace.graph import Value
from ..apply import as_tensor
from ..leaves import leaf
from ..tensor import Tensor
from .allocation import check_layout, checked_sizes
from .storage import readable

__all__ = ["TensorFixedSize", "TensorMap", "TensorRef"]


class TensorFixedSize(Tensor):
    """A tensor of `sizes` that never change: code that reads it is compiled for these sizes.

    Its memory is not initialised.  TxcError where an expression of other sizes is assigned.
    """

    __slots__ = ()

    def __init__(self, element: Any, sizes: Sequence[int] | int, *, layout: str = "row"):
        super().__init__(element, sizes, layout=layout)
        assert self.memory is not None
        self._value = leaf(self.memory, fixed=True)

    def __reduce__(self) -> Any:
        return _restored_fixed, (self._array("pickle"), self.layout)

    def __copy__(self) -> TensorFixedSize:
        return _restored_fixed(self._array("copy"), self.layout)


def _restored_fixed(array: np.ndarray, layout: str) -> TensorFixedSize:
    """A tensor of fixed size with a copy of an array's elements."""
    made = TensorFixedSize(array.dtype, array.shape, layout=layout)
    assert made.memory is not None
    made.memory[...] = array.T if layout == "col" else array
    return made


class TensorMap(Tensor):
    """A tensor on memory that something else owns: nothing is copied, stores write through, its size never changes.

    `buffer` is a NumPy array, or has the buffer protocol, the array interface or DLPack.  Without `dims` it is taken in
    its own shape, with whatever strides; `dims` count the elements of one block of memory in the order of `layout`.
    A buffer of bytes needs `element`.  TxcError where the buffer is too small, or is no memory.
    """

    __slots__ = ("_buffer",)

    def __init__(
        self, buffer: Any, dims: Sequence[int] | int | None = None, *, layout: str = "row", element: Any = None
    ):
        with located():
            check_layout(layout)
            array = _mapped(buffer, element)
            if dims is not None:
                shape = checked_sizes(dims)
                array = _shaped(array, shape[::-1] if layout == "col" else shape, shape)
            elif layout == "col":
                array = array.T
            super().__init__(leaf(array), layout=layout, boxed=True)
        self.memory = array
        #: What owns the memory lives as long as the map.
        self._buffer = buffer


def _mapped(buffer: Any, element: Any) -> np.ndarray:
    """The memory of a buffer as an array that shares it."""
    if isinstance(buffer, Tensor):
        found = buffer._array("TensorMap")
        # One block of memory counts in its own order, which is the reverse of a column-major tensor's dims.
        found = found.T if buffer.layout == "col" else found
    elif isinstance(buffer, np.ndarray):
        found = buffer.view()  # the caller may give theirs another shape
    elif hasattr(buffer, "__array_interface__"):
        found = np.asarray(buffer)
    elif hasattr(buffer, "__dlpack__"):
        found = np.from_dlpack(buffer)
    else:
        try:
            found = np.asarray(memoryview(buffer))
        except (TypeError, ValueError) as error:
            raise OpError(
                f"TensorMap maps memory, and a {type(buffer).__name__} has none",
                "pass a NumPy array, or an object with the buffer protocol or DLPack; txc.asarray copies",
                "TX0702",
            ) from error
    if element is not None:
        kind = dtype(element).numpy
        if found.itemsize != kind.itemsize and found.dtype.kind not in "uiSV":
            raise OpError(f"TensorMap of {kind} on memory of {found.dtype}", "leave element= out", "TX0702")
        try:
            found = found.view(kind)
        except ValueError as error:
            raise OpError(f"{found.nbytes} bytes are no whole number of {kind}", code="TX0703") from error
    return found


def _shaped(array: np.ndarray, memory_dims: tuple[int, ...], dims: tuple[int, ...]) -> np.ndarray:
    """The first elements of one block of memory under other dims."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise OpError(
            f"TensorMap with dims needs one block of memory, not an array of strides {array.strides}",
            "leave dims out to map it as it is",
            "TX0702",
        )
    needed = math.prod(dims)
    if array.size < needed:
        raise OpError(f"TensorMap of dims {dims} needs {needed} elements, the buffer has {array.size}", code="TX0703")
    block = array if array.flags.c_contiguous else array.T
    return block.reshape(-1)[:needed].reshape(memory_dims)


class TensorRef:
    """An expression of which single elements are computed when asked for: ``ref[i, j]``; also tells its dims.

    All of it is never computed.  Where most elements are needed, evaluate it instead: ``expression.eval(device=…)``.
    """

    def __init__(self, expression: Any):
        with located():
            self.expression: Tensor = as_tensor(expression)

    @property
    def ndim(self) -> int:
        return self.expression.ndim

    rank = ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.expression.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.expression.dtype

    @property
    def layout(self) -> str:
        return self.expression.layout

    def dimensions(self) -> tuple[int, ...]:
        return self.shape

    def dimension(self, n: int) -> int:
        return self.shape[n]

    def __getitem__(self, index: Any) -> Any:
        """The element at as many integers as the rank, as a NumPy scalar.  TxcError for any other index."""
        with located():
            at = self._position(index if isinstance(index, tuple) else (index,))
            here = readable(self.expression)
            if here is not None:
                return here[at]
            return self._compute(at)

    def _position(self, index: tuple[Any, ...]) -> tuple[int, ...]:
        """The index in graph dims, from 0."""
        if len(index) != self.ndim or not all(hasattr(i, "__index__") for i in index):
            raise OpError(
                f"an element of {self.expression.user_type} has {self.ndim} integers as its index, not {index!r}",
                "evaluate the expression to slice it",
                "TX0704",
            )
        at = []
        for axis, (i, n) in enumerate(zip(index, self.shape)):
            if not -n <= int(i) < n:
                raise OpError(
                    f"index {i} is out of bounds for dim {axis} of {self.expression.user_type}", code="TX0251"
                )
            at.append(int(i) % n)
        return tuple(at[::-1] if self.layout == "col" else at)

    def _compute(self, at: tuple[int, ...]) -> Any:
        return evaluate_value(self.element(at))[()]

    def element(self, at: Sequence[int]) -> Value:
        """The rank-0 value at a position (graph dims)."""
        value = self.expression.value
        for axis in reversed(range(len(at))):
            (value,) = emit(OPS["chip"], (value,), {"offset": (dim(at[axis]),), "dim": axis})
        return value
