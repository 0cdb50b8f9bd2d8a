"""The function that schedules build: new iterators, numbers as symbols, temporaries, and branches on sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Block, SSAValue

from ...dialects import kernel, loop
from ...dialects.attributes import BufferInfo, DimAttr, DimsAttr, dim_attr
from ...dialects.dims.analysis import constant_bound
from ...dialects.dims.dims import Dim, dim, maximum, minimum, sym
from ...dialects.dims.index_map import unravel
from ...dialects.scalar.builder import BodyBuilder
from ..cost.model import CostModel
from ..memory.arena import IvRange, aligned_bytes, most

__all__ = ["FunctionContext", "if_positive", "materialize_dim"]


@dataclass
class FunctionContext:
    """The function being built: its iterators, its temporaries and its branches.

    `ranges` are the sequential loops around what is being written.
    """

    function: func.FuncOp
    counter: itertools.count[int] = field(default_factory=itertools.count)
    ranges: list[IvRange] = field(default_factory=list)
    costs: CostModel = field(default_factory=CostModel)
    #: How many threads of a grid take one iteration each; None: as many as there are take tasks.
    gpu_threads: int | None = None
    #: 1 in calls that use the temporaries which are allocated now, 0 in others.
    workspace_scale: Dim = field(default_factory=lambda: dim(1))

    @contextmanager
    def temporarily(self, **fields: Any) -> Iterator[None]:
        """Other values of some fields, for what is written meanwhile."""
        before = {name: getattr(self, name) for name in fields}
        vars(self).update(fields)
        try:
            yield
        finally:
            vars(self).update(before)

    def new_iv(self) -> Dim:
        """A new iterator."""
        return sym(f"i{next(self.counter)}")

    @contextmanager
    def workspace_when(self, excess: Dim) -> Iterator[None]:
        """Temporaries that are allocated meanwhile take no memory in calls in which an expression is not positive.

        They do where the expression has symbols that are known only later in a call.
        """
        scale, given = self.workspace_scale, self.function.attributes["tx.symbols"]
        assert isinstance(given, DimsAttr)
        if excess.symbols() <= {d.symbol for d in given.data}:
            scale = scale * minimum(1, maximum(0, excess))
        with self.temporarily(workspace_scale=scale):
            yield

    def if_positive(
        self, block: Block, excess: Dim, where: Callable[[Block], None], otherwise: Callable[[Block], None]
    ) -> None:
        """One of two branches, each with temporaries that the other does not have."""

        def one(inner: Block) -> None:
            with self.workspace_when(excess):
                where(inner)

        def other(inner: Block) -> None:
            with self.workspace_when(1 - excess):
                otherwise(inner)

        if_positive(block, excess, one, other)

    def threads(self, block: Block) -> Dim:
        """How many threads may take part, as a symbol for the rest of the block where that is not known."""
        if self.gpu_threads is not None:
            return dim(self.gpu_threads)
        made = loop.ThreadsOp()
        block.add_op(made)
        return self.bind(block, made.result)

    def bind(self, block: Block, value: SSAValue) -> Dim:
        """An i64 as a symbol for the rest of the block."""
        name = f"{kernel.BOUND}{next(self.counter)}."
        block.add_op(loop.BindOp(value, name))
        return sym(name)

    @contextmanager
    def bounded(self, block: Block, sizes: Sequence[Dim]) -> Iterator[tuple[Dim, ...]]:
        """Sizes, those that loops around vary as symbols for the rest of the block.

        Temporaries whose sizes are computed from the symbols, in whatever way, have the bounds that follow from theirs:
        of a long expression with several iterators few are known.
        """
        around = len(self.ranges)
        iterators = {loop.symbol for loop in self.ranges}
        named: list[Dim] = []
        for size in sizes:
            varies = size.symbol is None and bool(size.symbols() & iterators)
            named.append(materialize_dim(self, block, size) if varies else size)
            if varies and (symbol := named[-1].symbol) is not None:
                self.ranges.append(IvRange(symbol, dim(0), most(size, self.ranges[:around])))
        yield tuple(named)
        del self.ranges[around:]

    def allocate(self, block: Block, info: BufferInfo, scope: str = "arena") -> SSAValue:
        """A temporary at the end of the arena (or of each worker's own)."""
        attribute = "tx.arena" if scope == "arena" else "tx.thread_arena"
        size = self.function.attributes[attribute]
        assert isinstance(size, DimAttr)
        made = loop.AllocOp(info, size.data, scope)
        block.add_op(made)
        self.function.attributes[attribute] = dim_attr(
            size.data + aligned_bytes(info, self.ranges) * self.workspace_scale
        )
        return made.result

    def index_of(self, block: Block, number: Dim, extents: Sequence[Dim]) -> list[Dim]:
        """The row-major multi-index of a number, each of its dims computed here."""
        return [materialize_dim(self, block, e) for e in unravel(number, extents)]


def if_positive(block: Block, excess: Dim, where: Callable[[Block], None], otherwise: Callable[[Block], None]) -> None:
    """One of two ways, by whether an expression is positive: when the loops run, unless it is known before."""
    if excess.const is not None:
        return where(block) if excess.const > 0 else otherwise(block)
    if (most := constant_bound(excess)) is not None and most <= 0:
        return otherwise(block)
    condition = (BodyBuilder(block).index(excess) > 0).ref
    then, other = Block(), Block()
    where(then)
    otherwise(other)
    for inner in (then, other):
        inner.add_op(loop.YieldOp())
    block.add_op(loop.IfOp(condition, then, other))
    return None


def materialize_dim(context: FunctionContext, block: Block, expr: Dim) -> Dim:
    """An expression, computed here, as a symbol for the rest of the block: what is built on it stays short."""
    if expr.const is not None or expr.symbol is not None:
        return expr
    made = loop.IndexOp(expr)
    block.add_op(made)
    return context.bind(block, made.result)
