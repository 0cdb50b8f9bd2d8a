"""Softmax in plain NumPy, compiled: `python examples/softmax.py`."""

import numpy as np

import txc


@txc.jit
def softmax(x, beta):
    """Each row of `x` as probabilities, with the temperature `beta`."""
    e = np.exp((x - x.max(axis=1, keepdims=True)) * beta)
    return e / e.sum(axis=1, keepdims=True)


def main() -> None:
    x = np.array([[1, 2, 3], [0, 0, 0]], np.float32)
    print(softmax(x, 1.0))
    print(softmax.explain(x, 1.0))


if __name__ == "__main__":
    main()
