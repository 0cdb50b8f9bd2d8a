"""The coefficients of the special functions in `dialects/ops/`: fits as those of `minimax.py`, all over [-1, 1].

``python benchmarks/special_fits.py [NAME …]`` prints them.  Each function is divided by what it behaves like, so that
what is fitted is smooth and far from zero, and mpmath computes it at high precision; the argument of the interval is
mapped to t in [-1, 1], where the powers of t keep the coefficients, and so rounding errors, small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
from minimax import Fit, solve

FITS: dict[str, Fit] = {}


def fit(name: str, f: Callable[[Any], Any], degree: int) -> None:
    """`f` of t in [-1, 1], by its largest relative error."""
    FITS[name] = Fit(f, -1, 1, degree, 64, lambda t: 1 / abs(f(t)))


def between(low: float, high: float, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`f` over [low, high] as a function of t."""
    middle, half = mp.mpf(high + low) / 2, mp.mpf(high - low) / 2
    return lambda t: f(middle + half * t)


# lgamma(2 + u) / u, |u| <= 1/2.
fit("lgamma", lambda t: mp.loggamma(2 + t / 2) / (t / 2) if t else 1 - mp.euler, 17)

# ndtri(p) / (2p - 1) over w = -log(4p(1 - p)), and ndtri(p) / sqrt(-log(p)) over the square root or its inverse.


def quantile(p: Any, guess: Any) -> Any:
    """-ndtri(p), by the secant's iteration on the logarithm of the tail's probability."""
    return mp.findroot(
        lambda x: mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - mp.log(p), (guess, guess + 0.01), solver="secant", tol=1e-40
    )


def middle(w: Any) -> Any:
    root = mp.sqrt(-mp.expm1(-w))
    return quantile(mp.exp(-w) / 2 / (1 + root), mp.sqrt(w)) / root if w else mp.sqrt(mp.pi / 2)


def tail(s: Any) -> Any:
    return quantile(mp.exp(-s * s), mp.sqrt(2) * s - 0.5) / s


fit("ndtri_middle", between(0, 6.25, middle), 24)
fit("ndtri_tail", between(1 / 6, 1 / 2.7, lambda r: tail(1 / r)), 20)
fit("ndtri_far", between(1 / 13, 1 / 6, lambda r: tail(1 / r)), 15)
fit("ndtri_farthest", between(1 / 28, 1 / 13, lambda r: tail(1 / r)), 14)

# sqrt(x) exp(-x) I(x) over 8/x, and sqrt(x) exp(x) K(x) over 1/x.
for n in (0, 1):
    fit(
        f"i{n}",
        lambda t, n=n: 1 / mp.sqrt(2 * mp.pi) if t == -1 else (
            mp.sqrt(16 / (t + 1)) * mp.exp(-16 / (t + 1)) * mp.besseli(n, 16 / (t + 1))
        ),
        22,
    )  # fmt: skip
    fit(
        f"k{n}",
        lambda t, n=n: mp.sqrt(mp.pi / 2) if t == -1 else (
            mp.sqrt(2 / (t + 1)) * mp.exp(2 / (t + 1)) * mp.besselk(n, 2 / (t + 1))
        ),
        36,
    )  # fmt: skip


def phase_amplitude(n: int, w: Any, quadrature: bool) -> Any:
    """P or Q*x of Hankel's form ``J = sqrt(2/(pi x)) (P cos(chi) - Q sin(chi))``, at ``w = 1/x**2``."""
    if w == 0:
        return mp.mpf(4 * n * n - 1) / 8 if quadrature else mp.mpf(1)
    x = 1 / mp.sqrt(w)
    chi = x - (2 * n + 1) * mp.pi / 4
    j, y = mp.besselj(n, x), mp.bessely(n, x)
    scale = mp.sqrt(mp.pi * x / 2)
    if quadrature:
        return scale * x * (y * mp.cos(chi) - j * mp.sin(chi))
    return scale * (j * mp.cos(chi) + y * mp.sin(chi))


for n in (0, 1):
    for letter, quadrature in (("p", False), ("q", True)):
        f = lambda w, n=n, quadrature=quadrature: phase_amplitude(n, w, quadrature)  # noqa: E731
        fit(f"{letter}{n}_near", between(1 / 25, 1 / 4, f), 21)
        fit(f"{letter}{n}_far", between(0, 1 / 25, f), 20)


# x exp(x) E1(x) over (x - 2)/(x + 2), from 1 on, and x exp(-x) Ei(x) over 1/x.


def decaying(u: Any) -> Any:
    x = 2 * (1 + u) / (1 - u) if u != 1 else mp.inf
    return x * mp.exp(x) * mp.e1(x) if x < 1e8 else 1 - 1 / x


def rising(w: Any) -> Any:
    return mp.exp(-1 / w) * mp.ei(1 / w) / w if w > 1e-8 else 1 + w


fit("e1", between(mp.mpf(-1) / 3, 1, decaying), 28)
fit("ei_near", between(0.1, 0.2, rising), 21)
fit("ei_far", between(0.05, 0.1, rising), 19)
fit("ei_farthest", between(0, 0.05, rising), 24)

# x D(x), and from 5 on 2 x D(x) over 1/x**2.


def dawson(x: Any) -> Any:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


fit("dawson_near", between(1, 2.5, lambda x: x * dawson(x)), 21)
fit("dawson_middle", between(2.5, 5, lambda x: x * dawson(x)), 25)
fit("dawson_far", between(0, 0.04, lambda w: 2 * dawson(1 / mp.sqrt(w)) / mp.sqrt(w) if w > 1e-8 else 1 + w / 2), 17)


def fresnel_amplitude(w: Any, second: bool) -> Any:
    """``pi x f(x)`` or ``pi**2 x**3 g(x)`` of Fresnel's auxiliary functions (DLMF 7.3), at ``w = 1/x**2``."""
    if w < 1e-8:
        return mp.mpf(1)
    x = 1 / mp.sqrt(w)
    with mp.extradps(60):
        c, s = mp.mpf(1) / 2 - mp.fresnelc(x), mp.mpf(1) / 2 - mp.fresnels(x)
        cosine, sine = mp.cos(mp.pi * x * x / 2), mp.sin(mp.pi * x * x / 2)
        if second:
            return (c * cosine + s * sine) * mp.pi**2 * x**3
        return (s * cosine - c * sine) * mp.pi * x


fit("fresnel_f", between(0, 1 / 2.56, lambda w: fresnel_amplitude(w, False)), 28)
fit("fresnel_g", between(0, 1 / 2.56, lambda w: fresnel_amplitude(w, True)), 33)


def main() -> None:
    """Print the fits named on the command line, or all."""
    for name in sys.argv[1:] or list(FITS):
        coefficients, worst = solve(FITS[name])
        print(f"{name}: largest weighted error 2**{np.log2(worst):.1f}")
        print("    " + ", ".join(f"{c:.17g}" for c in coefficients), flush=True)


if __name__ == "__main__":
    main()
