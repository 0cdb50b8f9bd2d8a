"""What is data is checked: a graph with such indices, or with equations, has one more output that says what failed.

Compiled code never leaves an array: a read outside takes the nearest element, a store outside does nothing
(`dialects/ops/structure/indexing.py`); and where an equation has no solution it goes on with infinities and NaN
(`dialects/ops/linalg/factorizations.py`).  What marks them ``mode="raise"`` asks for more: `with_runtime_checks` makes
the graph again with a number beside them that is 0 as long as all is well, carried through loops and branches like any
variable, and is given out last.  So it is ordinary arithmetic on every level and every back end.  Whoever calls the
code raises the error of the check (`Structural.error`, of indices `IndexError`) where it is not 0;
`runtime/check_errors.py` takes it apart.

Python does nothing behind an error, so a store that others see (`Stored`), and a `while`, which might not end, are in a
branch that runs only where that number still is 0: one for all that follow each other without a check between them.
What only computes stands outside, unless nothing else needs it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....dialects.dims.dims import Dim, Sym
from ....dialects.dims.index_map import product
from ....dialects.registry import INHABITED, OPS, RAISE, Map, Structural
from ....dialects.tx_internal import Empty, Stored
from ....dialects.types import DTYPES, TensorType, tensor_type
from ....runtime.check_errors import CHECKS, ERRORS, LEAST, MOST, Check, index_check, packed
from ...call.signature import ROOM
from ...diagnostics import Loc, TxcError
from ..scalars.int_ranges import TOO_WIDE, prove
from ..tensor.apply import apply
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.emit import constant, emit
from ..trace.graph import Block, Graph, Node, Value, next_serial, schedule
from ..trace.raised import raised_by
from ..trace.symint import SymInt
from ..trace.trace import Trace

__all__ = ["with_runtime_checks"]

_I64 = DTYPES["i64"]


def with_runtime_checks(graph: Graph) -> Graph:
    """The graph itself where it checks nothing, else one with the word of `check_errors` as its last output."""
    prove(graph.nodes(), graph.table)
    graph = replace(graph, demands=_still_asking(graph.demands))
    _refuse_guarded(graph)
    if not _asks(graph.walk()):
        graph.forget_stores()
        return graph
    trace = _GraphCopy(graph)
    with trace:
        made = _Copy(trace, graph.nodes())
        known = {i.value: i.value for i in graph.inputs if i.value is not None}
        word = made.nodes(graph.nodes(), known, None, graph.outputs)
    if word is None:
        graph.forget_stores()
        return graph
    outputs = [*(known[v] for v in graph.outputs), word]
    made.move_into_branches(outputs, trace.block)
    return replace(graph, outputs=outputs, checks=tuple(made.found), places=tuple(made.places), demands=[])


def _refuse_guarded(graph: Graph) -> None:
    """TxcError where compiled code may raise an error of which the program does something."""
    for node in graph.walk() if graph.guarded else ():
        kind = raised_by(node) if node in graph.guarded and _asks([node]) else None
        if kind is not None:
            raise TxcError(
                f"whether {kind.__name__} is raised in this block is known only when the compiled function runs, "
                "which then raises it: no `except`, `finally` or `__exit__` is run",
                graph.guarded[node],
                f"{_ASK_BEFORE.get(kind, 'let an `if` decide instead')}, or catch it around the call of the function",
                "TX0311",
            )


#: What a program can ask instead of catching an error.
_ASK_BEFORE: dict[type[BaseException], str] = {
    IndexError: "ask before it: `if 0 <= i < len(x):`",
    KeyError: "ask before it: `if key in d:`",
    ZeroDivisionError: "ask before it: `if d != 0:`",
    StopIteration: "write next(…, default)",
    ERRORS["LinAlgError"]: "ask before it, as by np.linalg.cond or np.linalg.eigvalsh",
}


def _asks(nodes: Iterable[Node]) -> bool:
    return any(node.attrs.get("mode") == RAISE for node in nodes)


def _still_asking(demands: Sequence[Node]) -> list[Node]:
    """What is demanded without the nodes that surely do not fail, also in the regions inside."""
    for node in demands:
        for region in node.regions:
            region.demands = _still_asking(region.demands)
    return [n for n in demands if n.attrs.get("mode") == RAISE or any(region.demands for region in n.regions)]


class _GraphCopy(Trace):
    """A trace that goes on with a finished graph's dims and block; nodes stand where the checked ones do."""

    def __init__(self, graph: Graph):
        super().__init__(graph.name)
        self.table = graph.table
        self.blocks: list[Block | None] = [graph.body]  # pyright: ignore[reportIncompatibleVariableOverride]
        self.loc: Loc | None = None

    def emit(self, node: Node) -> tuple[Value, ...]:
        node.loc, node.block = self.loc, self.blocks[-1]
        return node.results

    def capture_lazy(self, lazy: Tensor) -> Tensor:
        """Lazy tensors are part of the graph."""
        return lazy


class _Copy:
    """Makes nodes again, with checks between them; `found` has what each check raises, `places` where it is."""

    def __init__(self, trace: _GraphCopy, nodes: Sequence[Node]):
        self.trace = trace
        self.found: list[Check] = []
        self.places: list[Loc | None] = []
        #: The nodes that check, and those that Python would not reach behind an error: with what is in their regions.
        self.asking: set[Node] = set()
        self.acting: set[Node] = set()
        self._sort_out(nodes)
        #: The branches that run only where no check failed, each with the moment of the last such node before it.
        self.guarded: dict[Node, float] = {}

    def _sort_out(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            inside = [inner for region in node.regions for inner in region.nodes()]
            self._sort_out(inside)
            if _asks([node]) or not self.asking.isdisjoint(inside):
                self.asking.add(node)
            if node.op is Stored or node.op is OPS["while"] or not self.acting.isdisjoint(inside):
                self.acting.add(node)

    def nodes(
        self, nodes: Sequence[Node], known: dict[Value, Value], word: Value | None, handed: Sequence[Value] = ()
    ) -> Value | None:
        """Make a block's nodes in the open block; `known` learns their values.  The word after them.

        Values `handed` on are needed behind them.
        """
        at, since = 0, 0.0
        last_use: dict[Value, float] = {}
        while at < len(nodes):
            node = nodes[at]
            end = at + 1
            if word is None or node not in self.acting or node in self.asking:
                word = self.node(node, known, word)
            else:
                end = self._last_acting(nodes, at) + 1
                last_use = last_use or _last_use(nodes, handed)
                made = [v for acting in nodes[at:end] for v in acting.results]
                needed = {v for v in made if last_use.get(v, 0) >= end}
                word = once = apply("eval", Tensor(word)).value
                self.guarded[self.where_fine(nodes[at:end], known, once, needed)] = since
            if node in self.acting:
                since = next_serial()
            at = end
        return word

    def _last_acting(self, nodes: Sequence[Node], first: int) -> int:
        """The last node that acts before the next one that checks."""
        last = at = first
        while at < len(nodes) and nodes[at] not in self.asking:
            if nodes[at] in self.acting:
                last = at
            at += 1
        return last

    def where_fine(
        self, nodes: Sequence[Node], known: dict[Value, Value], word: Value, needed: Collection[Value]
    ) -> Node:
        """Make nodes, of which those that act, and what follows from these, in a branch: where no check failed so far.

        Elsewhere what they store into is what it was before them.  The branch hands on what is `needed` behind them.
        """
        within: set[Node] = set()
        for node in nodes:
            if node in self.acting or any(v.node in within for v in _uses(node)):
                within.add(node)
            else:
                self.node(node, known, None)
        results = [v for node in nodes if node in within for v in node.results if v in needed]
        then, instead = (Block((), self.trace.block) for _ in range(2))
        self.trace.loc = nodes[0].loc
        fine = apply("equal", Tensor(word), 0).value
        self.trace.blocks.append(then)
        for node in nodes:
            if node in within:
                self.node(node, known, None)
        then.outputs = [known[v] for v in results]
        self.trace.blocks[-1] = instead
        befores = [_before(v, within) for v in results]
        instead.outputs = [_anything(v.type) if b is None else known[b] for v, b in zip(results, befores)]
        self.trace.blocks.pop()
        made = Node(OPS["if"], [fine], {}, [v.type for v in results], nodes[0].loc, [then, instead])
        self.trace.emit(made)
        known.update(zip(results, made.results))
        return made

    def move_into_branches(self, outputs: Sequence[Value], block: Block) -> None:
        """Compute in a branch what only that needs, where nothing is stored between; of all blocks in this one."""
        users: dict[Node, set[Node | None]] = defaultdict(set)
        nodes = schedule(outputs, block)
        for node in nodes:
            for region in node.regions:
                self.move_into_branches(region.outputs, region)
                region.hand_on(region.outputs)
            for v in _uses(node):
                users[v.node].add(node)
        for v in outputs:
            users[v.node].add(None)
        for n, branch in enumerate(nodes):
            if branch not in self.guarded:
                continue
            then, instead = branch.regions
            elsewhere = {v.node for v in (*branch.operands, *instead.free())}
            inside: set[Node | None] = {branch}
            for node in map(nodes.__getitem__, range(n - 1, -1, -1)):
                if node.serial < self.guarded[branch]:
                    break
                if node not in elsewhere and users[node] <= inside:
                    inside.add(node)
                    node.block = then
            then.hand_on(then.outputs)

    def node(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value | None:
        assert node.op is not None
        self.trace.loc = node.loc
        if node.op is OPS["require"]:
            return self.required(node, known, word)
        if node.op is Stored:
            known[node.results[0]] = known[node.operands[0]]
            return word
        if node.regions and node in self.asking:
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
        self, region: Block, known: dict[Value, Value], carried: bool = False,
        start: Callable[[], Value | None] = lambda: None,
    ) -> tuple[Block, Value | None]:  # fmt: skip
        """A region again and the word at its end.

        It begins with the one that `start` gives, or with an argument of it where it is `carried`.
        """
        word_type = [tensor_type(_I64, ())] if carried else []
        block = Block([*(a.type for a in region.args), *word_type], self.trace.block)
        inner = {**known, **dict(zip(region.args, block.args))}
        self.trace.blocks.append(block)
        word = block.args[-1] if carried else start()
        word = self.nodes(region.nodes(), inner, word, region.outputs)
        block.outputs = [inner.get(v, v) for v in region.outputs]
        self.trace.blocks.pop()
        return block, word

    def _for(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value:
        word = self.zero() if word is None else word
        loops, symbol = self.trace.table.loops, Sym(node.attrs["iv"])
        loops[symbol] = node.attrs["lower"], node.attrs["upper"] - 1
        checks = len(self.found)
        block, end = self.region(node.regions[0], known, carried=True)
        del loops[symbol]
        assert end is not None
        if node.attrs["only"] is None:
            self.trace.blocks.append(block)
            end = self.earlier(block.args[-1], end, checks)
            self.trace.blocks.pop()
        block.outputs.append(end)
        made = self.again(node, [*(known[v] for v in node.operands), word], [block], known, 1)
        return made.results[-1]

    def _if(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value:
        """What acts in it has to know what failed before it; without, its word begins anew."""
        acts, blocks = node in self.acting, []
        word = self.zero() if word is None and not acts else word
        for region in node.regions:
            block, end = self.region(region, known, start=(lambda: word) if acts else self.zero)
            self.trace.blocks.append(block)
            block.outputs.append(self.zero() if end is None else end)
            self.trace.blocks.pop()
            blocks.append(block)
        made = self.again(node, [known[v] for v in node.operands], blocks, known, 1)
        return made.results[-1] if acts or word is None else self.first(word, made.results[-1])

    def _while(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value:
        """It ends where an index was outside: the loop that goes on might never end.

        What its condition finds cannot leave it, so the condition is computed once more, behind the loop.
        """
        word, checks = self.zero() if word is None else word, len(self.found)
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
        if self.asking.isdisjoint(node.regions[0].nodes()):
            return made.results[-1]
        again = {**known, **dict(zip(node.regions[0].args, made.results))}
        last = self.nodes(node.regions[0].nodes(), again, made.results[-1])
        assert last is not None
        return self.earlier(made.results[-1], last, checks)

    def checks(self, node: Node, known: dict[Value, Value], word: Value | None) -> Value | None:
        """The word after one node: of indices, or of an op that says itself where it has failed."""
        assert node.op is not None
        if issubclass(node.op, Structural) and node.op.error is not None:
            failed = node.op.failed(apply, *(Tensor(known[v]) for v in node.results))
            (anywhere,) = _reduced("any", failed)
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
        (anywhere,) = _reduced("any", fails) if fails.ndim else (fails,)
        place: Any = 0
        if node.attrs["error"] == ROOM:
            place = apply("cwise_min", Tensor(value), MOST)
        elif "{}" in node.attrs["text"]:
            place = apply("cwise_min", apply("cwise_max", Tensor(value), LEAST), MOST)
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
        self.places.append(self.trace.loc)
        return apply("select", failed, place + packed(number, 0), 0).value

    def first(self, a: Value, b: Value) -> Value:
        """The word of the earlier of two checks, one of which comes first in the program."""
        return apply("cwise_max", Tensor(a), Tensor(b)).value

    def earlier(self, before: Value, now: Value, checks: int) -> Value:
        """The word of an earlier iteration, where one failed, else that of this one.

        It is the larger one already where all checks of the loop, found after that many others, raise the same.
        """
        if len({(check.error, check.text) for check in self.found[checks:]}) < 2:
            return now
        return apply("select", apply("equal", Tensor(before), 0), Tensor(now), Tensor(before)).value

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
    return [*_reduced("minimum", index), *_reduced("maximum", index)]


def _reduced(name: str, x: Tensor) -> list[Tensor]:
    """A reduction of all elements."""
    reduction = OPS[name]
    attrs = reduction.bind([x.value.type], {"dims": tuple(range(x.ndim))})
    return [Tensor(v) for v in emit(reduction, [x.value], attrs)]


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


def _uses(node: Node) -> Iterator[Value]:
    """What a node needs from outside itself."""
    yield from node.operands
    for region in node.regions:
        yield from region.free()


def _last_use(nodes: Sequence[Node], handed: Sequence[Value]) -> dict[Value, float]:
    """The number of the last of the nodes that needs a value; what they hand on is needed behind them."""
    found: dict[Value, float] = {v: n for n, node in enumerate(nodes) for v in _uses(node)}
    return found | dict.fromkeys(handed, math.inf)


def _before(v: Value, nodes: Collection[Node]) -> Value | None:
    """What an array held before `nodes`, which leave it at `v`; None where that is no array that others see."""
    found: Value | None = v
    while found is not None and found.node in nodes:
        found = _stored_over(found)
    return found


def _stored_over(v: Value) -> Value | None:
    """What an array held before the node that leaves it at `v`."""
    node = v.node
    if node.op is Stored:
        return node.operands[1]
    for region in node.regions[-1:] if node.op is OPS["while"] else node.regions:
        found: Value | None = region.outputs[v.index]
        while found is not None and found.node.block is region and found.node.op is not None:
            found = _stored_over(found)
        if found is not None:
            return node.operands[region.args.index(found)] if found in region.args else found
    return None


def _anything(t: TensorType) -> Value:
    return emit(Empty, (), {"dtype": t.dtype, "dims": t.dims}, [t])[0]
