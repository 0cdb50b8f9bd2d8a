"""What staged code calls in place of Python's builtins and NumPy's creation functions."""

from __future__ import annotations

import functools
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ....call.signature import is_named
from ....diagnostics import TxcError, located, user_loc
from ...numpy.functions.creation.arrays import CREATION
from ...numpy.functions.refused import refused_generators
from ...numpy.functions.registry import FUNCTIONS, call
from ...numpy.seeded_generators import default_rng
from ...refusals import instead
from ...scalars.python_numbers import as_float, as_int
from ...scalars.scalars import SCALARS
from ...scalars.size_numbers import known_number, towards_zero
from ...scalars.type_tests import TYPE_TESTS
from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.containers.growing_lists import GrowingList
from ...state.containers.list_errors import unknown_length
from ...state.containers.staged_deques import StagedDeque
from ...state.containers.staged_dicts import StagedDict
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from ...trace.context import require, table
from ...trace.symint import SymInt, is_integer, sym_max, sym_min
from ...trace.undefined import Unusable
from ..iteration.iterables import StagedRange

__all__ = ["REPLACED", "Quiet", "as_text", "replacement", "staging_error"]


def staging_error(message: str, hint: str, code: str) -> TxcError:
    return TxcError(message, user_loc(), hint, code)


def _range(*args: Any) -> StagedRange:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    for bound in (start, stop, step):
        if isinstance(bound, Tensor) and (bound.ndim or not bound.element.is_integer):
            raise staging_error(f"the bounds of a range are ints, not {bound.user_type}", "use int()", "TX0316")
    if isinstance(step, Tensor):
        text = "range() arg 3 must not be zero"
        checked = apply("require", step, apply("not_equal", step, 0), text=text, error="ValueError")
        step = Tensor(checked.value, weak="int")
    return StagedRange(start, stop, step)


def _print(*values: Any, **_: Any) -> None:
    tensors = any(isinstance(v, (Tensor, SymInt)) for v in values)
    text = (
        "print of a tensor is not compiled" if tensors else "print is not compiled: it would print once, not each call"
    )
    raise staging_error(text, instead("print"), "TX0317")


class Quiet:
    """``warnings.catch_warnings()``: compiled code warns of nothing."""

    def __enter__(self) -> None:
        require().quiet += 1

    def __exit__(self, *_: Any) -> None:
        require().quiet -= 1


def _catch_warnings(*, record: bool = False, **_: Any) -> Quiet:
    if record:
        text = "warnings are recorded, which compiled code has none of"
        raise staging_error(text, "record them around the call of the compiled function", "TX0321")
    return Quiet()


def _filter_of_warnings(plain: Any) -> Callable[..., None]:
    def set_filter(*_: Any, **__: Any) -> None:
        if not require().quiet:
            text = f"warnings.{plain.__name__}() would be called once, while the function is compiled"
            raise staging_error(text, "call it within `with warnings.catch_warnings():`, or outside", "TX0321")

    return set_filter


def _of_values(plain: Any) -> Callable[..., Any]:
    """A function of Python's that takes values apart: of what is known only at run time there is no such thing."""

    def made(*values: Any, **named: Any) -> Any:
        given = [*values, *named.values()]
        for value in [*given, *(item for v in given if type(v) in (tuple, list) for item in v)]:
            if isinstance(value, Tensor):
                text = f"{plain.__name__}() of a {value.user_type}, whose value is known only when the function runs"
                raise staging_error(text, instead(plain.__name__), "TX0317")
        return plain(*values, **named)

    return made


def as_text(value: Any) -> Any:
    """A value of which the text is asked, as Python has it; an error for a tensor, and where one is inside.

    Sizes in it become facts of the call.
    """
    if isinstance(value, SymInt):
        return int(value)
    if isinstance(value, MixedNumber):
        return str(value)
    if isinstance(value, Unusable):
        raise value.error(user_loc())
    if type(value) in (tuple, list, set, frozenset):
        return type(value)(map(as_text, value))
    if isinstance(value, GrowingList):
        if value.stacked:
            raise unknown_length()
        return [*map(as_text, value)]
    if type(value) in (dict, StagedDict):
        return {as_text(key): as_text(item) for key, item in value.items()}
    if is_named(value):
        return value._make(map(as_text, value))
    if isinstance(value, Tensor):
        if (number := known_number(value)) is not None:
            return number
        text = f"the text of a {value.user_type} is asked, whose value is known only when the function runs"
        raise staging_error(text, instead("str"), "TX0317")
    return value


def _text_by(plain: Any) -> Callable[..., Any]:
    def made(value: Any = "", *rest: Any, **named: Any) -> Any:
        return plain(as_text(value), *rest, **named)

    return made


def _pow(base: Any, exponent: Any, modulus: Any = None) -> Any:
    if modulus is None:
        return pow(base, exponent)
    given = (base, exponent, modulus)
    if any(isinstance(v, Tensor) for v in given):
        raise staging_error("pow() with a modulus, of run-time numbers", instead("pow"), "TX0317")
    return pow(*(int(v) if isinstance(v, SymInt) else v for v in given))


def _len(value: Any) -> Any:
    if isinstance(value, (GrowingList, StagedDict, StagedRange)):
        return value.length
    if isinstance(value, Tensor):
        if not value.ndim:
            raise staging_error("len() of a rank-0 tensor", "it has no dims", "TX0318")
        return value.shape[0]
    return len(value)


def _float(value: Any = 0.0) -> Any:
    if isinstance(value, SymInt):
        return value * 1.0
    return as_float(_number("float", value)) if isinstance(value, Tensor) else float(value)


def _int(value: Any = 0, *base: Any) -> Any:
    if base:
        return int(value, *base)
    if isinstance(value, SymInt) and table().varies(value.dim):
        return value
    if not isinstance(value, Tensor):
        return int(value)
    if not value.ndim and (known := towards_zero(value)) is not None:
        return known
    if (number := known_number(value)) is not None:
        return int(number)
    with located():
        return as_int(_number("int", value))


def _number(kind: str, value: Tensor) -> Tensor:
    """One number, of which Python makes such a `kind`."""
    if value.ndim:
        raise staging_error(
            f"{kind}() takes one number, not {value.user_type}", "index the tensor, or use astype", "TX0318"
        )
    if value.weak == "complex":
        raise TypeError(f"{kind}() argument must be a string or a real number, not 'complex'")
    return value


def _stack(arrays: Any, axis: int = 0, **named: Any) -> Any:
    """``np.stack``, of which NumPy asks the items of a list."""
    if not isinstance(arrays, GrowingList) or not arrays.stacked:
        return np.stack(arrays, axis, **named)
    whole = arrays.as_array("need at least one array to stack")
    return whole if axis == 0 and not named else np.moveaxis(whole, 0, axis, **named)  # pyright: ignore


def _joining(plain: Any, along: Callable[[Any], tuple[Any, int]]) -> Callable[..., Any]:
    """A function of NumPy that joins arrays; `along` gives the items of a list, as one array, and their axis."""

    def join(arrays: Any, *rest: Any, **named: Any) -> Any:
        if rest or named or not isinstance(arrays, GrowingList) or not arrays.stacked:
            return plain(arrays, *rest, **named)
        items, axis = along(arrays.as_array("need at least one array to concatenate"))
        moved = np.moveaxis(items, 0, axis)
        before, (count, size, *behind) = moved.shape[:axis], moved.shape[axis:]
        return moved.reshape((*before, count * size, *behind))

    return join


def _as_rows(items: Any) -> tuple[Any, int]:
    return (items if items.ndim > 2 else items[:, None] if items.ndim == 2 else items[:, None, None]), 0


def _side_by_side(items: Any) -> tuple[Any, int]:
    return (items, 1) if items.ndim > 2 else (items if items.ndim == 2 else items[:, None], 0)


def _as_columns(items: Any) -> tuple[Any, int]:
    return (items if items.ndim > 2 else items[..., None] if items.ndim == 2 else items[:, None, None]), 1


def _extreme(plain: Any) -> Callable[..., Any]:
    """`max` or `min` of ints; of other numbers of compiled code see `comprehensions`."""

    def pick(*values: Any, **named: Any) -> Any:
        if not named and len(values) > 1 and all(map(is_integer, values)):
            return functools.reduce(sym_max if plain is max else sym_min, values)
        return plain(*values, **named)

    return pick


def _creation(f: Any) -> Callable[..., Any]:
    """A creation function of NumPy, given its arguments as NumPy's signature has them."""

    @functools.wraps(f)
    def create(*args: Any, **kwargs: Any) -> Any:
        with located():
            return call(f, args, kwargs)

    return create


#: By the function that the user calls: those of NumPy that its protocols do not hand over, and Python's.
REPLACED: dict[Any, Any] = {f: _creation(f) for f in (*CREATION, np.polynomial.polynomial.polyval)} | {
    range: _range,
    np.stack: _stack,
    np.concatenate: _joining(np.concatenate, lambda items: (items, 0)),
    np.vstack: _joining(np.vstack, _as_rows),
    np.hstack: _joining(np.hstack, _side_by_side),
    np.column_stack: _joining(np.column_stack, _as_columns),
    print: _print,
    str: _text_by(str),
    repr: _text_by(repr),
    format: _text_by(format),
    ascii: _text_by(ascii),
    pow: _pow,
    warnings.catch_warnings: _catch_warnings,
    **{f: _filter_of_warnings(f) for f in (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)},
    **{f: _of_values(f) for f in (set, frozenset, bytes, bytearray, memoryview, hash, id)},
    len: _len,
    deque: StagedDeque,
    float: _float,
    int: _int,
    max: _extreme(max),
    min: _extreme(min),
    **SCALARS,
    **TYPE_TESTS,
}


def replacement(called: Any) -> Any:
    """What staged code calls instead of a function; None where it calls that."""
    found = REPLACED.get(called)
    if found is None and isinstance(module := getattr(called, "__module__", None), str):
        if module.startswith("numpy.random"):
            return _generators().get(called)
        if module == "numpy.fft":
            return Tensor.functions.creation_of_frequencies().get(called)
    return found


@functools.cache
def _generators() -> dict[Any, Any]:
    FUNCTIONS.update(refused_generators())
    return {f: _creation(f) for f in refused_generators()} | {np.random.default_rng: default_rng}
