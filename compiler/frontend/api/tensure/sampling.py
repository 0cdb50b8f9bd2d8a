"""Tensors of random numbers, and the seed that they are drawn with: the document's *Creating tensors*.

Numbers are counted, not remembered (`compiler/frontend/numpy/random.py`): equal seeds give equal tensors, on any number
of threads. All draws of a process continue one sequence, which `set_rng_seed`, or a seed given to a draw, starts anew.
They are not the numbers of the document's own generator.
"""

from __future__ import annotations

import threading
from typing import Any

from .....dialects.registry import OpError
from .....dialects.types import DTYPES
from ....diagnostics import located
from ...numpy import random
from ...tensor.apply import apply
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from ...trace.context import current
from ...trace.symint import is_integer
from .arguments import element_of, number, sizes_of
from .storage import storage_of, wrapped

__all__ = ["sample_normal", "sample_rand_int", "sample_uniform", "set_rng_seed", "set_rng_seed_"]

_MASK = (1 << 64) - 1
#: From one draw's seed to the next: odd, so that all are visited, and far apart in every bit.
_STRIDE = 0x9E3779B97F4A7C15


class _Sequence:
    """The seed of the next draw."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.next = 0

    def start(self, seed: int) -> None:
        with self.lock:
            self.next = seed & _MASK

    def draw(self, seed: int | None) -> int:
        with self.lock:
            found = self.next if seed is None else seed & _MASK
            self.next = (found + _STRIDE) & _MASK
            return found


_sequence = _Sequence()


def set_rng_seed(seed: Any) -> None:
    """Start the sequence of all draws anew from `seed`, an int (no shape, no dtype).  TxcError for anything else."""
    with located():
        if current() is not None:
            raise OpError("set_rng_seed inside a compiled function would run only once", "give draws a seed", "TX0816")
        _sequence.start(_seed(seed, "set_rng_seed"))


#: The same function: the document's name ends with `!`.
set_rng_seed_ = set_rng_seed


def _seed(seed: Any, name: str) -> int:
    if not is_integer(seed):
        raise OpError(f"{name} takes an integer seed, not {seed!r}", code="TX0803")
    return int(seed)


def _drawn(shape: Any, seed: Any, dtype: Any, name: str, draw: Any) -> Tensor:
    with located():
        sizes, element = sizes_of([shape] if is_integer(shape) else shape, name), element_of(dtype, name)
        if current() is not None:
            if seed is None:
                raise OpError(
                    f"{name} inside a compiled function would draw the same numbers in every call",
                    "give it a seed, which may be an argument of the function",
                    "TX0816",
                )
            return wrapped(draw(sizes, element, seed))
        number = _sequence.draw(None if seed is None else _seed(seed, name))
        made = wrapped(draw(sizes, element, number))
        storage = storage_of(made)
        assert storage is not None
        storage.settle()  # cheaper than to draw again in every expression that reads it
        return made


def sample_uniform(shape: Any, seed: Any = None, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` (sizes, None for a scalar, or a number) drawn evenly from [0, 1).

    f32 unless `dtype` says f64.  With `seed`, an int, the sequence of draws starts anew from it first.  TxcError for
    what is no shape or seed, and without one inside a traced function.
    """
    return _drawn(shape, seed, dtype, "sample_uniform", lambda s, e, k: random.uniform(s, dtype=e.name, seed=k))


def sample_normal(shape: Any, seed: Any = None, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` (sizes, None for a scalar, or a number) drawn from the normal distribution (0, 1).

    f32 unless `dtype` says f64.  With `seed`, an int, the sequence of draws starts anew from it first.  TxcError for
    what is no shape or seed, and without one inside a traced function.
    """
    return _drawn(shape, seed, dtype, "sample_normal", lambda s, e, k: random.normal(s, dtype=e.name, seed=k))


def sample_rand_int(shape: Any, n: Any, seed: Any = None, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` (sizes, None for a scalar, or a number) drawn evenly from the whole numbers in [0, n).

    f32 unless `dtype` says f64: floats, as all elements are.  With `seed`, an int, the sequence of draws starts anew
    from it first.  TxcError for what is no shape, number or seed, and without one inside a traced function.
    """
    with located():
        limit = number(n, "sample_rand_int")
        wide = cast(limit, DTYPES["f64"]) if isinstance(limit, Tensor) else limit

    def draw(sizes: Any, element: Any, seed: Any) -> Tensor:
        # In f64, whose product with a fraction below 1 stays below `n` when it is rounded.
        fraction = random.uniform(sizes, dtype="f64", seed=seed)
        return cast(apply("floor", apply("mul", fraction, wide)), element)

    return _drawn(shape, seed, dtype, "sample_rand_int", draw)
