"""What tests of programs share: the calls that a program is tried on, copies of their arguments, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

__all__ = ["Cases", "does_as_python", "gives_and_raises_as_numpy", "refuses", "stores_as_python"]

Program = Callable[..., Any]


class Cases(list[Any]):
    """Programs with calls, as `pytest.mark.parametrize` takes them, collected by decorators."""

    def on(self, *arguments: Any) -> Callable[[Program], Program]:
        """A case: the program on some arguments."""
        return self._noted(lambda f: [pytest.param(f, arguments, id=f.__name__)])

    def on_each(self, *calls: tuple[Any, ...]) -> Callable[[Program], Program]:
        """A case for each of some calls."""
        return self._noted(lambda f: [pytest.param(f, call, id=f"{f.__name__}{i}") for i, call in enumerate(calls)])

    def on_all(self, *calls: tuple[Any, ...]) -> Callable[[Program], Program]:
        """A case: the program, compiled once, on some calls."""
        return self._noted(lambda f: [pytest.param(f, calls, id=f.__name__)])

    def _noted(self, made: Callable[[Program], list[Any]]) -> Callable[[Program], Program]:
        def noted(f: Program) -> Program:
            self.extend(made(f))
            return f

        return noted


def _copied(arguments: tuple[Any, ...], order: Any = "C") -> list[Any]:
    return [a.copy(order) if isinstance(a, np.ndarray) else a for a in arguments]


def does_as_python(f: Program, arguments: tuple[Any, ...]) -> None:
    """A compiled program gives what Python gives, or its `NameError`, and leaves the same in its arguments."""
    ours, theirs = _copied(arguments), _copied(arguments)
    assert _outcome(txc.jit(f), ours) == _outcome(f, theirs)
    for mine, pythons in zip(ours, theirs):
        np.testing.assert_array_equal(mine, pythons)


def _outcome(f: Program, arguments: list[Any]) -> str:
    try:
        return repr(f(*arguments))
    except NameError as error:
        return repr(error)


def gives_and_raises_as_numpy(f: Program, call: tuple[Any, ...]) -> None:
    """A compiled program gives NumPy's values, types and arguments, or raises its error and not one of ours."""
    here, there = _copied(call), _copied(call)
    try:
        expected = f(*there)
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)) as raised:
            txc.jit(f)(*here)
        assert not isinstance(raised.value, TxcError)
        return
    _same(txc.jit(f)(*here), expected)
    _same(here, there)


def _same(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected):
            _same(a, b)
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def stores_as_python(f: Program, calls: tuple[tuple[Any, ...], ...]) -> None:
    """A program compiled once gives what Python gives in each call, and leaves the same in its arguments."""
    compiled = txc.jit(f)
    for call in calls:
        here, there = _copied(call, "K"), _copied(call, "K")
        got, expected = compiled(*here), f(*there)
        for x, y in zip(_leaves([got, here]), _leaves([expected, there]), strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_array_equal(x, y, err_msg=str(call))


def _leaves(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value
    return [leaf for p in parts for leaf in _leaves(p)] if isinstance(value, (tuple, list, dict)) else [value]


def refuses(f: Program, text: str, *arguments: Any) -> bool:
    """Whether compiling a program is refused in these words, with a hint and the program's line."""
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(*arguments)
    said = str(caught.value)
    return text in said and bool(caught.value.hint) and f.__code__.co_filename in said
