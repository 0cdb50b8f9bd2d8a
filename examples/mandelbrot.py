"""The Mandelbrot set: a loop that each point runs for itself, compiled: `python examples/mandelbrot.py`."""

import numpy as np

import txc


def escape(re, im, limit):
    """After how many steps the point leaves the circle of radius 2; `limit` where it has not by then."""
    x, y, n = 0.0, 0.0, 0
    while n < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        n += 1
    return n


@txc.jit
def mandelbrot(re, im, limit):
    """The steps of the points of a grid, one row for each imaginary part."""
    return np.vectorize(escape)(re[None, :], im[:, None], limit)


def main() -> None:
    steps = mandelbrot(np.linspace(-2.1, 0.6, 78), np.linspace(-1.2, 1.2, 31), 500)
    shades = np.array(list(" .:-=+*%@#"))
    for row in shades[np.minimum(np.log2(steps + 1.0), 9.0).astype(int)]:
        print("".join(row))


if __name__ == "__main__":
    main()
