"""Stacks of many small matrices whose size is known: lanes hold an element of neighbouring matrices.

As many matrices as a vector has lanes come to scratch memory, where an element of all of them is a row, are factored,
and go back.  Each has pivots of its own, so rows change places by selects.  The smallest are in registers from
beginning to end; of others scratch memory has the elements, and loops go through them.
What is done to an element, and in which order, is what `lu_cholesky.py` does, so that its bits are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, minimum, packed_strides
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES, DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .base import conjugate, fma, inside, real, square

__all__ = ["CholeskyInLanes", "EliminationInLanes", "is_small"]

#: Rows, and columns of a right side, at most: those of as many matrices as vectors have lanes stay in the first cache.
LARGEST = 8
#: Steps of an element that are written out, at most: 200 compile in a third of a second.
WRITTEN_OUT = 180
#: Fewer matrices are not worth vectors across them.
FEWEST = 64
#: Elements of a matrix that come and go all at once, at most (`codegen/emit/memory/interleave.py`).
BESIDE = 16


def is_small(op: kernel.CustomOp, lanes: VectorConfig) -> bool:
    """Whether the matrices of an op have so few elements, as numbers, and are so many, that lanes go across them."""
    infos = [buffer_info(x) for x in op.ins]
    width, many = lanes.width(infos[0].dtype.part.bits), product(infos[0].dims[:-2]).const
    if width == 1 or width & (width - 1) or (many is not None and many < FEWEST):
        return False
    return all(size.const is not None and size.const <= LARGEST for info in infos for size in info.dims[-2:])


class Elements:
    """A matrix for each lane: elements in scratch memory or, by their index, in registers."""

    def __init__(self, memory: SSAValue, rows: int, columns: int):
        self.memory, self.rows, self.columns = memory, rows, columns
        self.lane: Dim = dim(0)
        self.registers: dict[tuple[Dim, Dim], Value] | None = None

    @property
    def count(self) -> int:
        return self.rows * self.columns

    def enter(self, lane: Dim, in_registers: bool) -> None:
        """Elements are those of a loop over lanes from here on."""
        self.lane, self.registers = lane, {} if in_registers else None

    def leave(self, code: LoopBuilder) -> None:
        """What registers hold goes to memory."""
        for (i, j), value in (self.registers or {}).items():
            code.store(value, self.memory, [i * self.columns + j, self.lane])

    def get(self, code: LoopBuilder, i: Dim, j: Dim) -> Value:
        if self.registers is None:
            return code.load(self.memory, [i * self.columns + j, self.lane])
        if (i, j) not in self.registers:
            self.registers[i, j] = code.load(self.memory, [i * self.columns + j, self.lane])
        return self.registers[i, j]

    def put(self, code: LoopBuilder, i: Dim, j: Dim, value: Value) -> None:
        if self.registers is None:
            code.store(value, self.memory, [i * self.columns + j, self.lane])
        else:
            self.registers[i, j] = value


class MatricesInLanes(ABC):
    """Base of loop generators: threads share the stack, a vector's worth of matrices at a time."""

    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, lanes: VectorConfig):
        self.context, self.op = context, op
        info = buffer_info(op.ins[0])
        self.element, self.part, self.batch = info.dtype, info.dtype.part, info.dims[:-2]
        self.n = info.dims[-1].const or 0
        self.width = lanes.width(self.part.bits)
        self.elements: list[Elements] = []
        columns = sum(buffer_info(x).dims[-1].const or 0 for x in op.ins[1:])
        self.in_registers = self.n**3 // 3 + self.n**2 * columns <= WRITTEN_OUT

    @abstractmethod
    def allocate(self, code: LoopBuilder) -> tuple[list[Elements], list[Elements]]:
        """Memory of the thread: what the operands come to, and what the results are in."""

    @abstractmethod
    def factor(self, code: LoopBuilder) -> None:
        """Results of operands, in a loop over lanes."""

    def new_elements(self, code: LoopBuilder, rows: int, columns: int, element: DType) -> Elements:
        shape = (dim(max(1, rows * columns)), dim(self.width))
        memory = self.context.allocate(code.block, BufferInfo(element, shape, packed_strides(shape)), "thread")
        self.elements.append(Elements(memory, rows, columns))
        return self.elements[-1]

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        operands, results = self.allocate(code)
        total, width = code.materialize_dim(product(self.batch)), self.width
        with code.parallel_((total + (width - 1)) // width, dim(width * self.n**3)) as (body, number):
            first = body.materialize_dim(number * width)
            is_whole = body.b.index(total - first) >= width
            body.if_(is_whole, lambda c: self._load(c, operands, first), lambda c: self._load_some(c, operands, first))
            with body.for_(0, width, width) as (c, lane):
                for made in self.elements:
                    made.enter(lane, self.in_registers)
                self.factor(c)
                for made in self.elements:
                    made.leave(c)
            body.if_(is_whole, lambda c: self._store(c, results, first), lambda c: self._store_some(c, results, first))

    # From the operands and to the results: whole vectors where there are as many matrices as lanes

    def _source(self, buffer: SSAValue, number: Dim, made: Elements, e: Dim) -> list[Dim]:
        """The index of an element of an operand, which is one matrix for all or a stack."""
        stack = unravel(number, self.batch) if len(buffer_info(buffer).dims) > 2 else ()
        return [*stack, e // made.columns, e % made.columns]

    def _target(self, buffer: SSAValue, number: Dim, made: Elements, e: Dim) -> list[Dim]:
        """The index of an element of a result, which has two, one or none for each matrix."""
        rank = len(buffer_info(buffer).dims)
        return [*unravel(number, self.batch), e // made.columns, e % made.columns][:rank]

    def _load(self, code: LoopBuilder, operands: Sequence[Elements], first: Dim) -> None:
        for made, source in zip(operands, self.op.ins):
            with (
                code.for_(0, made.count, unroll=made.count if made.count <= BESIDE else self.width) as (middle, e),
                middle.for_(0, self.width, self.width) as (c, lane),
            ):
                c.store(c.load(source, self._source(source, first + lane, made, e)), made.memory, [e, lane])

    def _load_some(self, code: LoopBuilder, operands: Sequence[Elements], first: Dim) -> None:
        """Lanes that have no matrix have that of the last one."""
        last = product(self.batch) - 1
        for made, source in zip(operands, self.op.ins):
            with code.for_(0, self.width) as (middle, lane):
                number = middle.materialize_dim(minimum(first + lane, last))
                with middle.for_(0, made.count) as (c, e):
                    c.store(c.load(source, self._source(source, number, made, e)), made.memory, [e, lane])

    def _store(self, code: LoopBuilder, results: Sequence[Elements], first: Dim) -> None:
        for made, target in zip(results, self.op.outs):
            is_short = made.count <= BESIDE
            loops = [(made.count, 1, made.count), (self.width, self.width, 1)]
            if not is_short:
                loops = [(self.width, 1, self.width), (made.count, self.width, 1)]
            (outer, _, jam), (inner, vector, _) = loops
            with code.for_(0, outer, unroll=jam) as (middle, x), middle.for_(0, inner, vector) as (c, y):
                e, lane = (x, y) if is_short else (y, x)
                c.store(c.load(made.memory, [e, lane]), target, self._target(target, first + lane, made, e))

    def _store_some(self, code: LoopBuilder, results: Sequence[Elements], first: Dim) -> None:
        left = product(self.batch) - first
        for made, target in zip(results, self.op.outs):
            with code.for_(0, left) as (middle, lane), middle.for_(0, made.count) as (c, e):
                c.store(c.load(made.memory, [e, lane]), target, self._target(target, first + lane, made, e))

    # Loops of `factor`

    def each(
        self, code: LoopBuilder, lower: Dim | int, upper: Dim | int, step: Callable[[LoopBuilder, Dim], None]
    ) -> None:
        """Of matrices in registers steps are written one after another, else as a loop."""
        if self.in_registers:
            for number in _numbers(lower, upper):
                step(code, number)
        else:
            with code.for_(lower, upper) as (c, number):
                step(c, number)

    def fold(
        self, code: LoopBuilder, lower: Dim | int, upper: Dim | int, first: Sequence[Value],
        step: Callable[[LoopBuilder, Dim, list[Value]], Sequence[Value]],
    ) -> list[Value]:  # fmt: skip
        """The last of ``values = step(block, number, values)``."""
        if not self.in_registers:
            return code.carried_loops(lower, upper, first, step)
        values = list(first)
        for number in _numbers(lower, upper):
            values = list(step(code, number, values))
        return values


def _numbers(lower: Dim | int, upper: Dim | int) -> list[Dim]:
    first, last = dim(lower).const, dim(upper).const
    assert first is not None and last is not None
    return [dim(k) for k in range(first, last)]


class EliminationInLanes(MatricesInLanes):
    """Of a and b the solutions of ``a @ x = b``, the pivots, and the sign of their order."""

    def allocate(self, code: LoopBuilder) -> tuple[list[Elements], list[Elements]]:
        n, m = self.n, buffer_info(self.op.ins[1]).dims[-1].const or 0
        self.a, self.b = self.new_elements(code, n, n, self.element), self.new_elements(code, n, m, self.element)
        self.pivots, self.sign = self.new_elements(code, n, 1, self.element), self.new_elements(code, 1, 1, self.part)
        #: The rows that a pivot's row takes the place of.
        self.upper = {x: self.new_elements(code, 1, x.columns, self.element) for x in (self.a, self.b)}
        return [self.a, self.b], [self.b, self.pivots, self.sign]

    def factor(self, code: LoopBuilder) -> None:
        self.sign.put(code, dim(0), dim(0), code.b.constant(1, self.part))
        self.each(code, 0, self.n, self._eliminate)
        self.each(code, 0, self.n, lambda c, k: self._substitute(c, self.n - 1 - k))

    def _eliminate(self, code: LoopBuilder, k: Dim) -> None:
        """Column `k` below the diagonal is eliminated by the row of its largest element."""
        a, b, n = self.a, self.b, self.n
        number = DTYPES[f"i{self.part.bits}"]

        def larger(c: LoopBuilder, i: Dim, best: list[Value]) -> list[Value]:
            size = square(a.get(c, i, k))
            beyond = size > best[0]
            return [c.b.select(beyond, size, best[0]), c.b.select(beyond, c.b.cast(c.b.index(i), number), best[1])]

        here = code.b.cast(code.b.index(k), number)
        p = self.fold(code, k + 1, n, [square(a.get(code, k, k)), here], larger)[1]
        for matrix in (a, b):
            first = k if matrix is a else 0
            self.each(code, first, matrix.columns, lambda c, j, matrix=matrix: self._exchange(c, matrix, k, p, j))
        sign = self.sign.get(code, dim(0), dim(0))
        self.sign.put(code, dim(0), dim(0), code.b.select(p.differs(here), -sign, sign))
        pivot = a.get(code, k, k)
        self.pivots.put(code, k, dim(0), pivot)
        # Below a largest element of zero the column is zero already: nothing is taken, as LAPACK's getrf takes nothing.
        divisor = code.b.select(pivot.equals(0), code.b.constant(1, self.element), pivot)

        def row(c: LoopBuilder, i: Dim) -> None:
            taken = inside(c, p).equals(c.b.cast(c.b.index(i), number))

            def before(d: LoopBuilder, matrix: Elements, j: Dim) -> Value:
                return d.b.select(inside(d, taken), self.upper[matrix].get(d, dim(0), j), matrix.get(d, i, j))

            factor = -(before(c, a, k) / inside(c, divisor))
            for matrix in (a, b):

                def take(d: LoopBuilder, j: Dim, matrix: Elements = matrix) -> None:
                    left = fma(d, inside(d, factor), matrix.get(d, k, j), before(d, matrix, j))
                    matrix.put(d, i, j, left)

                self.each(c, k + 1 if matrix is a else 0, matrix.columns, take)

        self.each(code, k + 1, n, row)

    def _exchange(self, code: LoopBuilder, matrix: Elements, k: Dim, p: Value, j: Dim) -> None:
        """Row `k` becomes row `p`; what it was is kept for the row that is to become it."""

        def found(c: LoopBuilder, i: Dim, best: list[Value]) -> list[Value]:
            is_pivot = inside(c, p).equals(c.b.cast(c.b.index(i), p.dtype))
            return [c.b.select(is_pivot, matrix.get(c, i, j), best[0])]

        upper = matrix.get(code, k, j)
        self.upper[matrix].put(code, dim(0), j, upper)
        matrix.put(code, k, j, self.fold(code, k + 1, self.n, [upper], found)[0])

    def _substitute(self, code: LoopBuilder, k: Dim) -> None:
        """Row `k` of the solution, taken out of those above."""
        a, b = self.a, self.b
        pivot = a.get(code, k, k)
        self.each(code, 0, b.columns, lambda c, j: b.put(c, k, j, b.get(c, k, j) / inside(c, pivot)))

        def row(c: LoopBuilder, i: Dim) -> None:
            factor = -a.get(c, i, k)
            self.each(
                c, 0, b.columns, lambda d, j: b.put(d, i, j, fma(d, inside(d, factor), b.get(d, k, j), b.get(d, i, j)))
            )

        self.each(code, 0, k, row)


class CholeskyInLanes(MatricesInLanes):
    """The lower factor."""

    def allocate(self, code: LoopBuilder) -> tuple[list[Elements], list[Elements]]:
        self.a = self.new_elements(code, self.n, self.n, self.element)
        return [self.a], [self.a]

    def factor(self, code: LoopBuilder) -> None:
        self.each(code, 0, self.n, self._column)
        zero = lambda c, i, j: self.a.put(c, i, j, c.b.constant(0, self.element))  # noqa: E731
        self.each(code, 0, self.n, lambda c, i: self.each(c, i + 1, self.n, lambda d, j: zero(d, i, j)))

    def _column(self, code: LoopBuilder, k: Dim) -> None:
        """Column `k`, and what it takes from those behind."""
        a, n = self.a, self.n
        root = code.b.cast(code.b.sqrt(real(a.get(code, k, k))), self.element)
        a.put(code, k, k, root)
        self.each(code, k + 1, n, lambda c, i: a.put(c, i, k, a.get(c, i, k) / inside(c, root)))

        def row(c: LoopBuilder, i: Dim) -> None:
            factor = -a.get(c, i, k)

            def take(d: LoopBuilder, j: Dim) -> None:
                a.put(d, i, j, fma(d, inside(d, factor), conjugate(d.b, a.get(d, j, k)), a.get(d, i, j)))

            self.each(c, k + 1, i + 1, take)

        self.each(code, k + 1, n, row)
