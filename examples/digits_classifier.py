"""Handwritten digits by their nearest neighbour, compiled: `python examples/digits_classifier.py`."""

import numpy as np
from digits_data import DATA

import txc


def nearest(images, known):
    """For each image the number of the known one at the smallest distance."""
    lengths = (known * known).sum(axis=1)
    return (lengths - 2 * (images @ known.T)).argmin(axis=1)


@txc.jit
def digits_classifier(table):
    """The share of the held-out digits that are recognised, and what each of them is taken for.

    A row holds the 64 pixels of a digit, from 0 to 16, and which digit it is.
    """
    pixels = table[:, :64] / 16
    labels = table[:, 64].astype(np.int64)
    guesses = labels[:1200].take(nearest(pixels[1200:], pixels[:1200]), axis=0)
    accuracy = (guesses == labels[1200:]).astype(np.float32).mean()
    return accuracy, guesses


def main() -> None:
    accuracy, guesses = digits_classifier(np.loadtxt(DATA / "digits.csv.gz", delimiter=",", dtype=np.float32))
    print(f"accuracy on {len(guesses)} held-out digits: {accuracy:.4f}")


if __name__ == "__main__":
    main()
