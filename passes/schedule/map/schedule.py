"""The schedule of elementwise nests on CPUs: one loop along memory in vectors, the others shared by threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....dialects import kernel
from ....dialects.dims.analysis import period
from ....dialects.dims.dims import Dim, dim, maximum, minimum
from ....dialects.dims.index_map import product
from ..access import Access, accesses, buffer_info
from ..language.axes import FusedAxis, collapse_axes, index_numbers, unit_stride_score
from ..language.nest import Loop, Nest
from ..segments import Segments, match_segments

#: A chunk is so many tasks, by which alone chunks differ: of a loop of a chunk and a half each of two threads has three
#: quarters.
TASKS_PER_CHUNK = 4
#: Bytes of the smallest vector that has non-temporal stores.
LEAST_STREAMED = 16
#: Vectors at once where guards hold.
UNROLL_INSIDE = 4

__all__ = ["VectorConfig", "choose_lanes", "is_transposition", "map_schedule"]


@dataclass(frozen=True)
class VectorConfig:
    """How wide: bits of a vector register, or a forced number of lanes and copies (tests).

    `lanes_can_shuffle` says whether lanes can change places, as those of a GPU, which are threads, cannot.
    """

    vector_bits: int = 256
    lanes: int = 0
    unroll: int = 0
    lanes_can_shuffle: bool = True

    def at_most(self, vector_bits: int) -> VectorConfig:
        """With vectors of no more bits."""
        return replace(self, vector_bits=min(self.vector_bits, vector_bits))

    def width(self, bits: int) -> int:
        """The lanes of a register of such elements."""
        return self.lanes or max(1, self.vector_bits // max(8, bits))

    def width_of(self, access_list: Sequence[Access]) -> int:
        """The lanes of a register of the widest elements."""
        return self.width(max((w.bits for w in access_list), default=32))


def choose_lanes(lanes: VectorConfig, access_list: Sequence[Access], copies: int) -> tuple[int, int]:
    """Vector width and unroll: full registers of the widest element, and `copies` where none are forced."""
    return lanes.width_of(access_list), lanes.unroll or copies


@dataclass(frozen=True)
class Vectors:
    """How many lanes, how many vectors at once, and of which number of elements a chunk is a multiple."""

    width: int
    unroll: int
    multiple: int


def map_schedule(nest: Nest, config: VectorConfig) -> None:
    """One loop along memory, in vectors, threads share those around it; where operands cross, tiles."""
    collapse(nest)
    if not nest.loops:
        return
    *rows, along = nest.loops
    vectors = choose_vectors(nest, along, config)
    if (across := crossing_axis(nest.access_list, [loop.axis for loop in nest.loops])) is not None:
        nest.specialize(
            nontemporal_excess(nest, along, vectors.width),
            lambda staged: tiles(staged, across, tile_sides(nest, vectors.width, True), vectors.width, is_staged=True),
            lambda plain: tiles(plain, across, tile_sides(nest, vectors.width, False), vectors.width),
        )
        return
    if rows and not nest.serial:
        nest.parallel(*rows)
    elif not nest.serial:
        along = share_chunks(nest, along, vectors)
    if (segments := segments_along(nest, along, 2 * vectors.width)) is not None:
        _, along = nest.split_segments(along, segments)
        vectorize_lines(nest, along, vectors.width, vectors.unroll)
    elif nest.guarded_range(along) is None:
        vectorize_lines(nest, along, vectors.width, vectors.unroll, whole=not rows)
    else:
        before, inside, after = nest.peel_guards(along)
        nest.vectorize(before, vectors.width)
        vectorize_lines(nest, inside, vectors.width, config.unroll or UNROLL_INSIDE)
        nest.vectorize(after, vectors.width)


def tiles(nest: Nest, across: int, sides: tuple[int, int], width: int, is_staged: bool = False) -> None:
    """Tiles of the crossing and the vector loop: every cache line of both is used up while it is there.

    As many of the crossing loop run side by side as vectors have lanes, so that the emitter can load rows of what
    crosses and transpose them in registers.  What is stored non-temporally is staged, in a tile in the first cache,
    from which it goes on in whole lines.
    """
    height, length = sides
    *rows, along = nest.loops
    row = rows.pop(across)
    along_tile, along = nest.split(along, length)
    row_tile, row = nest.split(row, height)
    nest.reorder(*rows, row_tile, along_tile, row, along)
    if is_staged:
        _, copied = nest.stage(along_tile)
        nest.vectorize(copied, width, nest.context.costs.unroll_factor(0, 0))
    nest.vectorize(along, width)
    nest.unroll_and_jam(row, width)
    if not nest.serial:
        nest.parallel(*rows, row_tile)


def tile_sides(nest: Nest, width: int, is_staged: bool) -> tuple[int, int]:
    """Rows and elements of a tile: as the first cache holds it, or as lines of both operands are used up."""
    costs, size = nest.context.costs, buffer_info(nest.op.outs[0]).dtype.bytes
    height, length = (costs.l1_tile,) * 2 if is_staged else costs.transpose_tile(size)
    return max(2 * width, height), max(2 * width, length)


def share_chunks(nest: Nest, loop: Loop, vectors: Vectors) -> Loop:
    """Chunks of a nest's only loop for threads; the loop in a chunk."""
    chunk = nest.context.chunk(nest.op)
    whole = math.lcm(vectors.multiple, nest.context.costs.results_in_flight)
    part = -(-chunk // (TASKS_PER_CHUNK * whole)) * whole
    chunks, loop = nest.split(loop, part)
    nest.parallel(chunks, grain=-(-chunk // part))
    return loop


def vectorize_lines(nest: Nest, loop: Loop, width: int, unroll: int, whole: bool = False) -> None:
    """A loop in vectors, and before it one up to the first whole line that is stored non-temporally.

    `whole` says that there is no part of a line before.
    """
    before = dim(0) if whole or nest.serial or width == 1 else partial_line(nest, loop)
    if before is not dim(0):
        head, loop = nest.peel(loop, before)
        nest.vectorize(head, width)
    nest.vectorize(loop, width, unroll)


def collapse(nest: Nest) -> None:
    """One loop for each run of iterators that operands step through as one; the one to vectorize innermost."""
    nest.collapse_all()
    if nest.loops:
        loops = list(nest.loops)
        along = loops.pop(vector_axis(nest.access_list, [loop.axis for loop in loops]))
        nest.reorder(*loops, along)


def vector_axis(access_list: Sequence[Access], axes: Sequence[FusedAxis]) -> int:
    """Which axis goes in vectors: the one along which most operands are contiguous, of several the innermost."""
    scores = [unit_stride_score(access_list, axis) for axis in axes]
    return max(range(len(axes)), key=lambda i: (scores[i], i))


def crossing_axis(access_list: Sequence[Access], axes: Sequence[FusedAxis]) -> int | None:
    """An axis along which some operand is contiguous that strides along the last one, the vectors': a transposition."""
    vector = axes[-1].symbols[-1]
    crossed = [w for w in access_list if (s := w.step(vector)) is not None and s.terms and s.const != 1]
    scores = [unit_stride_score(crossed, axis) for axis in axes[:-1]]
    return max(range(len(scores)), key=scores.__getitem__) if any(scores) else None


def is_transposition(nest: kernel.GenericOp, first: int) -> bool:
    """Whether the loops for the iterators of an elementwise nest from `first` on go by tiles: a transposition."""
    access_list = accesses(nest)
    axes = collapse_axes(nest, access_list, first, nest.n_parallel)
    if len(axes) > 1:
        axes.append(axes.pop(vector_axis(access_list, axes)))
    return len(axes) > 1 and crossing_axis(access_list, axes) is not None


def choose_vectors(nest: Nest, along: Loop, config: VectorConfig) -> Vectors:
    """Vectors of the widest operand that moves along a loop, and as many at once as the body is worth.

    Where indices repeat after some elements, these go together.
    """
    symbols = along.axis.symbols
    moving = [w for w in nest.access_list if any((s := w.step(d)) is None or s.terms for d in symbols)]
    strided = [w for w in moving if (s := w.step(symbols[-1])) is not None and s.const not in (0, 1, -1)]
    gathered = len(strided) * config.width_of(moving)
    copies = nest.context.unroll_factor(nest.op, {*symbols}, gathered)
    width, unroll = choose_lanes(config, moving or nest.access_list, copies)
    if config.unroll:
        return Vectors(width, unroll, 1)
    divided = (*index_numbers(nest.op), *(e for index in nest.op.maps_in() for e in index.exprs))
    repeats = math.lcm(*(period(e, symbols[-1]) for e in divided))
    unroll = nest.context.costs.unroll_for_period(unroll, repeats // math.gcd(repeats, width))
    return Vectors(width, unroll, repeats if unroll * width % repeats == 0 else 1)


def segments_along(nest: Nest, loop: Loop, least: int) -> Segments | None:
    """The segments of a loop within which no index is divided, of `least` elements or more where that is known."""
    return match_segments(nest.op, loop.axis.symbols[0], least) if len(loop.axis.symbols) == 1 else None


def partial_line(nest: Nest, loop: Loop) -> Dim:
    """The elements from a loop's first to the first whole line of a result's row, where rows are stored
    non-temporally.

    Where rows are short the lines that they share are most of what there is: none.
    """
    info, costs = buffer_info(nest.op.outs[0]), nest.context.costs
    if nest.access_list[-1].step(loop.axis.symbols[-1]) is not dim(1) or not nest.context.may_be_nontemporal(nest.op):
        return dim(0)
    excess = product(info.dims) * info.dtype.bytes - (costs.nontemporal_threshold - 1)
    line = int(costs.machine.cache_line) // info.dtype.bytes
    address = info.address([e.substitute(nest.point()) for e in nest.op.maps_out()[0].exprs])
    peeled = -address.substitute(dict.fromkeys(loop.at.symbols(), loop.lower)) % line
    if peeled is dim(0) or (excess.const is not None and excess.const <= 0):
        return dim(0)
    long = maximum(0, loop.upper - loop.lower - costs.min_nontemporal_lines * line)
    return minimum(minimum(line - 1, peeled), minimum(maximum(0, excess), long))


def nontemporal_excess(nest: Nest, along: Loop, width: int) -> Dim:
    """Positive where the result of a transposition is stored non-temporally, and its rows are whole lines."""
    info, costs = buffer_info(nest.op.outs[0]), nest.context.costs
    contiguous = nest.access_list[-1].is_contiguous(along.axis.symbols[-1])
    long_enough = contiguous and width * info.dtype.bytes >= LEAST_STREAMED
    if nest.serial or not long_enough or not nest.context.may_be_nontemporal(nest.op):
        return dim(0)
    excess = product(info.dims) * info.dtype.bytes - (costs.nontemporal_threshold - 1)
    for stride in info.strides:
        if stride.const != 1:
            excess = minimum(excess, dim(1) - stride % (int(costs.machine.cache_line) // info.dtype.bytes))
    return excess
