"""`max` and `min`: of several values, and of the items of an iterable, by themselves or by a `key` of each.

Python's rule: the first item that no later one beats, so that NaN neither beats nor is beaten.  Tuples are compared by
the first of their parts that differ.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....diagnostics import located
from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.containers.growing_lists import GrowingList
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import demand
from ..calls.builtins import REPLACED
from ..regions.fork import not_one_bool
from ..rewriting.break_lowering import GENERATED_PREFIX
from .comprehensions import Comprehension, listed
from .generators import Generated

if TYPE_CHECKING:
    from ..runtime import StagedRuntime

__all__ = ["extreme"]

_THERE, _BEST, _KEY = (f"{GENERATED_PREFIX}{name}" for name in ("there", "best", "key"))


def extreme(plain: Any) -> Callable[..., Any]:
    """`max` or `min`, which is `plain`."""

    def pick(runtime: StagedRuntime, /, *values: Any, key: Any = None, **default: Any) -> Any:
        if not values or (default and len(values) > 1):
            return plain(*values, **default)  # Python's error
        if len(values) > 1:
            return _of_values(runtime, plain, values, key)
        items = next(iter(values))
        made = Comprehension.of(runtime, items)
        if made is not None and isinstance(made.first, Generated):
            return pick(runtime, listed(made), key=key, **default)
        if made is None:
            items = items if isinstance(items, (tuple, list)) else list(items)
            return _of_values(runtime, plain, items, key, **default)
        return _Search(runtime, plain, made, key, default).found()

    return pick


def _of_values(runtime: StagedRuntime, plain: Any, values: Sequence[Any], key: Any, **default: Any) -> Any:
    keys = values if key is None else [runtime.fn(key)(value) for value in values]
    if len(values) < 2 or not any(map(_is_computed, keys)):
        if key is None:
            return REPLACED[plain](*values) if len(values) > 1 else REPLACED[plain](values, **default)
        if not values:
            return plain(values, **default)
        return values[plain(range(len(values)), key=keys.__getitem__)]
    with located():
        of = zip(values, keys)
        return functools.reduce(lambda kept, other: _better(runtime, plain, kept, other), of)[0]


def _is_computed(key: Any) -> bool:
    """Whether only the compiled function knows what a value is compared by."""
    return isinstance(key, (Tensor, MixedNumber)) or (type(key) in (tuple, GrowingList) and any(map(_is_computed, key)))


def _better(runtime: StagedRuntime, plain: Any, kept: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Of two items, each with what it is compared by, the one that stays."""
    for _, key in (kept, other):
        if isinstance(key, Tensor) and key.ndim:
            raise not_one_bool(plain.__name__, key)
    beats = _less(runtime, kept[1], other[1]) if plain is max else _less(runtime, other[1], kept[1])
    if kept[0] is kept[1] and other[0] is other[1]:
        best = runtime.if_exp(beats, lambda: other[0], lambda: kept[0])
        return best, best
    return runtime.if_exp(beats, lambda: other, lambda: kept)


def _less(runtime: StagedRuntime, a: Any, b: Any) -> Any:
    """``a < b``, also of tuples, which the first parts that differ decide."""
    if not (type(a) is tuple and type(b) is tuple and a and b):
        return a < b
    (x, *p), (y, *q) = a, b
    return runtime.any_(
        lambda: _less(runtime, x, y),
        lambda: runtime.all_(lambda: runtime.compared(x) == y, lambda: _less(runtime, tuple(p), tuple(q))),
    )


class _Search:
    """Loops that look for the best item of a comprehension."""

    def __init__(self, runtime: StagedRuntime, plain: Any, made: Comprehension, key: Any, default: dict[str, Any]):
        self.runtime, self.plain, self.made, self.given_key, self.default = runtime, plain, made, key, default
        self.key = (lambda item: item) if key is None else runtime.fn(key)
        self.none = _text_of_none(plain)
        #: The best item so far, and what it is compared by; the item itself where there is no key.
        self.best, self.by = types.CellType(), types.CellType()

    def found(self) -> Any:
        return self.made.tried(self.after_the_first, self.written_out, self.with_a_flag)

    def after_the_first(self) -> Any:
        """One item is there, and the others are compared with it."""
        first, others = self.made.first_apart(None if self.default else self.none)
        self.keep((first, self.key(first)))
        self.made.loop(lambda item: self.keep(self.better(item)), self.variables, over=others)
        return self.best.cell_contents

    def written_out(self) -> Any:
        return _of_values(self.runtime, self.plain, [*self.made], self.given_key, **self.default)

    def with_a_flag(self) -> Any:
        """The first one that passes a test is compared with nothing."""
        there = types.CellType(False)

        def take(item: Any) -> None:
            first = lambda: (item, self.key(item))  # noqa: E731
            self.keep(self.runtime.if_exp(there.cell_contents, lambda: self.better(item), first))
            there.cell_contents = True

        self.made.loop(take, {_THERE: there, **self.variables})
        is_there = there.cell_contents
        if self.default:
            return self.runtime.if_exp(is_there, lambda: self.best.cell_contents, lambda: self.default["default"])
        if isinstance(is_there, Tensor):
            with located():
                demand(require(), is_there, ValueError(self.none))
        elif not is_there:
            raise ValueError(self.none)
        return self.best.cell_contents

    @property
    def variables(self) -> dict[str, types.CellType]:
        return {_BEST: self.best} if self.given_key is None else {_BEST: self.best, _KEY: self.by}

    def better(self, item: Any) -> tuple[Any, Any]:
        kept = self.best.cell_contents
        by = kept if self.given_key is None else self.by.cell_contents
        return _better(self.runtime, self.plain, (kept, by), (item, self.key(item)))

    def keep(self, pair: tuple[Any, Any]) -> None:
        self.best.cell_contents, self.by.cell_contents = pair


def _text_of_none(plain: Any) -> str:
    """What Python says of `max` or `min` of nothing."""
    try:
        plain(())
    except ValueError as error:
        return str(error)
    raise AssertionError(plain)
