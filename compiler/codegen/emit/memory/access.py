"""Loads and stores of whole registers: scalar, contiguous, reversed, gathered; with guards, under the tail's mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from xdsl.ir import SSAValue

from .....dialects.attributes import BufferInfo
from .....dialects.dims.analysis import linear_in, simplify
from .....dialects.dims.dims import Dim, dim, sym
from .....dialects.loop import LoadOp, PrefetchOp, StoreOp
from .....dialects.types import DTYPES, DType
from ...cpu.transpose import transposed
from ..text import EmitError, IrText, llvm_type, vector_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import (
    ComplexReg,
    VectorAxis,
    VectorValue,
    copies,
    dtype_of,
    info_of,
    positions,
    union,
    width_of,
)
from ..values.scalar import ScalarBodies
from .bounds_check import BoundsChecks
from .interleave import MOST_ELEMENTS, deinterleaved, interleaved
from .masked_access import MaskedRows, PendingStores, row_mask, stores_what_is_there
from .nontemporal import LINE, NontemporalStores, alignment_of
from .shuffle_load import load_with_shuffle

__all__ = ["Memory", "Places", "storage_type"]

BOOL, I64 = DTYPES["bool"], DTYPES["i64"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a register of an access lies: elements `stride` apart from `pointer` on (None: one element), or `offsets`
    of its lanes from there; the lanes that the guard's `mask` leaves out are not touched.  `align` is in bytes."""

    pointer: str
    stride: Dim | None
    offsets: str | None
    mask: str | None
    width: int
    align: int


def storage_type(dtype: DType) -> str:
    return "i8" if dtype.kind == "bool" else llvm_type(dtype)


class Places(Protocol):
    """How memory is touched, or not, where a condition holds that lanes have in common."""

    def store_where(self, condition: str | None, pointer: str, write: Callable[[str], None]) -> None:
        """Write to `pointer` where an i1 holds (None: always), else nowhere that anybody reads."""
        ...

    def or_zeros(self, condition: str, pointer: str) -> str:
        """`pointer` where an i1 holds, else one to zeros."""
        ...


class Memory:
    """Loads and stores of `text`.

    `buffer` gives the pointer to a buffer's elements, `alignment` the bytes that a row of elements of an LLVM type from
    ``base[offset]`` on is known to be aligned to; `checks` compares indices with sizes, where functions are checked.
    """

    def __init__(
        self, text: IrText, lanes: Lanes, index: IndexValues, scalars: ScalarBodies, *,
        buffer: Callable[[SSAValue], str], alignment: Callable[[str, str, Dim], int], places: Places,
        checks: BoundsChecks | None,
    ):  # fmt: skip
        self.text, self.lanes, self.index, self.scalars = text, lanes, index, scalars
        self.buffer, self.alignment, self.places, self.checks = buffer, alignment, places, checks
        self.nontemporal = NontemporalStores(text, index)
        self.rows = MaskedRows(text, lanes, self.nontemporal)

    def load(self, op: LoadOp) -> VectorValue:
        info, base, offset, guard = self._access(op, op.buffer)
        result, storage = dtype_of(op.result.type), storage_type(info.dtype)
        if guard is None and not result.is_complex and result is not BOOL:
            tile = self._tile_of(offset)
            if tile is not None:
                return self._load_tile(base, storage, offset, tile, result)
            short = self._load_short_rows(info, base, storage, offset, result)
            if short is not None:
                return short
            if self.lanes.mask is None and self.lanes.inside is None and self.index.split(offset) is None:
                spread = load_with_shuffle(self.index, base, storage, offset, result)
                if spread is not None:
                    return spread
        lanes, slots = self._slots_of(base, storage, offset, guard, ())
        if result.is_complex:
            pairs = [self._load_pair(slot, llvm_type(result.part)) for slot in slots]
            re, im = (VectorValue(lanes, [pair[i] for pair in pairs], result.part) for i in (0, 1))
            return ComplexReg(re, im)
        loaded = VectorValue(lanes, [self._load_slot(slot, storage) for slot in slots], result)
        if result is BOOL:
            return self.lanes.apply((loaded,), BOOL, lambda w, x: self.text.op("icmp ne", w, "i8", x, "0"))
        return loaded

    def prefetch(self, op: PrefetchOp) -> None:
        """Ask for the lines of what registers hold: of those that lie in a row one a line.

        Of a loop that runs in vectors what is left over is not asked for.
        """
        text = self.text
        info = info_of(op.buffer)
        base, storage = self.buffer(op.buffer), storage_type(info.dtype)
        lanes, slots = self._slots_of(base, storage, self.index.address(info, op.index.data), None, ())
        in_a_row = len(lanes) == 1 and slots[0].stride is not None
        if self.lanes.mask is not None and self.lanes.rest is None:
            return
        pointers = [slot.pointer for slot in slots]
        if in_a_row:
            pointers = pointers[:: max(1, LINE // (width_of(lanes) * info.dtype.bytes))]
        if op.where is None:
            self._prefetch_lines(op, pointers)
            return
        asking, after = text.label("ask"), text.label("asked")
        text.branch_if(self.index.is_positive(op.where.data), asking, after)
        text.start(asking)
        self._prefetch_lines(op, pointers)
        text.branch(after)
        text.start(after)

    def _prefetch_lines(self, op: PrefetchOp, pointers: Sequence[str]) -> None:
        for pointer in pointers:
            self.ask_for(pointer, writes=op.writes is not None, cache=op.cache.value.data)

    def ask_for(self, pointer: str, *, writes: bool = False, cache: int = 1) -> None:
        """Have the line at an address ready in a cache, to read or to write."""
        self.text.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        self.text.put(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(writes)}, i32 {4 - cache}, i32 1)")

    def _slots_of(
        self, base: str, storage: str, offset: Dim, guard: VectorValue | None, value: tuple[VectorAxis, ...]
    ) -> tuple[tuple[VectorAxis, ...], list[Slot]]:
        """The lane dims of an access (to store, also those of the `value`), and where each of its registers lies."""
        parts = self.index.split(offset)
        offsets = None if parts is not None else self.index.varying(offset)
        along = parts[0] if parts is not None else offsets.lanes if offsets is not None else ()
        if self.lanes.inside is not None and self.lanes.inside.lanes[0] in along:
            guard = self.scalars.both(guard, self.lanes.inside)
        lanes = union((along, value) if guard is None else (along, value, guard.lanes))
        vector = next((lane for lane in along if lane.width > 1), None)
        width = width_of(lanes)
        masks, from_offsets = self.lanes.guarded(guard, lanes), positions(along, lanes)
        element = alignment_of(storage)
        slots: list[Slot] = []
        for i, copy in enumerate(copies(lanes)):
            if parts is None:
                assert offsets is not None
                at = offsets.regs[from_offsets[i]]
                if vector is not None:
                    slots.append(Slot(base, None, at, masks[i], width, element))
                    continue
                pointer = self.text.ins(f"getelementptr {storage}, ptr {base}, i64 {at}")
                self.index.computed_pointers.add(pointer)
                slots.append(Slot(pointer, None, None, masks[i], width, element))
                continue
            where = self.index.shifted(offset, along, tuple(c for lane, c in zip(lanes, copy) if lane in along))
            stride = parts[1][vector.symbol] if vector is not None else None
            if stride is not None and stride.const == -1:
                where = where - (width - 1)
            align = self.alignment(base, storage, where)
            slots.append(Slot(self.index.pointer(base, storage, where), stride, None, masks[i], width, align))
        return lanes, slots

    def _tile_of(self, offset: Dim) -> VectorAxis | None:
        """The lane dim along which memory is contiguous where it is not along the vectors: a tile to transpose.

        It has as many copies as vectors have lanes, a power of two, one after another; a mask of lanes is that of a
        loop's end.
        """
        parts, vector = self.index.split(offset), self.lanes.vector
        if parts is None or vector not in parts[0] or self.lanes.inside is not None:
            return None
        if self.lanes.mask is not None and self.lanes.left is None:
            return None
        assert vector is not None
        if parts[1][vector.symbol].const in (1, -1) or vector.width & (vector.width - 1):
            return None
        for lane in parts[0]:
            if lane is not vector and lane.copies == vector.width and not lane.starts and lane.stride == 1:
                along = linear_in(offset, [lane.symbol])
                if along is not None and along[0].get(lane.symbol, dim(0)).const == 1:
                    return lane
        return None

    def _load_tile(self, base: str, storage: str, offset: Dim, rows: VectorAxis, result: DType) -> VectorValue:
        """Square tiles: a row for each lane of a vector, along the copies of `rows`; of them, their columns.

        The first row stands for those that are not there: lanes that nobody stores.
        """
        vector, width = self.lanes.vector, rows.copies
        assert vector is not None
        lanes = tuple(lane for lane in self.lanes.axes if lane in self.index.split(offset)[0])  # type: ignore[index]
        registers = _Registers(self.text, storage, width)
        found: dict[tuple[int, ...], str] = {}
        at = lanes.index(rows)
        for copy in copies(lanes):
            if copy[at]:
                continue

            def place(row: int, copy: tuple[int, ...] = copy) -> Dim:
                below = offset.substitute({vector.symbol: sym(vector.symbol.name) + row})
                return self.index.shifted(below, lanes, copy)

            there = self._rows_there(base, storage, [place(row) for row in range(width)])

            def load(
                row: int, start: int, count: int, place: Callable[[int], Dim] = place, there: list[str] = there
            ) -> str:
                if there:
                    pointer = self.index.pointer(there[row], storage, dim(start))
                else:
                    pointer = self.index.pointer(base, storage, place(row) + start)
                return registers.load(pointer, count)

            for number, column in enumerate(transposed(width, registers.bits, load, registers.shuffle)):
                found[(*copy[:at], number, *copy[at + 1 :])] = column
        return VectorValue(lanes, [found[copy] for copy in copies(lanes)], result)

    def _rows_there(self, base: str, storage: str, rows: Sequence[Dim]) -> list[str]:
        """Under a mask, where the rows of a tile begin: the first for each that a loop's end leaves out."""
        if self.lanes.left is None:
            return []
        first = self.index.pointer(base, storage, rows[0])
        found = [first]
        for number, row in enumerate(rows[1:], 1):
            inside = self.text.ins(f"icmp sgt i64 {self.lanes.left}, {number}")
            found.append(
                self.text.ins(f"select i1 {inside}, ptr {self.index.pointer(base, storage, row)}, ptr {first}")
            )
        self.index.computed_pointers.update(found[1:])
        return found

    def _load_short_rows(
        self, info: BufferInfo, base: str, storage: str, offset: Dim, result: DType
    ) -> VectorValue | None:
        """One element of each of some short rows, from all of these rows; None where there are none in memory."""
        length = self._length_of_rows(offset)
        if not length or not _is_rows_of(info, length):
            return None
        lanes, _ = self.index.split(offset)  # type: ignore[misc]
        registers, found = _Registers(self.text, storage, width_of(lanes)), list[str]()
        for copy in copies(lanes):
            where = self.index.known(self.index.shifted(offset, lanes, copy))
            if any(coefficient % length for mono, coefficient in where.terms if mono):
                return None
            element = dict(where.terms).get((), 0) % length
            first = where - element

            def load(start: int, count: int, first: Dim = first) -> str:
                return registers.load(self.index.pointer(base, storage, first + start), count)

            found.append(deinterleaved(registers.width, length, registers.bits, element, load, registers.shuffle))
        return VectorValue(lanes, found, result)

    def _length_of_rows(self, offset: Dim) -> int:
        """How far elements of adjacent lanes are apart where they are those of short rows and all are there, else 0."""
        parts, vector = self.index.split(offset), self.lanes.vector
        if parts is None or vector not in parts[0] or self.lanes.mask is not None or self.lanes.inside is not None:
            return 0
        assert vector is not None
        length = parts[1][vector.symbol].const or 0
        return length if 1 < length <= MOST_ELEMENTS and vector.width & (vector.width - 1) == 0 else 0

    def _load_slot(self, slot: Slot, storage: str) -> str:
        """One register from memory."""
        if slot.offsets is None:
            return self._load_one(slot, storage)
        pointer, offsets, mask, width = slot.pointer, slot.offsets, slot.mask, slot.width
        if mask is not None and not self.lanes.is_vector_mask(mask):
            pointer = self.places.or_zeros(mask, pointer)
            offsets = self.text.ins(f"select i1 {mask}, <{width} x i64> {offsets}, <{width} x i64> zeroinitializer")
            mask = None
        return self._gather(pointer, storage, offsets, self.lanes.both(mask, width), width)

    def _load_one(self, slot: Slot, storage: str) -> str:
        """One register of elements that are a stride apart (None: one element in all lanes)."""
        text = self.text
        pointer, stride, mask, width = slot.pointer, slot.stride, slot.mask, slot.width
        align = alignment_of(storage)
        ty = vector_type(width, storage)
        if stride is None:
            if mask is None:
                return text.ins(f"load {storage}, ptr {pointer}, align {slot.align}")
            wide = width > 1
            some = (
                text.intrinsic("vector.reduce.or", f"<{width} x i1>", "i1", [(f"<{width} x i1>", mask)])
                if wide
                else mask
            )
            value = text.ins(f"load {storage}, ptr {self.places.or_zeros(some, pointer)}, align {align}")
            if not wide:
                return value
            spread = self.lanes.splat(value, storage, width)
            return text.ins(f"select <{width} x i1> {mask}, {ty} {spread}, {ty} zeroinitializer")
        if stride.const in (1, -1):
            if mask is not None and not self.lanes.is_vector_mask(mask):
                pointer, mask = self.places.or_zeros(mask, pointer), None
            backwards, mask = stride.const == -1, self.lanes.both(mask, width)
            value = self.rows.load(ty, pointer, mask, backwards, slot.align)
            return self._reversed(value, storage, width) if backwards else value
        both = self.lanes.both(mask, width)
        if both is None:
            value = "poison"
            for k in range(width):
                at = self.index.pointer(pointer, storage, stride * k)
                element = text.ins(f"load {storage}, ptr {at}, align {align}")
                value = text.ins(f"insertelement {ty} {value}, {storage} {element}, i64 {k}")
            return value
        return self._gather(pointer, storage, self._steps(stride, width), both, width)

    def _gather(self, base: str, storage: str, offsets: str, mask: str | None, width: int) -> str:
        text = self.text
        ty, align = vector_type(width, storage), alignment_of(storage)
        if mask is None and text.target.has_fast_gathers and align >= 4:
            mask = "splat (i1 true)"
        if mask is None:
            value = "poison"
            for k in range(width):
                offset = text.ins(f"extractelement <{width} x i64> {offsets}, i64 {k}")
                at = text.ins(f"getelementptr {storage}, ptr {base}, i64 {offset}")
                element = text.ins(f"load {storage}, ptr {at}, align {align}")
                value = text.ins(f"insertelement {ty} {value}, {storage} {element}, i64 {k}")
            return value
        pointers = text.ins(f"getelementptr {storage}, ptr {base}, <{width} x i64> {offsets}")
        arguments = [
            (f"<{width} x ptr>", f"align {align} {pointers}"),
            (f"<{width} x i1>", mask),
            (ty, "zeroinitializer"),
        ]
        return self.text.masked("gather", ty, ty, arguments)

    def store(self, op: StoreOp, value: VectorValue) -> None:
        info, base, offset, guard = self._access(op, op.buffer)
        storage = storage_type(info.dtype)
        if value.dtype is BOOL:
            value = self.lanes.apply((value,), DTYPES["u8"], lambda w, x: self.text.to("zext", w, x, "i1", "i8"))
        if guard is None and op.nontemporal is None and self._store_short_rows(base, storage, offset, value):
            return
        lanes, slots = self._slots_of(base, storage, offset, guard, value.lanes)
        if any(slot.width > 1 and slot.stride is None and slot.offsets is None for slot in slots):
            raise EmitError(f"a store to one element from all lanes of {self.lanes.vector}: {op}")
        align = min((slot.align for slot in slots), default=1)
        beside = next((lane.copies for lane in lanes if lane.width > 1), 1)
        width = width_of(lanes)
        rows = PendingStores(self.nontemporal.alignment_mask(op, info, width * info.dtype.bytes), align, beside, width)
        if isinstance(value, ComplexReg):
            scalar = llvm_type(value.dtype.part)
            for slot, re, im in zip(slots, self.lanes.spread(value.re, lanes), self.lanes.spread(value.im, lanes)):
                self._store_pair(slot, scalar, re, im, rows)
        else:
            opaque = stores_what_is_there(op) and not self.text.target.has_fast_masked_stores
            for slot, reg in zip(slots, self.lanes.spread(value, lanes)):
                if opaque and slot.width > 1:
                    reg = self.text.ins(f"freeze {vector_type(slot.width, storage)} {reg}")
                self._store_slot(slot, storage, reg, rows)
        self.rows.store(rows)

    def _store_short_rows(self, base: str, storage: str, offset: Dim, value: VectorValue) -> bool:
        """Whether registers have all elements of some short rows, which then are stored as whole vectors."""
        length = 0 if value.dtype.is_complex else self._length_of_rows(offset)
        along, _ = self.index.split(offset) or ((), {})
        if not length or any(lane not in along for lane in value.lanes):
            return False
        rest: dict[Dim, dict[int, str]] = {}
        for copy, register in zip(copies(along), self.lanes.spread(value, along)):
            where = self.index.known(self.index.shifted(offset, along, copy))
            place = dict(where.terms).get((), 0)
            if rest.setdefault(where - place, {}).setdefault(place, register) is not register:
                return False
        rows: list[tuple[Dim, list[str]]] = []
        for start, elements in rest.items():
            while elements:
                first = min(elements)
                if any(first + k not in elements for k in range(length)):
                    return False
                rows.append((start + first, [elements.pop(first + k) for k in range(length)]))
        width = width_of(along)
        registers = _Registers(self.text, storage, width)
        for where, elements in rows:
            for number, row in enumerate(interleaved(width, registers.bits, elements, registers.shuffle)):
                pointer = self.index.pointer(base, storage, where + number * width)
                self.text.put(
                    f"store {vector_type(width, storage)} {row}, ptr {pointer}, align {alignment_of(storage)}"
                )
        return True

    def _store_slot(self, slot: Slot, storage: str, reg: str, rows: PendingStores) -> None:
        """One register to memory, or to `rows`."""
        pointer, stride, mask, width = slot.pointer, slot.stride, slot.mask, slot.width
        align, ty = alignment_of(storage), vector_type(width, storage)
        if slot.offsets is not None:
            self._scatter(pointer, storage, slot.offsets, reg, self.lanes.both(mask, width), width)
        elif stride is None:
            self.places.store_where(
                mask, pointer, lambda at: self.text.put(f"store {storage} {reg}, ptr {at}, align {align}")
            )
        elif stride.const in (1, -1):
            if stride.const == -1:
                reg = self._reversed(reg, storage, width)
            self._put_row(rows, slot, ty, reg, stride.const == -1)
        elif (both := self.lanes.both(mask, width)) is not None:
            self._scatter(pointer, storage, self._steps(stride, width), reg, both, width)
        else:
            for k in range(width):
                element = self.text.ins(f"extractelement {ty} {reg}, i64 {k}")
                self.text.put(
                    f"store {storage} {element}, ptr {self.index.pointer(pointer, storage, stride * k)}, align {align}"
                )

    # Complex elements: in memory the parts of each lie side by side, in registers apart.

    def _load_pair(self, slot: Slot, scalar: str) -> tuple[str, str]:
        """One register of real and one of imaginary parts."""
        if slot.stride is None or slot.stride.const not in (1, -1):
            re, im = self._halves(slot, scalar)
            return self._load_slot(re, scalar), self._load_slot(im, scalar)
        pointer, mask, width = slot.pointer, slot.mask, slot.width
        if mask is not None and not self.lanes.is_vector_mask(mask):
            pointer, mask = self.places.or_zeros(mask, pointer), None
        backwards, ty = slot.stride.const == -1, vector_type(2 * width, scalar)
        row = self.rows.load(ty, pointer, self.lanes.both(mask, width), backwards, slot.align, 2)
        numbers = range(width)[::-1] if backwards else range(width)
        re, im = (self.text.shuffle(ty, row, "poison", [2 * k + part for k in numbers]) for part in (0, 1))
        return re, im

    def _store_pair(self, slot: Slot, scalar: str, re: str, im: str, rows: PendingStores) -> None:
        if slot.stride is None or slot.stride.const not in (1, -1):
            for half, reg in zip(self._halves(slot, scalar), (re, im)):
                self._store_slot(half, scalar, reg, rows)
            return
        width = slot.width
        backwards, ty = slot.stride.const == -1, vector_type(width, scalar)
        numbers = range(width)[::-1] if backwards else range(width)
        row = self.text.shuffle(ty, re, im, [k + part * width for k in numbers for part in (0, 1)])
        self._put_row(rows, slot, vector_type(2 * width, scalar), row, backwards, 2)

    def _put_row(self, rows: PendingStores, slot: Slot, ty: str, value: str, backwards: bool, each: int = 1) -> None:
        """Adjacent elements: rows wait in `rows`, but for one that is there or not as a whole."""

        def wait(rows: PendingStores, pointer: str, guard: str | None) -> PendingStores:
            mask, rows.backwards = self.lanes.both(guard, slot.width), backwards
            if mask is not None:
                mask = row_mask(self.text, mask, slot.width, backwards, each)
            return rows.add(ty, value, pointer, mask, cut=guard is None)

        if slot.mask is not None and not self.lanes.is_vector_mask(slot.mask):
            self.places.store_where(slot.mask, slot.pointer, lambda at: self.rows.store(wait(rows.alone(), at, None)))
        else:
            wait(rows, slot.pointer, slot.mask)

    def _halves(self, slot: Slot, scalar: str) -> tuple[Slot, Slot]:
        """Where the real and the imaginary parts lie, as elements of the real type."""
        offsets, stride = slot.offsets, slot.stride
        if offsets is not None:
            offsets = self.text.op("shl", slot.width, "i64", offsets, "1")
        re = replace(slot, offsets=offsets, stride=None if stride is None else stride * 2)
        return re, replace(re, pointer=self.index.pointer(slot.pointer, scalar, dim(1)))

    def _scatter(self, base: str, storage: str, offsets: str, value: str, mask: str | None, width: int) -> None:
        ty, align = vector_type(width, storage), alignment_of(storage)
        if mask is None:
            for k in range(width):
                offset = self.text.ins(f"extractelement <{width} x i64> {offsets}, i64 {k}")
                at = self.text.ins(f"getelementptr {storage}, ptr {base}, i64 {offset}")
                element = self.text.ins(f"extractelement {ty} {value}, i64 {k}")
                self.text.put(f"store {storage} {element}, ptr {at}, align {align}")
            return
        pointers = self.text.ins(f"getelementptr {storage}, ptr {base}, <{width} x i64> {offsets}")
        self.text.masked("scatter", ty, "void", [(ty, value), (f"<{width} x ptr>", f"align {align} {pointers}"),
                    (f"<{width} x i1>", mask)])  # fmt: skip

    # What an access is made of

    def _access(self, op: LoadOp | StoreOp, buffer: SSAValue) -> tuple[BufferInfo, str, Dim, VectorValue | None]:
        info = info_of(buffer)
        base = self.buffer(buffer)
        offset = self.index.address(info, op.index.data)
        guard: VectorValue | None = None
        for expr in op.guard_exprs:
            expr = simplify(expr, self.index.bounds)
            if not expr.nonneg:
                guard = self.scalars.both(guard, self._nonnegative(expr))
        if self.checks is not None:
            self.checks.element(op, buffer, op.index.data, guard)
        return info, base, offset, guard

    def _nonnegative(self, expr: Dim) -> VectorValue:
        """Whether an expression is at least zero, over the lanes it varies along."""
        parts = self.index.split(expr)
        if parts is None:
            return self.lanes.apply(
                (self.index.varying(expr),), BOOL, lambda w, x: self.text.op("icmp sge", w, "i64", x, "0")
            )
        lanes, coefficients = parts
        vector = next((lane for lane in lanes if lane.width > 1), None)
        step = coefficients[vector.symbol].const if vector is not None else None
        if vector is None:
            regs = []
            for copy in copies(lanes):
                value = self.index.value(self.index.shifted(expr, lanes, copy))
                regs.append(self.text.ins(f"icmp sge i64 {value}, 0"))
            return VectorValue(lanes, regs, BOOL)
        if step not in (1, -1):
            return self.lanes.apply(
                (self.index.varying(expr),), BOOL, lambda w, x: self.text.op("icmp sge", w, "i64", x, "0")
            )
        regs = []
        for copy in copies(lanes):
            first = self.index.value(self.index.shifted(expr, lanes, copy))
            if step == 1:  # lane >= -first
                regs.append(self.lanes.below(self.text.sub("0", first), vector.width, "uge"))
            else:  # lane < first + 1
                regs.append(self.lanes.below(self.text.add(first, "1"), vector.width, "ult"))
        return VectorValue(lanes, regs, BOOL)

    def _steps(self, stride: Dim, width: int) -> str:
        """The offsets ``0, stride, 2*stride, …`` as a vector."""
        if stride.const is not None:
            return "<" + ", ".join(f"i64 {stride.const * k}" for k in range(width)) + ">"
        numbers = "<" + ", ".join(f"i64 {k}" for k in range(width)) + ">"
        return self.text.ins(
            f"mul <{width} x i64> {self.lanes.splat(self.index.value(stride), 'i64', width)}, {numbers}"
        )

    def _reversed(self, value: str, scalar: str, width: int) -> str:
        return self.text.shuffle(vector_type(width, scalar), value, "poison", range(width)[::-1])


class _Registers:
    """Vectors of elements of an LLVM type, that shuffles make of one another: of `width`, or of other lengths."""

    def __init__(self, text: IrText, storage: str, width: int):
        self.text, self.storage, self.width = text, storage, width
        self.bits = {"float": 32, "double": 64}.get(storage) or int(storage[1:])
        self.lengths: dict[str, int] = {}

    def load(self, pointer: str, count: int) -> str:
        ty, align = vector_type(count, self.storage), alignment_of(self.storage)
        made = self.text.ins(f"load {ty}, ptr {pointer}, align {align}")
        self.lengths[made] = count
        return made

    def shuffle(self, a: str, b: str, numbers: Sequence[int]) -> str:
        made = self.text.shuffle(f"<{self.lengths.get(a, self.width)} x {self.storage}>", a, b, numbers)
        self.lengths[made] = len(numbers)
        return made


def _is_rows_of(info: BufferInfo, length: int) -> bool:
    """Whether memory is whole rows of so many elements, so that where one is the others of its row are."""
    whole, dims = 1, list(zip(info.dims, info.strides))
    while dims and dims[-1][1].const == whole and (size := dims[-1][0].const) is not None:
        whole *= size
        dims.pop()
    return whole % length == 0 and all(c % length == 0 for _, stride in dims for _, c in stride.terms)
