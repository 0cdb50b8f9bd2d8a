"""The lanes that the current place of a function runs in, and registers over them: splat, repeated, selected, masked.

Of a loop that runs in vectors the last one may be partial: then a mask says which lanes are inside of the loop's range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from .....dialects.types import DType
from ..text import IrText, lit, llvm_type, vector_type
from .registers import VectorAxis, VectorValue, count_of, positions, union, width_of

__all__ = ["Lanes"]


class Lanes:
    """Registers over lane dims, at the current place of `text`."""

    def __init__(self, text: IrText):
        self.text = text
        #: The lane dims of the loops around, outermost first.
        self.axes: tuple[VectorAxis, ...] = ()
        #: The lanes of the vector dim that are inside the loop's range, where not all are.
        self.mask: str | None = None
        #: In a loop under a mask some of whose vectors are whole: the elements left from the vector's first on.
        self.rest: str | None = None
        #: In a loop under a mask that its end alone makes: the elements left, one at least.
        self.left: str | None = None
        #: Whether that loop mostly ends before a vector is full.
        self.is_short = False
        #: In a step of a reduction, over its lanes: whether an element is there, where not all are.
        self.inside: VectorValue | None = None
        self._vector_masks: set[str] = set()

    @property
    def vector(self) -> VectorAxis | None:
        """The lane dim that is vectors, if one is."""
        return next((axis for axis in self.axes if axis.width > 1), None)

    @contextmanager
    def along(self, axis: VectorAxis | None) -> Iterator[None]:
        """In the lane dims around and one more, if there is one more."""
        around = self.axes
        if axis is not None:
            self.axes = (*around, axis)
        yield
        self.axes = around

    def splat(self, value: str, scalar: str, width: int) -> str:
        """A vector with `value` (a constant's text or a register) in every lane."""
        if width == 1:
            return value
        if value[0] != "%":
            return f"splat ({scalar} {value})"
        for frame in self.text.frames:
            found = frame.get((value, width))
            if found is not None:
                return found
        ty = vector_type(width, scalar)
        one = self.text.ins(f"insertelement {ty} poison, {scalar} {value}, i64 0")
        found = self.text.ins(f"shufflevector {ty} {one}, {ty} poison, <{width} x i32> zeroinitializer")
        self.text.frames[-1][value, width] = found
        return found

    def spread(self, value: VectorValue, axes: tuple[VectorAxis, ...]) -> Sequence[str]:
        """The registers of `value`, splat and repeated, one for each register over `axes`."""
        if value.lanes is axes:
            return value.regs
        regs = value.regs
        width = width_of(axes)
        if width > value.width:
            scalar = llvm_type(value.dtype)
            regs = [self.splat(r, scalar, width) for r in regs]
        if len(regs) == 1 and not value.lanes:
            return [regs[0]] * count_of(axes)
        return regs if value.lanes == axes else [regs[i] for i in positions(value.lanes, axes)]

    def spread_all(self, values: Iterable[VectorValue], axes: tuple[VectorAxis, ...]) -> list[VectorValue]:
        """Values over `axes`, along which some of theirs may be missing."""
        return [VectorValue(axes, self.spread(v, axes), v.dtype) for v in values]

    def apply(self, operands: Sequence[VectorValue], dtype: DType, one: Callable[..., str]) -> VectorValue:
        """``one(width, *registers)`` for each register over the lane dims of any operand, once where they are equal."""
        axes: tuple[VectorAxis, ...] = ()
        for o in operands:
            if o.lanes and o.lanes is not axes:
                axes = union((axes, o.lanes)) if axes else o.lanes
        width = width_of(axes)
        columns = [self.spread(o, axes) for o in operands]
        made: dict[tuple[str, ...], str] = {}
        for row in zip(*columns):
            if row not in made:
                made[row] = one(width, *row)
        return VectorValue(axes, [made[row] for row in zip(*columns)], dtype)

    def any_lane(self, condition: VectorValue) -> str:
        """An i1: whether the condition holds in any lane of any copy."""
        mask = condition.type
        total = condition.regs[0]
        for other in condition.regs[1:]:
            total = self.text.ins(f"or {mask} {total}, {other}")
        if condition.width == 1:
            return total
        return self.text.intrinsic("vector.reduce.or", mask, "i1", [(mask, total)])

    def select(self, condition: VectorValue, a: VectorValue, b: VectorValue) -> VectorValue:
        """`a` where a condition holds and `b` elsewhere, lane by lane."""
        scalar = llvm_type(a.dtype)

        def one(width: int, c: str, x: str, y: str) -> str:
            # A reduction's first totals are constants.
            return self.text.choose(width, c, scalar, x, y)

        if condition.uniform and (a.lanes or b.lanes):
            # A scalar condition selects whole registers.
            axes = union((a.lanes, b.lanes))
            width = width_of(axes)
            ty = vector_type(width, scalar)
            spread = (self.spread(a, axes), self.spread(b, axes))
            pairs = zip(*([lit(r, width, scalar) for r in regs] for regs in spread))
            regs = [self.text.ins(f"select i1 {condition.regs[0]}, {ty} {x}, {ty} {y}") for x, y in pairs]
            return VectorValue(axes, regs, a.dtype)
        return self.apply((condition, a, b), a.dtype, one)

    # Masks

    def inside_of(self, width: int) -> str | None:
        """A mask of the lanes of a vector that are inside the range of the loop around; None where all are."""
        return self.mask if width > 1 else None

    def below(self, limit: str, width: int, predicate: str = "ult") -> str:
        """A mask of the lanes whose number is below (`ult`) or from (`uge`) an i64 limit of either sign."""
        low = self.text.call("smax", 1, "i64", limit, "0")
        clamped = self.text.call("smin", 1, "i64", low, str(width))
        bits = 8 if width > 32 else 16 if width > 8 else 32
        short = self.text.ins(f"trunc i64 {clamped} to i{bits}")
        numbers = "<" + ", ".join(f"i{bits} {k}" for k in range(width)) + ">"
        return self.text.ins(f"icmp {predicate} <{width} x i{bits}> {numbers}, {self.splat(short, f'i{bits}', width)}")

    def guarded(self, guard: VectorValue | None, axes: tuple[VectorAxis, ...]) -> Sequence[str | None]:
        """The guard of each register over `axes`: a mask, or an i1 for all lanes; None where there is none."""
        if guard is None:
            return [None] * count_of(axes)
        if guard.width > 1:
            self._vector_masks.update(guard.regs)
        return [guard.regs[i] for i in positions(guard.lanes, axes)]

    def touched(self, guard: VectorValue | None, axes: tuple[VectorAxis, ...]) -> list[str | None]:
        """Which elements of each register over `axes` an access under a guard touches: a mask, None for all."""
        return [self.both(mask, width_of(axes)) for mask in self.guarded(guard, axes)]

    def is_vector_mask(self, mask: str) -> bool:
        return mask in self._vector_masks

    def both(self, mask: str | None, width: int) -> str | None:
        """The guard's mask (a vector, or an i1 for all lanes) and the tail's."""
        if mask is None or width == 1:
            return self.mask if width > 1 else mask
        wide = mask if self.is_vector_mask(mask) else self.splat(mask, "i1", width)
        return wide if self.mask is None else self.text.ins(f"and <{width} x i1> {wide}, {self.mask}")
