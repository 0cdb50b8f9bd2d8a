"""Lazy expressions are compiled for facts, not for sizes."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.driver import compile_cache
from txc.compiler.frontend.lazy import symbolic_shapes
from txc.compiler.frontend.lazy.evaluate import lazy_graph

EXPRESSIONS = {
    "map": (lambda x, y: (x + y * 2).exp(), lambda x, y: np.exp(x + y * 2)),
    "reduce": (lambda x, y: x.sum([0]) + y.maximum([0]), lambda x, y: x.sum(0) + y.max(0)),
    "keepdims": (lambda x, y: x - y.mean(axis=1, keepdims=True), lambda x, y: x - y.mean(1, keepdims=True)),
    "vector": (lambda x, y: x * y[0] + x[:, :1], lambda x, y: x * y[0] + x[:, :1]),
    "stencil": (lambda x, y: x[1:-1, 2:] + y[:-2, :-2], lambda x, y: x[1:-1, 2:] + y[:-2, :-2]),
    "steps": (lambda x, y: x[::2, ::-1] + y[::2, ::-1], lambda x, y: x[::2, ::-1] + y[::2, ::-1]),
    "contract": (lambda x, y: x @ y.T, lambda x, y: x @ y.T),
    "flat": (lambda x, y: x.reshape(-1) + y.reshape(-1), lambda x, y: x.ravel() + y.ravel()),
    "flat contract": (lambda x, y: np.vdot(x, y), lambda x, y: np.vdot(x, y)),
    "outer": (lambda x, y: x[:, 0][:, None] + y[0][None], lambda x, y: x[:, :1] + y[:1]),
    "concatenate": (lambda x, y: np.concatenate([x, y], 1), lambda x, y: np.concatenate([x, y], 1)),
    "spread": (lambda x, y: np.std(x + y * 1j, 1, ddof=1), lambda x, y: np.std(x + y * 1j, 1, ddof=1)),
    "complex mean": (lambda x, y: np.mean(x + y * 1j, 0), lambda x, y: np.mean(x + y * 1j, 0)),
    "pad": (lambda x, y: x.pad([(1, 0), (0, 2)]) * 2, lambda x, y: np.pad(x, [(1, 0), (0, 2)]) * 2),
}


def compilations(monkeypatch) -> list[str]:
    """The graphs that are compiled from now on."""
    made: list[str] = []
    original = compile_cache._loaded_or_made

    def noted(graph, *rest):
        made.append(str(graph))
        return original(graph, *rest)

    monkeypatch.setattr(compile_cache, "_loaded_or_made", noted)
    return made


@pytest.mark.parametrize("layout", ["row", "col"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_loop_over_shapes_compiles_once(name, layout, monkeypatch):
    made = compilations(monkeypatch)
    lazily, plainly = EXPRESSIONS[name]
    for n, m in [(8, 9), (9, 8), (12, 30), (40, 41), (33, 17)]:
        x, y = np.random.default_rng(n).standard_normal((2, n, m))
        order = "F" if layout == "col" and name == "flat" else "C"
        expected = plainly(x.T, y.T).ravel() if order == "F" else plainly(x, y)
        got = lazily(txc.asarray(x, layout=layout), txc.asarray(y, layout=layout))
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12, atol=1e-12)
    assert len(made) <= 1, "\n".join(made)


def test_what_transforms_are_divided_by_follows_from_their_sizes(monkeypatch):
    monkeypatch.setattr(symbolic_shapes, "FEW", 0)

    def irfft_odd(x, norm):
        return np.fft.irfft(x, 2 * x.shape[1] - 1, norm=norm)

    for transform, norm in [(np.fft.ifft, "backward"), (np.fft.fft2, "ortho"), (irfft_odd, "ortho")]:
        made = [transform(txc.asarray(np.ones((n, n + 1), "c8")), norm=norm) for n in (6, 10)]
        assert len({str(lazy_graph([v.value])) for v in made}) == 1


POSITIONS = {
    "element": (range(12), lambda x, i: x[i, -1] + 1),
    "row": (range(12), lambda x, i: x[i] * 2 + x[i - 1]),
    "diagonal": (range(12), lambda x, i: x[i, i] + 1),
    "window": (range(1, 4), lambda x, i: x[i : i + 2] * 2),
    "window from the end": (range(6, 9), lambda x, i: x[i : i + 3, 1:-1].sum(0)),
    "backwards": (range(7, 11), lambda x, i: x[i : i - 3 : -1] - x[i]),
    "of two": (range(8), lambda x, i: x[i] - (x * x)[i + 1]),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_a_loop_over_positions_compiles_once(name, monkeypatch):
    made = compilations(monkeypatch)
    places, f = POSITIONS[name]
    plain = np.random.default_rng(0).standard_normal((12, 13))
    x = txc.asarray(plain)
    for i in places:
        np.testing.assert_allclose(np.asarray(f(x, i)), f(plain, i), rtol=1e-14)
    assert len(made) <= 1, "\n".join(made)


def test_a_loop_over_positions_stores_with_one_compilation(monkeypatch):
    made = compilations(monkeypatch)
    plain = np.random.default_rng(0).standard_normal((40, 3))
    x = txc.Tensor("f64", plain.shape)
    x[...] = plain
    for i in range(2, 18):  # each reads what those before it stored, and overlaps what it stores into
        for y in (x, plain):
            y[i : i + 2] = y[i - 1 : i + 1] * 0.5 + y[i : i + 2]
    np.testing.assert_allclose(np.asarray(x), plain, rtol=1e-14)
    assert len(made) <= 1, "\n".join(made)
    for i in range(1, 30):
        for y in (x, plain):
            y[i, 1] += y[i - 1, 2]
            y[-i, ::-1] = y[-i] * 2
    np.testing.assert_allclose(np.asarray(x), plain, rtol=1e-14)
    assert len(made) <= 3, "\n".join(made)


def test_a_loop_that_stores_into_copies_compiles_a_round_of_it(monkeypatch):
    made = compilations(monkeypatch)
    plain, t = np.zeros(5), txc.asarray(np.zeros(5))
    for i in range(5):
        x = np.arange(3.0) + i
        plain[i] = (x * x).sum()
        t = txc.asarray(t, copy=True)
        y = txc.asarray(x)
        t[i] = (y * y).sum()
    assert np.asarray(t).tolist() == plain.tolist()
    assert sum(text.count("sum") for text in made) == 1, "\n".join(made)


def test_a_loop_over_elements_computes_an_expression_once(monkeypatch):
    made = compilations(monkeypatch)
    plain = np.random.default_rng(0).standard_normal((6, 5))
    x = txc.asarray(plain)
    y = x * 2 + 1
    assert float(y[3, 4]) == plain[3, 4] * 2 + 1
    found = [[float(y[i, j]) for j in range(5)] for i in range(6)]
    np.testing.assert_array_equal(found, plain * 2 + 1)
    assert len(made) == 1, "\n".join(made)
    z = (x + 1).pad([(1, 0), (0, 2)])  # its views are no arrays in memory
    padded = np.pad(plain + 1, [(1, 0), (0, 2)])
    np.testing.assert_array_equal([[float(z[i, j]) for j in range(7)] for i in range(7)], padded)


def test_lists_of_elements_are_computed_one_by_one(monkeypatch):
    made = compilations(monkeypatch)
    plain = np.arange(7, dtype=np.float32)
    x = txc.asarray(plain)
    for n in (2, 3, 5):
        table = txc.asarray([[x[i] * x[j + 2] for j in range(n)] for i in range(n)])
        assert table.dtype == np.float32
        np.testing.assert_array_equal(np.asarray(table), np.outer(plain[:n], plain[2 : n + 2]))
    assert len(made) <= 2, "\n".join(made)


def test_elements_of_an_array_that_an_expression_refers_to_are_not_compiled(monkeypatch):
    made = compilations(monkeypatch)
    x = txc.asarray(np.arange(6.0)).reshape(2, 3)
    assert [float(x[i, 2]) for i in range(2)] == [2, 5] and not made


def test_what_is_stored_into_the_array_of_a_view_is_in_its_owner():
    """Also where the owner was not computed before, as an expression is not."""
    plain = np.arange(6.0)
    for make in (lambda: txc.asarray(plain).reshape(2, 3), lambda: txc.asarray(plain.reshape(2, 3)) * 1):
        x = make()
        later = x + 1
        np.asarray(x[1])[...] = 0
        np.negative(x[0], out=np.asarray(x.T[:, 0]))
        np.testing.assert_array_equal(x, [[0, -1, -2], [0, 0, 0]])
        assert later.shape == (2, 3) and plain.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_array_of_a_view_that_cannot_be_stored_into_is_read_only():
    x = txc.asarray(np.arange(6.0).reshape(2, 3)) * 1
    for view, expected in (
        (np.broadcast_to(x[0], (2, 3)), [[0, 1, 2], [0, 1, 2]]),
        (np.diagonal(x), [0, 4]),
        (np.diagonal(x)[1:], [4]),
    ):
        array = np.asarray(view)
        assert array.tolist() == expected
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 7


@pytest.mark.parametrize("shape", [(0, 0, 0), (0, 0, 2), (2, 0, 3)])
def test_views_of_nothing(shape):
    x = txc.Tensor("f64", shape)
    np.testing.assert_array_equal(np.asarray(x.reshape(shape[::-1]) + 1), np.zeros(shape[::-1]))
    np.testing.assert_array_equal(np.asarray(txc.ones(shape).reshape(shape[::-1])), np.zeros(shape[::-1]))


def test_a_loop_over_shapes_stores_with_one_compilation(monkeypatch):
    made = compilations(monkeypatch)
    for n in range(10, 20):
        y = txc.Tensor("f64", (n, 12)).set_constant(2)
        y[...] = y / y.sum([1]).reshape([n, 1])
        np.testing.assert_allclose(np.asarray(y), np.full((n, 12), 1 / 12))
    assert len(made) == 1


def test_sizes_of_a_fixed_tensor_are_facts(monkeypatch):
    made = compilations(monkeypatch)
    for n in (14, 15):
        t = txc.TensorFixedSize("f32", (n, 3)).set_constant(1)
        np.asarray((t * 3.25).exp())
    assert len(made) == 2 and "f32[14, 3]" in made[0] and "f32[15, 3]" in made[1]


def test_sizes_that_are_equal_by_chance_and_sizes_of_one():
    for shapes in [((5, 5), (5, 5)), ((1, 5), (5, 5)), ((1, 1), (1, 1)), ((5, 1), (1, 5)), ((0, 5), (0, 5))]:
        a, b = (np.random.default_rng(3).standard_normal(s) for s in shapes)
        np.testing.assert_array_equal(np.asarray(txc.asarray(a) + txc.asarray(b) * 2), a + b * 2)
        np.testing.assert_array_equal(np.asarray(txc.asarray(a)[1:-1] * 3), a[1:-1] * 3)
        np.testing.assert_array_equal(np.asarray(txc.asarray(a).T + 1), a.T + 1)
