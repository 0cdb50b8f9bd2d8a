"""Loops and branches as functions: `fori_loop`, `while_loop`, `cond` and `scan`, with the meaning that JAX gives them.

In a compiled function they are its structured ops, whatever the number of iterations; elsewhere they are Python's own
loops.  What is carried is a tensor or number, or tuples, lists and dicts of them, of one structure throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ....call.signature import like
from ....diagnostics import located
from ...numpy import creation
from ...state.alternatives.mixed_numbers import as_one_number
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import current
from ...trace.demands import Ended
from ..regions import fork, loops

__all__ = ["FUNCTIONAL", "cond", "fori_loop", "scan", "while_loop"]


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """``for i in range(lower, upper): init = body(i, init)``; what is carried in the end."""
    trace = current()
    if trace is None:
        for i in range(lower, upper):
            init = body(i, init)
        return init
    body = _without_end(body)
    leaves, structure = _flat(init)

    def step(i: Any, carried: Any) -> tuple[Any, ...]:
        return _same(body(i, _nested(structure, carried)), structure, "fori_loop")

    return _nested(structure, loops.for_(trace, lower, upper, 1, step, leaves))


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """``while condition(init): init = body(init)``; what is carried in the end."""
    trace = current()
    if trace is None:
        while condition(init):
            init = body(init)
        return init
    condition, body = _without_end(condition), _without_end(body)
    leaves, structure = _flat(init)

    def step(carried: Any) -> tuple[Any, ...]:
        return _same(body(_nested(structure, carried)), structure, "while_loop")

    return _nested(structure, loops.while_(trace, lambda carried: condition(_nested(structure, carried)), step, leaves))


def cond(pred: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """``then(*operands) if pred else otherwise(*operands)``; only one of them runs."""
    trace = current()
    if trace is None or not isinstance(pred, Tensor):
        return then(*operands) if pred else otherwise(*operands)
    structures: list[Any] = []

    def branch(f: Callable[..., Any]) -> Callable[[], tuple[Any, ...]]:
        def run() -> tuple[Any, ...]:
            result = f(*operands)
            structures.append(_flat(result)[1])
            return _same(result, structures[0], "cond")

        return run

    found = fork.if_(trace, pred, branch(_without_end(then)), branch(_without_end(otherwise)))
    return _nested(structures[0], found)


def _without_end(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the user's that is staged as a region, which has to be gone through to its end."""

    def run(*given: Any) -> Any:
        try:
            return f(*given)
        except Ended as end:
            text = f"a function that is a branch or the body of a loop always raises {type(end.error).__name__}"
            raise OpError(text, "use if, for or while", "TX0311") from end.error

    return run


def scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """``init, y = f(init, x)`` for each row `x` of `xs`; what is carried in the end, and all `y`, stacked.

    `xs` has at least one row; where it is several tensors they have equally many.
    """
    rows, structure = _flat(xs)
    rows = [as_tensor(r) if current() is not None else np.asarray(r) for r in rows]
    if not rows or any(not r.ndim for r in rows):
        with located():
            raise OpError("scan goes over the rows of tensors", "give it at least one of rank 1", "TX0313")
    count = rows[0].shape[0]
    carried, first = f(init, _nested(structure, [r[0] for r in rows]))
    ys, outputs = _flat(first)
    stacked = [_stack_of(count, as_tensor(y) if current() is not None else np.asarray(y)) for y in ys]
    for s, y in zip(stacked, ys):
        s[0] = y
    _, carries = _flat(init)

    def step(i: Any, value: Any) -> Any:
        value, made = f(value, _nested(structure, [r[i] for r in rows]))
        for s, y in zip(stacked, _same(made, outputs, "scan")):
            s[i] = y
        return _nested(carries, _same(value, carries, "scan"))

    return fori_loop(1, count, step, carried), _nested(outputs, stacked)


#: What staged code calls with the user's functions in staged form.
FUNCTIONAL = frozenset({fori_loop, while_loop, cond, scan})


def _stack_of(count: Any, y: Any) -> Any:
    make = creation.zeros if isinstance(y, Tensor) else np.zeros
    return make((count, *y.shape), y.dtype)


def _flat(value: Any) -> tuple[list[Any], Any]:
    """The leaves of nested containers, and their structure: containers with None in place of each leaf."""
    if isinstance(value, dict):
        parts = {k: _flat(v) for k, v in value.items()}
        return [leaf for leaves, _ in parts.values() for leaf in leaves], {k: s for k, (_, s) in parts.items()}
    if isinstance(value, (tuple, list)):
        items = [_flat(v) for v in value]
        return [leaf for leaves, _ in items for leaf in leaves], like(value, [s for _, s in items])
    return [as_one_number(value)], None


def _nested(structure: Any, leaves: Any) -> Any:
    """Containers of that structure around the leaves."""
    rest = iter(leaves)

    def made(part: Any) -> Any:
        if isinstance(part, dict):
            return {k: made(v) for k, v in part.items()}
        return next(rest) if part is None else like(part, [made(v) for v in part])

    return made(structure)


def _same(value: Any, structure: Any, what: str) -> tuple[Any, ...]:
    """The leaves of a value that has to have that structure."""
    leaves, found = _flat(value)
    if found != structure:
        with located():
            raise OpError(
                f"a function of {what} gives {len(leaves)} values in another structure than it should",
                "return tuples, lists and dicts as they are given",
                "TX0290",
            )
    return tuple(leaves)
