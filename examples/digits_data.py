"""Loads the handwritten digits in `data/` and splits them as every example does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

DATA = Path(__file__).resolve().parent / "data"
TRAIN = 1200


class Digits(NamedTuple):
    """Pixels are divided by 16, so they lie in [0, 1]."""

    train_images: np.ndarray  # f32[1200, 64]
    train_labels: np.ndarray  # i64[1200]
    test_images: np.ndarray  # f32[597, 64]
    test_labels: np.ndarray  # i64[597]


def load_digits() -> Digits:
    """The first 1,200 digits to learn from, and the other 597, written by other people, held out."""
    table = np.loadtxt(DATA / "digits.csv.gz", delimiter=",", dtype=np.int64)
    images, labels = (table[:, :64] / 16).astype(np.float32), np.ascontiguousarray(table[:, 64])
    return Digits(images[:TRAIN], labels[:TRAIN], images[TRAIN:], labels[TRAIN:])


def load_weights() -> dict[str, np.ndarray]:
    """The weights that `train_mlp.py` wrote: w1 f32[64, 32], b1 f32[32], w2 f32[32, 10], b2 f32[10]."""
    with np.load(DATA / "mlp_digits.npz") as file:
        return dict(file)


def save_inputs(folder: str | Path) -> None:
    """Write each array of the split, and the weights, as `.npy` files that `tensor-compile run --input` reads."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, array in {**load_digits()._asdict(), **load_weights()}.items():
        np.save(Path(folder) / f"{name}.npy", array)


if __name__ == "__main__":
    import sys

    save_inputs(sys.argv[1])
