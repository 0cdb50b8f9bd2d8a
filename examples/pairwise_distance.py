"""Distances between the digits' classes, compiled: `python examples/pairwise_distance.py`."""

import numpy as np
from digits_data import load_digits

import txc


@txc.jit
def pairwise_distance(x, y):
    """The Euclidean distance of each row of `x` to each row of `y`."""
    difference = x[:, None] - y[None]
    return np.sqrt((difference * difference).sum(axis=2))


def main() -> None:
    digits = load_digits()
    means = np.stack([digits.train_images[digits.train_labels == d].mean(axis=0) for d in range(10)])
    print(np.round(pairwise_distance(means, means), 1))


if __name__ == "__main__":
    main()
