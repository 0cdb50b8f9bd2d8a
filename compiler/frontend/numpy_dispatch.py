"""NumPy's protocols: ufuncs by what the registry says, the other functions by a table here.

Functions that txc has no equal of, and arguments that it does not take, are errors that name them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.registry import OPS, Map, OpError, Reduction, Scan

__all__ = [
    "dot", "fold_of", "function", "library_function", "matmul", "power", "recognised", "scan_of", "ufunc",
]  # fmt: skip

_ufuncs: dict[Any, str] = {}


def _known() -> dict[Any, str]:
    """Ops by NumPy function and by dotted name."""
    if not _ufuncs:
        for op in OPS.values():
            for spelled in (op.numpy, *op.also):
                if spelled is not None:
                    _ufuncs.setdefault(spelled, op.name)
    return _ufuncs


def recognised(f: Any) -> str | None:
    """The op that a function of NumPy, or of a library the registry names, means; None where there is none."""
    try:
        found = _known().get(f)
    except TypeError:
        return None
    if found is None and hasattr(f, "__name__"):
        # SciPy's ufuncs do not say where they live; `scipy.special` is the only library the registry names.
        module = getattr(f, "__module__", None) or "scipy.special"
        public = [part for part in module.split(".") if not part.startswith("_")]
        found = _known().get(".".join([*public, f.__name__.lstrip("_")]))
    return found


def library_function(f: Any) -> Any:
    """What staged code calls for a library's Python function that the registry names, but which knows arrays only."""
    name = recognised(f)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        from .apply import call as apply_op
        from .methods import reduce
        from .tensor import Tensor

        if name is None or not any(isinstance(a, Tensor) for a in args):
            return f(*args, **kwargs)
        return reduce(name, *args, **kwargs) if issubclass(OPS[name], Reduction) else apply_op(OPS[name], args, kwargs)

    return f if name is None or f.__module__.partition(".")[0] == "numpy" else call


def fold_of(f: np.ufunc) -> str | None:
    """The reduction that ``f.reduce`` means; None where there is none."""
    folds = [op for op in OPS.values() if issubclass(op, Reduction)]
    merged = [op.name for op in folds if getattr(op, "by", None) == recognised(f)]
    return next(iter(merged), None) or next((op.name for op in folds if op.numpy == f.reduce), None)


def scan_of(f: np.ufunc) -> str | None:
    """The scan that ``f.accumulate`` means; None where there is none."""
    fold = fold_of(f)
    return next((op.name for op in OPS.values() if issubclass(op, Scan) and op.by == fold), None)


def ufunc(f: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``f(*inputs)``, or ``f.reduce`` and ``f.outer``."""
    from .apply import apply, as_tensor, cast
    from .methods import _dtype, expand_dims, reduce, scan

    name = recognised(f)
    if f is np.matmul:
        name = "matmul"
    out = kwargs.pop("out", None)
    if name is None:
        raise OpError(f"np.{f.__name__} is not supported", _near(f.__name__), "TX0270")
    if method == "reduce":
        folded = fold_of(f)
        if folded is None:
            raise OpError(f"np.{f.__name__}.reduce is not supported", code="TX0270")
        return reduce(folded, inputs[0], kwargs.pop("axis", 0), **kwargs)
    if method == "at":
        return _at(name, *inputs)
    if method == "accumulate":
        running = scan_of(f)
        if running is None:
            raise OpError(f"np.{f.__name__}.accumulate is not supported", code="TX0270")
        return scan(running, inputs[0], kwargs.pop("axis", 0), **kwargs)
    if method == "outer":
        a, b = (as_tensor(x) for x in inputs)
        for _ in range(b.ndim):
            a = expand_dims(a, a.ndim)
        inputs, method = (a, b), "__call__"
    if method != "__call__":
        raise OpError(f"np.{f.__name__}.{method} is not supported", code="TX0270")
    where, element = kwargs.pop("where", True), kwargs.pop("dtype", None)
    kwargs = {k: v for k, v in kwargs.items() if not (k == "casting" and v == "same_kind")}
    if kwargs:
        raise OpError(f"np.{f.__name__} does not take {next(iter(kwargs))!r} here", code="TX0240")
    if element is not None:
        inputs = tuple(cast(as_tensor(x), _dtype(element)) for x in inputs)
    if name == "matmul":
        result = matmul(*inputs)
    elif f is np.fabs or f is np.power or f is np.float_power:
        result = power(*inputs) if f is not np.fabs else apply("abs", inputs[0])
    else:
        result = apply(name, *inputs)
    # A ufunc gives NumPy scalars, never Python ones, so what it returns is no longer weak.
    if getattr(result, "weak", ""):
        result = cast(result, result.element)
    target = out[0] if isinstance(out, tuple) else out
    if where is not True:
        if target is None:
            raise OpError(f"np.{f.__name__} with where= needs out=", "use np.where", "TX0240")
        result = apply("select", where, result, target)
    if target is None:
        return result
    if isinstance(target, np.ndarray):
        target = as_tensor(target)
    target.store(result)
    return target


def _at(name: str, x: Any, key: Any, *values: Any) -> None:
    """``f.at(x, key, value)``: unbuffered, so that an element named several times counts them all."""
    from .indexing import accumulate

    if len(values) != 1 or not issubclass(OPS[name], Map) or OPS[name].arity != 2:
        raise OpError(f"np.{name}.at takes an array, an index and one value", "store f(x[index]) instead", "TX0270")
    accumulate(x, key, name, values[0])


def power(x: Any, y: Any) -> Any:
    """``x ** y``, small whole exponents as products (as NumPy's fast paths do)."""
    from .apply import apply

    if isinstance(y, (int, float)) and not isinstance(y, bool) and not isinstance(y, np.generic):
        whole = {2: "square", 0.5: "sqrt"}.get(y)
        kind = getattr(getattr(x, "dtype", None), "kind", "")
        if whole == "square" or (whole == "sqrt" and kind == "f"):
            return apply(whole, x)
        if y == 1 and isinstance(y, int):
            return apply("positive", x)
    return apply("pow", x, y)


def function(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any other NumPy function."""
    from . import numpy_geometry, numpy_indexing, numpy_statistics  # noqa: F401  (add to the table)
    from .numpy_functions import FUNCTIONS

    handler: Callable[..., Any] | None = FUNCTIONS.get(f)
    if handler is None:
        name = recognised(f)
        if name is None:
            raise OpError(f"np.{f.__name__} is not supported", _near(f.__name__), "TX0270")
        from .apply import apply
        from .methods import reduce, scan

        if issubclass(OPS[name], Reduction):
            return reduce(name, *args, **kwargs)
        if issubclass(OPS[name], Scan):
            return scan(name, *args, **kwargs)
        return apply(name, *args, **kwargs)
    try:
        return handler(*args, **kwargs)
    except TypeError as error:
        if "argument" in str(error) and error.__traceback__ and error.__traceback__.tb_next is None:
            raise OpError(f"np.{f.__name__}: {error}", code="TX0240") from error
        raise


def _near(name: str) -> str:
    import difflib

    names = [f.__name__ for f in _known() if hasattr(f, "__name__")]
    near = difflib.get_close_matches(name, names, 2)
    return f"the nearest that is: {', '.join(near)}" if near else ""


def matmul(a: Any, b: Any) -> Any:
    """NumPy's matmul: vectors, matrices, and stacks of matrices (by a loop over the products' sum)."""
    from .apply import apply, as_tensor
    from .numpy_functions import batched_matmul

    a, b = as_tensor(a), as_tensor(b)
    if not a.ndim or not b.ndim:
        raise OpError("matmul takes no scalars", "use *", "TX0271")
    if b.ndim <= 2 and (a.ndim <= 2 or b.ndim == 2):
        return apply("contract", a, b, pairs=((a.ndim - 1, max(0, b.ndim - 2)),))
    if a.ndim <= 2 and b.ndim > 2 and a.ndim == 1:
        return apply("contract", a, b, pairs=((0, b.ndim - 2),))
    return batched_matmul(a, b)


def dot(a: Any, b: Any) -> Any:
    """NumPy's dot."""
    from .apply import apply, as_tensor

    a, b = as_tensor(a), as_tensor(b)
    if not a.ndim or not b.ndim:
        return apply("mul", a, b)
    return apply("contract", a, b, pairs=((a.ndim - 1, max(0, b.ndim - 2)),))
