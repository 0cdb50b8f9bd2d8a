"""Option prices, with SciPy's erf, compiled: `python examples/black_scholes.py`."""

import numpy as np
from scipy.special import erf

import txc


def normal(x):
    """The probability that a standard normal number is smaller."""
    return 0.5 * (1 + erf(x * 0.7071067811865476))


@txc.jit
def black_scholes(price, strike, years, rate, volatility):
    """The value of the right to buy, and of the right to sell, at `strike` after `years`."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = price * normal(d1) - discounted * normal(d2)
    return call, call - price + discounted


def main() -> None:
    strike = np.array([80.0, 100, 120])
    call, put = black_scholes(np.full(3, 100.0), strike, np.full(3, 0.5), 0.02, 0.3)
    for row in zip(strike, call, put):
        print("strike {:5.1f}: call {:7.4f}, put {:7.4f}".format(*row))


if __name__ == "__main__":
    main()
