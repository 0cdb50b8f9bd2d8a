"""Which axes of a program may be cut into chunks, each of which is computed by itself.

A size is a symbol, and a graph computes the same for every value of it.  So a symbol names an axis: all values that
have it as a dim lie along each other, as long as each op on the way takes element ``i`` of its operands to make element
``i`` of its result.  Of such a program a chunk of the results is what the same program makes of the same chunk of its
arguments.  Each node is asked for the symbols along which it is not so: an op that no rule speaks of, for all that it
mentions.

A reduction along a cut axis that a ufunc combines, or a histogram, is a *total*: of chunks it gives partial results.
What follows it may be anything but a program along that axis again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...dialects.dims.dims import Dim, Sym, dim, iterators
from ...dialects.dims.index_map import IndexMap
from ...dialects.ops.reductions.reduction import MonoidReduction
from ...dialects.registry import OPS, Map, Reduction, Scan, View, find_op
from ...dialects.tx_internal import Empty, Stored
from ...dialects.types import TensorType
from ..frontend.trace.graph import Graph, Node, Value

__all__ = ["NeedsWholeAxis", "Total", "mentioned_by", "totals_of"]


class NeedsWholeAxis(Exception):
    """A program that cannot be cut along the axis of a symbol: because of a node, where one is to blame.

    `why` says what that does with the ``{axis}``.
    """

    def __init__(self, symbol: Sym, why: str, node: Node | None = None):
        super().__init__(f"{symbol}: {why}")
        self.symbol, self.why, self.node = symbol, why, node


class Total(NamedTuple):
    """A reduction or histogram along the cut axes of `symbols`, whose partial results a ufunc combines.

    Without elements it `has_value` or has none.
    """

    symbols: frozenset[Sym]
    combine: np.ufunc
    has_value: bool


def totals_of(graph: Graph, cut: frozenset[Sym]) -> dict[Value, Total]:
    """The reductions along the axes of the symbols `cut`, in the program's order.

    NeedsWholeAxis where the program cannot be cut there.
    """
    return _Axes(graph, cut).totals()


class _Axes:
    """The axes of one program; `sizes` are those of the axes that are not cut, as numbers."""

    def __init__(self, graph: Graph, cut: frozenset[Sym]):
        self.graph, self.cut = graph, cut
        self.sizes = {s: dim(n) for s, n in graph.table.hints.items() if s not in cut}
        #: For values that totals went into: along which axes these are.
        self.behind: dict[Value, frozenset[Sym]] = {}
        #: Values that count along a cut axis, which a chunk does from 0 on.
        self.counts: dict[Value, Sym] = {}

    def totals(self) -> dict[Value, Total]:
        found: dict[Value, Total] = {}
        self.check_types([i.value.type for i in self.graph.inputs if i.value is not None], None)
        for node in self.graph.nodes():
            gone = self.gone_before(node)
            total = self.total(node)
            if total is not None:
                if gone:
                    raise NeedsWholeAxis(
                        min(total.symbols, key=str), "reduces {axis} after another reduction across chunks", node
                    )
                found[node.results[0]] = total
                gone = total.symbols
            elif not self.is_count(node):
                self.check(node)
            self.behind.update((v, gone) for v in node.results)
        for v in self.graph.outputs:
            if v in self.counts:
                raise NeedsWholeAxis(self.counts[v], "counts along {axis}", v.node)
        return found

    def gone_before(self, node: Node) -> frozenset[Sym]:
        """The axes along which totals went into a node.  NeedsWholeAxis where it has such an axis."""
        used = [*node.operands, *(v for region in node.regions for v in region.free())]
        gone = frozenset[Sym]().union(*(self.behind.get(v, frozenset()) for v in used))
        for symbol in sorted(gone & mentioned_by(node), key=str):
            raise NeedsWholeAxis(symbol, "goes on along {axis} with what a reduction along it found", node)
        return gone

    def total(self, node: Node) -> Total | None:
        """What a node is, if it reduces along cut axes and a ufunc combines its partial results."""
        assert node.op is not None
        symbols = (_gathered(node, self.sizes) if _is_histogram(node) else _reduced(node, self.sizes)) & self.cut
        if not symbols or any(v in self.counts for v in node.operands):
            return None
        self.check_types([v.type for v in node.results], node)
        if node.op is OPS["scatter"]:
            others = _by_map_of_stores(node, self.sizes) & self.cut != symbols
            return None if others else Total(symbols, np.add, True)
        if node.op is OPS["contract"]:
            return Total(symbols, np.add, True)
        if not issubclass(node.op, MonoidReduction):
            return None
        combine = find_op(node.op.by).numpy
        return Total(symbols, combine, node.op.empty) if isinstance(combine, np.ufunc) else None

    def is_count(self, node: Node) -> bool:
        """Whether a node counts along a cut axis, or is a view of what does: it is noted then."""
        assert node.op is not None
        if node.op is OPS["iota"]:
            symbol = node.attrs["extent"].symbol
        else:
            known = [self.counts[v] for v in node.operands if v in self.counts]
            is_same = issubclass(node.op, View) or (node.op is OPS["cast"] and node.attrs["dtype"].is_integer)
            symbol = known[0] if known and is_same and not _by_view_or_map(node, self.sizes) & self.cut else None
        if symbol is None or symbol not in self.cut:
            return False
        self.check_types([v.type for v in node.results], node)
        self.counts.update((v, symbol) for v in node.results)
        return True

    def check(self, node: Node) -> None:
        """NeedsWholeAxis where a node, or one in its regions, is not cut along its axes."""
        assert node.op is not None
        self.check_types([v.type for v in node.results], node)
        rule = _RULES.get(node.op)
        if rule is None:
            rule = next((r for family, r in _FAMILIES if issubclass(node.op, family)), _mentioned)
        needed = rule(node, self.sizes) & self.cut
        counted = [v for v in node.operands if v in self.counts]
        if node.op is OPS["take"]:
            own = self.taken_in_place(node)
            needed -= {self.counts[v] for v in own}
            counted = [v for v in counted if v not in own]
        counted += [v for region in node.regions for v in region.free() if v in self.counts]
        for v in counted:
            raise NeedsWholeAxis(self.counts[v], "counts along {axis}", node)
        for symbol in sorted(needed, key=str):
            raise NeedsWholeAxis(symbol, "needs all of {axis}", node)
        for region in node.regions:
            self.check_types([v.type for v in region.args], node)
            for inner in region.nodes():
                self.check(inner)

    def taken_in_place(self, node: Node) -> list[Value]:
        """The indices of a `take` that count along the axis which they index: they take each element at its place."""
        source, *indices = node.operands
        taken = source.type.dims[node.attrs["axis"] :]
        return [v for v, d in zip(indices, taken) if v in self.counts and d.symbol is self.counts[v]]

    def check_types(self, types: Iterable[TensorType], node: Node | None) -> None:
        """NeedsWholeAxis where an axis of a cut size is not the axis itself, once."""
        for type_ in types:
            named = [d.symbol for d in type_.dims]
            for d in type_.dims:
                for symbol in sorted(d.symbols() & self.cut, key=str):
                    if d.symbol is not symbol:
                        raise NeedsWholeAxis(symbol, f"makes an axis of size {d} of {{axis}}", node)
                    if named.count(symbol) > 1:
                        raise NeedsWholeAxis(symbol, "has {axis} twice", node)


# The rules: along which symbols a node takes other elements than those at its place.  `sizes` are those that are known.

Sizes: TypeAlias = Mapping[Sym, Dim]
Rule: TypeAlias = Callable[[Node, Sizes], frozenset[Sym]]


def _nowhere(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return frozenset()


def _along_axis(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return _symbols([v.type.dims[node.attrs["axis"]] for v in node.operands])


def _along_rows(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return _symbols([v.type.dims[-1] for v in node.operands])


def _reduced(node: Node, sizes: Sizes) -> frozenset[Sym]:
    """The axes that a reduction or a contraction sums up."""
    assert node.op is not None
    if node.op is OPS["contract"]:
        axes: Sequence[int] = [left for left, _ in node.attrs["pairs"]]
    elif issubclass(node.op, Reduction):
        axes = node.attrs["dims"]
    else:
        return frozenset()
    return _symbols([node.operands[0].type.dims[a] for a in axes])


def _by_view(node: Node, sizes: Sizes) -> frozenset[Sym]:
    """By the map from the places of the result to those of the operand."""
    assert node.op is not None and issubclass(node.op, View)
    operand = node.operands[0].type
    operand = operand.with_dims(_known(operand.dims, sizes))
    attrs = {name: _known(value, sizes) for name, value in node.attrs.items()}
    return _moved(node.op.view(operand, attrs).simplified(), operand.dims)


def _by_view_or_map(node: Node, sizes: Sizes) -> frozenset[Sym]:
    assert node.op is not None
    return _by_view(node, sizes) if issubclass(node.op, View) else frozenset()


def _by_map_of_stores(node: Node, sizes: Sizes) -> frozenset[Sym]:
    """By the map from the places of what is stored to those of the array."""
    index: IndexMap = _known(node.attrs["map"], sizes)
    moved = _moved(index.simplified(), _known(node.operands[0].type.dims, sizes))
    return moved | _gathered(node, sizes) | _symbols(node.attrs.get("limits", ()))


def _gathered(node: Node, sizes: Sizes) -> frozenset[Sym]:
    """The axes of which many places are stored at one."""
    return _symbols(node.attrs["map"].extents) - _symbols(node.operands[0].type.dims)


def _is_histogram(node: Node) -> bool:
    """Whether it adds elements up at places that are data, from zeros on."""
    if node.op is not OPS["scatter"] or node.attrs["combine"] != "add":
        return False
    base = node.operands[0].node
    while base.op in (OPS["expand"], OPS["reshape"]):
        base = base.operands[0].node
    return base.op is OPS["constant"] and base.attrs["value"] == 0


def _of_taken_axes(node: Node, sizes: Sizes) -> frozenset[Sym]:
    at: int = node.attrs["axis"]
    return _symbols(node.operands[0].type.dims[at : at + len(node.operands) - 1])


def _of_bounds(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return _symbols([node.attrs[name] for name in ("lower", "upper", "step")])


def _of_matrices(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return _symbols([d for v in node.operands for d in v.type.dims[-2:]])


def _of_sorted(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return _symbols(node.operands[0].type.dims)


def _mentioned(node: Node, sizes: Sizes) -> frozenset[Sym]:
    return mentioned_by(node)


def mentioned_by(node: Node) -> frozenset[Sym]:
    """Every symbol in the types and parameters of a node, and of those in its regions.

    Without those of sizes that are computed with: they are numbers as others are.
    """
    found = set[Sym]()
    for v in (*node.operands, *node.results):
        found |= _symbols(v.type.dims)
    if node.op is not OPS["dim"]:
        found |= _symbols(node.attrs.values())
    for region in node.regions:
        for inner in region.nodes():
            found |= mentioned_by(inner)
    return frozenset(found)


def _moved(index: IndexMap, dims: Sequence[Dim]) -> frozenset[Sym]:
    """The symbols of the axes along which an index map leads from a place to another one.

    `dims` are those of the tensor that it leads to.
    """
    places = iterators(index.rank)
    extents = {place.symbol: extent for place, extent in zip(places, index.extents)}
    found = set[Sym]()
    for size, expr in zip(dims, index.exprs):
        if size.symbol is not None and expr in places and index.extents[places.index(expr)] is size:
            continue  # the axis itself
        found |= size.symbols() | expr.symbols()
        found |= _symbols([extents[s] for s in expr.symbols() if s in extents])
    for guard in index.guards:
        found |= guard.symbols() | _symbols([extents[s] for s in guard.symbols() if s in extents])
    return frozenset(found)


def _symbols(values: Iterable[Any]) -> frozenset[Sym]:
    """The symbols in parameters: of dims, tuples of them and index maps."""
    found = set[Sym]()
    for value in values:
        if isinstance(value, Dim):
            found |= value.symbols()
        elif isinstance(value, tuple):
            found |= _symbols(value)
        elif isinstance(value, IndexMap):
            found |= _symbols((value.extents, value.exprs, value.guards))
    return frozenset(found)


def _known(value: Any, sizes: Sizes) -> Any:
    """A parameter with numbers for the sizes that are known."""
    if isinstance(value, Dim):
        return value.substitute(sizes)
    if isinstance(value, tuple):
        return tuple(_known(v, sizes) for v in value)
    if isinstance(value, IndexMap):
        return IndexMap(*(_known(part, sizes) for part in (value.extents, value.exprs, value.guards)))
    return value


_FAMILIES: tuple[tuple[type, Rule], ...] = (
    (Map, _nowhere), (View, _by_view), (Reduction, _reduced), (Scan, _along_axis),
)  # fmt: skip
_RULES: dict[Any, Rule] = {
    **{OPS[name]: _nowhere for name in ("constant", "dim", "eval", "require", "while", "if")},
    Stored: _nowhere,
    Empty: _nowhere,
    OPS["for"]: _of_bounds,
    OPS["insert"]: _by_map_of_stores,
    OPS["scatter"]: _by_map_of_stores,
    OPS["take"]: _of_taken_axes,
    OPS["contract"]: _reduced,
    **{OPS[name]: _along_axis for name in ("concatenate", "sort", "argsort", "sort_with_positions", "dft")},
    OPS["kth_elements"]: _along_rows,
    OPS["searchsorted"]: _of_sorted,
    **{OPS[name]: _of_matrices for name in ("eliminate", "cholesky", "qr", "jacobi_eigh", "jacobi_svd")},
    **{OPS[name]: _of_matrices for name in ("eigenvalues", "eigenvectors")},
}
