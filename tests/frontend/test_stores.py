"""Stores, views that alias, and arguments written in place behave as NumPy arrays do."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.numpy import creation
from txc.compiler.frontend.tensor.tensor import Tensor
from txc.compiler.interpret.graph import GuardFailed

RNG = np.random.default_rng(3)
X = RNG.standard_normal((5, 6))
T = RNG.standard_normal((3, 4, 5))


def element(x):
    x[1, 2] = 7
    x[-1, -1] += 1
    return x[1, 2] + x[-1, -1]


def row(x):
    x[0] = x[1]
    x[2] *= 3
    return x.sum(axis=0)


def part(x):
    x[1:-1, ::2] = 0
    x[..., -1] = x[..., 0]


def backwards(x):
    x[::-1] = x + 1


def negative_bounds(x):
    return x[-3:-1, 4:1:-1], x[10:], x[:-10], x[-100:2]


def view_then_base(x):
    v = x[1:3]
    x[2] = 5
    return v * 1


def base_then_view(x):
    v = x[1:3, 1:]
    w = v[0]
    w[1:3] = -1
    v += 10
    return x.sum()


def through_transpose(x):
    x.T[0] = 4
    y = np.transpose(x)
    y[1:3] += 1


def through_reshape(x):
    flat = x.reshape(-1)
    flat[3:9] = 0
    x.ravel()[0] = 9


def reshape_of_a_transpose_copies(x):
    flat = x.T.reshape(-1)
    flat[:] = 0
    return flat


def through_flip(x):
    np.flip(x, 1)[:, 0] = 2


def local_arrays(x):
    y = x.copy()
    y[0] = 0
    z = x + 1
    z[:, 0] = y[:, 0]
    return y, z


def scalars_are_values(x):
    s = x[0, 0]
    t = s
    s += 1
    return s, t


def augmented(x):
    y = x
    y += 1
    y -= y.mean()
    return y


def masks(x):
    x[x < 0] = 0
    x[x > 1] += 5


def rows_by_mask(x):
    x[x[:, 0] > 0] = 1


def reversed_into_itself(x):
    x[1:] = x[:-1]
    x[:] = x[::-1]


def swapped(x):
    x[0], x[1] = x[1] * 1, x[0] * 1


def new_axis(x):
    return x[:, None] - x[None], x[..., None, 0]


def by_argmax(x):
    i = x[0].argmax()
    j = x[:, 0].argmax()
    return x[:, i], x[j]


def store_at_a_computed_position(x):
    j = x[:, 0].argmax()
    x[j] = 0


def unchanged(x):
    return x


CASES = [
    element, row, part, backwards, negative_bounds, view_then_base, base_then_view, through_transpose, through_reshape,
    reshape_of_a_transpose_copies, through_flip, local_arrays, scalars_are_values, augmented, masks, rows_by_mask,
    reversed_into_itself, swapped, new_axis, by_argmax, store_at_a_computed_position, unchanged,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES)
def test_as_numpy(runner, f):
    runner.same(f, X, exact=f is not augmented)


def test_rank_three(runner):
    def f(x):
        x[0, :, 1:3] = x[1, :, 1:3] * 2
        x[..., 0] = 1
        x[:, 1][:, 2:] = 3
        return x[-1, ::-1, 2]

    runner.same(f, T)


def test_results_that_are_arguments(runner):
    def f(x, y):
        x[0] = 1
        y = y + 1
        return y, x

    graph = runner.trace(f, X, X)
    assert graph.aliases == {1: 0}
    assert graph.results == 2
    graph = runner.trace(lambda x: x.__iadd__(1).sum(), X)
    assert graph.aliases == {1: 0} and graph.results == 1 and graph.structure == 0


def test_slices_of_run_time_length(runner):
    f = lambda x, n: (x[n:], x[: n + 1], x[-n:], x[n, 1:n], x[n - 1])  # noqa: E731
    for n in (1, 3):
        runner.same(f, X, n)
    with pytest.raises(GuardFailed):
        runner.run(X, 0)


def test_eigen_views_can_be_assigned(runner):
    source = np.arange(60.0).reshape(5, 3, 4)

    def f(x, y):
        x.shuffle([2, 0, 1])[...] = y
        x.stride([2, 1, 1]).slice([0, 0, 0], [2, 1, 5])[...] = 0
        x.chip(1, 2).reverse([True, False])[...] = y.chip(0, 0)

    graph = runner.trace(f, T, source)
    assert graph.aliases == {0: 0}
    x = T.copy()
    runner.run(x, source)
    expected = T.copy()
    expected.transpose(2, 0, 1)[...] = source
    expected[::2][0:2, 0:1, 0:5] = 0
    expected[::-1, :, 1] = source[0]
    np.testing.assert_array_equal(x, expected)


def test_creation_of_run_time_sizes(runner):
    def f(x):
        n, m = x.shape
        if not isinstance(x, Tensor):
            return (np.zeros((n, m)), np.ones(n, np.int32), np.full((m, n), 2.5), np.arange(n), np.arange(1, m, 2),
                    np.eye(n), np.linspace(0, 1, n), np.empty(n).shape)  # fmt: skip
        c = creation
        return (c.zeros((n, m)), c.ones(n, np.int32), c.full((m, n), 2.5), c.arange(n), c.arange(1, m, 2), c.eye(n),
                c.linspace(0, 1, n), c.empty(n).shape)  # fmt: skip

    runner.same(f, X)
    assert not any(d.const == 5 for v in runner.graph.outputs for d in v.type.dims)


def test_created_arrays_are_written(runner):
    def f(x):
        y = creation.zeros(x.shape) if isinstance(x, Tensor) else np.zeros(x.shape)
        y[1:] = x[:-1]
        y[0, 0] += 1
        return y

    runner.same(f, X)


def test_a_store_of_as_many_elements_by_a_fact(runner):
    """The sizes are equal by no symbol.  What overlaps is read as it was before, which NumPy does of a copy only."""

    def f(x):
        y = x * 1
        y[::2] = y[:3] if isinstance(x, Tensor) else y[:3].copy()
        return y

    runner.same(f, np.arange(6.0))


ERRORS = [
    (
        lambda x: x + np.ones(7),
        "add cannot broadcast f64[x0.shape[0], x0.shape[1]] and f64[captured0.shape[0]]: sizes x0.shape[1] = 6",
    ),
    (lambda x: x[9], "index 9 is out of bounds for dim 0 of f64[x0.0, x0.1]"),
    (lambda x: x[0, 0, 0], "too many indices: 3 for f64[x0.0, x0.1]"),
    (lambda x: x["a"], "'a' is no index"),
    (lambda x: x.reshape(7, 7), "cannot reshape f64[x0.0, x0.1] to (7, 7)"),
    (lambda x: x @ x, "cannot contract dim 1 of f64[x0.0, x0.1] with dim 0 of f64[x0.0, x0.1]"),
    (lambda x: 1 if x.sum() > 0 else 2, "the truth of a tensor is known only when the compiled function runs"),
    (lambda x: float(x.sum()), "float() needs the value of a tensor"),
    (lambda x: np.busday_count(x, x), "np.busday_count is not supported"),
    (lambda x: np.zeros_like(x, order="F"), "np.zeros_like does not take order='F' here"),
    (lambda x: np.add(x, 1, order="F"), "np.add does not take order='F' here"),
    (lambda x: np.add(x, 1, dtype=np.int32), "casting f64 to i32 is not 'same_kind'"),
    (lambda x: x.mean(weights=3), "weights"),
    (lambda x: x.sum(axis=2), "axis 2 is out of range for rank 2"),
    (lambda x: x.maximun(), "object has no attribute 'maximun'"),
    (lambda x: np.broadcast_to(x, (2, 5, 6)).__setitem__(0, 1), "the result of expand is read-only"),
    (lambda x: x.__setitem__(0, np.ones(3)), "a store cannot broadcast f64[x0.1] and f64[captured0.0]"),
    (lambda x: x.astype(np.longdouble), "no element type"),
    (lambda x: x + "a", "add is not defined on 'numpy.ndarray' and 'str'"),
    (lambda x: (x > 0).astype(np.uint8) + 300, "Python integer 300 does not fit u8"),
    (lambda x: np.concatenate([x, x[0]]), "ranks differ"),
    (lambda x: x.astype(int).__iadd__(1.5), "cannot store f64 in place into i64[x0.0, x0.1]"),
    (lambda x: np.asarray(x), "a traced tensor has no NumPy array yet"),
]


@pytest.mark.parametrize("f, text", ERRORS, ids=range(len(ERRORS)))
def test_errors(runner, f, text):
    with pytest.raises((TxcError, TypeError, AttributeError)) as caught:
        runner.trace(f, X)
    assert text in str(caught.value)


def test_errors_point_at_the_line(runner):
    def f(x):
        y = x + 1
        return y + x[:, :2]

    with pytest.raises(TxcError) as caught:
        runner.trace(f, X)
    text = str(caught.value)
    assert "[TX0211]" in text and "test_stores.py" in text and "in f" in text
    assert "   |         return y + x[:, :2]\n   |                ^^^^^^^^^^^^" in text


def test_nodes_know_their_line(runner):
    def root(x):
        return np.sqrt(x)

    (node,) = runner.trace(root, X).nodes()
    assert node.loc is not None and node.loc.filename == __file__ and node.loc.function == "root"


def test_what_numpy_does_not_store_in_place_is_its_error():
    @txc.jit
    def g(x):
        x += 0.5
        return x

    with pytest.raises(TypeError):
        g(np.arange(3))
