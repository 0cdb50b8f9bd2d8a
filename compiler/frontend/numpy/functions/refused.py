"""Functions of NumPy that make no arrays and have no compiled form: what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from .....dialects.registry import OpError
from ...refusals import instead

__all__ = ["REFUSED"]


def _refusal(function: Any, text: str, hint: str, code: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise OpError(text, hint, code)

    with suppress(ValueError):  # a builtin that does not say what it takes
        refuse.__signature__ = inspect.signature(function)  # pyright: ignore[reportFunctionMemberAccess]
    return refuse


#: What makes a generator of random numbers.
_GENERATORS = (
    "default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64",
)  # fmt: skip
#: What reads or changes something outside, and knows nothing of tensors.
_OUTSIDE = (
    "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt", "savez", "savez_compressed",
    "set_printoptions", "setbufsize", "seterr", "seterrcall",
)  # fmt: skip
REFUSED: dict[Any, Any] = (
    {
        getattr(np.random, name): _refusal(
            getattr(np.random, name),
            f"np.random.{name} has no compiled form: compiled code has other streams of numbers than NumPy",
            "write txc.random.uniform(shape, seed=seed), txc.random.normal(shape, seed=seed) of txc's own streams, "
            "or draw outside the function and pass the array",
            "TX0321",
        )
        for name in _GENERATORS
    }
    | {
        np.nditer: _refusal(
            np.nditer,
            "np.nditer, an iterator over arrays in memory, has no compiled form",
            "write for i in range(x.size) with x.reshape(-1)[i], or operations on whole arrays",
            "TX0270",
        )
    }
    | {
        f: _refusal(f, f"{name} has no compiled form: it would run once, not each call", instead(name), "TX0317")
        for name, f in (*((f"np.{n}", getattr(np, n)) for n in _OUTSIDE), *((f.__name__, f) for f in (open, input)))
    }
)
