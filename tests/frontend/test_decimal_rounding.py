"""``round(x, n)`` of Python floats that only the compiled function knows."""

import numpy as np
import pytest

import txc


def hard_ones():
    """Ties of decimals and of binaries, what is beside them, numbers of all magnitudes, and what is no number."""
    rng = np.random.default_rng(5)
    tens = np.arange(-400, 400) / 40
    ties = np.concatenate([tens, tens / 100, tens * 2.0**45 + 0.25, rng.integers(0, 2**53, 200) / 4.0])
    wild = rng.normal(size=400) * 10.0 ** rng.integers(-12, 20, 400)
    near = np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)
    others = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e300, 5e-324, 2.675, 1.005, 2.0**52 + 0.5, 2.0**51 + 0.25]
    return np.concatenate([ties, *near, wild, others])


@pytest.mark.parametrize("digits", [0, 1, 2, 5, 15, 22])
def test_it_is_the_nearest_decimal(digits: int):
    def all_of(x):
        return np.array([round(float(v), digits) for v in x])

    x = hard_ones()
    found, expected = txc.jit(all_of)(x), all_of(x)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_a_result_is_a_float_of_pythons_and_what_is_refused():
    found = txc.jit(lambda x, n: (round(float(x[0]), 2), round(n / 3, 1), round(int(x[1]), 2)))(np.array([2.675, 7]), 2)
    assert repr(found) == repr((round(2.675, 2), round(2 / 3, 1), 7))
    with pytest.raises(txc.TxcError, match=r"round\(\) of a Python float .* to -1 digits"):
        txc.jit(lambda x: round(float(x[0]), -1))(np.ones(1))
