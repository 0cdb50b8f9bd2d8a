"""Lazy tensors in loops: iterations share their code, and what an evaluation keeps is what it was."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.driver import compile_cache
from txc.compiler.frontend.lazy import eval_cache, materialize, op_templates, structural_key
from txc.compiler.frontend.lazy.deferred import array_of_leaf
from txc.compiler.frontend.trace.graph import Node

RNG = np.random.default_rng(0)
MATRIX, TALL, SIDE, POINTS = RNG.random((8, 8)), RNG.random((30, 5)), RNG.random(30), RNG.random((60, 2))
MATRIX = (MATRIX + MATRIX.T) / MATRIX.sum()
EIGHT = np.arange(1.0, 9)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The graphs that are compiled, where nothing is known."""
    monkeypatch.setattr(eval_cache, "_calls", {})
    monkeypatch.setattr(op_templates, "_templates", {})
    monkeypatch.setattr(compile_cache, "_code", {})
    structural_key.forget()
    found: list[str] = []
    original = compile_cache._loaded_or_made

    def noted(graph: Any, *rest: Any) -> Any:
        found.append(str(graph))
        return original(graph, *rest)

    monkeypatch.setattr(compile_cache, "_loaded_or_made", noted)
    return found


def pagerank(a: Any, iterations: int) -> Any:
    links, rank = a(MATRIX), a(np.full(8, 1 / 8))
    for _ in range(iterations):
        new = 0.85 * (links @ rank) + 0.15 / 8
        if float(abs(new - rank).max()) < 1e-300:
            break
        rank = new
    return rank


def gradient_descent(a: Any, iterations: int) -> Any:
    x, y, w = a(TALL), a(SIDE), a(np.zeros(5))
    shown = []
    for _ in range(iterations):
        error = x @ w - y
        shown.append(f"{float((error * error).mean()):.9f}")
        w = w - 0.05 * (x.T @ error) / len(SIDE)
    return np.concatenate([[float(s) for s in shown], np.asarray(w)])


def newton(a: Any, iterations: int) -> Any:
    square = x = a(EIGHT)
    for _ in range(iterations):
        new = (x + square / x) / 2
        if bool(np.isnan(abs(new - x).max())):
            break
        x = new
    return x


def conjugate_gradients(a: Any, iterations: int) -> Any:
    q, b, x = a(MATRIX @ MATRIX + np.eye(8)), a(EIGHT), a(np.zeros(8))
    p = r = b - q @ x
    rs = r @ r
    for _ in range(min(iterations, 6)):
        qp = q @ p
        alpha = rs / (p @ qp)
        x, r = x + alpha * p, r - alpha * qp
        new = r @ r
        if float(new) < 0:
            break
        p, rs = r + (new / rs) * p, new
    return x


def k_means(a: Any, iterations: int) -> Any:
    x, centres = a(POINTS), a(POINTS[:3])
    for _ in range(iterations):
        nearest = ((x[:, None] - centres[None]) ** 2).sum(-1).argmin(axis=1)
        new = np.stack([x[nearest == k].mean(axis=0) for k in range(3)])
        if float(abs(new - centres).max()) < 0:
            break
        centres = new
    return centres


def power_iteration(a: Any, iterations: int) -> Any:
    matrix, v = a(MATRIX), a(EIGHT)
    best = v.min() * 0
    for _ in range(iterations):
        v = matrix @ v
        norm = np.sqrt((v * v).sum())
        v = v / norm
        if norm > best:
            best = norm
    return v * best


def losses(a: Any, iterations: int) -> Any:
    x, y, w = a(TALL), a(SIDE), a(np.zeros(5))
    found = []
    for _ in range(iterations):
        error = x @ w - y
        found.append((error * error).mean())
        w = w - 0.05 * (x.T @ error) / len(SIDE)
    return np.array([float(v) for v in found])


def several_results(a: Any, iterations: int) -> Any:
    n, m = a(np.arange(1, 9) * 7), a(np.arange(1, 9) + 2)
    for _ in range(iterations):
        n, m = np.divmod(n * 3 + m, m + 1)
        if int(m.max()) < 0:
            break
    return n + m


def no_elementwise_state(a: Any, iterations: int) -> Any:
    x = a(EIGHT)
    for _ in range(iterations):
        x = np.concatenate([x[1:], x[:1]])
        if float(np.cumsum(x)[3]) < 0:
            break
    return x


#: With how many compilations each has to do, however many iterations there are; one more is for what is asked last.
LOOPS: list[tuple[Callable[[Any, int], Any], int]] = [
    (pagerank, 1), (gradient_descent, 3), (newton, 2), (conjugate_gradients, 3), (k_means, 4), (power_iteration, 4),
    (losses, 3), (several_results, 3), (no_elementwise_state, 2),
]  # fmt: skip


@pytest.mark.parametrize(("loop", "most"), LOOPS, ids=[f.__name__ for f, _ in LOOPS])
def test_iterations_share_their_code(loop: Callable[[Any, int], Any], most: int, made: list[str]):
    np.testing.assert_allclose(np.asarray(loop(txc.asarray, 6)), loop(np.asarray, 6), rtol=1e-9)
    assert len(made) <= most, "\n".join(made)
    np.testing.assert_allclose(np.asarray(loop(txc.asarray, 40)), loop(np.asarray, 40), rtol=1e-7, atol=1e-12)
    assert len(made) <= most, "\n".join(made)


def test_what_nobody_asks_for_is_computed_in_pieces(made: list[str]):
    def unasked(a: Any, iterations: int) -> Any:
        x, y, w = a(TALL), a(SIDE), a(np.zeros(5))
        for _ in range(iterations):
            w = w - 0.05 * (x.T @ (x @ w - y)) / len(SIDE)
        return w

    np.testing.assert_allclose(np.asarray(unasked(txc.asarray, 150)), unasked(np.asarray, 150), rtol=1e-9)
    assert len(made) <= 3
    np.testing.assert_allclose(np.asarray(unasked(txc.asarray, 300)), unasked(np.asarray, 300), rtol=1e-9)
    assert len(made) <= 4  # the rest behind the last whole piece

    def added(a: Any, iterations: int) -> Any:  # of more arrays than there are keys for
        total, step = a(EIGHT), a(EIGHT[::-1] / 8)
        for _ in range(iterations):
            step = np.cos(step * step) * 0.9
            if float(step.sum()) < 0:
                break
            total = total * 0.9 + step / step.max()
        return total

    def mixed(a: Any, iterations: int) -> Any:  # each sum casts one operand
        x, total = a(EIGHT.astype("f4")), a(EIGHT)
        for _ in range(iterations):
            total = total * 0.5 + x
            x = x * np.float32(0.25) + (total * 0.0625).astype(np.float32) + np.float32(1)
        return x + total

    np.testing.assert_allclose(np.asarray(mixed(txc.asarray, 400)), mixed(np.asarray, 400), rtol=1e-6)
    before = len(made)
    for iterations in (300, 371):
        np.testing.assert_allclose(np.asarray(added(txc.asarray, iterations)), added(np.asarray, iterations), rtol=1e-9)
    assert len(made) - before <= 6

    wide = txc.asarray(np.arange(600.0))[:, None] + txc.asarray(np.arange(600.0))
    for _ in range(400):
        wide = wide * 0.5 + 1
    before = len(made)
    assert float(wide.max()) == 2 and len(made) == before + 1  # no piece of it is smaller than all of it


def test_views_are_not_kept_beside_what_they_view(made: list[str]):
    x: Any = txc.asarray(MATRIX) * 2
    rows, flat, column = x[2:], x.reshape(-1), x[:, 1]
    wanted = MATRIX[2:].sum() * 2 + MATRIX.max() * 4 + MATRIX[:, 1].sum() * 2
    for _ in range(2):
        found = float((rows.sum() + flat * 2).max() + column.sum())
        assert found == pytest.approx(wanted, rel=1e-14)
    results = [line.count("%") for text in made for line in text.splitlines() if "return" in line]
    assert results == [2, 1]  # what is asked for and x, then what is asked for
    column[0] = -1
    assert np.asarray(flat)[1] == np.asarray(x)[0, 1] == -1 and np.asarray(rows)[0, 0] == MATRIX[2, 0] * 2


def test_what_is_large_is_kept_when_it_is_met_again(made: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(materialize, "SMALL", 0)
    x = txc.asarray(MATRIX)
    doubled, product = x * 2 + 1, x @ x
    wide = product[:, None] - product[None]

    def kept(t: Any) -> bool:
        return array_of_leaf(t.deferred_value) is not None

    assert float((doubled - product).max()) == (MATRIX * 2 + 1 - MATRIX @ MATRIX).max()
    assert kept(product) and not kept(doubled)  # which takes less work than memory
    assert float(wide.max()) > 0 and not kept(wide)
    assert float((doubled * x).min()) == ((MATRIX * 2 + 1) * MATRIX).min() and kept(doubled)
    assert float(wide.min()) < 0 and kept(wide)
    np.testing.assert_array_equal(np.asarray(doubled), MATRIX * 2 + 1)
    np.testing.assert_allclose(np.asarray(newton(txc.asarray, 30)), newton(np.asarray, 30), rtol=1e-12)
    assert len(made) <= 10, "\n".join(made)


def test_values_of_one_expression_are_arrays_of_their_own():
    x = txc.asarray(EIGHT)
    a, b, c = x * 2, x * 2, (x + 1) * 1
    d = a + b * c
    assert float((d - a).max()) == (EIGHT * 2 * (EIGHT + 1)).max()
    for t in (a, b, d):  # each is stored into, and the others are not
        t[0] = 77
    expected = np.concatenate([[77], EIGHT[1:] * 2])
    np.testing.assert_array_equal(np.asarray(a), expected)
    np.testing.assert_array_equal(np.asarray(b), expected)
    np.testing.assert_array_equal(np.asarray(c), EIGHT + 1)
    np.testing.assert_array_equal(np.asarray(d)[1:], (EIGHT * 2 + EIGHT * 2 * (EIGHT + 1))[1:])


def test_stores_do_not_reach_what_was_kept():
    x: Any = txc.asarray(EIGHT) + 1
    view, twice = x[2:], x * 2
    later = twice - x
    assert float((later + x).sum()) == ((EIGHT + 1) * 2).sum()  # keeps x, twice and later
    x[3] = -5
    view[-1] = -7
    expected = EIGHT + 1
    np.testing.assert_array_equal(np.asarray(twice), expected * 2)
    np.testing.assert_array_equal(np.asarray(later), expected)
    expected[3], expected[-1] = -5, -7
    np.testing.assert_array_equal(np.asarray(view), expected[2:])
    once = later * 1
    waits = once + 0.5
    array = np.asarray(once)
    array[0] = 99  # which the tensor shares from now on
    np.testing.assert_array_equal(np.asarray(waits), EIGHT + 1.5)
    assert np.asarray(once + 0.5)[0] == 99.5


@pytest.mark.parametrize("turn", range(2))  # the second finds known code by keys that name the memory
@pytest.mark.parametrize(
    "store",
    [
        lambda x: x.__iadd__(1), lambda x: x.__setitem__(slice(1, None), x[:-1] * 2), lambda x: x.__setitem__(0, 9),
        lambda x: x.__setitem__(slice(None), x * x + x[::-1]), lambda x: x[2:].__imul__(3),
    ],
)  # fmt: skip
def test_stores_into_memory_that_waiting_expressions_named_before(store: Callable[[Any], Any], turn: int):
    x: Any = txc.Tensor("f64", (8,))
    x[...] = EIGHT
    inner = x * 2
    waits = inner + 0.5
    assert float((inner * 3).sum()) == (EIGHT * 6).sum()  # keeps inner; waits still names the memory of x
    late = x - inner
    plain = EIGHT.copy()
    store(x)
    store(plain)
    np.testing.assert_array_equal(np.asarray(waits), EIGHT * 2 + 0.5)
    np.testing.assert_array_equal(np.asarray(late), -EIGHT)
    np.testing.assert_array_equal(np.asarray(x), plain)
    np.testing.assert_array_equal(np.asarray(x - inner), plain - EIGHT * 2)


def test_what_is_asked_for_is_kept_for_those_that_wait(made: list[str]):
    x: Any = txc.asarray(MATRIX)
    product = x @ x
    waits = product + 1
    array = np.asarray(product)
    array[0] = 5  # which is no part of what waits
    np.testing.assert_allclose(np.asarray(waits), MATRIX @ MATRIX + 1, rtol=1e-12)
    assert sum("contract" in text for text in made) == 1


def test_numbers_that_differ_between_iterations(made: list[str]):
    def floats(a: Any, i: int) -> Any:
        x = a(EIGHT)
        return (x + i / 7) / (i + 1) - np.maximum(x, i) * 0.1 + np.where(x > i, -0.0 * i, x) - i

    def integers(a: Any, i: int) -> Any:
        x = a(np.arange(8, dtype=np.int16))
        return np.minimum(x * i - 2, i) + (x == i) * i

    def stored(a: Any, i: int) -> Any:
        x = a(EIGHT) * 2
        x[3], x[i % 4 :: 2] = i, i + 0.5
        return np.concatenate([x, np.full(3, float(i))])

    def programs(a: Any, i: int) -> Any:  # these numbers are parts of what is computed
        x = a(EIGHT)
        return x**i % (i + 1) + x // i

    def low(a: Any, i: int) -> Any:
        return a(EIGHT.astype("f4")) * np.float32(i / 3) - i / 10

    for f, most in ((floats, 3), (integers, 3), (low, 3), (programs, 3)):
        before = len(made)
        for i in (1, 2, 3) if f is programs else (1, 2, 5, 3, -7, 2**14, 0):
            for _ in range(2):
                found, wanted = np.asarray(f(txc.asarray, i)), f(np.asarray, i)
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)
                np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
        assert len(made) - before <= most, "\n".join(made[before:])
    for i in range(9):
        np.testing.assert_array_equal(np.asarray(stored(txc.asarray, i)), stored(np.asarray, i))


def test_random_numbers_and_checks_in_loops(made: list[str]):
    def walk(seed: int) -> np.ndarray:
        x: Any = txc.asarray(EIGHT)
        for i in range(8):
            x = x + txc.Tensor("f64", (8,)).set_random(seed=seed + i)
            if float(x.max()) < 0:
                break
        return np.asarray(x)

    np.testing.assert_array_equal(walk(3), walk(3))
    assert not np.array_equal(walk(3), walk(4))
    before = len(made)
    places = txc.asarray(np.array([1, 2, 0]))
    x: Any = txc.asarray(np.array([1, 2, 3]))
    for i in range(9):
        places = places[x - 1]
        if i == 5:
            x = x + 1
        try:
            assert int(places.max()) == 2
        except IndexError as error:
            assert i == 6 and "index 3 is out of bounds" in str(error)
            break
    else:
        pytest.fail("an index out of bounds was taken")
    assert len(made) <= before + 2


def test_memory_is_that_of_one_iteration():
    def nodes() -> int:
        gc.collect()
        return sum(isinstance(o, Node) for o in gc.get_objects())

    for loop in (pagerank, gradient_descent, conjugate_gradients):
        loop(txc.asarray, 3)
        before = nodes()
        result = loop(txc.asarray, 60)
        assert nodes() - before < 40
        del result


def test_threads_that_share_what_is_kept():
    x = txc.asarray(MATRIX)
    for _ in range(6):
        shared = [x @ x + i for i in range(3)]
        whole = [s * 2 - t for s in shared for t in shared]
        plain = [MATRIX @ MATRIX + i for i in range(3)]
        wanted = [s * 2 - t for s in plain for t in plain]
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda t: float((t * 3).sum()), [*whole, *shared, *whole]))
        for value, array in zip(found, [*wanted, *plain, *wanted]):
            np.testing.assert_allclose(value, (array * 3).sum(), rtol=1e-12)


def test_pieces_of_an_expression_with_run_time_checks():
    """The word that says which check failed is none of the values that are kept."""

    def put(x: Any, places: Any) -> Any:
        for _ in range(12):
            np.put(x, places, x[1:].sum() * 0.25)
        return x

    for places in ([0, 3], [5, -6]):
        got, expected = txc.asarray(np.arange(6.0)), np.arange(6.0)
        np.testing.assert_allclose(np.asarray(put(got, txc.asarray(np.array(places)))), put(expected, places))
    with pytest.raises(IndexError):
        np.asarray(put(txc.asarray(np.arange(6.0)), txc.asarray(np.array([0, 6]))))
