"""Heat on a plate, a time loop with stores in place, compiled: `python examples/heat.py`."""

import numpy as np

import txc


@txc.jit
def heat(u, rate, steps):
    """`u` after so many explicit steps, known only at run time; the border keeps its temperature."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def main() -> None:
    plate = np.zeros((9, 9))
    plate[0] = 100
    for steps in (1, 10, 1000):
        print(f"middle column after {steps} steps:", np.round(heat(plate, 0.2, steps)[:, 4], 1))


if __name__ == "__main__":
    main()
