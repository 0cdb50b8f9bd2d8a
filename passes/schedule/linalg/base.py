"""What loops over stacks of matrices share: one matrix by a thread, scratch memory of its own, scalars of any type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, packed_strides
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.language import ComplexValue, ScalarBuilder, Value
from ....dialects.types import DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig

__all__ = ["BatchedLinalg", "conjugate", "inside", "magnitude", "real", "square"]


def inside(code: LoopBuilder, x: Value) -> Value:
    """A value of an enclosing block, for the builder of an inner one."""
    if isinstance(x, ComplexValue):
        return ComplexValue(code.b, inside(code, x.re), inside(code, x.im))
    return Value(code.b, x.ref, x.dtype)


def real(x: Value) -> Value:
    return x.re if isinstance(x, ComplexValue) else x


def conjugate(b: ScalarBuilder, x: Value) -> Value:
    return b.complex_of(x.re, -x.im) if isinstance(x, ComplexValue) else x


def square(x: Value) -> Value:
    """The square of the absolute value."""
    return x.re * x.re + x.im * x.im if isinstance(x, ComplexValue) else x * x


def magnitude(b: ScalarBuilder, x: Value) -> Value:
    return b.sqrt(square(x)) if isinstance(x, ComplexValue) else abs(x)


class BatchedLinalg:
    """Base of loop generators whose operands and results are stacks: all dims but the last ones count matrices."""

    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, lanes: VectorConfig):
        self.context, self.op = context, op
        info = buffer_info(op.ins[0])
        self.element: DType = info.dtype
        self.part: DType = info.dtype.part
        self.batch, (self.rows, self.columns) = info.dims[:-2], info.dims[-2:]
        self.width = lanes.width(self.part.bits)

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        self.allocate(code)
        with code.parallel_(product(self.batch), self.rows * self.columns * self.columns) as (body, number):
            self.one(body, [*unravel(number, self.batch)])

    def allocate(self, code: LoopBuilder) -> None:
        """Memory of the thread."""
        raise NotImplementedError

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        """The loops for the matrix at an index of the stack."""
        raise NotImplementedError

    def scratch(self, code: LoopBuilder, element: DType, *dims: Dim | int) -> SSAValue:
        shape = tuple(dim(d) for d in dims)
        return self.context.allocate(code.block, BufferInfo(element, shape, packed_strides(shape)), "thread")

    def copy(
        self, code: LoopBuilder, source: SSAValue, at: list[Dim], target: SSAValue, to: list[Dim], rows: Dim,
        columns: Dim,
        shift: Dim | int = 0,
    ) -> None:  # fmt: skip
        """A matrix from one place to another, there from column `shift` on."""
        with code.for_(0, rows) as (middle, i), middle.for_(0, columns, self.width) as (c, j):
            c.store(c.load(source, [*at, i, j]), target, [*to, i, j + shift])

    def zero(self, code: LoopBuilder, element: DType) -> Value:
        return code.b.constant(0, element)

    @contextmanager
    def lanes(self, code: LoopBuilder, lower: Dim | int, upper: Dim | int) -> Iterator[tuple[LoopBuilder, Dim]]:
        with code.for_(lower, upper, self.width) as (c, j):
            yield c, j

    def add_row(
        self, code: LoopBuilder, matrix: SSAValue, to: Dim, factor: Value, source: Dim, lower: Dim, upper: Dim
    ) -> None:
        """``matrix[to] += factor * matrix[source]``, for columns ``lower <= j < upper``."""
        with self.lanes(code, lower, upper) as (c, j):
            there, x = c.load(matrix, [to, j]), c.load(matrix, [source, j])
            c.store(fma(c, inside(c, factor), x, there), matrix, [to, j])


def fma(code: LoopBuilder, x: Value, y: Value, z: Value) -> Value:
    """``x*y + z``, rounded once where that is one instruction."""
    return x * y + z if isinstance(x, ComplexValue) else code.b.fma(x, y, z)
