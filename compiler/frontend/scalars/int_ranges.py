"""Which of Python's ints that compiled code computes surely fit their type: those need no check.

An op that has to be exact, as arithmetic of Python's ints is, has the `mode` `RAISE`; `prove` takes that from those
whose results are between the ends of their type whatever the data.  Ranges of numbers come from literals, sizes,
loops' counters, dtypes, and the ops' own `bounds`.  A variable that a loop carries is what it was before, or what an
iteration sets it to anew, moved by what iterations add to it: no program goes around loops more than `_ROUNDS` times,
for Python would take months.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....dialects.dims.dims import Call, Dim, Sym, dim
from ....dialects.registry import OPS, RAISE, Map
from ....dialects.tx_internal import Stored
from ....dialects.types import DTYPES, Interval
from ..trace.dim_table import DimTable
from ..trace.graph import Block, Node, Value

__all__ = ["TOO_WIDE", "prove"]

#: What an int of Python's that compiled code computes is refused with where it leaves its type.
TOO_WIDE = "an int of Python that is computed at run time needs more than 64 bits"

#: No size is larger: memory has addresses of so many bits.
_SIZES = 1 << 47
_ROUNDS = 1 << 48
_WIDE = DTYPES["i64"].ints
#: How often the ranges of what a loop carries are narrowed, from those that the dtypes give.
_PASSES = 2
#: In how many loops they are: each narrows what is inside it anew, and ranges of dtypes are true as well.
_DEPTH = 3


def prove(nodes: Sequence[Node], table: DimTable) -> None:
    """Take the `mode` from those nodes, and those of regions inside them, that are exact in any case."""
    if any(map(_asks, _walk(nodes))):
        _Ranges(table).program(nodes, settled=True)


def _asks(node: Node) -> bool:
    return node.op is not None and issubclass(node.op, Map) and node.attrs.get("mode") == RAISE


def _walk(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for region in node.regions:
            yield from _walk(region.nodes())


class _Ranges:
    def __init__(self, table: DimTable):
        self.table = table
        self.known: dict[Value, Interval] = {}
        #: What the counters of the loops around are.
        self.counters: dict[Sym, Interval] = {}
        #: How many loops around are narrowed.
        self.depth = 0

    def of(self, v: Value) -> Interval:
        """The range of a value; of what are no ints that of all."""
        found = self.known.get(v)
        if found is None:
            element = v.type.dtype
            found = element.ints if element.is_integer or element.kind == "bool" else _WIDE
        return found

    def program(self, nodes: Sequence[Node], settled: bool) -> None:
        """Learn the ranges of what nodes compute; where those of what they use are `settled`, judge the nodes."""
        for node in nodes:
            if node.op is OPS["for"] or node.op is OPS["while"]:
                self._loop(node, settled)
            elif node.op is OPS["if"]:
                for region in node.regions:
                    self.program(region.nodes(), settled)
                for i, result in enumerate(node.results):
                    if _is_int(result):
                        self.known[result] = _hull(*(self.of(region.outputs[i]) for region in node.regions))
            elif len(node.results) == 1 and _is_int(node.results[0]):
                self._number(node, settled)
            elif settled and _asks(node):
                self._judge(node, self._exact(node))

    def _number(self, node: Node, settled: bool) -> None:
        """An int of rank 0."""
        (result,) = node.results
        limits, exact = result.type.dtype.ints, self._exact(node)
        if settled and _asks(node):
            self._judge(node, exact)
        if exact is None:
            return
        inside = max(exact[0], limits[0]), min(exact[1], limits[1])
        if inside == exact or (node.attrs.get("mode") == RAISE and inside[0] <= inside[1]):
            self.known[result] = inside

    def _judge(self, node: Node, exact: Interval | None) -> None:
        low, high = node.results[0].type.dtype.ints
        if exact is not None and low <= exact[0] and exact[1] <= high:
            node.attrs = {key: value for key, value in node.attrs.items() if key != "mode"}

    def _exact(self, node: Node) -> Interval | None:
        """The range of a node's result, were its type without ends."""
        op, attrs = node.op, node.attrs
        assert op is not None
        if op is OPS["constant"]:
            return int(attrs["value"]), int(attrs["value"])
        if op is OPS["dim"]:
            return self.of_dim(attrs["expr"])
        if op is OPS["require"] or op is Stored:
            return self.of(node.operands[0])
        if op is OPS["argmax"] or op is OPS["argmin"]:
            return 0, _SIZES
        if not issubclass(op, Map) or not all(map(_is_whole, node.operands)):
            return None
        return op.bounds(attrs, *map(self.of, node.operands))

    # Sizes, arguments and counters

    def of_dim(self, d: Dim) -> Interval:
        low = high = 0
        for atoms, coefficient in d.terms:
            term = coefficient, coefficient
            for atom in atoms:
                (a, b), (c, e) = term, self._of_atom(atom)
                corners = a * c, a * e, b * c, b * e
                term = min(corners), max(corners)
            low, high = low + term[0], high + term[1]
        return (max(low, 0) if d.nonneg else low), high

    def _of_atom(self, atom: Sym | Call) -> Interval:
        if isinstance(atom, Sym):
            return self.counters.get(atom) or self._of_argument(atom)
        ranges = self.of_dim(atom.a), self.of_dim(atom.b)
        op = _CALLS.get(atom.fn)
        found = None if op is None else OPS[op].bounds({}, *ranges)  # pyright: ignore[reportAttributeAccessIssue]
        return _WIDE if found is None else found

    def _of_argument(self, symbol: Sym) -> Interval:
        """A size, or an int argument, of which guards may tell more."""
        low, high = (0, _SIZES) if symbol.nonneg else _WIDE
        for guard in self.table.guards:
            if guard.relation not in ("<", "<="):
                continue
            room = guard.rhs - guard.lhs - int(guard.relation == "<")
            if len(room.symbols()) != 1:
                continue
            scale = {atoms: c for atoms, c in room.terms}
            rest = scale.pop((), 0)
            if list(scale) == [(symbol,)]:
                by = scale[(symbol,)]
                low, high = (max(low, -(rest // by)), high) if by > 0 else (low, min(high, rest // -by))
        return low, high

    # Loops

    def _loop(self, node: Node, settled: bool) -> None:
        """A loop's variables, from ranges that are certain to narrower ones; then its nodes."""
        counter = None
        if node.op is OPS["for"]:
            counter = Sym(node.attrs["iv"])
            first, last = (self.of_dim(dim(node.attrs[end])) for end in ("lower", "upper"))
            self.counters[counter] = first[0], max(first[0], last[1] - 1)
            if node.attrs["only"] is not None:
                self._once(node, settled)
                del self.counters[counter]
                return
        ints = [i for i, result in enumerate(node.results) if _is_int(result)]
        for region in node.regions:
            for i in ints:
                self.known.pop(region.args[i], None)
        body = node.regions[-1]
        if ints and self.depth < _DEPTH:
            self.depth += 1
            for _ in range(_PASSES):
                self.program(body.nodes(), settled=False)
                found = {i: self._carried(body, body.args[i], self.of(node.operands[i])) for i in ints}
                for i, interval in found.items():
                    for region in node.regions:
                        self.known[region.args[i]] = interval
            self.depth -= 1
        for region in node.regions:
            self.program(region.nodes(), settled)
        for i in ints:
            self.known[node.results[i]] = self.of(body.args[i])
        if counter is not None:
            del self.counters[counter]

    def _once(self, node: Node, settled: bool) -> None:
        """A loop of one iteration, whose counter is a size that values decide: what it begins with is what it has."""
        (body,) = node.regions
        for given, argument in zip(node.operands, body.args):
            if _is_int(argument):
                self.known[argument] = self.of(given)
        self.program(body.nodes(), settled)
        for result, last in zip(node.results, body.outputs):
            if _is_int(result):
                self.known[result] = self.of(last)

    def _carried(self, body: Block, variable: Value, start: Interval) -> Interval:
        """What a variable may be, whose next value the body gives."""
        moves = _Moves(self, variable)
        moves.follow(body.outputs[body.args.index(variable)])
        low, high = _hull(start, *moves.anew)
        low += _ROUNDS * sum(min(0, by) for by, _ in moves.steps.values())
        high += _ROUNDS * sum(max(0, by) for _, by in moves.steps.values())
        least, most = variable.type.dtype.ints
        return max(low, least), min(high, most)


class _Moves:
    """How the next value of a variable follows from this one: by `steps`, or set `anew` to what is in a range."""

    def __init__(self, ranges: _Ranges, variable: Value):
        self.ranges = ranges
        self.steps: dict[Node, Interval] = {}
        self.anew: list[Interval] = []
        #: The variable, and what stands for it in loops inside.
        self.stands: set[Value] = {variable}
        self.seen: set[Value] = set()

    def follow(self, v: Value) -> None:
        if v in self.stands or v in self.seen:
            return
        self.seen.add(v)
        node = v.node
        if node.op is OPS["add"] or node.op is OPS["sub"]:
            moved, by = node.operands
            if node.op is OPS["add"] and not self._depends(moved):
                moved, by = by, moved
            low, high = self.ranges.of(by)
            self.steps[node] = (low, high) if node.op is OPS["add"] else (-high, -low)
            self.follow(moved)
        elif node.op is Stored:
            self.follow(node.operands[0])
        elif node.op is OPS["select"]:
            self.follow(node.operands[1])
            self.follow(node.operands[2])
        elif node.op is OPS["if"]:
            for region in node.regions:
                self.follow(region.outputs[v.index])
        elif node.op is OPS["for"] or node.op is OPS["while"]:
            body = node.regions[-1]
            self.stands.add(body.args[v.index])
            self.follow(node.operands[v.index])
            self.follow(body.outputs[v.index])
        else:
            self.anew.append(self.ranges.of(v))

    def _depends(self, v: Value) -> bool:
        waiting, seen = [v], set()
        while waiting:
            v = waiting.pop()
            if v in self.stands:
                return True
            if v not in seen:
                seen.add(v)
                waiting += v.node.operands
                waiting += [free for region in v.node.regions for free in region.free()]
        return False


def _hull(first: Interval, *others: Interval) -> Interval:
    lows, highs = zip(first, *others)
    return min(lows), max(highs)


def _is_whole(v: Value) -> bool:
    return v.type.dtype.is_integer or v.type.dtype.kind == "bool"


def _is_int(v: Value) -> bool:
    """Whether it is one int, whose range is kept."""
    return not v.type.rank and v.type.dtype.is_integer


#: The ops of ints that are parts of dims.
_CALLS = {"//": "floor_divide", "%": "remainder", "min": "cwise_min", "max": "cwise_max"}
