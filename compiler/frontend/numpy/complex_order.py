"""Extremes of complex numbers, in NumPy's order: by the real part, of equals by the imaginary one, NaN before all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..tensor.apply import apply, as_tensor
from ..tensor.promotion import cast, common_dtype
from ..tensor.tensor import Tensor

__all__ = ["EXTREMES", "PAIRS", "extreme_of"]

#: Reductions that ask for the largest, or not.
EXTREMES = {"argmax": True, "maximum": True, "argmin": False, "minimum": False}


def extreme_of(name: str, x: Tensor, dims: Sequence[int], flattened: bool) -> Tensor:
    """A reduction over `dims`; with `flattened` the number of an element counts all of them."""
    kept = [i for i in range(x.ndim) if i not in dims]
    if len(dims) != 1 or dims[0] != x.ndim - 1 or flattened:
        moved = x.transpose((*kept, *dims)) if x.ndim > 1 else x
        x = moved.reshape((*moved.shape[: len(kept)], -1))
    place = _place(x, EXTREMES[name])
    if name.startswith("arg"):
        return place
    found = np.take_along_axis(x, place.reshape((*place.shape, 1)), -1)  # pyright: ignore[reportArgumentType]
    made: Any = found[..., 0]
    return Tensor(made.value, layout=made.layout)


def _place(x: Tensor, largest: bool) -> Tensor:
    """Where the extreme along the last axis is: the first of equals."""
    name, beyond = ("maximum", -np.inf) if largest else ("minimum", np.inf)
    last = (x.ndim - 1,)
    parts = [apply(part, x) for part in ("real", "imag")]
    no_number = apply("logical_or", *(apply("not_equal", part, part) for part in parts))
    chosen = apply("equal", parts[0], _along(apply(name, parts[0], dims=last)))
    second = apply("select", chosen, parts[1], beyond)
    chosen = apply("logical_and", chosen, apply("equal", second, _along(apply(name, second, dims=last))))
    there, first = (apply("argmax", mask, dims=last) for mask in (chosen, no_number))
    return apply("select", apply("any", no_number, dims=last), first, there)


def _along(reduced: Tensor) -> Tensor:
    """What was reduced, beside the elements that it is of."""
    return reduced.reshape((*reduced.shape, 1))


def _either(stays: str, a: Any, b: Any) -> Tensor:
    """The first of two, where it `stays` beside the second one, or is NaN."""
    a, b = as_tensor(a), as_tensor(b)
    element = common_dtype([a, b])
    first, second = cast(a, element), cast(b, element)
    keeps = apply("logical_or", apply("not_equal", first, first), apply(stays, first, second))
    return apply("select", keeps, first, second)


#: What NumPy's functions of two numbers do with complex ones.
PAIRS: dict[Any, Any] = {np.maximum: partial(_either, "greater_equal"), np.minimum: partial(_either, "less_equal")}
