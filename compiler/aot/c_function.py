"""Function pointers: a jitted function compiled for a C type, in this process, for libraries that call back.

``f.c_function("f64(f64)")`` is machine code at an `address` that any thread may call, without Python and its lock.
The function is traced for the type's numbers and elements, and compiled where the cache does not have its code
(`c_function_code.py`).
"""

from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dims.dims import dim, size_symbol
from ...dialects.registry import OpError
from ...dialects.types import DType
from ...runtime.loader.loader import LoadedObject, can_load, library_symbols
from ..cache.disk_cache import load_pointer, pointer_key, publish_pointer
from ..config.options import Options
from ..diagnostics import TxcError, head_of
from ..driver.gc_throttle import gc_throttled
from ..frontend.indexing.runtime_checks import with_runtime_checks
from ..frontend.staging.annotations import graph_of_parameters
from ..frontend.tensor.apply import as_tensor
from ..frontend.tensor.methods.elements import copy
from ..frontend.tensor.promotion import cast
from ..frontend.tensor.tensor import Tensor
from ..frontend.tx.parser import Parameter
from ..frontend.tx.types import Annotation
from ..progress import reported
from .c_signature import ExportError
from .c_type import POINTER, Bound, CFunctionType, CParameter, c_function_type

__all__ = ["HEAP", "CFunction", "c_function"]

#: What is called of the C library where temporaries do not fit on the stack.
HEAP = ("malloc", "free")


class CFunction:
    """Machine code of a jitted function that C calls, as a function of `type` at `address`.

    The code lives as long as this object, its `ctypes` or its `low_level_callable`: keep one of them while a library
    has the address.  It may run on any thread, and on several at once.
    """

    __slots__ = ("__weakref__", "_code", "_name", "_type", "address")

    def __init__(self, name: str, type_: CFunctionType, code: Any, address: int):
        self._name, self._type, self._code = name, type_, code
        self.address: int = address

    @property
    def type(self) -> str:
        """Its C type, as `c_function` takes it."""
        return str(self._type)

    @property
    def ctypes(self) -> Any:
        """It as a function of `ctypes`, which releases Python's lock for the call."""
        parameters = [_ctypes_type(p.dtype, p.pointer) for p in self._type.parameters]
        result = self._type.result
        made = ctypes.CFUNCTYPE(None if result is None else _ctypes_type(result), *parameters)(self.address)
        made.code = self._code  # pyright: ignore[reportAttributeAccessIssue]
        return made

    @property
    def low_level_callable(self) -> Any:
        """It as a `scipy.LowLevelCallable`; ImportError where there is no SciPy."""
        from scipy import LowLevelCallable

        return LowLevelCallable(self.ctypes)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} is an address of this process: pickle the jitted function")

    def __repr__(self) -> str:
        return f"<txc.jit {self._name}: {self._type} at {self.address:#x}>"


def _ctypes_type(dtype: DType | None, pointer: bool = False) -> Any:
    if dtype is None:
        return ctypes.c_void_p
    if dtype.is_complex or dtype.name in ("f16", "bf16"):  # which go by address only
        return ctypes.c_void_p
    found = np.ctypeslib.as_ctypes_type(dtype.numpy)
    return ctypes.POINTER(found) if pointer else found


def c_function(function: Callable[..., Any], type_: str, options: Options) -> CFunction:
    """Compile a Python function for a C type (`c_type.py`): its parameters, in order, are those that are no length.

    The result is returned; or, if the function has one parameter less than the type, stored at the address that has no
    length, else at the last one.  Then, and where there is no result, ``void`` or 1 as an ``i32`` is returned.  Numbers
    become floats, and integers wider ones, as the type has them.  Where the function has several parameters, and the
    type one address with a length, they are its elements.

    Where a check fails, what Python raises an error for, NaN is returned, or 0 as an ``i32`` beside a result that is
    stored; so too where there is no memory, a length does not fit, or an address is null.

    TxcError where the function is none of this type, and where it may fail and the type has no way to say so.
    """
    kind = c_function_type(type_)
    if options.gpu:
        raise TxcError(f"a function pointer runs on the CPU, and {function.__name__} on {options.device}", None,
                       'write f.options(device="cpu").c_function(…)', "TX0604")  # fmt: skip
    bound = _bind(function, kind)
    name = f"c_{re.sub(r'[^A-Za-z0-9_]', '_', function.__name__)}"
    with gc_throttled, reported(function.__name__):
        graph = with_runtime_checks(graph_of_parameters(function, bound.parameters, _Result(function, kind, bound)))
        if graph.compared:
            raise _wrong(function, kind, "it asks whether arguments are one object, which addresses do not say")
        key = pointer_key(graph, f"{kind} {bound.arguments} {bound.sizes} {bound.spread} {bound.result}", options)
        data = None if key is None else load_pointer(key)
        if data is None:
            from .c_function_code import compile_c_function  # start-up: for what is not kept

            try:
                data = compile_c_function(graph, name, kind, bound, options)
            except ExportError as error:
                raise _wrong(function, kind, str(error), error.hint) from None
            if key is not None:
                publish_pointer(key, data)
    code = _loaded(data, f"{name}{POINTER}")
    return CFunction(function.__name__, kind, code, code.addresses[f"{name}{POINTER}"])


def _loaded(data: bytes, name: str) -> Any:
    """An object in memory with the address of its function."""
    symbols = library_symbols(("memcpy", "memmove", "memset", *HEAP))
    if can_load(data):
        return LoadedObject(data, [name], symbols)
    from ..codegen.target.llvm_backend import load_object  # start-up: where txc's own loader does not load it

    return load_object(data, [name], symbols)


def _bind(function: Callable[..., Any], kind: CFunctionType) -> Bound:
    known = inspect.signature(function).parameters
    named = [p for p in known.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in known.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    if not named and any(p.kind is p.VAR_POSITIONAL for p in known.values()):
        raise _wrong(function, kind, "it takes any number of arguments", "write lambda x, y: f(x, y) around it")
    given = kind.given
    spread = result = None
    if len(given) == 1 and least > 1 and kind.parameters[given[0]].length is not None:
        spread, given = given[0], given * least
    elif len(given) == least + 1 and (result := kind.place_of_result) is not None:
        given.remove(result)
    if not least <= len(given) <= len(named) or least > len(named):
        raise _wrong(function, kind, f"the type has {len(given)} for its {len(named)} parameters")
    names = [p.name for p in named[: len(given)]]
    sizes: dict[str, int] = {}
    parameters = [_parameter(name, kind, at, spread, sizes, known) for name, at in zip(names, given)]
    return Bound(parameters, tuple(given), sizes, spread, result)


def _parameter(
    name: str, kind: CFunctionType, at: int, spread: int | None, sizes: dict[str, int], names: Any
) -> Parameter:
    """A parameter of the function.  Numbers are NumPy's scalars of their dtype, as those that C has wrap too."""
    given = kind.parameters[at]
    assert given.dtype is not None
    if not given.pointer or spread is not None:
        return Parameter(name, Annotation(given.dtype, ()))
    if given.count is not None:
        return Parameter(name, Annotation(given.dtype, (dim(given.count),)))
    if given.length is None:
        raise TxcError(f"{kind} does not say how many elements {name} has", None,
                       f"put the length beside it, as i32, {given}, or write {given.dtype}[3]", "TX0603")  # fmt: skip
    size = f"n{given.length}"
    while size in names:
        size += "_"
    sizes[size] = given.length
    return Parameter(name, Annotation(given.dtype, (size_symbol(size),)))


class _Result:
    """Makes what the function returned the C type's result."""

    def __init__(self, function: Callable[..., Any], kind: CFunctionType, bound: Bound):
        self.function, self.kind, self.bound = function, kind, bound

    def __call__(self, result: Any) -> Any:
        place = None if self.bound.result is None else self.kind.parameters[self.bound.result]
        wanted = self.kind.result if place is None else place.dtype
        if wanted is None and result is not None:
            raise self.wrong("it returns a value, and the type has no place for it")
        if result is None and (wanted is None or (place is None and self.kind.has_status)):
            return None
        if result is None or wanted is None:
            raise self.wrong("it returns nothing")
        if isinstance(result, (tuple, list, dict)) and not getattr(result, "stacked", False):
            raise self.wrong(f"it returns a {type(result).__name__}", "return an array: np.array([…])")
        tensor = as_tensor(result)
        self.check_shape(tensor, place)
        self.check_conversion(tensor, wanted)
        try:
            made = cast(tensor, wanted)
        except OpError as error:  # of a Python int that does not fit
            raise self.wrong(error.message, error.hint) from None
        return copy(made) if made.ndim else made

    def check_shape(self, tensor: Tensor, place: CParameter | None) -> None:
        """What is returned is a number; what is stored has a dim of as many elements as the type says, if it does."""
        if place is None or not (place.count or place.length is not None):
            if tensor.ndim:
                raise self.wrong(f"it returns {tensor.user_type}, not a number")
        elif tensor.ndim != 1 and not (place.count == 1 and not tensor.ndim):
            raise self.wrong(f"it returns {tensor.user_type}, not an array of one dim")
        elif place.count and tensor.user_type.dims not in ((), (dim(place.count),)):
            raise self.wrong(f"it returns {tensor.user_type}, and {place} has {place.count} elements")

    def check_conversion(self, tensor: Tensor, wanted: DType) -> None:
        """Numbers become floats, integers wider ones, Python's ints what they fit."""
        given = tensor.element
        if wanted.is_float or wanted.is_complex:
            if given.is_complex and not wanted.is_complex:
                raise self.wrong(f"it returns {given}, which is not converted to {wanted}", "take .real")
        elif not (tensor.weak == "int" and wanted.is_integer) and not np.can_cast(given.numpy, wanted.numpy, "safe"):
            how = f"convert it: np.{wanted.numpy.name}(…) or .astype"
            raise self.wrong(f"it returns {given}, which is not converted to {wanted}", how)

    def wrong(self, why: str, hint: str = "") -> TxcError:
        return _wrong(self.function, self.kind, why, hint)


def _wrong(function: Callable[..., Any], kind: CFunctionType, why: str, hint: str = "") -> TxcError:
    return TxcError(f"{function.__name__} is no {kind}: {why}", head_of(function), hint, "TX0604")
