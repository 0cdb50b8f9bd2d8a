"""`np.random.default_rng(seed)` in a staged function, of a seed that is known while it is compiled.

Each call of the function makes that generator anew, so it draws the same numbers each time, which so are constants: of
NumPy's own streams.  How far the generator is is state, as an attribute of any object is: a text that says it.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ...diagnostics import located
from ..refusals import instead
from ..state.state import OfProgram
from ..tensor.tensor import Tensor
from ..trace.context import require
from ..trace.symint import SymInt

__all__ = ["Generator", "default_rng"]

#: What is drawn of numbers alone, and gives numbers or an array of them.
_DRAWS = frozenset(
    "beta binomial chisquare choice exponential f gamma geometric gumbel hypergeometric integers laplace logistic "
    "lognormal logseries negative_binomial noncentral_chisquare normal pareto permutation poisson power random "
    "rayleigh standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform "
    "vonmises wald weibull zipf".split()
)
#: What NumPy is given as it is.
_PLAIN = (int, float, bool, str, np.generic, np.dtype, type, type(None))


def default_rng(seed: Any = None) -> Generator:
    """``np.random.default_rng(seed)`` of an int, or several; TxcError where only a call knows the seed."""
    if isinstance(seed, Generator):
        return seed
    with located():
        if seed is None or isinstance(seed, (Tensor, SymInt)):
            raise _refusal(
                "np.random.default_rng of a seed that is no number in the text", instead("np.random.default_rng")
            )
        return Generator(np.random.default_rng(seed))


class Generator(OfProgram):
    """What `np.random.default_rng` gives."""

    def __init__(self, generator: np.random.Generator):
        self.at: Any = repr(generator.bit_generator.state)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        """What `isinstance` asks."""
        return np.random.Generator

    def __getattr__(self, name: str) -> Any:
        if name in _DRAWS:
            return functools.partial(self._draw, name)
        if hasattr(np.random.Generator, name):
            with located():
                raise _refusal(f"{name} of a generator of random numbers", "use permutation(n) as an index for shuffle")
        raise AttributeError(f"'numpy.random._generator.Generator' object has no attribute {name!r}")

    def _draw(self, name: str, /, *given: Any, **named: Any) -> Any:
        with located():
            if not isinstance(self.at, str):
                where = "in a loop or behind a branch, where only a call knows which is the next,"
                raise _refusal(f"a draw of random numbers {where}", "draw all before: rng.normal(size=n)")
            generator = np.random.default_rng(0)
            generator.bit_generator.state = ast.literal_eval(self.at)
            drawn = getattr(generator, name)(*map(_number, given), **{n: _number(v) for n, v in named.items()})
            self.at = repr(generator.bit_generator.state)
            return require().capture(drawn).copy() if isinstance(drawn, np.ndarray) else drawn


def _number(value: Any) -> Any:
    """An argument of a draw as NumPy takes it; sizes become facts of the call."""
    if isinstance(value, (tuple, list)):
        numbers = [_number(v) for v in value]
        return tuple(numbers) if type(value) is tuple else numbers
    if isinstance(value, SymInt):
        return int(value)
    if isinstance(value, Tensor) or not isinstance(value, _PLAIN):
        what = "a draw of random numbers by values that only a call knows"
        raise _refusal(what, "scale what standard_normal or random draws")
    return value


def _refusal(what: str, hint: str) -> OpError:
    return OpError(f"{what} has no compiled form", hint, "TX0321")
