"""Functions of scalars with loops: every element goes round as often as it needs, on every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect
from txc.dialects.scalar.program import parse_program

Y, X = np.mgrid[-1.2:1.2:23j, -2:0.6:37j]
LIMIT = 30


def escape(c: Any) -> Any:
    z, n = c * 0, 0
    while n < 50 and abs(z) <= 2.0:
        z = z * z + c
        n += 1
    return n


def escape_in_parts(re: Any, im: Any) -> Any:
    x = y = 0.0
    for i in range(50):
        if x * x + y * y > 4:
            return i
        x, y = x * x - y * y + re, 2 * x * y + im
    return 50


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def twos(n: Any) -> Any:
    """How often 2 divides n!: the inner loop would not end for an outer one that has."""
    total = 0
    while n > 0:
        m = n
        while m % 2 == 0:
            m = m // 2
            total += 1
        n = n - 1
    return total


def exponential(x: Any) -> Any:
    total = term = 1.0
    for i in range(1, LIMIT):
        term = term * x / i
        if abs(term) < 1e-9:
            break
        total += term
    return total


def triangle(n: Any) -> Any:
    total = 0
    for i in range(n):
        total += i
    return total


def of_counters(x: Any) -> Any:
    """Expressions of a counter are integer expressions, with quotients and products."""
    for i in range(20):
        for j in range(i, 20, 3):
            x = x + i * i - (j // 3) * (i % 4) + 2
    return x


CASES: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    "complex": (escape, (X + 1j * Y,)),
    "single": (escape, ((X + 1j * Y).astype(np.complex64),)),
    "parts": (escape_in_parts, (X, Y)),
    "broadcast": (escape_in_parts, (X[0], Y[:, :1])),
    "collatz": (collatz, (np.arange(1, 300),)),
    "nested": (twos, (np.arange(0, 41),)),
    "series": (exponential, (X,)),
    "counted": (triangle, (np.arange(-3, 20).reshape(-1, 1),)),
    "counters": (of_counters, (X[0],)),
    "empty": (collatz, (np.zeros((0, 3), np.int64),)),
}


def meaning(f: Any, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    elements = zip(*(np.broadcast_to(a, shape).ravel() for a in arrays))
    with np.errstate(over="ignore"):
        return np.array([f(*scalars) for scalars in elements]).reshape(shape)


@pytest.mark.parametrize("name", CASES)
def test_against_python(name: str) -> None:
    f, arrays = CASES[name]
    expected = meaning(f, arrays)
    for threads in (1, 4):
        got = txc.vectorize(f, threads=threads)(*arrays)
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.float32])
def test_lanes_that_hold_no_element_do_not_run(kind: type) -> None:
    """Zero, which is what stands there, would never come to an end."""
    steps = np.vectorize(collatz)

    def compiled(x: Any) -> Any:
        counted = np.vectorize(collatz)(x)
        return counted.sum(), counted.cumsum(), np.pad(counted, (3, 5)), np.concatenate([counted, counted[::-1]])

    f = txc.jit(compiled)
    for size in (1, 7, 17, 63):
        x = np.arange(1, size + 1).astype(kind)
        meant = steps(x)
        wanted = (meant.sum(), meant.cumsum(), np.pad(meant, (3, 5)), np.concatenate([meant, meant[::-1]]))
        for got, expected in zip(f(x), wanted, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["complex", "parts", "nested", "counted"])
def test_every_level_agrees(name: str) -> None:
    f, arrays = CASES[name]
    with Trace("f") as trace:
        x, *others = (trace.array_input(f"x{i}", a) for i, a in enumerate(arrays))
        graph = trace.finish(x.binary_expr(*others, f) if others else x.unary_expr(f))
    report = bisect(graph, {f"x{i}": a for i, a in enumerate(arrays)})
    assert report.culprit is None, str(report)


def test_numpys_vectorize_in_a_compiled_function() -> None:
    scaled = np.vectorize(exponential, otypes=[np.float32])

    def compiled(c: Any) -> Any:
        return np.vectorize(escape)(c) + scaled(c.real)

    got = txc.jit(compiled)(X + 1j * Y)
    np.testing.assert_allclose(got, np.vectorize(escape)(X + 1j * Y) + scaled(X), rtol=1e-6)
    of_rows, of_two = np.vectorize(escape, signature="(n)->()"), np.vectorize(escape, otypes="dd")

    def by_rows(c: Any) -> Any:
        return of_rows(c)

    def by_two(c: Any) -> Any:
        return of_two(c)

    for refused, message in ((by_rows, "signature='(n)->()'"), (by_two, "with 2 results")):
        with pytest.raises(txc.TxcError) as raised:
            txc.jit(refused)(X)
        assert message in str(raised.value)


def test_what_a_function_takes_from_outside() -> None:
    """Numbers and sizes that are known when the code runs are operands; Python's globals are facts, checked."""
    global LIMIT

    def compiled(x: Any, limit: Any) -> Any:
        def steps(v: Any) -> Any:
            n = 0
            while v < limit and n < x.shape[0]:
                v, n = v * 2 + 0.5, n + 1
            return n

        return x.unary_expr(steps)

    x = np.linspace(0, 3, 12)
    for limit, size in ((100.0, 12), (4.0, 12), (1e9, 5)):
        expected = np.zeros(size, np.int64)
        for i, v in enumerate(x[:size]):
            while v < limit and expected[i] < size:
                v, expected[i] = v * 2 + 0.5, expected[i] + 1
        np.testing.assert_array_equal(txc.jit(compiled)(x[:size], limit), expected)
    series = txc.vectorize(exponential)
    before = series(X)
    try:
        LIMIT = 2
        np.testing.assert_array_equal(series(X), 1 + X)
    finally:
        LIMIT = 30
    np.testing.assert_array_equal(series(X), before)


def test_vectorize_is_a_compiled_function() -> None:
    @txc.vectorize
    def halvings(n: Any) -> Any:
        """How often."""
        count = 0
        while n > 1:
            n, count = n // 2, count + 1
        return count

    assert halvings.__name__ == "halvings" and halvings.__doc__ == "How often."
    np.testing.assert_array_equal(halvings(np.array([1, 2, 9, 1024])), [0, 1, 3, 10])
    assert halvings(9) == 3


@pytest.mark.parametrize("name", CASES)
def test_programs_are_read_back(name: str) -> None:
    f, arrays = CASES[name]
    with Trace("f") as trace:
        x, *others = (trace.array_input(f"x{i}", a) for i, a in enumerate(arrays))
        graph = trace.finish(x.binary_expr(*others, f) if others else x.unary_expr(f))
    (node,) = (n for n in graph.nodes() if n.op is not None and n.op.name == "scalar_map")
    program = node.attrs["program"]
    assert parse_program(str(program)) == program
    assert program.has_loops and program.cost > 16


@pytest.mark.parametrize("text", ["", "(%0: f32) {yield %0: f33}", "(%0: f32) {%1 = exp %0 yield %1: f32}", "(%0) ?"])
def test_texts_that_are_no_programs(text: str) -> None:
    with pytest.raises(ValueError, match=r"scalar program|f33"):
        parse_program(text)


def test_errors() -> None:
    rows = np.zeros((3, 4))

    def looks_up(v: Any) -> Any:
        while v < 1:
            v = v + rows[0, 0] + 1
        return v

    with pytest.raises(txc.TxcError) as raised:
        txc.vectorize(looks_up)(np.zeros(3))
    assert "cannot use" in str(raised.value)
