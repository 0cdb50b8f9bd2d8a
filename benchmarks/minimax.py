"""The coefficients of the polynomials in `dialects/ops/`: minimax fits by Remez's exchange, in mpmath arithmetic.

``python benchmarks/minimax.py [NAME …]`` prints fits: the coefficients from the highest power down, as
`ScalarBuilder.polynomial` takes them, each rounded to the type it is used in, and the largest weighted error.
The low coefficients are rounded first and the others fitted again, so that rounding costs next to nothing; where the
interval contains zero the higher powers alone no longer alternate, and all are rounded at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 50


@dataclass(frozen=True)
class Fit:
    """Approximate ``f(x)`` by a polynomial of `degree` on [`low`, `high`], minimising ``|p - f| * weight``."""

    f: Callable[[Any], Any]
    low: Any
    high: Any
    degree: int
    bits: int
    weight: Callable[[Any], Any]


def remez(xs: list, ys: list, ws: list, degree: int) -> list:
    """Minimax coefficients, the constant first, over the points `xs` (sorted, dense) for values `ys`, weights `ws`."""
    count = degree + 2
    last = len(xs) - 1
    picks = sorted({round(last * (1 - np.cos(np.pi * (2 * i + 1) / (2 * count))) / 2) for i in range(count)})
    found: list = []
    for _ in range(10):
        matrix = mp.matrix(count, count)
        for i, k in enumerate(picks):
            for j in range(degree + 1):
                matrix[i, j] = xs[k] ** j
            matrix[i, degree + 1] = (-1) ** i / ws[k]
        solution = mp.lu_solve(matrix, mp.matrix([ys[k] for k in picks]))
        found = [solution[j] for j in range(degree + 1)]
        errors = [(mp.polyval(found[::-1], x) - y) * w for x, y, w in zip(xs, ys, ws)]
        if max(map(abs, errors)) <= abs(solution[degree + 1]) * mp.mpf("1.02"):
            break
        exchanged = _extremes(errors, count)
        if len(exchanged) != count:
            break
        picks = exchanged
    return found


def _extremes(errors: list, count: int) -> list[int]:
    """Where the error peaks with alternating signs, the largest `count` neighbours."""
    runs: list[int] = []
    for k, e in enumerate(errors):
        if runs and (errors[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[runs[-1]]):
                runs[-1] = k
        else:
            runs.append(k)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def solve(fit: Fit) -> tuple[list[float], float]:
    """Rounded coefficients from the highest power down, and the largest weighted error they leave."""
    low, high, size = mp.mpf(fit.low), mp.mpf(fit.high), 16 * (fit.degree + 2)
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / size) for i in range(size)]
    rest, ws = [fit.f(x) for x in xs], [fit.weight(x) for x in xs]
    known = [rounded(c, fit.bits) for c in remez(xs, rest, ws, fit.degree)] if low < 0 else []
    for power in range(len(known), fit.degree + 1):
        known.append(rounded(remez(xs, rest, ws, fit.degree - power)[0], fit.bits))
        rest = [(y - known[-1]) / x for x, y in zip(xs, rest)]
        ws = [w * abs(x) for x, w in zip(xs, ws)]
    worst = max(abs((mp.polyval(known[::-1], x) - fit.f(x)) * fit.weight(x)) for x in xs)
    return [float(c) for c in known[::-1]], float(worst)


def rounded(c: Any, bits: int) -> Any:
    """`c` in f32 or f64."""
    return mp.mpf(float(np.float32(float(c)))) if bits == 32 else mp.mpf(float(c))


def odd_tail(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``(f(x) - x) / x**3`` as a function of ``x*x``, for an odd `f` with slope one."""
    return lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / (mp.sqrt(z) * z)


def _scaled_erfc(a: Any) -> Any:
    return mp.exp(a * a) * mp.erfc(a) * (1 + 2 * a)


FITS: dict[str, Fit] = {}
_H = mp.log(2) / 2 * mp.mpf("1.0001")
for _bits, _degree in ((32, 4), (64, 9)):
    FITS[f"exp{_bits}"] = Fit(lambda r: (mp.expm1(r) - r) / r**2, -_H, _H, _degree, _bits, lambda r: r * r)
FITS["log32"] = Fit(
    lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, -0.2929, 0.41422, 8, 32, lambda f: abs(f**3 / mp.log1p(f))
)
# 2*atanh(s) = 2*s + s*z*p(z), z = s*s.
FITS["log64"] = Fit(lambda z: 2 * odd_tail(mp.atanh)(z), 1e-9, 0.029438, 6, 64, lambda z: z)
for _bits, _sin, _cos in ((32, 2, 2), (64, 5, 5)):
    FITS[f"sin{_bits}"] = Fit(odd_tail(mp.sin), 1e-9, 0.6169, _sin, _bits, lambda z: z)
    FITS[f"cos{_bits}"] = Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 1e-9, 0.6169, _cos, _bits, lambda z: z * z
    )
# In f64, for results in f32.
FITS["half-turn"] = Fit(odd_tail(mp.sin), 1e-9, 2.468, 3, 64, lambda z: z)
FITS["tan-sin"] = Fit(odd_tail(mp.sin), 1e-9, 0.6169, 2, 64, lambda z: z)
FITS["tan-cos"] = Fit(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, 1e-9, 0.6169, 3, 64, lambda z: z)
for _bits, _degree in ((32, 4), (64, 11)):
    FITS[f"asin{_bits}"] = Fit(odd_tail(mp.asin), 1e-9, 0.2501, _degree, _bits, lambda z: z)
for _bits, _degree in ((32, 4), (64, 11)):
    # On [0, tan(pi/8)].
    FITS[f"atan{_bits}"] = Fit(odd_tail(mp.atan), 1e-9, 0.17158, _degree, _bits, lambda z: z)
for _bits in (32, 64):
    # From where the estimates of `cube_root.py` begin and end.
    FITS[f"cbrt{_bits}"] = Fit(lambda c: 1 / mp.cbrt(c), 0.16666, 0.19754, 3, _bits, mp.cbrt)
# log(x) for pow, in two words: 2*atanh(s) = 2*s + s*z*(2/3 + z*p(z)).
FITS["pow64"] = Fit(
    lambda z: 2 * (mp.atanh(mp.sqrt(z)) - mp.sqrt(z) * (1 + z / 3)) / mp.sqrt(z) ** 5,
    1e-9,
    0.029438,
    7,
    64,
    lambda z: z * z,
)
FITS["pow-log"] = Fit(
    lambda z: 2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) / mp.log(2), 1e-9, 0.029438, 4, 64, lambda z: mp.mpf(1) / 3
)
FITS["pow-exp"] = Fit(lambda r: mp.mpf(2) ** r, -0.5, 0.5, 6, 64, lambda r: mp.mpf(2) ** -r)
for _bits, _degree in ((32, 2), (64, 6)):
    # tanh(s) = s + s*z*p(z), z = s*s, on |s| <= 0.28.
    FITS[f"tanh{_bits}"] = Fit(odd_tail(mp.tanh), 1e-9, 0.0784, _degree, _bits, lambda z: z)
for _bits, _small, _tail, _large in ((32, 7, 6, 10), (64, 13, 17, 23)):
    # erf(x) = x + x*p(x*x) on |x| <= 5/4.
    FITS[f"erf{_bits}"] = Fit(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 1e-9, 1.5625, _small, _bits,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
    )  # fmt: skip
    # erfc(a)**(1/8) from there until erf(a) is 1; what counts is the error of 1 - p(a)**8.
    FITS[f"erf-tail{_bits}"] = Fit(
        lambda a: mp.root(mp.erfc(a), 8), 1.25, 4.0 if _bits == 32 else 6.0, _tail, _bits,
        lambda a: 8 * mp.root(mp.erfc(a), 8) ** 7 / mp.erf(a),
    )  # fmt: skip
    # exp(a*a) * erfc(a) * (1 + 2*a) = p(t), t = (a - 4)/(a + 4): one polynomial for every a >= 0.
    FITS[f"erfc{_bits}"] = Fit(
        lambda t: _scaled_erfc(4 * (1 + t) / (1 - t)), -1.0, 0.75, _large, _bits, lambda t: mp.mpf(1)
    )


def main() -> None:
    """Print the fits named on the command line, or all."""
    for name in sys.argv[1:] or list(FITS):
        coefficients, worst = solve(FITS[name])
        digits = 17 if FITS[name].bits == 64 else 9
        print(f"{name}: largest weighted error 2**{np.log2(worst):.1f}")
        print("    " + ", ".join(f"{c:.{digits}g}" for c in coefficients), flush=True)


if __name__ == "__main__":
    main()
