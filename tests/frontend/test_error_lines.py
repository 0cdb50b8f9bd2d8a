"""An error that compiled code raises comes from the user's line: the last frame of its traceback is there.

PYTEST_DONT_REWRITE: an `assert` of the programs is Python's.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import error_loc


def quotient(a, t):
    return 1.0 / t + a


def program(x, t, k):
    y = quotient(x[0], t)
    z = [x[i + k] for i in range(2)]
    s = 0.0
    for i in range(len(x)):
        if x[i] > 90:
            raise ValueError("groß")
        while s > 100:
            s -= 1.0 / (t - 7)
        s += int(x[i])
    assert t != 20, "twenty"

    def local(a):
        return np.array([s, a]).max() + x[a]

    if t > 30:
        last = local(k) if k > 1 else max(
            x[int(t)],
            s,
        )  # fmt: skip
        return y + last
    x[x > t] = 1.0 / (t - 1)
    return y * z[0]


#: A call, what it raises, and the text of the line.
CALLS = [
    (([1.0, 2, 3], 0.0, 1), ZeroDivisionError, "return 1.0 / t + a", "quotient"),
    (([1.0, 2, 3], 2.0, 2), IndexError, "z = [x[i + k] for i in range(2)]", "program"),
    (([1.0, 99, 3], 2.0, 1), ValueError, 'raise ValueError("groß")', "program"),
    (([60.0, 60, 3], 7.0, 1), ZeroDivisionError, "s -= 1.0 / (t - 7)", "program"),
    (([1.0, np.nan, 3], 2.0, 1), ValueError, "s += int(x[i])", "program"),
    (([1.0, 2, 3], 20.0, 1), AssertionError, 'assert t != 20, "twenty"', "program"),
    (([1.0, 2, 3], 31.0, 1), IndexError, "x[int(t)],", "program"),
    (([1.0, 2, 3], 1.0, 1), ZeroDivisionError, "x[x > t] = 1.0 / (t - 1)", "program"),
]


def raised(f: Callable[..., Any], *given: Any) -> Exception:
    with pytest.raises((ArithmeticError, LookupError, ValueError, AssertionError)) as found:
        f(*given)
    return found.value


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[2])
def test_the_last_frame_is_where_python_raises(call: Any) -> None:
    (x, t, k), kind, line, function = call
    made = txc.jit(program)
    for _ in range(3):  # found, compiled, and entered directly
        expected = raised(program, np.array(x), t, np.int64(k))
        error = raised(made, np.array(x), t, np.int64(k))
        assert type(error) is type(expected) is kind
        last, theirs = (traceback.extract_tb(e.__traceback__)[-1] for e in (error, expected))
        assert (last.filename, last.lineno, last.name, last.line) == (__file__, theirs.lineno, function, line)


def test_columns_are_shown() -> None:
    def f(x, k):
        return x[0] + x[k]

    shown = "".join(traceback.format_exception(raised(txc.jit(f), np.ones(3), np.int64(5))))
    assert shown.endswith(
        "return x[0] + x[k]\n                  ~^^^\nIndexError: index 5 is out of bounds for a dim of size 3\n"
    )


def test_equal_functions_have_lines_of_their_own() -> None:
    def first(x, k):
        return x[k]

    def second(x, k):
        return x[k]

    second.__name__ = "first"
    lines = [error_loc(raised(txc.jit(f), np.ones(3), np.int64(5))) for f in (first, second)]
    assert [loc and loc.line for loc in lines] == [f.__code__.co_firstlineno + 1 for f in (first, second)]


def test_errors_leave_no_garbage() -> None:
    import gc

    def fails(times: int) -> None:
        for _ in range(times):
            try:
                made(1.0, 0.0)
            except ZeroDivisionError:
                continue

    made = txc.jit(quotient)
    fails(3)
    for _ in range(3):  # what other tests left may refer to more of it
        gc.collect()
    gc.disable()
    try:
        fails(20)
        found = gc.collect()
    finally:
        gc.enable()
    assert found < 20


def test_a_tx_function_has_lines_too() -> None:
    text = "def f(x: f64[n], at: i64[m]) -> f64[m]:\n    y = x * 2.0\n    return y[at]\n"
    made = txc.compile_source(text, "program.tx")
    error = raised(made.f, np.ones(3), np.array([1, 7]))
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == ("program.tx", 3, "return y[at]")


def test_a_lazy_tensor_raises_where_it_is_computed() -> None:
    with pytest.raises(IndexError, match="index 5 is out of bounds for a dim of size 3") as found:
        np.asarray(txc.asarray(np.ones(3))[np.array([5])] + 1)
    assert "check_errors.py" in traceback.extract_tb(found.value.__traceback__)[-1].filename
