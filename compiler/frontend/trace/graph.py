"""The expression graph: what every front end builds and `lowering.py` reads.  Plain Python objects, no xDSL.

A `Value` is one result of a `Node`; a node has an op of the registry, operands, canonical parameters and, for
``for``, ``while`` and ``if``, regions.  A region is a `Block` that may use values from outside.  A node remembers the
block it was made in and a serial number, so a block's program is: the nodes its outputs need, in the order made.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ....dialects.dims.dims import Dim
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import Op
from ....dialects.tx_internal import Stored
from ....dialects.types import TensorType
from ....runtime.check_errors import Check
from ....runtime.file_store import sha256
from ...call.signature import Literal
from .dim_table import DimTable, Guard

if TYPE_CHECKING:
    from ...diagnostics import Loc
    from ..lazy.deferred import OpTemplate
    from ..lazy.structural_key import Key

__all__ = [
    "Block", "DimTable", "Graph", "Guard", "Input", "Literal", "Node", "SingleResultNode", "Value", "inside",
    "next_serial", "schedule",
]  # fmt: skip

#: A number above those of all nodes made so far, and below those of later ones.
next_serial = itertools.count().__next__


class Value:
    """One result of a node.

    `key` is what it computes in a lazy expression, and of which leaves; None while nobody asked for it
    (`structural_key.key_of`).  A leaf is an array: its `node` has it, as `leaf`.  A value becomes one where it is
    computed and kept (`lazy/materialize.py`).
    """

    __slots__ = ()

    node: Node
    index: int
    type: TensorType
    operands: Sequence[Value]
    #: The template and operands that it was made of late (`lazy/deferred.py`).
    origin: tuple[OpTemplate, Sequence[Value]] | None
    key: Key | None
    #: Whether it was computed on the way to others, and not kept.
    was_inside: bool
    #: Whether it is a step on the way to what a template makes: keys do not know of it, so it stays computed.
    is_step: bool

    def __repr__(self) -> str:
        name = self.node.op.name if self.node.op else "argument"
        return f"<{name}#{self.node.serial}: {self.type}>"


class Result(Value):
    """A result beside others."""

    __slots__ = ("index", "is_step", "key", "node", "origin", "type", "was_inside")

    def __init__(self, node: Any, index: int, type: TensorType):
        self.node, self.index, self.type = node, index, type
        self.key, self.origin, self.was_inside, self.is_step = None, None, False, False

    @property
    def operands(self) -> Sequence[Value]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.node.operands


class Node:
    """One operation.  `op` is None for arguments of a graph or block, and for arrays (`leaf`) of lazy expressions.

    Where it has one result it is a `Value` itself, that one (`SingleResultNode`).
    """

    __slots__ = ("_text", "attrs", "block", "leaf", "loc", "op", "operands", "regions", "results", "serial")

    results: tuple[Value, ...]

    def __new__(cls, op: Any, operands: Any, attrs: Any, types: Sequence[TensorType], *_: Any, **__: Any) -> Node:
        return object.__new__(SingleResultNode if len(types) == 1 else cls)

    def __init__(
        self,
        op: type[Op] | None,
        operands: Sequence[Value],
        attrs: dict[str, Any],
        types: Sequence[TensorType],
        loc: Loc | None = None,
        regions: Sequence[Block] = (),
        block: Block | None = None,
        leaf: Any = None,
        text: str = "",
    ):
        self.op, self.operands, self.attrs, self.loc = op, tuple(operands), attrs, loc
        self.regions, self.block, self.leaf, self._text = tuple(regions), block, leaf, text
        #: Its place in time; a fraction where it was made late, in the place of what waited for it (`deferred`).
        self.serial: float = next_serial()
        if isinstance(self, SingleResultNode):
            self.type, self.key, self.origin, self.was_inside, self.is_step = types[0], None, None, False, False
        else:
            self.results = tuple([Result(self, i, t) for i, t in enumerate(types)])

    @property
    def text(self) -> str:
        """What it computes of its operands, the same for nodes that do the same.  For nodes of lazy expressions,
        whose types are what they were made with."""
        if not self._text:
            self._text = self.written()
        return self._text

    def written(self) -> str:
        """The same for any node, with the types that it has now."""
        assert self.op is not None
        attrs = " ".join([f"{k}={v!r}" for k, v in self.attrs.items()])
        return f"{self.op.name} {{{attrs}}} {' '.join([str(r.type) for r in self.results])}"


class SingleResultNode(Node, Value):
    """A node and its only result in one object, so that no cycle keeps what an expression refers to.

    The memory of arrays that nobody needs any more is free at once then, and the next result's.
    """

    __slots__ = ("is_step", "key", "origin", "type", "was_inside")

    index = 0

    @staticmethod
    def of_array(array: Any, type: TensorType, fixed: bool) -> SingleResultNode:
        """An array in a lazy expression; `fixed`: its sizes are facts.  Every result becomes one."""
        made = object.__new__(SingleResultNode)
        made.op, made.operands, made.regions, made.block, made.loc = None, (), (), None, None
        made.attrs, made.leaf, made._text, made.type = {"fixed": fixed}, array, "", type
        made.serial = next_serial()
        made.key, made.origin, made.was_inside, made.is_step = None, None, False, False
        return made

    @property
    def node(self) -> Node:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self

    @property
    def results(self) -> tuple[Value, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return (self,)


class Block:
    """A region: `args` are results of argument nodes, `outputs` what it hands on.  `parent` is the block around it."""

    def __init__(self, types: Sequence[TensorType] = (), parent: Block | None = None):
        self.parent = parent
        self.args: tuple[Value, ...] = tuple(Node(None, (), {}, (t,), block=self).results[0] for t in types)
        self.outputs: list[Value] = []
        #: What is computed for the sake of its checks alone, as Python raises an error of what nobody uses.
        self.demands: list[Node] = []
        #: Literals and broadcasts, which are made once in it, however often they are asked for.
        self.shared: dict[Hashable, Value] = {}
        #: For the outputs and demands that it had then: its program, and what that uses from outside.  Nodes never
        #: change what they need, and each level of nested regions asks all that are inside it.
        self._known: tuple[list[Any], list[Node], list[Value]] | None = None

    def nodes(self) -> list[Node]:
        """Its program, arguments left out."""
        return self._analysed()[1]

    def free(self) -> list[Value]:
        """The values from outside that it, or a region inside it, uses."""
        return self._analysed()[2]

    def hand_on(self, outputs: Sequence[Value]) -> None:
        """Hand on other values; for when its nodes have changed."""
        self.outputs, self._known = [*outputs], None

    def _analysed(self) -> tuple[list[Value], list[Node], list[Value]]:
        known, asked = self._known, [*self.outputs, *self.demands]
        if known is None or known[0] != asked:
            nodes = schedule(self.outputs, self, self.demands)
            known = self._known = asked, nodes, self._free(nodes)
        return known

    def _free(self, nodes: Sequence[Node]) -> list[Value]:
        found: dict[Value, None] = {}
        for node in nodes:
            for v in _uses(node):
                if v.node.block is not self:
                    found[v] = None
        for v in self.outputs:
            if v.node.block is not self:
                found[v] = None
        return list(found)


def _uses(node: Node) -> Iterator[Value]:
    yield from node.operands
    for region in node.regions:
        yield from region.free()


def inside(candidate: Block | None, block: Block) -> bool:
    """Whether a block is another one, or in it."""
    while candidate is not None:
        if candidate is block:
            return True
        candidate = candidate.parent
    return False


def schedule(outputs: Iterable[Value], block: Block | None = None, demands: Iterable[Node] = ()) -> list[Node]:
    """The `demands` and the nodes made in `block` that they and `outputs` need, in the order they were made.

    Arguments are left out.
    """
    found: set[Node] = set()
    stack = [*(v.node for v in outputs), *demands]
    while stack:
        node = stack.pop()
        if node.op is None or node.block is not block or node in found:
            continue
        found.add(node)
        stack.extend(v.node for v in _uses(node))
    return sorted(found, key=lambda n: n.serial)


@dataclass
class Input:
    """An argument of a graph.

    `kind`: ``tensor`` (an array), ``scalar`` (rank 0, passed by value) or ``int`` (a Python int: `symbol` is its Dim
    and there is no `value`).  `hidden` inputs are captured arrays; `source` is the array, or the int that a
    lazy expression has.  `layout` is ``row`` or ``col``: the type of a ``col`` input has its dims reversed already.
    `weak` is ``complex``, ``float``, ``int``, ``bool`` where it came from a Python scalar.
    """

    name: str
    kind: str
    value: Value | None = None
    symbol: Dim | None = None
    hidden: bool = False
    source: Any = None
    layout: str = "row"
    weak: str = ""
    #: Distance of neighbours along each dim, in elements; None where the array is packed.
    strides: tuple[Dim, ...] | None = None


@dataclass
class Graph:
    """A function: inputs, outputs, the facts about its dims.

    `aliases` says which outputs are inputs written in place (output index to input index).  The first `results` outputs
    are what the function returns, the rest only writes.  `structure` is the shape of the returned value: an output's
    index, a `Literal`, None, or a tuple, list or dict of these.
    """

    name: str
    inputs: list[Input]
    outputs: list[Value]
    table: DimTable
    aliases: dict[int, int] = field(default_factory=dict)
    structure: Any = 0
    results: int = 0
    #: The block of the top level; None for lazy expressions.
    body: Block | None = None
    #: Where something is checked, what that raises, with sizes as dims; the last output then says what failed
    #: (`indexing/runtime_checks.py`).
    checks: tuple[Check, ...] = ()
    #: Where the program has each of these: no part of what it computes.
    places: tuple[Loc | None, ...] = ()
    #: What is computed for the sake of its checks alone, at the top level.
    demands: list[Node] = field(default_factory=list)
    #: Whether the program has errors of its own that data decide (`demands.py`).
    raises: bool = False
    #: What may raise an error that the program does something with, which it would not, and where (`Trace.guarding`).
    guarded: dict[Node, Loc | None] = field(default_factory=dict)
    #: The inputs, by their numbers among those that are arrays, which the program relies on to be different objects.
    compared: tuple[int, ...] = ()

    def nodes(self) -> list[Node]:
        """The top level's program, in order."""
        return schedule(self.outputs, self.body, self.demands)

    def walk(self) -> Iterator[Node]:
        """Every node, those of regions after the node that has them."""

        def visit(nodes: list[Node]) -> Iterator[Node]:
            for node in nodes:
                yield node
                for region in node.regions:
                    yield from visit(region.nodes())

        return visit(self.nodes())

    def node_with_bound_size(self) -> Node | None:
        """The first node with a size in it that values decide (`data_dependent_sizes`)."""
        return next((node for node in self.walk() if node.attrs.get("only") is not None), None)

    def without_places(self) -> Graph:
        """The same program wherever it is written."""
        return replace(self, places=())

    def settle(self) -> Graph:
        """Apply all substitutions of the table to types and parameters; called once, when tracing ends."""
        resolve = self.table.resolve
        if self.table.substitutions:
            values = [i.value for i in self.inputs if i.value] + self.outputs
            for node in self.walk():
                node.attrs = {k: _map_dims(v, resolve) for k, v in node.attrs.items()}
                values += node.results
                values += [arg for region in node.regions for arg in region.args]
            for v in values:
                v.type = v.type.with_dims(tuple(resolve(d) for d in v.type.dims))
        return self

    def forget_stores(self) -> None:
        """Leave out when stores happen (`Stored`), as nothing asks for it."""

        def held(v: Value) -> Value:
            while v.node.op is Stored:
                v = v.node.operands[0]
            return v

        def visit(nodes: Sequence[Node]) -> None:
            for node in nodes:
                node.operands = tuple(map(held, node.operands))
                for region in node.regions:
                    visit(region.nodes())
                    region.hand_on([*map(held, region.outputs)])

        visit(self.nodes())
        self.outputs = [*map(held, self.outputs)]

    def key(self) -> str:
        """A structural hash: equal for graphs that compute the same thing in the same way, on any run."""
        text = sha256()
        numbers: dict[Value, str] = {}
        for i, given in enumerate(self.inputs):
            if given.value is not None:
                numbers[given.value] = f"a{i}"
            kind = given.value.type if given.value is not None else given.symbol
            facts = (given.name, given.kind, kind, given.hidden, given.layout, given.weak, given.strides)
            text.update(f"{facts}\n".encode())

        def visit(nodes: list[Node], prefix: str) -> None:
            for n, node in enumerate(nodes):
                for r in node.results:
                    numbers[r] = f"{prefix}{n}.{r.index}"
                operands = " ".join(numbers[v] for v in node.operands)
                text.update(f"{prefix}{n} {operands} {node.written()}\n".encode())
                for r, region in enumerate(node.regions):
                    inner = f"{prefix}{n}/{r}/"
                    for j, arg in enumerate(region.args):
                        numbers[arg] = f"{inner}a{j}"
                    visit(region.nodes(), inner)
                    text.update(f"yield {' '.join(numbers[v] for v in region.outputs)}\n".encode())

        visit(self.nodes(), "")
        ends = " ".join(numbers[v] for v in self.outputs)
        guards = "; ".join(f"{g.lhs} {g.relation} {g.rhs}" for g in self.table.guards)
        text.update(f"return {ends} {self.aliases} {self.structure!r} {self.results} {guards} {self.checks}".encode())
        text.update(str(self.compared).encode())
        return text.hexdigest()

    def __str__(self) -> str:
        """The graph as text: the `graph` stage's dump."""
        numbers: dict[Value, str] = {}
        lines: list[str] = []
        heads = []
        for given in self.inputs:
            if given.value is not None:
                numbers[given.value] = f"%{given.name}"
                heads.append(f"%{given.name}: {given.value.type}")
            else:
                heads.append(f"{given.symbol}: int")
        lines.append(f"graph {self.name}({', '.join(heads)}) {{")
        counter = itertools.count()

        def visit(nodes: list[Node], pad: str) -> None:
            for node in nodes:
                assert node.op is not None
                for r in node.results:
                    numbers[r] = f"%{next(counter)}"
                names = ", ".join(numbers[r] for r in node.results)
                operands = "".join(f" {numbers[v]}" for v in node.operands)
                attrs = ", ".join(f"{k}={v}" for k, v in node.attrs.items())
                types = ", ".join(str(r.type) for r in node.results)
                lines.append(f"{pad}{names} = {node.op.name}{operands}{f' {{{attrs}}}' if attrs else ''} : {types}")
                for region in node.regions:
                    for arg in region.args:
                        numbers[arg] = f"%{next(counter)}"
                    lines.append(f"{pad}{{ ({', '.join(f'{numbers[a]}: {a.type}' for a in region.args)})")
                    visit(region.nodes(), pad + "  ")
                    lines.append(f"{pad}  yield {', '.join(numbers[v] for v in region.outputs)}")
                    lines.append(f"{pad}}}")

        visit(self.nodes(), "  ")
        ends = [
            numbers[v] + (f" -> {self.inputs[self.aliases[i]].name}" if i in self.aliases else "")
            for i, v in enumerate(self.outputs)
        ]
        lines.append(f"  return {', '.join(ends)}")
        lines.append("}")
        lines += [f"guard {g}" for g in self.table.guards]
        return "\n".join(lines)


def _map_dims(value: Any, resolve: Any) -> Any:
    """A parameter with `resolve` applied to every dim in it."""
    if isinstance(value, Dim):
        return resolve(value)
    if isinstance(value, tuple):
        return tuple(_map_dims(v, resolve) for v in value)
    if isinstance(value, IndexMap):
        parts = (value.extents, value.exprs, value.guards)
        return IndexMap(*(tuple(resolve(d) for d in part) for part in parts))
    return value
