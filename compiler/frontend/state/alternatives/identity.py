"""``a is b`` of what compiled code decides: variables that refer to one array or another, and Python's bools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....dialects.registry import OpError
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.context import require
from ..loops.references import options_of
from ..sharing import is_array
from .choice import PerhapsOfOthers
from .one_of import OneOf, any_of

__all__ = ["is_same"]


def is_same(a: Any, b: Any) -> Any:
    """Whether two values are one object: a bool, or a bool of rank 0 where compiled code decides.

    OpError where nobody knows: of a variable that a loop lets name another array, or that may be one of others.
    """
    if a is b:
        return True
    if isinstance(a, OneOf) or isinstance(b, OneOf):
        one, other = (a, b) if isinstance(a, OneOf) else (b, a)
        return _any_of([(is_same(value, other), cond) for value, cond in one.known()])
    if is_array(a) and is_array(b):
        return _is_one_array(a, b)
    if _is_bool(a) and _is_bool(b) and (isinstance(a, Tensor) or isinstance(b, Tensor)):
        return Tensor(apply("equal", as_tensor(a), as_tensor(b)).value, weak="bool")
    return False


def _is_bool(value: Any) -> bool:
    """Whether a value is one of Python's bools, of which there are two."""
    return isinstance(value, bool) or (isinstance(value, Tensor) and value.weak == "bool" and not is_array(value))


def _is_one_array(a: Tensor, b: Tensor) -> Any:
    found: list[tuple[Any, Any]] = []
    for one, of_one in options_of(a):
        for other, of_other in options_of(b):
            if _is_one(one, other):
                found.append((True if of_one is None else of_one, True if of_other is None else of_other))
    return _any_of(found)


def _any_of(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Whether both bools are true of any pair, of which those that are known need no code."""
    terms: list[Tensor] = []
    for pair in pairs:
        if any(part is False for part in pair):
            continue
        unknown = [part for part in pair if part is not True]
        if not unknown:
            return True
        terms.append(unknown[0] if len(unknown) == 1 else apply("logical_and", *unknown))
    return Tensor(any_of(terms).value, weak="bool") if terms else False


def _is_one(a: Tensor, b: Tensor) -> bool:
    """Whether two arrays that are no choices are one."""
    if a is b:
        return True
    require().compare(a, b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, PerhapsOfOthers) or (one in require().stands_for and not _is_made_here(other)):
            raise OpError(
                "whether two variables name one array is not known here: a loop lets one of them name another array",
                "keep a bool of your own that says which array it is",
                "TX0291",
            )
    return False


def _is_made_here(t: Tensor) -> bool:
    """Whether an array came to be in the block that is open, so that nothing from before it is that array."""
    return all(root._home is require().block for root in roots(t))
