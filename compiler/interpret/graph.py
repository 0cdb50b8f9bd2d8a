"""The interpreter of the `graph` stage: every op by its `evaluate`, in NumPy, one node after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.dims.index_map import IndexMap
from ...dialects.registry import Op, OpError, View, apply_map
from ...dialects.types import tensor_type
from ..frontend.trace.graph import Block, Graph, Guard, Node, Value
from .scalar import evaluate

__all__ = ["bind_inputs", "run_graph"]


def bind_inputs(graph: Graph, arguments: Mapping[str, Any]) -> tuple[dict[Value, np.ndarray], dict[Sym, int]]:
    """The value of each argument and symbol; OpError where one is missing, unfit, or fails a guard."""
    values: dict[Value, np.ndarray] = {}
    env: dict[Sym, int] = {}
    equations: list[tuple[Dim, int]] = []
    for given in graph.inputs:
        if given.name not in arguments and given.source is None:
            raise OpError(f"{graph.name} needs an input {given.name!r}", code="TX0260")
        argument = arguments.get(given.name, given.source)
        if given.kind == "int":
            assert given.symbol is not None and given.symbol.symbol is not None
            env[given.symbol.symbol] = int(argument)
            continue
        assert given.value is not None
        kind = given.value.type
        array = np.asarray(argument)
        if given.kind == "scalar":
            array = array.astype(kind.dtype.numpy)
        if given.layout == "col":
            array = array.T
        if array.ndim != kind.rank or array.dtype != kind.dtype.numpy:
            raise OpError(
                f"input {given.name!r} of {graph.name} is {kind}, got {array.dtype} of shape {array.shape}",
                code="TX0261",
            )
        values[given.value] = array
        for i, size in enumerate(array.shape):
            # The guards speak of the symbols the dims had before they were unified.
            equations.append((dim(kind.dims[i]), size))
            own = Sym(f"{given.name}.{array.ndim - 1 - i if given.layout == 'col' else i}")
            if own in graph.table.names:
                env[own] = size
            stride = Sym(f"${given.name}.s{i}")
            if stride in graph.table.names:
                env[stride] = array.strides[i] // array.itemsize
    for d, size in equations:
        if d.symbol is not None:
            env.setdefault(d.symbol, size)
    env = graph.table.environment(env)
    for d, size in equations:
        if d.evaluate(env) != size:
            raise OpError(f"a size of {size} does not fit {d} in {graph.name}", code="TX0261")
    for guard in graph.table.guards:
        if not guard.holds(env):
            raise GuardFailed(guard)
    return values, env


class GuardFailed(OpError):
    """The arguments do not have a fact that the graph relies on: another version of the function is needed."""

    def __init__(self, guard: Guard):
        super().__init__(f"a fact does not hold: {guard}", code="TX0262")
        self.guard = guard


def run_graph(graph: Graph, arguments: Mapping[str, Any]) -> list[np.ndarray]:
    """All outputs of a graph for arrays and ints by input name; hidden inputs use their captured arrays."""
    values, env = bind_inputs(graph, arguments)
    _run(graph.nodes(), values, env)
    return [values[v] for v in graph.outputs]


def _run(nodes: Sequence[Node], values: dict[Value, Any], env: dict[Sym, int]) -> None:
    for node in nodes:
        assert node.op is not None
        arrays = [_array(values, v) for v in node.operands]
        run = _CONTROL.get(node.op.name)
        results = run(node, arrays, values, env) if run else _evaluate(node.op, arrays, node.attrs, env)
        for v, result in zip(node.results, results):
            values[v] = result


def _array(values: dict[Value, Any], v: Value) -> np.ndarray:
    if v not in values and v.node.leaf is not None:
        values[v] = v.node.leaf
    return values[v]


def _evaluate(
    op: type[Op], arrays: Sequence[np.ndarray], attrs: dict[str, Any], env: dict[Sym, int]
) -> tuple[np.ndarray, ...]:
    known = {k: _numbers(v, env) for k, v in attrs.items()}
    if issubclass(op, View):
        (x,) = arrays
        fill = known.get("fill", 0)
        return (apply_map(x, op.view(tensor_type(x.dtype, x.shape), known), fill),)
    return evaluate(op, arrays, known)


def _numbers(value: Any, env: dict[Sym, int]) -> Any:
    """A parameter with every dim replaced by its number; an index map keeps its iterators."""
    if isinstance(value, Dim):
        inner = {s: dim(env[s]) for s in value.symbols() if s in env}
        return value.substitute(inner)
    if isinstance(value, tuple):
        return tuple(_numbers(v, env) for v in value)
    if isinstance(value, IndexMap):
        parts = (value.extents, value.exprs, value.guards)
        return IndexMap(*(tuple(_numbers(d, env) for d in part) for part in parts))
    return value


def _block(block: Block, arguments: Sequence[Any], values: dict[Value, Any], env: dict[Sym, int]) -> list[Any]:
    values.update(zip(block.args, arguments))
    _run(block.nodes(), values, env)
    return [values[v] for v in block.outputs]


def _for(node: Node, arrays: Sequence[Any], values: dict[Value, Any], env: dict[Sym, int]) -> Sequence[Any]:
    lower, upper, step = (int(node.attrs[k].evaluate(env)) for k in ("lower", "upper", "step"))
    carried: Sequence[Any] = arrays
    only = node.attrs["only"]
    for i in range(lower, upper, step) if only is None else [int(carried[only])]:
        carried = _block(node.regions[0], carried, values, {**env, Sym(node.attrs["iv"]): i})
        if (until := node.attrs["until"]) is not None and carried[until]:
            break
    return carried


def _while(node: Node, arrays: Sequence[Any], values: dict[Value, Any], env: dict[Sym, int]) -> Sequence[Any]:
    carried: Sequence[Any] = arrays
    while _block(node.regions[0], carried, values, env)[0]:
        carried = _block(node.regions[1], carried, values, env)
    return carried


def _if(node: Node, arrays: Sequence[Any], values: dict[Value, Any], env: dict[Sym, int]) -> Sequence[Any]:
    return _block(node.regions[0 if arrays[0] else 1], (), values, env)


_CONTROL = {"for": _for, "while": _while, "if": _if}
