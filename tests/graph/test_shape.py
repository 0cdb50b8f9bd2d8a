"""`TensorShape` and `PartialTensorShape`: the assertions of the TensorFlow notes, and the edges."""

from __future__ import annotations

import math
from typing import Any

import pytest

import txc
from txc.graph import DataType, Dimension, PartialTensorShape, TensorShape, TensorShapeProto


def test_the_default_is_a_scalar():
    s = TensorShape()
    assert s.dims() == 0
    assert s.num_elements() == 1
    assert s.is_scalar() and not s.is_vector_or_higher()


def test_set_dim():
    s = TensorShape([10, 5])
    s.set_dim(0, 20)
    assert (s.dims(), s.dim_size(0), s.num_elements()) == (2, 20, 100)
    s.set_dim(1, 2)
    assert (s.dims(), s.dim_size(1), s.num_elements()) == (2, 2, 40)
    s = TensorShape([10, 5, 20])
    assert s.num_elements() == 1000
    s.set_dim(1, 0)
    assert s.num_elements() == 0
    s.set_dim(1, 7)
    assert s.num_elements() == 1400


def test_remove_and_insert_dim():
    s = TensorShape([10, 5])
    s.remove_dim(0)
    assert (s.num_elements(), s.dims()) == (5, 1)
    s.insert_dim(0, 3)
    s.insert_dim(2, 7)
    assert s.dim_sizes() == [3, 5, 7]
    assert s.is_vector_or_higher() and s.is_matrix_or_higher() and not s.is_matrix()


def test_append_a_shape_of_large_dims():
    s2 = TensorShape()
    s2.append_shape(TensorShape([10, 2147483648]))
    assert (s2.dim_size(0), s2.dim_size(1)) == (10, 2147483648)


def test_the_element_type_stays_while_dims_come_and_go():
    s = TensorShape([])
    assert s.data_type is DataType.DT_INVALID
    s.set_data_type(DataType.DT_INT32)
    s.add_dim(1)
    assert s.data_type is DataType.DT_INT32
    s.add_dim(100000)
    assert s.data_type is DataType.DT_INT32
    s.set_data_type(DataType.DT_UINT16_REF)
    for size in (2, 4, 3):
        s.add_dim(size)
        assert s.data_type is DataType.DT_UINT16_REF
    assert s.copy().data_type is DataType.DT_UINT16_REF
    s2 = TensorShape([3])
    s2.set_data_type(DataType.DT_FLOAT)
    assert s2.data_type is DataType.DT_FLOAT
    s2.clear()
    assert s2.data_type is DataType.DT_INVALID and s2.dims() == 0


@pytest.mark.parametrize(
    ("shape", "part", "starts", "ends"),
    [
        ([2, 3], [2, 3], True, True),
        ([2, 3, 4], [2, 3], True, False),
        ([2, 3, 4], [3, 4], False, True),
        ([2], [2, 3], False, False),
        ([2, 3], [], True, True),
    ],
)
def test_starts_and_ends_with(shape: list[int], part: list[int], starts: bool, ends: bool):
    assert TensorShape(shape).starts_with(TensorShape(part)) is starts
    assert TensorShape(shape).ends_with(TensorShape(part)) is ends


def test_printed_forms():
    assert str(txc.graph.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]).shape) == (
        "TensorShape([Dimension(4), Dimension(2)])"
    )
    assert TensorShape([2, 3]).debug_string() == "[2,3]"
    assert PartialTensorShape([2, 3, None]).debug_string() == "[2,3,?]"
    assert PartialTensorShape(None).debug_string() == "<unknown>"
    assert repr(PartialTensorShape([2, None])) == "PartialTensorShape([Dimension(2), Dimension(None)])"
    assert repr(PartialTensorShape(None)) == "PartialTensorShape(None)"
    assert txc.graph.shape_list_string([PartialTensorShape([1, 2, -1]), TensorShape([3])]) == "[[1,2,?], [3]]"


@pytest.mark.parametrize("sizes", [[], [2, 3], [2, None], None, [0, 5]])
def test_protocol_buffers_there_and_back(sizes: list[Any] | None):
    shape = PartialTensorShape(sizes)
    data = shape.as_proto().SerializeToString()
    assert PartialTensorShape(TensorShapeProto.FromString(data)).is_identical_to(shape)


def test_the_bytes_of_a_shape():
    assert TensorShape([2, 3]).as_proto().SerializeToString() == b"\x12\x02\x08\x02\x12\x02\x08\x03"
    assert PartialTensorShape(None).as_proto().SerializeToString() == b"\x18\x01"
    with pytest.raises(ValueError, match="use PartialTensorShape"):
        TensorShape(PartialTensorShape([2, None]).as_proto())


def test_concatenate():
    s = PartialTensorShape([2, None])
    assert s.concatenate(4) == [2, None, 4]
    assert s.concatenate(None) == [2, None, None]
    assert s.concatenate(TensorShape([5, 6])) == [2, None, 5, 6]
    assert s.concatenate(PartialTensorShape(None)).unknown_rank
    assert PartialTensorShape(None).concatenate(3).unknown_rank


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ([2, None], [None, 3], [2, 3]),
        ([2, 3], [2, 3], [2, 3]),
        (None, [1, None], [1, None]),
        ([1, None], None, [1, None]),
        ([2], [3], "incompatible shapes: [2] and [3]"),
        ([2], [2, 2], "incompatible shapes: [2] and [2,2]"),
    ],
)
def test_merging_and_fitting(a: Any, b: Any, merged: Any):
    first, second = PartialTensorShape(a), PartialTensorShape(b)
    assert first.is_compatible_with(second) is not isinstance(merged, str)
    if isinstance(merged, str):
        with pytest.raises(ValueError) as caught:
            first.merge_with(second)
        assert str(caught.value) == merged
    else:
        assert first.merge_with(second).is_identical_to(PartialTensorShape(merged))
    assert first.is_identical_to(second) is (a == b)


def test_lists_of_shapes():
    a, b = [PartialTensorShape([2, None])], [PartialTensorShape([None, 3])]
    assert txc.graph.are_compatible(a, b) and not txc.graph.are_identical(a, b)
    assert txc.graph.are_identical(a, [PartialTensorShape([2, None])])
    assert not txc.graph.are_compatible(a, [])


@pytest.mark.parametrize(
    ("begin", "end", "left"),
    [
        (0, 2, [4, 5]), (1, 3, [2, 5]), (2, 4, [2, 3]), (0, 4, []), (1, 1, [2, 3, 4, 5]), (3, 1, [2, 3, 4, 5]),
        (0, -1, []), (0, -2, [5]), (-3, -1, [2, 3]), (-2, -1, [2, 3, 4]), (-1, 0, [2, 3, 4, 5]), (-5, -5, [2, 3, 4, 5]),
    ],
)  # fmt: skip
def test_ranges_of_dims_are_removed(begin: int, end: int, left: list[int]):
    s = TensorShape([2, 3, 4, 5])
    s.remove_dim_range(begin, end)
    assert s == left and s.num_elements() == math.prod(left)
    partial = PartialTensorShape([2, None, 4, 5])
    partial.remove_last_dims(3)
    assert partial.debug_string() == "[2]"


def test_the_last_dims_are_removed():
    s = TensorShape([2, 3, 4, 5])
    s.remove_last_dims(0)
    s.remove_last_dims(2)
    assert s == [2, 3]
    for remove in (lambda: s.remove_last_dims(3), lambda: s.remove_last_dims(-1), lambda: s.remove_dim_range(0, 3)):
        with pytest.raises(IndexError, match=r"\[2,3\]"):
            remove()
    assert s == [2, 3]


def test_as_tensor_shape():
    assert PartialTensorShape([2, 3]).as_tensor_shape() == TensorShape([2, 3])
    with pytest.raises(ValueError, match=r"\[2,\?\] is not fully defined"):
        PartialTensorShape([2, None]).as_tensor_shape()
    assert PartialTensorShape([2, None]).num_elements() == -1 == PartialTensorShape(None).num_elements()
    assert PartialTensorShape(None).dims() == -1


def test_other_forms():
    assert TensorShape([2, 3]).as_dsizes_with_padding(4) == [2, 3, 1, 1]
    with pytest.raises(ValueError, match="more than 1 dims"):
        TensorShape([2, 3]).as_dsizes_with_padding(1)
    assert TensorShape([3, 3]).is_square_matrix() and not TensorShape([3, 2]).is_square_matrix()
    assert [int(d) for d in TensorShape([4, 2])] == [4, 2] and len(TensorShape([4, 2])) == 2
    assert TensorShape([4, 2])[1] == Dimension(2) == 2 and Dimension(None) != 2
    assert TensorShape([4, 2]).is_same_size(TensorShape([4, 2]))
    assert txc.graph.num_elements([4, 5]) == 20


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: TensorShape([2, -1]), ValueError, "every size of a TensorShape is known"),
        (lambda: TensorShape([-2]), ValueError, "a size is from 0 to 2**63 - 1, not -2"),
        (lambda: TensorShape([2.5]), TypeError, "a size is an integer, not 2.5"),
        (lambda: TensorShape([True]), TypeError, "a size is an integer, not True"),
        (lambda: TensorShape(None), ValueError, "use PartialTensorShape"),
        (lambda: TensorShape([1] * 255), ValueError, "at most 254 dims, not 255"),
        (lambda: TensorShape([2**32, 2**32]), ValueError, "more elements than 64 bits count"),
        (lambda: TensorShape([2]).dim_size(1), IndexError, "there is no dim 1 in [2]"),
        (lambda: TensorShape([2]).remove_dim(-1), IndexError, "there is no dim -1 in [2]"),
        (lambda: TensorShape([2]).insert_dim(3, 1), IndexError, "there is no dim 3 in [2]"),
        (lambda: PartialTensorShape(None).dim_sizes(), ValueError, "the rank of this shape is unknown"),
        (lambda: int(Dimension(None)), ValueError, "an unknown dimension has no value"),
    ],
)
def test_errors(make: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)


def test_a_failed_edit_changes_nothing():
    s = TensorShape([2**40, 2])
    with pytest.raises(ValueError, match="64 bits"):
        s.add_dim(2**40)
    assert s == [2**40, 2]
