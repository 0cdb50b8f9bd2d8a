"""numexpr: texts of the elementwise programs and of the maps between reductions, into buffers made before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numexpr  # pyright: ignore[reportMissingImports]
import numpy as np

from ..workloads import Workload
from .absent import Absent

__all__ = ["implementation"]

#: Constants are given by name, because numexpr computes with literals in double precision.
TEXTS = {
    "add": "a + b",
    "add_three": "a + b + c",
    "chain": "sqrt(abs(((a * b + c1_5) * a - b) * c0_5 + a)) / (b + c2)",
    "exp_chain": "exp(-exp(-exp(-a)))",
    "gelu": "c0_5 * a * (c1 + tanh(root * (a + cube * a * a * a)))",
    "broadcast_add": "a + b + c",
    "stencil": "c0_25 * (w + e + n + s) - m",
}
CONSTANTS = {
    "c1": 1.0, "c1_5": 1.5, "c0_5": 0.5, "c0_25": 0.25, "c2": 2.0, "root": 0.7978845608028654, "cube": 0.044715,
}  # fmt: skip


def implementation(workload: Workload) -> Callable[[], Any]:
    name, arguments = workload.family.program.__name__, workload.arguments
    if name == "softmax_rows" or name == "softmax_columns":
        return _softmax(arguments[0], 1 if name == "softmax_rows" else 0)
    if name not in TEXTS:
        raise Absent("numexpr has no reductions along rows, no movement and no erf")
    given = {k: np.array(v, workload.dtype) for k, v in CONSTANTS.items()} | dict(zip("abc", arguments))
    if name == "stencil":
        x = arguments[0]
        given |= {"w": x[1:-1, :-2], "e": x[1:-1, 2:], "n": x[:-2, 1:-1], "s": x[2:, 1:-1], "m": x[1:-1, 1:-1]}
    text = TEXTS[name]
    used = {k: v for k, v in given.items() if k in numexpr.NumExpr(text).input_names}
    out = numexpr.evaluate(text, used)
    return lambda: numexpr.evaluate(text, used, out=out)


def _softmax(x: np.ndarray[Any, Any], axis: int) -> Callable[[], Any]:
    out = np.empty_like(x)

    def call() -> Any:
        top = x.max(axis=axis, keepdims=True)
        numexpr.evaluate("exp(x - top)", {"x": x, "top": top}, out=out)
        return numexpr.evaluate("e / s", {"e": out, "s": out.sum(axis=axis, keepdims=True)}, out=out)

    return call
