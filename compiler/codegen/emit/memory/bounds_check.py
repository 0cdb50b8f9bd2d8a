"""Checked accesses: indices are compared with the sizes of their buffer before memory is touched.

Every lane that an access touches is checked, along each dim, and of temporaries that they lie inside of their arena.
The first access of a call that is outside is noted (`runtime.call.BoundsStruct`), with a text that says where it comes
from; the function then ends, as do those around it, so that nothing is read or written outside.  Prefetches may ask for
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Protocol

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from .....dialects.dims.dims import Dim, dim
from .....dialects.loop import AllocOp
from .....dialects.types import DTYPES
from ..text import IrText, Module, lit, vector_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import VectorValue, info_of, union, width_of
from ..values.scalar import ScalarBodies

__all__ = ["RECORD", "BoundsChecks", "Exits"]

BOOL = DTYPES["bool"]
#: The function that notes an access: the call's `BoundsStruct`, a text, the index and the size.
RECORD = "txc.outside"
_RECORD = f"""define internal void @{RECORD}(ptr %record, ptr %text, i64 %index, i64 %size) noinline cold nounwind {{
  %swap = cmpxchg ptr %record, ptr null, ptr %text monotonic monotonic
  %first = extractvalue {{ ptr, i1 }} %swap, 1
  br i1 %first, label %note, label %out
note:
  %index.at = getelementptr i64, ptr %record, i64 1
  store i64 %index, ptr %index.at, align 8
  %size.at = getelementptr i64, ptr %record, i64 2
  store i64 %size, ptr %size.at, align 8
  br label %out
out:
  ret void
}}"""


class Exits(Protocol):
    """How a function notes an access that is outside, and ends."""

    def bounds_record(self) -> str:
        """Where it notes it: a pointer to the call's `BoundsStruct`."""
        ...

    def leave(self) -> None:
        """End the block by ending the function, for the sake of what was noted."""
        ...


class BoundsChecks:
    """The checks of one function."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, scalars: ScalarBodies, exits: Exits):
        self.text, self.lanes, self.index, self.scalars, self.exits = text, lanes, index, scalars, exits

    def element(self, op: Operation, buffer: SSAValue, index: Sequence[Dim], guard: VectorValue | None) -> None:
        """An access to the element at `index`, in all lanes but those that a guard or the tail leaves out."""
        info = info_of(buffer)
        for number, (at, size) in enumerate(zip(index, info.dims, strict=True)):
            if at.const is not None and size.const is not None and 0 <= at.const < size.const:
                continue
            place, limit, here = self.index.varying(at), self.index.varying(size), guard
            lanes = union((place.lanes, limit.lanes))
            if self.lanes.inside is not None and self.lanes.inside.lanes[0] in lanes:
                here = self.scalars.both(here, self.lanes.inside)
            lanes = union((lanes, here.lanes)) if here is not None else lanes
            width = width_of(lanes)
            places, limits = self.lanes.spread(place, lanes), self.lanes.spread(limit, lanes)
            bad: list[tuple[str, str]] = []
            sizes: list[tuple[str, str]] = []
            for x, y, mask in zip(places, limits, self.lanes.touched(here, lanes), strict=True):
                x, y = lit(x, width, "i64"), lit(y, width, "i64")
                outside = self.text.ins(f"icmp uge {vector_type(width, 'i64')} {x}, {y}")
                if mask is not None:
                    outside = self.text.ins(f"and {vector_type(width, 'i1')} {outside}, {mask}")
                bad.append((outside, x))
                sizes.append((outside, y))
            found = VectorValue(lanes, [outside for outside, _ in bad], BOOL)
            text = f"{_place(op)}: {op.name} of {_named(buffer)}, dim {number}"
            self._end_where(self.lanes.any_lane(found), text, *(partial(self._worst, of, width) for of in (bad, sizes)))

    def rows(self, op: Operation, buffer: SSAValue, firsts: Sequence[str], count: int) -> None:
        """An access to `count` elements of a buffer of one dim, from each of the places `firsts` on."""
        (size,) = info_of(buffer).dims
        limit = self.index.value(size)
        for first in firsts:
            last = self.text.add(first, str(count - 1))
            outside = [self.text.ins(f"icmp uge i64 {place}, {limit}") for place in (first, last)]
            text = f"{_place(op)}: {op.name} of {_named(buffer)}, {count} elements up to it"
            self._end_where(self.text.ins(f"or i1 {', '.join(outside)}"), text, partial(str, last), partial(str, limit))

    def run(self, op: Operation, buffer: SSAValue, first: str, behind: str) -> None:
        """An access to the elements of a buffer of one dim from `first` up to `behind`; it may be to none."""
        (size,) = info_of(buffer).dims
        limit = self.index.value(size)
        outside = [self.text.ins(f"icmp ugt i64 {place}, {limit}") for place in (first, behind)]
        text = f"{_place(op)}: {op.name} of {_named(buffer)}, elements up to it"
        self._end_where(self.text.ins(f"or i1 {', '.join(outside)}"), text, partial(str, behind), partial(str, limit))

    def temporary(self, op: AllocOp, size: Dim) -> None:
        """A temporary, which has to lie inside of its arena of so many bytes; one without elements lies nowhere."""
        info = info_of(op.result)
        steps = (stride * (extent - 1) for stride, extent in zip(info.strides, info.dims))
        last = op.offset.data + sum(steps, dim(1)) * info.dtype.bytes - 1
        limit, place = self.index.value(size), self.index.value(last)
        outside = self.text.ins(f"icmp uge i64 {place}, {limit}")
        for extent in info.dims:
            if extent.const is None:
                outside = self.text.ins(f"and i1 {outside}, {self.index.is_positive(extent)}")
        if prod(1 if extent.const is None else extent.const for extent in info.dims):
            text = f"{_place(op)}: the last byte of a temporary, {info}, in its arena"
            self._end_where(outside, text, partial(str, place), partial(str, limit))

    def _end_where(self, outside: str, text: str, place: Callable[[], str], size: Callable[[], str]) -> None:
        """Note an access and end the function where it is outside; `place` and `size` are computed there only."""
        failed, after = self.text.label("outside"), self.text.label("inside")
        self.text.branch_if(outside, failed, after)
        self.text.start(failed)
        self.text.frames.append({})
        site = _site(self.text.module, text)
        self.text.put(f"call void @{RECORD}(ptr {self.exits.bounds_record()}, ptr {site}, i64 {place()}, i64 {size()})")
        self.text.frames.pop()
        self.exits.leave()
        self.text.start(after)

    def _worst(self, bad: Sequence[tuple[str, str]], width: int) -> str:
        """Of the numbers in lanes that are outside a negative one, else the largest."""
        ty, total = vector_type(width, "i64"), ""
        for outside, place in bad:
            one = self.text.ins(f"select {vector_type(width, 'i1')} {outside}, {ty} {place}, {ty} zeroinitializer")
            total = self.text.intrinsic("umax", ty, ty, [(ty, total), (ty, one)]) if total else one
        return total if width == 1 else self.text.intrinsic("vector.reduce.umax", ty, "i64", [(ty, total)])


def _site(module: Module, text: str) -> str:
    """A text as C has it, once a module."""
    module.globals.setdefault(RECORD, _RECORD)
    name = f"@{module.sites.setdefault(text, f'site.{len(module.sites)}')}"
    data = text.encode() + b"\0"
    letters = "".join(f"\\{byte:02X}" for byte in data)
    module.globals.setdefault(name, f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{letters}"')
    return name


def _named(buffer: SSAValue) -> str:
    """A buffer as messages name it."""
    if isinstance(buffer.owner, AllocOp):
        return f"a temporary, {info_of(buffer)}"
    return f"{f'%{buffer.name_hint}' if buffer.name_hint else 'a result'}, {info_of(buffer)}"


def _place(op: Operation) -> str:
    """The user's line of an op, or of what is around it."""
    around: Operation | None = op
    while around is not None:
        loc = around.attributes.get("loc")
        if isinstance(loc, StringAttr):
            return loc.data
        around = around.parent_op()
    return "a line that is not known"
