"""What `jit` cannot take of Python's statements: the error says which, in which function, and on which line."""

from __future__ import annotations

import itertools
import math
import random
import re
import time
import warnings
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.arange(12.0).reshape(3, 4) - 4


def prints(x):
    print(x)
    return x


def grown(x):
    x += 1
    return x.sum()


def step_of_unknown_sign(x, n):
    for i in range(n):
        for _ in range(0, n, i - 2):
            x = x + 1
    return x


def number_of_many(x):
    return x * float(x)


def changes_rank(x, n):
    for _ in range(n):
        x = x.sum(axis=0)
    return x


def range_of_a_tensor(x):
    for _ in range(x.sum()):
        x = x + 1
    return x


def array_condition(x):
    if x > 0:
        x = x + 1
    return x


def prints_a_word(x):
    print("here")
    return x


def prints_text(x):
    text = f"{x.sum():.2f}"
    return x, text


def makes_text(x):
    return x, str(x)


def makes_a_representation(x):
    return x, repr(x.sum())


def yields(x):
    yield x


def sets_a_global(x):
    global X
    X = x
    return x


def recurs(x):
    if x.sum() > 100:
        return x
    return recurs(x + 1)


def assigns_a_shape(x):
    x.shape = 12
    return x


def reads_the_clock(x):
    return x * time.time()


def warns(x):
    warnings.warn("once", stacklevel=1)
    return x


def draws(x):
    return x * random.random()


def deletes(x):
    del x[0]
    return x


def opens(x):
    with open(__file__) as file:
        return x * len(file.name)


def a_mathematical_function(x):
    return math.gamma(x[0, 0])


def never_ends(x):
    i = 0
    while i < 10:
        x = x + 1
    return x


def draws_from_all_numbers(x):
    for k in itertools.count():
        if x[0, 0] > k:
            break
        x = x + k
    return x


ERRORS = [
    (never_ends, (X,), "a loop goes round more than 10000 times while the function is compiled; it is no loop of "
     "compiled code, because nothing that its condition depends on changes"),
    (prints_a_word, (X,), "print is not compiled: it would print once, not each call"),
    (prints_text, (X,), "the text of a f64[] is asked"),
    (makes_text, (X,), "the text of a f64[x.shape[0], x.shape[1]] is asked"),
    (makes_a_representation, (X,), "the text of a f64[] is asked"),
    (yields, (X,), "an iterator is returned"),
    (sets_a_global, (X,), "global X is not staged"),
    (recurs, (X,), "calls are nested too deeply while the function is staged"),
    (assigns_a_shape, (X,), "the shape of an argument or captured array"),
    (reads_the_clock, (X,), "time.time() would be called once, while the function is compiled"),
    (warns, (X,), "warn() would be called once, while the function is compiled"),
    (draws, (X,), "random() draws random numbers while the function is compiled"),
    (deletes, (X,), "del of an element is not staged"),
    (opens, (X,), "open has no compiled form"),
    (a_mathematical_function, (X,), "math.gamma of a number known only at run time"),
    (prints, (X,), "print of a tensor is not compiled"),
    (step_of_unknown_sign, (X, 9), "the step i - 2 of a range varies with a loop"),
    (number_of_many, (X,), "float() takes one number, not f64[x.shape[0], x.shape[1]]"),
    (changes_rank, (X, 3), "x is f64[x.shape[1]] before an iteration of the loop and f64[] after it"),
    (range_of_a_tensor, (X,), "the bounds of a range are ints, not f64[]"),
    (array_condition, (X,), "the condition of if is bool[x.shape[0], x.shape[1]], not one bool"),
]  # fmt: skip


def test_an_endless_iterator():
    with pytest.raises(TxcError, match="a loop over an endless iterator ends where values of compiled code say"):
        txc.jit(draws_from_all_numbers)(X)


def test_the_line_of_a_loop_is_that_of_its_condition():
    with pytest.raises(TxcError) as caught:
        txc.jit(changes_rank)(X, 3)
    assert "for _ in range(n):" in str(caught.value)


@pytest.mark.parametrize(("f", "arguments", "text"), ERRORS, ids=lambda v: getattr(v, "__name__", ""))
def test_errors(f: Any, arguments: tuple[Any, ...], text: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(*arguments)
    assert text in str(caught.value) and caught.value.hint
    assert f"in {f.__name__}" in str(caught.value) and __file__ in str(caught.value)


def test_what_a_result_asks_for_is_at_the_function():
    """No line of its own says so: a view is one or not where it is returned."""

    def perhaps_a_view(m, t):
        a = m * t
        b = a.T.ravel()
        a += t
        return b

    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (perhaps_a_view, (np.arange(24.0).reshape(4, 6)[:, ::2], 1.0)),
    ]
    for f, arguments in calls:
        with pytest.raises(TxcError) as caught:
            txc.jit(f)(*arguments)
        assert caught.value.loc is not None
        assert (caught.value.loc.filename, caught.value.loc.line) == (__file__, f.__code__.co_firstlineno)


def reads_behind_the_end(x, n):
    for row in range(n):
        x[row] = x[row + 1]
    return x


def reads_from_the_end(x, n):
    for row in range(n - 1, -1, -1):
        x[row] = x[row + 1]
    return x


def reads_of_an_item(parts, k):
    return parts["a"][k]


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (reads_behind_the_end, (X[0], 4), "index 4 is out of bounds for a dim of size 4"),
        (reads_from_the_end, (X[0], 4), "index 4 is out of bounds for a dim of size 4"),
        (reads_of_an_item, ({"a": X[0]}, 9), "index k = 9 is out of bounds for dim 0 of f64[parts.a.shape[0]]"),
    ],
)
def test_errors_speak_of_what_the_user_named(f, args, message):
    """Of sizes as Python writes them, of numbers and counters by their names."""
    with pytest.raises(IndexError) as info:
        txc.jit(f)(*args)
    assert message in str(info.value)
    assert not re.search(r"\$|\biv\d|__txc|\.\d\b", str(info.value).split("-->")[0])


def in_a_list(x):
    return str([x[0, 0]])


def in_a_dict(x):
    return f"{ ({'a': x[0, 0]}) }"


def by_percent(x):
    return "%s" % [x[0, 0]]


def by_format(x):
    return "{} {v}".format(1, v=x[0, 0])  # noqa: UP032


def of_a_longer_list(x):
    found = []
    for v in x[0]:
        if v > 0:
            found.append(v)
    return repr(found)


def of_a_dict_with_more_keys(x):
    d = {"a": 1.0}
    if x[0, 0] > 0:
        d["b"] = 2.0
    return f"{d}"


TEXTS = [
    in_a_list,
    in_a_dict,
    by_percent,
    by_format,
    of_a_longer_list,
    of_a_dict_with_more_keys,
]


@pytest.mark.parametrize("f", TEXTS, ids=lambda f: f.__name__)
def test_the_text_of_what_only_the_compiled_function_knows_is_refused(f):
    """However it is asked for, and whatever it stands in."""
    with pytest.raises(TxcError) as info:
        txc.jit(f)(X)
    assert info.value.code in ("TX0315", "TX0317") and "<" not in info.value.message


def texts_of_what_is_known(x):
    n = x.shape[0]
    return f"{[n, 'a']} { ({'n': n}) }", "%s %d" % ([n], n), "{}|{}".format(n, (n, 1)), ", ".join(["a", "b"])  # noqa: UP031, UP032


def kinds_of_containers(x):
    d, found = {"a": 1}, [1]
    return d.__class__ is dict, found.__class__ is list, [].__class__.__name__, {}.__class__.__name__


@pytest.mark.parametrize("f", [texts_of_what_is_known, kinds_of_containers])
def test_texts_and_kinds_are_pythons(f):
    assert txc.jit(f)(X) == f(X)


@pytest.mark.parametrize("text", ["/usr/lib/python3.11/x.tx", "version 3.12", "0.5 of 1.25", "np.float64", "a.b.c"])
def test_what_is_no_symbol_is_spelled_as_it_is(text):
    assert TxcError(text).message == text
