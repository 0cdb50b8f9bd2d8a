"""Registers of a value that runs in lanes.

A lane dim is an iterator that a loop runs `width * copies` of at once: `copies` registers of `width` elements each.
A value has a register for each combination of copies of the lane dims that it *varies along*, and those registers are
vectors only where it varies along the one dim with ``width > 1``; so nested lane loops give register tiles, and what
is uniform is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from math import prod

from xdsl.ir import Attribute, SSAValue

from .....dialects.attributes import BufferInfo, BufferType, scalar_dtype
from .....dialects.dims.dims import Dim, Sym, sym
from .....dialects.types import DType
from ..text import EmitError, lit, llvm_type, vector_type

__all__ = [
    "ComplexReg", "Values", "VectorAxis", "VectorValue", "copies", "count_of", "dtype_of", "info_of", "positions",
    "union", "unmade", "width_of",
]  # fmt: skip


class VectorAxis:
    """One lane dim; compared by identity.

    Copies are `stride` apart (0: a register's width); `starts` names the index of each copy's first element where that
    is not `symbol` moved on by so many.
    """

    __slots__ = ("copies", "depth", "starts", "stride", "symbol", "width")

    def __init__(self, symbol: Sym, width: int, copies: int, depth: int, starts: Sequence[Sym] = (), stride: int = 0):
        self.symbol, self.width, self.copies, self.depth, self.starts = symbol, width, copies, depth, starts
        self.stride = stride or width

    def start(self, copy: int) -> Dim:
        """The index of the first element of a copy."""
        if self.starts:
            return sym(self.starts[copy].name)
        return sym(self.symbol.name) + copy * self.stride

    def __repr__(self) -> str:
        return f"Lane({self.symbol}, {self.width}x{self.copies})"


class VectorValue:
    """A value's registers, row-major over the copies of `lanes` (outermost first)."""

    __slots__ = ("dtype", "lanes", "regs", "width")

    def __init__(self, lanes: tuple[VectorAxis, ...], regs: Sequence[str], dtype: DType):
        self.lanes, self.regs, self.dtype = lanes, regs, dtype
        self.width = width_of(lanes)

    @property
    def uniform(self) -> bool:
        return not self.lanes

    @property
    def type(self) -> str:
        """The LLVM type of each register."""
        return vector_type(self.width, llvm_type(self.dtype))

    def operands(self) -> list[str]:
        """The registers as operands, constants spelled for their width."""
        scalar = llvm_type(self.dtype)
        return [lit(r, self.width, scalar) for r in self.regs]

    def spelled(self) -> VectorValue:
        """The same value with its `operands` as registers."""
        return VectorValue(self.lanes, self.operands(), self.dtype)

    def typed(self, dtype: DType) -> VectorValue:
        """The same registers read as another type of the same width (signedness)."""
        return self if self.dtype is dtype else VectorValue(self.lanes, self.regs, dtype)

    def __repr__(self) -> str:
        return f"Reg({self.lanes}, {self.regs}, {self.dtype})"


class ComplexReg(VectorValue):
    """A complex value between memory and a body: the registers of its real and of its imaginary part."""

    __slots__ = ("im", "re")

    def __init__(self, re: VectorValue, im: VectorValue):
        super().__init__(union((re.lanes, im.lanes)), (), re.dtype.as_complex)
        self.re, self.im = re, im


def unmade(value: SSAValue) -> VectorValue:
    """What is outside of a function that is given nothing."""
    raise EmitError(f"{value} is used before it is defined")


class Values(dict[SSAValue, VectorValue]):
    """The registers of the SSA values that ops made so far; `outside` gives those that none of them makes."""

    def __init__(self, outside: Callable[[SSAValue], VectorValue] = unmade):
        super().__init__()
        self._outside = outside

    def __missing__(self, value: SSAValue) -> VectorValue:
        found = self[value] = self._outside(value)
        return found


def union(parts: Sequence[tuple[VectorAxis, ...]]) -> tuple[VectorAxis, ...]:
    """The lane dims that any part has, outermost first."""
    first = parts[0] if parts else ()
    if all(p is first or p == first for p in parts):
        return first
    found = {lane for p in parts for lane in p}
    return tuple(sorted(found, key=lambda lane: lane.depth))


@lru_cache(maxsize=256)
def dtype_of(ir_type: Attribute) -> DType:
    """The element type of a register, of an SSA value's type."""
    return scalar_dtype(ir_type)


def info_of(buffer: SSAValue) -> BufferInfo:
    """The memory that a buffer is."""
    assert isinstance(buffer.type, BufferType)
    return buffer.type.data


@lru_cache(maxsize=4096)
def width_of(lanes: tuple[VectorAxis, ...]) -> int:
    """The elements of a register over these lane dims."""
    return max((lane.width for lane in lanes), default=1)


@lru_cache(maxsize=4096)
def count_of(lanes: tuple[VectorAxis, ...]) -> int:
    """The number of registers over these lane dims."""
    return prod(lane.copies for lane in lanes)


@lru_cache(maxsize=4096)
def positions(have: tuple[VectorAxis, ...], want: tuple[VectorAxis, ...]) -> tuple[int, ...]:
    """For each register over `want`, the register over `have` (a subset) that it comes from."""
    stride, strides = 1, {}
    for lane in reversed(have):
        strides[lane] = stride
        stride *= lane.copies
    weights = [strides.get(lane, 0) for lane in want]
    return tuple(
        sum(w * c for w, c in zip(weights, copies)) for copies in product(*(range(lane.copies) for lane in want))
    )


def copies(lanes: tuple[VectorAxis, ...]) -> list[tuple[int, ...]]:
    """The copy numbers of each register over `lanes`, in register order."""
    return list(product(*(range(lane.copies) for lane in lanes)))
