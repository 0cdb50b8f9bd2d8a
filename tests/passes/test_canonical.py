"""Canonical programs: nothing is left that another application of the pass would change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import builtin, func

import txc
from txc.dialects.ir_text import read_module
from txc.dialects.tx import tx_dialect
from txc.passes.tensor.canonicalize import CanonicalizePass


def views_of_views(x: Any) -> Any:
    return np.roll(x.T[::-1].reshape(2, 3, 5).transpose(2, 0, 1), 1, axis=0)[1:, ::2]


def equal_views_of_views(x: Any) -> Any:
    return x.T[::-1] + 1, x.T[::-1] * 2


def joined(x: Any) -> Any:
    return np.concatenate([x, np.concatenate([x + 0, x * 1], axis=1)], axis=1) + (2.0 - 2.0)


def padded(x: Any) -> Any:
    return np.pad(np.pad(x, 1), ((0, 0), (2, 1)))[1:, 1:] - -0.0


def in_a_loop(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] = x[i] * 2.0 + (x[i] * 2.0) * 1.0 - np.negative(-x[0])
    return x


PROGRAMS = (views_of_views, equal_views_of_views, joined, padded, in_a_loop)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_canonical_programs_stay_as_they_are(f: Callable[..., Any]):
    context = Context()
    for dialect in (builtin.Builtin, func.Func, tx_dialect()):
        context.load_dialect(dialect)
    text = txc.jit(f).lower(np.ones((5, 6), np.float32)).as_text("canonical")
    module = read_module(context, text)
    before = str(module)
    CanonicalizePass().apply(context, module)
    assert str(module) == before


def stored_then_changed(x: Any) -> Any:
    out = np.empty(x.shape, x.dtype)
    out[...] = x
    out[0] = 7.0
    return out


def stored_in_place(x: Any) -> Any:
    x[...] = x.T[::-1, ::-1].copy()
    return x


def stored_in_turns(x: Any) -> Any:
    out = np.zeros(x.shape, x.dtype)
    for i in range(3):
        out[...] = out + x * i
    return out


def stored_and_returned(x: Any) -> Any:
    out = np.empty(x.shape, x.dtype)
    out[...] = x
    return out


@pytest.mark.parametrize(
    "f", [stored_then_changed, stored_in_place, stored_in_turns, stored_and_returned], ids=lambda f: f.__name__
)
def test_stores_into_all_of_an_array(f: Callable[..., Any]):
    given, expected = (np.arange(25.0).reshape(5, 5) for _ in range(2))
    result = np.asarray(txc.jit(f)(given))
    assert np.array_equal(result, f(expected)) and np.array_equal(given, expected)
    assert np.shares_memory(result, given) == (f is stored_in_place)
