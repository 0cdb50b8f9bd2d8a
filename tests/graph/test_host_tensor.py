"""`HostTensor`: the assertions of the TensorFlow notes on buffers, copies and views; TensorProto to and from bytes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.graph import (
    DataType,
    HostTensor,
    TensorProto,
    TensorShape,
    concat,
    data_type_of,
    deep_copy,
    from_tensor_proto,
    split,
    to_tensor_proto,
)

BYTES = HostTensor(np.int8, [1])
ELEMENTS = [
    np.array([1.5, -2, np.inf], np.float32),
    np.array([1.5, -2, np.nan]),
    np.array([1.5, -2, 0.1], np.float16),
    np.array([1.5, -2, 0.1], ml_dtypes.bfloat16),
    *(np.array([1, 2, np.iinfo(t).max], t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    np.array([True, False, True]),
    np.array([1 + 2j, 3, -1j], np.complex64),
    np.array([1 + 2j, 3, -1j]),
    np.array([b"foo", b"", b"\xff"], object),
]


def test_a_deep_copy_of_a_scalar():
    x = HostTensor(DataType.DT_FLOAT, TensorShape([]))
    x.scalar()[()] = 10.0
    y = deep_copy(x)
    y.scalar()[()] = 20.0
    assert x.scalar() == 10.0
    x.scalar()[()] = 30.0
    assert y.scalar() == 20.0
    assert not x.shares_buffer_with(y)


def test_a_deep_copy_of_strings():
    a = HostTensor(DataType.DT_STRING, TensorShape([2]))
    assert a.flat().tolist() == [b"", b""]
    a.flat()[0], a.flat()[1] = b"foo1", b"foo2"
    b = deep_copy(a)
    b.flat()[0], b.flat()[1] = b"bar1", b"bar2"
    assert a.flat().tolist() == [b"foo1", b"foo2"]
    assert a.total_bytes() == 2 * 8 + 8


def test_a_slice_shares_the_buffer_and_its_copy_does_not():
    x = HostTensor(DataType.DT_INT32, TensorShape([10]))
    x.flat()[:] = 1
    y = x.slice(2, 6)
    z = deep_copy(y)
    x.flat()[:] = 2
    assert (x.shape, y.shape, z.shape) == ([10], [4], [4])
    assert {t.dtype for t in (x, y, z)} == {DataType.DT_INT32}
    assert (x.flat() == 2).all() and (y.unaligned_flat() == 2).all() and (z.flat() == 1).all()
    assert x.shares_buffer_with(y) and y.shares_buffer_with(x) and not z.shares_buffer_with(x)
    assert x.slice(0, 5).slice(1, 2).shares_buffer_with(x)


def test_split_and_concat_round_trip():
    x = HostTensor(DataType.DT_STRING, TensorShape([4, 3]))
    for i in range(12):
        x.flat()[i] = f"foo_{i}".encode()
    parts = split(x, [2, 1, 1])
    assert [p.shape.dim_sizes() for p in parts] == [[2, 3], [1, 3], [1, 3]]
    again = concat(parts)
    assert again.shape == x.shape and again.flat().tolist() == x.flat().tolist()
    for i in range(12):
        again.flat()[i] = f"bar_{i}".encode()
    assert x.flat().tolist() == [f"foo_{i}".encode() for i in range(12)]


def test_views_are_of_the_tensors_memory():
    t = HostTensor.from_numpy(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    assert t.shape.data_type is DataType.DT_FLOAT
    assert [t.flat_inner_dims(n).shape for n in (1, 2, 3, 4)] == [(24,), (6, 4), (2, 3, 4), (1, 2, 3, 4)]
    assert [t.flat_outer_dims(n).shape for n in (1, 2, 3, 4)] == [(24,), (2, 12), (2, 3, 4), (2, 3, 4, 1)]
    t.flat_outer_dims()[1, 11] = -1
    assert t.tensor(3)[1, 2, 3] == -1 == t.shaped([4, 6])[3, 5]
    t.shaped([24])[0] = 7
    assert t.flat()[0] == 7 and t.vec is not t.matrix
    assert t.bit_casted_tensor(np.int32)[0, 0, 0] == np.float32(7).view(np.int32)
    assert t.bit_casted_shaped(DataType.DT_DOUBLE, [3, 4]).shape == (3, 4)
    assert t.total_bytes() == 96 == len(t.tensor_data())
    assert t.dims() == 3 and t.dim_size(1) == 3 and t.num_elements() == 24 and t.is_initialized()


@pytest.mark.parametrize(
    ("begin", "ndims", "shape"),
    [(0, 3, (2, 3, 20)), (1, 3, (6, 4, 5)), (1, 2, (6, 20)), (0, 5, (2, 3, 4, 5, 1)), (-1, 3, (1, 2, 60)),
     (2, 2, (24, 5)), (2, 3, (24, 5, 1))],
)  # fmt: skip
def test_inner_and_outer_dims_together(begin: int, ndims: int, shape: tuple[int, ...]):
    t = HostTensor(np.int8, [2, 3, 4, 5])
    assert t.flat_inner_outer_dims(begin, ndims).shape == shape


def test_copy_from_shares_the_other_buffer():
    x, y = HostTensor(np.int64, [6]), HostTensor(np.float32, [1])
    y.copy_from(x, [2, 3])
    assert y.shape == [2, 3] and y.dtype is DataType.DT_INT64 and y.shares_buffer_with(x)
    assert not y.is_same_size(x) and x.is_same_size(HostTensor(np.int8, [6]))
    x.flat()[5] = 4
    assert y.matrix()[1, 2] == 4


def test_alignment():
    t = HostTensor(np.float32, [64])
    assert t.is_aligned() is (t.numpy().ctypes.data % 16 == 0)
    assert t.slice(1, 3).is_aligned() is not t.is_aligned() or not t.is_aligned()


EIGHT = np.arange(8).reshape(2, 2, 2)
SIX = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    ("array", "entries", "text"),
    [
        (np.float32(1.5), 3, "1.5"),
        (np.float32(1.5), 0, "..."),
        (np.arange(5), 3, "0 1 2..."),
        (np.arange(2), 3, "0 1"),
        (np.arange(5), -1, "0 1 2 3 4"),
        (np.arange(4.0).reshape(2, 2), 3, "[0 1][2...]..."),
        (SIX, 3, "[0 1 2]..."),
        (SIX, 6, "[0 1 2][3 4 5]"),
        (np.arange(3).reshape(3, 1), 3, "[0][1][2]"),
        (np.arange(2).reshape(1, 1, 2), 3, "[[0 1]]"),
        (EIGHT, -1, "[[0 1][2 3]][[4 5][6 7]]"),
        (EIGHT, 100, "[[0 1][2 3]][[4 5][6 7]]"),
        (EIGHT, 1, "[[0...]]..."),
        (EIGHT, 3, "[[0 1][2...]]..."),
        (EIGHT, 4, "[[0 1][2 3]]..."),
        (EIGHT, 5, "[[0 1][2 3]][[4...]]..."),
        (EIGHT, 0, "..."),
        (np.arange(16).reshape(1, 2, 2, 4), 10, "[[[0 1 2 3][4 5 6 7]][[8 9...]]]..."),
        (np.array([True, False]), 3, "1 0"),
        (np.array([[True, False]]), 1, "[1...]..."),
        (np.array(["ab", "c"]), 3, "ab c"),
        (np.array([b'say "a"\n\xff', "é".encode()], object), 3, 'say \\"a\\"\\n\\377 é'),
        (np.array([1j, 2]), 3, "? ?"),
        (np.zeros((0, 2)), 3, ""),
        (np.zeros((2, 0)), 3, ""),
        (np.array([1 / 3, 0.1, 1e10, np.nan, -np.inf], np.float32), 9, "0.333333343 0.1 1e+10 nan -inf"),
        (np.array([1 / 3, 0.1, -0.0]), 9, "0.33333333333333331 0.1 -0"),
        (np.array([0.1, 2], np.float16), 9, "0.0999755859 2"),
        (np.array([0.1, 2], ml_dtypes.bfloat16), 9, "0.100097656 2"),
        (np.array([-5, 127], np.int8), 9, "-5 127"),
    ],
)
def test_summaries(array: Any, entries: int, text: str):
    assert HostTensor.from_numpy(array).summarize_value(entries) == text


def test_debug_string():
    t = HostTensor.from_numpy(np.array([[1, 2], [3, 4]], np.float32))
    assert t.debug_string() == "Tensor<type: float shape: [2,2] values: [1 2][3...]...>" == repr(t)


def test_element_types_by_their_names():
    assert txc.graph.DT_FLOAT is DataType.DT_FLOAT and txc.graph.DT_UINT64_REF is DataType.DT_UINT64_REF
    assert all(getattr(txc.graph, d.name) is d and d.name in txc.graph.__all__ for d in DataType)
    assert HostTensor(txc.graph.DT_INT32, [2]).numpy().dtype == np.int32


@pytest.mark.parametrize("array", ELEMENTS, ids=lambda a: str(a.dtype))
def test_functions_to_and_from_protocol_buffers(array: np.ndarray):
    proto = to_tensor_proto(HostTensor.from_numpy(array))
    assert proto == to_tensor_proto(array) and proto.dtype == data_type_of(array.dtype)
    for form in (proto, proto.SerializeToString()):
        np.testing.assert_array_equal(from_tensor_proto(form).numpy(), array)


@txc.jit
def first_doubled(tensors: dict[str, Any], more: Any):
    tensors["a"][0] *= 2
    return tensors["a"] + more


OUTSIDE = HostTensor.from_numpy(np.ones(3, np.float32))


@txc.jit
def with_a_captured_one(x: Any):
    return x + OUTSIDE


def test_functions_take_host_tensors():
    values = np.array([1, 2, 3], np.float32)
    x = txc.asarray(values)
    h: Any = HostTensor.from_numpy(values.copy())
    for f in (
        lambda a, b: a + b, lambda a, b: b + a, txc.add, np.add, lambda a, b: np.add(b, a), lambda a, b: a @ b,
        lambda a, b: np.concatenate([a, b]), lambda a, b: txc.stack([b, a]), lambda a, b: txc.exp(b) + a,
        lambda a, b: np.where(a > 1, b, a), lambda a, b: a.contract(b, [(0, 0)]), lambda a, b: txc.asarray(b),
    ):  # fmt: skip
        np.testing.assert_array_equal(np.asarray(f(x, h)), np.asarray(f(x, x)))
    np.testing.assert_array_equal(np.exp(h), np.exp(values))
    assert np.asarray(h) is h.numpy() and np.asarray(h, np.float64).dtype == np.float64
    module = txc.compile_source("def f(x: f32[n]) -> f32[n]:\n    return x * 2\n")
    np.testing.assert_array_equal(module.f(h), values * 2)
    plain = values.copy()  # slices share its memory, as those of a NumPy array do
    expected = first_doubled.__wrapped__({"a": plain[1:3]}, plain[0:2])
    np.testing.assert_array_equal(first_doubled({"a": h.slice(1, 3)}, h.slice(0, 2)), expected)
    assert h.numpy().tolist() == plain.tolist() == [1, 4, 3]
    with pytest.raises(txc.TxcError, match="pass it as an argument"):
        with_a_captured_one(values)
    with pytest.raises(TypeError, match="no element type"):
        first_doubled({"a": HostTensor.from_numpy(["a"])}, 1)


@pytest.mark.parametrize("array", ELEMENTS, ids=lambda a: str(a.dtype))
@pytest.mark.parametrize("form", ["as_proto_field", "as_proto_tensor_content"])
def test_protocol_buffers_there_and_back(array: np.ndarray, form: str):
    t = HostTensor.from_numpy(np.stack([array, array]))
    data = getattr(t, form)().SerializeToString()
    again = HostTensor.from_proto(data)
    assert again.dtype is t.dtype is data_type_of(array.dtype) and again.shape == [2, 3]
    np.testing.assert_array_equal(again.numpy(), t.numpy())


def test_the_bytes_of_a_tensor():
    t = HostTensor.from_numpy(np.array([1, 2], np.float32))
    shape = b"\x12\x04\x12\x02\x08\x02"
    assert t.as_proto_field().SerializeToString() == b"\x08\x01" + shape + b"\x2a\x08\0\0\x80\x3f\0\0\0\x40"
    assert t.as_proto_tensor_content().SerializeToString() == b"\x08\x01" + shape + b"\x22\x08\0\0\x80\x3f\0\0\0\x40"
    not_packed = b"\x08\x01" + shape + b"\x2d\0\0\x80\x3f\x2d\0\0\0\x40"
    assert HostTensor.from_proto(not_packed).flat().tolist() == [1, 2]


def test_the_last_element_stands_for_the_rest():
    proto = TensorProto(dtype=3, tensor_shape=TensorShape([4]).as_proto(), int_val=[1, 7])
    assert HostTensor.from_proto(proto).flat().tolist() == [1, 7, 7, 7]
    del proto.int_val[:]
    assert HostTensor.from_proto(proto).flat().tolist() == [0] * 4


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: HostTensor(DataType.DT_RESOURCE), TypeError, "DT_RESOURCE has no elements in memory"),
        (lambda: data_type_of("datetime64[s]"), TypeError, "is no element type of a tensor"),
        (lambda: HostTensor(np.int8).slice(0, 1), IndexError, "a scalar has no dim 0"),
        (lambda: HostTensor(np.int8, [3]).slice(2, 4), IndexError, "2 to 4 is no part of dim 0 of [3]"),
        (lambda: HostTensor(np.int8, [3]).matrix(), ValueError, "1 dims [3], not 2"),
        (lambda: HostTensor(np.int8, [3]).scalar(), ValueError, "3 elements is no array of sizes []"),
        (lambda: HostTensor(np.int8, [3]).bit_casted_tensor(np.int16), ValueError, "3 bytes are no [3] elements"),
        (lambda: HostTensor(np.str_, [3]).bit_casted_tensor(np.int16), TypeError, "strings are no bytes"),
        (lambda: HostTensor(np.str_, [3]).tensor_data(), TypeError, "not in its buffer"),
        (lambda: HostTensor(np.int8, [4]).copy_from(HostTensor(np.int8, [4]), [5]), ValueError, "sizes [5]"),
        (lambda: concat([]), ValueError, "nothing to concatenate"),
        (lambda: concat([HostTensor(np.int8)]), ValueError, "tensor 0 is a scalar"),
        (lambda: concat([HostTensor(np.int16, [1]), BYTES]), TypeError, "DT_INT8, tensor 0 of DT_INT16"),
        (lambda: concat([BYTES, HostTensor(np.int8, [1, 2])]), ValueError, "differ in more than dim 0"),
        (lambda: split(HostTensor(np.int8, [3]), [1, 1]), ValueError, "[1, 1] do not add up to dim 0 of [3]"),
        (lambda: HostTensor.from_proto(TensorProto(dtype=1, tensor_content=b"123")), ValueError, "float32[] has 4"),
        (lambda: HostTensor.from_proto(TensorProto(dtype=1, float_val=[1, 2])), ValueError, "2 elements are given"),
        (lambda: HostTensor.from_proto(TensorProto(dtype=8, scomplex_val=[1])), ValueError, "a complex element is two"),
    ],
)  # fmt: skip
def test_errors(make: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
