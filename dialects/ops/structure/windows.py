"""Windows on a tensor and their like: patches of it, zeros between its elements.  Views all: nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from ...dims.dims import Dim, dim, iterator, maximum
from ...dims.index_map import IndexMap, product, unravel
from ...registry import OpError, Param, View, float_param, int_param, ints, op
from ...types import TensorType


@op
class Inflate(View):
    """Each dim with ``strides[i] - 1`` elements of `fill` between its elements; the adjoint of `stride`."""

    seeds = "Eigen inflate"
    writable = False
    params: ClassVar[dict[str, Param]] = {"strides": ints(), "fill": float_param(0.0)}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        strides: tuple[int, ...] = attrs["strides"]
        if len(strides) != operand.rank or any(s < 1 for s in strides):
            raise OpError(
                f"inflate needs a stride of at least 1 for each dim of {operand}, not {strides}", code="TX0127"
            )
        spread = [i for i, s in enumerate(strides) if s > 1]
        extents = [maximum(0, (d - 1) * s + 1) if s > 1 else d for d, s in zip(operand.dims, strides)]
        exprs = [iterator(i) // s for i, s in enumerate(strides)]
        return IndexMap(tuple(extents), tuple(exprs), tuple(-(iterator(i) % strides[i]) for i in spread))


@op
class ExtractPatches(View):
    """All patches of `patch_dims`, one a place: the patch's number is a new dim, first of a row-major tensor's dims.

    It is the last dim of a column-major tensor; places are counted in the order of the layout.
    """

    seeds = "Eigen extract_patches"
    writable = False
    params: ClassVar[dict[str, Param]] = {"patch_dims": ints()}

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        patch: tuple[int, ...] = attrs["patch_dims"]
        _expect_patch("extract_patches", patch, operand.dims, operand)
        places = [d - p + 1 for d, p in zip(operand.dims, patch)]
        at = unravel(iterator(0), places)
        exprs = tuple(start + iterator(1 + i) for i, start in enumerate(at))
        return IndexMap((product(places), *map(dim, patch)), exprs).simplified()


class _Window(NamedTuple):
    """The patches along one dim: their size, the steps between them and within them, zeros between elements."""

    size: int
    stride: int
    inner: int
    inflate: int

    def along(self, extent: Dim, padding: Any) -> tuple[Dim, Dim, Dim]:
        """How many patches there are, the padding before the first, and the inflated size."""
        whole = maximum(0, (extent - 1) * self.inflate + 1) if self.inflate > 1 else extent
        reach = (self.size - 1) * self.inner + 1
        if padding == "same":
            places = (whole + (self.stride - 1)) // self.stride
            return places, maximum(0, ((places - 1) * self.stride + reach - whole) // 2), whole
        before, after = (0, 0) if padding == "valid" else padding
        return (whole + (before + after + self.stride - reach)) // self.stride, dim(before), whole


class _Spatial(View):
    """Patches along the dims next to the channels, which are the last dim of a row-major tensor."""

    writable = False
    #: Names of the spatial dims, the one next to the channels first.
    along: ClassVar[tuple[str, ...]]

    @classmethod
    def windows(cls, attrs: dict[str, Any]) -> list[_Window]:
        return [
            _Window(attrs[f"{n}s"], attrs[f"{n}_stride"], attrs[f"in_{n}_stride"], attrs[f"{n}_inflate"])
            for n in cls.along
        ]

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        count = len(cls.along)
        windows, padding = cls.windows(attrs), attrs["padding"]
        if operand.rank <= count:
            raise OpError(f"{cls.name} needs channels and {' and '.join(cls.along)}s, got {operand}", code="TX0120")
        if any(value < 1 for w in windows for value in (w.size, w.stride, w.inner, w.inflate)):
            raise OpError(f"{cls.name} takes sizes and strides of at least 1", code="TX0127")
        batch = operand.rank - count - 1
        # As the dims lie in memory: slowest first, the reverse of the order in which they are named.
        windows = windows[::-1]
        extents = operand.dims[batch:-1]
        pads = padding if isinstance(padding, str) else [padding[2 * i : 2 * i + 2] for i in range(count)][::-1]
        found = [
            w.along(d, pads if isinstance(pads, str) else pads[i]) for i, (w, d) in enumerate(zip(windows, extents))
        ]
        if padding == "valid":
            reaches = [(w.size - 1) * w.inner + 1 for w in windows]
            _expect_patch(cls.name, reaches, [whole for _, _, whole in found], operand)
        at = unravel(iterator(batch), [places for places, _, _ in found])
        exprs, guards = [iterator(i) for i in range(batch)], []
        for i, (w, start, (_, before, whole)) in enumerate(zip(windows, at, found)):
            position = start * w.stride + iterator(batch + 1 + i) * w.inner - before
            exprs.append(position // w.inflate)
            if padding != "valid":
                guards += [position, whole - 1 - position]
            if w.inflate > 1:
                guards.append(-(position % w.inflate))
        shape = (*operand.dims[:batch], product([places for places, _, _ in found]), *(dim(w.size) for w in windows))
        exprs.append(iterator(len(shape)))
        return IndexMap((*shape, operand.dims[-1]), tuple(exprs), tuple(guards)).simplified()


def _padding(count: int) -> Param:
    """``"same"``, ``"valid"``, or the elements before and after each spatial dim, in the order of their names."""

    def convert(value: Any, _: Sequence[TensorType]) -> Any:
        if value in ("same", "valid"):
            return value
        if isinstance(value, (tuple, list)):
            flat = tuple(x for v in value for x in (v if isinstance(v, (tuple, list)) else [v]))
            if len(flat) == 2 * count and all(isinstance(x, int) and x >= 0 for x in flat):
                return flat
        raise OpError(
            f"{value!r} is no padding",
            f"it is 'same', 'valid', or {2 * count} numbers: before and after each dim",
            "TX0105",
        )

    return Param("padding", convert, "same")


def _steps(along: Sequence[str]) -> dict[str, Param]:
    names = [f"{n}_stride" for n in along] + [f"in_{n}_stride" for n in along] + [f"{n}_inflate" for n in along]
    return {name: int_param(1) for name in names}


@op
class ExtractImagePatches(_Spatial):
    """Patches of `rows` by `cols` pixels, their number a dim of its own: ``[batch…, patch, cols, rows, channels]``.

    The operand is ``[batch…, cols, rows, channels]``, for column-major tensors both are the reverse.  A patch's pixels
    are ``in_row_stride`` apart, patches ``row_stride``; ``row_inflate - 1`` elements of `fill` lie between pixels, and
    around them where patches reach over the edge (`padding`).  Patches are counted down columns first.
    """

    seeds = "Eigen extract_image_patches"
    along = ("row", "col")
    params: ClassVar[dict[str, Param]] = {
        "rows": int_param(), "cols": int_param(), **_steps(("row", "col")), "padding": _padding(2),
        "fill": float_param(0.0),
    }  # fmt: skip


@op
class ExtractVolumePatches(_Spatial):
    """Patches of `planes` by `rows` by `cols` voxels: ``[batch…, patch, cols, rows, planes, channels]``.

    The operand is ``[batch…, cols, rows, planes, channels]``; all else as `extract_image_patches`.
    """

    seeds = "Eigen extract_volume_patches"
    along = ("plane", "row", "col")
    params: ClassVar[dict[str, Param]] = {
        "planes": int_param(), "rows": int_param(), "cols": int_param(), **_steps(("plane", "row", "col")),
        "padding": _padding(3), "fill": float_param(0.0),
    }  # fmt: skip


def _expect_patch(name: str, patch: Sequence[int], dims: Sequence[Dim], operand: TensorType) -> None:
    if len(patch) != len(dims):
        raise OpError(f"{name} needs a patch size for each dim of {operand}, not {tuple(patch)}", code="TX0120")
    if any(p < 1 or ((d - p).const or 0) < 0 for p, d in zip(patch, dims)):
        raise OpError(f"{name}: a patch of {tuple(patch)} does not fit {operand}", code="TX0126")
