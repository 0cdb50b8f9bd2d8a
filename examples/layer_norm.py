"""Layer normalisation in plain NumPy, compiled: `python examples/layer_norm.py`."""

import numpy as np

import txc


@txc.jit
def layer_norm(x, scale, shift, epsilon):
    """Rows of `x` with mean 0 and variance 1, then scaled and shifted."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * scale + shift


def main() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4) ** 2
    print(layer_norm(x, np.ones(4, np.float32), np.zeros(4, np.float32), 1e-5))


if __name__ == "__main__":
    main()
