"""Eigen's custom expressions: a Python function of scalars, traced once and then applied to whole tensors.

The function sees tensors of rank 0, so its conditions may depend on them: a branch becomes a selection.  What it takes
from outside may be numbers and tensors of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....dialects.dims.dims import dim
from ....dialects.registry import OPS, Map, OpError
from ....dialects.scalar.program import ScalarProgram
from ....dialects.types import DTYPES, as_literal
from ...diagnostics import located
from ..numpy.creation import numbers, zeros
from ..tensor.apply import apply, as_tensor
from ..tensor.broadcasting import broadcast_to, broadcast_together
from ..tensor.methods import elements
from ..tensor.promotion import cast, common_dtype
from ..tensor.tensor import Tensor
from ..trace.emit import emit
from ..trace.graph import Node, Value
from .scalar_trace import cannot_use, traced

__all__ = ["EXPRESSIONS", "elementwise"]


def elementwise(f: Callable[..., Any], *operands: Any, together: bool = False) -> Tensor:
    """``f(x, y, …)`` for each element of the operands, which are broadcast; of the dtype that `f` gives.

    With `together` the function takes one tuple: ``f((x, y, …))``.  Without loops it becomes the operations it is made
    of; with loops one op, so that each element goes round as often as it needs.
    """
    layout = _layout(operands)
    tensors = broadcast_together([as_tensor(x) for x in operands], "an expression", layout)
    with traced(f, [t.element for t in tensors], together) as function:
        if function.has_loops:
            program, captured = function.program()
            every = broadcast_together([*tensors, *captured], "an expression", layout)
            (value,) = emit(OPS["scalar_map"], [t.value for t in every], {"program": program})
            return Tensor(value, layout=layout)
        known = dict(zip(function.block.args, tensors)) | function.outside
        _Replay(known).run(function.nodes())
        last = function.result
    wide = known[last] if last in known else Tensor(last)
    return broadcast_to(wide, tensors[0].dims, tensors[0].layout) if not wide.ndim else wide


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
            raise cannot_use(node)

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


def vectorized(f: np.vectorize) -> Callable[..., Tensor]:
    """What a call of NumPy's ``np.vectorize(f)`` is in a compiled function: `elementwise`, in its `otypes`."""

    def call(*arrays: Any) -> Tensor:
        with located():
            _refuse_options(f)
            result = elementwise(f.pyfunc, *arrays)
            return result if f.otypes is None else cast(result, elements.element_named(np.dtype(f.otypes[0])))

    return call


def _refuse_options(f: np.vectorize) -> None:
    for name, given in {"excluded": f.excluded, "signature": f.signature}.items():
        if given:
            text = f"np.vectorize with {name}={given!r} is not compiled"
            raise OpError(text, "write the function for arrays", "TX0735")
    if f.otypes is not None and len(f.otypes) != 1:
        raise OpError(f"np.vectorize with {len(f.otypes)} results is not compiled", "make one for each", "TX0735")


def reduce(
    x: Tensor, dims: Any, f: Callable[..., Any], init: Any, *, order: str = "serial", dtype: Any = None
) -> Tensor:
    """``f(… f(f(init, x0), x1) …)`` along `dims` (None: all), one element after another as they lie in memory.

    `f` takes what is accumulated and an element, both of the dtype that `x` and `init` have in common, or of `dtype`.
    With ``order="tree"`` the function is associative and `init` its neutral element; the order is that of `sum`.
    """
    x, init, program = _reduction_operands("reduce", x, f, init, dtype)
    return apply("fold", x, dims=dims, program=program, init=init, order=order)


def scan(
    x: Tensor, axis: int, f: Callable[..., Any], init: Any, exclusive: bool = False, *, dtype: Any = None
) -> Tensor:
    """``f(… f(init, x0) …, xi)`` for each element along `axis`; with `exclusive` without ``xi``, `init` first.

    `f` and `dtype` are those of `reduce`.
    """
    x, init, program = _reduction_operands("scan", x, f, init, dtype)
    return apply("running", x, axis=axis, program=program, init=init, exclusive=exclusive)


def _reduction_operands(
    what: str, x: Tensor, f: Callable[..., Any], init: Any, dtype: Any
) -> tuple[Tensor, Any, ScalarProgram]:
    """The operand and `init` in the type that is accumulated, and `f` for two scalars of it."""
    if not isinstance(init, (bool, int, float, complex, np.generic)):
        raise OpError(f"{what} starts from a number, not from {init!r}", "combine with a tensor afterwards", "TX0734")
    x = cast(x, common_dtype([x, as_tensor(init)]) if dtype is None else elements.element_named(dtype))
    kind = x.element.computes_in
    with traced(f, [kind, kind]) as function:
        if function.result.type.dtype is not kind:
            raise OpError(
                f"the function of {what} gives {function.result.type.dtype} for two scalars of {kind}",
                f"{what}(…, dtype=) names the type that is accumulated",
                "TX0734",
            )
        program, captured = function.program()
    if captured:
        raise OpError(
            f"the function of {what} uses {len(captured)} value(s) that are known only when the compiled function runs",
            "use its two arguments and Python numbers",
            "TX0734",
        )
    return x, as_literal(init, kind), program


EXPRESSIONS = {
    "unary_expr": unary_expr, "binary_expr": binary_expr, "nullary_expr": nullary_expr, "generate": generate,
    "custom_op": custom_op, "reduce": reduce, "scan": scan,
}  # fmt: skip
