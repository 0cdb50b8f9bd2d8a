"""A part of a graph as a graph of its own: what some of its values need, computed for chunks of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...dialects.dims.dims import Dim, Sym, sym
from ...dialects.registry import OPS
from ..frontend.trace.graph import Block, DimTable, Graph, Input, Node, Value, schedule
from .axes import NeedsWholeAxis, mentioned_by

__all__ = ["part_of"]


def part_of(
    graph: Graph, outputs: Sequence[Value], demands: Sequence[Node], totals: Mapping[str, Value], cut: frozenset[Sym]
) -> Graph:
    """The graph of `outputs` and `demands`, to which `totals` are inputs by these names.

    Its arrays may have other sizes along the axes `cut` than those that were traced.  What it computes with a size is
    computed with that of the whole array, an int that it is given; what the whole graph relies on for its sizes is
    left out.  It has the inputs that it needs, and those that say how large its results are.  NeedsWholeAxis where
    none says that.
    """
    made = _Copy(graph)
    inputs = [*(Input(name, "tensor", value) for name, value in totals.items()), *graph.inputs]
    inputs = [made.input(given) for given in inputs]
    made.nodes(graph.nodes(), made.body)
    results = [made.known[v] for v in outputs]
    demanded = [made.known[node.results[0]].node for node in demands]
    nodes = schedule(results, made.body, demanded)
    used = {*results, *(v for node in nodes for v in _used_by(node))}
    needed = [i for i in inputs if i.value is None or i.value in used]
    needed += _that_show_sizes(nodes, results, needed, inputs, cut)
    given = [*(i for i in inputs if i in needed), *made.sizes.values()]
    table = DimTable()
    for symbol in sorted({s for i in given for s in _shown_by(i)}, key=str):
        table.declare(symbol.name, None if symbol in cut else graph.table.hints.get(symbol))
    structure = tuple(range(len(results)))
    return Graph(graph.name, given, results, table, {}, structure, len(results), made.body, demands=demanded)


class _Copy:
    """Nodes made once more in a block of their own; `known` has the new value of each old one."""

    def __init__(self, graph: Graph):
        self.hints = {s: graph.table.hints[s] for i in graph.inputs if i.value is not None for s in _shown_by(i)}
        self.known: dict[Value, Value] = {}
        #: The sizes of the whole arrays that are computed with, as ints.
        self.sizes: dict[Sym, Input] = {}
        self.body = Block()

    def input(self, given: Input) -> Input:
        """An input of the copy."""
        if given.value is None:
            return replace(given)
        made = Node(None, (), {}, (given.value.type,), block=self.body).results[0]
        self.known[given.value] = made
        return replace(given, value=made)

    def nodes(self, nodes: Iterable[Node], block: Block) -> None:
        """Make nodes again in a block, but those whose values are known."""
        for node in nodes:
            if not self.known.keys().isdisjoint(node.results):
                continue
            attrs = node.attrs
            if node.op is OPS["dim"]:
                attrs = {**attrs, "expr": self.of_whole(attrs["expr"])}
            regions = [self.region(region, block) for region in node.regions]
            operands = [self.known[v] for v in node.operands]
            made = Node(node.op, operands, attrs, [r.type for r in node.results], node.loc, regions, block)
            self.known.update(zip(node.results, made.results))

    def of_whole(self, expr: Dim) -> Dim:
        """An expression of the sizes of the whole arrays."""
        sizes = {s: f"whole.{s.name}" for s in expr.symbols() if s in self.hints}
        for s, name in sizes.items():
            self.sizes[s] = Input(name, "int", symbol=sym(name), source=self.hints[s])
        return expr.substitute({s: sym(name) for s, name in sizes.items()})

    def region(self, region: Block, parent: Block) -> Block:
        """A region again, inside another block."""
        block = Block([a.type for a in region.args], parent)
        self.known.update(zip(region.args, block.args))
        self.nodes(region.nodes(), block)
        block.outputs = [self.known[v] for v in region.outputs]
        block.demands = [self.known[node.results[0]].node for node in region.demands]
        return block


def _used_by(node: Node) -> list[Value]:
    return [*node.operands, *(v for region in node.regions for v in region.free())]


def _shown_by(given: Input) -> frozenset[Sym]:
    """The symbols whose values an input shows."""
    if given.value is None:
        return frozenset() if given.symbol is None else given.symbol.symbols()
    return frozenset(d.symbol for d in given.value.type.dims if d.symbol is not None)


def _that_show_sizes(
    nodes: Sequence[Node], results: Sequence[Value], needed: Sequence[Input], inputs: Sequence[Input],
    cut: frozenset[Sym],
) -> list[Input]:  # fmt: skip
    """The inputs, beside those `needed`, that say how large a graph's results are.

    None of them has a cut axis that the graph has not: it would be read for nothing.
    """
    asked = {s for v in results for d in v.type.dims for s in d.symbols()}.union(*map(mentioned_by, nodes))
    shown = {s for i in needed for s in _shown_by(i)}
    found: list[Input] = []
    for symbol in sorted(asked - shown, key=str):
        if symbol in shown:
            continue
        showing = [i for i in inputs if symbol in _shown_by(i)]
        candidates = [i for i in showing if _shown_by(i) & cut <= asked]
        if not candidates and showing:
            others = sorted((_shown_by(showing[0]) & cut) - asked, key=str)
            raise NeedsWholeAxis(others[0], "asks for another size of the array of {axis}")
        if not candidates:
            continue  # the counter of a loop
        found.append(candidates[0])
        shown |= _shown_by(candidates[0])
    return found
