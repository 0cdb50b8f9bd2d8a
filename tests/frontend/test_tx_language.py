"""Bad `.tx` text: each is refused with a code and a text at the right line and column, and never by a crash."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.interpret.graph import run_graph

HEAD = "def f(x: f32[n], k: i64):\n"
OTHER = "\ndef g(y: f32[n]):\n    return y\n"

BODIES = [
    ("x = expp(x)", "TX0539", "there is no function 'expp'"),
    ("x = x.expp()", "TX0540", "a tensor has no method 'expp'"),
    ("x = z", "TX0536", "there is no 'z' here"),
    ("x, i8 = x * i8, 1", "TX0536", "there is no 'i8' here"),
    ("x, pi = x * pi, 1", "TX0536", "there is no 'pi' here"),
    ("x = x.__init__(3)", "TX0540", "a tensor has no method '__init__'"),
    ("x = x.__array__()", "TX0540", "a tensor has no method '__array__'"),
    ("x = x.shape()", "TX0540", "a tensor has no method 'shape'"),
    ("x = __import__('os')", "TX0539", "there is no function '__import__'"),
    ("x = 9**9**9", "TX0207", "the integer is too long"),
    ("x = 1 << 10**9", "TX0207", "the integer is too long"),
    ("x = [1] * 10**9", "TX0001", "a list is no operand"),
    ("x = x + 'a'", "TX0001", "a str is no operand"),
    ("x = g(x, y=x)", "TX0542", "g gets y twice, by position and by name"),
    ("x = g()", "TX0542", "g needs the argument y: f32[n]"),
    ("x[0] = [1, 2]", "TX0221", "cannot store"),
    ("x[0:1] = [1, 2]", "TX0221", "cannot store"),
    ("x = x[0, 0]", "TX0250", "too many indices: 2 for f32[n]"),
    ("x = x if 1 in [1] else x", "TX0531", "only < <= > >= == != compare values"),
    ("x = lambda: x", "TX0531", "Lambda is not part of the language"),
    ("x = [v for v in x]", "TX0531", "ListComp is not part of the language"),
    ("a, b = x", "TX0532", "2 names"),
    ("x.foo = 1", "TX0533", "only names, tuples of names and views"),
    ("del x", "TX0531", "Delete is not part of the language"),
    ("x = sum(x, axis=3)", "TX0103", "axis 3 is out of range"),
]


def refused(text: str, name: str = "f") -> TxcError:
    with pytest.raises(TxcError) as caught:
        parse(text, "bad.tx").graph(name)
    return caught.value


@pytest.mark.parametrize(("line", "code", "text"), BODIES, ids=[line for line, _, _ in BODIES])
def test_a_bad_line_is_named(line: str, code: str, text: str):
    error = refused(f"{HEAD}    y = x + 1\n    {line}\n    return x\n{OTHER}")
    assert error.code == code
    assert text in str(error)
    assert "bad.tx:3" in str(error)


def test_the_caret_is_under_the_name():
    lines = str(refused("def f(x: f32[n]):\n    return 2 * expp(x)\n")).splitlines()
    source = next(i for i, line in enumerate(lines) if "2 * expp(x)" in line)
    assert lines[source].index("expp") == lines[source + 1].index("^^^^")
    assert any("did you mean exp" in line for line in lines)


def test_a_loop_without_end():
    assert refused("def f(x: f32[n]):\n    while True:\n        x = x + 1\n    return x\n").code == "TX0546"


def test_results_are_checked():
    error = refused("def f(x: f32[n], y: f32[m]) -> f32[m]:\n    return x\n")
    assert error.code == "TX0529"
    assert "f32[n], declared is f32[m]" in str(error)


def test_functions_may_not_call_each_other_in_a_ring():
    ring = "def f(x: f32[n]):\n    return g(x)\n\ndef g(x: f32[n]):\n    return f(x)\n"
    assert refused(ring).code == "TX0541"


@pytest.mark.parametrize("text", ["", "x = 3\n", "class A: pass\n", "def f(x): return x\n",
                                  "def f(x: f99[n]): return x\n",
                                  "def f(x: f32[n]: return x\n", "\0", "def f(x: f32[n], *y): return x\n"])  # fmt: skip
def test_what_is_no_file(text: str):
    with pytest.raises(TxcError):
        parse(text, "bad.tx")


HEAT = """
def heat(u: f64[n], steps: i64) -> f64[n]:
    for t in range(steps):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u
"""


def test_a_loop_with_a_run_time_bound_runs():
    u = np.random.default_rng(0).random(9)
    expected = u.copy()
    for _ in range(11):
        expected[1:-1] += 0.25 * (expected[2:] - 2 * expected[1:-1] + expected[:-2])
    found = run_graph(parse(HEAT).graph("heat"), {"u": u, "steps": 11})
    np.testing.assert_allclose(found[0], expected, rtol=1e-13)


CALLS = [
    ("def g(y: f32[n]) -> f32[n + 1]:\n    return y\n", "g(x)", "g returns f32[n], declared is f32[n + 1]"),
    ("def g(y: f32[m]) -> f64[m]:\n    return y\n", "g(x)", "g returns f32[n], declared is f64[m]"),
    ("def g(y: f32[m]) -> (f32[m], f32):\n    return y\n", "g(x)", "g returns 1 values, not 2"),
    ("def g(y: f32[m]) -> f32[k]:\n    return y\n", "g(x)", "g returns f32[n], declared is f32[k]"),
    ("def g(y: i64) -> i64:\n    return y\n", "g(x.sum())", "g takes y: i64, got f32[]"),
    ("def g(y: i64) -> i64:\n    return y\n", "g(2.5)", "g takes y: i64, got the float 2.5"),
    ("def g(y: f32[n]) -> f32[n]:\n    return y\n", "g(3)", "g takes y: f32[n], got the int 3"),
    ("def g(y: i32) -> i32:\n    return y\n", "g(0.5)", "g takes y: i32, got the float 0.5"),
    ("def g(y: f32[n, m].col) -> f32[n, m].col:\n    return y\n", "g(x.reshape([1, n]))", "got one of layout row"),
    ("def g(y: f32[n], z: f32[n + 1]) -> f32[n]:\n    return y\n", "g(x, x)", "g takes z: f32[n + 1], got f32[n]"),
    ("def g(y: f32[n * m]) -> f32:\n    return y.sum()\n", "g(x)", "the size m*n in y: f32[m*n] of g names what no"),
    ("def g(y: f32[n]) -> f32[n]:\n    return y\n", "g(x, x, x)", "g takes 1 arguments (y), got 3"),
    ("def g(y: f32[n]) -> f32[n]:\n    return y\n", "g(x, z=x)", "g has no parameter 'z': it takes y"),
]


@pytest.mark.parametrize(("other", "call", "text"), CALLS, ids=[text for _, _, text in CALLS])
def test_a_call_that_does_not_fit_is_refused(other: str, call: str, text: str):
    assert text in str(refused(f"def f(x: f32[n]):\n    return {call}\n\n{other}"))


def test_numbers_take_the_declared_type():
    text = """
def scaled(y: f32[m], by: f32) -> (f32[m], f32, i64):
    return y * by / 2, 1, y.shape[0]

def f(x: f32[n], k: i64):
    return scaled(x, 3), scaled(x[1:], k)
"""
    graph = parse(text).graph("f")
    assert [str(v.type) for v in graph.outputs] == ["f32[n]", "f32[]", "i64[]", "f32[n - 1]", "f32[]", "i64[]"]
    found = run_graph(graph, {"x": np.array([1, 2], np.float32), "k": 5})
    assert [np.asarray(v).tolist() for v in found] == [[1.5, 3.0], 1.0, 2, [5.0], 1.0, 1]


def test_arguments_from_python_are_matched_by_name():
    function = txc.compile_source("def f(x: f32[n], k: i64) -> f32[n]:\n    return x * k\n").f
    x = np.ones(3, np.float32)
    assert function(k=2, x=x).tolist() == [2, 2, 2]
    for args, kwargs, text in [
        ((x,), {}, "f needs the argument k: i64"), ((x, 2, 3), {}, "f takes 2 arguments (x, k), got 3"),
        ((x,), {"x": x}, "f gets x twice"), ((x, 2), {"z": 1}, "f has no parameter 'z': it takes x, k"),
    ]:  # fmt: skip
        with pytest.raises(TxcError) as caught:
            function(*args, **kwargs)
        assert text in str(caught.value)


def test_a_misspelt_method_is_told_the_nearest_of_all() -> None:
    module = txc.compile_source("def f(x: f32[n, m]) -> f32[n]:\n    return x.maxx(axis=1)")
    with pytest.raises(TxcError, match="did you mean max"):
        module.f(np.ones((2, 3), np.float32))
