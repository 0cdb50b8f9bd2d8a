"""Lazy expressions with symbols for sizes: one compilation then serves all of their shapes.

A lazy expression is built of numbers; here its nodes are made once more on leaves whose dims are symbols.  Every size
among the parameters becomes an expression over them that has the same value for the shapes at hand, which makes the
new graph compute the same: so it does not matter for results whether ``x[0:4]`` of 5 elements means ``x[:4]`` or
``x[:-1]``, only for how many shapes share the code.  What cannot be told keeps its number.

Positions inside a dim, as of ``x[3]`` and ``x[3:7]``, are ints that the code is given, so that a loop over them
compiles once.

Of ops whose loops are much shorter for a known size, as those of a Fourier transform are, the first few sizes that a
process meets are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....dialects.dims.analysis import linear_in
from ....dialects.dims.dims import Dim, Sym, dim, iterators
from ....dialects.dims.index_map import IndexMap, product
from ....dialects.registry import OPS, Map, OpError
from ....dialects.types import TensorType
from ...config import knobs
from ..trace.dim_table import DimTable
from ..trace.graph import Input, Node, Value, schedule
from ..trace.short_loops import sizes_worth_knowing

__all__ = ["generic"]

#: The sizes worth knowing (`short_loops.py`) that are numbers in this process, and how many there may be.
_fixed_sizes: set[int] = set()
FEW = 8


def generic(
    outputs: Sequence[Value], leaves: Sequence[Value], written: Value | None = None
) -> tuple[DimTable, list[Input], list[Value]]:
    """The table, inputs (the leaves, then positions) and outputs of a graph; output 0 has the dims of leaf `written`.

    OpError where the expression relies on its sizes in a way that symbols do not express.
    """
    made = _Generic()
    given = [leaf_input(i, made.leaf(i, v)) for i, v in enumerate(leaves)]
    for node in schedule(outputs):
        made.add(node)
    results = [made.value(v) for v in outputs]
    if written is not None:
        results[0] = made.seen(results[0], made.type(made.value(written)).dims)
    return made.table, [*given, *made.positions.values()], results


def leaf_input(number: int, leaf: Value) -> Input:
    """An array that a lazy expression refers to, as an input of its graph."""
    return Input(f"t{number}", "tensor", leaf, hidden=True, source=leaf.node.leaf)


class _Generic:
    """Nodes made once more; `known` has the new value of each old one, `expands` those that wait for their dims."""

    def __init__(self) -> None:
        self.table = DimTable()
        self.known: dict[Value, Value] = {}
        self.expands: dict[Value, Value] = {}
        #: By the number and the dim; one for equal ones, so that an update in place reads where it stores.
        self.positions: dict[tuple[int, Dim], Input] = {}

    def leaf(self, number: int, old: Value) -> Value:
        """A leaf with a symbol for each dim, but for those of a `TensorFixedSize`."""
        dims = old.type.dims
        if not old.node.attrs.get("fixed"):
            dims = tuple(
                self.table.declare(f"t{number}.{axis}", _number(d), f"dim {axis} of operand {number}")
                for axis, d in enumerate(dims)
            )
        self.known[old] = Node(None, (), {}, (old.type.with_dims(dims),), leaf=old.node.leaf).results[0]
        return self.known[old]

    def value(self, old: Value) -> Value:
        """The new value of an old one; an expanded one that nothing else gave sizes gets numbers."""
        if old not in self.known:
            self._expand(old, [None] * old.type.rank)
        return self.known[old]

    def type(self, v: Value) -> TensorType:
        """The type of a new value with what equations have taught since."""
        v.type = v.type.with_dims(tuple(self.table.resolve(d) for d in v.type.dims))
        return v.type

    def equal_dims(self, a: Sequence[Dim], b: Sequence[Dim]) -> None:
        for x, y in zip(a, b):
            self.table.equate(x, y)

    def add(self, node: Node) -> None:
        """Make one node again."""
        assert node.op is not None
        if node.regions:
            raise OpError("a loop of a lazy expression")
        if node.op is OPS["expand"]:
            self.expands[node.results[0]] = self.value(node.operands[0])
            return
        if node.op is OPS["div"]:
            self._count(*node.operands)
        if issubclass(node.op, Map):
            operands = self._broadcast(node.operands)
        else:
            operands = [self.value(v) for v in node.operands]
        for d in sizes_worth_knowing(node.op, [self.type(v) for v in operands], node.attrs, self.table.hint):
            self._fix(d)
        rule = _RULES.get(node.op.name)
        attrs = node.attrs if rule is None else rule(self, node, operands)
        types = node.op.infer([self.type(v) for v in operands], attrs)
        again = Node(node.op, operands, attrs, types, node.loc)
        for old, new in zip(node.results, again.results):
            if [self.table.hint(d) for d in new.type.dims] != [_number(d) for d in old.type.dims]:
                raise OpError(f"{node.op.name} of other sizes")
            self.known[old] = new

    def _fix(self, size: Dim) -> None:
        """Make a number of a size, where it is one of the first few."""
        number = self.table.hint(size)
        if not knobs.SPECIALIZE.get() or number is None:
            return
        if len(_fixed_sizes) < FEW:
            _fixed_sizes.add(number)
        if number in _fixed_sizes:
            self.table.fix(size, "the loops are much shorter for one size")

    def _count(self, total: Value, divisor: Value) -> None:
        """The number that a mean divides its sum by is that of the summed elements, for other shapes too.

        So is what a transform is divided by, and what follows from such a number: its root, or one less.
        """
        count = self._counted(total.node)
        if count is None:
            return
        expanded = divisor.node.op is OPS["expand"]
        made = self._of_count(divisor.node.operands[0] if expanded else divisor, count)
        if made is None:
            return
        (self.expands if expanded else self.known)[divisor] = made
        if expanded:
            self.known.pop(divisor, None)

    def _counted(self, node: Node) -> Dim | None:
        """How many elements each element of a sum, or of a part of a Fourier transform, comes of."""
        if node.op in (OPS["real"], OPS["imag"]):
            node = node.operands[0].node
            axes = [node.attrs["axis"]] if node.op is OPS["dft"] else None
        else:
            axes = node.attrs["dims"] if node.op is OPS["sum"] else None
        if axes is None:
            return None
        dims = self.type(self.value(node.operands[0])).dims
        return product([dims[i] for i in axes])

    def _of_count(self, old: Value, count: Dim) -> Value | None:
        """A number that was computed from a count, computed from the dim; None where it has nothing to do with it."""
        node, types = old.node, [r.type for r in old.node.results]
        if node.op is OPS["constant"]:
            fewer = (self.table.hint(count) or 0) - node.attrs["value"]
            if fewer not in (0, 1):
                return None
            element = node.attrs["dtype"]
            attrs = {"expr": count - int(fewer.real), "dtype": element.part}
            made = Node(OPS["dim"], (), attrs, OPS["dim"].infer([], attrs)).results[0]
            return Node(OPS["cast"], (made,), {"dtype": element}, types).results[0] if element.is_complex else made
        if old.type.rank or node.op is None or not issubclass(node.op, Map):
            return None
        found = [self._of_count(v, count) for v in node.operands]
        if all(v is None for v in found):
            return None
        operands = [self.value(v) if new is None else new for v, new in zip(node.operands, found)]
        return Node(node.op, operands, node.attrs, types, node.loc).results[0]

    def _broadcast(self, operands: Sequence[Value]) -> list[Value]:
        """The operands of an op that demands equal dims; those that are expanded get the dims of the others."""
        common: list[Dim | None] = [None] * operands[0].type.rank
        for old in operands:
            source = self.expands.get(old) if old not in self.known else self.known[old]
            assert source is not None
            lead = old.type.rank - source.type.rank
            for i, d in enumerate(self.type(source).dims, lead):
                if self.table.hint(d) == _number(old.type.dims[i]):
                    common[i] = d if common[i] is None else self.table.equate(common[i] or d, d)
        for old in operands:
            if old not in self.known:
                self._expand(old, common)
        dims = tuple(self.table.resolve(old if new is None else new) for old, new in zip(operands[0].type.dims, common))
        return [self.seen(self.known[old], dims) for old in operands]

    def seen(self, v: Value, dims: tuple[Dim, ...]) -> Value:
        """A value under other names of its dims: equal by a guard that could not be solved for a symbol."""
        if self.type(v).dims == dims:
            return v
        self.equal_dims(self.type(v).dims, dims)
        attrs = {"offsets": (dim(0),) * len(dims), "extents": dims}
        return Node(OPS["slice"], (v,), attrs, OPS["slice"].infer([self.type(v)], attrs)).results[0]

    def _expand(self, old: Value, wanted: Sequence[Dim | None]) -> None:
        source, dims = self.expands[old], []
        lead = old.type.rank - source.type.rank
        for i, (old_dim, want) in enumerate(zip(old.type.dims, wanted)):
            size = _number(old_dim)
            own = self.type(source).dims[i - lead] if i >= lead else None
            if own is not None and self.table.hint(own) == size:
                dims.append(own)
                continue
            if own is not None:
                self.table.equate(own, 1)
            dims.append(dim(size) if want is None else want)
        attrs = {"dims": tuple(self.table.resolve(d) for d in dims)}
        types = OPS["expand"].infer([self.type(source)], attrs)
        self.known[old] = Node(OPS["expand"], (source,), attrs, types, old.node.loc).results[0]

    def relative(self, at: Dim, size: Dim) -> Dim:
        """A bound of a range in a dim: counted from the end that is nearer."""
        number, whole = _number(at), self.table.hint(size)
        return at if whole is None or 2 * number <= whole else size - (whole - number)

    def position(self, at: Dim, size: Dim) -> Dim:
        """Where an element or a range of fixed length is in a dim: an int that the code is given."""
        number = _number(at)
        given = self.positions.get((number, size))
        if given is None:
            name = f"at{len(self.positions)}"
            symbol = self.table.declare(name, number, "a position")
            given = self.positions[number, size] = Input(name, "int", None, symbol, weak="int", source=number)
        assert given.symbol is not None
        return given.symbol

    def is_window(self, start: Dim, stop: Dim, size: Dim) -> bool:
        """Whether a range of a dim is one of a fixed length at a position.

        One that reaches an end of the dim, or leaves out less than it has, as a stencil's, is counted from the ends.
        """
        low, high = sorted((_number(start), _number(stop)))
        whole = self.table.hint(size)
        return whole is not None and low > 0 and high < whole and high - low < whole - (high - low)

    def range(self, start: Dim, stop: Dim, size: Dim) -> tuple[Dim, Dim]:
        """The bounds of a range in a dim."""
        if not self.is_window(start, stop, size):
            return self.relative(start, size), self.relative(stop, size)
        first = self.position(start, size)
        return first, first + (stop - start)


def _reshape(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    """Dims stay what they are where only ones come and go; all in one is their product; else numbers."""
    old, new = node.operands[0].type.dims, node.attrs["dims"]
    dims = made.type(operands[0]).dims
    kept = [i for i, d in enumerate(old) if d.const != 1]
    if [old[i] for i in kept] == [d for d in new if d.const != 1]:
        for i, d in enumerate(dims):
            if i not in kept:
                made.table.equate(d, 1)
        rest = iter(kept)
        return {"dims": tuple(d if d.const == 1 else dims[next(rest)] for d in new)}
    if len(new) == 1:
        return {"dims": (product(dims),)}
    made.table.equate(product(dims), product(new))
    return node.attrs


def _chip(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    axis, (offset,) = node.attrs["dim"], node.attrs["offset"]
    return {"offset": (made.position(offset, made.type(operands[0]).dims[axis]),), "dim": axis}


def _slice(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    offsets, extents = node.attrs["offsets"], node.attrs["extents"]
    dims = made.type(operands[0]).dims
    ranges = [made.range(o, o + e, d) for o, e, d in zip(offsets, extents, dims)]
    return {"offsets": tuple(a for a, _ in ranges), "extents": tuple(b - a for a, b in ranges)}


def _strided_slice(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    dims = made.type(operands[0]).dims
    ranges = [made.range(a, b, d) for a, b, d in zip(node.attrs["start"], node.attrs["stop"], dims)]
    return {**node.attrs, "start": tuple(a for a, _ in ranges), "stop": tuple(b for _, b in ranges)}


def _squeeze(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    for i in node.attrs["dims"]:
        made.table.equate(made.type(operands[0]).dims[i], 1)
    return node.attrs


def _contract(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    """Pairs have equal sizes, the right operand's under the left one's names; one column has code of its own."""
    a, b = operands
    merge_leaves = (*node.attrs["batch"], *node.attrs["pairs"])
    for i, j in merge_leaves:
        made.table.equate(made.type(a).dims[i], made.type(b).dims[j])
    columns = {j for _, j in merge_leaves}
    made.table.all_ones([d for j, d in enumerate(made.type(b).dims) if j not in columns], "a contraction asks")
    dims = list(made.type(b).dims)
    for i, j in merge_leaves:
        dims[j] = made.type(a).dims[i]
    operands[1] = made.seen(b, tuple(dims))
    return node.attrs


def _concatenate(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    """All but one dim have equal sizes, under the first operand's names."""
    axis = node.attrs["axis"]
    for other in operands[1:]:
        for i, (a, b) in enumerate(zip(made.type(operands[0]).dims, made.type(other).dims)):
            if i != axis:
                made.table.equate(a, b)
    first = made.type(operands[0]).dims
    operands[1:] = [made.seen(v, (*first[:axis], made.type(v).dims[axis], *first[axis + 1 :])) for v in operands[1:]]
    return node.attrs


def _insert(made: _Generic, node: Node, operands: list[Value]) -> dict[str, Any]:
    """The map has the dims of the value, and ranges as those of the base's dims that are read."""
    index: IndexMap = node.attrs["map"]
    base, extents = made.type(operands[0]).dims, made.type(operands[1]).dims
    its = iterators(index.rank)
    symbols = [Sym(f"d{i}") for i in range(index.rank)]
    exprs = []
    for expr, size in zip(index.exprs, base):
        if expr in its and made.table.hint(extents[its.index(expr)]) == made.table.hint(size):
            made.table.equate(extents[its.index(expr)], size)
        split = linear_in(expr, symbols)
        exprs.append(expr if split is None else expr - split[1] + _begin(made, *split, index.extents, size))
    resolve = made.table.resolve
    parts = (extents, exprs, index.guards)
    return {"map": IndexMap(*(tuple(map(resolve, part)) for part in parts))}


def _begin(made: _Generic, steps: dict[Sym, Dim], at: Dim, extents: Sequence[Dim], size: Dim) -> Dim:
    """Where the elements begin that are stored into one dim of a base."""
    if not steps:
        return made.position(at, size)
    last = sum(((extents[int(s.name[1:])] - 1) * step for s, step in steps.items()), at)
    step = 1 if _number(last) >= _number(at) else -1
    return made.range(at, last + step, size)[0]


#: Parameters over symbols, and the equations that an op relies on, of ops whose inference alone does not give them.
_RULES: dict[str, Callable[[_Generic, Node, list[Value]], dict[str, Any]]] = {
    "chip": _chip,
    "concatenate": _concatenate,
    "contract": _contract,
    "insert": _insert,
    "reshape": _reshape,
    "slice": _slice,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
}


def _number(d: Dim) -> int:
    """A size of a lazy expression."""
    if d.const is None:
        raise OpError(f"the size {d} of a lazy expression is no number")
    return d.const
