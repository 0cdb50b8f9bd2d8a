"""Shapes with their editing methods: `TensorShape` and `PartialTensorShape`, whose sizes or rank may be unknown.

The source of the semantics is the TensorFlow tensor notes (their `TensorShapeBase`, `TensorShape`, `PartialTensorShape`
and the two `Utils`).  Methods keep the notes' names in snake_case; where those return a status, these raise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from .proto import DataType, TensorShapeProto

__all__ = [
    "MAX_DIMS", "Dimension", "PartialTensorShape", "TensorShape", "are_compatible", "are_identical", "as_shape",
    "num_elements", "shape_list_string",
]  # fmt: skip

#: As many dims as a shape may have: its representation keeps the rank in one byte, 255 standing for "unknown".
MAX_DIMS = 254
_LARGEST = (1 << 63) - 1


class Dimension:
    """One size of a shape as Python sees it: `value` is an int, or None where it is not known."""

    __slots__ = ("value",)

    def __init__(self, value: int | None):
        self.value = None if value is None or value == -1 else _size(value)

    def __int__(self) -> int:
        if self.value is None:
            raise ValueError("an unknown dimension has no value")
        return self.value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dimension) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"


class _Shape:
    """What the two kinds share.  `_sizes` is None where the rank is unknown; -1 stands for an unknown size."""

    _unknown_allowed: ClassVar[bool]

    def __init__(self, sizes: Any = ()):
        self._data_type = DataType.DT_INVALID
        if isinstance(sizes, TensorShapeProto):
            sizes = None if sizes.unknown_rank else [d.size for d in sizes.dim]
        elif isinstance(sizes, _Shape):
            sizes = sizes._sizes
        if sizes is None and not self._unknown_allowed:
            raise ValueError("a TensorShape has a known rank; use PartialTensorShape")
        self._sizes: list[int] | None = None if sizes is None else [self._checked(s) for s in sizes]
        self._check_total()

    def _checked(self, size: Any) -> int:
        value = size.value if isinstance(size, Dimension) else size
        if value is None or value == -1:
            if not self._unknown_allowed:
                raise ValueError("every size of a TensorShape is known; use PartialTensorShape")
            return -1
        return _size(value)

    def _check_total(self) -> None:
        if self._sizes is None:
            return
        if len(self._sizes) > MAX_DIMS:
            raise ValueError(f"a shape has at most {MAX_DIMS} dims, not {len(self._sizes)}")
        if self.num_elements() > _LARGEST:
            raise ValueError(f"{self.debug_string()} has more elements than 64 bits count")

    def _known(self) -> list[int]:
        if self._sizes is None:
            raise ValueError("the rank of this shape is unknown")
        return self._sizes

    def _place(self, d: int, count: int) -> int:
        if not 0 <= d < count:
            raise IndexError(f"there is no dim {d} in {self.debug_string()}")
        return d

    # What it is

    def dims(self) -> int:
        """The number of dims, -1 where it is unknown."""
        return -1 if self._sizes is None else len(self._sizes)

    @property
    def unknown_rank(self) -> bool:
        """Whether not even the number of dims is known."""
        return self._sizes is None

    def dim_size(self, d: int) -> int:
        """The size of dim `d`, -1 where it is unknown.  IndexError where there is no such dim."""
        sizes = self._known()
        return sizes[self._place(d, len(sizes))]

    def dim_sizes(self) -> list[int]:
        """All sizes, outermost first."""
        return list(self._known())

    def num_elements(self) -> int:
        """The product of the sizes, -1 where one is unknown."""
        if self._sizes is None or -1 in self._sizes:
            return -1
        return math.prod(self._sizes)

    def is_fully_defined(self) -> bool:
        """Whether rank and sizes are all known."""
        return self.num_elements() != -1

    @property
    def data_type(self) -> DataType:
        """The element type that a tensor keeps in its shape; DT_INVALID where none was set."""
        return self._data_type

    def set_data_type(self, data_type: DataType) -> None:
        """Keep an element type with the shape."""
        self._data_type = data_type

    # Editing

    def clear(self) -> None:
        """Make it the shape of a scalar without an element type."""
        self._sizes, self._data_type = [], DataType.DT_INVALID

    def _replace(self, sizes: list[int]) -> None:
        before, self._sizes = self._sizes, sizes
        try:
            self._check_total()
        except ValueError:
            self._sizes = before
            raise

    def add_dim(self, size: Any) -> None:
        """Append a dim."""
        self._replace([*self._known(), self._checked(size)])

    def append_shape(self, shape: _Shape) -> None:
        """Append all dims of another shape."""
        self._replace([*self._known(), *(self._checked(s) for s in shape._known())])

    def insert_dim(self, d: int, size: Any) -> None:
        """Insert a dim before dim `d`; ``d == dims()`` appends."""
        sizes = self._known()
        d = self._place(d, len(sizes) + 1)
        self._replace([*sizes[:d], self._checked(size), *sizes[d:]])

    def set_dim(self, d: int, size: Any) -> None:
        """Change the size of dim `d`."""
        sizes = self._known()
        d = self._place(d, len(sizes))
        self._replace([*sizes[:d], self._checked(size), *sizes[d + 1 :]])

    def remove_dim(self, d: int) -> None:
        """Drop dim `d`."""
        sizes = self._known()
        d = self._place(d, len(sizes))
        self._replace([*sizes[:d], *sizes[d + 1 :]])

    def remove_dim_range(self, begin: int, end: int) -> None:
        """Drop dims `begin` to `end` (exclusive).

        Negative places count from one past the last dim: -1 is ``dims()``.  Nothing where the range is empty;
        IndexError for places that there are not.
        """
        sizes = self._known()
        count = len(sizes)
        first, last = (p + count + 1 if p < 0 else p for p in (begin, end))
        if not (0 <= first <= count and 0 <= last <= count):
            raise IndexError(f"dims {begin} to {end} are not in {self.debug_string()}")
        if first < last:
            self._replace([*sizes[:first], *sizes[last:]])

    def remove_last_dims(self, count: int) -> None:
        """Drop the last `count` dims.  IndexError where there are not so many."""
        dims = len(self._known())
        if not 0 <= count <= dims:
            raise IndexError(f"{self.debug_string()} has no last {count} dims")
        self.remove_dim_range(dims - count, dims)

    # Other forms

    def as_proto(self) -> Any:
        """The protocol buffer: a `dim` for each dim, or `unknown_rank`."""
        if self._sizes is None:
            return TensorShapeProto(unknown_rank=True)
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=s) for s in self._sizes])

    def as_list(self) -> list[int | None]:
        """All sizes, None for unknown ones."""
        return [None if s == -1 else s for s in self._known()]

    def as_dsizes_with_padding(self, ndims: int) -> list[int]:
        """`ndims` sizes: the shape's, then ones.  ValueError where it has more dims than that."""
        sizes = self._known()
        if len(sizes) > ndims:
            raise ValueError(f"{self.debug_string()} has more than {ndims} dims")
        return [*sizes, *[1] * (ndims - len(sizes))]

    def debug_string(self) -> str:
        """``[2,3,?]``; ``<unknown>`` where the rank is unknown."""
        if self._sizes is None:
            return "<unknown>"
        return f"[{','.join('?' if s == -1 else str(s) for s in self._sizes)}]"

    def __repr__(self) -> str:
        if self._sizes is None:
            return f"{type(self).__name__}(None)"
        return f"{type(self).__name__}([{', '.join(map(repr, self))}])"

    def __iter__(self) -> Iterator[Dimension]:
        return (Dimension(s) for s in self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __getitem__(self, d: int) -> Dimension:
        return Dimension(self._known()[d])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Shape):
            return self._sizes == other._sizes
        if isinstance(other, (tuple, list)):
            return self._sizes is not None and self.as_list() == [
                d.value if isinstance(d, Dimension) else d for d in other
            ]
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # they change

    def starts_with(self, prefix: _Shape) -> bool:
        """Whether the first dims are those of `prefix`."""
        sizes, first = self._known(), prefix._known()
        return sizes[: len(first)] == first

    def ends_with(self, suffix: _Shape) -> bool:
        """Whether the last dims are those of `suffix`."""
        sizes, last = self._known(), suffix._known()
        return len(sizes) >= len(last) and sizes[len(sizes) - len(last) :] == last

    def copy(self) -> Self:
        """A shape of its own, with the same element type."""
        made = type(self)(self._sizes)
        made._data_type = self._data_type
        return made


class TensorShape(_Shape):
    """A shape of known rank (at most 254) and sizes (from 0 on): ``TensorShape([4, 2])``, or from a TensorShapeProto.

    ValueError for unknown or negative sizes, or more than 2⁶³ - 1 elements; TypeError for sizes that are no integers.
    """

    _unknown_allowed = False

    def is_same_size(self, other: TensorShape) -> bool:
        """Whether rank and all sizes are equal."""
        return self._sizes == other._sizes

    def is_scalar(self) -> bool:
        return self.dims() == 0

    def is_vector(self) -> bool:
        return self.dims() == 1

    def is_vector_or_higher(self) -> bool:
        return self.dims() >= 1

    def is_matrix(self) -> bool:
        return self.dims() == 2

    def is_matrix_or_higher(self) -> bool:
        return self.dims() >= 2

    def is_square_matrix(self) -> bool:
        return self.dims() == 2 and self.dim_size(0) == self.dim_size(1)


class PartialTensorShape(_Shape):
    """A shape with unknown sizes (None or -1) or rank: ``PartialTensorShape([2, None])``, ``(None)``."""

    _unknown_allowed = True

    def __init__(self, sizes: Any = None):
        super().__init__(sizes)

    def concatenate(self, more: int | _Shape | None) -> PartialTensorShape:
        """A new shape with a dim of size `more`, or the dims of the shape `more`, at the end."""
        if isinstance(more, _Shape):
            if self._sizes is None or more._sizes is None:
                return PartialTensorShape(None)
            return PartialTensorShape([*self._sizes, *more._sizes])
        return PartialTensorShape(None) if self._sizes is None else PartialTensorShape([*self._sizes, more])

    def merge_with(self, other: _Shape) -> PartialTensorShape:
        """What both say together.  ValueError where they contradict each other."""
        if self._sizes is None or other._sizes is None:
            return PartialTensorShape(other._sizes if self._sizes is None else self._sizes)
        if not self.is_compatible_with(other):
            raise ValueError(f"incompatible shapes: {self.debug_string()} and {other.debug_string()}")
        return PartialTensorShape([b if a == -1 else a for a, b in zip(self._sizes, other._sizes, strict=True)])

    def as_tensor_shape(self) -> TensorShape:
        """The same, all sizes being known.  ValueError where one is not."""
        if not self.is_fully_defined():
            raise ValueError(f"{self.debug_string()} is not fully defined")
        return TensorShape(self._sizes)

    def is_identical_to(self, other: _Shape) -> bool:
        """Whether both say the same: equal ranks and sizes, unknown only where the other is."""
        return self._sizes == other._sizes

    def is_compatible_with(self, other: _Shape) -> bool:
        """Whether one tensor could have both shapes: unknown ranks and sizes fit anything."""
        if self._sizes is None or other._sizes is None:
            return True
        if len(self._sizes) != len(other._sizes):
            return False
        return all(a == b or -1 in (a, b) for a, b in zip(self._sizes, other._sizes))


def _size(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"a size is an integer, not {value!r}")
    size = value.__index__()
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"a size is from 0 to 2**63 - 1, not {size}")
    return size


def as_shape(value: Any) -> PartialTensorShape:
    """A shape of what stands for one: a shape, a list of sizes (None for unknown ones), one size, or None."""
    if isinstance(value, PartialTensorShape):
        return value.copy()
    if value is None or isinstance(value, (_Shape, TensorShapeProto)):
        return PartialTensorShape(value)
    return PartialTensorShape([value] if hasattr(value, "__index__") else value)


def shape_list_string(shapes: Sequence[_Shape]) -> str:
    """``[[1,2], [3,?]]``: the shapes, as each prints itself."""
    return f"[{', '.join(s.debug_string() for s in shapes)}]"


def are_compatible(first: Sequence[PartialTensorShape], second: Sequence[PartialTensorShape]) -> bool:
    """Whether there are as many shapes in both and each fits the other's at its place."""
    return len(first) == len(second) and all(a.is_compatible_with(b) for a, b in zip(first, second))


def are_identical(first: Sequence[PartialTensorShape], second: Sequence[PartialTensorShape]) -> bool:
    """Whether there are as many shapes in both and each says the same as the other's at its place."""
    return len(first) == len(second) and all(a.is_identical_to(b) for a, b in zip(first, second))


def num_elements(sizes: Sequence[int]) -> int:
    """The number of elements of a tensor of these sizes.  ValueError where 64 bits do not count them."""
    return TensorShape(sizes).num_elements()
