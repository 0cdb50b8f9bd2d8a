"""Matrix instructions of four warps together: `wgmma` ("Asynchronous Warpgroup Level Matrix Instructions").

Operands lie in shared memory as a descriptor says: bits 0 to 13 have their address, 16 to 29 the leading and 32 to 45
the stride byte offset, all in units of 16 bytes, 62 and 63 the swizzling mode ("Matrix Descriptor Format", "Shared
Memory Matrix Layout").  With rows of W = 128, 64 or 32 bytes, or 16 without swizzling, granules of 16 bytes lie so:

* K-major: row r, granule g at ``r/8·stride + r%8·W + 16·g``; without swizzling ``r/8·stride + 16·(r%8) + g·leading``;
* MN-major: of place k the elements from e on at ``e/E·leading + 2·(e%E) + k/8·stride + k%8·W``, where E of them are W
  bytes; without swizzling at ``e/8·stride + k/8·leading + 16·(k%8)``;

and swizzling exchanges granules: bits 4 to 6 of the address take the exclusive or with bits 7 to 9, as many as rows of
W bytes need.

A product is computed when it begins, and its sums are there at once: that they are used before they are waited for is
not seen.
"""

from __future__ import annotations

import re

import numpy as np

from ..execution.divergence import Path, bits_of
from ..execution.special_registers import WARP
from ..memory.byte_memory import Fault
from ..ptx.types import TYPES, Array, Type
from .decode import Decoding, Run, instruction
from .matrix_ops import accumulator, from_accumulator, gather_warp, product, whole_warps
from .warp_ops import spread

_SECTION = "Asynchronous Warpgroup Level Matrix Instructions: wgmma"
#: Rows of A of each warp; the swizzling modes' bytes of a row.
ROWS = 16
WIDTHS = {0: 16, 1: 128, 2: 64, 3: 32}
_RESULTS = {"f16": ("f32",), "bf16": ("f32",), "s8": ("s32",), "u8": ("s32",)}


def _offsets(mn_major: bool, count: int, width: int, leading: Array, stride: Array) -> Array:
    """Bytes from an operand's start to its granules: (warps, rows, granules) or (warps, places along K, granules)."""
    leading, stride = leading[:, None, None], stride[:, None, None]
    if not mn_major:
        row, granule = np.arange(count)[:, None], np.arange(2)[None, :]
        along = granule * leading if width == 16 else 16 * granule + 0 * leading
        return row // 8 * stride + row % 8 * width + along
    k, first = np.arange(16)[:, None], 8 * np.arange(count // 8)[None, :]
    if width == 16:
        return first // 8 * stride + k // 8 * leading + 16 * (k % 8)
    each = width // 2
    return first // each * leading + 2 * (first % each) + k // 8 * stride + k % 8 * width


def _operand(p: Path, descriptors: Array, first: Array, count: int, type_: Type, mn_major: bool) -> Array:
    """`count` rows of an operand from row `first` on of each warp: (warps, rows, elements along K)."""
    batch = p.batch
    start, leading, stride = (
        (descriptors >> np.uint64(s) & np.uint64(0x3FFF)).astype(np.int64) * 16 for s in (0, 16, 32)
    )
    modes = np.unique(descriptors >> np.uint64(62))
    if len(modes) > 1 or (descriptors >> np.uint64(49) & np.uint64(7)).any():
        raise Fault("descriptors of one swizzling mode and without a base offset are known")
    width = WIDTHS[int(modes[0])]
    total = int(first.max()) + count
    offsets = _offsets(mn_major, total, width, leading, stride)
    if mn_major:
        offsets = np.stack([o[:, f // 8 : (f + count) // 8] for o, f in zip(offsets, first.tolist(), strict=True)])
    else:
        offsets = np.stack([o[f : f + count] for o, f in zip(offsets, first.tolist(), strict=True)])
    places = start[:, None, None] + offsets
    places ^= (places >> 7 & (width // 16 - 1)) << 4
    shape, flat = places.shape, places.reshape(-1).astype(np.uint64)
    warps = p.threads[::WARP] // WARP
    window = (p.blocks[::WARP] * batch.shared.stride).astype(np.uint64)
    starts = np.repeat(window, shape[1] * shape[2])
    words = np.stack(batch.shared.load(flat, starts, 8, 2), axis=1)
    for warp, part in zip(warps.tolist(), np.split(flat + starts, len(warps)), strict=True):
        reader = Path(batch, np.full(len(part), warp * WARP), [])
        batch.races.loaded(reader, part, 16)
        batch.products.begin(warp, part)
    held = np.ascontiguousarray(words).view(type_.dtype)
    if mn_major:
        return held.reshape(len(warps), shape[1], -1).transpose(0, 2, 1)
    return held.reshape(len(warps), shape[1], -1)


@instruction(
    "wgmma", types="f16 bf16 s8 u8 f32 s32",
    forms="fence mma_async commit_group wait_group sync aligned satfinite m64nNk16 m64nNk32", section=_SECTION,
)  # fmt: skip
def warpgroup(d: Decoding) -> Run:
    action = d.choice("fence", "commit_group", "wait_group", default="mma_async")
    d.choice("sync")
    d.choice("aligned")
    gather_warp(d)
    if action == "mma_async":
        return _multiply(d)
    d.done()
    if action == "commit_group":
        return lambda r, p: p.batch.products.commit(p)
    if action == "wait_group":
        newest = d.integer(d.operands[0])
        return lambda r, p: p.batch.products.wait(p, newest)
    return lambda r, p: p.batch.races.synchronise_warps(p)


def _multiply(d: Decoding) -> Run:
    """``wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a-desc, b-desc, scale-d{, ±1, ±1, major, major}``."""
    d.choice("mma_async")
    saturate = d.flag("satfinite")
    second, first, result = (d.type() for _ in range(3))
    shape = re.fullmatch(r"m64n(\d+)k(\d+)", d.modifiers.pop(0) if d.modifiers else "")
    d.done()
    if shape is None or int(shape[2]) * first.bits != 256 or result.name not in _RESULTS.get(first.name, ()):
        d.fail("a matrix product that is not known")
    n = int(shape[1])
    if n % 8 or not 8 <= n <= 256 or (first.is_float and first is not second) or first.bits != second.bits:
        d.fail("a matrix product that is not known")
    registers = d.items(d.operands[0])
    if len(registers) != n // 2:
        d.fail(f"{n // 2} registers are needed for the sums")
    into = [d.target(o) for o in registers]
    held = [d.source(o, TYPES["b32"]) for o in registers]
    left, right = (d.source(o, TYPES["b64"]) for o in d.operands[1:3])
    added, negated = d.predicate(d.operands[3])
    flags = [d.integer(o) for o in d.operands[4:]]
    scales, majors = (flags[:2], flags[2:]) if first.is_float else ([1, 1], [0, 0])
    if (
        len(scales) != 2
        or len(majors) != 2
        or any(s not in (1, -1) for s in scales)
        or any(m not in (0, 1) for m in majors)
    ):
        d.fail("two signs and two majors are needed of floats")

    def run(r: list[Array], p: Path) -> None:
        count = whole_warps(p)
        warps = p.threads[::WARP] // WARP % (p.batch.slots // WARP)
        descriptors = [spread(bits_of(r[x]), p)[::WARP] for x in (left, right)]
        a = _operand(p, descriptors[0], warps % 4 * ROWS, ROWS, first, bool(majors[0]))
        b = _operand(p, descriptors[1], np.zeros(count, np.int64), n, second, bool(majors[1]))
        c = accumulator([r[i] for i in held], p, result, ROWS, n)
        keep = spread(r[added], p)[::WARP] ^ negated
        c = np.where(keep[:, None, None], c, np.zeros((), c.dtype))
        sign = scales[0] * scales[1]
        found = product(a, np.ascontiguousarray(b.transpose(0, 2, 1)), sign * c, first, result, saturate)
        found = (sign * found).astype(c.dtype)
        for target, value in zip(into, from_accumulator(found, n // 2, 1, ROWS), strict=True):
            if target is not None:
                r[target.number] = value

    return run
