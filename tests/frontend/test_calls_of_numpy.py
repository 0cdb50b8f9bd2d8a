"""What random calls of NumPy's functions found: shapes that do not fit, numbers beside arrays, and what is left of few.

Each is evaluated by Python first: the same value, dtype and kind of object, or an error of the same type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .programs.interpreted import interpreted

V = np.array([3, 0, 250, 1, 4], "u1")
M = np.arange(12.0).reshape(3, 4) - 5
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.7], "f4")
#: Without NumPy's own types, which know less of it than it takes.
untyped: Any = np
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "stack of ranks": (lambda x, y: np.stack([x, y]), (M, M[0])),
    "stack of sizes": (lambda x, y: np.stack([x, y], axis=1), (M[:1], M)),
    "an array of such": (lambda x, y: np.array([x, y]), (M[:1], M)),
    "stack with numbers": (lambda x, y: np.stack([x, y]), (V[0], V)),
    "stack": (lambda x, y: np.stack([x, y], axis=-1), (M, M.astype("f4"))),
    "compress of too few": (lambda x, y: np.compress(x, y), (np.array([True, False, True]), M[0, :2])),
    "compress of enough": (lambda x, y: np.compress(x, y), (np.array([True, True, False, False]), M[0, :2])),
    "compress of fewer conditions": (lambda x, y: np.compress(x, y, axis=1), (np.array([False, True]), M)),
    "extract of too few": (lambda x, y: np.extract(x, y), (M, M[0])),
    "repeat by too many counts": (lambda x: np.repeat(x, [1, 0, 2, 1, 1], axis=1), (M,)),
    "repeat by too few counts": (lambda x: np.repeat(x, [1, 2]), (V,)),
    "repeat by a bool": (lambda x: np.repeat(x, np.True_), (V,)),
    "repeat by a float": (lambda x: untyped.repeat(x, np.float64(2)), (V,)),
    "repeat": (lambda x: np.repeat(x, [1, 0, 2, 1], axis=1), (M,)),
    "lexsort of shapes": (lambda x, y: np.lexsort((x, y)), (M, M[:, :3])),
    "lexsort of ranks": (lambda x, y: np.lexsort((x, y)), (M, M[0])),
    "lexsort": (lambda x, y: np.lexsort((x, y)), (M, np.abs(M) // 3)),
    "flip of one axis twice": (lambda x: np.flip(x, (0, -2)), (M,)),
    "flip": (lambda x: np.flip(x, (0, -1)), (M,)),
    "initial of a reduction's dtype": (lambda x: (x.max(initial=300.5), np.min(x, initial=2.5), x.min()), (V * 1.0,)),
    "a float as initial of integers": (lambda x: (np.min(x, initial=2.5), np.sum(x, initial=2.5)), (V,)),
    "an integer as initial of bools": (lambda x: np.max(x, axis=0, initial=5), (M > 0,)),
    "initial of a dtype": (lambda x: np.prod(x, dtype="f4", initial=2), (V,)),
    "initial where": (lambda x: np.max(x, axis=1, initial=2.5, where=x < 4), (V.reshape(1, 5),)),
    "sum of bools where": (lambda x: np.sum(x, axis=1, dtype=bool, where=x > 0), (M,)),
    "none left to divide by": (lambda x: (x.var(ddof=1), np.std(x, ddof=2), np.nanstd(x, ddof=3)), (M[0, :1],)),
    "as many as are left out": (lambda x: (np.var(x, axis=0, ddof=3), np.std(x, 0, ddof=4)), (M,)),
    "ddof": (lambda x: (np.var(x, axis=0, ddof=1), np.std(x, ddof=2), np.std(x, 1, ddof=1.5)), (M.astype("f4"),)),
    "integers without any left": (lambda x: (np.std(x, ddof=1), np.nanvar(x, ddof=6)), (V,)),
    "weights of fewer bits": (lambda x, y: np.average(x, weights=y), (M[0], WEIGHTS)),
    "weights of integers": (lambda x, y: np.average(x, weights=y), (np.arange(4), WEIGHTS)),
    "signs of one width": (lambda x, y: (np.arctan2(x, y), np.logaddexp(x, y), np.hypot(x, y)), (V, V.astype("i1"))),
    "signs of two widths": (lambda x, y: (np.arctan2(x, y), np.hypot(y, x)), (V.astype("u2"), V.astype("i1"))),
    "Python's number beside": (lambda x: (np.arctan2(x, 3), np.hypot(2, x), np.arctan2(x, 2.5)), (V,)),
    "sort_complex of few bits": (lambda x: np.sort_complex(x), (V,)),
    "sort_complex of floats": (lambda x: np.sort_complex(x), (M[0].astype("f4"),)),
    "sets with a number": (lambda x: (np.intersect1d(x, 3), np.setxor1d(0, x), np.union1d(x, 3)), (V,)),
    "sets with a float": (lambda x: (np.intersect1d(x, 2.5), np.setxor1d(x, 2.5)), (M[0].astype("f4"),)),
    "trapezoid of rows of x": (lambda x: np.trapezoid([1, 2], x), (M[:, :2],)),
    "trapezoid of a column": (lambda x, y: np.trapezoid(x, y, axis=0), (M, np.array([0.0, 2, 3]))),
    "gradient of bools": (lambda x: np.gradient(x, axis=1), (M > 0,)),
    "no differences": (lambda x: untyped.diff(x, 0, axis=None), (M,)),
    "quantiles of floats": (lambda x: np.quantile(x, [0.1, 0.9], axis=1), (M.astype("f4") / 3,)),
    "percentiles of halves": (lambda x: np.percentile(x, [25, 40], axis=0), (M.astype("f2") / 7,)),
    "a quantile of floats": (lambda x: np.quantile(x, 0.3), (M.astype("f4") / 3,)),
    "a vector along an axis": (lambda x: untyped.apply_along_axis(np.sum, 0, x), (M[0],)),
    "no points to transform": (lambda x: np.fft.irfft(x), (M[:, :1],)),
    "select of dtypes": (lambda x, y: np.select([x > 2, x > 0], [x, y], 7), (M.astype("f4"), M > 1)),
    "select by numbers": (lambda x, y: np.select([x, y], [x, y]), (M, M)),
    "choose of dtypes": (lambda x, y: np.choose(x % 2, [x, y, 1.5]), (V.astype("i2"), M[0, 0] > 1)),
    "weights along axes": (lambda x, y: np.average(x, axis=(1, 0), weights=y), (M, M.T + 9)),
    "weights along an axis": (lambda x, y: np.average(x, axis=(1,), weights=y), (M, M[0] + 9)),
    "weights of another shape": (lambda x, y: np.average(x, axis=0, weights=y), (M[0], M[0, :1])),
    "weights and no axis": (lambda x, y: np.average(x, weights=y), (M, M[0])),
    "pad of rank 0": (lambda x: np.pad(x, 1), (np.array(2.5),)),
    "chosen of rank 0": (lambda x: x[x > 3], (np.array(2.5),)),
    "coefficients of rank 0": (lambda x: np.polyval(np.float64(2), x), (M,)),
}


def equal(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(got, expected, strict=True):
            equal(a, b)
        return
    assert got.dtype == expected.dtype and got.shape == expected.shape
    precise = {2: 2e-3, 4: 1e-6}.get(expected.dtype.itemsize, 1e-12)
    np.testing.assert_allclose(got, expected, rtol=precise, atol=precise)


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:invalid value", "ignore:divide by zero")
@pytest.mark.parametrize("name", CALLS)
def test_it_is_numpys(name: str) -> None:
    function, arguments = CALLS[name]
    with interpreted():
        try:
            expected = function(*arguments)
        except Exception as error:
            with pytest.raises(type(error)):
                txc.jit(function)(*arguments)
        else:
            equal(txc.jit(function)(*arguments), expected)
