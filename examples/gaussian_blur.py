"""A picture before and after a blur, as PNG: `python examples/gaussian_blur.py FOLDER`."""

import sys
from pathlib import Path

import numpy as np
from digits_data import DATA
from png import read_png, write_png

import txc


@txc.jit
def gaussian_blur(picture, weights):
    """The picture without the border that the weights do not reach around; the weights sum to 1."""
    n, m = picture.shape
    (k,) = weights.shape
    tall = np.zeros((n - k + 1, m), picture.dtype)
    for i in range(k):
        tall += weights[i] * picture[i : i + n - k + 1]
    blurred = np.zeros((n - k + 1, m - k + 1), picture.dtype)
    for i in range(k):
        blurred += weights[i] * tall[:, i : i + m - k + 1]
    return blurred


def gaussian(width, sigma):
    """`width` weights of the normal curve, f32, with sum 1."""
    curve = np.exp(-0.5 * ((np.arange(width) - (width - 1) / 2) / sigma) ** 2)
    return (curve / curve.sum()).astype(np.float32)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    picture = read_png(DATA / "camera.png")
    blurred = gaussian_blur(picture.astype(np.float32), gaussian(21, 4.0))
    write_png(folder / "before.png", picture)
    write_png(folder / "after.png", blurred)
    print(f"{folder / 'before.png'} {picture.shape}, {folder / 'after.png'} {blurred.shape}")


if __name__ == "__main__":
    main()
