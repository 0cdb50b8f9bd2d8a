"""Generators of random numbers, which compiled code has not: what to write instead, of `txc.random`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from ....dialects.registry import OpError

__all__ = ["GENERATORS"]

_INSTEAD = "txc.random.uniform(shape, seed=seed), txc.random.normal(shape, seed=seed)"


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise OpError(
            f"np.random.{name} has no compiled form: compiled code has other streams of numbers than NumPy",
            f"write {_INSTEAD} of txc's own streams, or draw outside the function and pass the array",
            "TX0321",
        )

    with suppress(ValueError):  # a builtin that does not say what it takes
        refuse.__signature__ = inspect.signature(getattr(np.random, name))  # pyright: ignore[reportFunctionMemberAccess]
    return refuse


#: What makes a generator.
GENERATORS: dict[Any, Any] = {
    getattr(np.random, name): _refused(name)
    for name in (
        "default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64",
    )
}  # fmt: skip
