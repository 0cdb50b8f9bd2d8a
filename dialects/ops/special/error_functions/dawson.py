"""Dawson's integral (DLMF 7.2): its power series up to 1, and beyond fits of ``x * F(x)``, which goes to 1/2.

The fits are ``dawson_…`` of `benchmarks/special_fits.py`.
"""

from __future__ import annotations

import math

from ....registry import op
from ....scalar.gamma import F64, InDouble
from ....scalar.language import ScalarBuilder, Value

#: ``F(x)/x`` over ``x*x`` (DLMF 7.6.3), good to the last bit up to 1.
SERIES = tuple((-2) ** k / math.prod(range(1, 2 * k + 2, 2)) for k in range(20))[::-1]
#: ``x * F(x)`` over x from 1 to 2.5 and from 2.5 to 5, mapped to [-1, 1]; ``2 * x * F(x)`` over ``50/x**2 - 1``.
NEAR = (
    -8.7761387420858673e-11, -8.2869992164443211e-11, 2.226567515076098e-09, -2.1481341091184935e-09,
    -3.2020765482337453e-08, 1.0006943629915924e-07, 2.3718014289404115e-07, -1.8495825714270004e-06,
    1.0751282683040541e-06, 1.9040969531657073e-05, -5.2478672360066414e-05, -7.3931165911092286e-05,
    0.00062330053981003827, -0.00071748213172712376, -0.0029442482567243683, 0.010475506842634095,
    -0.0052483563221231615, -0.036352670901342227, 0.086519141494867668, -0.054468041878917649, -0.069083741957011821,
    0.62901373617555012,
)  # fmt: skip
MIDDLE = (
    6.337358382786167e-11, -8.5562099152189172e-10, 1.5815380192124971e-09, 5.7768658358792772e-09,
    -2.661801909798949e-08, 2.6825884630483774e-08, 9.1954612063354783e-08, -4.0913771777427568e-07,
    6.349698857160089e-07, 4.1112519756221833e-07, -4.4131364017213836e-06, 1.0448521743043301e-05,
    -9.484404460888451e-06, -1.7049337690926131e-05, 8.3633466064828336e-05, -0.00016997710846842888,
    0.0001959468838573702, -3.9522749592597166e-05, -0.00039623002975535581, 0.0011286348141831073,
    -0.0021414421502786341, 0.0035477896713137411, -0.0057736492588165537, 0.0095848327479222395, -0.015474529970201592,
    0.52014464847596698,
)  # fmt: skip
FAR = (
    5.201851072424231e-12, 4.9919088900895075e-12, -2.6897114744802361e-11, -4.2634804494439831e-11,
    2.0390726081642609e-11, 8.8853384249754026e-11, 1.0415308613675718e-10, 1.6734987091357819e-10,
    4.4900433396725624e-10, 1.4700839961002952e-09, 6.0057254751008812e-09, 3.0989832259349386e-08,
    2.036564062691463e-07, 1.7463312346625135e-06, 2.0415560335265489e-05, 0.00035243661981298888, 0.010649746347064285,
    1.0103161564918599,
)  # fmt: skip


@op
class Dawsn(InDouble):
    """``exp(-x*x)`` times the integral of ``exp(t*t)`` from 0 to x.  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.dawsn",)
    ulp = 3.0
    cost = 120.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        inner = b.minimum(b.constant(1.0, F64), a)
        near = x * b.polynomial(inner * inner, SERIES)

        def beyond() -> Value:
            outer = b.maximum(b.constant(1.0, F64), a)
            w = 1.0 / outer
            bounded = b.minimum(b.constant(5.0, F64), outer)
            middle = b.polynomial(0.8 * bounded - 3.0, MIDDLE)
            first = b.polynomial((bounded - 1.75) * (4.0 / 3.0), NEAR)
            far = 0.5 * b.polynomial(50.0 * (w * w) - 1.0, FAR)
            size = b.select(a < 2.5, first, b.select(a < 5.0, middle, far))
            return b.copysign(size * w, x)

        return b.rare(a > 1.0, beyond, near)
