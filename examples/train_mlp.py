"""Trains the 64-32-10 network of `mlp.py` on the digits, by plain NumPy, and writes `data/mlp_digits.npz`.

Deterministic: one seed, full batches, Adam.  Prints the accuracy on the held-out digits.
"""

from __future__ import annotations

import numpy as np
from digits_data import DATA, load_digits

HIDDEN, STEPS, RATE, DECAY = 32, 400, 0.01, 1e-3


def train(images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Weights that minimise the mean cross entropy of `labels` i64[n] given `images` f32[n, 64]."""
    random = np.random.default_rng(7)
    weights = {
        "w1": random.normal(0, 1 / 8, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": random.normal(0, HIDDEN**-0.5, (HIDDEN, 10)),
        "b2": np.zeros(10),
    }
    first = {k: np.zeros_like(v) for k, v in weights.items()}
    second = {k: np.zeros_like(v) for k, v in weights.items()}
    wanted = np.eye(10)[labels]
    for step in range(1, STEPS + 1):
        hidden = np.maximum(images @ weights["w1"] + weights["b1"], 0)
        scores = hidden @ weights["w2"] + weights["b2"]
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = (odds / odds.sum(axis=1, keepdims=True) - wanted) / len(labels)
        back = (error @ weights["w2"].T) * (hidden > 0)
        gradients = {
            "w1": images.T @ back + DECAY * weights["w1"],
            "b1": back.sum(axis=0),
            "w2": hidden.T @ error + DECAY * weights["w2"],
            "b2": error.sum(axis=0),
        }
        for k, g in gradients.items():
            first[k] += 0.1 * (g - first[k])
            second[k] += 0.001 * (g * g - second[k])
            scale = np.sqrt(second[k] / (1 - 0.999**step)) + 1e-8
            weights[k] -= RATE * first[k] / (1 - 0.9**step) / scale
    return {k: v.astype(np.float32) for k, v in weights.items()}


def main() -> None:
    digits = load_digits()
    weights = train(digits.train_images.astype(np.float64), digits.train_labels)
    np.savez(DATA / "mlp_digits.npz", **weights)  # type: ignore[arg-type]
    hidden = np.maximum(digits.test_images @ weights["w1"] + weights["b1"], 0)
    guess = np.argmax(hidden @ weights["w2"] + weights["b2"], axis=1)
    print(f"accuracy on {len(guess)} held-out digits: {np.mean(guess == digits.test_labels):.4f}")


if __name__ == "__main__":
    main()
