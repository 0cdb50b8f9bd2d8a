"""`TensorSlice`: for each dim of a tensor a start and a length, or all of it; printed as ``-:0,10:14,1``.

The source of the semantics is the TensorFlow tensor notes.
"""

from __future__ import annotations

from typing import Any

from .proto import TensorSliceProto
from .shape import TensorShape

__all__ = ["FULL_EXTENT", "TensorSlice", "extent_length", "has_extent_length"]

#: The length that stands for "all of the dim".
FULL_EXTENT = -1
_LARGEST = (1 << 63) - 1


class TensorSlice:
    """Of as many dims, all full; of ``(start, length)`` pairs, length -1 for a full one; or of a TensorSliceProto.

    ValueError for negative starts and for lengths below 1 that are not -1, TypeError for what is no integer.
    """

    __slots__ = ("_lengths", "_starts")

    def __init__(self, extents: Any = 0):
        if isinstance(extents, TensorSliceProto):
            extents = [(e.start, extent_length(e)) for e in extents.extent]
        elif isinstance(extents, int):
            extents = [(0, FULL_EXTENT)] * extents
        self._starts: list[int] = []
        self._lengths: list[int] = []
        for start, length in extents:
            start, length = _integer(start), _integer(length)
            full = length == FULL_EXTENT
            if (full and start != 0) or (not full and (start < 0 or length < 1)):
                raise ValueError(
                    f"Expected non-negative start and positive length but got start = {start}, length = {length} "
                    "(a whole dim is 0 and -1)"
                )
            _check_end(start, length)
            self._starts.append(start)
            self._lengths.append(length)

    @staticmethod
    def parse(text: str) -> TensorSlice:
        """``-:1,3:4,5``: a part for each dim, ``-`` for a whole one.  ValueError names a part that is neither."""
        extents: list[tuple[int, int]] = []
        for part in filter(None, text.split(":")):
            if part == "-":
                extents.append((0, FULL_EXTENT))
                continue
            numbers = part.split(",")
            if len(numbers) != 2 or not all(n.isascii() and n.lstrip("-").isdecimal() for n in numbers):
                raise ValueError(f"Expected a pair of numbers or '-' but got '{part}': string = {text}")
            start, length = map(int, numbers)
            if start < 0 or length <= 0:
                raise ValueError(
                    f"Expected non-negative start and positive length but got start = {start}, length = {length}: "
                    f"string = {text}"
                )
            extents.append((start, length))
        return TensorSlice(extents)

    # What it is

    def dims(self) -> int:
        """The number of dims."""
        return len(self._starts)

    def start(self, d: int) -> int:
        """Where it starts in dim `d`; 0 where the dim is full."""
        return self._starts[d]

    def length(self, d: int) -> int:
        """How many elements of dim `d`; -1 where the dim is full."""
        return self._lengths[d]

    def end(self, d: int) -> int:
        """The first place after it in dim `d`.  ValueError where the dim is full."""
        if self.is_full_at(d):
            raise ValueError(f"dim {d} of {self} is full: where it ends only a shape says")
        return self._starts[d] + self._lengths[d]

    def is_full_at(self, d: int) -> bool:
        """Whether it has all of dim `d`."""
        return self._lengths[d] == FULL_EXTENT

    def is_full(self) -> bool:
        """Whether it has all of every dim."""
        return all(n == FULL_EXTENT for n in self._lengths)

    # Editing

    def clear(self) -> None:
        """Make it of no dims."""
        self._starts, self._lengths = [], []

    def set_full_slice(self, dims: int) -> None:
        """Make it of `dims` full dims."""
        self._starts, self._lengths = [0] * dims, [FULL_EXTENT] * dims

    def extend(self, dims: int) -> None:
        """Append full dims until it has `dims` of them.  ValueError where it has more."""
        if dims < self.dims():
            raise ValueError(f"{self} has more than {dims} dims")
        self._starts += [0] * (dims - self.dims())
        self._lengths += [FULL_EXTENT] * (dims - len(self._lengths))

    def update_to_cover(self, other: TensorSlice) -> None:
        """Make it the smallest slice with all that both have."""
        self._same_rank(other)
        for d in range(self.dims()):
            if self.is_full_at(d) or other.is_full_at(d):
                self._starts[d], self._lengths[d] = 0, FULL_EXTENT
                continue
            end = max(self.end(d), other.end(d))
            self._starts[d] = min(self.start(d), other.start(d))
            self._lengths[d] = end - self._starts[d]

    # With others

    def _same_rank(self, other: TensorSlice) -> None:
        if self.dims() != other.dims():
            raise ValueError(f"{self} and {other} have different ranks")

    def intersect(self, other: TensorSlice) -> TensorSlice | None:
        """What both have; None where that is nothing, as of slices of different ranks."""
        if self.dims() != other.dims():
            return None
        extents: list[tuple[int, int]] = []
        for d in range(self.dims()):
            if self.is_full_at(d) or other.is_full_at(d):
                whole = other if self.is_full_at(d) else self
                extents.append((whole.start(d), whole.length(d)))
                continue
            start, end = max(self.start(d), other.start(d)), min(self.end(d), other.end(d))
            if end <= start:
                return None
            extents.append((start, end - start))
        return TensorSlice(extents)

    def overlaps(self, other: TensorSlice) -> bool:
        """Whether there is an element that both have."""
        return self.intersect(other) is not None

    def compute_relative(self, sub: TensorSlice) -> TensorSlice:
        """`sub`, which lies within this slice, counted from where this slice starts."""
        self._same_rank(sub)
        extents = []
        for d in range(self.dims()):
            moved = sub.start(d) if self.is_full_at(d) else sub.start(d) - self.start(d)
            extents.append((moved, sub.length(d)))
        return TensorSlice(extents)

    def slice_tensor_shape(self, shape: TensorShape) -> TensorShape:
        """The shape of this part of a tensor of `shape`.  ValueError where ranks differ or it leaves the tensor."""
        return TensorShape(self.indices_and_sizes(shape)[1])

    def indices_and_sizes(self, shape: TensorShape) -> tuple[list[int], list[int]]:
        """Starts and lengths in a tensor of `shape`, full dims as long as its.  Errors as `slice_tensor_shape`."""
        if shape.dims() != self.dims():
            raise ValueError(f"Mismatching ranks: shape = {shape.debug_string()}, slice = {self}")
        sizes = []
        for d, size in enumerate(shape.dim_sizes()):
            if not self.is_full_at(d) and self.end(d) > size:
                raise ValueError(
                    f"Extent in dimension {d} out of bounds: shape = {shape.debug_string()}, slice = {self}"
                )
            sizes.append(size if self.is_full_at(d) else self.length(d))
        return list(self._starts), sizes

    def as_index(self, shape: Any = None) -> tuple[slice, ...]:
        """What to index an array or a tensor with: ``x[s.as_index()]``.

        An index may end beyond an array, which ends it then; of the array's `shape` (a TensorShape, or a list of sizes)
        the places are checked, with the errors of `slice_tensor_shape`.
        """
        if shape is not None:
            self.indices_and_sizes(shape if isinstance(shape, TensorShape) else TensorShape(shape))
        return tuple(
            slice(None) if self.is_full_at(d) else slice(self.start(d), self.end(d)) for d in range(self.dims())
        )

    # Other forms

    def as_proto(self) -> Any:
        """The protocol buffer; a full dim is an extent without a length."""
        proto = TensorSliceProto()
        for start, length in zip(self._starts, self._lengths):
            extent = proto.extent.add()
            if length != FULL_EXTENT:
                extent.start, extent.length = start, length
        return proto

    def debug_string(self) -> str:
        """``-:0,10:14,1``."""
        return ":".join("-" if n == FULL_EXTENT else f"{s},{n}" for s, n in zip(self._starts, self._lengths))

    __str__ = debug_string

    def __repr__(self) -> str:
        return f"TensorSlice.parse({self.debug_string()!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSlice):
            return NotImplemented
        return self._starts == other._starts and self._lengths == other._lengths

    __hash__ = None  # type: ignore[assignment]  # they change


def has_extent_length(extent: Any) -> bool:
    """Whether an extent of a TensorSliceProto has a length, that is, is not a whole dim."""
    return extent.HasField("length")


def extent_length(extent: Any) -> int:
    """The length of an extent of a TensorSliceProto, -1 for a whole dim."""
    return extent.length if has_extent_length(extent) else FULL_EXTENT


def _check_end(start: int, length: int) -> None:
    """ValueError where 64 bits do not count the places up to the end of an extent."""
    if start + length > _LARGEST:
        raise ValueError(f"Extent end exceeds the maximum possible size: extent = start: {start} length: {length}")


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"an extent is of integers, not {value!r}")
    return value.__index__()
