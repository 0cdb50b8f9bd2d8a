"""``exact=True``: sums across chunks in the order of arithmetic that one array has, so that they have its bits.

An order (`dialects/order.py`) reduces blocks of elements, each by itself, and combines their values in a fixed tree.
Where chunks consist of whole blocks, that tree does not care where a value comes from: a chunk gives the values of the
largest subtrees that it has all of, computed by the same program, and neighbours are combined once both are there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ...dialects.dims.dims import Sym
from ...dialects.ops.reductions.reduction import MonoidReduction
from ...dialects.order import Order
from ...dialects.registry import OPS, Op
from ...dialects.types import TensorType
from ..config.devices import device as on_device
from ..driver.compile_cache import packed, stages_of
from ..frontend.tensor.apply import apply, as_tensor
from ..frontend.trace.graph import Node, Value
from .axes import NeedsWholeAxis, Total
from .part import part_of
from .program import ChunkedCall, ChunkProgram

__all__ = ["BlockOrder", "CombineBlocks", "ReduceBlocks", "block_order"]


class BlockOrder(NamedTuple):
    """How a total is reduced: in the blocks of an `order`, along the cut axis of a `symbol`, the slowest reduced one.

    Each index of that axis has `inner` elements, those of the other reduced axes.  `axes` are the operand's, slowest
    first, where there are several.  Partial results are combined by the map op `by`.
    """

    order: Order
    symbol: Sym
    inner: int
    axes: tuple[int, ...]
    by: str

    def aligned(self, lengths: Sequence[int]) -> tuple[int, ...]:
        """The lengths of chunks whose bounds are the nearest ones, each once, between blocks of the order."""
        step = self.order.block // math.gcd(self.order.block, self.inner)
        *bounds, end = accumulate(lengths)
        nearest = sorted({(b + step // 2) // step * step for b in bounds})
        bounds = [0, *(b for b in nearest if 0 < b < end), end]
        return tuple(after - before for before, after in pairwise(bounds))


class Subtree(NamedTuple):
    """The value of `blocks` adjacent blocks of an order, from number `first` on."""

    first: int
    blocks: int
    value: Any


def block_order(call: ChunkedCall, cut: frozenset[Sym], number: int, sizes: Mapping[Sym, int]) -> BlockOrder | None:
    """How total `number` of a call is reduced in memory; None where any order gives the same bits.

    `sizes` are those of the whole arrays, which are row-major.  NeedsWholeAxis where chunks along the axes `cut` cannot
    have whole blocks of the order.
    """
    value, total = [*call.totals(cut).items()][number]
    node, symbol = value.node, min(total.symbols, key=str)
    assert node.op is not None
    if not (value.type.dtype.is_float or value.type.dtype.is_complex):
        return None
    if node.op is OPS["scatter"]:
        raise _refused(symbol, "adds one element after another along {axis}", node)
    if value.type.dtype.computes_in is not value.type.dtype:
        wide = value.type.dtype.computes_in.numpy
        raise _refused(symbol, f"rounds sums of {wide} to {value.type.dtype.numpy} behind all of {{axis}}", node)
    if node.op is OPS["prod"] and value.type.dtype.is_complex:
        raise _refused(symbol, "multiplies complex numbers along {axis}", node)
    if node.op is OPS["contract"] and call.function.compile_options.fastmath:
        raise _refused(symbol, "adds along {axis} as fastmath= has it", node)
    return _along_slowest(node, total, *_order_in_memory(call, cut, value), sizes)


def _along_slowest(
    node: Node, total: Total, order: Order, axes: tuple[int, ...], sizes: Mapping[Sym, int]
) -> BlockOrder | None:
    """The order of a reduction along `axes`, slowest first.  NeedsWholeAxis where another one than that is cut."""
    operand = node.operands[0].type
    dims = [operand.dims[a] for a in axes]
    counts = [int(d.evaluate(sizes)) for d in dims]
    if 0 in counts:
        return None
    varying = [n for n, count in enumerate(counts) if count > 1]
    first = varying[0] if varying else 0
    for n, d in enumerate(dims):
        if n != first and d.symbol in total.symbols:
            raise _refused(d.symbol, f"has blocks of {order.block} elements across chunks along {{axis}}", node)
    symbol, inner = dims[first].symbol, math.prod(counts[first + 1 :])
    assert symbol is not None and node.op is not None
    if node.op is OPS["contract"]:
        if inner > 1:
            raise _refused(symbol, "adds along {axis} and others at once", node)
        return BlockOrder(order, symbol, 1, (), "add")
    assert issubclass(node.op, MonoidReduction)
    if inner > 1 and _flat_axis(node.op, operand, axes, order) is None:
        raise _refused(symbol, f"goes along {{axis}} in the order {order}", node)
    return BlockOrder(order, symbol, inner, axes if inner > 1 else (), node.op.by)


def _refused(symbol: Sym, why: str, node: Node) -> NeedsWholeAxis:
    return NeedsWholeAxis(symbol, f"{why}, which exact=True does not allow", node)


def _order_in_memory(call: ChunkedCall, cut: frozenset[Sym], value: Value) -> tuple[Order, tuple[int, ...]]:
    """The order of a reduction of row-major arrays, and the axes of its first operand along which it goes, slowest
    first."""
    from ...dialects import tx
    from ..pipeline import function_of

    operand = value.node.operands[0]
    graph = part_of(call.graph, [operand, value], (), {}, cut)
    options = call.function.compile_options
    module = stages_of(graph, packed(graph), options, stop_after="tensor").module
    assert module is not None
    *_, returned = function_of(module).body.block.ops
    given, made = returned.operands[0], returned.operands[1].owner
    if isinstance(made, tx.ContractOp):
        return made.order, tuple(left for left, _ in made.pairs)
    assert isinstance(made, tx.ReductionOp)
    taken = made.operand.owner
    permutation: Sequence[int] = range(len(operand.type.dims))
    if given is not made.operand and isinstance(taken, tx.TxOp):  # the pass has interchanged its dims
        permutation = taken.params["permutation"]
    return made.order, tuple(permutation[d] for d in sorted(made.dims))


def _flat_axis(op: type[MonoidReduction], operand: TensorType, axes: Sequence[int], order: Order) -> int | None:
    """Where an axis of all of `axes` has to be, so that a reduction along it has an order: 0 or -1, else None."""
    kept = [d for a, d in enumerate(operand.dims) if a not in axes]
    flat = math.prod((operand.dims[a] for a in axes[1:]), start=operand.dims[axes[0]])
    if op.order(operand.with_dims((*kept, flat)), (len(kept),)) == order:
        return -1
    return 0 if op.order(operand.with_dims((flat, *kept)), (0,)) == order else None


class ReduceBlocks:
    """Computes the subtrees of a total that a chunk has, from where that starts along the cut axis and its arrays."""

    def __init__(self, call: ChunkedCall, cut: frozenset[Sym], number: int, blocks: BlockOrder):
        self.call, self.cut, self.number, self.blocks = call, cut, number, blocks
        self._program = ChunkProgram(call, cut, "operands" if blocks.axes else "totals", [number])
        self.inputs = self._program.inputs
        self.value = [*call.totals(cut)][number]

    def __reduce__(self) -> Any:
        return ReduceBlocks, (self.call, self.cut, self.number, self.blocks)

    def __dask_tokenize__(self) -> Any:
        return "blocks", self._program.__dask_tokenize__(), str(self.blocks)

    @property
    def __name__(self) -> str:
        return self._program.__name__

    def __call__(self, start: np.ndarray, *chunks: Any) -> list[Subtree]:
        arrays = self._program.plain(chunks)
        length = self._program.sizes(arrays)[self.blocks.symbol]
        reduce = self._flat(arrays) if self.blocks.axes else self._along(arrays)
        size, inner = self.blocks.order.block, self.blocks.inner
        begin, end = int(start[0]) * inner, (int(start[0]) + length) * inner
        return [
            Subtree(first, count, reduce(first * size - begin, min((first + count) * size, end) - begin))
            for first, count in _subtrees(self.blocks.order, begin // size, -(-end // size))
        ]

    def _along(self, arrays: Sequence[np.ndarray]) -> Callable[[int, int], Any]:
        """What reduces the indices from one to another one of the cut axis: the program of the total itself."""
        found = []
        for given in self.inputs:
            assert given.value is not None
            symbols = [d.symbol for d in given.value.type.dims]
            found.append(symbols.index(self.blocks.symbol) if self.blocks.symbol in symbols else None)

        def reduce(first: int, last: int) -> Any:
            parts = [a if axis is None else _slice(a, axis, first, last) for a, axis in zip(arrays, found)]
            return self._program(*parts)[0]

        return reduce

    def _flat(self, arrays: Sequence[np.ndarray]) -> Callable[[int, int], Any]:
        """What reduces elements of the reduced axes by their numbers: its operand, and a reduction of one axis."""
        node, axes = self.value.node, self.blocks.axes
        assert node.op is not None and issubclass(node.op, MonoidReduction)
        axis = _flat_axis(node.op, node.operands[0].type, axes, self.blocks.order)
        assert axis is not None
        operand = np.asarray(self._program(*arrays))
        kept = [a for a in range(operand.ndim) if a not in axes]
        places, shape = ((*axes, *kept), [-1, *(operand.shape[a] for a in kept)]) if axis == 0 else (
            (*kept, *axes), [*(operand.shape[a] for a in kept), -1]
        )  # fmt: skip
        flat = operand.transpose(places).reshape(shape)
        op, along = node.op, axis % flat.ndim
        return lambda first, last: _computed(op, np.ascontiguousarray(_slice(flat, along, first, last)), dims=(along,))


def _slice(array: np.ndarray, axis: int, first: int, last: int) -> np.ndarray:
    return array[(slice(None),) * axis + (slice(first, last),)]


def _subtrees(order: Order, first: int, last: int) -> Iterator[tuple[int, int]]:
    """The first blocks and the sizes of the largest subtrees that blocks ``first … last - 1`` consist of."""
    if order.kind == "chain" and first == 0:
        yield 0, last
        return
    while first < last:
        fitting = 1 << (last - first).bit_length() - 1
        count = 1 if order.kind == "chain" else min(first & -first or fitting, fitting)
        yield first, count
        first += count


class CombineBlocks:
    """Combines subtrees of neighbouring chunks by an order; to `finish` into the result."""

    __name__ = "combine_blocks"

    def __init__(self, order: Order, by: str, finish: bool):
        self.order, self.by, self.finish = order, by, finish

    def __dask_tokenize__(self) -> Any:
        return "combine blocks", str(self.order), self.by, self.finish

    def __call__(self, parts: Any, axis: Any, keepdims: bool) -> Any:
        chunks: list[list[Subtree]] = parts if parts and isinstance(parts[0], list) else [parts]
        waiting: list[Subtree] = []
        for tree in (tree for chunk in chunks for tree in chunk):
            while waiting and self._are_one(waiting[-1], tree):
                tree = self._combined(waiting.pop(), tree)
            waiting.append(tree)
        while self.finish and len(waiting) > 1:
            newer = waiting.pop()
            waiting.append(self._combined(waiting.pop(), newer))
        return waiting[0].value if self.finish else waiting

    def _are_one(self, older: Subtree, newer: Subtree) -> bool:
        """Whether the order combines two neighbours next."""
        if self.order.kind == "chain":
            return older.first == 0
        return older.blocks == newer.blocks and older.first % (2 * older.blocks) == 0

    def _combined(self, older: Subtree, newer: Subtree) -> Subtree:
        return Subtree(older.first, older.blocks + newer.blocks, _computed(self.by, older.value, newer.value))


def _computed(op: str | type[Op], *arrays: np.ndarray, **params: Any) -> np.ndarray:
    """What an op makes of arrays."""
    with on_device("cpu:1"):
        return np.asarray(apply(op, *map(as_tensor, arrays), **params))
