"""Lists that compiled loops fill with numbers of several types: each item is of its type, and NumPy's array of them
has the dtype that the items there are give it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .programs.interpreted import interpreted

#: Of the first all items are of one type in most functions, and of the second of the other.
CALLS = ([3.0, 4.0, 5.0, 4.0], [1.0, 2.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0], [3.0, 0.0, 9.0, 1.0, 7.0])


def kept(value: Any) -> Any:
    """A result with the types of all numbers in it."""
    if isinstance(value, (tuple, list)):
        return type(value), [kept(part) for part in value]
    if isinstance(value, dict):
        return {key: kept(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    return type(value), value


FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def ints_and_floats(x):
    out = []
    for i in range(len(x)):
        if x[i] > 2:
            out.append(i)
        else:
            out.append(0.5)
    return out, np.array(out), out[0], out[-1], isinstance(out[1], int), len(out)


@case
def of_a_comprehension(x):
    return np.array([min(int(v), 8.0) for v in x]), [min(int(v), 2.5) for v in x], sum([min(int(v), 2.5) for v in x])


@case
def bools_and_ints(x):
    out = []
    for v in x:
        out.append(True if v > 2 else 2)
    return out, np.array(out), sum(out), max(out)


@case
def numpys_and_pythons(x):
    out = []
    for v in x:
        out.append(v if v > 2 else 0)
        out.append(np.float32(v) if v > 2 else 1.5)
    return out, np.array([v if v > 2 else 0 for v in x]), np.array([np.float32(v) if v > 2 else 1 for v in x])


@case
def numpys_bools_and_ints(x):
    return [v > 2 or 3 for v in x], np.array([v > 2 or 3 for v in x])


@case
def of_four_types(x):
    out = []
    for v in x:
        if v > 3:
            out.append(1)
        elif v > 2:
            out.append(2.5)
        elif v > 1:
            out.append(True)
        else:
            out.append(v)
    return out, np.array(out), np.mean(out)


@case
def in_each_iteration(x):
    out = []
    for i in range(len(x)):
        out.append(i)
        out.append(0.5)
    return out, np.array(out), sum(out), out[2]


@case
def in_some_iterations(x):
    out = []
    for i in range(len(x)):
        if x[i] > 2:
            out.append(i if x[i] > 3 else 0.5)
        if x[i] < 1:
            out.append(i)
    return out, np.asarray(out), len(out)


@case
def in_loops_one_after_another(x):
    out = [True, 2]
    for i in range(len(x)):
        if x[i] > 2:
            out.append(i)
    for i in range(len(x)):
        if x[i] < 2:
            out.append(0.5)
    return out, np.array(out), out[0], sum(out)


@case
def in_nested_loops(x):
    out = []
    for i in range(len(x)):
        for j in range(3):
            out.append(i * j if x[i] > j else 0.5)
    return out, np.array(out), [[v * j if v > j else 0 for j in range(3)] for v in x]


@case
def in_tuples(x):
    out = []
    for i in range(len(x)):
        out.append((i, i if x[i] > 2 else 0.5))
    return out, np.array(out), out[1], [a + b for a, b in out]


@case
def in_a_while(x):
    out: list[Any] = []
    i = 0
    while i < len(x):
        if x[i] > 2:
            out.append(i)
        else:
            out.append(x[i])
        if out[-1] == 100:
            out.pop()
        i += 1
    return out, np.array(out)


@case
def items_that_change(x):
    out = []
    for i in range(len(x)):
        out.append(i if x[i] > 2 else 0.5)
    out[0] = True
    out[1] = 2.5
    out.append(3)
    out.reverse()
    return out, out.pop(), out[1:3]


@case
def items_of_items(x):
    out, behind = [], []
    for i in range(len(x)):
        out.append(i if x[i] > 2 else 0.5)
    for v in out:
        behind.append(v * 2 if v < 2 else v // 2)
    return behind, max(out), min(behind), [isinstance(v, int) for v in out]


@case
def lists_of_a_dict(x):
    d: dict[str, list[Any]] = {"a": [], "b": []}
    for v in x:
        d["a"].append(v if v > 2 else 0)
        if v > 1:
            d["b"].append(1)
        else:
            d["b"].append(2.0)
    return d


@case
def what_is_done_with_the_array(x):
    a = np.array([i if x[i] > 2 else 0.5 for i in range(len(x))])
    b = a * 2
    b[0] = 2.75
    return a.sum(), b, a.dtype == np.int64, np.sqrt(a)


@case
def of_complex_numbers(x):
    return [complex(v, 1) if v > 2 else 1 for v in x], np.array([complex(v, 1) if v > 2 else 1 for v in x])


@case
def of_a_list_before(x):
    out = [1]
    for v in x:
        if v > 3:
            out.append(v)
    return np.array(out), out


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    """The front end alone, which is what has to know of types; two functions are compiled too."""
    jitted = txc.jit(f)
    with nullcontext() if f in (ints_and_floats, in_a_while) else interpreted():
        for values in CALLS:
            assert kept(jitted(np.array(values))) == kept(f(np.array(values))), values


def test_ints_that_no_float_holds():
    """They are never rounded: the call raises an error."""

    def f(x, k):
        out = []
        for i in range(len(x)):
            out.append(int(x[i]) * k if x[i] > 2 else 0.5)
        return out

    jitted = txc.jit(f)
    assert kept(jitted(np.array([3.0, 1.0]), 2**50)) == kept(f(np.array([3.0, 1.0]), 2**50))
    with pytest.raises(OverflowError):
        jitted(np.array([3.0, 1.0]), 2**52 + 1)


def test_results_of_the_cache(tmp_path, monkeypatch):
    """Types of items are read back as they were."""
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        jitted = txc.jit(numpys_bools_and_ints)
        assert kept(jitted(np.array(CALLS[2]))) == kept(numpys_bools_and_ints(np.array(CALLS[2])))


def none(x):
    out = []
    for v in x:
        out.append(v if v > 2 else None)
    return out


def texts(x):
    out = []
    for v in x:
        out.append("a" if v > 2 else 0)
    return out


def no_common_dtype(x):
    out = []
    for i in range(len(x)):
        out.append(np.int64(i) if x[i] > 2 else np.float32(2))
    return out


def an_operand(x):
    return x + [v if v > 2 else 0 for v in x]


@pytest.mark.parametrize(
    ("f", "text", "hint"),
    [
        (none, "the list out gets a np.float64 or None in each iteration", "such as np.nan"),
        (texts, "the list out gets 'a' or 0 in each iteration", "a number that stands for the text"),
        (no_common_dtype, "gets a np.int64 or a np.float32 in each iteration", "make one type of both before"),
        (an_operand, "which of them it has decides the dtype of NumPy's array", "make the array first"),
    ],
)
def test_what_is_refused(f: Callable[..., Any], text: str, hint: str):
    with pytest.raises(TxcError, match=text) as caught:
        txc.jit(f)(np.array(CALLS[2]))
    assert caught.value.code == "TX0315" and hint in str(caught.value)
