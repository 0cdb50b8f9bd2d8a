"""k-means: centres that move to the middle of what is nearest to them, compiled: `python examples/k_means.py`."""

import numpy as np

import txc


@txc.jit
def k_means(points, centres, rounds):
    """The centres after so many rounds; points and centres are columns.  One that no point is nearest to goes to 0."""
    count = centres.shape[1]
    for _ in range(rounds):
        best = np.full(points.shape[1], np.inf)
        nearest = np.zeros(points.shape[1], np.int64)
        for j in range(count):
            distance = ((points - centres[:, j : j + 1]) ** 2).sum(0)
            nearest = np.where(distance < best, j, nearest)
            best = np.minimum(distance, best)
        total, sizes = np.zeros_like(centres), np.zeros(count)
        np.add.at(total, (slice(None), nearest), points)  # pyright: ignore[reportArgumentType]
        np.add.at(sizes, nearest, 1.0)
        centres = total / np.maximum(sizes, 1.0)
    return centres


def main() -> None:
    rng = np.random.default_rng(1)
    middles = np.array([[0.0, 5.0, 5.0], [0.0, 0.0, 4.0]])
    points = np.concatenate([m[:, None] + rng.standard_normal((2, 1000)) for m in middles.T], axis=1)
    print("middles:\n", middles, "\nfound:\n", np.round(k_means(points, points[:, [0, 1000, 2000]], 20), 2))


if __name__ == "__main__":
    main()
