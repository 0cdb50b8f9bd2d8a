"""Transforms of a few elements and the factors between them: the scalar bodies of `passes/schedule/fft/schedule.py`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..ops.transcendental.trigonometric import cosine as cosine_near_zero
from ..ops.transcendental.trigonometric import sine as sine_near_zero
from .language import ScalarBuilder, Value

__all__ = ["RADICES", "Pair", "butterfly", "root_of_unity"]

#: The radices of passes, in the order in which a length is divided by them.
RADICES = (8, 4, 3, 5, 2, 7)
#: A real and an imaginary part.
Pair: TypeAlias = tuple[Value, Value]

#: A quarter of pi in two words.
QUARTER_PI = (0.7853981633974483, 3.061616997868383e-17)


def _sum(x: Pair, y: Pair) -> Pair:
    return x[0] + y[0], x[1] + y[1]


def _difference(x: Pair, y: Pair) -> Pair:
    return x[0] - y[0], x[1] - y[1]


def _turned_back(x: Pair) -> Pair:
    """``-i*x``."""
    return x[1], -x[0]


def butterfly(b: ScalarBuilder, x: Sequence[Pair]) -> list[Pair]:
    """The forward transform of as many elements as `RADICES` lists."""
    return _EVEN[len(x)](b, x) if len(x) in _EVEN else _odd(b, x)


def _two(b: ScalarBuilder, x: Sequence[Pair]) -> list[Pair]:
    return [_sum(x[0], x[1]), _difference(x[0], x[1])]


def _four(b: ScalarBuilder, x: Sequence[Pair]) -> list[Pair]:
    (even, even_off), (odd, odd_off) = _two(b, [x[0], x[2]]), _two(b, [x[1], x[3]])
    (off_re, off_im), (re, im) = even_off, odd_off
    return [_sum(even, odd), (off_re + im, off_im - re), _difference(even, odd), (off_re - im, off_im + re)]


def _eight(b: ScalarBuilder, x: Sequence[Pair]) -> list[Pair]:
    even, odd = _four(b, x[::2]), _four(b, x[1::2])
    (re1, im1), (re3, im3) = odd[1], odd[3]
    odd[1] = ((re1 + im1) * math.sqrt(0.5), (im1 - re1) * math.sqrt(0.5))
    odd[2] = _turned_back(odd[2])
    odd[3] = ((im3 - re3) * math.sqrt(0.5), (re3 + im3) * -math.sqrt(0.5))
    return [*map(_sum, even, odd), *map(_difference, even, odd)]


_EVEN: dict[int, Callable[[ScalarBuilder, Sequence[Pair]], list[Pair]]] = {2: _two, 4: _four, 8: _eight}


def _odd(b: ScalarBuilder, x: Sequence[Pair]) -> list[Pair]:
    """Of an odd number of elements: results k and -k from the sums and differences of elements j and -j."""
    n = len(x)
    half = range(1, n // 2 + 1)
    sums, differences = ({j: f(x[j], x[n - j]) for j in half} for f in (_sum, _difference))
    total = x[0]
    for j in half:
        total = _sum(total, sums[j])
    results = [total] * n
    for k in half:
        re, im = x[0]
        across_re: Value | None = None
        across_im: Value | None = None
        for j in half:
            angle = 2 * math.pi * (j * k % n) / n
            re, im = b.fma(sums[j][0], math.cos(angle), re), b.fma(sums[j][1], math.cos(angle), im)
            d_re, d_im = differences[j]
            across_re = d_re * math.sin(angle) if across_re is None else b.fma(d_re, math.sin(angle), across_re)
            across_im = d_im * math.sin(angle) if across_im is None else b.fma(d_im, math.sin(angle), across_im)
        assert across_re is not None and across_im is not None
        results[k] = (re + across_im, im - across_re)
        results[n - k] = (re - across_im, im + across_re)
    return results


def root_of_unity(b: ScalarBuilder, k: Value, n: Value) -> Pair:
    """``exp(-2*pi*i * k/n)`` for whole ``0 <= k < n`` as f64: the angle reduced exactly to an eighth of a turn."""
    eighth = b.floor(8.0 * k / n)
    rest = b.fma(-eighth, n, 8.0 * k)
    half_eighth = b.floor(eighth * 0.5)
    odd = eighth.differs(half_eighth * 2.0)
    rest = b.select(odd, n - rest, rest)
    share = rest / n
    share_low = b.fma(-share, n, rest) / n
    angle = share * QUARTER_PI[0]
    angle_low = b.fma(share, QUARTER_PI[0], -angle) + b.fma(share_low, QUARTER_PI[0], share * QUARTER_PI[1])
    cosine, sine = cosine_near_zero(b, angle, angle_low), sine_near_zero(b, angle, angle_low)
    # Eighths 1, 2, 5 and 6 lie around the vertical, 2 to 5 on the left, 4 to 7 below.
    vertical = eighth.equals(1.0) | eighth.equals(2.0) | eighth.equals(5.0) | eighth.equals(6.0)
    across, up = b.select(vertical, sine, cosine), b.select(vertical, cosine, sine)
    left = (eighth > 1.0) & (eighth < 6.0)
    return b.select(left, -across, across), b.select(eighth < 4.0, -up, up)
