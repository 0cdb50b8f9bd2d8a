"""Discrete Fourier transforms to loops: mixed radix by Stockham's method, Rader's and Bluestein's for other lengths.

One transform is a sequence of passes (`stockham.py`) over a thread's scratch memory, real and imaginary parts apart.
Where the transformed dim is not the innermost, some neighbouring transforms run as one whose s starts at their number.
Rows long enough for vectors go *directly*: the first pass reads the operand, the last one writes the result.

Primes beyond those of `RADICES` have passes, too (`prime_radix.py`); lengths with larger ones become convolutions, of
as many elements less one where they are primes (`rader.py`), else of more (`bluestein.py`). Lengths may be known at run
time only: then passes choose their radix there.  A scheduled transform is ordinary loops, so machine code, interpreters
and threads need nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, ceil_div, dim, maximum, minimum, packed_strides
from ....dialects.dims.index_map import product
from ....dialects.scalar.dft_butterflies import RADICES
from ....dialects.types import DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .bluestein import END, Bluestein, Write
from .plan import rough_factor
from .stockham import ENDS, I64, MIN_ROW_LENGTH, SECONDS, angle, fits, next_radix

__all__ = ["schedule_fft"]

#: The bits of vectors of transforms side by side, which are read and written with lanes exchanged, and for which
#: lengths are chosen.  Passes over rows go through scratch memory in vectors of as many bits as there are.
HALF_LINE = 256
#: From so many elements on, first passes over rows are whole vectors.  Shorter rows run side by side, where they fill
#: vectors and have no primes but those of radices, for which rows and columns go in different ways.
FILLED = 128
#: Vectors of neighbouring transforms that are read and written together: so many cache lines in a row.
TRANSFORMS_IN_FLIGHT = 4


def schedule_fft(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``fft``: parameters ``axis``, ``sign`` (of the exponent) and ``has_fma``."""
    with context.bounded(block, buffer_info(op.ins[0]).dims) as dims:
        _Fft(context, op, dims, lanes).emit(block)


class _Fft(Bluestein):
    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, dims: tuple[Dim, ...], lanes: VectorConfig):
        self.context, self.op = context, op
        (self.x,), (self.y,) = op.ins, op.outs
        self.part: DType = buffer_info(self.x).dtype.part
        axis: int = op.params["axis"]
        self.inverse: bool = op.params["sign"] == "plus"
        self.before, self.n, self.after = dims[:axis], dims[axis], dims[axis + 1 :]
        self.width, self.wide = lanes.at_most(HALF_LINE).width(self.part.bits), lanes.width(self.part.bits)
        self.fetches = lanes.lanes_can_shuffle
        inner = product(self.after)
        short = self._rows_are_short(product(self.before).const)
        self.along_rows = inner.const == 1 and not short
        #: Transforms that run side by side.
        self.v = 1 if self.along_rows else self.width
        self.moved = inner.const == 1 and short
        self.behind = len(self.after) if self.moved else 0
        if self.moved:
            self.before, self.after = (), self.before
            inner = product(self.after)
        self.inner, self.outer = inner, product(self.before)
        #: What divides the length of Bluestein's passes: over rows, whole vectors in those of `END` at both ends.
        self.unit = END * max(END, self.width) if self.along_rows else 4
        #: Which of the vectors of transforms that are in scratch memory together the code being written is about.
        self.member = dim(0)

    def _rows_are_short(self, rows: int | None) -> bool:
        """Whether so many rows (None: it is not known) run side by side where they are contiguous."""
        n = self.n.const
        if n is None or rows == 1:
            return False
        return n < MIN_ROW_LENGTH or (n < FILLED and rough_factor(n) == 1 and (rows or 0) >= self.width)

    # What is known before the loop over transforms

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        longest = self._longest() + (max(ENDS) * self.wide if self.along_rows else 0)
        self._set_length(code)
        # The last pass of Bluestein's adds to the first residue's results, so no element may come twice: longer vectors
        # only where all of them are whole.
        self.end = self.wide if self.length.const and self.length.const % (END * self.wide) == 0 else self.width
        # Vectors of transforms that come and go together (of Bluestein's, which need more memory, each alone), the
        # transforms that these are, and the groups of them in a row of what lies inside the dim.
        self.transforms_in_flight = (
            dim(1) if self.along_rows or self.moved else TRANSFORMS_IN_FLIGHT - self.flag * (TRANSFORMS_IN_FLIGHT - 1)
        )
        self.most = 1 if self.transforms_in_flight.const == 1 else TRANSFORMS_IN_FLIGHT
        self.side = self.transforms_in_flight * self.v
        self.groups = ceil_div(self.inner, self.side)
        table = BufferInfo(self.part, (dim(2), longest), packed_strides((dim(2), longest)))
        self.table = self.context.allocate(block, table)
        with self._angles(code, self.length) as (c, k):
            for part, value in enumerate(angle(c.b, k, self.length)):
                c.store(c.b.cast(value, self.part), self.table, [dim(part), k])
        self._make_primes(code)
        self.direct = dim(0)
        self.last_factor = 1 + (self.flag - self.powers) * (END - 1) if self.along_rows else dim(1)
        if self.along_rows:
            self.twiddles = self.context.allocate(block, table)
            self._fill_twiddles(code)
            self.spread = self.context.allocate(block, table)
            self._spread(code)
        # Side by side, the parts of a place share a cache line, so that places a power of two apart evict nothing.
        data = (dim(2), longest) if self.along_rows else (longest, dim(2), dim(self.v))
        halves = (dim(self.most), dim(2 if self.flag.const == 0 else 3), *data)
        self.scratch = self.context.allocate(block, BufferInfo.packed(self.part, halves), "thread")
        if self.flag.const != 0:
            self._make_filters(code, block, longest, data)
        self.cells = self.context.allocate(block, BufferInfo(I64, (dim(4),), (dim(1),)), "thread")
        self._transforms(code)

    def _fill_twiddles(self, code: LoopBuilder) -> None:
        """The factors of the first pass side by side, as its vectors take them: that of ``p*k`` at ``[k][p]``."""
        length = code.b.index(self.length)
        if self.length.const is not None:
            first = next_radix(self.length.const)
            self.radix = dim(first if first in ENDS else 1)
            self.direct = dim(
                int(self.flag.const == 0 and first in ENDS and self.length.const >= max(ENDS) * self.wide)
            )
        else:
            radix = code.b.constant(1, I64)
            for r in reversed(RADICES):
                if r in ENDS:
                    radix = code.b.select(fits(code.b, length, r), code.b.constant(r, I64), radix)
            self.radix = code.bind(radix)
            long = (code.b.index(self.radix) > 1) & (length >= max(ENDS) * self.wide)
            self.direct = code.bind(code.b.cast(long & code.b.index(self.flag).equals(0), I64))
        m = code.materialize_dim(self.length // self.radix)
        apart = code.materialize_dim(self._whole_vectors(m))
        with code.for_(0, self.radix) as (middle, k), middle.for_(0, m, self.wide) as (c, p):
            for part in (0, 1):
                factor = c.load(self.table, [dim(part), p * k])
                c.store(factor, self.twiddles, [dim(part), p + apart * k])

    def _spread(self, code: LoopBuilder) -> None:
        """The factors of a second pass whose s is one of `SECONDS`: that of ``p*k*s`` at ``[k][p]``."""
        rest = self.length // (self.last_factor * self.radix)
        if self.length.const is not None:
            left = rest.const or 1
            radix = dim(next_radix(left) if left > 1 and self.radix.const in SECONDS else 1)
            radix = radix if radix.const in RADICES else dim(1)
        else:
            left, chosen, none = code.b.index(rest), code.b.constant(1, I64), code.b.constant(1, I64)
            for r in reversed(RADICES):
                chosen = code.b.select(fits(code.b, left, r), code.b.constant(r, I64), chosen)
            first = code.b.index(self.radix)
            is_one = first.equals(SECONDS[0])
            for s in SECONDS[1:]:
                is_one = is_one | first.equals(s)
            radix = code.bind(code.b.select(is_one, chosen, none))
        m = code.materialize_dim(self.length // (radix * self.radix))
        with code.for_(0, radix) as (middle, k), middle.for_(0, m) as (c, p):
            for part in (0, 1):
                c.store(c.load(self.table, [dim(part), p * k * self.radix]), self.spread, [dim(part), p + m * k])

    # One transform after another

    def _transforms(self, code: LoopBuilder) -> None:
        count = self.outer * self.groups
        # Each piece of Bluestein's transforms makes the filter of its own, so these, not the others, have few pieces.
        step = 1 + self.flag * (maximum(8, minimum(64, count // 8)) - 1)
        with code.parallel_(count, self.n * self.side * 4 * step, step) as (body, start):
            with body.for_(start - self.flag, minimum(count, start + step)) as (one, row):
                self._one(one, row, start)

    def _one(self, code: LoopBuilder, row: Dim, start: Dim) -> None:
        """One transform; that before the `start` of a chunk is of Bluestein's filter."""
        if self.flag.const == 0:
            self._enter_plain(code, row)
            with self._members(code, self._count(row)) as c:
                self._passes(c)
            self._leave_plain(code, row)
            return
        real = minimum(row - start + 1, 1)
        with code.for_(0, 1 + self.flag * ((real + 1) * (2 - self.powers) - 1)) as (c, phase):
            residue, back = c.materialize_dim(phase // (real + 1)), c.materialize_dim(phase % (real + 1))
            self._by_kind(
                c, lambda c: self._enter_plain(c, row), lambda c: self._enter_convolution(c, row, real, residue, back)
            )
            with self._members(c, (self._count(row) - 1) * real + 1) as each:
                self._passes(each)
            self._by_kind(
                c, lambda c: self._leave_plain(c, row), lambda c: self._leave_convolution(c, row, real, residue, back)
            )

    def _by_kind(self, code: LoopBuilder, plain: Write, convolution: Write) -> None:
        """What a transform of a length of its own asks for, or Bluestein's."""
        if self.flag.const is not None:
            convolution(code)
            return
        code.if_(code.b.index(self.flag).equals(0), plain, convolution)

    @contextmanager
    def _members(self, code: LoopBuilder, count: Dim) -> Iterator[LoopBuilder]:
        """A loop over vectors of transforms; what it contains is about one of them."""
        if count.const == 1:
            if not self.along_rows:
                self._begin(code)
            yield code
            return
        with code.for_(0, count) as (inner, member):
            self.member = member
            if not self.along_rows:
                self._begin(inner)
            yield inner
            self.member = dim(0)

    def _enter_plain(self, code: LoopBuilder, row: Dim) -> None:
        """The operand to scratch memory, with the first pass on the way where transforms go directly."""
        if self.along_rows:
            self._begin(code)
        if self.direct.const is not None:
            self._first_directly(code, row) if self.direct.const else self._enter(code, row)
            return
        code.if_(
            code.b.index(self.direct).equals(1), lambda c: self._first_directly(c, row), lambda c: self._enter(c, row)
        )

    def _leave_plain(self, code: LoopBuilder, row: Dim) -> None:
        """The result from scratch memory, with the last pass on the way where one is left."""
        if self.direct.const == 0:
            self._leave(code, row)
            return
        self._last_directly(code, row, lambda c: self._leave(c, row))

    def _enter(self, code: LoopBuilder, row: Dim) -> None:
        """The operand to scratch memory."""

        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            self._put(c, 0, j, lane, self._read(c, row, j, lane, guards))

        self._for_each_element(code, row, self.most, move)

    def _leave(self, code: LoopBuilder, row: Dim) -> None:
        half = self._half(code)

        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            self._write(c, row, j, lane, self._get(c, half, j, lane), guards)

        self._for_each_element(code, row, self.most, move)
