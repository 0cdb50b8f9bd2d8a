"""Reductions with all of NumPy's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reducing
from ....tensor.promotion import cast
from ...out_arrays import check_fits, into, reduced_as
from ..registry import FUNCTIONS, handles

__all__ = ["count_nonzero", "ptp"]


def _reduced(name: str) -> Any:
    def reduction(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        return reducing.reduce(name, a, axis, dtype, out, keepdims, initial=initial, where=where)

    return reduction


def _averaged(name: str) -> Any:
    def average(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        return reducing.reduce(name, a, axis, dtype, out, keepdims, where=where)

    return average


def _extreme(name: str) -> Any:
    def extreme(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        return reducing.reduce(name, a, axis, None, out, keepdims, initial=initial, where=where)

    return extreme


def _judged(name: str) -> Any:
    def judge(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        return reducing.reduce(name, a, axis, None, out, keepdims, where=where)

    return judge


def _placed(name: str) -> Any:
    def place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        return reducing.reduce(name, a, axis, None, out, keepdims)

    return place


FUNCTIONS |= {
    np.sum: _reduced("sum"), np.prod: _reduced("prod"), np.mean: _averaged("mean"),
    np.max: _extreme("maximum"), np.amax: _extreme("maximum"), np.nanmax: _extreme("nanmax"),
    np.min: _extreme("minimum"), np.amin: _extreme("minimum"), np.nanmin: _extreme("nanmin"),
    np.all: _judged("all"), np.any: _judged("any"), np.argmax: _placed("argmax"), np.argmin: _placed("argmin"),
}  # fmt: skip


@handles(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """The number of elements that are not zero, NaN included, in 64 bits."""
    return reducing.reduce("sum", apply("not_equal", as_tensor(a), 0), axis, keepdims=keepdims)


@handles(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Peak to peak: the largest less the smallest."""
    a = as_tensor(a)
    if out is None and a.element.kind != "bool":
        return apply("ptp", a, axis=axis, keepdims=bool(keepdims))
    high = cast(reducing.reduce("maximum", reduced_as(a, out), axis, keepdims=keepdims), reduced_as(a, out).element)
    check_fits(high, out)
    result = apply("sub", high, reducing.reduce("minimum", a, axis, keepdims=keepdims))
    return into(out, result, np.subtract)
