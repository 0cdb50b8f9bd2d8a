"""Eigen's custom expressions: a Python function of scalars, traced once and then applied to whole tensors.

The function sees tensors of rank 0, so its conditions may depend on them: a branch becomes a selection.  What it takes
from outside may be numbers and tensors of rank 0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...dialects.dims import dim
from ...dialects.registry import OPS, Map, OpError
from ...dialects.types import DTYPES, tensor_type
from . import regions
from .apply import apply, as_tensor, broadcast_to, broadcast_together, cast, emit
from .creation import zeros
from .graph import Node, Value, schedule
from .staging import Runtime, stage
from .tensor import Tensor
from .trace import Trace, current

__all__ = ["EXPRESSIONS", "elementwise"]


def elementwise(f: Callable[..., Any], *operands: Any, together: bool = False) -> Tensor:
    """``f(x, y, …)`` for each element of the operands, which are broadcast; of the dtype that `f` gives.

    With `together` the function takes one tuple: ``f((x, y, …))``.
    """
    if not callable(f):
        raise OpError(f"an expression takes a function of scalars, not {f!r}", code="TX0730")
    tensors = broadcast_together([as_tensor(x) for x in operands], "an expression", _layout(operands))
    trace = current()
    with Trace("expression") if trace is None else nullcontext(trace) as inner:
        with regions.region(inner, [tensor_type(t.element) for t in tensors]) as block:
            scalars = tuple(Tensor(v) for v in block.args)
            result = as_tensor(_staged(f)(scalars) if together else _staged(f)(*scalars))
            if result.ndim:
                raise OpError(f"the function of an expression gives a scalar, not {result.user_type}", code="TX0731")
            program, last = schedule([result.value], block), result.value
    known: dict[Value, Tensor] = dict(zip(block.args, tensors))
    if trace is None:
        known.update((i.value, as_tensor(i.source)) for i in inner.inputs if i.value is not None)
    _Replay(known).run(program)
    wide = known[last] if last in known else Tensor(last)
    return broadcast_to(wide, tensors[0].dims, tensors[0].layout) if not wide.ndim else wide


def _staged(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, or what a functor's call runs, with branches on tensors."""
    if inspect.isfunction(f):
        return stage(f, Runtime())
    bound, inner = (f.__self__, f.__func__) if inspect.ismethod(f) else (f, type(f).__call__)
    if not inspect.isfunction(inner):
        return f  # a ufunc, say
    return lambda *args: stage(inner, Runtime())(bound, *args)


def _layout(operands: Sequence[Any]) -> str:
    return next((x.layout for x in operands if isinstance(x, Tensor) and x.ndim > 1), "row")


class _Replay:
    """Runs the nodes of a block of scalars on whole tensors; `known` maps its values to them."""

    def __init__(self, known: dict[Value, Tensor]):
        self.known = known

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._node(node)

    def _tensor(self, value: Value) -> Tensor:
        found = self.known.get(value)
        return Tensor(value) if found is None else found

    def _node(self, node: Node) -> None:
        assert node.op is not None
        operands = [self._tensor(v) for v in node.operands]
        if node.op.name == "if":
            self._branch(node, operands[0])
        elif node.op.name == "cast":
            self.known[node.results[0]] = cast(operands[0], node.attrs["dtype"])
        elif issubclass(node.op, Map) or node.op.name == "take":
            self.known[node.results[0]] = apply(node.op, *operands, **node.attrs)
        elif not node.operands and not node.regions:
            self.known[node.results[0]] = Tensor(emit(node.op, (), node.attrs)[0])
        else:
            raise OpError(
                f"the function of an expression cannot use {node.op.name}", "use operations on scalars", "TX0732"
            )

    def _branch(self, node: Node, condition: Tensor) -> None:
        """Both branches, and for each element the result of its own."""
        made = []
        for region in node.regions:
            self.run(region.nodes())
            made.append([self._tensor(v) for v in region.outputs])
        for result, one, other in zip(node.results, *made, strict=True):
            self.known[result] = apply("select", condition, one, other)


def unary_expr(x: Tensor, f: Callable[..., Any]) -> Tensor:
    """``f(element)`` for each element."""
    return elementwise(f, x)


def binary_expr(x: Tensor, other: Any, f: Callable[..., Any]) -> Tensor:
    """``f(element, element of the other)`` for each element."""
    return elementwise(f, x, other)


def nullary_expr(x: Tensor, f: Callable[..., Any]) -> Tensor:
    """A tensor like `x` of ``f(number)``, where elements are numbered as they lie in memory."""
    from .random import numbers

    return cast(elementwise(f, cast(numbers(x.dims, x.layout), DTYPES["i64"])), x.element)


def generate(x: Tensor, f: Callable[..., Any]) -> Tensor:
    """A tensor like `x` of ``f(coordinates)``, a tuple with one index a dim."""
    indices = []
    for i, d in enumerate(x.dims):
        line = Tensor(emit(OPS["iota"], (), {"extent": d, "dtype": DTYPES["i64"]})[0], layout=x.layout)
        indices.append(apply("reshape", line, dims=tuple(d if j == i else dim(1) for j in range(x.ndim))))
    if not indices:
        return cast(as_tensor(f(())), x.element)
    return cast(elementwise(f, *indices, together=True), x.element)


def custom_op(x: Tensor, *arguments: Any) -> Tensor:
    """``x.custom_op(op)`` or ``x.custom_op(y, op)``: a tensor of ``op.dimensions(x…)`` that ``op.eval(x…, out)`` fills.

    Its dtype is that of `x`; both methods are called once, on tensors.
    """
    *others, op = arguments
    operands = [x, *map(as_tensor, others)]
    for name in ("dimensions", "eval"):
        if not callable(getattr(op, name, None)):
            raise OpError(f"a custom op has the methods dimensions and eval; {op!r} has no {name}", code="TX0733")
    sizes = op.dimensions(*operands)
    out = zeros(sizes if isinstance(sizes, (tuple, list)) else (sizes,), np.dtype(x.dtype))
    op.eval(*operands, out)
    return out


EXPRESSIONS = {
    "unary_expr": unary_expr, "binary_expr": binary_expr, "nullary_expr": nullary_expr, "generate": generate,
    "custom_op": custom_op,
}  # fmt: skip
