"""NumPy's protocols: ufuncs by what the registry says, the other functions by a table here.

Functions that txc has no equal of, and arguments that it does not take, are errors that name them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.registry import OPS, Map, OpError, Reduction, Scan
from ....dialects.types import dtype
from ...diagnostics import located
from ..indexing.basic import accumulate
from ..refusals import instead
from ..tensor.apply import apply, as_tensor
from ..tensor.apply import call as apply_op
from ..tensor.memory.storage import place
from ..tensor.methods.elements import checked_cast, element_named
from ..tensor.methods.reducing import reduce, scan
from ..tensor.methods.reshaping import expand_dims
from ..tensor.promotion import cast, strong
from ..tensor.tensor import Tensor
from ..tensor.views.view_or_copy import as_numpy_gives
from ..trace.context import current
from .complex_order import PAIRS
from .functions.linalg.products import matmul, power
from .functions.registry import call
from .out_arrays import into
from .ufunc_table import dotted_name, elementwise_op, find_op_for, is_numpys, reduction_for, scan_of

__all__ = ["function", "has_handler", "library_function", "ufunc"]

#: Functions of two numbers that promotion goes by other rules for: integers are compared as they are.
_COMPARED = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


def library_function(f: Any) -> Any:
    """What staged code calls for a library's Python function that is known here, but which itself knows arrays only."""
    if not dotted_name(f).startswith("scipy."):  # the only library whose functions are known
        return f
    name, handler = find_op_for(f), _handler(f)

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(a, Tensor) for a in (*args, *kwargs.values())):
            return f(*args, **kwargs)
        if handler is not None:
            with located():
                return handler(*args, **kwargs)
        assert name is not None
        return reduce(name, *args, **kwargs) if issubclass(OPS[name], Reduction) else apply_op(OPS[name], args, kwargs)

    return f if name is None and handler is None else call


def ufunc(f: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``f(*inputs)``, or a method of `f`, with all of NumPy's arguments that have a meaning for tensors."""
    op = None if kwargs or method != "__call__" or _of_complex(f, inputs) else elementwise_op(f)
    if op is not None:
        return strong(apply(op, *(inputs if is_numpys(f) else _in_librarys_loop(f, inputs))))
    name = find_op_for(f)
    if name is None and _handler(f) is None and f is not np.matmul:
        raise _refused(f)
    if method != "__call__" and name is None:
        raise OpError(f"{_spelled(f)}.{method} is not supported", code="TX0270")
    if method == "at":
        assert name is not None
        return f.at(*map(_elements, inputs)) if isinstance(inputs[0], np.ndarray) else _at(name, *inputs)
    if method in ("reduce", "accumulate"):
        found = reduction_for(f) if method == "reduce" else scan_of(f)
        given = {k: v[0] if k == "out" and isinstance(v, tuple) else v for k, v in kwargs.items()}
        if found is None:
            return strong(Tensor.functions.folded(f, method, *inputs, **given))
        x, axis, *rest = (*inputs, given.pop("axis", 0)) if len(inputs) == 1 else inputs
        return strong((reduce if method == "reduce" else scan)(found, x, axis, *rest, **given))
    if method == "reduceat" and name is not None and (reduction := reduction_for(f)) is not None:
        given = {k: v[0] if k == "out" and isinstance(v, tuple) else v for k, v in kwargs.items()}
        return Tensor.functions.reduceat(f, name, reduction, *inputs, **given)
    if method == "outer":
        a, b = (as_tensor(x) for x in inputs)
        for _ in range(b.ndim):
            a = expand_dims(a, a.ndim)
        inputs, method = (a, b), "__call__"
    if method != "__call__":
        raise OpError(f"np.{f.__name__}.{method} is not supported", code="TX0270")
    return _elementwise(f, name, inputs, kwargs)


def has_handler(f: Any) -> bool:
    """Whether a function, or None, is one of NumPy's that are more than an op."""
    return callable(f) and _handler(f) is not None


def _refused(f: Any) -> OpError:
    """The error of a function that has no compiled form."""
    name = _spelled(f)
    return OpError(f"{name} is not supported", instead(name) or _WITHOUT_ONE, "TX0270")


#: What to write instead of functions of other libraries, which no table lists.
_WITHOUT_ONE = "write it with functions of NumPy on whole arrays, or call it outside and pass what it gives"


def _handler(f: Any) -> Any:
    """What a call of a function that is no op does; None where there is nothing."""
    known = Tensor.functions.numpy_functions()
    found = known.get(f)
    return known.get(dotted_name(f)) if found is None and hasattr(f, "__name__") else found


def _elementwise(f: Any, name: str | None, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a ufunc, its `dtype`, `casting`, `where` and `out` applied around the op."""
    handler = _handler(f) if name is None or f is np.float_power else None
    out, where, casting = kwargs.pop("out", None), kwargs.pop("where", True), kwargs.pop("casting", "same_kind")
    element = kwargs.pop("dtype", None)
    # Tensors have no subclasses, and no order in memory that a program could see.
    kwargs.pop("subok", None)
    if kwargs.get("order") in ("K", "A", "C"):
        del kwargs["order"]
    own = {k: kwargs.pop(k) for k in ("axis",) if handler is not None and k in kwargs}
    if kwargs:
        argument, value = next(iter(kwargs.items()))
        raise OpError(f"np.{f.__name__} does not take {argument}={value!r} here", "leave it out", "TX0240")
    if element is not None:
        tensors = [as_tensor(x) for x in inputs]
        inputs = tuple(cast(t, checked_cast(t, element_named(element), casting)) for t in tensors)
    if isinstance(f, np.ufunc) and f.signature is None:
        inputs = _in_loop(f, inputs) if is_numpys(f) else _in_librarys_loop(f, inputs)
    if f is np.matmul:
        result = matmul(*inputs)
    elif handler is not None:
        result = handler(*inputs, **own)
    elif _of_complex(f, inputs):
        result = PAIRS[f](*inputs)
    elif f is np.fabs or f is np.power:
        result = power(*inputs) if f is np.power else apply("abs", inputs[0])
    elif f is np.reciprocal and as_tensor(inputs[0]).element.is_integer:
        x = as_tensor(inputs[0])
        result = cast(apply("inverse", cast(x, dtype("f64"))), x.element)
    else:
        assert name is not None
        result = apply(name, *inputs)
    results = strong(tuple(map(_as_number, result if isinstance(result, tuple) else (result,))))
    targets = out if isinstance(out, tuple) else (out,) * len(results)
    placed = [_store_out(f, r, target, where, casting) for r, target in zip(results, targets)]
    return tuple(placed) if isinstance(result, tuple) else placed[0]


def _of_complex(f: np.ufunc, inputs: tuple[Any, ...]) -> bool:
    """Whether it is of complex numbers, which no op compares."""
    return f in PAIRS and any(as_tensor(x).element.is_complex for x in inputs)


def _as_number(result: Tensor) -> Tensor:
    """The result of a ufunc: of rank 0 it is a number of NumPy's, no array."""
    return Tensor(result.value, layout=result.layout, weak=result.weak) if result.boxed else result


def _in_loop(f: np.ufunc, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands as the loop takes them that NumPy has for their dtypes; OpError where it has none.

    Casts bools and integers where the loop has floats or wider integers; promotion does the rest.  What has no dtype of
    NumPy's own (bf16) goes by promotion alone.
    """
    tensors = [as_tensor(x) for x in inputs]
    loop = None if f in _COMPARED else _resolved(f, tensors)
    if loop is None or any(t.element.is_float or t.element.is_complex for t in tensors):
        return inputs
    return tuple(
        cast(t, dtype(wanted)) if wanted.kind in "fiu" and wanted.kind != t.element.numpy.kind else x
        for x, t, wanted in zip(inputs, tensors, loop)
    )


def _in_librarys_loop(f: np.ufunc, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same of another library, whose loops are its own: SciPy has none for f16, and takes int8 to f32 or f64."""
    tensors = [as_tensor(x) for x in inputs]
    loop = _resolved(f, tensors)
    return inputs if loop is None else tuple(cast(t, dtype(wanted)) for t, wanted in zip(tensors, loop))


def _resolved(f: np.ufunc, tensors: list[Tensor]) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes of the loop that `f` has for these operands; None where one's dtype is not NumPy's own."""
    if any(t.element.numpy.kind not in "biufc" for t in tensors):
        return None
    given = tuple(_WEAK.get(t.weak, t.element.numpy) for t in tensors)
    try:
        return f.resolve_dtypes(given + (None,) * f.nout)
    except TypeError as error:
        types = " and ".join(str(t.user_type) for t in tensors)
        library = "NumPy" if is_numpys(f) else "SciPy"
        raise OpError(
            f"{_spelled(f)} is not defined on {types}, in {library} neither", "cast first", "TX0112"
        ) from error


#: What NumPy's promotion knows Python's numbers as.
_WEAK: dict[str, type] = {"int": int, "float": float, "complex": complex}


def _store_out(f: Any, result: Any, target: Any, where: Any, casting: str) -> Any:
    """`result`, or `target` with it stored where `where` is true."""
    if where is not True and target is None:
        raise OpError(f"np.{f.__name__} with where= needs out=", "use np.where", "TX0240")
    if target is None:
        return result
    return into(target, result, f, casting=casting, where=where, broadcasts=True)


def _at(name: str, x: Any, key: Any, *values: Any) -> None:
    """``f.at(x, key, value)``: unbuffered, so that an element named several times counts them all."""
    if len(values) != 1 or not issubclass(OPS[name], Map) or OPS[name].arity != 2:
        raise OpError(f"np.{name}.at takes an array, an index and one value", "store f(x[index]) instead", "TX0270")
    accumulate(x, key, name, values[0])


#: Functions that may give numbers of Python's: an attribute of what they are given, a bool, or an int.
_PYTHONS = (np.real, np.imag, np.allclose, np.array_equal, np.array_equiv, np.linalg.matrix_rank)


#: Functions that write values to files or as text: of lazy tensors NumPy's own, of their elements.
_OF_ELEMENTS = frozenset(
    {np.save, np.savez, np.savez_compressed, np.savetxt, np.array2string, np.array_repr, np.array_str}
)


#: Functions that store into an array: into one of NumPy's, which no lazy tensor is, NumPy's own.
_STORING = frozenset({np.copyto, np.place, np.put, np.put_along_axis, np.putmask})


#: Functions that ask where elements lie: of lazy tensors NumPy's own, of what is in memory.
_OF_MEMORY = frozenset({np.may_share_memory, np.shares_memory})


def function(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Any other NumPy function."""
    if current() is None and (of := _of_numpys(f, args)):
        return f(*map(of, args), **{name: of(value) for name, value in kwargs.items()})
    if _handler(f) is None:
        name = find_op_for(f)
        if name is None:
            raise _refused(f)
        if issubclass(OPS[name], Reduction):
            return strong(reduce(name, *args, **kwargs))
        if issubclass(OPS[name], Scan):
            return strong(scan(name, *args, **kwargs))
        return as_numpy_gives(f, strong(apply(name, *args, **kwargs)), args)
    result = call(f, args, kwargs)
    return result if f in _PYTHONS else strong(result)


def _of_numpys(f: Any, args: tuple[Any, ...]) -> Callable[[Any], Any] | None:
    """What NumPy's own function is given for lazy tensors, where that is what is called; else None."""
    stores = f in _STORING and args and isinstance(args[0], np.ndarray)
    return _elements if f in _OF_ELEMENTS or stores else _memory if f in _OF_MEMORY else None


def _elements(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_elements, value))
    return np.asarray(value) if isinstance(value, Tensor) else value


def _memory(value: Any) -> Any:
    """Where the elements of a tensor lie; of one that is not in memory nowhere, which no array shares."""
    if not isinstance(value, Tensor):
        return value
    found = place(value)
    return np.empty(0) if found is None else found


def _spelled(f: Any) -> str:
    """How the user's code names a function; SciPy's ufuncs do not say where they live, nor do those made by NumPy."""
    if isinstance(f, np.ufunc) and f.__name__.endswith(" (vectorized)"):
        return "np.frompyfunc"
    module = getattr(f, "__module__", None)
    if module is None:
        module = "numpy" if getattr(np, f.__name__, None) is f else "scipy.special"
    module = "np.emath" if module == "numpy.lib.scimath" else module.replace("numpy", "np", 1)
    return f"{module}.{f.__name__.lstrip('_')}"
