"""Views that are assigned, and assignments whose source and destination overlap: as if the source were copied first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import txc

X = np.random.default_rng(5).standard_normal((4, 6))
LAYOUTS = ("row", "col")


def stored(a: np.ndarray, layout: str) -> txc.Tensor:
    """A tensor with memory of its own."""
    return txc.Tensor(a.dtype, a.shape, layout=layout).assign(txc.asarray(a, layout=layout))


def lazy(a: np.ndarray, layout: str) -> txc.Tensor:
    return txc.asarray(a, layout=layout)


MAKERS = (stored, lazy)

#: A view that is assigned, as a function of the tensor, and what NumPy calls it.
VIEWS = {
    "shuffle": (lambda y: y.shuffle([1, 0]), lambda y: y.T),
    "stride": (lambda y: y.stride([2, 3]), lambda y: y[::2, ::3]),
    "slice": (lambda y: y.slice([1, 2], [2, 3]), lambda y: y[1:3, 2:5]),
    "strided_slice": (lambda y: y.strided_slice([3, 0], [0, 6], [-1, 2]), lambda y: y[3:0:-1, 0:6:2]),
    "chip": (lambda y: y.chip(2, 1), lambda y: y[:, 2]),
    "chip of chip": (lambda y: y.chip(2, 1).chip(3, 0), lambda y: y[3:4, 2].reshape(())),
    "reverse": (lambda y: y.reverse([True, False]), lambda y: y[::-1]),
    "composed": (lambda y: y.reverse([False, True]).stride([1, 2]).shuffle([1, 0]), lambda y: y[:, ::-1][:, ::2].T),
    "key of a view": (lambda y: y.shuffle([1, 0])[1:4, ::2], lambda y: y.T[1:4, ::2]),
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_assigned(name, layout, make):
    of_tensor, of_array = VIEWS[name]
    expected = X.copy()
    shape = of_array(expected).shape
    source = np.random.default_rng(7).standard_normal(shape)
    of_array(expected)[...] = source * 2
    y = make(X, layout)
    of_tensor(y)[...] = txc.asarray(source, layout=layout) * 2
    np.testing.assert_array_equal(np.asarray(y), expected)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reshape_and_swap_layout_are_assigned(layout, make):
    order = "F" if layout == "col" else "C"
    y = make(np.zeros(24), layout)
    y.reshape([4, 6])[...] = txc.asarray(X, layout=layout)
    np.testing.assert_array_equal(np.asarray(y), X.ravel(order))
    z = make(np.zeros((6, 4)), layout)
    z.swap_layout()[...] = txc.asarray(X, layout="row" if layout == "col" else "col")
    np.testing.assert_array_equal(np.asarray(z), X.T)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_concatenations_are_assigned(layout, axis, make):
    a, b = make(X[:, :3], layout), make(-X[:, 3:], layout)
    joined = a.concatenate(b, axis)
    expected = np.concatenate([X[:, :3], -X[:, 3:]], axis)
    a[0, 0] = expected[0, 0] = 9
    np.testing.assert_array_equal(np.asarray(joined), expected)
    joined[...] = joined.reverse([True, True]) * 2
    expected = expected[::-1, ::-1] * 2
    np.testing.assert_array_equal(np.asarray(joined), expected)
    joined.chip(1, axis)[...] = 5
    first, second = np.split(expected, 2, axis)
    np.moveaxis(expected, axis, 0)[1] = 5
    np.testing.assert_array_equal(np.asarray(a), first)
    np.testing.assert_array_equal(np.asarray(b), second)
    with pytest.raises(txc.TxcError, match="has no memory of its own"):
        _ = joined.data


def softmax_rows(y: Any) -> Any:
    y[...] = y / y.sum([1]).reshape([4, 1]).broadcast([1, 6])


def into_a_shuffle(y: Any) -> Any:
    y.reshape([2, 2, 6]).shuffle([1, 0, 2])[...] = (y / y.sum([1]).reshape([4, 1]).broadcast([1, 6])).reshape([2, 2, 6])


def with_eval(y: Any) -> Any:
    y[...] = y / (y.sum([1]).eval().reshape([4, 1]).broadcast([1, 6]))


def expected_of(name: str, layout: str) -> np.ndarray:
    normal = X / X.sum(1, keepdims=True)
    if name != "into_a_shuffle":
        return normal
    order = "F" if layout == "col" else "C"
    return normal.reshape((2, 2, 6), order=order).transpose(1, 0, 2).reshape((4, 6), order=order)


PROGRAMS = {f.__name__: f for f in (softmax_rows, with_eval, into_a_shuffle)}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_aliasing_of_the_documents(name, layout, threads):
    expected = expected_of(name, layout)
    for make in MAKERS:
        y = make(X, layout)
        with txc.device(f"cpu:{threads}"):
            PROGRAMS[name](y)
            np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-14)
    y = stored(X, layout)
    txc.jit(PROGRAMS[name], device=f"cpu:{threads}")(y)
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-14)


TX = """
def softmax_rows(y: f64[n, 6]{col}):
    y[...] = y / y.sum([1]).reshape([n, 1]).broadcast([1, 6])
    return 0

def into_a_shuffle(y: f64[4, 6]{col}):
    y.reshape([2, 2, 6]).shuffle([1, 0, 2])[...] = (y / y.sum([1]).reshape([4, 1]).broadcast([1, 6])).reshape([2, 2, 6])
    return 0
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["softmax_rows", "into_a_shuffle"])
def test_the_aliasing_of_the_documents_in_tx(name, layout):
    y = np.array(X, order="F" if layout == "col" else "C")
    txc.compile_source(TX.replace("{col}", ".col" if layout == "col" else "")).function(name)(y)
    np.testing.assert_allclose(y, expected_of(name, layout), rtol=1e-14)


#: Bounds and step of a slice of 12 elements.
slices = st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from([1, 1, 2, 3, -1, -2]))


def part(which: tuple[int, int, int], length: int) -> slice:
    """A slice of `length` elements, as near to what was drawn as fits into 12."""
    start, _, step = which
    room = (length - 1) * abs(step)
    start = min(start, 11 - room) if step > 0 else max(start, room)
    stop = start + length * step
    return slice(start, None if stop < 0 else stop, step)


@settings(max_examples=60)
@given(slices, slices, st.integers(1, 4), st.sampled_from(LAYOUTS), st.sampled_from(["copy", "compute", "reduce"]))
def test_parts_that_overlap(to, source, length, layout, kind):
    x = np.arange(144.0).reshape(12, 12)
    y = stored(x, layout)
    here, there = (part(to, length), part(source, length)), (part(source, length), part(to, length))
    copy = x[there].copy()
    if kind == "copy":
        y[here] = y[there]
        x[here] = copy
    elif kind == "compute":
        y[here] = y[there] * 2 + y[here]
        x[here] = copy * 2 + x[here]
    else:
        y[here] = y[there].maximum([0], keepdims=True) - y[here]
        x[here] = copy.max(0, keepdims=True) - x[here]
    np.testing.assert_array_equal(np.asarray(y), x)


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 40), st.booleans(), st.integers(2, 20))
def test_maps_that_overlap_in_one_buffer(first, second, backwards, length):
    """Two tensors that know nothing of each other, on memory that overlaps."""
    for compute in (lambda t: t, lambda t: t * 3 + 1):
        storage = np.arange(60.0)
        expected = storage.copy()
        to, source = storage[first : first + length], storage[second : second + length]
        source = source[::-1] if backwards else source
        taken = expected[second : second + length][:: -1 if backwards else 1].copy()
        expected[first : first + length] = compute(taken)
        txc.TensorMap(to)[...] = compute(txc.TensorMap(source))
        np.testing.assert_array_equal(storage, expected)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_functions_store_into_tensors_from_outside(layout, make):
    outside = make(np.zeros((2, 3)), layout)
    column = outside.chip(1, 1)

    @txc.jit
    def f(x):
        outside[0] = x
        return outside.sum([0])

    @txc.jit
    def g(x):
        column.store(x * 2)
        return x

    for start in (1.0, 5.0):
        x = np.arange(start, start + 3)
        outside[1] = 1
        assert f(x).tolist() == [start + 1, start + 2, start + 3]
        assert np.asarray(outside).tolist() == [x.tolist(), [1, 1, 1]]
        g(x[:2])
        assert np.asarray(outside).tolist() == [[start, 2 * start, start + 2], [1, 2 * start + 2, 1]]


@pytest.mark.parametrize("make", MAKERS)
def test_parts_of_complex_tensors_are_assigned(make):
    z = make(X + 1j, "col")
    z.imag[...] = z.real * 2
    z.real.chip(0, 1)[...] = 5
    expected = X * (1 + 2j)
    expected[:, 0].real = 5
    np.testing.assert_array_equal(np.asarray(z), expected)


def test_what_waits_for_memory_with_gaps_reads_it_as_it_was():
    """Whatever its strides: expressions that were evaluated before know their code by them."""
    layouts = [
        lambda a: a[::2], lambda a: a[::-3], lambda a: a.reshape(6, 4)[:, 1], lambda a: a.reshape(6, 4).T[1:],
        lambda a: a.reshape(6, 4)[::2, ::-2],
    ]  # fmt: skip
    for layout in layouts:
        for stores in (False, True, True):
            memory = layout(np.arange(24.0))
            t = txc.TensorMap(memory)
            waits, wanted = t * 2 + 1, memory * 2 + 1
            if stores:
                t[0] = 100
                assert (memory[0] == 100).all()
            np.testing.assert_array_equal(np.asarray(waits), wanted)
            np.testing.assert_array_equal(np.asarray(t), memory)
