"""Functions of NumPy that make no arrays and have no compiled form: what to write instead."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, NoReturn

import numpy as np

from .....dialects.registry import OpError
from ...refusals import instead

__all__ = ["REFUSED", "refused_generators"]


class _Refusal:
    """What is called instead of a function, with its arguments: an error."""

    def __init__(self, function: Any, text: str, hint: str, code: str):
        self.function, self.text, self.hint, self.code = function, text, hint, code

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise OpError(self.text, self.hint, self.code)

    @property
    def __signature__(self) -> inspect.Signature:
        """The function's own, found where there is a call: finding all takes as long as ten modules."""
        try:
            return inspect.signature(self.function)
        except ValueError as error:  # a builtin that does not say what it takes: by the arguments above
            raise AttributeError(str(error)) from None


#: What makes a generator of random numbers.
_GENERATORS = (
    "default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64",
)  # fmt: skip
#: What reads or changes something outside, and knows nothing of tensors.
_OUTSIDE = (
    "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt", "savez", "savez_compressed",
    "set_printoptions", "setbufsize", "seterr", "seterrcall",
)  # fmt: skip
REFUSED: dict[Any, Any] = {
    np.nditer: _Refusal(
        np.nditer,
        "np.nditer, an iterator over arrays in memory, has no compiled form",
        "write for i in range(x.size) with x.reshape(-1)[i], or operations on whole arrays",
        "TX0270",
    )
} | {
    f: _Refusal(f, f"{name} has no compiled form: it would run once, not each call", instead(name), "TX0317")
    for name, f in (*((f"np.{n}", getattr(np, n)) for n in _OUTSIDE), *((f.__name__, f) for f in (open, input)))
}


@cache
def refused_generators() -> dict[Any, Any]:
    """What makes generators, for programs that have imported `numpy.random`: it takes as long as forty modules."""
    return {
        getattr(np.random, name): _Refusal(
            getattr(np.random, name),
            f"np.random.{name} has no compiled form: compiled code has other streams of numbers than NumPy",
            "write txc.random.uniform(shape, seed=seed), txc.random.normal(shape, seed=seed) of txc's own streams, "
            "or draw outside the function and pass the array",
            "TX0321",
        )
        for name in _GENERATORS
    }
