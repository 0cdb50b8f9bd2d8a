"""The trained network of `train_mlp.py`, compiled: `python examples/mlp.py`."""

import numpy as np
from digits_data import load_digits, load_weights

import txc


def layer(x, w, bias):
    """An affine map of every row."""
    return x @ w + bias


@txc.jit
def mlp(x, w1, b1, w2, b2):
    """For each row the probability of every class."""
    scores = layer(np.maximum(layer(x, w1, b1), 0), w2, b2)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@txc.jit
def mlp_digits(table, w1, b1, w2, b2):
    """The share of the held-out digits that the network recognises, and what it takes each of them for."""
    images = table[1200:, :64] / 16
    labels = table[1200:, 64].astype(np.int64)
    guesses = mlp(images, w1, b1, w2, b2).argmax(axis=1)
    return (guesses == labels).astype(np.float32).mean(), guesses


def main() -> None:
    digits = load_digits()
    guesses = mlp(digits.test_images, **load_weights()).argmax(axis=1)
    print(f"accuracy on {len(guesses)} held-out digits: {np.mean(guesses == digits.test_labels):.4f}")


if __name__ == "__main__":
    main()
