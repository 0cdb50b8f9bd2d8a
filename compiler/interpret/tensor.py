"""The interpreter of tx programs (stages `tensor` to `evals`): each operation by its declaration's `evaluate`.

Sums and contractions are NumPy's here, so results agree with the machine's within the stated accuracy, not bitwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.attributes import from_attr, tensor_of
from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.dims.index_map import IndexMap
from ...dialects.registry import apply_map
from ...dialects.tx import ForOp, IfOp, InsertOp, TxOp, ViewOp, WhileOp, YieldOp
from .scalar import evaluate

__all__ = ["bind_symbols", "run", "run_function"]


def run(module: ModuleOp, arrays: Sequence[Any], symbols: Mapping[str, int] | None = None) -> list[np.ndarray]:
    """Run the only function of a module; see `run_function`."""
    (function,) = [f for f in module.body.block.ops if isinstance(f, func.FuncOp)]
    return run_function(function, arrays, symbols)


def run_function(
    function: func.FuncOp, arrays: Sequence[Any], symbols: Mapping[str, int] | None = None
) -> list[np.ndarray]:
    """The results for arrays of the arguments' dtypes and shapes; inputs are never written.

    `symbols` gives values to symbols that are no dim of an argument (Python `int` arguments, say).
    Raises ValueError where arrays do not fit the arguments or a symbol has no value.
    """
    block = function.body.block
    inputs = [np.asarray(a) for a in arrays]
    env = bind_symbols(function, inputs, symbols)
    values: dict[SSAValue, np.ndarray] = dict(zip(block.args, inputs))
    return _run_block(block, values, env)


def bind_symbols(
    function: func.FuncOp, arrays: Sequence[np.ndarray], symbols: Mapping[str, int] | None = None
) -> dict[Sym, int]:
    """The values of a function's symbols: `symbols`, and the sizes of the arrays.  ValueError where they do not fit."""
    arguments = function.body.block.args
    if len(arrays) != len(arguments):
        raise ValueError(f"{function.sym_name.data} takes {len(arguments)} arrays, got {len(arrays)}")
    env = {Sym(name): int(value) for name, value in (symbols or {}).items()}
    types = [tensor_of(a.type) for a in arguments]
    for i, (expected, array) in enumerate(zip(types, arrays)):
        if array.dtype != expected.dtype.numpy or array.ndim != expected.rank:
            raise ValueError(f"argument {i} is {expected}, got {array.dtype} of shape {array.shape}")
        for d, size in zip(expected.dims, array.shape):
            if d.symbol is not None:
                env.setdefault(d.symbol, size)
    for i, (expected, array) in enumerate(zip(types, arrays)):
        sizes = tuple(_value(d, env) for d in expected.dims)
        if sizes != array.shape:
            raise ValueError(f"argument {i} is {expected}, here of shape {sizes}, got shape {array.shape}")
    declared = function.attributes.get("tx.symbols")
    for d in from_attr(declared) if declared is not None else ():
        _value(d, env)
    return env


def _value(d: Dim, env: Mapping[Sym, int]) -> int:
    try:
        return int(d.evaluate(env))
    except KeyError as missing:
        raise ValueError(f"the symbol {missing.args[0]} has no value") from None


def _run_block(block: Block, values: dict[SSAValue, np.ndarray], env: dict[Sym, int]) -> list[np.ndarray]:
    for op in block.ops:
        operands = [values[v] for v in op.operands]
        if isinstance(op, (func.ReturnOp, YieldOp)):
            return operands
        results = _run_op(op, operands, values, env)
        values.update(zip(op.results, results))
    raise ValueError("a block that neither yields nor returns")


def _run_op(
    op: Operation, operands: list[np.ndarray], values: dict[SSAValue, np.ndarray], env: dict[Sym, int]
) -> Sequence[np.ndarray]:
    match op:
        case ViewOp():
            return (apply_map(operands[0], op.map, op.fill, env),)
        case InsertOp():
            base, value = operands
            return (_insert(base, value, op.map, env),)
        case ForOp():
            lower, upper, step = (_value(d, env) for d in op.range)
            for i in range(lower, upper, step) if op.only is None else [int(operands[op.only])]:
                inner = {**values, **dict(zip(op.block.args, operands))}
                operands = _run_block(op.block, inner, {**env, op.symbol: i})
                if op.ends_at is not None and operands[op.ends_at]:
                    break
            return operands
        case WhileOp():
            while _run_block(op.condition.block, {**values, **dict(zip(op.condition.block.args, operands))}, env)[0]:
                operands = _run_block(op.body.block, {**values, **dict(zip(op.body.block.args, operands))}, env)
            return operands
        case IfOp():
            branch = op.then if operands[0] else op.otherwise
            return _run_block(branch.block, dict(values), env)
        case TxOp():
            params = {k: _concrete(v, env) for k, v in op.params.items()}
            found = evaluate(op.decl, operands, params)
            return [np.asarray(a).astype(tensor_of(r.type).dtype.numpy, copy=False) for a, r in zip(found, op.results)]
    raise ValueError(f"{op.name} is no tx operation")


def _insert(base: np.ndarray, value: np.ndarray, index: IndexMap, env: Mapping[Sym, int]) -> np.ndarray:
    grids: dict[Any, Any] = dict(env)
    for i, size in enumerate(value.shape):
        grids[Sym(f"d{i}")] = np.arange(size).reshape((-1,) + (1,) * (value.ndim - 1 - i))
    result = base.copy()
    if value.size:
        result[tuple(np.broadcast_to(e.evaluate(grids), value.shape) for e in index.exprs)] = value
    return result


def _concrete(value: Any, env: Mapping[Sym, int]) -> Any:
    """A parameter with each dim replaced by its value, still a `Dim`; a map keeps its iterators."""
    if isinstance(value, Dim):
        return dim(_value(value, env))
    if isinstance(value, tuple):
        return tuple(_concrete(v, env) for v in value)
    if isinstance(value, IndexMap):
        known = {s: dim(n) for s, n in env.items()}
        parts = (value.extents, value.exprs, value.guards)
        return IndexMap(*(tuple(d.substitute(known) for d in part) for part in parts))
    return value
