"""`TensorSlice`: the assertions of the TensorFlow notes, and the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from txc.graph import TensorShape, TensorSlice, TensorSliceProto, extent_length, has_extent_length

PROTO = """
    extent { }
    extent { start: 0 length: 10 }
    extent { start: 14 length: 1 }
    extent { }
"""


def proto() -> Any:
    return text_format.Parse(PROTO, TensorSliceProto())


def test_printing():
    assert str(TensorSlice(3)) == "-:-:-" and TensorSlice(3).is_full()
    s = TensorSlice([(0, -1), (0, 10), (14, 1), (0, -1)])
    assert s.debug_string() == "-:0,10:14,1:-" and not s.is_full()
    assert repr(s) == "TensorSlice.parse('-:0,10:14,1:-')"


def test_protocol_buffers():
    s = TensorSlice(proto())
    assert str(s) == "-:0,10:14,1:-" and not s.is_full()
    s = TensorSlice.parse("-:-:1,3:4,5")
    assert text_format.MessageToString(s.as_proto(), as_one_line=True).strip() == (
        "extent { } extent { } extent { start: 1 length: 3 } extent { start: 4 length: 5 }"
    )
    assert TensorSlice(TensorSliceProto.FromString(s.as_proto().SerializeToString())) == s


def test_extents_of_the_protocol_buffer():
    extents = proto().extent
    assert [has_extent_length(e) for e in extents] == [False, True, True, False]
    assert [extent_length(e) for e in extents] == [-1, 10, 1, -1]


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        ("-:-", "1,2:3,4", "1,2:3,4"),
        ("1,5:2,6:3,7:5,10", "1,2:3,4:9,10:12,1", "1,2:3,4:9,1:12,1"),
        ("1,2:-", "5,2:-", None),
        ("0,3", "2,4", "2,1"),
    ],
)
def test_intersections(a: str, b: str, both: str | None):
    found = TensorSlice.parse(a).intersect(TensorSlice.parse(b))
    assert (None if found is None else str(found)) == both
    assert TensorSlice.parse(b).overlaps(TensorSlice.parse(a)) is (both is not None)


def test_the_shape_of_a_part():
    assert TensorSlice.parse("1,1:-:4,1:2,6").slice_tensor_shape(TensorShape([2, 4, 5, 8])) == [1, 4, 1, 6]
    assert TensorSlice.parse("1,1:-").indices_and_sizes(TensorShape([2, 4])) == ([1, 0], [1, 4])


@pytest.mark.parametrize(
    ("base", "sub", "relative"),
    [
        ("-:-:-:-", "-:1,2:-:3,4", "-:1,2:-:3,4"),
        ("1,2:3,4:-:5,1", "1,1:4,2:3,3:5,1", "0,1:1,2:3,3:0,1"),
    ],
)
def test_relative_to_another(base: str, sub: str, relative: str):
    assert str(TensorSlice.parse(base).compute_relative(TensorSlice.parse(sub))) == relative


def test_covering():
    s = TensorSlice([(2, 2), (0, -1), (3, 7)])
    s.update_to_cover(TensorSlice([(0, -1), (1, 3), (2, 2)]))
    assert str(s) == "-:-:2,8"


def test_the_largest_extent_and_slices_of_other_ranks():
    assert TensorSlice([(1, 2**63 - 2)]).end(0) == 2**63 - 1
    assert TensorSlice(2).intersect(TensorSlice(3)) is None and not TensorSlice(2).overlaps(TensorSlice(3))
    assert TensorSlice.parse("1,2:-:").dims() == 2


def test_indices_of_arrays():
    x = np.arange(12).reshape(3, 4)
    index = TensorSlice.parse("1,2:-").as_index(TensorShape([3, 4]))
    assert index == (slice(1, 3), slice(None)) and (x[index] == x[1:]).all()


def test_full_slices_are_equal_however_made():
    assert TensorSlice([(0, -1)]).is_full()
    assert not TensorSlice([(0, -1), (0, -1), (14, 1)]).is_full()
    assert TensorSlice(3) == TensorSlice([(0, -1)] * 3)
    assert TensorSlice(3) != TensorSlice(2) and TensorSlice(1) != "-"


def test_editing():
    s = TensorSlice.parse("1,2")
    s.extend(3)
    assert str(s) == "1,2:-:-"
    s.set_full_slice(2)
    assert str(s) == "-:-"
    s.clear()
    assert s.dims() == 0 and str(s) == "" and s == TensorSlice.parse("")


extents = st.lists(st.one_of(st.just((0, -1)), st.tuples(st.integers(0, 9), st.integers(1, 9))), min_size=1, max_size=2)


@given(extents, extents)
def test_intersections_and_covers_are_those_of_the_elements(a: list[tuple[int, int]], b: list[tuple[int, int]]):
    rank = min(len(a), len(b))
    first, second = TensorSlice(a[:rank]), TensorSlice(b[:rank])
    whole = np.arange(20**rank).reshape((20,) * rank)
    both = np.intersect1d(whole[first.as_index()], whole[second.as_index()])
    found = first.intersect(second)
    assert both.tolist() == ([] if found is None else sorted(whole[found.as_index()].ravel().tolist()))
    cover = TensorSlice(a[:rank])
    cover.update_to_cover(second)
    assert set(whole[cover.as_index()].ravel()) >= {*whole[first.as_index()].ravel(), *whole[second.as_index()].ravel()}


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: TensorSlice.parse("1,2:x"),
            ValueError,
            "Expected a pair of numbers or '-' but got 'x': string = 1,2:x",
        ),
        (lambda: TensorSlice.parse("1"), ValueError, "but got '1': string = 1"),
        (
            lambda: TensorSlice.parse("-1,2"),
            ValueError,
            "Expected non-negative start and positive length but got start = -1, length = 2: string = -1,2",
        ),
        (lambda: TensorSlice.parse("1,0"), ValueError, "but got start = 1, length = 0"),
        (lambda: TensorSlice([(1, -1)]), ValueError, "but got start = 1, length = -1 (a whole dim is 0 and -1)"),
        (lambda: TensorSlice([(0.5, 1)]), TypeError, "an extent is of integers, not 0.5"),
        (lambda: TensorSlice(2).end(0), ValueError, "dim 0 of -:- is full"),
        (lambda: TensorSlice(2).extend(1), ValueError, "-:- has more than 1 dims"),
        (lambda: TensorSlice(2).compute_relative(TensorSlice(3)), ValueError, "different ranks"),
        (lambda: TensorSlice([(2**62, 2**62)]), ValueError, "Extent end exceeds the maximum possible size"),
        (lambda: TensorSlice.parse(f"1,{2**63 - 1}"), ValueError, "extent = start: 1 length: 9223372036854775807"),
        (
            lambda: TensorSlice.parse("3,2").slice_tensor_shape(TensorShape([4])),
            ValueError,
            "Extent in dimension 0 out of bounds: shape = [4], slice = 3,2",
        ),
        (
            lambda: TensorSlice(1).slice_tensor_shape(TensorShape([4, 2])),
            ValueError,
            "Mismatching ranks: shape = [4,2], slice = -",
        ),
        (lambda: TensorSlice.parse("3,2").as_index([4]), ValueError, "Extent in dimension 0 out of bounds"),
    ],
)
def test_errors(make: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
