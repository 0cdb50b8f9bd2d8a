"""The methods of tensors that are functions here, by name, with those of evaluation."""

from __future__ import annotations

from typing import Any

from ...lazy import evaluate
from ..apply import apply
from ..memory import assignment
from ..printing import tensor_format
from ..tensor import Tensor
from ..views.composite_views import concatenate
from .elements import astype, clip, conjugate, copy, fill, item, view
from .filling import FILLING
from .reducing import count, deviation, reduce, trace, variance
from .reshaping import diagonal, flatten, ravel, reshape, roll, squeeze, swapaxes, transpose, window_sizes

__all__ = ["METHODS"]


def _reduction(name: str) -> Any:
    def method(self: Tensor, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return reduce(name, self, axis, *args, **kwargs)

    return method


def evaluated(x: Tensor, device: Any = None) -> Tensor:
    """Eigen's eval: an operation that materialises a temporary; with a device, a tensor computed there, now."""
    return apply("eval", x) if device is None else evaluate.evaluated(x, device)


def evaluated_in_background(x: Tensor, device: Any = None, done: Any = None) -> Any:
    """A future of the tensor that `eval` with that device gives; `done` is called with it first."""
    value = x.snapshot()
    return evaluate.evaluate_async(lambda: evaluate.evaluated(value, device or "cpu"), device, done)


def on(x: Tensor, device: Any = None, done: Any = None) -> Any:
    """``x.on(device)[...] = expression``: see `assignment.Target`."""
    return assignment.Target(x, device, done)


METHODS: dict[str, Any] = {
    name: _reduction(name)
    for name in ("sum", "prod", "mean", "all", "any", "argmax", "argmin", "maximum", "minimum")
} | {
    "max": _reduction("maximum"), "min": _reduction("minimum"), "reshape": reshape, "transpose": transpose,
    "swapaxes": swapaxes, "squeeze": squeeze, "ravel": ravel, "flatten": flatten, "copy": copy, "astype": astype,
    "count": count, "var": variance, "std": deviation, "clip": clip, "roll": roll, "fill": fill,
    "trace": trace, "window_sizes": window_sizes, "item": item, "eval": evaluated, "cast": astype,
    "concatenate": concatenate,
    "eval_async": evaluated_in_background, "on": on, "format": tensor_format.text, "view": view,
    "diagonal": diagonal, "conjugate": conjugate, "conj": conjugate,
} | FILLING  # fmt: skip
