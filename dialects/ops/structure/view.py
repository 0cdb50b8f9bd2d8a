"""Views: index maps with a name.  None copies; where one would have to, a pass materialises it and says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dims.dims import Dim, dim, iterator, iterators
from ...dims.index_map import IndexMap, unravel
from ...registry import REQUIRED, OpError, Param, View, axes, axis, dims_param, float_param, ints, op
from ...types import TensorType


def ravel(index: Sequence[Dim], extents: Sequence[Dim]) -> Dim:
    """The row-major position of a multi-index."""
    total = dim(0)
    for i, extent in zip(index, extents):
        total = total * extent + i
    return total


def _expect_rank(name: str, given: Sequence[Any], operand: TensorType) -> None:
    if len(given) != operand.rank:
        raise OpError(f"{name} needs one entry a dim: {len(given)} given for {operand}", code="TX0120")


@op
class Reshape(View):
    """The same elements in row-major order under other dims; one of `dims` may be -1."""

    seeds = "Eigen reshape"
    params: ClassVar[dict[str, Param]] = {"dims": dims_param()}

    @classmethod
    def bind(cls, operands: Sequence[TensorType], given: dict[str, Any]) -> dict[str, Any]:
        bound = super().bind(operands, given)
        dims: tuple[Dim, ...] = bound["dims"]
        unknown = [i for i, d in enumerate(dims) if d.const == -1]
        if len(unknown) > 1:
            raise OpError("only one dim of a reshape may be -1", code="TX0121")
        if unknown:
            # A dim that stays is no factor of a quotient: not every polynomial is divided by another.
            known, size, left = dim(1), dim(1), list(operands[0].dims)
            for d in dims:
                if d in left:
                    left.remove(d)
                elif d.const != -1:
                    known = known * d
            for d in left:
                size = size * d
            if known.const == 0 or dim(0) in dims or (size % known).const not in (0, None):
                raise OpError(f"cannot reshape {operands[0]} to ({', '.join(map(str, dims))})", code="TX0122")
            rest = size // known
            bound["dims"] = tuple(rest if d.const == -1 else d for d in dims)
        return bound

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        dims: tuple[Dim, ...] = attrs["dims"]
        size = dim(1)
        for d in dims:
            size = size * d
        if (size - operand.size).const not in (0, None):
            raise OpError(
                f"cannot reshape {operand} to ({', '.join(map(str, dims))})",
                f"{operand.size} elements do not make {size}",
                "TX0122",
            )
        its = iterators(len(dims))
        free = [i for i, d in enumerate(operand.dims) if d.const != 1]
        kept = [i for i, d in enumerate(dims) if d.const != 1]
        if [operand.dims[i] for i in free] == [dims[i] for i in kept]:  # only ones come and go
            where = dict(zip(free, (its[i] for i in kept)))
            return IndexMap(dims, tuple(where.get(i, dim(0)) for i in range(operand.rank)))
        return IndexMap(dims, unravel(ravel(its, dims), operand.dims)).simplified()


@op
class Shuffle(View):
    """Dims permuted: dim `i` of the result is dim `permutation[i]` of the operand."""

    seeds = "Eigen shuffle"
    params: ClassVar[dict[str, Param]] = {"permutation": ints()}

    @classmethod
    def mirror(cls, attrs: dict[str, Any], rank: int) -> dict[str, Any]:
        return {"permutation": tuple(rank - 1 - p for p in reversed(attrs["permutation"]))}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        permutation: tuple[int, ...] = attrs["permutation"]
        if sorted(permutation) != list(range(operand.rank)):
            raise OpError(f"{permutation} is no permutation of the {operand.rank} dims of {operand}", code="TX0123")
        exprs: list[Dim] = [dim(0)] * operand.rank
        for i, p in enumerate(permutation):
            exprs[p] = iterator(i)
        return IndexMap(tuple(operand.dims[p] for p in permutation), tuple(exprs))


@op
class Expand(View):
    """NumPy's broadcasting to `dims`: aligned right, dims of size 1 repeat, new dims come first."""

    methods = ()
    params: ClassVar[dict[str, Param]] = {"dims": dims_param()}
    writable = False

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        dims: tuple[Dim, ...] = attrs["dims"]
        lead = len(dims) - operand.rank
        exprs: list[Dim] = []
        for i, d in enumerate(operand.dims):
            if lead < 0 or (d.const != 1 and d is not dims[lead + i]):
                raise OpError(f"cannot broadcast {operand} to ({', '.join(map(str, dims))})", code="TX0124")
            same = d is dims[lead + i]
            exprs.append(iterator(lead + i) if same else dim(0))
        return IndexMap(dims, tuple(exprs))


@op
class Broadcast(View):
    """Each dim repeated `factors[i]` times, as tiles."""

    seeds = "Eigen broadcast"
    params: ClassVar[dict[str, Param]] = {"factors": dims_param()}
    writable = False

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        factors: tuple[Dim, ...] = attrs["factors"]
        _expect_rank("broadcast", factors, operand)
        exprs = [
            dim(0) if d.const == 1 else iterator(i) if f.const == 1 else iterator(i) % d
            for i, (d, f) in enumerate(zip(operand.dims, factors))
        ]
        return IndexMap(tuple(d * f for d, f in zip(operand.dims, factors)), tuple(exprs))


@op
class Chip(View):
    """The sub-tensor at `offset` along one dim, which is dropped."""

    seeds = "Eigen chip"
    params: ClassVar[dict[str, Param]] = {"offset": dims_param(), "dim": axis()}

    @classmethod
    def bind(cls, operands: Sequence[TensorType], given: dict[str, Any]) -> dict[str, Any]:
        bound = super().bind(operands, given)
        (offset,) = bound["offset"] if isinstance(bound["offset"], tuple) else (bound["offset"],)
        extent = operands[0].dims[bound["dim"]]
        if offset.const is not None and extent.const is not None and not 0 <= offset.const < extent.const:
            raise OpError(f"chip at {offset} is outside dim {bound['dim']} of {operands[0]}", code="TX0125")
        bound["offset"] = (offset,)
        return bound

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        at: int = attrs["dim"]
        its = list(iterators(operand.rank - 1))
        its.insert(at, attrs["offset"][0])
        return IndexMap(tuple(d for i, d in enumerate(operand.dims) if i != at), tuple(its))


@op
class Slice(View):
    """`extents[i]` elements of each dim from `offsets[i]` on."""

    seeds = "Eigen slice"
    params: ClassVar[dict[str, Param]] = {"offsets": dims_param(), "extents": dims_param()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        offsets, extents = attrs["offsets"], attrs["extents"]
        _expect_rank("slice offsets", offsets, operand)
        _expect_rank("slice extents", extents, operand)
        for offset, extent, size in zip(offsets, extents, operand.dims):
            left = size - offset - extent
            if (offset.const or 0) < 0 or (extent.const or 0) < 0 or (left.const or 0) < 0:
                raise OpError(f"slice of {extent} from {offset} is outside a dim of {size}", code="TX0126")
        return IndexMap(extents, tuple(iterator(i) + o for i, o in enumerate(offsets)))


@op
class StridedSlice(View):
    """Elements ``start, start + stride, …`` before `stop` of each dim; strides are numbers and may be negative."""

    seeds = "Eigen stridedSlice"
    params: ClassVar[dict[str, Param]] = {"start": dims_param(), "stop": dims_param(), "strides": ints()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        start, stop, strides = attrs["start"], attrs["stop"], attrs["strides"]
        for name, given in (("start", start), ("stop", stop), ("strides", strides)):
            _expect_rank(f"strided_slice {name}", given, operand)
        if 0 in strides:
            raise OpError("a stride of strided_slice is zero", code="TX0127")
        extents = [
            (e - s + (by - 1)) // by if by > 0 else (s - e + (-by - 1)) // -by for s, e, by in zip(start, stop, strides)
        ]
        for extent, s, by, size in zip(extents, start, strides, operand.dims):
            last = s + (extent - 1) * by
            if (extent.const or 0) < 0:
                raise OpError(f"strided_slice of {operand} has a negative size {extent}", code="TX0126")
            if extent.const != 0 and ((s.const or 0) < 0 or ((size - 1 - s).const or 0) < 0 or (last.const or 0) < 0):
                raise OpError(f"strided_slice from {s} to {last} is outside a dim of {size}", code="TX0126")
        return IndexMap(tuple(extents), tuple(s + iterator(i) * by for i, (s, by) in enumerate(zip(start, strides))))


@op
class AsStrided(View):
    """Element ``i, j, …`` of the result is element ``offset + i * strides[0] + j * strides[1] + …`` of a vector.

    `dims` are the result's; strides may be negative, zero or unknown.
    """

    methods = ()
    params: ClassVar[dict[str, Param]] = {"offset": dims_param(), "dims": dims_param(), "strides": dims_param()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        _expect_rank("as_strided offset", attrs["offset"], operand)
        (place,) = attrs["offset"]
        for it, stride in zip(iterators(len(attrs["dims"])), attrs["strides"], strict=True):
            place = place + it * stride
        return IndexMap(attrs["dims"], (place,))


@op
class Stride(View):
    """Every `strides[i]`-th element of each dim, from the first."""

    seeds = "Eigen stride"
    params: ClassVar[dict[str, Param]] = {"strides": ints()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        strides: tuple[int, ...] = attrs["strides"]
        _expect_rank("stride", strides, operand)
        if any(s < 1 for s in strides):
            raise OpError(f"strides are at least 1, not {strides}", code="TX0127")
        extents = tuple((d + (s - 1)) // s for d, s in zip(operand.dims, strides))
        return IndexMap(extents, tuple(iterator(i) * s for i, s in enumerate(strides)))


@op
class Reverse(View):
    """The dims whose flag is true run backwards."""

    seeds = "Eigen reverse"
    params: ClassVar[dict[str, Param]] = {
        "flags": Param("flags", lambda v, _: tuple(bool(x) for x in v), REQUIRED, lambda v, _: v[::-1])
    }

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        flags: tuple[bool, ...] = attrs["flags"]
        _expect_rank("reverse", flags, operand)
        exprs = [d - 1 - iterator(i) if f else iterator(i) for i, (d, f) in enumerate(zip(operand.dims, flags))]
        return IndexMap(operand.dims, tuple(exprs))


@op
class Pad(View):
    """`pairs[2*i]` elements of `value` (`fill`) before dim `i`, `pairs[2*i + 1]` after it (front ends take pairs)."""

    seeds = "Eigen pad"
    params: ClassVar[dict[str, Param]] = {"pairs": dims_param(), "fill": float_param(0.0)}
    writable = False

    @classmethod
    def bind(cls, operands: Sequence[TensorType], given: dict[str, Any]) -> dict[str, Any]:
        if "value" in given:  # The IR calls it `fill`, as it does in every view with guards.
            if "fill" in given:
                raise OpError("pad takes value or fill, which are the same, not both", code="TX0101")
            given = {("fill" if name == "value" else name): x for name, x in given.items()}
        pairs = given.get("pairs")
        if isinstance(pairs, (tuple, list)) and all(isinstance(p, (tuple, list)) and len(p) == 2 for p in pairs):
            given = {**given, "pairs": [x for p in pairs for x in p]}
        return super().bind(operands, given)

    @classmethod
    def mirror(cls, attrs: dict[str, Any], rank: int) -> dict[str, Any]:
        pairs = attrs["pairs"]
        ends = [pairs[2 * i : 2 * i + 2] for i in range(rank)]
        return {**attrs, "pairs": tuple(x for pair in reversed(ends) for x in pair)}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        pairs: tuple[Dim, ...] = attrs["pairs"]
        if len(pairs) != 2 * operand.rank:
            raise OpError(f"pad needs a pair for each of the {operand.rank} dims of {operand}", code="TX0120")
        if any((p.const or 0) < 0 for p in pairs):
            raise OpError("pad takes no negative widths", "slice instead", "TX0128")
        extents, exprs, guards = [], [], []
        for i, d in enumerate(operand.dims):
            before, after = pairs[2 * i], pairs[2 * i + 1]
            extents.append(d + before + after)
            exprs.append(iterator(i) - before)
            if before.const != 0:
                guards.append(iterator(i) - before)
            if after.const != 0:
                guards.append(d - 1 - (iterator(i) - before))
        return IndexMap(tuple(extents), tuple(exprs), tuple(guards))


@op
class Squeeze(View):
    """Dims of size 1 dropped; each must be known to be 1."""

    params: ClassVar[dict[str, Param]] = {"dims": axes()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        dropped: tuple[int, ...] = attrs["dims"]
        for i in dropped:
            if operand.dims[i].const != 1:
                raise OpError(f"dim {i} of {operand} is not known to be 1", code="TX0129")
        kept = [i for i in range(operand.rank) if i not in dropped]
        exprs = [dim(0)] * operand.rank
        for position, i in enumerate(kept):
            exprs[i] = iterator(position)
        return IndexMap(tuple(operand.dims[i] for i in kept), tuple(exprs))


@op
class SwapLayout(View):
    """The same memory seen in the other layout: dims reversed, nothing moved."""

    seeds = "Eigen swap_layout"

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        n = operand.rank
        return IndexMap(operand.dims[::-1], tuple(iterator(n - 1 - i) for i in range(n)))
