"""What the compiler keeps as a temporary by itself: `python examples/eigen_eval.py`."""

import numpy as np

import txc


@txc.jit
def eigen_eval(x):
    """Rows of `x` divided by their length."""
    total = np.square(x).sum(axis=1)
    return x * (1 / np.sqrt(total))[:, None]


def main() -> None:
    x = np.array([[3, 4], [6, 8]], np.float32)
    print(eigen_eval(x))
    print(eigen_eval.explain(x))


if __name__ == "__main__":
    main()
