"""Fresnel's integrals (DLMF 7.2).

Up to 1.6 they are their power series (DLMF 7.6); beyond, ``C = 1/2 + f*sin(pi*x*x/2) - g*cos(pi*x*x/2)`` and
``S = 1/2 - f*cos(pi*x*x/2) - g*sin(pi*x*x/2)`` (DLMF 7.5), where ``pi*x*f`` and ``pi**2*x**3*g`` are polynomials in
``1/x**2`` (`benchmarks/special_fits.py`: ``fresnel_…``).  The square is taken exactly, so that its turns are.
"""

from __future__ import annotations

import math

from ....registry import op
from ....scalar.float_bits import two_product
from ....scalar.gamma import F64, InDouble, cos_pi, sin_pi
from ....scalar.language import ScalarBuilder, Value

#: ``C/x`` and ``S/(x*u)`` over ``u*u`` with ``u = pi*x*x/2``, good to the last bit up to x = 1.6.
COSINES = tuple((-1) ** n / (math.factorial(2 * n) * (4 * n + 1)) for n in range(15))[::-1]
SINES = tuple((-1) ** n / (math.factorial(2 * n + 1) * (4 * n + 3)) for n in range(15))[::-1]
#: ``pi*x*f`` and ``pi**2*x**3*g`` over ``5.12/x**2 - 1``.
F = (
    3.217098373900977e-10, -4.1574272819055525e-09, 5.1171621024867531e-09, 1.8348610177783261e-08,
    -3.1552104899051726e-08, -2.7599343801715726e-08, 6.1528043522111814e-08, 2.9547429289527605e-08,
    -7.2095491513007879e-08, -3.7156410845502706e-08, 9.7325010184949078e-08, -4.2332728023260165e-08,
    2.5443932025691367e-08, -4.1002028447085133e-08, -5.8937258315415823e-08, 3.6044099342376997e-07,
    -9.1584362116969218e-07, 1.691881836919673e-06, -2.1482626039326297e-06, 3.3644669586557122e-07,
    8.5439776489640134e-06, -3.2697647800395813e-05, 7.4761030008188423e-05, -7.9006962341491796e-05,
    -0.00027030432877048785, 0.002055427817112045, -0.0063734698198685885, -0.018910062436526279, 0.98959945128427529,
)  # fmt: skip
G = (
    5.8216557856572443e-08, -6.6146023577702496e-08, -4.2227285127355035e-07, 4.956704458575979e-07,
    1.3364074163646583e-06, -1.5843180005796461e-06, -2.534005446161953e-06, 2.9463827593228243e-06,
    3.3411881460567638e-06, -3.7586993182502237e-06, -3.1017169569683395e-06, 3.3639935398826484e-06,
    2.0562224386970117e-06, -1.9416050232387001e-06, -1.521432079253014e-06, 1.6032107343964056e-06,
    -1.7484896219319734e-07, -5.5805661490797119e-08, 6.5973856391091207e-07, -3.1927604689831845e-06,
    7.6961664275732799e-06, -1.345182611276636e-05, 1.7023314862754897e-05, -7.9053564349581763e-06,
    -3.6586702848347317e-05, 0.000151305142588061, -0.00035375973508502138, 0.0005141262263360126,
    2.8055701942611209e-05, -0.0032228085793804904, 0.012225560091437602, -0.019534782196704396, -0.082224066589066669,
    0.95177932641122276,
)  # fmt: skip


def quarter_turns(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """The sine and cosine of ``pi*x*x/2``, for x up to 1e150."""
    square, low = two_product(b, x, x)
    # What is low of a large square has turns of its own.
    first, second = b.rint(square), b.rint(low)
    half = 0.5 * ((square - first) + (low - second))
    turns = (first - 4.0 * b.rint(0.25 * first)) + (second - 4.0 * b.rint(0.25 * second))
    turns = turns - 4.0 * b.rint(0.25 * turns)
    s, c = sin_pi(b, half), cos_pi(b, half)
    odd, back = abs(turns).equals(1.0), abs(turns).equals(2.0)
    sine, cosine = b.select(odd, c * turns, s), b.select(odd, -s * turns, c)
    return b.select(back, -sine, sine), b.select(back, -cosine, cosine)


def fresnel(b: ScalarBuilder, x: Value, cosine: bool) -> Value:
    """S, or C where `cosine`."""
    a = abs(x)
    inner = b.minimum(b.constant(1.6, F64), a)
    u = (0.5 * math.pi) * inner * inner
    near = inner * b.polynomial(u * u, COSINES) if cosine else inner * u * b.polynomial(u * u, SINES)

    def beyond() -> Value:
        # From 1e20 on it is 1/2 to the last bit.
        outer = b.minimum(b.constant(1e20, F64), b.maximum(b.constant(1.6, F64), a))
        w = 1.0 / (outer * outer)
        t = 5.12 * w - 1.0
        s, c = quarter_turns(b, outer)
        f, g = b.polynomial(t, F) * (1 / math.pi), b.polynomial(t, G) * w * (1 / math.pi**2)
        wave = f * s - g * c if cosine else -(f * c + g * s)
        return 0.5 + wave / outer

    value = b.rare(a > 1.6, beyond, near)
    return b.select(x < 0.0, -value, value)


class _Fresnel(InDouble):
    ulp = 4.0
    cost = 150.0


@op
class FresnelS(_Fresnel):
    """The integral of ``sin(pi*t*t/2)`` from 0 to x.  |error| <= 4 ulp of x and result."""

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return fresnel(b, xs[0], False)


@op
class FresnelC(_Fresnel):
    """The integral of ``cos(pi*t*t/2)`` from 0 to x.  |error| <= 4 ulp of x and result."""

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return fresnel(b, xs[0], True)
