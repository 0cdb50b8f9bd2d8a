"""Discrete Fourier transforms to loops: mixed radix by Stockham's method, Bluestein's for other lengths.

One transform is a sequence of passes (`fft_passes.py`) over a thread's scratch memory, real and imaginary parts apart.
Where the transformed dim is not the innermost, some neighbouring transforms run as one whose s starts at their number.
Rows long enough for vectors go *directly*: the first pass reads the operand, the last one writes the result.

A length that has other prime factors than those in `RADICES` becomes a convolution of a power of two (Bluestein).
Lengths may be known at run time only: then passes choose their radix there.  A scheduled transform is ordinary loops,
so machine code, interpreters and threads need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo
from ..dialects.butterflies import RADICES, turn
from ..dialects.dims import Dim, dim, maximum, minimum, packed_strides
from ..dialects.index_map import product
from ..dialects.types import DTYPES, DType
from .fft_passes import ENDS, I64, Passes, fits, next_radix, times
from .loop_code import Code
from .loop_writer import LoopWriter, buffer_info
from .schedule_map import Lanes

__all__ = ["schedule_fft"]

#: Lengths whose batches run along one transform, where that dim is the innermost.
ROWS_FROM = 32
#: Vectors of neighbouring transforms that are read and written together: so many cache lines in a row.
TOGETHER = 4


def schedule_fft(writer: LoopWriter, op: kernel.ForeignOp, block: Block, lanes: Lanes) -> None:
    """Loops for ``fft``: parameters ``axis``, ``sign`` (of the exponent) and ``has_fma``."""
    _Fft(writer, op, lanes).emit(block)


def _nothing(_: Code) -> None:
    pass


def _without(n: int, factor: int) -> int:
    while n % factor == 0:
        n //= factor
    return n


class _Fft(Passes):
    def __init__(self, writer: LoopWriter, op: kernel.ForeignOp, lanes: Lanes):
        self.writer, self.op = writer, op
        (self.x,), (self.y,) = op.ins, op.outs
        info = buffer_info(self.x)
        self.part: DType = info.dtype.part
        axis: int = op.params["axis"]
        self.inverse: bool = op.params["sign"] == "plus"
        self.before, self.n, self.after = info.dims[:axis], info.dims[axis], info.dims[axis + 1 :]
        self.width = lanes.width(self.part.bits)
        inner = product(self.after)
        short = self.n.const is not None and self.n.const < ROWS_FROM
        self.along_rows = inner.const == 1 and not short
        #: Transforms that run side by side.
        self.v = 1 if self.along_rows else self.width
        if inner.const == 1 and short:
            self.before, self.after = (), self.before
            inner = product(self.after)
        self.inner, self.outer = inner, product(self.before)
        self.moved = axis == len(info.dims) - 1 and short
        #: Which of the vectors of transforms that are in scratch memory together the code being written is about.
        self.member = dim(0)
        n = self.n.const
        rest = n
        for prime in (2, 3, 5, 7):
            rest = rest and _without(rest, prime)
        self.bluestein: bool | None = None if n is None else (rest or 1) > 1

    # What is known before the loop over transforms

    def emit(self, block: Block) -> None:
        code = Code(self.writer, block, self.op.params["has_fma"])
        longest = self._longest()
        self.length, self.flag = self._lengths(code)
        # Vectors of transforms that come and go together (of Bluestein's, which need more memory, each alone), the
        # transforms that these are, and the groups of them in a row of what lies inside the dim.
        self.together = dim(1) if self.v == 1 or self.moved else TOGETHER - self.flag * (TOGETHER - 1)
        self.side = self.together * self.v
        self.groups = (self.inner + (self.side - 1)) // self.side
        table = BufferInfo(self.part, (dim(2), longest), packed_strides((dim(2), longest)))
        self.table = self.writer.allocate(block, table)
        self._fill(code, self.table, self.length, self.length, lambda k: k)
        self.direct = dim(0)
        if self.v == 1:
            self.turned = self.writer.allocate(block, table)
            self._turn(code)
        if self.bluestein is not False:
            chirp = BufferInfo(self.part, (dim(2), self.n), packed_strides((dim(2), self.n)))
            self.chirp = self.writer.allocate(block, chirp)
            self._fill(code, self.chirp, self.flag * self.n, self.n * 2, lambda k: k * k % (self.n * 2))
        # Side by side, the parts of a place share a cache line, so that places a power of two apart evict nothing.
        data = (dim(2), longest) if self.v == 1 else (longest, dim(2), dim(self.v))
        most = 1 if self.together.const == 1 else TOGETHER
        halves = (dim(most), dim(2), *data)
        self.scratch = self.writer.allocate(block, BufferInfo(self.part, halves, packed_strides(halves)), "thread")
        if self.bluestein is not False:
            self.filter = self.writer.allocate(block, BufferInfo(self.part, data, packed_strides(data)), "thread")
        self.cells = self.writer.allocate(block, BufferInfo(I64, (dim(4),), (dim(1),)), "thread")
        self._transforms(code)

    def _longest(self) -> Dim:
        if self.bluestein is False:
            return self.n
        if self.n.const is not None:
            return dim(1 << (2 * self.n.const - 2).bit_length())
        return self.n * 4

    def _lengths(self, code: Code) -> tuple[Dim, Dim]:
        """The length that passes transform, and whether it is Bluestein's (1) or the transform's own (0)."""
        if self.bluestein is not None:
            return (self._longest() if self.bluestein else self.n), dim(int(self.bluestein))
        cell = self.writer.allocate(code.block, BufferInfo(I64, (dim(2),), (dim(1),)))
        rest, power = [dim(0)], [dim(1)]
        code.store(code.b.index(self.n), cell, rest)
        code.store(code.b.constant(1, I64), cell, power)
        for prime in (2, 3, 5, 7):
            code.while_(
                lambda c, prime=prime: c.load(cell, rest).differs(0) & c.b.rem(c.load(cell, rest), prime).equals(0),
                lambda c, prime=prime: c.store(c.load(cell, rest) / prime, cell, rest),
            )
        code.while_(
            lambda c: c.load(cell, power) < c.b.index(self.n * 2 - 1),
            lambda c: c.store(c.load(cell, power) * 2, cell, power),
        )
        flag = code.b.cast(code.load(cell, rest) > 1, I64)
        length = code.b.select(flag.differs(0), code.load(cell, power), code.b.index(self.n))
        return code.bind(length), code.bind(flag)

    def _fill(self, code: Code, table: SSAValue, count: Dim, turns: Dim, number: Callable[[Dim], Dim]) -> None:
        """A table of ``exp(-2*pi*i * number(k) / turns)``."""
        with code.for_(0, count, max(1, self.width * self.part.bits // 64)) as (inner, k):
            b = inner.b
            f64 = DTYPES["f64"]
            re, im = turn(b, b.cast(b.index(number(k)), f64), b.cast(b.index(turns), f64))
            inner.store(b.cast(re, self.part), table, [dim(0), k])
            inner.store(b.cast(im, self.part), table, [dim(1), k])

    def _turn(self, code: Code) -> None:
        """The factors of the first pass side by side, as its vectors take them: that of ``p*k`` at ``[k][p]``."""
        length = code.b.index(self.length)
        if self.length.const is not None:
            first = next_radix(self.length.const)
            self.radix = dim(first if first in ENDS else 1)
            self.direct = dim(int(not self.bluestein and first in ENDS and self.length.const >= max(ENDS) * self.width))
        else:
            radix = code.b.constant(1, I64)
            for r in reversed(RADICES):
                if r in ENDS:
                    radix = code.b.select(fits(code.b, length, r), code.b.constant(r, I64), radix)
            self.radix = code.bind(radix)
            long = (code.b.index(self.radix) > 1) & (length >= max(ENDS) * self.width)
            self.direct = code.bind(code.b.cast(long & code.b.index(self.flag).equals(0), I64))
        with code.for_(0, self.radix) as (middle, k), middle.for_(0, self.length // self.radix) as (c, p):
            for part in (0, 1):
                factor = c.load(self.table, [dim(part), p * k])
                c.store(factor, self.turned, [dim(part), p + self.length // self.radix * k])

    # One transform after another

    def _transforms(self, code: Code) -> None:
        count, body, start = self.outer * self.groups, code.inner(), self.writer.fresh()
        # Each piece of Bluestein's transforms makes the filter of its own, so these, not the others, have few pieces.
        step = 1 + self.flag * (maximum(8, minimum(64, count // 8)) - 1)
        with body.for_(start - self.flag, minimum(count, start + step)) as (one, row):
            self._one(one, row, start)
        body.block.add_op(loop.YieldOp())
        costs = self.writer.costs
        grain = costs.grain(self.n * self.side * 4 * step, costs.unit)
        code.block.add_op(loop.ParallelOp(str(start), 0, count, body.block, step=step, grain=grain))

    def _one(self, code: Code, row: Dim, start: Dim) -> None:
        """One transform; that before the `start` of a chunk is of Bluestein's filter."""
        if self.v == 1:
            self._begin(code)
        if self.bluestein is False:
            self._enter_plain(code, row)
            with self._members(code, self._count(row)) as c:
                self._passes(c)
            self._leave_plain(code, row)
            return
        b = code.b
        plain, first = b.index(self.flag).equals(0), b.index(row - start) < 0
        code.if_(
            plain,
            lambda c: self._enter_plain(c, row),
            lambda c: c.if_(first, self._enter_filter, lambda c: self._enter(c, row, self.chirp)),
        )
        real = minimum(row - start + 1, 1)
        with self._members(code, (self._count(row) - 1) * real + 1) as each:
            with each.for_(0, self.flag * real + 1) as (c, phase):
                self._passes(c)
                after_first = c.b.index(phase).equals(0) & c.b.index(self.flag).differs(0)
                filtering = c.b.index(row - start) < 0
                c.if_(
                    after_first,
                    lambda c: c.if_(filtering, self._keep_filter, self._apply_filter),
                    _nothing,
                )
        code.if_(
            plain,
            lambda c: self._leave_plain(c, row),
            lambda c: c.if_(first, _nothing, lambda c: self._leave(c, row, self.chirp)),
        )

    def _count(self, row: Dim) -> Dim:
        """The vectors of transforms that a row has: fewer at the end of what lies inside the dim."""
        if self.together.const == 1:
            return dim(1)
        left = self.inner - row % self.groups * self.side
        return minimum(self.together, (left + (self.v - 1)) // self.v)

    def _together(self, chirp: SSAValue | None) -> int:
        """`together` of transforms with a chirp or without, as a number."""
        return 1 if chirp is not None or self.together.const == 1 else TOGETHER

    @contextmanager
    def _members(self, code: Code, count: Dim) -> Iterator[Code]:
        """A loop over vectors of transforms; what it contains is about one of them."""
        if count.const == 1:
            if self.v > 1:
                self._begin(code)
            yield code
            return
        with code.for_(0, count) as (inner, member):
            self.member = member
            if self.v > 1:
                self._begin(inner)
            yield inner
            self.member = dim(0)

    def _enter_plain(self, code: Code, row: Dim) -> None:
        """The operand to scratch memory, with the first pass on the way where transforms go directly."""
        if self.direct.const is not None:
            self._first_directly(code, row) if self.direct.const else self._enter(code, row, None)
            return
        code.if_(
            code.b.index(self.direct).equals(1),
            lambda c: self._first_directly(c, row),
            lambda c: self._enter(c, row, None),
        )

    def _leave_plain(self, code: Code, row: Dim) -> None:
        """The result from scratch memory, with the last pass on the way where one is left."""
        if self.direct.const == 0:
            self._leave(code, row, None)
            return
        self._last_directly(code, row, lambda c: self._leave(c, row, None))

    def _enter(self, code: Code, row: Dim, chirp: SSAValue | None) -> None:
        """The operand to scratch memory; with a chirp times that, and zeros behind."""

        def move(c: Code, j: Dim, lane: Dim, is_there: bool) -> None:
            pair = self._read(c, row, j, lane, guarded=not is_there)
            if chirp is not None:
                pair = times(c.b, pair, self._factor(c, chirp, j))
            self._put(c, 0, j, lane, pair)

        self._cross(code, row, self._together(chirp), move)
        if chirp is not None:
            self._zeros(code, self.n, self.length)

    def _cross(self, code: Code, row: Dim, together: int, move: Callable[[Code, Dim, Dim, bool], None]) -> None:
        """``move(block, position, lane, is_there)`` for all elements of a row's transforms, neighbours in a row."""
        if self.v == 1:
            with self._elements(code, self.n) as (c, j, lane):
                move(c, j, lane, True)
            return

        def all_of(code: Code, members: Dim | int, copies: int, is_there: bool) -> None:
            with code.for_(0, self.n) as (middle, j), middle.for_(0, members, 1, copies) as (each, member):
                with each.for_(0, self.v, self.width) as (c, lane):
                    self.member = member
                    move(c, j, lane, is_there)
                    self.member = dim(0)

        left = self.inner - row % self.groups * self.side
        whole = code.b.index(left) >= code.b.index(self.side)
        code.if_(
            whole,
            lambda c: all_of(c, together, together, True),
            lambda c: all_of(c, self._count(row), 1, False),
        )

    def _zeros(self, code: Code, lower: Dim, upper: Dim) -> None:
        with self._elements(code, upper, lower) as (c, j, lane):
            zero = c.b.constant(0.0, self.part)
            self._put(c, 0, j, lane, (zero, zero))

    def _enter_filter(self, code: Code) -> None:
        """The conjugate of the chirp around 0: elements j and -j."""
        self._zeros(code, dim(0), self.length)
        with code.for_(0, self.n) as (middle, j), middle.for_(0, self.v, self.width if self.v > 1 else 1) as (c, lane):
            re, im = self._factor(c, self.chirp, j)
            self._put(c, 0, j, lane, (re, -im))
            self._put(c, 0, (self.length - j) % self.length, lane, (re, -im))

    def _keep_filter(self, code: Code) -> None:
        half = self._half(code)
        with self._elements(code, self.length) as (c, j, lane):
            scale = c.b.cast(c.b.index(self.length), self.part)
            for part, value in enumerate(self._get(c, half, j, lane)):
                c.store(value / scale, self.filter, self._part(part, j, lane))

    def _apply_filter(self, code: Code) -> None:
        """The product of the transforms, parts exchanged for the way back."""
        half = self._half(code)
        with self._elements(code, self.length) as (c, j, lane):
            kept = self._pair(c, self.filter, [self._part(part, j, lane) for part in (0, 1)])
            re, im = times(c.b, self._get(c, half, j, lane), kept)
            self._put(c, half, j, lane, (im, re))
        self._begin(code, half)

    def _leave(self, code: Code, row: Dim, chirp: SSAValue | None) -> None:
        half = self._half(code)

        def move(c: Code, j: Dim, lane: Dim, is_there: bool) -> None:
            pair = self._get(c, half, j, lane)
            if chirp is not None:
                pair = times(c.b, (pair[1], pair[0]), self._factor(c, chirp, j))
            self._write(c, row, j, lane, pair, guarded=not is_there)

        self._cross(code, row, self._together(chirp), move)
