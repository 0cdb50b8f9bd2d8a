"""Initialisers: ``initializer(shape, dtype)`` makes the symbolic tensor that a variable starts from.

The source of the semantics is the TensorFlow notes (``init_ops``).  Random ones draw the same numbers in every run of a
session: their seed, which is the next of a sequence where none is given, is part of the graph.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...numpy import random
from ...staging.calls import functional
from .graph import Tensor, constant, filled, host_array, operation
from .host_tensor import data_type_of, numpy_type_of

__all__ = [
    "Constant", "Ones", "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal", "UniformUnitScaling",
    "VarianceScaling", "Zeros",
]  # fmt: skip

_seeds = itertools.count()
#: The probability that a standard normal variable is below -2.
_BELOW_TWO = 0.5 * math.erfc(math.sqrt(2))


class Zeros:
    """Zeros of the dtype."""

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(np.zeros(shape, numpy_type_of(data_type_of(dtype))))


class Ones:
    """Ones of the dtype."""

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(np.ones(shape, numpy_type_of(data_type_of(dtype))))


class Constant:
    """The elements of `value` in row-major order, the last one filling up what is left of the shape.

    ValueError for more elements than the shape has; TypeError for any other shape where `verify_shape` is set.
    """

    def __init__(self, value: Any = 0, verify_shape: bool = False):
        self._value, self._verify = value, verify_shape

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(filled(host_array(self._value, dtype), shape, self._verify))


class _Random:
    """An initialiser with a seed: None takes the next of a sequence."""

    def __init__(self, seed: int | None):
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise TypeError(f"a seed is an int, not {seed!r}")
        self._seed = seed

    def _drawn(self, name: str, draw: Callable[..., Any], shape: Any, dtype: Any) -> Tensor:
        """``draw(shape, dtype, seed)`` as an operation.  TypeError for a dtype that is no float."""
        made = numpy_type_of(data_type_of(dtype))
        if made.kind != "f":
            raise TypeError(f"random initial values are floats, not {made}")
        seed = next(_seeds) if self._seed is None else self._seed
        sizes = tuple(int(n) for n in shape)
        return operation(name, lambda: draw(sizes, made, seed))


class RandomUniform(_Random):
    """Evenly distributed in [minval, maxval)."""

    def __init__(self, minval: float = 0.0, maxval: float = 1.0, seed: int | None = None):
        super().__init__(seed)
        self._low, self._high = minval, maxval

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        def draw(sizes: Sequence[int], element: Any, seed: int) -> Any:
            return random.uniform(sizes, self._low, self._high, dtype=element, seed=seed)

        return self._drawn("random_uniform", draw, shape, dtype)


class RandomNormal(_Random):
    """Normally distributed."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None):
        super().__init__(seed)
        self._mean, self._deviation = mean, stddev

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        def draw(sizes: Sequence[int], element: Any, seed: int) -> Any:
            return random.normal(sizes, self._mean, self._deviation, dtype=element, seed=seed)

        return self._drawn("random_normal", draw, shape, dtype)


class TruncatedNormal(_Random):
    """Normally distributed, but never more than two standard deviations from the mean."""

    def __init__(self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None):
        super().__init__(seed)
        self._mean, self._deviation = mean, stddev

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        def draw(sizes: Sequence[int], element: Any, seed: int) -> Any:
            share = random.uniform(sizes, _BELOW_TWO, 1 - _BELOW_TWO, dtype=element, seed=seed)
            return share.ndtri() * self._deviation + self._mean

        return self._drawn("truncated_normal", draw, shape, dtype)


class UniformUnitScaling(_Random):
    """Uniform in ±factor · sqrt(3 / n), n being the product of all sizes but the last: outputs are scaled as inputs."""

    def __init__(self, factor: float = 1.0, seed: int | None = None):
        super().__init__(seed)
        self._factor = factor

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        limit = math.sqrt(3 / max(1, math.prod(shape[:-1]))) * self._factor
        return RandomUniform(-limit, limit, self._seed)(shape, dtype)


class VarianceScaling(_Random):
    """Of variance scale / n, n by `mode`: ``fan_in``, ``fan_out`` or ``fan_avg``.

    `distribution` is ``normal`` (truncated at two standard deviations) or ``uniform``.  ValueError for others.
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "normal", seed: int | None = None):
        super().__init__(seed)
        for given, allowed in ((mode, ("fan_in", "fan_out", "fan_avg")), (distribution, ("normal", "uniform"))):
            if given not in allowed:
                raise ValueError(f"{given!r} is not one of {', '.join(allowed)}")
        if scale <= 0:
            raise ValueError(f"scale must be positive, not {scale}")
        self._scale, self._mode, self._distribution = scale, mode, distribution

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        fan_in, fan_out = _fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self._mode]
        variance = self._scale / max(1.0, n)
        if self._distribution == "normal":
            return TruncatedNormal(0.0, math.sqrt(variance), self._seed)(shape, dtype)
        limit = math.sqrt(3 * variance)
        return RandomUniform(-limit, limit, self._seed)(shape, dtype)


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Inputs and outputs of a unit of weights of a shape: the last two sizes, times those before them (a window's)."""
    if len(shape) < 2:
        return (1.0, 1.0) if not shape else (float(shape[0]), float(shape[0]))
    window = math.prod(shape[:-2])
    return float(shape[-2] * window), float(shape[-1] * window)


class Orthogonal(_Random):
    """`gain` times a matrix with orthonormal columns (rows, where it is wide) of a random rotation.

    More than two dims are taken together but the last.  ValueError for fewer than two.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None):
        super().__init__(seed)
        self._gain = gain

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"an orthogonal matrix has two dims or more, not the shape {list(shape)}")
        rows, columns = math.prod(shape[:-1]), shape[-1]

        def draw(sizes: Sequence[int], element: Any, seed: int) -> Any:
            tall = (max(rows, columns), min(rows, columns))
            made = _orthonormal(random.normal(tall, dtype=element, seed=seed))
            return (made.T if rows < columns else made).reshape(sizes) * self._gain

        return self._drawn("orthogonal", draw, shape, dtype)


def _orthonormal(a: Any) -> Any:
    """Orthonormal columns that span those of `a`: Gram and Schmidt's, each column twice, which is as good as QR."""

    def column(j: Any, q: Any) -> Any:
        v = a[:, j]
        for _ in range(2):
            v = v - q @ (q.T @ v)
        q[:, j] = v / (v * v).sum().sqrt()
        return q

    return functional.fori_loop(0, a.shape[1], column, a * 0)
