"""Functions of `scipy.special` that are more than one op, by dotted name, as SciPy itself is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import DTYPES
from ...tensor.apply import apply, as_tensor
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from .registry import handles

__all__: list[str] = []


def _in_loop(*operands: Any) -> list[Tensor]:
    """The operands in f32 where that holds all dtypes that are not weak, else in f64, as SciPy's loops take them."""
    tensors = [as_tensor(x) for x in operands]
    given = [t.element for t in tensors if not t.weak]
    if any(e.numpy.kind not in "biuf" for e in given):
        return tensors
    single = bool(given) and all(np.can_cast(e.numpy, np.float32) for e in given)
    return [cast(t, DTYPES["f32" if single else "f64"]) for t in tensors]


@handles("scipy.special.fresnel")
def fresnel(x: Any) -> tuple[Tensor, Tensor]:
    """Fresnel's integrals S and C."""
    return apply("fresnel_s", x), apply("fresnel_c", x)


@handles("scipy.special.airy")
def airy(x: Any) -> tuple[Tensor, ...]:
    """Ai, its derivative, Bi and its derivative."""
    return tuple(apply(name, x) for name in ("airy_ai", "airy_aip", "airy_bi", "airy_bip"))


@handles("scipy.special.comb")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tensor:
    """Combinations of N things taken k at a time, as a float; with `repetition`, each as often as one likes."""
    if exact:
        raise OpError(
            "scipy.special.comb with exact=True counts with Python's ints",
            "leave it out: the result is a float",
            "TX0240",
        )
    # SciPy makes arrays of both first, so no number is weak.
    things, taken = (cast(t, t.element) for t in map(as_tensor, (N, k)))
    if repetition:
        ways = apply("binom", *_in_loop(things + taken - 1, taken))
        return apply("select", (taken == 0) & (things >= 0), 1.0, ways)
    ways = apply("binom", *_in_loop(things, taken))
    return apply("select", (taken <= things) & (things >= 0) & (taken >= 0), ways, 0.0)


@handles("scipy.special.lambertw")
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Tensor:
    """Lambert's W function of the branch k, always in c128; to the last bits, so that `tol` changes nothing."""
    x = cast(as_tensor(z), DTYPES["c128"])
    branch = cast(cast(as_tensor(k), DTYPES["i64"]), DTYPES["f64"])
    parts = (x.real, x.imag, branch)
    return apply("complex", apply("lambertw_re", *parts), apply("lambertw_im", *parts))


@handles("scipy.special.polygamma")
def polygamma(n: Any, x: Any) -> Tensor:
    """The derivative number n of the digamma function; f32 only where both are, as SciPy multiplies it together."""
    single = all(as_tensor(v).element is DTYPES["f32"] and not as_tensor(v).weak for v in (n, x))
    return apply("polygamma", *(v if single else cast(as_tensor(v), DTYPES["f64"]) for v in (n, x)))


@handles("scipy.special.zeta")
def zeta(x: Any, q: Any = None) -> Tensor:
    """Hurwitz's zeta function."""
    if q is None:
        raise OpError("scipy.special.zeta of one number is not supported", "for x > 1 it is zeta(x, 1.0)", "TX0240")
    return apply("zeta", *_in_loop(x, q))
