"""`break`, `continue`, early `return` and `else` where only the compiled function knows the conditions."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import re
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.staging.rewriting.break_lowering import rebuild_result, stop_of

from .control import every_stage, same
from .programs.interpreted import interpreted

V = np.arange(12.0) - 3
M = V.reshape(3, 4)


def first_over(x, limit):
    for i in range(x.shape[0]):
        if x[i] > limit:
            return i, x[i]
    return -1, 0.0


def found_or_not(x, limit):
    found = -1
    for i in range(x.shape[0]):
        if x[i] > limit:
            found = i
            break
    else:
        found = -2
    return found


def else_without_a_break(x, limit):
    for i in range(x.shape[0]):
        x[i] += limit
    else:
        x[0] = 7
    return x


def skips(x, limit):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0:
            continue
        if x[i] > limit:
            break
        total += x[i]
    return total


def skips_some(x, limit):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] < limit:
            total += 100
            if x[i] < 0:
                total -= 1
                continue
            total += 10
        total += x[i]
    return total


def skips_in_a_while(x, limit):
    i = 0
    total = 0.0
    while i < x.shape[0]:
        i += 1
        if x[i - 1] > limit:
            continue
        total += x[i - 1]
    return total, i


def nested_loops(x, limit):
    count = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > limit:
                if x[i, j] > 2 * limit:
                    break
                count += 10
                continue
            count += 1
        if count > 20:
            return count, i
    return count, -1


def returns_from_inside(x, limit):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > limit:
                return x[i] * 1
    return x[0] * 0


def returns_from_a_while(x, limit):
    while True:
        x = x * 0.5
        if x.max() < limit:
            return x


def rests(x, limit):
    i = 0
    while i < x.shape[0]:
        if x[i] > limit:
            break
        i += 1
    return i


def last_counter(x, limit):
    for i in range(x.shape[0]):
        if x[i] > limit:
            break
    return i  # pyright: ignore[reportPossiblyUnboundVariable]


def bounded_while(x, limit):
    rounds = 0
    while x[0] < 100:
        x[0] += limit
        rounds += 1
        if rounds > 5:
            break
    else:
        rounds = -rounds
    return rounds


def returns_early(x, limit):
    if limit > 3:
        if x.sum() > 0:
            return x + 1
        x = x * 2
    if x.min() < -5:
        return -x
    return x


def changes_or_returns(x, limit):
    if x[0] > limit:
        return
    x[0] = limit
    for i in range(1, x.shape[0]):
        if x[i] > limit:
            return
        x[i] = x[i - 1]


def stops_short(x, limit):
    """Written out: its length is known."""
    total = 0.0
    for i in range(4):
        if x[i] > limit:
            break
        total += x[i]
    return total


def known_while_staging(x, limit):
    total = x[0] * 0
    for scale in (1.0, 2.0, 3.0):
        if scale == 2.0:
            continue
        total += scale * x[0]
        if scale > limit:
            break
    return total


def beyond_the_end(x, limit):
    """An index outside is never reached."""
    for i in range(100):
        if x[i] > limit:
            return i
    return -1


def in_a_with(x, limit):
    for i in range(x.shape[0]):
        with np.errstate(all="ignore"):
            if x[i] > limit:
                return i
    with np.errstate(all="ignore"):
        return -1


def local_function(x, limit):
    def clipped(v):
        if v > limit:
            return limit
        return v

    return clipped(x[0]) + clipped(x[-1])


PROGRAMS: list[tuple[Callable[..., Any], np.ndarray]] = [
    *((f, V) for f in (
        first_over, found_or_not, else_without_a_break, skips, skips_some, skips_in_a_while, returns_from_a_while,
        rests, last_counter, bounded_while, returns_early, changes_or_returns, stops_short,
        known_while_staging, in_a_with, local_function,
    )),
    (nested_loops, M), (returns_from_inside, M),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_as_python(f: Callable[..., Any], x: np.ndarray):
    calls = [(x, 3.5), (x, 0.5), (x - 50, 2.0), (x, 99.0)]
    if f is returns_early:
        calls = [(x * s, limit) for s in (1, -1) for limit in (1, 4)]
    jitted = same(f, *calls)
    every_stage(jitted, *calls[0])


def test_what_a_break_leaves_out_is_not_read():
    same(beyond_the_end, (V, 3.5))


def test_a_loop_ends_where_it_breaks():
    """Behind the break nothing runs: the loop has a condition, not so many empty iterations."""
    text = txc.jit(first_over).lower(V, 3.5).as_text("loops")
    assert re.search(r"loop\.for .* break\b", text)
    assert not re.search(r"loop\.for .* break\b", txc.jit(else_without_a_break).lower(V, 3.5).as_text("loops"))


@pytest.mark.parametrize("f", [f for f, _ in PROGRAMS], ids=lambda f: f.__name__)
def test_the_rewritten_function_is_plain_python(f: Callable[..., Any]):
    """Run by Python, with the flags obeyed, it does what the original does."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(f))).body
    assert isinstance(definition, ast.FunctionDef)
    definition.body = rebuild_result(definition)
    for loop in [n for n in ast.walk(definition) if isinstance(n, (ast.For, ast.While))]:
        assert not loop.orelse
        inside = [n for s in loop.body for n in ast.walk(s)]
        assert not any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in inside)
        if isinstance(loop, ast.For) and (stop := stop_of(loop)):
            loop.body.append(ast.If(ast.Name(stop, ast.Load()), [ast.Break()], []))
    scope: dict[str, Any] = {"np": np}
    exec(compile(ast.fix_missing_locations(ast.Module([definition], [])), "<test>", "exec"), scope)
    x = M if f in (nested_loops, returns_from_inside) else V
    for limit in (3.5, 0.5, 99.0):
        ours, theirs = x.copy(), x.copy()
        np.testing.assert_equal(scope[f.__name__](ours, limit), f(theirs, limit))
        np.testing.assert_array_equal(ours, theirs)


def drops_an_error(x, limit):
    for i in range(x.shape[0]):
        try:
            x[i] = limit
        finally:
            break  # noqa: B012
    return x


def generates(x, limit):
    yield x + limit


LOCK = threading.Lock()


def enters(x, limit):
    with LOCK:
        return x + limit


def opens(x, limit):
    with open("/dev/null"):
        return x + limit


def deletes_an_element(x, limit):
    del x[0]
    return x


def uses_what_is_deleted(x, limit):
    y = x + limit
    del y
    return y  # noqa: F821  # pyright: ignore[reportUnboundVariable]


ERRORS: list[tuple[Callable[..., Any], str, str]] = [
    (drops_an_error, "a jump out of finally is not staged", "move break, continue and return behind the try"),
    (generates, "an iterator is returned", "return a list"),
    (enters, "with lock is not staged", "enter it around the call"),
    (opens, "open has no compiled form", "read before the call"),
    (deletes_an_element, "del of an element is not staged", "make a new value without it"),
]


#: A loop of each kind, jumps that are known while a program is compiled and jumps that are not, where they go to.
LOOPS = [
    "for i in range(int(x[0])):",
    "for i in range(int(x[0]), 0, -1):",
    "for i in range(int(x[0]) % 3 + n):",
    "for i in range(n):",
    "for i in range(3):",
    "for v in x:",
    "i = 0\n    while i < n:\n        i += 1",
    "i = 0\n    while i < x[0]:\n        i += 1",
]


CONDITIONS = ["flag", "c > 5", "x[1] > 50", "x[1] > 4.5", "len(x) > 2", "s > 3", "i == 0", "flag and x[0] > 0"]


JUMPS = """
def f(x, y, n, flag, c):
    s, t, i = 0.0, 1.0, 5
    {loop}
        s = s + 2.0
        if {condition}:
            {jump}
        t = t * 2 + s
        y[0] += 1
    else:
        t = -t
    return s, t, y
"""


@pytest.mark.parametrize("loop", LOOPS)
def test_jumps_out_of_loops_of_each_kind(loop: str):
    for condition, jump in itertools.product(CONDITIONS, ("break", "return x, t, s", "continue")):
        text = JUMPS.format(loop=loop, condition=condition, jump=jump)
        name = f"<{loop} {condition} {jump}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        scope: dict[str, Any] = {}
        exec(compile(text, name, "exec"), scope)
        jitted = txc.jit(scope["f"])
        for value, n, flag in ((3.0, 3, False), (1.0, 2, True), (0.0, 0, False)):
            x, plain, compiled = np.arange(4.0) + value, np.zeros(2), np.zeros(2)
            with interpreted():
                got = jitted(x, compiled, n, flag, 2.5)
            want = scope["f"](x, plain, n, flag, 2.5)
            assert [np.asarray(v).tolist() for v in got] == [np.asarray(v).tolist() for v in want], text
            np.testing.assert_array_equal(compiled, plain)


def test_what_is_deleted_is_gone():
    for f in (uses_what_is_deleted, txc.jit(uses_what_is_deleted)):
        with pytest.raises(UnboundLocalError, match="local variable 'y'"):
            f(V.copy(), 3.5)


@pytest.mark.parametrize(("f", "text", "hint"), ERRORS, ids=lambda v: getattr(v, "__name__", ""))
def test_errors(f: Callable[..., Any], text: str, hint: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(V.copy(), 3.5)
    message = str(caught.value)
    assert text in message and hint in message
    assert f"in {f.__name__}" in message and "^" in message
