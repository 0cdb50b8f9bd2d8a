"""Matrix instructions of a warp: `mma.sync`, `ldmatrix`, `stmatrix` ("Warp Level Matrix Instructions").

Fragments lie as in "Matrix Fragments for mma…": with g = lane / 4 and t = lane % 4, register i of A holds row
g + 8·(i % 2), of B column g, and in both the elements of the k-axis from 4·E·(i / 2) (of B: 4·E·i) + E·t on, where E is
how many elements a register has.

The manual leaves the order of a unit's sums open.  Here integers are exact, f64 is a chain of fused multiply-adds from
the accumulator on, k ascending, and other floats are summed in f64 and rounded once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...fma import fma
from ..execution.divergence import Path, bits_of
from ..execution.special_registers import WARP
from ..memory.byte_memory import Fault
from ..ptx.types import TYPES, Array, Type
from . import floating
from .decode import Decoding, Run, instruction
from .memory_ops import effective, taken_space
from .warp_ops import lanes_of, spread

_SECTION = "Warp Level Matrix Instructions"
LANE = np.arange(WARP)
GROUP, MEMBER = LANE // 4, LANE % 4
#: What multiplies what: the k extents of each type of A and B, by m; n is 8.
SHAPES: dict[str, dict[int, tuple[int, ...]]] = {
    "f16": {16: (8, 16)}, "bf16": {16: (8, 16)}, "tf32": {16: (4, 8)}, "f64": {8: (4,), 16: (4, 8, 16)},
    "s8": {8: (16,), 16: (16, 32)}, "u8": {8: (16,), 16: (16, 32)},
}  # fmt: skip
_RESULTS = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",), "s8": ("s32",), "u8": ("s32",)}


def whole_warps(p: Path) -> int:
    """How many warps a path is made of, all of whose threads take part."""
    n = len(p)
    if n % WARP or p.threads[0] % WARP or len(np.unique(p.threads // WARP)) * WARP != n:
        raise Fault("a matrix instruction is for all 32 threads of a warp")
    return n // WARP


def gather_warp(d: Decoding) -> None:
    """Wait for all threads of the warp."""
    d.gathers = d.pool.constant(0xFFFFFFFF, 32)


def elements(values: Array, p: Path, type_: Type) -> Array:
    """What each lane's register holds: (warps, 32, elements)."""
    bits = bits_of(spread(values, p))
    element = np.ascontiguousarray(bits).view(type_.dtype)
    return element.reshape(len(p) // WARP, WARP, -1)


def fragment_a(values: Sequence[Array], p: Path, type_: Type, m: int, k: int) -> Array:
    """A as (warps, m, k)."""
    found = np.zeros((len(p) // WARP, m, k), type_.dtype)
    for i, value in enumerate(values):
        part = elements(value, p, type_)
        size = part.shape[2]
        rows = GROUP + 8 * (i % 2 if m == 16 else 0)
        columns = 4 * size * (i // 2 if m == 16 else i) + size * MEMBER
        found[:, rows[:, None], columns[:, None] + np.arange(size)] = part
    return found


def fragment_b(values: Sequence[Array], p: Path, type_: Type, k: int) -> Array:
    """B as (warps, k, 8)."""
    found = np.zeros((len(p) // WARP, k, 8), type_.dtype)
    for i, value in enumerate(values):
        part = elements(value, p, type_)
        size = part.shape[2]
        found[:, 4 * size * i + size * MEMBER[:, None] + np.arange(size), GROUP[:, None]] = part
    return found


def accumulator(values: Sequence[Array], p: Path, type_: Type, m: int, n: int = 8) -> Array:
    """C as (warps, m, n): pairs of a row's elements, row g and then g + 8, eight columns after eight."""
    found = np.zeros((len(p) // WARP, m, n), type_.dtype)
    parts = [elements(v, p, type_) for v in values]
    flat = np.concatenate(parts, axis=2)
    for i in range(flat.shape[2]):
        row, column = _accumulator_place(i, m)
        found[:, row, column] = flat[:, :, i]
    return found


def from_accumulator(matrix: Array, count: int, per: int, m: int) -> list[Array]:
    """The registers, as bits, that hold C; `per` elements each."""
    found = []
    for i in range(count):
        columns = []
        for e in range(per):
            row, column = _accumulator_place(i * per + e, m)
            columns.append(matrix[:, row, column])
        held = np.ascontiguousarray(np.stack(columns, axis=2)).reshape(-1)
        found.append(held.view(f"u{held.itemsize * per}"))
    return found


def _accumulator_place(i: int, m: int) -> tuple[Array, Array]:
    if m == 8:
        return GROUP, 2 * MEMBER + i
    return GROUP + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * MEMBER + i % 2


def product(a: Array, b: Array, c: Array, source: Type, result: Type, saturate: bool = False) -> Array:
    """``A·B + C`` of a batch of matrices."""
    if source.name == "f64":
        total = c
        for k in range(a.shape[2]):
            total = fma(a[:, :, k, None], b[:, k, None, :], total)
        return total
    if source.kind in ("s", "u"):
        total = c.astype(np.int64)
        for k in range(a.shape[2]):
            total = total + a[:, :, k, None].astype(np.int64) * b[:, k, None, :]
        return (np.clip(total, -(2**31), 2**31 - 1) if saturate else total).astype(np.int32)
    wide = [_values(x, source) for x in (a, b)]
    total = c.astype(np.float64)
    for k in range(a.shape[2]):
        total = total + wide[0][:, :, k, None] * wide[1][:, k, None, :]
    return total.astype(result.dtype)


def _values(bits: Array, type_: Type) -> Array:
    if type_.name == "tf32":
        # The unit does not look at the lowest 13 bits.
        return (bits & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return floating.decode_float(bits, type_).astype(np.float64)


@instruction(
    "mma", types="f16 bf16 tf32 f64 s8 u8 f32 s32",
    forms="sync aligned m8n8k4 m8n8k16 m16n8k4 m16n8k8 m16n8k16 m16n8k32 row col satfinite", section=f"{_SECTION}: mma",
)  # fmt: skip
def multiply_matrices(d: Decoding) -> Run:
    """``mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype``."""
    d.choice("sync")
    d.choice("aligned")
    saturate = d.flag("satfinite")
    added, second, first, result = (d.type() for _ in range(4))
    shape = d.modifiers.pop(0)
    d.choice("row")
    d.choice("col")
    d.done()
    m, n, k = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape).groups())  # type: ignore[union-attr]
    known = k in SHAPES.get(first.name, {}).get(m, ()) and n == 8 and result.name in _RESULTS[first.name]
    if not known or first.kind == "f" != second.kind or added != result or (first.bits, n) != (second.bits, 8):
        d.fail("a matrix product that is not known")
    gather_warp(d)
    lists = [d.items(o) for o in d.operands]
    word = TYPES["b64" if first.bits == 64 else "b32"]
    per = 2 if result.bits == 16 else 1
    counts = (m * n // WARP // per, m * k * first.bits // WARP // word.bits, n * k * first.bits // WARP // word.bits)
    if [len(x) for x in lists] != [counts[0], counts[1], counts[2], counts[0]]:
        d.fail(f"{counts[0]}, {counts[1]}, {counts[2]} and {counts[0]} registers are needed")
    into = [d.target(o) for o in lists[0]]
    at = [[d.source(o, word) for o in x] for x in lists[1:]]

    def run(r: list[Array], p: Path) -> None:
        whole_warps(p)
        a = fragment_a([r[i] for i in at[0]], p, first, m, k)
        b = fragment_b([r[i] for i in at[1]], p, second, k)
        c = accumulator([r[i] for i in at[2]], p, result, m)
        found = product(a, b, c, first, result, saturate)
        for target, value in zip(into, from_accumulator(found, counts[0], per, m), strict=True):
            if target is not None:
                r[target.number] = value

    return run


@instruction("ldmatrix", types="b16", forms="sync aligned m8n8 x1 x2 x4 trans shared", section=f"{_SECTION}: ldmatrix")
def load_matrices(d: Decoding) -> Run:
    """Lane 8·i + j says where row j of matrix i begins."""
    count, transposed, space = _matrix_form(d)
    gather_warp(d)
    into = [d.target(o) for o in d.items(d.operands[0])]
    base, offset, named = d.address(d.operands[1])
    if len(into) != count:
        d.fail(f"{count} registers are needed")

    def run(r: list[Array], p: Path) -> None:
        warps = whole_warps(p)
        lanes = np.flatnonzero(lanes_of(p) < 8 * count)
        addresses = spread(effective(r, base, offset), p)[lanes]
        low, high = p.batch.load(p.part(lanes, ()), space or named, addresses, 8, 2)
        tile = np.stack([low, high], axis=1).view(np.uint16).reshape(warps, count, 8, 8)
        rows, columns = GROUP[:, None], 2 * MEMBER[:, None] + np.arange(2)
        for i, target in enumerate(into):
            held = tile[:, i, columns, rows] if transposed else tile[:, i, rows, columns]
            if target is not None:
                r[target.number] = np.ascontiguousarray(held).view(np.uint32).reshape(-1)

    return run


@instruction("stmatrix", types="b16", forms="sync aligned m8n8 x1 x2 x4 trans shared", section=f"{_SECTION}: stmatrix")
def store_matrices(d: Decoding) -> Run:
    count, transposed, space = _matrix_form(d)
    gather_warp(d)
    base, offset, named = d.address(d.operands[0])
    at = [d.source(o, TYPES["b32"]) for o in d.items(d.operands[1])]
    if len(at) != count:
        d.fail(f"{count} registers are needed")

    def run(r: list[Array], p: Path) -> None:
        warps = whole_warps(p)
        tile = np.empty((warps, count, 8, 8), np.uint16)
        rows, columns = GROUP[:, None], 2 * MEMBER[:, None] + np.arange(2)
        for i, number in enumerate(at):
            held = elements(r[number], p, TYPES["u16"])
            if transposed:
                tile[:, i, columns, rows] = held
            else:
                tile[:, i, rows, columns] = held
        lanes = np.flatnonzero(lanes_of(p) < 8 * count)
        addresses = spread(effective(r, base, offset), p)[lanes]
        halves = tile.reshape(-1, 8).view(np.uint64)
        values = [np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])]
        p.batch.store(p.part(lanes, ()), space or named, addresses, values)

    return run


def _matrix_form(d: Decoding) -> tuple[int, bool, str]:
    d.type()
    d.choice("sync")
    d.choice("aligned")
    d.choice("m8n8")
    count = int(d.choice("x1", "x2", "x4")[1:])
    transposed, space = d.flag("trans"), taken_space(d)
    d.done()
    return count, transposed, space
