"""Arguments of every function of every example: what the export tests call from C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import txc

__all__ = ["CASES", "case"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _positive(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(50, 150, shape)


def _table() -> np.ndarray:
    return np.loadtxt(EXAMPLES / "data/digits.csv.gz", delimiter=",", dtype=np.float32)


def _weights() -> list[np.ndarray]:
    with np.load(EXAMPLES / "data/mlp_digits.npz") as file:
        return [file[name] for name in ("w1", "b1", "w2", "b2")]


#: By ``file.function``.
CASES: dict[str, Any] = {
    "black_scholes.normal": lambda: (_positive(33) / 100 - 1,),
    "black_scholes.black_scholes": lambda: (_positive(21), _positive(21)[::-1].copy(), _positive(21) / 100, 0.02, 0.3),
    "digits_classifier.nearest": lambda: (_normal(9, 20), _normal(31, 20)),
    "digits_classifier.digits_classifier": lambda: (_table()[:1300],),
    "digits_classifier.accuracy": lambda: (_table()[:1300],),
    "eigen_eval.by_hand": lambda: (_normal(5, 9),),
    "eigen_eval.eigen_eval": lambda: (_normal(50, 90),),
    "gaussian_blur.gaussian_blur": lambda: (_normal(42, 57), np.full(5, 0.2, np.float32)),
    "gelu.gelu_tanh": lambda: (_normal(40, 19),),
    "gelu.gelu": lambda: (_normal(40, 19),),
    "heat.heat": lambda: (_positive(30, 37), 0.2, 7),
    "k_means.k_means": lambda: (_positive(3, 40), _positive(3, 4), 3),
    "layer_norm.layer_norm": lambda: (_normal(60, 33), _normal(33), _normal(33), 1e-5),
    "mlp.layer": lambda: (_normal(33, 64), _normal(64, 20), _normal(20)),
    "mlp.mlp": lambda: (_normal(30, 64), *_weights()),
    "mlp_digits.mlp_digits": lambda: (_table()[:1300], *_weights()),
    "pairwise_distance.pairwise_distance": lambda: (_normal(150, 8), _normal(190, 8)),
    "softmax.softmax": lambda: (_normal(700, 130), 1.5),
}


def case(name: str) -> tuple[Any, tuple[Any, ...]]:
    """The compiled function of an example and its arguments."""
    file, _, function = name.partition(".")
    return txc.load(EXAMPLES / f"{file}.tx").functions[function], CASES[name]()
