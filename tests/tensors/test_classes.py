"""Tensor classes: memory, filling, element access, protocols; the Eigen documents define what they do."""

from __future__ import annotations

import array
import ctypes
import math

import numpy as np
import pytest

import txc
from txc.compiler.frontend.lazy.evaluate import lazy_graph
from txc.compiler.pipeline import run_stages
from txc.dialects.kernel import GenericOp

LAYOUTS = ("row", "col")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", [txc.Tensor, txc.TensorFixedSize])
def test_sizes_and_elements(make, layout):
    t = make("f32", (2, 3, 4), layout=layout)
    assert (t.rank, t.ndim, t.size, t.shape, t.dimensions(), t.dimension(1)) == (3, 3, 24, (2, 3, 4), (2, 3, 4), 3)
    assert t.dtype == np.float32 and t.layout == layout and t.device == "cpu"
    for i in range(2):
        for j in range(3):
            for k in range(4):
                t[i, j, k] = i + 10 * j + 100 * k
    assert float(t[1, 2, 3]) == 321 and int(t[0, 1, 0]) == 10
    np.testing.assert_array_equal(np.asarray(t), np.fromfunction(lambda i, j, k: i + 10 * j + 100 * k, (2, 3, 4)))
    expression = t * 2 + 1
    assert expression.dimensions() == (2, 3, 4) and expression.layout == layout and expression.device == "cpu"


def test_element_access_compiles_nothing(monkeypatch):
    monkeypatch.setattr("txc.compiler.driver.compile_cache.call_of", None)
    t = txc.Tensor("i32", (3, 3)).set_zero()
    t[1, 2] = 7
    t[0] = np.array([1, 2, 3], np.int32)
    t.chip(0, 1)[...] = t.chip(2, 1)
    assert np.asarray(t).tolist() == [[3, 2, 3], [7, 0, 7], [0, 0, 0]]
    assert int(txc.TensorRef(t.reverse([True, False]))[1, 2]) == 7


def test_filling():
    t = txc.Tensor("i32", (2, 3))
    assert t.set_constant(1000) is t
    assert t.set_values([[10, 20, 30]]) is t
    assert str(t) == "  10   20   30\n1000 1000 1000"
    assert t.set_values([[1], [2, 3]]) is t
    assert np.asarray(t).tolist() == [[1, 20, 30], [2, 3, 1000]]
    t.set_values([[4, int(t[0, 1])], []])
    assert np.asarray(t.set_zero()).tolist() == [[0, 0, 0]] * 2
    assert txc.Tensor("f64", ()).set_values(3.5).format() == "3.5"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "set_values of f32[2, 3]: 1 at depth 1"),
        ([[[1]]], "set_values of f32[2, 3]: a list at depth 2"),
        ([[1, 2, 3, 4]], "a list of 4 for dim 1, which has 3"),
        (5, "set_values of f32[2, 3]: 5 at depth 0"),
    ],
)
def test_lists_that_do_not_fit(values, message):
    with pytest.raises(txc.TxcError) as caught:
        txc.Tensor("f32", (2, 3)).set_values(values)
    assert message in str(caught.value)


def test_a_tensor_is_resized_by_assignment_and_others_are_not():
    source = txc.asarray(np.arange(6.0).reshape(2, 3))
    t = txc.Tensor("f32", (4, 4))
    assert t.assign(source * 2).shape == (2, 3)
    np.testing.assert_array_equal(np.asarray(t), [[0, 2, 4], [6, 8, 10]])
    address = t.data_ptr()
    assert t.assign(source).data_ptr() == address  # of the same sizes: the same memory
    with pytest.raises(txc.TxcError, match="ranks differ"):
        t.assign(source.sum([0]))
    with pytest.raises(
        txc.TxcError, match=r"cannot assign f64\[2, 3\] to f32\[4, 4\]: a TensorFixedSize is not resized"
    ):
        txc.TensorFixedSize("f32", (4, 4)).assign(source)
    with pytest.raises(txc.TxcError, match="a TensorMap is not resized"):
        txc.TensorMap(np.zeros(6)).assign(txc.asarray(np.zeros(5)))
    with pytest.raises(txc.TxcError, match="a view is not resized"):
        t.chip(0, 0).assign(txc.asarray(np.zeros(5)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_map_writes_through(layout):
    storage = np.zeros(2 * 3 * 4, np.float32)
    mapped = txc.TensorMap(storage, (2, 3, 4), layout=layout)
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    mapped[...] = txc.asarray(values, layout=layout) * 2
    np.testing.assert_array_equal(storage, (values * 2).ravel("F" if layout == "col" else "C"))
    mapped[0, 1, 2] = -1
    assert storage[6 if layout == "row" else 2 + 12] == -1
    expression = mapped + 1
    storage[...] = 5  # an expression sees what is stored before it is evaluated
    assert np.asarray(expression).tolist() == np.full((2, 3, 4), 6).tolist()
    assert np.asarray(mapped).base is not None and np.shares_memory(np.asarray(mapped), storage)


def test_maps_of_every_kind_of_buffer():
    ints = array.array("i", range(12))
    txc.TensorMap(ints, (3, 4))[2] = 0
    assert ints.tolist() == [*range(8), 0, 0, 0, 0]
    raw = bytearray(16)
    txc.TensorMap(raw, (2, 2), element="f32")[...] = 1.5
    assert np.frombuffer(raw, np.float32).tolist() == [1.5] * 4
    block = (ctypes.c_double * 6)()
    txc.TensorMap(block, 6)[...] = 2
    assert list(block) == [2.0] * 6
    strided = np.zeros((4, 6))[::2, ::-3]
    txc.TensorMap(strided)[...] = txc.asarray(np.ones((2, 2))) * 3
    assert (strided == 3).all()
    foreign = np.zeros(3, ">i4")
    txc.TensorMap(foreign.view("i4"), 3)[...] = 1

    class Exports:
        """Memory by DLPack only."""

        def __init__(self, a):
            self._array = a

        def __dlpack__(self, **options):
            return self._array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    shared = np.zeros(4)
    txc.TensorMap(Exports(shared), (2, 2))[1] = 9
    assert shared.tolist() == [0, 0, 9, 9]


def test_a_map_of_part_of_a_buffer_and_of_a_tensor():
    storage = np.zeros(128, np.int32)
    four, two = txc.TensorMap(storage, (2, 4, 2, 8)), txc.TensorMap(storage, (16, 8))
    two[15] = 3
    assert int(four[1, 3, 1, 0]) == 3
    fixed = txc.TensorFixedSize("f32", (4, 3), layout="col").set_zero()
    flat = txc.TensorMap(fixed, 12)
    flat[1] = 5
    assert float(fixed[1, 0]) == 5
    assert txc.TensorMap(storage, (4, 4)).size == 16
    np.testing.assert_array_equal(np.asarray(txc.TensorMap(fixed.data, 12)), np.asarray(flat))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: txc.TensorMap(np.zeros(11), (3, 4)), "TensorMap of dims (3, 4) needs 12 elements, the buffer has 11"),
        (lambda: txc.TensorMap([1.0, 2.0], (2,)), "TensorMap maps memory, and a list has none"),
        (lambda: txc.TensorMap(np.zeros((4, 4))[:, ::2], (8,)), "needs one block of memory"),
        (lambda: txc.TensorMap(bytearray(7), (1,), element="f32"), "7 bytes are no whole number of float32"),
        (lambda: txc.TensorMap(np.zeros(4), (2, 2), layout="F"), "layout 'F' is not 'row' or 'col'"),
        (lambda: txc.TensorMap(bytes(8), (2,), element="f32").set_zero(), "on read-only memory"),
        (lambda: txc.TensorMap(np.zeros(4), (2, -2)), "sizes are integers that are not negative"),
        (lambda: txc.Tensor("f31", (2,)), "no element type 'f31'"),
        (lambda: txc.TensorMap(np.zeros((2, 2)))[...].store(np.zeros((3, 2))), "cannot broadcast"),
    ],
)
def test_maps_that_cannot_be(make, message):
    with pytest.raises(txc.TxcError) as caught:
        make()
    assert message in str(caught.value)


def test_memory_is_shared_with_whoever_asks():
    t = txc.Tensor("f32", (3, 4)).set_zero()
    t.data[0, 0] = 123.45
    assert str(t[0, 0]) == "123.45"
    assert t.data_ptr() == np.asarray(t).ctypes.data == t.__array_interface__["data"][0]
    np.from_dlpack(t)[1, 1] = 2
    assert float(t[1, 1]) == 2
    column = txc.Tensor("i16", (2, 3), layout="col").set_values([[1, 2, 3], [4, 5, 6]])
    assert column.data.shape == (2, 3) and column.data.strides == (2, 4) and column.data.tolist()[1] == [4, 5, 6]
    computed = txc.asarray(np.arange(3.0)) + 1
    np.asarray(computed)[0] = 9  # computed once, and kept where NumPy sees it
    assert np.asarray(computed).tolist() == [9, 2, 3]
    part = (txc.asarray(np.arange(6.0)) * 2)[2:4]
    part.data[0] = -1
    assert np.asarray(part).tolist() == [-1, 6]
    with pytest.raises(txc.TxcError, match="read-only"):
        _ = part.pad([(1, 1)]).data


def test_arrays_that_tensors_were_made_of_stay_as_they_are():
    x = np.arange(4.0)
    t = txc.asarray(x)
    t.data[0] = 7
    t[1] = 8
    assert x.tolist() == [0, 1, 2, 3] and np.asarray(t).tolist() == [7, 8, 2, 3]


def test_bfloat16_has_memory_too():
    t = txc.Tensor("bf16", (2,)).set_values([1, 2.5])
    assert np.asarray(t).dtype.name == "bfloat16" and np.asarray(t).astype(float).tolist() == [1, 2.5]
    np.asarray(t)[0] = 3
    assert str(t) == "  3 2.5" and t.data.nbytes == 4
    with pytest.raises(BufferError, match="bfloat16"):  # as a buffer NumPy, which asks for one from 3.12 on, has void
        t.__buffer__(0)


def test_numbers_of_tensors():
    t = txc.asarray(np.array([3]))
    assert float(t) == 3.0 and int(t) == 3 and complex(t) == 3 and [*"abcd"][t[0]] == "d"
    with pytest.raises(txc.TxcError, match=r"float\(\) takes a tensor of one element, not i64\[2\]"):
        float(txc.asarray(np.array([1, 2])))


def computed_points(value) -> int:
    """The iterations of all kernels that a value of a lazy expression is compiled to."""
    graph = lazy_graph([value])
    module = run_stages(graph, stop_after="buffers").module
    assert module is not None
    nests = [op for op in module.walk() if isinstance(op, GenericOp)]
    assert nests
    return sum(math.prod(d.evaluate(graph.table.hints) for d in op.extents.data) for op in nests)


def test_a_ref_computes_only_the_element_asked_for():
    a, b = np.random.default_rng(0).standard_normal((2, 40, 50, 60))
    expression = ((txc.asarray(a) + txc.asarray(b)) * 0.2).exp()
    ref = txc.TensorRef(expression)
    assert ref.dimensions() == (40, 50, 60) and ref.dimension(1) == 50 and ref.rank == 3 and ref.size == 120000
    expected = np.exp((a + b) * 0.2)
    for at in ((0, 0, 0), (0, 1, 0), (39, -1, 7)):
        np.testing.assert_allclose(ref[at], expected[at], rtol=1e-14)
    assert isinstance(ref[0, 0, 0], np.float64)
    assert computed_points(ref.element((3, 4, 5))) == 1
    assert computed_points(expression.value) == 120000
    rows = txc.TensorRef(expression.sum([2]))
    np.testing.assert_allclose(rows[3, 4], expected[3, 4].sum())
    column = txc.TensorRef(txc.asarray(a, layout="col") * 2)
    assert column[1, 2, 3] == a[1, 2, 3] * 2


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ((0,), "has 2 integers as its index"),
        ((0, slice(None)), "has 2 integers as its index"),
        ((0, 3), "index 3 is out of bounds for dim 1 of f64[2, 3]"),
    ],
)
def test_elements_that_a_ref_does_not_have(index, message):
    with pytest.raises(txc.TxcError) as caught:
        _ = txc.TensorRef(txc.asarray(np.ones((2, 3))) + 1)[index]
    assert message in str(caught.value)


def test_python_objects_of_the_elements():
    t = txc.asarray([[1, 2], [3, 4]]) * 0.5
    assert callable(t.tolist) and t.is_lazy  # asking for it computes nothing
    assert t.tolist() == [[0.5, 1.0], [1.5, 2.0]] and t[1, 1].tolist() == 2.0
    assert t.tobytes() == np.array([[0.5, 1], [1.5, 2]]).tobytes()
    with pytest.raises(txc.TxcError, match="tolist"):
        txc.jit(lambda x: x.tolist())(np.ones(3))


def test_whether_tensors_share_memory():
    x = txc.Tensor("f64", (3, 4))
    assert np.shares_memory(np.asarray(x), x[1:]) and np.may_share_memory(x.T, x[2])
    assert not np.shares_memory(x[0], x[1:])
    lazy = x + 1
    assert not np.may_share_memory(x, lazy)  # which lies nowhere yet
    assert np.may_share_memory(np.asarray(lazy), lazy)
