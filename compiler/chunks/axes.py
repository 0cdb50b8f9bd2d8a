"""Which axes of a program may be cut into chunks, each of which is computed by itself.

A size is a symbol, and a graph computes the same for every value of it.  So a symbol names an axis: all values that
have it as a dim lie along each other, as long as each op on the way takes element ``i`` of its operands to make element
``i`` of its result.  Of such a program a chunk of the results is what the same program makes of the same chunk of its
arguments.  Each node is asked for the symbols along which it is not so: an op that no rule speaks of, for all that it
mentions.

A reduction along a cut axis that a ufunc combines is a *total*: of chunks it gives partial results.  What follows it
may be anything but a program along that axis again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...dialects.dims.dims import Dim, Sym, iterators
from ...dialects.dims.index_map import IndexMap
from ...dialects.ops.reductions.reduction import MonoidReduction
from ...dialects.registry import OPS, Map, Reduction, Scan, View, find_op
from ...dialects.tx_internal import Stored
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
    """A reduction along the cut axes of `symbols`, whose partial results a ufunc combines.

    Without elements it `has_value` or has none.
    """

    symbols: frozenset[Sym]
    combine: np.ufunc
    has_value: bool


def totals_of(graph: Graph, cut: frozenset[Sym]) -> dict[Value, Total]:
    """The reductions along the axes of the symbols `cut`, in the program's order.

    NeedsWholeAxis where the program cannot be cut there.
    """
    found: dict[Value, Total] = {}
    #: For values that totals went into: along which axes these are.
    behind: dict[Value, frozenset[Sym]] = {}
    for given in graph.inputs:
        if given.value is not None:
            _check_types([given.value.type], cut, None)
    for node in graph.nodes():
        used = [*node.operands, *(v for region in node.regions for v in region.free())]
        gone = frozenset[Sym]().union(*(behind.get(v, frozenset()) for v in used))
        for symbol in sorted(gone & mentioned_by(node), key=str):
            raise NeedsWholeAxis(symbol, "goes on along {axis} with what a reduction along it found", node)
        total = _total(node, cut)
        if total is not None:
            if gone:
                raise NeedsWholeAxis(
                    min(total.symbols, key=str), "reduces {axis} after another reduction across chunks", node
                )
            found[node.results[0]] = total
            gone = total.symbols
        else:
            _check(node, cut)
        behind.update((v, gone) for v in node.results)
    return found


def _check_types(types: Iterable[TensorType], cut: frozenset[Sym], node: Node | None) -> None:
    """NeedsWholeAxis where an axis of a cut size is not the axis itself, once."""
    for type_ in types:
        named = [d.symbol for d in type_.dims]
        for d in type_.dims:
            for symbol in sorted(d.symbols() & cut, key=str):
                if d.symbol is not symbol:
                    raise NeedsWholeAxis(symbol, f"makes an axis of size {d} of {{axis}}", node)
                if named.count(symbol) > 1:
                    raise NeedsWholeAxis(symbol, "has {axis} twice", node)


def _check(node: Node, cut: frozenset[Sym]) -> None:
    """NeedsWholeAxis where a node, or one in its regions, is not cut along its axes."""
    assert node.op is not None
    _check_types([v.type for v in node.results], cut, node)
    rule = _RULES.get(node.op)
    if rule is None:
        rule = next((r for family, r in _FAMILIES if issubclass(node.op, family)), mentioned_by)
    for symbol in sorted(rule(node) & cut, key=str):
        raise NeedsWholeAxis(symbol, "needs all of {axis}", node)
    for region in node.regions:
        _check_types([v.type for v in region.args], cut, node)
        for inner in region.nodes():
            _check(inner, cut)


def _total(node: Node, cut: frozenset[Sym]) -> Total | None:
    """What a node is, if it reduces along cut axes and a ufunc combines its partial results."""
    assert node.op is not None
    symbols = _reduced(node) & cut
    if not symbols:
        return None
    _check_types([v.type for v in node.results], cut, node)
    if node.op is OPS["contract"]:
        return Total(symbols, np.add, True)
    combine = find_op(node.op.by).numpy if issubclass(node.op, MonoidReduction) else None
    return Total(symbols, combine, node.op.empty) if isinstance(combine, np.ufunc) else None


def _reduced(node: Node) -> frozenset[Sym]:
    """The symbols of the axes that a reduction or a contraction sums up."""
    assert node.op is not None
    if node.op is OPS["contract"]:
        axes: Sequence[int] = [left for left, _ in node.attrs["pairs"]]
    elif issubclass(node.op, Reduction):
        axes = node.attrs["dims"]
    else:
        return frozenset()
    return _symbols([node.operands[0].type.dims[a] for a in axes])


# The rules: along which symbols a node takes other elements than those at its place ----------------------------------


def _nowhere(node: Node) -> frozenset[Sym]:
    return frozenset()


def _along_axis(node: Node) -> frozenset[Sym]:
    return _symbols([v.type.dims[node.attrs["axis"]] for v in node.operands])


def _by_view(node: Node) -> frozenset[Sym]:
    """By the map from the places of the result to those of the operand."""
    assert node.op is not None and issubclass(node.op, View)
    operand = node.operands[0].type
    return _moved(node.op.view(operand, node.attrs), operand.dims)


def _by_map_of_stores(node: Node) -> frozenset[Sym]:
    """By the map from the places of what is stored to those of the array."""
    index: IndexMap = node.attrs["map"]
    dims = node.operands[0].type.dims
    gathered = _symbols(index.extents) - _symbols(dims)  # many places of these axes go to one
    return _moved(index, dims) | gathered | _symbols(node.attrs.get("limits", ()))


def _of_taken_axes(node: Node) -> frozenset[Sym]:
    at: int = node.attrs["axis"]
    return _symbols(node.operands[0].type.dims[at : at + len(node.operands) - 1])


def _of_bounds(node: Node) -> frozenset[Sym]:
    return _symbols([node.attrs[name] for name in ("lower", "upper", "step")])


def _of_extent(node: Node) -> frozenset[Sym]:
    return _symbols([node.attrs["extent"]])


def _of_matrices(node: Node) -> frozenset[Sym]:
    return _symbols([d for v in node.operands for d in v.type.dims[-2:]])


def _of_sorted(node: Node) -> frozenset[Sym]:
    return _symbols(node.operands[0].type.dims)


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


Rule: TypeAlias = Callable[[Node], frozenset[Sym]]
_FAMILIES: tuple[tuple[type, Rule], ...] = (
    (Map, _nowhere), (View, _by_view), (Reduction, _reduced), (Scan, _along_axis),
)  # fmt: skip
_RULES: dict[Any, Rule] = {
    **{OPS[name]: _nowhere for name in ("constant", "dim", "eval", "require", "while", "if")},
    Stored: _nowhere,
    OPS["iota"]: _of_extent,
    OPS["for"]: _of_bounds,
    OPS["insert"]: _by_map_of_stores,
    OPS["scatter"]: _by_map_of_stores,
    OPS["take"]: _of_taken_axes,
    OPS["contract"]: _reduced,
    **{OPS[name]: _along_axis for name in ("concatenate", "sort", "argsort", "sort_with_positions", "dft")},
    OPS["searchsorted"]: _of_sorted,
    **{OPS[name]: _of_matrices for name in ("eliminate", "cholesky", "qr", "jacobi_eigh", "jacobi_svd")},
    **{OPS[name]: _of_matrices for name in ("eigenvalues", "eigenvectors")},
}
