"""Windows of a length that may be known only at run time: NumPy's formulas.

|error| <= 4 units in the last place of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....indexing.data_dependent_sizes import size_of
from ....tensor.apply import apply, as_tensor
from ....tensor.promotion import cast
from ....tensor.tensor import Tensor
from ....trace.symint import SymInt, is_integer, sym_max
from ... import creation

__all__ = ["WINDOWS"]


def _places(length: Any, name: str) -> Tensor:
    """The places of a window's elements, from -1 to 1; 0 is that of a single one.  OpError for what is no length."""
    length = size_of(length)
    if not is_integer(length):
        raise OpError(f"np.{name} takes an int, not {length!r}", code="TX0240")
    numerator = creation.arange(length) * 2 - (length - 1)
    return cast(numerator, as_tensor(np.float64(0)).element) / sym_max(length - 1, 1)


def _cosines(*weights: float) -> Callable[[Tensor], Tensor]:
    """A sum of cosines of whole multiples of the place."""

    def window(place: Tensor) -> Tensor:
        total = apply("mul", apply("cos", place * np.pi), weights[1]) + weights[0]
        for multiple, weight in enumerate(weights[2:], 2):
            total = total + apply("cos", place * (multiple * np.pi)) * weight
        return total

    return window


def _window(function: Any, of_places: Callable[[Tensor], Tensor]) -> Any:
    def window(M: Any) -> Tensor:
        if not isinstance(M, (SymInt, Tensor)):
            return as_tensor(function(M))
        return of_places(_places(M, function.__name__))

    return window


def kaiser(M: Any, beta: Any) -> Tensor:
    """A ratio of Bessel functions; `beta` may be an element of an array."""
    if not isinstance(M, (SymInt, Tensor)) and not isinstance(beta, (SymInt, Tensor)):
        return as_tensor(np.kaiser(M, beta))
    if not isinstance(M, (SymInt, Tensor)):
        M = max(0, int(np.ceil(M)))
    place = _places(M, "kaiser")
    beta = cast(as_tensor(beta), place.element)
    if beta.ndim:
        raise OpError(f"np.kaiser takes one number for beta, not {beta.user_type}", "index it", "TX0103")
    return apply("bessel_i0", beta * apply("sqrt", 1 - apply("square", place))) / apply("bessel_i0", beta)


#: By NumPy's functions, which take numbers alone, so that its protocols do not hand them over.
WINDOWS: dict[Any, Any] = {
    np.hanning: _window(np.hanning, _cosines(0.5, 0.5)),
    np.hamming: _window(np.hamming, _cosines(0.54, 0.46)),
    np.blackman: _window(np.blackman, _cosines(0.42, 0.5, 0.08)),
    np.bartlett: _window(np.bartlett, lambda place: 1 - apply("abs", place)),
    np.kaiser: kaiser,
}
