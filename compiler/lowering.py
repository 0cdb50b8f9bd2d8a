"""From the expression graph to the `tx` dialect: stage `graph` to stage `tensor`.

One walk, one `tx` operation a node.  Dims are already settled (`Graph.settle`); inputs of kind ``int`` have become
symbols.  The order of arithmetic of every reduction and contraction is fixed here, from dtype and axis kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..dialects import tx
from ..dialects.attributes import OrderAttr, dims_attr, integer_attr, ir_tensor, order_attr, string_attr
from ..dialects.dims.dims import Dim, Sym, sym
from ..dialects.dims.index_map import IndexMap
from ..dialects.ops.structure.indexing import INDEX
from ..dialects.tx_internal import Stored
from .frontend.trace import graph as g

__all__ = ["lower"]


def lower(graph: g.Graph, has_fma: bool = True) -> ModuleOp:
    """A module with one function, named after the graph, of its tensor and scalar inputs to its outputs.

    Contractions for a target without a fused multiply-add round their products (`has_fma`).

    Attributes of the function: ``tx.symbols`` (every symbol it needs at run time, in the order they are passed) and
    ``tx.aliases`` (for each result the argument it is written into, or -1).
    """
    inputs = [i for i in graph.inputs if i.value is not None]
    block = Block(arg_types=[ir_tensor(i.value.type) for i in inputs if i.value is not None])
    walk = _Walk(block, has_fma)
    for given, argument in zip(inputs, block.args):
        assert given.value is not None
        argument.name_hint = _hint(given.name)
        walk.values[given.value] = argument
    walk.nodes(graph.nodes())
    results = [walk.values[v] for v in graph.outputs]
    block.add_op(func.ReturnOp(*results))
    function = func.FuncOp(graph.name, ([a.type for a in block.args], [r.type for r in results]), Region(block))
    position = {id(given): n for n, given in enumerate(inputs)}
    aliases = [
        position[id(graph.inputs[graph.aliases[i]])] if i in graph.aliases else -1 for i in range(len(graph.outputs))
    ]
    function.attributes["tx.symbols"] = dims_attr(symbols_of(graph))
    function.attributes["tx.aliases"] = ArrayAttr([integer_attr(a) for a in aliases])
    return ModuleOp([function])


def symbols_of(graph: g.Graph) -> tuple[Dim, ...]:
    """Every symbol that types, parameters and inputs mention, iterators of loops left out, in a fixed order."""
    found: dict[Sym, None] = {}
    inner: set[Sym] = set()

    def add(value: Any) -> None:
        if isinstance(value, Dim):
            found.update(dict.fromkeys(sorted(value.symbols(), key=lambda s: s.name)))
        elif isinstance(value, tuple):
            for v in value:
                add(v)
        elif isinstance(value, IndexMap):
            add(value.extents + value.exprs + value.guards)

    for given in graph.inputs:
        add(given.symbol if given.value is None else given.value.type.dims)
    shapes: set[tuple[Dim, ...]] = set()
    for node in graph.walk():
        for result in node.results:
            if result.type.dims not in shapes:
                shapes.add(result.type.dims)
                add(result.type.dims)
        for value in node.attrs.values():
            add(value)
        if "iv" in node.attrs:
            inner.add(Sym(node.attrs["iv"]))
    iterators = {Sym(f"d{i}") for i in range(64)} | {s for s in found if s.name.startswith(INDEX)}
    return tuple(sym(s.name) for s in found if s not in inner and s not in iterators)


class _Walk:
    """Lowers the nodes of one block; regions share the values from outside."""

    def __init__(self, block: Block, has_fma: bool, values: dict[g.Value, SSAValue] | None = None):
        self.block, self.has_fma = block, has_fma
        self.values: dict[g.Value, SSAValue] = values if values is not None else {}

    def nodes(self, nodes: Sequence[g.Node]) -> None:
        for node in nodes:
            self._node(node)

    def _node(self, node: g.Node) -> None:
        assert node.op is not None
        if node.op is Stored:  # of a graph without its checks
            self.values[node.results[0]] = self.values[node.operands[0]]
            return
        extra: dict[str, Attribute] = {}
        if node.loc is not None:
            extra["loc"] = string_attr(f"{node.loc.filename}:{node.loc.line}:{node.loc.column}")
        made = tx.make(
            node.op,
            [self.values[v] for v in node.operands],
            node.attrs,
            types=[ir_tensor(r.type) for r in node.results],
            regions=[Region(self._region(r)) for r in node.regions],
            extra=extra,
        )
        if not self.has_fma:
            _round_products(made)
        self.block.add_op(made)
        self.values.update(zip(node.results, made.results))

    def _region(self, region: g.Block) -> Block:
        block = Block(arg_types=[ir_tensor(a.type) for a in region.args])
        inner = _Walk(block, self.has_fma, dict(self.values))
        inner.values.update(zip(region.args, block.args))
        inner.nodes(region.nodes())
        block.add_op(tx.YieldOp(operands=[[inner.values[v] for v in region.outputs]]))
        return block


def _round_products(op: tx.TxOp) -> None:
    """Change an order with fused products into one that rounds them."""
    order = op.attributes.get("order")
    if isinstance(order, OrderAttr) and order.data.product == "fma":
        op.attributes["order"] = order_attr(replace(order.data, product="mul_add"))


def _hint(name: str) -> str | None:
    """An SSA name, where the input's is one."""
    return name if name.isidentifier() and name.isascii() else None
