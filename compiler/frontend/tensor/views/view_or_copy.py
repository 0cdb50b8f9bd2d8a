"""NumPy's rules for "view or copy", once: which functions give arrays that share memory with their arguments.

`RULES` has a row for each function that does not simply make a new array; every other function copies.  What is a view
only where strides allow it (`reshape`, `ravel`, `ascontiguousarray`) is decided by `merges` and `is_packed`; where that
needs facts of a call it is a `Perhaps`, which asks for them when a store makes the answer matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from .....dialects.dims.dims import dim, packed_strides
from .....dialects.registry import OPS, OpError
from ....diagnostics import TxcError, located, user_loc
from ...lazy.deferred import DeferredValue
from ...lazy.evaluate import evaluate_value
from ...trace.context import current, table
from ..as_array import AsArray
from ..memory import storage
from ..tensor import Tensor
from .composite_views import Perhaps, roots
from .strides import Ask, fact_of, is_packed, laid_out, made_strides, merges, strides_of

__all__ = [
    "RULES", "Flat", "Row", "Rule", "as_numpy_gives", "copied", "in_order", "is_in_columns", "laid_out_like",
    "packed_or_copy", "read_only", "reshaped", "rule_of",
]  # fmt: skip


class Rule(Enum):
    """What the result of a function shares with its argument."""

    VIEW = "always its memory"
    READ_ONLY = "its memory, which cannot be stored into through the result"
    STRIDES = "its memory where the strides of the argument allow that, else nothing"
    ASKED = "its memory, unless dtype, order or copy ask for another array"
    COPY = "nothing"


class Row(NamedTuple):
    """A rule, and where NumPy states it."""

    rule: Rule
    source: str


def _rows(rule: Rule, source: str, *functions: Any) -> dict[Any, Row]:
    return dict.fromkeys(functions, Row(rule, source))


RULES: Mapping[Any, Row] = {
    **_rows(Rule.VIEW, "numpy.transpose: 'A view is returned whenever possible'; permuted strides always are",
            np.transpose, np.permute_dims, np.matrix_transpose, np.linalg.matrix_transpose),
    **_rows(Rule.VIEW, "numpy.swapaxes, moveaxis, rollaxis: 'a view of a is returned'",
            np.swapaxes, np.moveaxis, np.rollaxis),
    **_rows(Rule.VIEW, "numpy.squeeze: 'always a itself or a view into a'", np.squeeze),
    **_rows(Rule.VIEW, "numpy.expand_dims: 'View of a with the number of dimensions increased'", np.expand_dims),
    **_rows(Rule.VIEW, "numpy.flip, rot90: 'A view is returned', in constant time",
            np.flip, np.flipud, np.fliplr, np.rot90),
    **_rows(Rule.VIEW, "numpy.split: 'A list of sub-arrays as views into ary'",
            np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit),
    **_rows(Rule.VIEW, "numpy.unstack: equivalent to iterating over moveaxis(x, axis, 0)",
            *filter(None, [getattr(np, "unstack", None)])),
    **_rows(Rule.VIEW, "numpy.atleast_1d, 2d, 3d: 'Copies are made only if necessary'",
            np.atleast_1d, np.atleast_2d, np.atleast_3d),
    **_rows(Rule.VIEW, "numpy.ix_: its result is made by reshapes of vectors", np.ix_),
    **_rows(Rule.VIEW, "numpy.real, imag: 'If val is real, the type of val is used'; a part of it, or itself",
            np.real, np.imag),
    **_rows(Rule.VIEW, "numpy.broadcast_arrays: 'views on the original arrays'; stores that overlap are refused here",
            np.broadcast_arrays),
    **_rows(Rule.READ_ONLY, "numpy.broadcast_to: 'A readonly view on the original array'", np.broadcast_to),
    **_rows(Rule.READ_ONLY, "numpy.diagonal: 'returns a read-only view'; numpy.diag of a matrix is that",
            np.diagonal, np.diag, np.linalg.diagonal),
    **_rows(Rule.READ_ONLY, "numpy.lib.stride_tricks.sliding_window_view: 'a readonly view is returned'",
            np.lib.stride_tricks.sliding_window_view),
    **_rows(Rule.STRIDES, "numpy.reshape: 'a new view object if possible; otherwise, it will be a copy'", np.reshape),
    **_rows(Rule.STRIDES, "numpy.ravel: 'A copy is made only if needed': the result is contiguous", np.ravel),
    **_rows(Rule.STRIDES, "numpy.ascontiguousarray, asfortranarray: the argument itself where it has that order",
            np.ascontiguousarray, np.asfortranarray),
    **_rows(Rule.ASKED, "numpy.asarray: 'No copy is performed if the input is already an ndarray with matching dtype'",
            np.asarray, np.asanyarray, np.require),
    **_rows(Rule.ASKED, "numpy.array: copy=True always copies, None if needed, False never", np.array),
    **_rows(Rule.ASKED, "numpy.astype: copy=False returns the input where nothing is to be done", np.astype),
    **_rows(Rule.ASKED, "numpy.nan_to_num: copy=False replaces values in place", np.nan_to_num),
    **_rows(Rule.ASKED, "numpy.einsum: 'views returned from einsum are now writeable whenever the input array is'",
            np.einsum),
    **_rows(Rule.ASKED, "numpy.meshgrid: with copy=False 'a view into the original arrays'", np.meshgrid),
}  # fmt: skip

_COPY = Row(Rule.COPY, "a new array")


def rule_of(f: Any) -> Row:
    """The row of a function of NumPy."""
    return RULES.get(f, _COPY)


#: Functions whose results of rank 0 are arrays even of numbers, and those that give numbers even of arrays.
_ARRAYS = frozenset({np.where, np.select, np.piecewise, np.copy, np.cross, np.tensordot, np.i0, np.roll, np.isin})
_NUMBERS = frozenset({np.nan_to_num, np.einsum, np.kron})


def as_numpy_gives(f: Any, result: Any, given: Any) -> Any:
    """The result of a call of `f`: an array or a number, with storage of its own or read-only, as NumPy's is."""
    if f in _ARRAYS:
        result = _each(result, lambda t: t if t.ndim else Tensor(t.value, layout=t.layout, boxed=True))
    elif f in _NUMBERS:
        result = _each(result, lambda t: t if t.ndim else Tensor(t.value, layout=t.layout))
    return _as_numpy_shares(f, result, given)


def _as_numpy_shares(f: Any, result: Any, given: Any) -> Any:
    rule = rule_of(f).rule
    if rule is Rule.READ_ONLY:
        return _each(result, lambda t: read_only(t, f.__name__) if t.is_view else t)
    if rule is not Rule.COPY:
        return result
    arguments = {id(t) for t in _tensors(given)}
    return _each(result, lambda t: _owned(t) if _is_shared(t, arguments) else t)


def _is_shared(t: Tensor, arguments: set[int]) -> bool:
    """Whether a store into a result would be seen elsewhere."""
    latest = t.deferred_value
    return t.is_view or id(t) in arguments or (type(latest) is not DeferredValue and latest.node.op is None)


def _owned(t: Tensor) -> Tensor:
    return copied(t, "K") if t.ndim else Tensor(t.value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def _each(result: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A result with each tensor in it changed; other classes of tensors are left as they are."""
    if type(result) in (tuple, list):
        return type(result)(_each(r, change) for r in result)
    return change(result) if type(result) in (Tensor, Perhaps) else result


def _tensors(given: Any) -> Iterator[Tensor]:
    for x in given:
        if isinstance(x, Tensor):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _tensors(x)


def read_only(t: Tensor, name: str) -> Tensor:
    """`t`, a view that nobody else has, refusing stores."""
    t.frozen = name
    return t


def copied(x: Tensor, order: str | None) -> Tensor:
    """The same elements in storage of their own, laid out in NumPy's `order`."""
    if order not in (None, "C", "F", "A", "K"):
        raise OpError(f"there is no order {order!r}", "the orders are C, F, A and K", "TX0240")
    if current() is None and any(root.memory is not None for root in roots(x)):
        # An expression would see what is stored there later.
        array = storage.place(x)
        return x.attach_memory(evaluate_value(x.value) if array is None else array.copy())
    if current() is None:
        return Tensor(x.value, layout=x.layout, boxed=True)
    dims = x.type.dims
    if order == "F" or (order == "A" and in_order(x, "A") == "F"):
        strides = packed_strides(dims[::-1])[::-1]
    else:
        strides = made_strides(x.value) if order == "K" else packed_strides(dims)
    made = Tensor(laid_out(x.value, strides), layout=x.layout, boxed=True)
    made._held = lambda: strides
    return made


def in_order(x: Tensor, order: str | None) -> str:
    """``C`` or ``F``: the order of elements that an `order` of NumPy's means for `x`, by facts of the call."""
    if order in (None, "C", "F"):
        return order or "C"
    if order not in ("A", "K"):
        raise OpError(f"there is no order {order!r}", "the orders are C, F, A and K", "TX0240")
    if current() is None:
        return "C"
    dims, strides, ask = x.type.dims, strides_of(x), table().decide
    rows = _contiguous(x, ask)
    if rows:
        return "C"
    columns = is_packed(dims[::-1], None if strides is None else strides[::-1], ask)
    if columns or (order == "A" and rows is False and columns is False):
        return "F" if columns else "C"
    made = made_strides(x.value) if order == "K" else None
    if made not in (packed_strides(dims), packed_strides(dims[::-1])[::-1]):
        hint = "order='C' or order='F' says what is meant"
        raise OpError(f"the order {order!r} of {x.user_type} depends on strides known only at run time", hint, "TX0223")
    return "C" if made == packed_strides(dims) else "F"


def laid_out_like(made: Tensor, x: Tensor) -> Tensor:
    """A new array of the dims of `x`, in the order that those have in memory."""
    if current() is None:
        return made
    strides = made_strides(x.value)
    found = Tensor(laid_out(made.value, strides), layout=made.layout, boxed=True)
    found._held = lambda: strides
    return found


def reshaped(x: Tensor, view: Tensor, *, must_share: bool = False) -> Tensor:
    """NumPy's reshape of `x`, to what `view` is: a view where strides allow it, else a copy."""
    if is_number(x):
        return copied(view, "C")
    dims, wanted = x.type.dims, view.type.dims
    return _decided(x, view, lambda ask: merges(dims, strides_of(x), wanted, ask), "reshape", must_share)


def is_number(x: Tensor) -> bool:
    """Whether it is a scalar of NumPy's, of which there are no views."""
    return not x.ndim and not x.boxed and not x.is_view


def packed_or_copy(x: Tensor, view: Tensor, text: str) -> Tensor:
    """`view`, of the elements of `x` in their order, where `x` is C-contiguous; else a copy of it."""
    if is_number(x):
        return copied(view, "C")
    return _decided(x, view, lambda ask: _contiguous(x, ask), text, False, packed=True)


def _decided(
    x: Tensor, view: Tensor, shares: Callable[[Ask], bool | None], text: str, must_share: bool, packed: bool = False
) -> Tensor:
    answer = shares(table().decide if must_share else table().proves)
    if must_share and not answer:
        raise OpError(f"{text} of {x.user_type} would be a copy", "leave copy=False out", "TX0240")
    if answer is None and current() is not None:
        return Perhaps(x, view, shares, text, packed)
    return view if answer else copied(view, "C")


def _contiguous(x: Tensor, ask: Ask) -> bool | None:
    while x._parent is not None and x._op is None:
        x = x._parent
    fact = fact_of(x)
    if fact is not None:
        # An argument's fact is just this: sizes of 1 and 0 are regarded in it.
        return fact == ("packed",)
    return is_packed(x.type.dims, strides_of(x), ask)


def is_in_columns(x: Tensor) -> bool | None:
    """Whether an argument is F-contiguous, by facts of the call; None of others."""
    strides, ask = None if fact_of(x) is None else strides_of(x), table().decide
    if strides is None:
        return None
    return ask(x.type.size, "==", dim(0)) or is_packed(x.type.dims[::-1], strides[::-1], ask)


class Flat(AsArray):
    """``x.flat``: what is read of it is a copy, what is stored into it goes to `x`, whatever its strides.

    It is an iterator: its `place` is the number of the next element, -1 behind the last one, or a text where only who
    goes through it knows (`state.iterators`).  Like NumPy's, it is at its begin again where it is indexed.
    """

    def __init__(self, of: Tensor):
        self._of, self.place = of, 0

    place: Any

    def elements(self) -> Tensor:
        """All elements, as a view of rank 1."""
        return Tensor.view_of(self._of, OPS["reshape"], OPS["reshape"].bind([self._of.user_type], {"dims": (dim(-1),)}))

    def as_array(self) -> Tensor:
        """What NumPy makes of it."""
        return copied(self.elements(), "C")

    def _begin_again(self) -> None:
        if isinstance(self.place, str):
            text = "an element of flat is asked for in a loop that goes through it, which lets the loop begin again"
            raise TxcError(text, user_loc(), "index the array's own flat: x.flat[i]", "TX0315")
        self.place = 0

    def __getitem__(self, key: Any) -> Any:
        self._begin_again()
        found = self.elements()[key]
        return copied(found, "C") if found.ndim else Tensor(found.value)

    def __setitem__(self, key: Any, new: Any) -> None:
        self._begin_again()
        if is_number(self._of):
            with located():
                text = f"a store into flat of {self._of.user_type}, a number"
                raise OpError(text, "np.array(…) makes an array of it", "TX0220")
        self.elements()[key] = new.reshape(-1) if isinstance(new, Tensor) and new.ndim > 1 else new

    def __len__(self) -> int:
        return len(self.elements())

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        if not isinstance(self.place, int):
            text = "how far a loop or branch of compiled code has gone through flat is not known"
            raise TxcError(text, user_loc(), "take flat of the array anew", "TX0315")
        number, elements = self.place, self.elements()
        if number < 0 or not number < elements.shape[0]:
            self.place = -1
            raise StopIteration
        self.place = number + 1
        return Tensor(elements[number].value)
