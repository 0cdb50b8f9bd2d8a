"""Lambdas are staged wherever they stand; functions keep their defaults and their literals as they are written."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.arange(6.0).reshape(2, 3)


def decorator(given):
    def decorate(function):
        function.given = given
        return function

    return decorate


@decorator(lambda x: x.sum() if x.any() else x[0, 0])
def decorated(x, f=lambda x: np.cos(x) if x[0, 0] > 0 else x):
    return f(x)


def closures():
    factor = 5.0
    return [lambda x: x * factor if x.sum() > 0 else x, lambda x: x - factor if x.sum() > 0 else -x]


# fmt: off
LAMBDAS: dict[str, list[Any]] = {
    "an argument of a call": [dict(f=lambda x: np.ascontiguousarray(x.T))["f"]],
    "two on a line": [*(lambda x: x + 1 if x.sum() > 0 else x - 1, lambda x: x * 2 if x.sum() < 0 else x * 3)],
    "one text twice": [*(lambda x: x if x.sum() > 0 else -x, lambda x: x if x.sum() > 0 else -x)],
    "in a list": [lambda x: x if x.sum() > 0 else -x, lambda x: x * 2 if x.sum() > 0 else x],
    "of a comprehension": [lambda x, k=k: x * k if x.sum() > 0 else x for k in range(3)],
    "a default": [decorated, decorated.__defaults__[0]],  # pyright: ignore[reportOptionalSubscript]
    "an argument of a decorator": [decorated.given],  # pyright: ignore[reportFunctionMemberAccess]
    "several lines": [(
        lambda x, *, k=2: [
            x if x.sum()
            > 3 else x * k,
            x + 1,
        ][0]
    )],
    "in another": [(lambda k: lambda x: x if x.sum() > 0 else k * x)(3), lambda x: (lambda y: y if y.any() else x)(-x)],
    "letters of two bytes": [*(lambda x: "ä" and (x if x.sum() > 0 else -x), lambda x: x - ("ü" and x.sum()))],
    "closures": closures(),
}
# fmt: on


@pytest.mark.parametrize("name, i", [(name, i) for name, found in LAMBDAS.items() for i in range(len(found))])
def test_a_lambda_is_staged_where_it_stands(name, i):
    plain = LAMBDAS[name][i]
    compiled = txc.jit(plain)
    for x in (X, -X, 0 * X):
        assert np.array_equal(compiled(x), plain(x))


def test_a_global_that_a_lambda_reads_is_read_at_each_call(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    compiled = txc.jit(lambda x: x * FACTOR)  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
    assert np.array_equal(compiled(X), X * 2)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert np.array_equal(compiled(X), X * 3)


def test_an_error_in_a_lambda_shows_its_place():
    with pytest.raises(TxcError) as raised:
        txc.jit(dict(f=lambda x: x @ x)["f"])(X)
    assert "in <lambda>" in str(raised.value) and "^^^^^" in str(raised.value)


def test_without_columns_one_lambda_of_a_line_is_found_and_two_are_not(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import txc
            from txc.compiler.diagnostics import TxcError

            one = dict(f=lambda x: x if x.sum() > 0 else -x)["f"]
            two = [lambda x: x if x.sum() > 0 else -x, lambda x: x + 1 if x.sum() > 0 else x]
            print(txc.jit(one)(np.array([-1.0, -2.0])))
            for f in two:
                try:
                    txc.jit(f)(np.array([-1.0]))
                except TxcError as error:
                    print(error.code)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ["[1. 2.]", "TX0230", "TX0230", ""]


def test_defaults_are_those_of_the_function():
    counted = []

    def made(k):
        def function(x, k=k, *, j=counted.append(k)):  # noqa: B008
            return x * k if j is None else x

        return function

    for k in range(3):
        assert np.array_equal(txc.jit(made(k))(X), X * k)
    assert counted == [0, 1, 2]


def test_a_literal_of_several_lines_keeps_its_spaces():
    def indented(x):
        return x * len("""a
            b""")

    assert np.array_equal(txc.jit(indented)(X), X * 15)
