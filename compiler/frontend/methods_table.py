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

from ...dialects.ops.structure.library import Library
from ...dialects.registry import OPS, OpError, Reduction, Scan
from ..diagnostics import located
from .indexing import data_dependent_sizes
from .indexing.basic import get, put
from .lazy import evaluate
from .lazy.op_templates import lookup_binary
from .numpy.dispatch import function, ufunc
from .numpy.functions.linalg.products import dot_, matmul, raised
from .refusals import instead
from .scalars.python_numbers import of_python
from .scalars.type_tests import python_type, type_name
from .tensor.apply import apply, as_tensor, call
from .tensor.memory.assignment import store
from .tensor.methods import reducing, table
from .tensor.tensor import Tensor
from .tensor.views.composite_views import BitsView, ComplexPartView
from .tensor.views.shape_assignment import give_shape
from .tensor.views.view_or_copy import Flat
from .trace.context import current
from .trace.graph import Graph
from .trace.symint import SymInt

__all__ = [
    "BitsView",
    "ComplexPartView",
    "Flat",
    "apply",
    "as_tensor",
    "compile_cache",
    "creation_of_frequencies",
    "data_dependent_sizes",
    "expand_library",
    "folded",
    "function",
    "get",
    "give_shape",
    "matmul",
    "method",
    "numpy_functions",
    "of_python",
    "put",
    "raised",
    "reduceat",
    "store",
    "tensor_repr",
    "ufunc",
    "undefined",
    "vectorized",
    "with_runtime_checks",
]


#: Methods that are NumPy's function of that name.
_FUNCTIONS = ("argpartition", "choose", "nonzero", "put", "repeat", "searchsorted")


def _as_function(name: str) -> Callable[..., Any]:
    """The method of arrays that is NumPy's function of the same name."""
    plain = getattr(np, name)
    return lambda x, *args, **kwargs: function(plain, (x, *args), kwargs)


def _compress(x: Tensor, condition: Any, *args: Any, **kwargs: Any) -> Tensor:
    return function(np.compress, (condition, x, *args), kwargs)


def _partition_in_place(x: Tensor, *args: Any, **kwargs: Any) -> None:
    put(x, ..., function(np.partition, (x, *args), kwargs))


def _round(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """NumPy's method, and Eigen's, which says what becomes of a half."""
    from .numpy.functions.elementwise import round_

    return call(OPS["round"], (x, *args), kwargs) if "half" in kwargs else round_(x, *args, **kwargs)


@functools.cache
def _methods() -> dict[str, Any]:
    """Methods by name; seen by other threads when it is whole."""
    from .numpy import random  # loaded for the first method that is asked for
    from .numpy.functions.searching import sorting
    from .numpy.functions.shaping import indexing
    from .scalars import custom_functions

    found: dict[str, Any] = {}
    for op in OPS.values():
        found.update(dict.fromkeys(op.methods, op))
    return {
        **found, **table.METHODS, **custom_functions.EXPRESSIONS, **sorting.METHODS, "dot": dot_,
        **{name: _as_function(name) for name in _FUNCTIONS}, "compress": _compress,
        "partition": _partition_in_place, "round": _round,
        "take": indexing.take, "random": random.random, "set_random": random.set_random,
    }  # fmt: skip


#: Methods that make Python's objects of elements: of the array that a tensor computes, outside of compiled functions.
_OF_ELEMENTS = frozenset({"tolist", "tobytes"})


def method(x: Tensor, name: str) -> Any:
    """The method of that name, bound to `x`; AttributeError where there is none."""
    found = _methods().get(name)
    if found is None and name in _OF_ELEMENTS and current() is None:
        return lambda *args: getattr(np.asarray(x), name)(*args)
    if found is None:
        with located():
            raise _absent(x, name)
    return lambda *args, **kwargs: _call_method(found, x, args, kwargs)


def _call_method(found: Any, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with located():
        if not isinstance(found, type):
            return found(x, *args, **kwargs)
        if issubclass(found, Reduction):
            return reducing.reduce(found.name, x, *args, **kwargs)
        if issubclass(found, Scan):
            return reducing.scan(found.name, x, *args, **kwargs)
        return call(found, (x, *args), kwargs)


def _absent(x: Tensor, name: str) -> Exception:
    """The error of an attribute that is no method here.

    In a compiled function it is refused if Python's object has it.  Elsewhere others may ask what a tensor has.
    """
    if current() is None or name.startswith("__"):
        return AttributeError(f"a tensor has no attribute {name!r}")
    kind = python_type(x)
    if not hasattr(kind, name):
        return AttributeError(f"'{type_name(x)}' object has no attribute {name!r}")
    what = "an array" if kind is np.ndarray else f"a run-time {kind.__name__}"
    hint = instead(f"{kind.__name__}.{name}") or instead(f"ndarray.{name}") or instead(f"float.{name}")
    return OpError(f"{name} of {what} has no compiled form", hint, "TX0270")


def undefined(name: str, a: Any, b: Any) -> Any:
    """An operator between a tensor and what has none for it: Python's error, which names what the tensor stands for."""
    if current() is None:
        return NotImplemented
    raise TypeError(f"{name} is not defined on '{type_name(a)}' and '{type_name(b)}'")


def vectorized(f: np.vectorize) -> Callable[..., Tensor]:
    """What a call of ``np.vectorize(f)`` is in a compiled function."""
    from .scalars.custom_functions import vectorized

    return vectorized(f)


def with_runtime_checks(graph: Graph) -> Graph:
    """What evaluates a lazy expression with its checks."""
    from .indexing.runtime_checks import with_runtime_checks

    return with_runtime_checks(graph)


def numpy_functions() -> dict[Any, Any]:
    """What calls of NumPy's functions do that are no ops."""
    from .numpy.functions.all import FUNCTIONS  # most programs need no family

    return FUNCTIONS


def folded(*args: Any, **kwargs: Any) -> Any:
    """A ufunc's `reduce` or `accumulate` that no reduction is named after."""
    from .numpy.functions.statistics.folds import folded

    return folded(*args, **kwargs)


def reduceat(*args: Any, **kwargs: Any) -> Any:
    """A ufunc's `reduceat`, which few call."""
    from .numpy.functions.statistics.segments import reduceat

    return reduceat(*args, **kwargs)


def creation_of_frequencies() -> dict[Any, Any]:
    """The functions of ``np.fft`` that make arrays."""
    from .numpy.fft import CREATION  # few programs transform

    return CREATION


def compile_cache() -> Any:
    """The module that compiles the graphs of lazy expressions, and runs them."""
    from ..driver import compile_cache

    return compile_cache


def tensor_repr() -> Any:
    """The module of what a tensor shows of itself."""
    from .tensor.printing import tensor_repr

    return tensor_repr


def expand_library(op: type[Library], tensors: Sequence[Tensor], params: dict[str, Any]) -> Any:
    """What an op of the library of .tx functions is made of."""
    from .tx.library import expand  # which loads the language

    return expand(op, tensors, params)


Tensor.functions = SymInt.functions = evaluate.functions = sys.modules[__name__]
Tensor.apply = staticmethod(apply)
Tensor.lookup_binary = staticmethod(lookup_binary)
