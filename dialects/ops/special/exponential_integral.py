"""Exponential integrals.

Near 0 they are the logarithm, Euler's constant and a power series (DLMF 6.6); beyond, ``exp(-x)/x`` or ``exp(x)/x``
times a function that goes to 1 (`benchmarks/special_fits.py`: ``e1`` and ``ei_…``).
"""

from __future__ import annotations

import math

import numpy as np

from ...registry import op
from ...scalar.gamma import F64, InDouble
from ...scalar.language import ScalarBuilder, Value

EULER = 0.57721566490153286061
#: What rounding lost of it.
EULER_LOW = -4.942915152430645e-18
#: ``(Ei(x) - log(x) - euler) / x``, good to the last bit up to 5; the fewer terms up to 1.
SERIES = tuple(1 / (k * math.factorial(k)) for k in range(1, 33))[::-1]
SHORT = SERIES[-18:]
#: ``x * exp(x) * E1(x)`` over ``(u - 1/3) * 3/2`` with ``u = (x - 2)/(x + 2)``, from 1 on.
FALLING = (
    1.7909098515839027e-09, 2.320871146273675e-09, -9.7641114112775883e-09, -1.149557988872053e-08,
    2.5833551134472619e-08, 2.9288931494785544e-08, -4.069155392438312e-08, -4.0001641182635045e-08,
    4.2077604800218708e-08, 5.0792260472886351e-08, -3.9047568394210716e-08, 1.2381097074723618e-08,
    -3.0974208203144974e-08, 1.9947015414253119e-07, -2.7698278684424248e-07, 9.0912714450225084e-07,
    -1.522776583216308e-06, 4.7594801839804751e-06, -8.7219162633726442e-06, 2.6536095096400757e-05,
    -5.2193950052306553e-05, 0.00016176761868899931, -0.00033798581544044294, 0.0011289560036972122,
    -0.0025078525718278365, 0.010133650725823749, -0.024300313654296132, 0.19036949703167486, 0.82538259960422333,
)  # fmt: skip
#: ``x * exp(-x) * Ei(x)`` over 1/x, mapped to [-1, 1]: for x from 5 to 10, from 10 to 20, from 20 on.
NEAR = (
    1.5917305589613042e-11, -3.4485398520683514e-11, -5.1222107411388319e-11, 3.2367159840003616e-10,
    -9.8998117975066172e-10, 2.4936096627552093e-09, -3.0156475441216104e-09, -1.0105930903034708e-08,
    7.7538077562177068e-08, -2.6517855527388127e-07, 4.593884845116162e-07, 5.5682586980607969e-07,
    -6.9423075321484521e-06, 2.2972470141928046e-05, -1.8727450663498332e-05, -0.00016940454053520476,
    0.00073308594166675268, -7.6454406851408585e-05, -0.0081134216314959571, 0.0036219267591227466, 0.1185860089229854,
    1.2392514164886395,
)  # fmt: skip
FAR = (
    1.8018149868917375e-12, -1.7534846115429105e-11, 3.8220427381725092e-11, 7.1733931404985232e-11,
    -5.8788518261234996e-10, 1.2815024481659459e-09, 1.2980026076630372e-09, -1.6389464533854934e-08,
    3.5213975636577158e-08, 6.7989696736950531e-08, -5.0503514896360919e-07, 2.7409693034226958e-07,
    4.7366128625533623e-06, -6.2025879649534682e-06, -5.0768203189767785e-05, -4.0875328260816096e-06,
    0.00055785780464606292, 0.003582149823203084, 0.037245792427287386, 1.0901408684282592,
)  # fmt: skip
FARTHEST = (
    2.3789285178185113e-10, 1.6137864273912788e-10, -1.8015029064310738e-09, -1.3255015859202254e-09,
    6.2732151505202446e-09, 5.386059396932218e-09, -1.3118736607869302e-08, -1.4728667994474175e-08,
    1.664096138821224e-08, 2.991606018575471e-08, -4.7635980670228201e-09, -4.0555584423259071e-08,
    -3.3047505061878573e-08, 4.8255050292212229e-09, 4.2732637468913082e-08, 7.5198772605892637e-08,
    1.2815251895093096e-07, 2.8398007660414545e-07, 8.6773085028578814e-07, 3.5734607912213864e-06,
    1.9684797552075587e-05, 0.00014809035636506064, 0.0016027475231899927, 0.027825946121226589, 1.0263545114390058,
)  # fmt: skip


def falling(b: ScalarBuilder, x: Value) -> Value:
    """E1 of ``x > 0``, which is less than 1e308."""
    bounded = b.minimum(b.constant(1.0, F64), x)
    near = -(b.op("log", bounded) + EULER) + bounded * b.polynomial(-bounded, SHORT)
    far = b.maximum(b.constant(1.0, F64), x)
    u = (far - 2.0) / (far + 2.0)
    size = b.polynomial(1.5 * u - 0.5, FALLING) / far
    # In two steps: the exponential may underflow before the result does.
    half = b.op("exp", -0.5 * far)
    return b.select(x < 1.0, near, (half * size) * half)


def rising(b: ScalarBuilder, x: Value) -> Value:
    """Ei of ``x > 0``, which is less than 1e308."""
    bounded = b.minimum(b.constant(5.0, F64), x)
    near = (b.op("log", bounded) + EULER) + b.fma(bounded, b.polynomial(bounded, SERIES), EULER_LOW)

    def far() -> Value:
        w = 1.0 / b.maximum(b.constant(5.0, F64), x)
        first, second = b.polynomial(20.0 * w - 3.0, NEAR), b.polynomial(40.0 * w - 3.0, FAR)
        size = b.select(x < 10.0, first, b.select(x < 20.0, second, b.polynomial(40.0 * w - 1.0, FARTHEST))) * w
        half = b.op("exp", 0.5 * b.minimum(b.constant(800.0, F64), x))
        return (half * size) * half

    return b.rare(x > 5.0, far, near)


def sized(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """``|x|`` where that is neither 0 nor huge, and otherwise 1; and what E1 of ``|x|`` is."""
    a = abs(x)
    a = b.select((a > 0.0) & (a < 1e300), a, 1.0)
    value = b.select(abs(x).equals(0.0), np.inf, b.select(abs(x) >= 1e300, 0.0, falling(b, a)))
    return a, value


class _ExponentialIntegral(InDouble):
    ulp = 4.0
    cost = 150.0
    domain = (0.0, 20.0)


@op
class Exp1(_ExponentialIntegral):
    """The integral of ``exp(-t)/t`` from x on; infinite at 0, NaN below.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.exp1",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return b.select(x >= 0.0, sized(b, x)[1], np.nan)


@op
class Expi(_ExponentialIntegral):
    """The principal value of the integral of ``exp(t)/t`` up to x; minus infinity at 0.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.expi",)
    domain = (-20.0, 20.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a, below = sized(b, x)
        above = b.select(abs(x) >= 1e300, np.inf, rising(b, a))
        value = b.select((x > 0.0), above, -below)
        return b.select(x.differs(x), np.nan, value)
