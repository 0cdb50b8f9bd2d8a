"""Random calls of NumPy's functions, as text: arguments that fit and such that do not, of all dtypes and layouts.

``python -m tests.frontend.programs.numpy_calls FIRST COUNT`` compares any number of others than the tests do.

Left out is what NumPy leaves open or documentation says is otherwise here: content of `empty_like`, the order of
`unique_values`, floats beyond the integers that they become, and what the last digits decide.
"""

from __future__ import annotations

import linecache
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import txc

__all__ = ["Call", "compared", "generate"]

SHAPES = ((0,), (1,), (5,), (6,), (3, 4), (4, 3), (3, 3), (2, 3, 4), (1, 4), (3, 1), (3, 0), (), (4, 4), (2, 2, 2))
DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4", "u1", "?", "c16", "i2", "u4", "f2")
#: What a hole of a template may be.
HOLES: dict[str, str] = {
    "axis": "0|-1|1|0|-1|1|2|None",
    "axes": "None|0|-1|1|(0,)|(0, 1)|(0, -1)|()|2",
    "at": "0|1|-1",
    "flag": "True|False",
    "keep": "|, keepdims=True",
    "other": "y|y|y|2|-1|0|2.5|True|np.float32(2)|np.int8(3)|1j|[1, 2]",
    "number": "2|0|3|-1|1.5",
    "map": "negative|absolute|rint|sign|conj|exp|log1p|sqrt|square|cbrt|sin|arctan|tanh|degrees|invert|logical_not"
    "|isfinite|signbit|floor|trunc|fix|real|imag|angle|nan_to_num|isneginf|iscomplex|ones_like|zeros_like|sinc",
    "pair": "add|subtract|multiply|divide|floor_divide|remainder|fmod|power|maximum|fmin|arctan2|hypot|logaddexp"
    "|copysign|gcd|bitwise_and|left_shift|logical_xor|greater|equal|not_equal|less_equal|isclose|array_equal",
    "reduction": "sum|prod|mean|min|max|any|all|nansum|nanmax|ptp|count_nonzero|average",
    "middle": "median|nanmedian",
    "place": "argmin|argmax|nanargmax",
    "spread": "std|var|nanstd|nanvar",
    "scan": "cumsum|cumprod|nancumsum|maximum.accumulate|add.accumulate",
    "shaped": "ravel|squeeze|transpose|fliplr|flipud|rot90|tril|triu|atleast_2d|atleast_3d|diagonal|trace|nonzero"
    "|argwhere|flatnonzero|sort_complex|ediff1d|diag|copy|matrix_transpose",
    "set": "union1d|intersect1d|setdiff1d|setxor1d|append|outer|inner|dot|vdot|matmul|kron|vecdot|compress|extract",
    "dtype": "'f4'|'f8'|int|complex|bool",
    "sizes": "-1|(2, -1)|(-1, 2)|(3, 4)|(1, -1, 1)|()|(4, 3)",
    "order": "|, order='F'|, order='A'",
    "key": "0|-1|1:|::-1|...|None|[0, 0]|x > 1|..., 0|:, 0|1:3, ::2|[True, False, True]|[[0, 1], [1, 0]]|5|-7",
    "counts": "2|0|[1, 2, 0]|[1, 0, 2, 1, 1]|[1, 0, 2, 1]",
    "mode": "'constant'|'edge'|'reflect'|'wrap'|'symmetric'",
    "operator": "+|-|*|/|//|%|&|^|<|==|!=|>=",
    "method": "tolist|item|flatten|copy|nonzero|trace|round|conj|cumsum|squeeze|any|mean|std",
    "equation": "'ij->ji', x|'ii', x|'ij,jk->ik', x, y|'i,i', x, y|'...i->...', x|'ij->', x",
    "matrix": "det|inv|matrix_rank|pinv|trace|diagonal",
    "transform": "fft|ifft|rfft|irfft|fft2|hfft",
    "side": "'left'|'right'",
    "within": "'full'|'same'|'valid'",
}
TEMPLATES = (
    *["np.{map}(x)"] * 4, *["np.{pair}(x, {other})", "np.{pair}({other}, x)"] * 3,
    *["np.{reduction}(x, axis={axes}{keep})"] * 4, "np.{spread}(x, axis={axes}, ddof={number}{keep})",
    "np.sum(x, axis={axes}, dtype={dtype}, where=x > 0)", "np.max(x, axis={axes}, initial={number}, where=x > 1)",
    "x.prod(axis={axes}, initial={number})", "np.average(x, axis={axes}, weights=y)", "np.{scan}(x, axis={at})",
    "np.{shaped}(x)", "np.{shaped}(x)", "np.{set}(x, {other})", "np.{set}({other}, x)", "np.sort(x, axis={axis})",
    "np.argsort(x, axis={axis}, kind='stable')", "np.{place}(x, axis={axis}{keep})", "np.lexsort((x, y))",
    "np.flip(x, {axes})", "np.roll(x, {number}, {axis})", "np.diff(x, 1, axis={axis})", "np.gradient(x, axis={at})",
    "np.unique(x, return_counts={flag})", "np.percentile(x, [25, 60], axis={axis})",
    "np.{middle}(x, axis={axis}{keep})",
    "np.quantile(x, 0.3, axis={axis}{keep})", "np.reshape(x, {sizes}{order})", "np.moveaxis(x, {at}, {at})",
    "np.swapaxes(x, {at}, {at})", "np.expand_dims(x, {at})", "np.broadcast_to(x, {sizes})",
    "np.concatenate([x, y], axis={axis})", "np.stack([x, y], axis={at})", "np.array([x, y])",
    "np.split(x, 2, axis={at})", "np.array_split(x, 3)", "np.repeat(x, {counts}, axis={axis})",
    "np.tile(x, {counts})", "np.pad(x, 1, mode={mode})", "np.insert(x, {at}, {other}, axis={axis})",
    "np.delete(x, {at}, axis={axis})", "np.clip(x, {number}, {other})", "np.where(x > 1, x, {other})",
    "np.select([x > 2, x > 0], [x, y], 7)", "np.take(x, {counts}, axis={axis})",
    "np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 1.0])", "np.searchsorted(np.sort(x), {other}, side={side})",
    "np.convolve(x, {other}, {within})", "np.correlate(x, {other}, {within})", "np.trapezoid(x, axis={at})",
    "np.linalg.norm(x, axis={axis})", "np.einsum({equation})", "np.tensordot(x, y, {number})",
    "np.linalg.{matrix}(x)", "np.cov(x)", "np.isin(x, y)", "np.meshgrid(x, y, sparse={flag})",
    "np.take_along_axis(x, np.argsort(x, axis=-1, kind='stable'), -1)", "np.apply_along_axis(np.sum, {at}, x)",
    "np.add.reduce(x, axis={axes})", "np.multiply.outer(x, y)", "np.fft.{transform}(x + np.float32(0))",
    "x[{key}]", "x[{key}]",
    *["x {operator} {other}", "{other} {operator} x"] * 2, "x.{method}()", "x.astype(complex)", "len(x)", "sum(x)",
    "float(x.sum())", "abs(x)", "divmod(x, 3)", "x.T", "np.trapezoid(y, x)", "np.polyval(x, y)",
)  # fmt: skip


@dataclass
class Call:
    """An expression of x and y, and what these are."""

    text: str
    arguments: tuple[np.ndarray, np.ndarray]

    def __str__(self) -> str:
        x, y = self.arguments
        return f"{self.text}  with x {x.dtype}{x.shape}, y {y.dtype}{y.shape}"

    def function(self) -> Callable[..., Any]:
        """One with a source, which is staged."""
        source, name = f"def f(x, y):\n    return {self.text}\n", f"<{self}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        made: dict[str, Any] = {"np": np}
        exec(compile(source, name, "exec"), made)
        return made["f"]


def generate(seed: int) -> Call:
    """The call of a seed."""
    rng = random.Random(seed)
    text = re.sub(r"{(\w+)}", lambda hole: rng.choice(HOLES[hole[1]].split("|")), rng.choice(TEMPLATES))
    shape, element = rng.choice(SHAPES), rng.choice(DTYPES)
    x = _array(rng, shape, element)
    y_shape = shape if rng.random() < 0.6 else rng.choice(SHAPES)
    return Call(text, (x, _array(rng, y_shape, element if rng.random() < 0.5 else rng.choice(DTYPES))))


def _array(rng: random.Random, shape: tuple[int, ...], element: str) -> np.ndarray:
    """Small numbers; some not finite, some in another order in memory."""
    drawn = np.array([rng.randint(0 if element.startswith("u") else -4, 8) for _ in range(int(np.prod(shape)))])
    made = (drawn.reshape(shape) / (4 if rng.random() < 0.4 else 1)).astype(element)
    if element == "c16":
        made = made + 1j * made[..., ::-1] if shape else made + 2j
    if made.dtype.kind == "f" and made.size and rng.random() < 0.15:
        made.flat[rng.randrange(made.size)] = rng.choice((np.nan, np.inf, -np.inf, -0.0))
    layout = rng.randrange(5)
    if layout == 1 and made.ndim:
        return made[::-1]
    if layout == 2:
        return np.asfortranarray(made)
    return np.repeat(made, 2, axis=-1)[..., ::2] if layout == 3 and made.ndim else made


def compared(call: Call) -> str:
    """``same``, ``refused``, or what is wrong: Python evaluates the call first."""
    function = call.function()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected, error = function(*(a.copy(order="K") for a in call.arguments)), None
        except Exception as raised:
            expected, error = None, raised
        try:
            got = txc.jit(function)(*call.arguments)
        except txc.TxcError:
            return "same" if error is not None else "refused"
        except Exception as raised:
            if error is None:
                return f"raises {raised!r} where NumPy gives {expected!r}"
            return "same" if isinstance(raised, type(error)) else f"raises {raised!r} where NumPy raises {error!r}"
    if error is not None:
        return f"gives {got!r} where NumPy raises {error!r}"
    return "same" if _same(got, expected) else f"gives {got!r} where NumPy gives {expected!r}"


def _same(got: Any, expected: Any) -> bool:
    if isinstance(expected, (tuple, list)):
        alike = isinstance(got, tuple if isinstance(expected, tuple) else list) and len(got) == len(expected)
        return alike and all(map(_same, got, expected))
    if not isinstance(expected, (np.ndarray, np.generic)):
        return type(got) is type(expected) and (got == expected or _near(np.asarray(got), np.asarray(expected)))
    if isinstance(got, np.ndarray) is not isinstance(expected, np.ndarray):
        return False
    return got.dtype == expected.dtype and got.shape == expected.shape and _near(np.asarray(got), np.asarray(expected))


def _near(got: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, or as near as orders of arithmetic explain."""
    if expected.dtype.kind not in "fc":
        return np.array_equal(got, expected)
    bits = np.finfo(expected.dtype).bits
    allowed = {16: 2e-2, 32: 1e-4}.get(bits, 1e-9)
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=1))
    return np.allclose(got, expected, rtol=allowed, atol=allowed * largest, equal_nan=True)


if __name__ == "__main__":
    import sys

    from .interpreted import interpreted

    first, count = map(int, sys.argv[1:])
    with interpreted():
        for number in range(first, first + count):
            call = generate(number)
            if (verdict := compared(call)) not in ("same", "refused"):
                print(f"{number}: {call}\n    {verdict[:300]}")
