"""`loop.scan`, in exactly the order ``prefix`` of `dialects.order`: a run is one vector, scanned by shuffles.

Elements that do not fill a run, and all of a body that cannot run in lanes, pass through stack memory one by one; what
happens between loading and storing a run is the same code for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from .....dialects.dims.dims import Sym, minimum, sym
from .....dialects.loop import ScanOp
from .....dialects.types import DType
from ..memory.access import storage_type
from ..text import EmitError, IrText, lit, llvm_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.primitives import literal
from ..values.registers import Values, VectorAxis, VectorValue, dtype_of
from .counted_loops import bound_of
from .loop_bodies import needs_order
from .loops import Loops
from .pairwise_stack import load_accumulator, store_accumulator
from .reduce import number_of

__all__ = ["Scans"]


@dataclass
class _Scan:
    """A scan being emitted."""

    op: ScanOp
    dtypes: list[DType]
    identity: list[str]
    lanes: int
    exclusive: bool


#: A run's elements as vectors, from where the run starts; and what to do with their prefixes.
Load = Callable[[VectorAxis], list[VectorValue]]
StorePrefixes = Callable[[VectorAxis, Sequence[VectorValue]], None]


class Scans:
    """The scans of `text`."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, loops: Loops):
        self.text, self.lanes, self.index, self.values = text, lanes, index, values
        self.loops, self.region = loops, loops.region

    def scan(self, op: ScanOp) -> None:
        if self.lanes.axes:
            raise EmitError("a scan inside a vector loop")
        order, lower, upper = op.order.data, op.lower.data, op.upper.data
        dtypes = [dtype_of(v.type) for v in op.inits]
        identity = [literal(number_of(a), d) for a, d in zip(op.identity.data, dtypes, strict=True)]
        scan = _Scan(op, dtypes, identity, order.lanes, op.exclusive is not None)
        inits = [self.values[v] for v in op.inits]
        extent = (upper - lower).const
        first = Sym(f"{op.symbol.name}.block")

        def block(before: list[VectorValue]) -> list[VectorValue]:
            here = sym(first.name)
            stop = minimum(here + order.block, upper)
            return self._scan_block(scan, before, self.index.value(here), self.index.value(stop))

        trips = None if extent is None else max(0, -(-extent // order.block))
        start, end = self.index.value(lower), self.index.value(upper)
        _, total = self.loops.counted(
            first, start, end, str(order.block), block, inits, trips=trips, bound=bound_of(op)
        )
        self.values.update(zip(op.outs, total))

    def _scan_block(self, scan: _Scan, before: list[VectorValue], start: str, end: str) -> list[VectorValue]:
        """The elements from `start` to `end`, at most a block; the accumulators after them."""
        op, lanes = scan.op, scan.lanes
        main_end = self.text.add(start, self.text.whole(self.text.sub(end, start), lanes))
        if needs_order(op.body.block) or needs_order(op.epilogue.block):
            load, store_prefixes = self._through_memory(scan, str(lanes))
        else:
            load, store_prefixes = self._in_vectors(scan)
        accumulators = len(scan.dtypes)
        chain = [VectorValue((), [text], d) for text, d in zip(scan.identity, scan.dtypes)]
        lane = VectorAxis(op.symbol, lanes, 1, len(self.lanes.axes))

        def run(carried: list[VectorValue]) -> list[VectorValue]:
            return self._run(scan, before, carried, lane, load, store_prefixes, None)

        stopped, after = self.loops.counted(
            op.symbol, start, main_end, str(lanes), run, [*chain, *before], bound=bound_of(op)
        )

        def rest() -> list[VectorValue]:
            left = self.text.sub(end, stopped)
            some = self._through_memory(scan, left)

            def step(carried: list[VectorValue]) -> list[VectorValue]:
                return self._run(scan, before, carried, lane, *some, left)

            return self.loops.counted(op.symbol, stopped, end, str(lanes), step, after, trips=1, bound=bound_of(op))[1]

        return self.loops.where(f"icmp slt i64 {stopped}, {end}", "tail", rest, after)[accumulators:]

    # One run

    def _run(
        self, scan: _Scan, before: list[VectorValue], carried: list[VectorValue], lane: VectorAxis, load: Load,
        store_prefixes: StorePrefixes, count: str | None,
    ) -> list[VectorValue]:  # fmt: skip
        """One run (`count` elements of it, None: all); `carried` is the chain of runs, then the accumulators after the
        last.

        `before` are the accumulators before the block.
        """
        accumulators = len(scan.dtypes)
        chain, latest = carried[:accumulators], carried[accumulators:]
        elements = load(lane)
        with self.lanes.along(lane):
            local = self._doubled(scan, elements, lane)
            prefixes = self._merged(scan, chain, local, lane)
            results = self._merged(scan, before, prefixes, lane)
        shown = [self._moved_up(r, p, lane) for r, p in zip(results, latest)] if scan.exclusive else results
        store_prefixes(lane, shown)
        place = str(lane.width - 1) if count is None else self.text.sub(count, "1")
        if count is None:
            # Merged on its own, the chain from run to run is one merge long.
            chain = self.region(scan.op.combiner.block, [*chain, *(self._element(x, place) for x in local)])
        else:
            chain = [self._element(p, place) for p in prefixes]
        return [*chain, *(self._element(r, place) for r in results)]

    def _merged(
        self, scan: _Scan, older: Sequence[VectorValue], newer: Sequence[VectorValue], lane: VectorAxis
    ) -> list[VectorValue]:
        return [self._as_vector(r, lane) for r in self.region(scan.op.combiner.block, [*older, *newer])]

    def _doubled(self, scan: _Scan, elements: list[VectorValue], lane: VectorAxis) -> list[VectorValue]:
        """The prefixes of one run: lane ``l`` takes in lane ``l - s`` for ``s`` = 1, 2, 4, …"""
        step, width = 1, lane.width
        while step < width:
            places = [k - step if k >= step else width + k for k in range(width)]
            moved = (self.text.shuffle(x.type, x.regs[0], text, places) for x, text in zip(elements, scan.identity))
            shifted = [VectorValue((lane,), [reg], x.dtype) for reg, x in zip(moved, elements)]
            elements = self._merged(scan, shifted, elements, lane)
            step *= 2
        return elements

    def _moved_up(self, results: VectorValue, previous: VectorValue, lane: VectorAxis) -> VectorValue:
        """Each lane's left neighbour; `previous` in the first."""
        spread = self.lanes.splat(previous.operands()[0], llvm_type(previous.dtype), lane.width)
        places = [k - 1 if k else lane.width for k in range(lane.width)]
        return VectorValue((lane,), [self.text.shuffle(results.type, results.regs[0], spread, places)], results.dtype)

    def _element(self, x: VectorValue, place: str) -> VectorValue:
        return VectorValue((), [self.text.ins(f"extractelement {x.type} {x.regs[0]}, i64 {place}")], x.dtype)

    # Where runs come from and go to

    def _in_vectors(self, scan: _Scan) -> tuple[Load, StorePrefixes]:
        def inside(lane: VectorAxis, block: Block, arguments: Sequence[VectorValue] = ()) -> list[VectorValue]:
            with self.lanes.along(lane):
                return self.region(block, arguments)

        def load(lane: VectorAxis) -> list[VectorValue]:
            return [self._as_vector(r, lane) for r in inside(lane, scan.op.body.block)]

        def store_prefixes(lane: VectorAxis, prefixes: Sequence[VectorValue]) -> None:
            inside(lane, scan.op.epilogue.block, prefixes)

        return load, store_prefixes

    def _through_memory(self, scan: _Scan, count: str) -> tuple[Load, StorePrefixes]:
        """One element of a run after another, `count` of them; between the two loops the run is in stack memory."""
        symbol = scan.op.symbol
        memory = [self.text.alloca(storage_type(d), scan.lanes) for d in scan.dtypes]

        def each(lane: VectorAxis, step: Callable[[list[str]], None]) -> None:
            here = self.index.symbols[symbol][0]

            def body(_: list[VectorValue]) -> list[VectorValue]:
                place = self.text.sub(self.index.symbols[symbol][0], here)
                step([
                    self.text.ins(f"getelementptr {storage_type(d)}, ptr {base}, i64 {place}")
                    for base, d in zip(memory, scan.dtypes)
                ])  # fmt: skip
                return []

            self.loops.counted(symbol, here, self.text.add(here, count), "1", body)

        def load(lane: VectorAxis) -> list[VectorValue]:
            for base, text, d in zip(memory, scan.identity, scan.dtypes):
                store_accumulator(self.text, base, lit(text, lane.width, llvm_type(d)), d, lane.width)

            def put(places: list[str]) -> None:
                for place, x in zip(places, self.region(scan.op.body.block)):
                    store_accumulator(self.text, place, x.operands()[0], x.dtype, 1)

            each(lane, put)
            return [
                VectorValue((lane,), [load_accumulator(self.text, p, d, lane.width)], d)
                for p, d in zip(memory, scan.dtypes)
            ]

        def store_prefixes(lane: VectorAxis, prefixes: Sequence[VectorValue]) -> None:
            for base, x in zip(memory, prefixes):
                store_accumulator(self.text, base, x.regs[0], x.dtype, lane.width)

            def take(places: list[str]) -> None:
                accumulators = [
                    VectorValue((), [load_accumulator(self.text, p, d, 1)], d) for p, d in zip(places, scan.dtypes)
                ]
                self.region(scan.op.epilogue.block, accumulators)

            each(lane, take)

        return load, store_prefixes

    def _as_vector(self, x: VectorValue, lane: VectorAxis) -> VectorValue:
        return VectorValue((lane,), self.lanes.spread(x, (lane,)), x.dtype).spelled()
