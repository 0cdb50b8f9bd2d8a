"""Numbers that differ between evaluations of what is one expression else, as `i` in `x * i`: the code is given them.

The first number is a part of the program, as what is said once may simplify it.  A second one at the same place, in a
graph that is equal but for its numbers, becomes an input, and so does any later one.  Bits are the same either way.  An
exponent or a modulus stays what it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OPS, Map
from ..trace.graph import Graph, Input, Node, SingleResultNode, Value
from .bounded import lru_put

__all__ = ["take_varying_numbers"]

#: How many graphs are known.
MOST = 2048
#: Elementwise ops whose code is much shorter for one number, and others that any number goes into.
_PARTIAL, _STORING = frozenset({"pow", "remainder", "fmod", "floor_divide"}), frozenset({"insert", "concatenate"})
#: What gives a number other dims.
_SPREADING = frozenset({"expand", "reshape"})
#: The numbers of a graph when it was first met, by its key without them, and the places of those that differed since.
_met: dict[str, tuple[tuple[str, ...], set[int]]] = {}


def take_varying_numbers(graph: Graph) -> None:
    """Make inputs of the numbers of a graph that were others in an earlier one."""
    nodes = graph.nodes()
    numbers = _plain_numbers(nodes)
    if not numbers:
        return
    known = [node.attrs for node in numbers]
    for place, node in enumerate(numbers):
        node.attrs = {**node.attrs, "value": f"number {place}"}
    key = graph.key()
    for node, attrs in zip(numbers, known):
        node.attrs = attrs
    texts = tuple([repr(attrs["value"]) for attrs in known])
    first, varies = _met.get(key) or (texts, set())
    varies |= {place for place, (a, b) in enumerate(zip(first, texts)) if a != b}
    lru_put(_met, key, (first, varies), MOST)
    if varies:
        _give(graph, nodes, {numbers[place] for place in varies})


def _plain_numbers(nodes: list[Node]) -> list[Node]:
    """The literals that go into plain ops alone."""
    if any(node.regions for node in nodes):
        return []
    found = {node for node in nodes if node.op is OPS["constant"] and node.attrs["dtype"].numpy.kind in "fiu"}
    standing = {node: node for node in found}  # literals, and those that are broadcast
    for node in nodes:
        for operand in node.operands:
            number = standing.get(operand.node)
            if number is None:
                continue
            if node.op is not None and node.op.name in _SPREADING:
                standing[node] = number
            elif not _is_plain(node):
                found.discard(number)
    return [node for node in nodes if node in found]


def _is_plain(node: Node) -> bool:
    op = node.op
    if op is None or not issubclass(op, Map):
        return op is not None and op.name in _STORING
    return op.name not in _PARTIAL and (op is not OPS["div"] or node.results[0].type.dtype.is_float)


def _give(graph: Graph, nodes: list[Node], numbers: set[Node]) -> None:
    """Let a graph take literals as arrays of rank 0."""
    known: dict[Value, Value] = {}
    for node in nodes:
        if node in numbers:
            (old,) = node.results
            array: Any = np.array(node.attrs["value"], node.attrs["dtype"].numpy)
            known[old] = SingleResultNode.of_array(array, old.type, False)
            name = f"number{len(known) - 1}"
            graph.inputs.append(Input(name, "tensor", known[old], hidden=True, source=array))
        node.operands = tuple([known.get(v, v) for v in node.operands])
    graph.outputs = [known.get(v, v) for v in graph.outputs]
