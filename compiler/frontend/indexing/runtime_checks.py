"""What is data is checked: a graph with such indices, or with equations, has one more output that says what failed.

Compiled code never leaves an array: a read outside takes the nearest element, a store outside does nothing
(`dialects/ops/structure/indexing.py`); and where an equation has no solution it goes on with infinities and NaN
(`dialects/ops/linalg/factorizations.py`).  What marks them ``mode="raise"`` asks for more: `checked` makes the graph
again with a number beside them that is 0 as long as all is well, carried through loops and branches like any variable,
and is given out last.  So it is ordinary arithmetic on every level and every back end.  Whoever calls the code raises
the error of the check (`Structural.error`, of indices `IndexError`) where it is not 0; `runtime/check_errors.py` takes
it apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....dialects.dims.dims import Dim, Sym
from ....dialects.dims.index_map import product
from ....dialects.registry import INHABITED, OPS, RAISE, Map, Structural
from ....dialects.types import DTYPES, tensor_type
from ....runtime.check_errors import CHECKS, LEAST, MOST, Check, index_check, packed
from ...call.signature import ROOM
from ..scalars.int_ranges import TOO_WIDE, prove
from ..tensor.apply import apply, cast
from ..tensor.tensor import Tensor
from ..trace.emit import constant, emit
from ..trace.graph import Block, Graph, Loc, Node, Value
from ..trace.symint import SymInt
from ..trace.trace import Trace

__all__ = ["checked"]

_I64 = DTYPES["i64"]


def checked(graph: Graph) -> Graph:
    """The graph itself where it checks nothing, else one with the word of `check_errors` as its last output."""
    prove(graph.nodes(), graph.table)
    graph = replace(graph, demands=_still_asking(graph.demands))
    if not _asks(graph.walk()):
        return graph
    trace = _Again(graph)
    with trace:
        made = _Copy(trace)
        known = {i.value: i.value for i in graph.inputs if i.value is not None}
        word = made.nodes(graph.nodes(), known, None)
    if word is None:
        return graph
    return replace(graph, outputs=[*(known[v] for v in graph.outputs), word], checks=tuple(made.found), demands=[])


def _asks(nodes: Iterable[Node]) -> bool:
    return any(node.attrs.get("mode") == RAISE for node in nodes)


def _still_asking(demands: Sequence[Node]) -> list[Node]:
    """What is demanded without the nodes that surely do not fail, also in the regions inside."""
    for node in demands:
        for region in node.regions:
            region.demands = _still_asking(region.demands)
    return [n for n in demands if n.attrs.get("mode") == RAISE or any(region.demands for region in n.regions)]


class _Again(Trace):
    """A trace that goes on with a finished graph's dims and block; nodes stand where the checked ones do."""

    def __init__(self, graph: Graph):
        super().__init__(graph.name)
        self.table = graph.table
        self.blocks: list[Block | None] = [graph.body]  # pyright: ignore[reportIncompatibleVariableOverride]
        self.loc: Loc | None = None

    def emit(self, node: Node) -> tuple[Value, ...]:
        node.loc, node.block = self.loc, self.blocks[-1]
        return node.results

    def adopt(self, lazy: Tensor) -> Tensor:
        """Lazy tensors are part of the graph."""
        return lazy


class _Copy:
    """Makes nodes again, with checks between them; `found` has what each check raises."""

    def __init__(self, trace: _Again):
        self.trace = trace
        self.found: list[Check] = []

    def nodes(self, nodes: Sequence[Node], known: dict[Value, Value], word: Value | None) -> Value | None:
        """Make a block's nodes in the open block; `known` learns their values.  The word after them."""
        for node in nodes:
            word = self.node(node, known, word)
        return word

    def node(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value | None:
        assert node.op is not None
        self.trace.loc = node.loc
        if node.op is OPS["require"]:
            return self.required(node, known, word)
        if any(_asks(_walk(region)) for region in node.regions):
            word = self.zero() if word is None else word
            return getattr(self, f"_{node.op.name}")(node, known, word)
        regions = [self.region(region, known)[0] for region in node.regions]
        self.again(node, [known[v] for v in node.operands], regions, known)
        return self.checks(node, known, word) if node.attrs.get("mode") == RAISE else word

    def again(
        self, node: Node, operands: Sequence[Value], regions: Sequence[Block], known: dict[Value, Value], more: int = 0
    ) -> Node:
        """A node like another one, with `more` words among its results."""
        attrs = {k: v for k, v in node.attrs.items() if k != "mode" or v != RAISE}
        if node.op is OPS["take"] and self.is_inhabited(node):
            attrs["mode"] = INHABITED
        types = [*(r.type for r in node.results), *[tensor_type(_I64, ())] * more]
        made = Node(node.op, operands, attrs, types, node.loc, regions)
        self.trace.loc = node.loc
        self.trace.emit(made)
        known.update(zip(node.results, made.results))
        return made

    def is_inhabited(self, node: Node) -> bool:
        """Whether the dims that a `take` indexes have elements, as a fact: then it need not ask at each read."""
        at: int = node.attrs["axis"]
        sizes = node.operands[0].type.dims[at : at + len(node.operands) - 1]
        return all([self.trace.table.decide(0, "<", size, "an index that is data") for size in sizes])

    def region(
        self, region: Block, known: dict[Value, Value], carried: bool = False, start: bool = False
    ) -> tuple[Block, Value | None]:
        """A region again and the word at its end.  It has the word as an argument where that is `carried`.

        With `start` it begins with one of its own, and gives none out.
        """
        word_type = [tensor_type(_I64, ())] if carried else []
        block = Block([*(a.type for a in region.args), *word_type], self.trace.block)
        inner = {**known, **dict(zip(region.args, block.args))}
        self.trace.blocks.append(block)
        word = block.args[-1] if carried else self.zero() if start else None
        word = self.nodes(region.nodes(), inner, word)
        block.outputs = [inner.get(v, v) for v in region.outputs]
        self.trace.blocks.pop()
        return block, word

    def _for(self, node: Node, known: dict[Value, Value], word: Value) -> Value:
        loops, symbol = self.trace.table.loops, Sym(node.attrs["iv"])
        loops[symbol] = node.attrs["lower"], node.attrs["upper"] - 1
        block, end = self.region(node.regions[0], known, carried=True)
        del loops[symbol]
        assert end is not None
        block.outputs.append(end)
        made = self.again(node, [*(known[v] for v in node.operands), word], [block], known, 1)
        return made.results[-1]

    def _if(self, node: Node, known: dict[Value, Value], word: Value) -> Value:
        blocks = []
        for region in node.regions:
            block, end = self.region(region, known, start=True)
            assert end is not None
            block.outputs.append(end)
            blocks.append(block)
        made = self.again(node, [known[v] for v in node.operands], blocks, known, 1)
        return self.first(word, made.results[-1])

    def _while(self, node: Node, known: dict[Value, Value], word: Value) -> Value:
        """It ends where an index was outside: the loop that goes on might never end.

        What its condition finds cannot leave it, so the condition is computed once more, behind the loop.
        """
        test, here = self.region(node.regions[0], known, carried=True)
        assert here is not None
        self.trace.blocks.append(test)
        fine = apply("logical_and", Tensor(test.outputs[0]), apply("equal", Tensor(here), 0))
        test.outputs = [fine.value]
        self.trace.blocks.pop()
        body, end = self.region(node.regions[1], known, carried=True)
        assert end is not None
        body.outputs.append(end)
        made = self.again(node, [*(known[v] for v in node.operands), word], [test, body], known, 1)
        if not _asks(_walk(node.regions[0])):
            return made.results[-1]
        again = {**known, **dict(zip(node.regions[0].args, made.results))}
        last = self.nodes(node.regions[0].nodes(), again, made.results[-1])
        assert last is not None
        return last

    def checks(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value | None:
        """The word after one node: of indices, or of an op that says itself where it has failed."""
        assert node.op is not None
        if issubclass(node.op, Structural) and node.op.error is not None:
            failed = node.op.failed(apply, *(Tensor(known[v]) for v in node.results))
            (anywhere,) = _folded("any", failed)
            found = self.word(anywhere, 0, Check(*node.op.error))
            return found if word is None else self.first(word, found)
        if issubclass(node.op, Map):
            return self.exact(node, known, word)
        base, *others = (known[v] for v in node.operands)
        if node.op is OPS["take"]:
            at, indices = node.attrs["axis"], others
            limits = base.type.dims[at : at + len(indices)]
        else:
            limits, indices = node.attrs["limits"], others[1:]
        for index, size in zip(indices, limits, strict=True):
            if _surely_inside(index, size):
                continue
            found = self.outside(index, size)
            word = found if word is None else self.first(word, found)
        return word

    def exact(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value:
        """The word after a node whose result has to be the exact one: that of Python's ints."""
        assert node.op is not None and issubclass(node.op, Map)
        (result,), operands = node.results, [Tensor(known[v]) for v in node.operands]
        inexact = node.op.inexact(apply, node.attrs, Tensor(known[result]), *operands)
        place, text = 0, TOO_WIDE
        if node.op is OPS["cast"]:
            place = apply("cwise_min", apply("cwise_max", operands[0], LEAST), MOST)
            text = f"Python integer {{}} out of bounds for {result.type.dtype.numpy}"
            if not result.type.dtype.is_integer:
                text = "a Python int beyond 2**53 is divided: compiled code has no exact quotient of it"
        found = self.word(inexact, place, Check("OverflowError", text))
        return found if word is None else self.first(word, found)

    def required(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value:
        """The word after a demand, of which nothing else is left."""
        value, holds = (known[v] for v in node.operands)
        known[node.results[0]] = value
        fails = apply("logical_not", Tensor(holds))
        (anywhere,) = _folded("any", fails) if fails.ndim else (fails,)
        place = apply("cwise_min", Tensor(value), MOST) if node.attrs["error"] == ROOM else 0
        found = self.word(anywhere, place, Check(node.attrs["error"], node.attrs["text"]))
        return found if word is None else self.first(word, found)

    def outside(self, index: Value, size: Dim) -> Value:
        """0, or the word of an index that is outside: the largest of all, if it is, else the least.

        What is inside is an interval, so these two say all; of no indices neither is outside, nor is one that is
        repeated no times.
        """
        source = _repeated(index)
        least, most = (cast(extreme, _I64) for extreme in _extremes(Tensor(source)))
        wide = SymInt(size)
        above = apply("greater_equal", most, wide)
        outside = apply("logical_or", above, apply("less", least, -wide))
        if source is not index:
            outside = apply("logical_and", outside, apply("less", 0, SymInt(product(index.type.dims))))
        place = apply("cwise_min", apply("cwise_max", apply("select", above, most, least), LEAST), MOST)
        return self.word(outside, place, index_check(None if size.symbols() & self.trace.table.loops.keys() else size))

    def word(self, failed: Tensor, place: Any, check: Check) -> Value:
        """0, or the word of a check that has failed."""
        number = min(len(self.found), CHECKS - 1)
        self.found.append(check)
        return apply("select", failed, place + packed(number, 0), 0).value

    def first(self, a: Value, b: Value) -> Value:
        """The word of the earlier of two checks, one of which comes first in the program."""
        return apply("cwise_max", Tensor(a), Tensor(b)).value

    def zero(self) -> Value:
        return constant(0, _I64)


def _repeated(index: Value) -> Value:
    """What broadcasting repeats in some indices: no others are among them.  They themselves where it repeats none."""
    source, node = index, index.node
    while node.op is not None and node.op.name in _WHOLE:
        if node.op.name == "expand":
            source = node.operands[0]
        node = node.operands[0].node
    return source


def _extremes(index: Tensor) -> Sequence[Tensor]:
    """The least and the largest of some indices.

    Of none they are the ends of their dtype, the largest first: signed, so that neither is outside.
    """
    if not index.ndim:
        return index, index
    if not index.element.is_signed:
        index = cast(index, _I64)
    return [*_folded("minimum", index), *_folded("maximum", index)]


def _folded(name: str, x: Tensor) -> list[Tensor]:
    """A reduction of all elements."""
    fold = OPS[name]
    attrs = fold.bind([x.value.type], {"dims": tuple(range(x.ndim))})
    return [Tensor(v) for v in emit(fold, [x.value], attrs)]


#: Ops whose results have every element of their operand where they have any.
_WHOLE = ("expand", "reshape", "shuffle", "squeeze")
#: Ops whose results are elements of their operand, or numbers that it has.
_MOVING = ("cast", "expand", "reshape", "shuffle", "slice", "strided_slice", "chip", "squeeze")


def _surely_inside(index: Value, size: Dim) -> bool:
    """Whether an index counts the elements of a dim of that size, is a position found there, or has no elements."""
    if any(d.const == 0 for d in index.type.dims):
        return True
    node = index.node
    while node.op is not None and node.op.name in _MOVING:
        node = node.operands[0].node
    if node.op is None:
        return False
    if node.op.name == "iota":
        return node.results[0].type.dims[0] is size
    if node.op.name in ("argmax", "argmin"):
        dims = node.attrs["dims"]
        return len(dims) == 1 and node.operands[0].type.dims[dims[0]] is size
    return node.op.name == "argsort" and node.operands[0].type.dims[node.attrs["axis"]] is size


def _walk(block: Block) -> Iterator[Node]:
    for node in block.nodes():
        yield node
        for region in node.regions:
            yield from _walk(region)
