"""What interpreters read and write: function arguments, and temporaries in byte arenas.

Temporaries really lie where their `loop.alloc` says, so that two with overlapping lifetimes clash as they would in
machine code.  Fresh memory is filled with ones: NaN in every float type, -1 in every integer type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.attributes import BufferInfo
from ...dialects.dims.dims import Dim, Sym
from ...dialects.types import DType
from .scalar_ops import InterpretError

__all__ = ["Arena", "Memory", "argument_memory", "bind_symbols", "evaluate", "uninitialized"]

Array = np.ndarray[Any, Any]
Env = Mapping[Sym, Any]


def evaluate(expr: Dim, env: Env) -> Any:
    """The value of an index expression; InterpretError for a symbol without a value and for a division by zero."""
    try:
        if (number := expr.const) is not None:
            return number
        if (symbol := expr.symbol) is not None:
            return env[symbol]
        with np.errstate(all="ignore"):
            return expr.evaluate(env)
    except KeyError as error:
        raise InterpretError(f"{expr}: the symbol {error.args[0]} has no value here") from None
    except ZeroDivisionError:
        raise InterpretError(f"{expr}: division by zero") from None


def uninitialized(shape: Sequence[int], element: DType) -> Array:
    """An array of a fresh result: every byte 255 (true where it is of bools)."""
    if element.kind == "bool":
        return np.ones(tuple(shape), np.bool_)
    count = int(np.prod(tuple(shape)))
    return np.full(count * element.bytes, 255, np.uint8).view(element.numpy).reshape(tuple(shape))


@dataclass(frozen=True)
class Memory:
    """A tensor or buffer: `array` has its dims, or one copy of them a worker (a leading axis) where `private`."""

    array: Array
    element: DType
    private: bool = False

    @property
    def dims(self) -> tuple[int, ...]:
        return self.array.shape[1:] if self.private else self.array.shape

    def gather(self, index: Sequence[Any], where: Any, worker: Any) -> Array:
        """The elements at broadcastable index arrays, in the form bodies take; zero where `where` is false."""
        self._check(index, where)
        full = [worker, *index] if self.private else list(index)
        if where is None:
            found = self.array[tuple(full)]
        elif not np.any(where):
            found = np.zeros(np.broadcast_shapes(np.shape(where), *map(np.shape, full)), self.array.dtype)
        else:
            found = self.array[tuple(np.where(where, i, 0) for i in full)]
            found = np.where(where, found, np.zeros((), self.array.dtype))
        return _for_bodies(np.asarray(found), self.element)

    def scatter(self, index: Sequence[Any], values: Array, where: Any, worker: Any) -> None:
        """Write `values` at index arrays that broadcast with them, where `where` is true."""
        self._check(index, where)
        full = [worker, *index] if self.private else list(index)
        stored = _for_memory(values, self.array.dtype)
        if where is None and not full:
            self.array[()] = stored.reshape(-1)[-1] if stored.size else self.array[()]
            return
        *at, stored, here = np.broadcast_arrays(*full, stored, True if where is None else where)
        if where is not None:
            at, stored = [i[here] for i in at], stored[here]
        if not at:
            self.array[()] = stored[-1] if stored.size else self.array[()]
            return
        self.array[tuple(at)] = stored

    def _check(self, index: Sequence[Any], where: Any) -> None:
        for axis, (i, extent) in enumerate(zip(index, self.dims, strict=True)):
            if isinstance(i, int) and 0 <= i < extent:
                continue
            outside = (np.asarray(i) < 0) | (np.asarray(i) >= extent)
            if where is not None:
                outside = outside & where
            if np.any(outside):
                wrong = np.broadcast_to(i, outside.shape)[outside]
                raise InterpretError(f"index {wrong.flat[0]} is out of bounds for dim {axis} of size {extent}")


def _for_bodies(x: Array, element: DType) -> Array:
    if element.kind == "bool":
        return x != 0
    return x.view(f"i{element.bytes}") if element.kind == "uint" else x


def _for_memory(x: Array, to: np.dtype[Any]) -> Array:
    x = np.asarray(x)
    return x.view(to) if x.dtype != to and x.dtype.itemsize == to.itemsize else x


class Arena:
    """Bytes for temporaries, in `copies` equal parts."""

    def __init__(self, size: int, copies: int = 1):
        self.size = -(-size // 64) * 64
        self.bytes = np.full(self.size * copies, 255, np.uint8)
        self.copies = copies

    def alloc(self, info: BufferInfo, offset: int, env: Env, private: bool) -> Memory:
        """The temporary at a byte offset of each copy; InterpretError where it does not fit."""
        dims = [int(evaluate(d, env)) for d in info.dims]
        storage = np.dtype(np.uint8) if info.dtype.kind == "bool" else info.dtype.numpy
        strides = [int(evaluate(s, env)) * storage.itemsize for s in info.strides]
        last = offset + sum(s * (d - 1) for s, d in zip(strides, dims)) + storage.itemsize
        if 0 in dims:
            return Memory(np.empty([self.copies, *dims] if private else dims, storage), info.dtype, private)
        if offset % storage.itemsize or not 0 <= offset <= last <= self.size:
            raise InterpretError(f"{info} at byte {offset} does not fit an arena of {self.size} bytes")
        if private:
            dims, strides = [self.copies, *dims], [self.size, *strides]
        return Memory(np.ndarray(dims, storage, self.bytes, offset, strides), info.dtype, private)


def bind_symbols(given: Mapping[str, int], shapes: Sequence[tuple[str, tuple[Dim, ...], Array]]) -> dict[Sym, Any]:
    """Values of the symbols: those given, and those that shapes tell; InterpretError where they disagree."""
    env: dict[Sym, Any] = {Sym(name): int(value) for name, value in given.items()}
    for what, dims, array in shapes:
        if array.ndim != len(dims):
            raise InterpretError(f"{what} is an array of rank {array.ndim}, not {len(dims)}")
        for d, size in zip(dims, array.shape):
            if d.symbol is not None:
                env.setdefault(d.symbol, size)
    for what, dims, array in shapes:
        expected = tuple(int(evaluate(d, env)) for d in dims)
        if expected != array.shape:
            raise InterpretError(f"{what} is an array of shape {array.shape}, not {expected}")
    return env


def argument_memory(what: str, array: Array, info: BufferInfo, env: Env) -> Memory:
    """A function's argument; InterpretError where dtype or strides are not those of its type."""
    if array.dtype != info.dtype.numpy:
        raise InterpretError(f"{what} is an array of {array.dtype}, not {info.dtype}")
    for axis, (size, stride, found) in enumerate(zip(array.shape, info.strides, array.strides)):
        expected = int(evaluate(stride, env)) * array.itemsize
        if array.size and size > 1 and found != expected:
            raise InterpretError(f"{what} has a stride of {found} bytes along dim {axis}, not {expected}")
    return Memory(array.view(np.uint8) if info.dtype.kind == "bool" else array, info.dtype)
