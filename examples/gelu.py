"""The Gaussian error linear unit, with SciPy's erf, compiled: `python examples/gelu.py`."""

import numpy as np
from scipy.special import erf

import txc


@txc.jit
def gelu(x):
    """`x` times the probability that a standard normal number is smaller."""
    return 0.5 * x * (1 + erf(x * 0.7071067811865476))


def main() -> None:
    print(gelu(np.linspace(-3, 3, 7, dtype=np.float32)[None]))


if __name__ == "__main__":
    main()
