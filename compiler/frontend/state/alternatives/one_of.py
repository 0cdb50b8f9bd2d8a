"""A value of one kind or another, as compiled code decided: arrays of two shapes, lists of two lengths, or None.

Nothing that one program could do is done with all of them at once, so whatever is done with such a value is done in a
branch for each: ``v.sum()`` is ``a.sum() if c else b.sum()``, and what that gives may be one number, or of one kind or
another again.  A function that returns such a value gives the call all of them, and which it is.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....diagnostics import user_loc
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import Ended, demand
from ...trace.graph import Block
from ...trace.undefined import UNSET, Unusable

__all__ = ["MOST_OPTIONS", "Attributes", "Method", "OneOf", "any_of", "one_of_a_loop", "one_of_in"]

#: The most values of which one may be: each use has a branch for each.
MOST_OPTIONS = 8


def any_of(conds: Sequence[Any]) -> Any:
    """Whether any of some conditions is true."""
    return functools.reduce(lambda a, b: apply("logical_or", a, b), conds) if conds else False


class OneOf(Unusable):
    """One of some values, of which exactly one has a condition that is true.

    `fork` is `ControlFlow.fork_value`.  A variable that may hold nothing is one of UNSET and others; reading it is
    `bound`, so nothing else meets UNSET.
    """

    def __init__(
        self, name: str, reason: str, hint: str, options: Sequence[tuple[Any, Tensor]], fork: Callable[..., Any]
    ):
        super().__init__(name, reason, hint)
        vars(self).update(options=[*options], fork=fork, _bound=[])
        trace = require()
        trace.has_one_of = True
        if len(options) == 2:
            (_, first), (_, second) = options
            trace.opposites.setdefault(first.value, second.value)
            trace.opposites.setdefault(second.value, first.value)

    options: list[tuple[Any, Tensor]]
    fork: Callable[..., Any]
    #: What it is where it is bound, by the blocks that run only there.
    _bound: list[tuple[Block, Any]]

    def among(self, options: Sequence[tuple[Any, Tensor]]) -> Any:
        """What it is where it is one of some of its values."""
        if len(options) in (1, len(self.options)):
            return self if len(options) > 1 else options[0][0]
        return OneOf(self.name, self.reason, self.hint, options, self.fork)

    def known(self) -> Sequence[tuple[Any, Tensor]]:
        """The values that there may be where the trace is, by what is known there of their conditions."""
        trace = require()
        for value, cond in self.options:
            if any(cond.value is true for true in trace.assumed):
                return [(value, cond)]
        return [(v, c) for v, c in self.options if not any(c.value is false for false in trace.denied)]

    def bound(self, error: Exception) -> Any:
        """What it is where it holds something: the call raises `error` elsewhere, as where it is read."""
        if all(value is not UNSET for value, _ in self.options):
            return self
        trace = require()
        known = self.known()
        if known and all(value is not UNSET for value, _ in known):
            return self.among(known)
        for block, found in self._bound:
            if block in trace.blocks:
                return found
        held = [(value, cond) for value, cond in known if value is not UNSET]
        if not held:
            raise Ended(error)
        demand(trace, any_of([cond for _, cond in held]), error)
        found = self.among(held)
        self._bound.append((trace.block, found))
        return found

    def __repr__(self) -> str:
        return f"<{self.name} is one of {len(self.options)} values>"

    def each(self, f: Callable[[Any], Any], *reached: Any) -> Any:
        """``f(value)`` of the value that there is, in a branch for each; `reached` is what else `f` may change."""
        trace = require()
        known = self.known()
        if not known:  # as staging a loop meets before it is settled: nothing runs here
            raise self.error(user_loc())
        if len(known) == 1:
            return f(known[0][0])
        if any(value is UNSET for value, _ in self.options):
            self._used()
        operands = (*reached, *(value for value, _ in self.options))
        roots = types.MappingProxyType({f"operand {i}": x for i, x in enumerate(operands)})

        def among(k: int) -> Any:
            value, cond = known[k]
            if k + 1 < len(known):
                rest = [cond for _, cond in known[k + 1 :]]
                return self.fork(cond, lambda: f(value), lambda: among(k + 1), roots, rest)
            trace.assumed.append(cond.value)
            try:
                return f(value)
            finally:
                trace.assumed.pop()

        return among(0)

    def attribute(self, name: str, read: Callable[[Any], Any]) -> Any:
        """What `read` gives of the attribute of each; a method is not read before it is called."""
        if name != "__class__" and any(callable(getattr(_type_of(v), name, None)) for v, _ in self.options):
            return Method(self, read)
        return self.each(read)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.each(lambda v: operator.setitem(v, key, value), key, value)

    def __getitem__(self, key: Any) -> Any:
        return self.each(lambda v: v[key], key)

    def __len__(self) -> int:
        """How many items it has, where each of the values is a list or tuple of as many: what Python unpacks."""
        sizes = {len(v) if isinstance(v, (tuple, list)) and not getattr(v, "stacked", False) else -1
                 for v, _ in self.options}  # fmt: skip
        return self._used() if len(sizes) > 1 or -1 in sizes else sizes.pop()

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def keys(self) -> Sequence[Any]:
        """Its keys, where each of the values is a dict that has the same in one order: what ``{**value}`` takes."""
        dicts = [v for v, _ in self.options if isinstance(v, dict) and not getattr(v, "missing", False)]
        found = {tuple(v) for v in dicts}
        return self._used() if len(found) != 1 or len(dicts) < len(self.options) else found.pop()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        def of(value: Any) -> Any:
            return getattr(ufunc, method)(*(value if x is self else x for x in inputs), **named)

        return self.each(of, *inputs, *named.values())

    __eq__: Any
    __ne__: Any
    __setattr__ = __delattr__ = Unusable._used  # see `Attributes`
    __hash__ = __contains__ = __str__ = __format__ = __delitem__ = Unusable._used  # pyright: ignore


class Attributes:
    """The attributes of one of several objects where one is assigned: ``o.x = …``, ``o.x += …``."""

    def __init__(self, owner: OneOf):
        vars(self).update(_owner=owner)

    _owner: OneOf

    def __getattr__(self, name: str) -> Any:
        return self._owner.each(lambda v: getattr(v, name))

    def __setattr__(self, name: str, value: Any) -> None:
        self._owner.each(lambda v: setattr(v, name, value), value)


def one_of_a_loop(label: str, options: Sequence[tuple[Any, Tensor]], fork: Callable[..., Any]) -> OneOf:
    """What a location holds that iterations leave a value of one kind or another in; `fork` is as for `OneOf`."""
    text = f"{label!r} is of one kind or another in a loop of compiled code"
    return OneOf(label, text, "test which it is where it is used", options, fork)


class Method(OneOf):
    """A method of one of several values: there is nothing to do with it but to call it."""

    def __init__(self, owner: OneOf, read: Callable[[Any], Any]):
        super().__init__(owner.name, owner.reason, owner.hint, owner.options, owner.fork)
        vars(self).update(_owner=owner, _read=read)

    _owner: OneOf
    _read: Callable[[Any], Any]

    def each(self, f: Callable[[Any], Any], *reached: Any) -> Any:
        return self._owner.each(lambda v: f(self._read(v)), *reached)


def _type_of(value: Any) -> type:
    return np.ndarray if isinstance(value, Tensor) else type(value)


def _defined() -> None:
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift",
    ):  # fmt: skip
        plain, in_place = getattr(operator, name), getattr(operator, f"i{name.removesuffix('_')}", None)
        in_place = in_place or getattr(operator, f"i{name}")
        spelled = name.removesuffix("_")
        setattr(OneOf, f"__{spelled}__", _binary(plain))
        setattr(OneOf, f"__r{spelled}__", _binary(lambda a, b, plain=plain: plain(b, a)))
        setattr(OneOf, f"__i{spelled}__", _binary(in_place))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(OneOf, f"__{name}__", _binary(getattr(operator, name)))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(OneOf, f"__{name}__", _unary(getattr(operator, name)))


def _binary(plain: Callable[[Any, Any], Any]) -> Any:
    def method(self: OneOf, other: Any) -> Any:
        return self.each(lambda v: plain(v, other), other)

    return method


def _unary(plain: Callable[[Any], Any]) -> Any:
    return lambda self: self.each(plain)


_defined()


def one_of_in(values: Sequence[Any]) -> OneOf | None:
    """The first of some values, or of the items of lists and tuples among them, that is one of several."""
    for value in values:
        if isinstance(value, OneOf):
            return value
        if isinstance(value, (tuple, list)) and not getattr(value, "stacked", False):
            found = one_of_in(list.__iter__(value) if isinstance(value, list) else value)  # pyright: ignore
            if found is not None:
                return found
    return None
