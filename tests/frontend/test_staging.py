"""What `jit` makes of Python's statements: structured where values are tensors, plain Python where they are not."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.graph import Graph

X = np.arange(12.0).reshape(3, 4) - 4
SCALE = 3.0
TABLE = np.array([1.0, 2, 3, 4])


def ops(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.walk() if n.op is not None]


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else () if result is None else (result,)


def same(f: Any, *arguments: Any) -> Any:
    """The compiled function does what the plain one does, to its arguments too; the compiled function."""
    jitted = txc.jit(f)
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    got, expected = jitted(*ours), f(*theirs)
    assert (got is None) is (expected is None)
    for g, e in zip(parts(got), parts(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-13)
        assert np.shape(g) == np.shape(e)
    for a, b in zip(ours, theirs):
        np.testing.assert_array_equal(a, b)
    return jitted


def short_loop(x):
    for i in range(3):
        x = x + x[i]
    return x


def long_loop(x):
    for i in range(20):
        x = x * 0.5 + i
    return x


def run_time_loop(x, n):
    for i in range(1, n):
        x = x + i * x[0]
    return x


def over_a_list(x):
    for k, w in [(1, 2.0), (2, 0.5)]:
        x = x * w + k
    return x


def stores(x, n):
    for i in range(n):
        x[i, 1:] -= x[i, :-1] * 2
        x[:, 0] += 1


def doubling(x):
    n = 0
    while abs(x).sum() < 1000:
        x, n = x * 2, n + 1
    return x, n


def python_while(x, n=3):
    while n > 0:
        x, n = x + n, n - 1
    return x


def known_while(x):
    k = 3
    while k > 0:
        x, k = x + k, k - 1
    return x


def down(x, n):
    for i in range(n, -1, -1):
        x[i] = x[i] * 2 + x[0]
    return x


def down_by_two(x, n):
    for i in range(n, -n, -2):
        x = x + i * x[0]
    return x


def halve(x, n):
    rounds = 0
    while n > 1:
        n = n // 2
        x, rounds = x * 0.5 + n, rounds + 1
    return x, n, rounds


def power(x, n):
    result = np.ones_like(x)
    while n:
        if n % 2 == 1:
            result = result * x
        x = x * x
        n //= 2
    return result


def counts_down(x, n):
    while n > 0:
        x[0] += n
        n -= 1
    return x, n


def counts_in_threes(x, n):
    i = -4
    while i <= n + 1:
        x = x + i
        i = i + 3
    return x, i


def indexes(x, n):
    i = 1
    while n > i:
        j = 0
        while j < x.shape[1] - i:
            x[i, j] = x[i - 1, j + 1] * 2 + i
            j += 1
        i += 1
    return x, i, x[:i]


def whiles_in_a_for(x, n, m):
    for i in range(n):
        k = m
        while k > i:
            x, k = x + k * i, k // 2
    return x


def fors_in_a_while(x, n, m):
    while n > 0 and not m < 1:
        for i in range(m):
            x = x + i * n
        n -= 2
    return x, n


def copies_in_a_loop(x, n):
    total = x * 0
    for i in range(n):
        y = x.copy()
        y[0] = i
        total = total + y
    return total


def copies_in_a_branch(x):
    if x.sum() > 0:
        y = x.copy()
        y[0] = 3
        z = y
    else:
        z = x
    return z * 2


def clipped_sum(x):
    y = x.copy()
    y[0] = 1
    y *= 2
    return y.sum()


def condition_with_a_store(x):
    y = x * 1
    while clipped_sum(y) < 1000:
        y[1:] += 2
        y[0] += y[1]
    return y


def branch(x):
    if x.sum() > 0:
        x = x + 1
        y = x * 2
    else:
        y = x - 1
    return x, y


def elif_branch(x, a):
    if x[0, 0] > a:
        y = x
    elif x[0, 1] > a:
        y = x * 2
    else:
        y = x * 3
    return y + 0


def early_return(x):
    if x.sum() > 0:
        return x * 2
    return -x


def by_size(x):
    if x.shape[0] > x.shape[1]:
        return x.sum(axis=0)
    return x.sum(axis=1)


def by_flag(x, flag=True):
    return x + 1 if flag else x


def conditional(x):
    return np.abs(x if x.sum() > 100 else -x)


def logic(x):
    s = x.sum()
    return x if (s > 0 and s < 50) or not s > -100 else x * 0


def chained(x):
    return np.where(-1 < x[0, 0] < 9, x, 0)


def created(x):
    y = np.zeros(x.shape)
    y[1:] = x[:-1]
    z = np.full((2, x.shape[1]), 7.0)
    z[0] += np.arange(x.shape[1])
    return y, z, np.eye(x.shape[0]), np.ones_like(x)


def captures(x):
    return x * SCALE + TABLE


def square_of(v):
    if v.sum() > 0:
        return v * v
    return v


def nested(x):
    def add(a, b=1.0):
        return a + b

    return add(square_of(x), 2.0) + add(x)


def comprehension(x):
    return sum([x[i] * k for i, k in enumerate((1.0, 2.0, 3.0))])


def broken_out_of(x):
    for i in range(5):
        if i == 2:
            break
        x = x + i
    return x


CASES: list[tuple[Any, tuple[Any, ...], str, bool]] = [
    (short_loop, (X,), "for", False), (long_loop, (X,), "for", True), (run_time_loop, (X, 3), "for", True),
    (over_a_list, (X,), "for", False), (stores, (X, 2), "for", True), (doubling, (X,), "while", True),
    (python_while, (X,), "while", True), (known_while, (X,), "while", False), (down, (X, 2), "for", True),
    (copies_in_a_loop, (X, 3), "for", True), (copies_in_a_branch, (X,), "if", True),
    (copies_in_a_branch, (-X,), "if", True), (condition_with_a_store, (X,), "while", True),
    (down_by_two, (X, 7), "for", True), (branch, (X,), "if", True), (branch, (-X,), "if", True),
    (elif_branch, (X, 1.0), "if", True), (early_return, (X,), "if", True), (by_size, (X,), "if", False),
    (by_size, (X.T.copy(),), "if", False), (conditional, (X,), "select", True), (logic, (X,), "logical_and", True),
    (chained, (X,), "logical_and", True), (created, (X,), "for", False), (captures, (X,), "if", False),
    (nested, (X,), "if", True), (comprehension, (X,), "for", False), (broken_out_of, (X,), "for", False),
]  # fmt: skip


@pytest.mark.parametrize(("f", "arguments", "op", "there"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_python(f: Any, arguments: tuple[Any, ...], op: str, there: bool):
    jitted = same(f, *arguments)
    assert (op in ops(jitted.graph(*arguments))) is there


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_one_version_for_every_step_count(n: int):
    jitted = txc.jit(run_time_loop)
    jitted(X, 3)
    np.testing.assert_allclose(jitted(X, n), run_time_loop(X, n))
    assert len(jitted.signatures()) == 1


def versions(jitted: Any) -> int:
    return sum(len(found) for found in jitted._versions.values())


LOOPS = [
    halve,
    power,
    counts_down,
    counts_in_threes,
    indexes,
    whiles_in_a_for,
    fors_in_a_while,
    python_while,
    down_by_two,
]


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_the_value_of_an_int_argument_compiles_nothing(f: Any):
    jitted = txc.jit(f)
    for n in (2, 0, 1, 3, -1, -3):
        if n < 0 and f is power:
            continue  # Python's own loop would not end
        for more in ((3,), (0,), (-2,)) if f in (whiles_in_a_for, fors_in_a_while) else ((),):
            mine, numpys = X.copy(), X.copy()
            got, expected = jitted(mine, n, *more), f(numpys, n, *more)
            np.testing.assert_array_equal(mine, numpys)
            for g, e in zip(parts(got), parts(expected), strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-13, err_msg=f"n = {n} {more}")
    assert versions(jitted) == 1


def above(x, n):
    if n > 3:
        x = x * n
    return x[0] if n == 7 else x


def test_a_condition_on_an_int_argument_is_a_fact():
    """Two versions a condition that is asked, however many values there are."""
    jitted = txc.jit(above)
    for n in (5, 9, 1, -2, 3, 4, 100, 7):
        np.testing.assert_array_equal(jitted(X, n), above(X, n))
    assert versions(jitted) == 3
    assert "3 < $n  (a comparison)" in jitted.explain(X, 5)


def grows(x):
    i = 0
    while i < 12:
        x = np.concatenate([x, x[:1]])
        i += 1
    return x


def collects(x):
    found, i = [], 0
    while i < 12:
        found.append(x * i)
        i += 1
    return sum(found)


def picks(x):
    weights, i = [float(k) for k in range(12)], 0
    while i < len(weights):
        x = x * weights[i] + i
        i += 1
    return x


def factorials(x):
    """Their last ones have more than 64 bits."""
    factorial, k = 1, 1
    while k < 30:
        factorial, x = factorial * k, x + 1 / factorial
        k += 1
    return x, factorial / 10**20


def only_numbers(x):
    total, k = 0.0, 1
    while k < 3000:
        total += 1 / k
        k += 1
    return x + total if total > 8 else x[0]


def root(x):
    """More rounds than may add to the program."""
    r = 0
    while r * r < 10**9:
        r += 1
    k = 0
    for k in itertools.count():
        if k * k > 10**9:
            break
    return x * r + k


@pytest.mark.parametrize("f", [picks, factorials, only_numbers, root], ids=lambda f: f.__name__)
def test_a_while_that_only_python_can_run_is_written_out(f: Any):
    assert not {"for", "while"} & set(ops(same(f, X).graph(X)))


def explicit(x, n):
    rest = int(n)
    while rest > 0:
        x, rest = x[1:], rest - 1
    return x * float(n)


def test_a_while_may_collect():
    same(collects, X)


def test_an_array_may_grow_in_a_while():
    assert "for" in ops(same(grows, X).graph(X))


def test_int_makes_a_value_a_fact():
    jitted = txc.jit(explicit)
    for n in (1, 2, 1):
        np.testing.assert_array_equal(jitted(X, n), explicit(X, n))
    assert versions(jitted) == 2
    assert "(int() of it)" in jitted.explain(X, 2)


def numbers(x, k):
    return x * float(x.sum()), k + int(x.sum()), x * float(len(x))


def test_numbers_of_tensors_are_weak():
    narrow, small = X.astype(np.float32), np.ones(3, np.int8)
    got = same(numbers, narrow, small)(narrow, small)
    assert [a.dtype for a in got] == [a.dtype for a in numbers(narrow, small)]


@pytest.mark.parametrize(
    "f", [lambda y: y + 1, lambda y: 1 * y, lambda y: y.sum(), np.exp, lambda y: y[0], lambda y: (y,)]
)
def test_using_a_variable_that_may_be_unbound(f: Any):
    def one(x):
        if x.sum() > 0:
            y = x
        return f(y)  # pyright: ignore[reportPossiblyUnboundVariable]

    jitted = same(one, X)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'y' where it is not associated"):
        jitted(-X)


@pytest.fixture
def globals_kept() -> Iterator[None]:
    global SCALE, TABLE
    before = SCALE, TABLE
    yield
    SCALE, TABLE = before


@pytest.mark.usefixtures("globals_kept")
def test_rebinding_a_captured_value_is_noticed():
    global SCALE, TABLE
    jitted = txc.jit(captures)
    np.testing.assert_array_equal(jitted(X), X * 3 + TABLE)
    SCALE = 5.0
    np.testing.assert_array_equal(jitted(X), X * 5 + TABLE)
    TABLE = np.zeros(4)
    np.testing.assert_array_equal(jitted(X), X * 5)
    TABLE[1] = 1
    np.testing.assert_array_equal(jitted(X), X * 5 + TABLE)


def test_rebinding_a_closure_variable_is_noticed():
    weight: Any = np.ones(4)
    offset = 1

    @txc.jit
    def f(x):
        return x * weight + offset

    np.testing.assert_array_equal(f(X), X + 1)
    weight, offset = np.full(4, 2.0), 3
    np.testing.assert_array_equal(f(X), X * 2 + 3)


def test_a_function_without_source_is_traced():
    scope: dict[str, Any] = {"np": np}
    exec("def f(x):\n    return np.exp(x) + 1", scope)
    np.testing.assert_allclose(txc.jit(scope["f"])(X), np.exp(X) + 1, rtol=1e-14)
    np.testing.assert_array_equal(txc.jit(lambda x: x * 2)(X), X * 2)


def test_a_jitted_function_in_another():
    inner = txc.jit(square_of)

    @txc.jit
    def outer(x):
        return inner(x) + 1

    np.testing.assert_array_equal(outer(X), square_of(X) + 1)


def test_methods():
    class Model:
        def __init__(self) -> None:
            self.weight = np.full(4, 2.0)

        @txc.jit
        def __call__(self, x):
            return x * self.weight

    model = Model()
    np.testing.assert_array_equal(model(X), X * 2)


def walks(x, n):
    for i in range(n):
        x[i] = x[i] * 2
    return x


def walks_around(x, n):
    for i in range(n):
        x[i - 1] += x[i]
    return x


def looks_ahead(x, n):
    for i in range(n):
        if i < x.shape[0] - 1:
            x[i] = x[i + 1]
    return x


def walks_out_of_a_row(x, n):
    s = 0.0
    m = np.outer(x, x)
    for k in range(n - 2):
        x[0] += 1
        for j in range(n):
            s += m[k, j]
    return x + s


def triangle(x, n):
    y = x[1:] * 1
    for i in range(n):
        for j in range(i + 1, n):
            y[i] += x[j]
    return y


@pytest.mark.parametrize(
    "f", [walks, walks_around, looks_ahead, walks_out_of_a_row, triangle], ids=lambda f: f.__name__
)
def test_an_index_stays_inside_in_every_iteration(f: Any):
    jitted = txc.jit(f)
    for n in (3, 0, 1, 2, -1):
        mine, numpys = X.copy(), X.copy()
        np.testing.assert_array_equal(jitted(mine, n), f(numpys, n))
        np.testing.assert_array_equal(mine, numpys)
    for n in (4, 9, 2, 5):
        mine, numpys = X.copy(), X.copy()
        try:
            expected = f(numpys, n)
        except IndexError:
            with pytest.raises(IndexError):
                jitted(mine, n)
        else:
            np.testing.assert_array_equal(jitted(mine, n), expected)
        np.testing.assert_array_equal(mine, numpys)


def test_variables_with_annotations():
    @dataclasses.dataclass
    class Found:
        total: float
        count: int = 0

    def annotated(x):
        total: float = 0.0
        count: int
        count = 0
        for v in x:
            twice: float = v * 2
            total: float = total + twice
            if v > 1:
                count: int = count + 1
            else:
                more: int = 3
                count += more

        def inner(q: int) -> int:
            r: int = q + 1
            while r < 10:
                r: int = r + 1
            return r

        x[0]: float = 5.0  # pyright: ignore[reportInvalidTypeForm]
        made = Found(total)
        made.count: int = count  # pyright: ignore[reportInvalidTypeForm]
        return made.total, made.count, inner(2)

    compiled = txc.jit(annotated)
    for x in (np.arange(6.0), np.arange(3.0) - 1):
        mine = x.copy()
        assert repr(compiled(mine)) == repr(annotated(x))
        np.testing.assert_array_equal(mine, x)
