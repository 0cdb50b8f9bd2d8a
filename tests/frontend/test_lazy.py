"""Lazy tensors, column-major layout, and the promise that none of it imports xDSL."""

from __future__ import annotations

import operator
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.tensor.conversion import asarray
from txc.compiler.frontend.trace.trace import Trace

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 4))
T = RNG.standard_normal((2, 3, 4))


def test_nothing_runs_until_a_value_is_needed():
    x = asarray(X)
    y = np.sqrt(abs(x)) + x.sum(axis=0)
    assert y.shape == (3, 4) and y.ndim == 2 and y.dtype == np.float64 and y.size == 12
    np.testing.assert_allclose(np.asarray(y), np.sqrt(abs(X)) + X.sum(0))
    x[0] = 0
    assert np.asarray(x)[0].tolist() == [0] * 4
    assert X[0, 0] != 0


def test_truth_of_a_lazy_tensor():
    assert (asarray(X) == X).all() and not (asarray(X) > 9).any()
    with pytest.raises(TxcError, match="the truth of a tensor takes a tensor of one element"):
        bool(asarray(X) > 0)


def test_a_lazy_tensor_inside_a_traced_function(runner):
    lazy = asarray(X) + 1
    np.testing.assert_allclose(runner(lambda x: x * lazy, X), X * (X + 1))


COLUMN = {
    "sum": lambda x: x.sum(0),
    "keepdims": lambda x: x - x.mean(axis=(0, 2), keepdims=True),
    "index": lambda x: x[1, :, ::-1],
    "slice": lambda x: x[:, 1:, :-1],
    "transpose": lambda x: x.transpose(2, 0, 1),
    "argmax": lambda x: x.argmax(1),
    "expand": lambda x: x[:, None],
    "vector": lambda x: x * x[0, 0],
    "lower rank": lambda x: x + x[0],
    "matrix": lambda x: x[0].T @ x[1],
    "tensordot": lambda x: np.tensordot(x, x, axes=([0, 1], [0, 1])),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack([x, x], axis=1),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2), (0, 0))),
    "flip": lambda x: np.flip(x, 1),
    "take": lambda x: x[:, [0, 2]],
    "where": lambda x: np.where(x > 0, x, 0),
    "tile": lambda x: np.tile(x, (1, 2, 1)),
}


@pytest.mark.parametrize("name", COLUMN)
def test_column_major_dims_count_the_same(name):
    f = COLUMN[name]
    result = f(asarray(T, layout="col"))
    expected = f(T)
    assert result.shape == expected.shape
    np.testing.assert_allclose(np.asarray(result), expected)


def test_column_major_order():
    column = asarray(T, layout="col")
    np.testing.assert_array_equal(np.asarray(column.reshape(6, 4)), T.reshape((6, 4), order="F"))
    assert int(np.asarray(column.argmax())) == int(T.ravel("F").argmax())


def test_swap_layout_moves_nothing():
    x = asarray(T)
    swapped = x.swap_layout()
    assert swapped.layout == "col" and swapped.shape == (4, 3, 2)
    np.testing.assert_array_equal(np.asarray(swapped), T.transpose())
    assert swapped.value is x.value
    again = swapped.swap_layout()
    assert again.layout == "row" and again.value is x.value


def test_an_axis_that_is_not_there_is_an_index_error_too():
    """As NumPy's AxisError."""
    for axis in (3, -4):
        with pytest.raises(IndexError, match=f"axis {axis} is out of range for rank 3"):
            np.expand_dims(asarray(X), axis)
    with pytest.raises(ValueError, match=r"expand_dims: an axis is named twice in \(0, -4\)"):
        np.expand_dims(asarray(X), (0, -4))


def test_no_repeats_of_nothing():
    assert np.asarray(np.repeat(asarray(X[:0, 0]), [])).shape == (0,)


def test_mixed_layouts():
    with pytest.raises(TxcError) as caught:
        _ = asarray(X) + asarray(X, layout="col")
    text = str(caught.value)
    assert "add mixes layouts: f64[3, 4] row, f64[3, 4] col" in text
    assert "put .swap_layout() on the operand f64[3, 4] of layout col" in text and "[TX0210]" in text


def test_stores_into_column_major_views():
    column = asarray(T, layout="col")
    column[:, 1, ::2] = 5
    column.transpose(2, 0, 1)[0] = 1
    expected = T.copy()
    expected[:, 1, ::2] = 5
    expected.transpose(2, 0, 1)[0] = 1
    np.testing.assert_array_equal(np.asarray(column), expected)


def test_declared_dims_have_no_hints():
    with Trace("f") as trace:
        n, m = trace.table.declare("n"), trace.table.declare("m")
        x = trace.tensor_input("x", "f32", (n, m))
        y = trace.tensor_input("y", "f32", (m,))
        graph = trace.finish(x + y[1:-1].sum() + x[0, 0])
    assert str(graph.outputs[0].type) == "f32[n, m]"
    assert [str(g.lhs) + g.relation + str(g.rhs) for g in graph.table.guards]
    with Trace("f") as trace:
        n, m = trace.table.declare("n"), trace.table.declare("m")
        graph = trace.finish(trace.tensor_input("x", "f32", (n,)) + trace.tensor_input("y", "f32", (m,)))
    assert [str(g) for g in graph.table.guards] == ["n == m  (broadcasting)"]


def test_the_text_of_a_graph():
    with Trace("f") as trace:
        x = trace.array_input("x", X)
        graph = trace.finish(x.sum(axis=1) * 2)
    assert str(graph).splitlines() == [
        "graph f(%x: f64[x.0, x.1]) {",
        "  %0 = sum %x {dims=(1,)} : f64[x.0]",
        "  %1 = constant {value=2.0, dtype=f64} : f64[]",
        "  %2 = expand %1 {dims=(x.0,)} : f64[x.0]",
        "  %3 = mul %0 %2 : f64[x.0]",
        "  return %3",
        "}",
    ]


def test_front_end_imports_no_xdsl():
    code = (
        "import sys, txc.compiler.frontend.tensor.tensor, txc.compiler.interpret.graph;"
        "import txc.compiler.frontend.numpy.creation;"
        "print([m for m in sys.modules if m.split('.')[0] in ('xdsl', 'llvmlite')"
        " or m.startswith(('txc.passes', 'txc.compiler.codegen', 'txc.compiler.lowering'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_expression_that_waits_keeps_what_is_stored_over():
    """Stores of numbers and of arrays: NumPy computes before them."""
    t, x = asarray(np.arange(4.0)), np.arange(4.0)
    for key, new in ((2, 0.0), (slice(0, 2), np.array([7.0, 8.0])), (slice(1, None), None)):
        np.asarray(t)  # from now on it has memory
        waiting, part, expected = t + t, t[1:] * 2, (x + x, x[1:] * 2)
        t[key] = t[:-1] if new is None else new
        x[key] = x[:-1] if new is None else new
        np.testing.assert_array_equal(np.asarray(waiting), expected[0])
        np.testing.assert_array_equal(np.asarray(part), expected[1])
        np.testing.assert_array_equal(np.asarray(t), x)


def augments(x):
    waiting = x * 2
    x += 1
    return waiting, x


def stores_what_waits(x):
    waiting = x * 2
    x[:] = waiting
    return waiting, x


def stores_what_follows_from_what_waits(x):
    waiting = x * 2
    further = waiting + 1
    x[:] = further
    return waiting, further, x


def stores_into_a_part(x):
    waiting = x * 2
    part = x[1:] + 1
    x[1:] = x[:-1] * 3
    return waiting, part, x


def augments_a_part(x):
    part = x[1:]
    waiting = part * 2
    part += x[:-1]
    return waiting, part, x


def stores_where_a_mask_says(x):
    waiting = x * 2
    x[x > 2] = 0
    return waiting, x


def stores_at_places(x):
    waiting = x - 1
    x[np.array([0, 2])] = 5
    np.add.at(x, np.array([1, 1]), 2)
    return waiting, x


def augments_in_a_loop(x):
    found = []
    for i in range(3):
        found.append(x * i)
        x += 1
        x *= 2
    return *found, x


def augments_by_another(x):
    other = x * 1
    np.asarray(other)
    waiting = x + other
    x += other
    other -= x
    return waiting, x, other


@pytest.mark.parametrize("has_memory", [False, True])
@pytest.mark.parametrize(
    "f",
    [augments, stores_what_waits, stores_what_follows_from_what_waits, stores_into_a_part, augments_a_part,
     stores_where_a_mask_says, stores_at_places, augments_in_a_loop, augments_by_another],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_an_expression_that_waits_sees_no_computed_store(f, has_memory):
    for _ in range(3):  # later calls find the expressions of the first one
        t = asarray(np.arange(4.0)) * 1
        if has_memory:
            np.asarray(t)
        for got, expected in zip(f(t), f(np.arange(4.0)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), expected)


def iterates_while_it_stores(x, y):
    s = x[0] * 0
    for i, (a, b) in enumerate(zip(x, y)):
        s = s + a * b
        x[-1] = 7
        y[min(i + 1, 3)] = s
    return s, x, y


def test_iteration_sees_stores_until_an_element_is_taken():
    x, y = np.arange(4.0), np.arange(4.0) + 1
    got = iterates_while_it_stores(asarray(x, copy=True), asarray(y, copy=True))
    for ours, expected in zip(got, iterates_while_it_stores(x, y), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), expected)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("convert", [int, float, complex, bool, operator.index])
@pytest.mark.parametrize("kind", ["f8", "i8", "c16", "?"])
def test_elements_are_converted_as_numpy_s_scalars(kind, convert):
    x = np.arange(3).astype(kind)

    def converted(v):
        try:
            return convert(v)
        except TypeError:
            return TypeError

    assert converted(asarray(x)[1]) == converted(x[1])
    assert type(converted(asarray(x)[1])) is type(converted(x[1]))


def test_an_operand_that_is_an_array_is_read_where_the_expression_stands():
    x, y = np.arange(4.0), asarray(np.arange(4.0)) * 1
    read_only = np.broadcast_to(x, 4)
    waiting = y + x, y * np.asarray(y), np.maximum(x[::-1], y), y + read_only
    x[:], y[:] = 9, 7
    for got, expected in zip(waiting, ([0, 2, 4, 6], [0, 1, 4, 9], [3, 2, 2, 3], [0, 2, 4, 6]), strict=True):
        np.testing.assert_array_equal(np.asarray(got), expected)


def test_functions_that_store_into_numpys_arrays():
    at = np.array([1, 1, 2])
    stores: dict[str, Any] = {
        "add.at": lambda a, i: np.add.at(a, i, i),
        "add.at of a tuple": lambda a, i: np.add.at(a.reshape(2, 2), (i * 0, i - 1), 1),
        "put": lambda a, i: np.put(a, i, i * 5), "copyto": lambda a, i: np.copyto(a[:3], i),
        "putmask": lambda a, i: np.putmask(a, a > i[0], i[2]),
        "put_along_axis": lambda a, i: np.put_along_axis(a, i, 3.0, 0),
    }  # fmt: skip
    for name, store in stores.items():
        array, expected = np.arange(4.0), np.arange(4.0)
        store(array, txc.asarray(at))
        store(expected, at)
        np.testing.assert_array_equal(array, expected, name)


def test_numbers_are_keys_as_numpys_are():
    """By their value, where a program looks them up outside a compiled function: by identity none was ever found."""
    costs: Any = {0: 1.0, 1: 2.0, 5: 9.0}

    def f(x):
        at = x.argmin()
        found = costs[at], costs.get(at), costs.get(at + 4), costs.get(x.max(), -1), at in costs, at in {1, 2}
        return [*map(float, found)], [*{x[0]: 1, x[1]: 2, x[2]: 3}.values()]

    x = np.array([1.0, 0.0, 1.0])
    assert f(txc.asarray(x)) == f(x)
    nan = txc.asarray(np.array([np.nan, 1.0]))[0]
    assert [{nan: 5}.get(nan) for _ in range(3)] == [5, 5, 5]  # the same object, as NumPy's scalar is
