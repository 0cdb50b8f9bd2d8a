"""The passes of a Fourier transform over a thread's scratch memory, by Stockham's method, and how memory is addressed.

A pass of radix r takes the data as ``[r][m][s]`` and leaves ``[m][r][s]``, s growing by r, so the last pass leaves
results in order.  Vectors run along s; in the first pass, where s is 1, along m.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.ir import SSAValue

from ....dialects import loop
from ....dialects.dims.dims import Dim, ceil_div, dim, minimum
from ....dialects.dims.index_map import unravel
from ....dialects.scalar.builder import BodyBuilder
from ....dialects.scalar.dft_butterflies import RADICES, Pair, butterfly, root_of_unity
from ....dialects.scalar.language import ComplexValue, Value
from ....dialects.types import DTYPES, DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder

__all__ = ["ENDS", "I64", "LEAST", "MIN_ROW_LENGTH", "StockhamPasses", "angle", "fits", "next_radix", "times", "within"]

I64 = DTYPES["i64"]
#: Radices whose first pass runs in vectors, and whose last may write the result; the others are first in few lengths.
ENDS = (8, 4, 3, 5)
#: Lengths whose batches run along one transform, where that dim is the innermost.
MIN_ROW_LENGTH = 32
#: Where the search for a prime beyond `RADICES` begins.
LEAST = 11
#: Cells of a thread: what is left of the length, s, which half of the scratch memory holds the data, a prime.
LEFT, SPAN, HALF, PRIME = range(4)
#: What s is in most second passes over rows: as many elements as the first radix, in one vector.
SECONDS = (8, 4)


def next_radix(left: int) -> int:
    """The radix of the next pass where so much is left of a length: 16 is 4 times 4; other primes come last; 1 of 1."""
    if left == 1:
        return 1
    radix = next((r for r in RADICES if left % r == 0 and not (r == 8 and left == 16)), 0)
    return radix or next(p for p in range(LEAST, left + 1, 2) if left % p == 0)


def fits(b: BodyBuilder, left: Value, radix: int) -> Value:
    """Whether a pass may have this radix, as `next_radix` says."""
    divides = b.rem(left, radix).equals(0)
    return divides & left.differs(16) if radix == 8 else divides


class StockhamPasses:
    """What the transforms of one kernel have in common.

    Rows, of which `v` is 1, run alone, and their parts are ``[2][length]``; others run `v` side by side, with parts
    ``[length][2][v]``, and some such vectors one after another.  Where `direct` is 1, the first pass, of `radix`, reads
    the operand and the last one writes the result.
    """

    width: int
    #: Lanes of passes over rows, and of those that Bluestein's transforms of rows begin and end with: where vectors may
    #: be longer than `width`, which says how long Bluestein's transforms are.
    wide: int
    end: int
    #: Whether lines of results are asked for ahead.
    fetches: bool
    v: int
    #: The extents outside the transformed dim and inside; `inner` is how many elements the latter are.
    before: tuple[Dim, ...]
    after: tuple[Dim, ...]
    inner: Dim
    groups: Dim
    side: Dim
    inverse: bool
    along_rows: bool
    #: Whether the transformed dim comes behind those `inner` ones, and how many of one element come behind it then.
    moved: bool
    behind: int
    #: Which of the vectors of transforms that are in scratch memory together the code being written is about.
    member: Dim
    length: Dim
    direct: Dim
    radix: Dim
    x: SSAValue
    y: SSAValue
    context: ScheduleContext
    part: DType
    n: Dim
    #: The vectors of transforms that come and go together.
    transforms_in_flight: Dim
    #: Factors ``exp(-2*pi*i * k / length)``, and those of a row's first and second pass in their order.
    table: SSAValue
    twiddles: SSAValue
    spread: SSAValue
    scratch: SSAValue
    cells: SSAValue
    #: Of a known length, what its passes over scratch memory leave to the last one.
    left: Dim
    #: The factor of the length that the passes over scratch memory never divide by: the radix of a pass behind them.
    last_factor: Dim

    # Memory

    @contextmanager
    def _angles(self, code: LoopBuilder, count: Dim) -> Iterator[tuple[LoopBuilder, Dim]]:
        """A loop that computes a table of factors as f64."""
        with code.for_(0, count, max(1, self.wide * self.part.bits // 64)) as (inner, k):
            yield inner, k

    def _index(self, row: Dim, j: Dim, lane: Dim) -> list[Dim]:
        """The index of an element of a transform in the operand."""
        if self.along_rows:
            return [*unravel(row, self.before), j, *(dim(0) for _ in self.after)]
        inside = unravel(self._inside(row, lane), self.after)
        if self.moved:
            return [*inside, j, *(dim(0) for _ in range(self.behind))]
        return [*unravel(row // self.groups, self.before), j, *inside]

    def _inside(self, row: Dim, lane: Dim) -> Dim:
        """The number of a transform side by side among those inside the dim."""
        return row % self.groups * self.side + self.member * self.v + lane

    def _there(self, row: Dim, lane: Dim) -> list[Dim]:
        """Guards that say whether there is a transform side by side."""
        if (self.inner.const or 1) % self.v == 0 and self.inner.const:
            return []
        return [self.inner - 1 - self._inside(row, lane)]

    @contextmanager
    def _elements(self, code: LoopBuilder, count: Dim, first: Dim | int = 0) -> Iterator[tuple[LoopBuilder, Dim, Dim]]:
        """A loop over the elements of the transforms of one row: the position and the lane."""
        if self.along_rows:
            with code.for_(first, count, self.width) as (inner, j):
                yield inner, j, dim(0)
            return
        with code.for_(first, count) as (middle, j), middle.for_(0, self.v, self.width) as (inner, lane):
            yield inner, j, lane

    def _count(self, row: Dim) -> Dim:
        """The vectors of transforms that a row has: fewer at the end of what lies inside the dim."""
        if self.transforms_in_flight.const == 1:
            return dim(1)
        left = self.inner - row % self.groups * self.side
        return minimum(self.transforms_in_flight, ceil_div(left, self.v))

    def _for_each_element(
        self, code: LoopBuilder, row: Dim, transforms_in_flight: int,
        move: Callable[[LoopBuilder, Dim, Dim, list[Dim]], None],
        count: Dim | None = None,
    ) -> None:  # fmt: skip
        """``move(block, position, lane, guards)`` for all elements of a row's transforms, neighbours in a row.

        `count` is how many a transform has, where not as many as the length says.
        """
        count = self.n if count is None else count
        if self.along_rows:
            with self._elements(code, count) as (c, j, lane):
                move(c, j, lane, [])
            return

        def all_of(code: LoopBuilder, members: Dim | int, copies: int, is_there: bool) -> None:
            with code.for_(0, count) as (middle, j), middle.for_(0, members, 1, copies) as (each, member):
                with each.for_(0, self.v, self.width) as (c, lane):
                    self.member = member
                    move(c, j, lane, [] if is_there else self._there(row, lane))
                    self.member = dim(0)

        left = self.inner - row % self.groups * self.side
        whole = code.b.index(left) >= code.b.index(self.side)
        code.if_(
            whole,
            lambda c: all_of(c, transforms_in_flight, transforms_in_flight, True),
            lambda c: all_of(c, self._count(row), 1, False),
        )

    def _swapped(self, z: Pair) -> Pair:
        """The inverse transform is the forward one with parts exchanged before and after."""
        return (z[1], z[0]) if self.inverse else z

    def _part(self, part: int, at: Dim, lane: Dim) -> list[Dim]:
        """The index of a part of a number in a half of the scratch memory."""
        return [dim(part), at] if self.along_rows else [at, dim(part), lane]

    def _put(self, code: LoopBuilder, half: Dim | int, at: Dim, lane: Dim, z: Pair) -> None:
        for part in (0, 1):
            code.store(z[part], self.scratch, [self.member, dim(half), *self._part(part, at, lane)])

    def _get(self, code: LoopBuilder, half: Dim, at: Dim, lane: Dim, guards: Sequence[Dim] = ()) -> Pair:
        index = [[self.member, half, *self._part(part, at, lane)] for part in (0, 1)]
        return self._pair(code, self.scratch, index, guards)

    def _apart(self, code: LoopBuilder, half: Dim, at: Dim, m: Dim, radix: int) -> list[Pair]:
        """What a pass over rows combines: as many elements as its radix, m apart."""
        return [self._get(code, half, at + m * k, dim(0)) for k in range(radix)]

    def _factor(self, code: LoopBuilder, table: SSAValue, at: Dim) -> Pair:
        return self._pair(code, table, [[dim(part), at] for part in (0, 1)])

    def _pair(
        self, code: LoopBuilder, buffer: SSAValue, index: Sequence[Sequence[Dim]], guards: Sequence[Dim] = ()
    ) -> Pair:
        return code.load(buffer, index[0], guards), code.load(buffer, index[1], guards)

    def _begin(self, code: LoopBuilder, half: Dim | int = 0) -> None:
        for cell, value in ((LEFT, self.length), (SPAN, 1), (HALF, half)):
            code.store(code.b.index(dim(value)), self.cells, [dim(cell)])

    def _half(self, code: LoopBuilder) -> Dim:
        return code.bind(code.load(self.cells, [dim(HALF)]))

    def _read(self, code: LoopBuilder, row: Dim, j: Dim, lane: Dim, guards: Sequence[Dim] = ()) -> Pair:
        z = code.load(self.x, self._index(row, j, lane), guards)
        assert isinstance(z, ComplexValue)
        return self._swapped((z.re, z.im))

    def _write(self, code: LoopBuilder, row: Dim, j: Dim, lane: Dim, z: Pair, guards: Sequence[Dim] = ()) -> None:
        code.store(code.b.complex_of(*self._swapped(z)), self.y, self._index(row, j, lane), guards)

    # Passes over scratch memory

    def _passes(self, code: LoopBuilder) -> None:
        """Passes until nothing of the length is left, or the last one where transforms go directly.

        They are those of a known length, else there is a loop that chooses each.
        """
        if self.length.const is None:
            code.while_(self._goes_on, lambda c: self._choose(c, RADICES))
            return
        direct, last_factor = self.direct.const == 1, self.last_factor.const or 1
        span = self.radix.const or 1 if direct or last_factor > 1 else 1
        left = self.length.const // span // last_factor
        while left > 1 and not (direct and left in ENDS):
            radix = next_radix(left)
            left //= radix
            self._pass(code, radix, dim(left * last_factor), dim(span))
            span *= radix
        self.left = dim(left)

    def _goes_on(self, code: LoopBuilder) -> Value:
        left = code.load(self.cells, [dim(LEFT)])
        more = left > 1
        if self.direct.const == 0:
            return more
        last = left.equals(ENDS[0])
        for radix in ENDS[1:]:
            last = last | left.equals(radix)
        return more & ~(last & code.b.index(self.direct).equals(1))

    def _choose(self, code: LoopBuilder, radices: Sequence[int]) -> None:
        """The first radix that divides what is left of the length, else its least prime."""

        def run(c: LoopBuilder, radix: int | Dim) -> None:
            rest, span = c.bind(c.load(self.cells, [dim(LEFT)])) // radix, c.bind(c.load(self.cells, [dim(SPAN)]))
            self._pass(c, radix, c.materialize_dim(rest * self.last_factor), span)
            c.store(c.b.index(rest), self.cells, [dim(LEFT)])
            c.store(c.b.index(span * radix), self.cells, [dim(SPAN)])

        left = code.load(self.cells, [dim(LEFT)])
        if not radices:
            code.store(code.b.constant(LEAST, I64), self.cells, [dim(PRIME)])
            code.while_(
                lambda c: c.b.rem(c.load(self.cells, [dim(LEFT)]), c.load(self.cells, [dim(PRIME)])).differs(0),
                lambda c: c.store(c.load(self.cells, [dim(PRIME)]) + 2, self.cells, [dim(PRIME)]),
            )
            run(code, code.bind(code.load(self.cells, [dim(PRIME)])))
            return
        radix, *others = radices
        code.if_(fits(code.b, left, radix), lambda c: run(c, radix), lambda c: self._choose(c, others))

    def _prime(self, code: LoopBuilder, radix: Dim, m: Dim, s: Dim, source: Dim, target: Dim, wide: bool) -> None:
        raise NotImplementedError

    def _pass(self, code: LoopBuilder, radix: int | Dim, m: Dim, s: Dim) -> None:
        half = code.load(self.cells, [dim(HALF)])
        source, target = code.bind(half), code.bind(1 - half)
        if radix not in RADICES:
            by, is_long = dim(radix), s.const is None or s.const >= self.wide

            def of_prime(c: LoopBuilder, wide: bool) -> None:
                self._prime(c, by, m, s, source, target, wide)

            if not self.along_rows or s.const is not None:
                of_prime(code, is_long)
            else:
                is_wide = code.b.index(s) >= self.wide
                code.if_(is_wide, lambda c: of_prime(c, True), lambda c: of_prime(c, False))
            return
        assert isinstance(radix, int)

        def first(c: LoopBuilder) -> None:
            self._first(c, radix, m, source, target, self.wide, lambda each, p: self._apart(each, source, p, m, radix))

        def second(s: int) -> Callable[[LoopBuilder], None]:
            return lambda c: self._second(c, radix, m, s, source, target)

        def wide(c: LoopBuilder) -> None:
            self._later(c, radix, m, s, source, target, True)

        def narrow(c: LoopBuilder) -> None:
            self._later(c, radix, m, s, source, target, False)

        if not self.along_rows:
            wide(code)
        elif s.const is not None:
            at_first = s.const == 1 and radix == self.radix.const and (m.const or 0) >= self.wide
            few = second(s.const) if s.const in SECONDS else narrow
            (first if at_first else wide if s.const >= self.wide and s.const not in SECONDS else few)(code)
        else:

            def short(c: LoopBuilder) -> None:
                c.if_(c.b.index(s).equals(1) & (c.b.index(m) >= self.wide), first, narrow)

            def by_length(c: LoopBuilder) -> None:
                c.if_(c.b.index(s) >= self.wide, wide, short if radix == max(ENDS) else narrow)

            def by_second(c: LoopBuilder, seconds: Sequence[int]) -> None:
                if not seconds:
                    by_length(c)
                    return
                one, *others = seconds
                c.if_(c.b.index(s).equals(one), second(one), lambda c: by_second(c, others))

            by_second(code, SECONDS)

    def _whole_vectors(self, m: Dim) -> Dim:
        """The elements of as many vectors as m elements need."""
        return ceil_div(m, self.wide) * self.wide

    @contextmanager
    def _whole(
        self, code: LoopBuilder, count: Dim, width: int, copies: bool = False
    ) -> Iterator[tuple[LoopBuilder, Dim]]:
        """A loop over at least a vector of elements, in whole vectors: the last starts earlier where some are left.

        A pass reads and writes different memory, so computing some elements twice changes nothing.  With `copies` the
        elements are copies of scalar code, around vectors that cross them.
        """
        with code.for_(0, ceil_div(count, width)) as (middle, number):
            start = middle.bind(middle.b.index(minimum(number * width, count - width)))
            vector, unroll = (1, width) if copies else (width, 1)
            with middle.for_(0, width, vector, unroll) as (inner, lane):
                yield inner, start + lane

    def _first(
        self, code: LoopBuilder, radix: int, m: Dim, source: Dim, target: Dim, width: int,
        given: Callable[[LoopBuilder, Dim], Sequence[Pair]], row: Dim | None = None,
    ) -> None:  # fmt: skip
        """The pass with s of 1, of elements that are `given` from a position on, m apart (from `source` or elsewhere).

        Vectors run along m.  They leave ``[r][m]`` in `target`, each of the r in whole vectors of its own; to `source`
        goes ``[m][r]``.  On that way lines of the results of a `row` are asked for, and of the operand's next one, read
        in another order than memory has: they come while passes go on in scratch memory.
        """
        lane, apart = dim(0), code.materialize_dim(self._whole_vectors(m))
        with self._whole(code, m, width) as (c, p):
            for k, z in enumerate(butterfly(c.b, given(c, p))):
                at = p + apart * k
                self._put(c, target, at, lane, times(c.b, z, self._factor(c, self.twiddles, at)) if k else z)
        side = min(self.width, radix)
        if radix % side:
            moved = code.for_(0, m), 1
        else:
            moved = self._whole(code, m, side, copies=True), side
        with moved[0] as (middle, p):
            with middle.for_(0, radix, moved[1]) as (c, k):
                self._put(c, source, p * radix + k, lane, self._get(c, target, p + apart * k, lane))
            if row is not None and self.fetches:
                for k in range(0, radix, self._line):
                    for buffer, of in ((self.y, row), (self.x, row + 1)):
                        middle.block.add_op(loop.PrefetchOp(buffer, self._index(of, p * radix + k, lane)))

    def _second(self, code: LoopBuilder, radix: int, m: Dim, s: int, source: Dim, target: Dim) -> None:
        """The pass with s of one of `SECONDS` over rows: few elements share factors, so these have their own table."""
        with code.for_(0, m) as (middle, p), middle.for_(0, s, min(self.wide, s)) as (c, q):
            given = [self._get(c, source, q + (p + m * k) * s, dim(0)) for k in range(radix)]
            for k, z in enumerate(butterfly(c.b, given)):
                twiddled = times(c.b, z, self._factor(c, self.spread, p + m * k)) if k else z
                self._put(c, target, q + (p * radix + k) * s, dim(0), twiddled)
        code.store(code.b.index(target), self.cells, [dim(HALF)])

    def _later(self, code: LoopBuilder, radix: int, m: Dim, s: Dim, source: Dim, target: Dim, wide: bool) -> None:
        """Vectors along s (whole ones where it is `wide`), or across transforms side by side."""
        with code.for_(0, m) as (middle, p):
            with self._along(middle, s, wide) as (c, q, lane):
                given = [self._get(c, source, q + s * (p + m * k), lane) for k in range(radix)]
                for k, z in enumerate(butterfly(c.b, given)):
                    twiddled = times(c.b, z, self._factor(c, self.table, p * s * k)) if k else z
                    self._put(c, target, q + s * (p * radix + k), lane, twiddled)
        code.store(code.b.index(target), self.cells, [dim(HALF)])

    @contextmanager
    def _along(self, code: LoopBuilder, s: Dim, wide: bool) -> Iterator[tuple[LoopBuilder, Dim, Dim]]:
        if wide and self.along_rows:
            with self._whole(code, s, self.wide) as (c, q):
                yield c, q, dim(0)
            return
        with self._elements(code, s) as found:
            yield found

    def _last(
        self, code: LoopBuilder, radix: int, width: int, finish: Callable[[LoopBuilder, Dim, Pair], None]
    ) -> None:
        """The pass with m of 1, whose factors are all one, over rows: ``finish(block, position, result)``."""
        half, s = self._half(code), code.bind(code.b.index(self.length // radix))
        with self._whole(code, s, width) as (c, q):
            for k, z in enumerate(butterfly(c.b, self._apart(c, half, q, s, radix))):
                finish(c, q + s * k, z)

    # Passes that read the operand or write the result

    def _first_directly(self, code: LoopBuilder, row: Dim) -> None:
        def of_radix(c: LoopBuilder, radix: int) -> None:
            m = c.bind(c.b.index(self.length // radix))
            self._first(
                c, radix, m, dim(0), dim(1), self.wide,
                lambda each, p: [self._read(each, row, p + m * k, dim(0)) for k in range(radix)], row,
            )  # fmt: skip
            for cell, value in ((LEFT, m), (SPAN, dim(radix))):
                c.store(c.b.index(value), self.cells, [dim(cell)])

        self._by_radix(code, self.radix, of_radix, lambda _: None)

    @property
    def _line(self) -> int:
        """The results that a cache line holds."""
        return max(1, int(self.context.costs.machine.cache_line) // buffer_info(self.y).dtype.bytes)

    def _fetch_results(self, code: LoopBuilder, row: Dim) -> None:
        """Ask for the lines of a row's results, so that they come while passes go on in scratch memory."""
        with code.for_(0, ceil_div(self.n, self._line)) as (c, line):
            c.block.add_op(loop.PrefetchOp(self.y, self._index(row, line * self._line, dim(0))))

    def _last_directly(self, code: LoopBuilder, row: Dim, otherwise: Callable[[LoopBuilder], None]) -> None:
        """The last pass where one is left, which `_passes` decides."""

        def of_radix(c: LoopBuilder, radix: int) -> None:
            self._last(c, radix, self.wide, lambda each, at, z: self._write(each, row, at, dim(0), z))

        left = self.left if self.length.const is not None else code.bind(code.load(self.cells, [dim(LEFT)]))
        self._by_radix(code, left, of_radix, otherwise)

    def _by_radix(
        self,
        code: LoopBuilder,
        radix: Dim,
        run: Callable[[LoopBuilder, int], None],
        otherwise: Callable[[LoopBuilder], None],
    ) -> None:
        """What a radix of `ENDS` asks for; `otherwise` where it is none of these."""
        if radix.const is not None:
            run(code, radix.const) if radix.const in ENDS else otherwise(code)
            return

        def one_of(c: LoopBuilder, radices: Sequence[int]) -> None:
            if not radices:
                otherwise(c)
                return
            which, *others = radices
            c.if_(c.b.index(radix).equals(which), lambda c: run(c, which), lambda c: one_of(c, others))

        one_of(code, ENDS)


def within(code: LoopBuilder, z: Pair) -> Pair:
    """Values of an enclosing block, for the builder of an inner one."""
    re, im = (Value(code.b, x.ref, x.dtype) for x in z)
    return re, im


def angle(b: BodyBuilder, k: Dim, n: Dim) -> Pair:
    """``exp(-2*pi*i * k/n)`` as f64."""
    f64 = DTYPES["f64"]
    return root_of_unity(b, b.cast(b.index(k), f64), b.cast(b.index(n), f64))


def times(b: BodyBuilder, x: Pair, y: Pair) -> Pair:
    """A complex product, each part rounded twice."""
    return b.fma(x[0], y[0], -(x[1] * y[1])), b.fma(x[0], y[1], x[1] * y[0])
