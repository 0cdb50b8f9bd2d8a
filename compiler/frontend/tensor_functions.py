"""What tensors and sizes do by functions that make tensors: given to the classes here, and nowhere else.

A class that everything is made of cannot import what is built on it.  `Tensor` and `SymInt` ask for a function by its
name in this module.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.ops.library import Library
from ...dialects.registry import OPS, Reduction, Scan
from ..diagnostics import located
from . import bound_sizes, methods
from .apply import apply, as_tensor, call
from .assignment import store
from .derived import Part
from .indexing import get, put
from .numpy_dispatch import function, ufunc
from .numpy_functions.products import dot, matmul, power
from .python_numbers import of_python
from .recipes import of_two
from .symint import SymInt
from .tensor import Tensor
from .view_or_copy import Flat

__all__ = [
    "Flat", "Part", "apply", "as_tensor", "bound_sizes", "expand_library", "function", "get",
    "matmul", "method", "of_python", "power", "put", "store", "ufunc", "vectorized",
]  # fmt: skip


@functools.cache
def _methods() -> dict[str, Any]:
    """Methods by name; seen by other threads when it is whole."""
    from . import elementwise, random  # loaded for the first method that is asked for
    from .numpy_functions import indexing, sorting

    found: dict[str, Any] = {}
    for op in OPS.values():
        found.update(dict.fromkeys(op.methods, op))
    return {
        **found, **methods.METHODS, **elementwise.EXPRESSIONS, **sorting.METHODS, "dot": dot,
        "take": indexing.take, "random": random.random, "set_random": random.set_random,
    }  # fmt: skip


def method(x: Tensor, name: str) -> Any:
    """The method of that name, bound to `x`; AttributeError where there is none."""
    found = _methods().get(name)
    if found is None:
        # Protocols look for what they would take first: no name of a method is near to these.
        raise AttributeError(name if name.startswith("__") else _no_attribute(name))
    return lambda *args, **kwargs: _call_method(found, x, args, kwargs)


def _call_method(found: Any, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with located():
        if not isinstance(found, type):
            return found(x, *args, **kwargs)
        if issubclass(found, Reduction):
            return methods.reduce(found.name, x, *args, **kwargs)
        if issubclass(found, Scan):
            return methods.scan(found.name, x, *args, **kwargs)
        return call(found, (x, *args), kwargs)


def _no_attribute(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(_methods()), 2)
    return f"a tensor has no attribute {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def vectorized(f: np.vectorize) -> Callable[..., Tensor]:
    """What a call of ``np.vectorize(f)`` is in a compiled function."""
    from .elementwise import vectorized

    return vectorized(f)


def expand_library(op: type[Library], tensors: Sequence[Tensor], params: dict[str, Any]) -> Any:
    """What an op of the library of .tx functions is made of."""
    from .library import expand  # which loads the language

    return expand(op, tensors, params)


Tensor.functions = SymInt.functions = sys.modules[__name__]
Tensor.apply = staticmethod(apply)
Tensor.again = staticmethod(of_two)
