"""Convolution: windows of the input times the kernel, summed.  The windows are a view, so nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import Dim, iterator
from ...dims.index_map import IndexMap
from ...registry import Composite, OpError, Param, View, dims_param, ints, op
from ...types import TensorType


@op
class Windows(View):
    """Every window of `sizes` along `dims`: the places in the window are the first dims, the windows' the others."""

    params: ClassVar[dict[str, Param]] = {"sizes": dims_param(), "dims": ints()}
    writable = False

    @classmethod
    def mirror(cls, attrs: dict[str, Any], rank: int) -> dict[str, Any]:
        raise OpError("windows has no form for column-major tensors", "use .swap_layout() first", "TX0212")

    @classmethod
    def window_dims(cls, attrs: dict[str, Any]) -> int:
        return len(attrs["sizes"])

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        sizes: tuple[Dim, ...] = attrs["sizes"]
        dims: tuple[int, ...] = attrs["dims"]
        if len(sizes) != len(dims) or len(set(dims)) != len(dims) or not set(dims) <= set(range(operand.rank)):
            raise OpError(f"windows of sizes {sizes} along dims {dims} do not fit {operand}", code="TX0120")
        places = list(operand.dims)
        exprs = [iterator(len(sizes) + i) for i in range(operand.rank)]
        for position, (size, d) in enumerate(zip(sizes, dims)):
            places[d] = places[d] - size + 1
            exprs[d] = exprs[d] + iterator(position)
            if (size.const or 1) < 1 or ((operand.dims[d] - size).const or 0) < 0:
                raise OpError(f"a window of {size} does not fit dim {d} of {operand}", code="TX0126")
        return IndexMap((*sizes, *places), tuple(exprs))


@op
class Convolve(Composite):
    """The sum of `kernel` times the part of the operand under it, for each place where all of it lies inside.

    Dim `i` of the kernel runs along ``dims[i]``, which shrinks by the kernel's size less one.  As Eigen's, and
    unlike `numpy.convolve`, it does not reverse the kernel.
    """

    seeds = "Eigen convolve"
    arity = 2
    params: ClassVar[dict[str, Param]] = {"dims": ints()}

    @classmethod
    def expand(cls, *tensors: Any, **attrs: Any) -> Any:
        x, kernel = tensors
        if len(attrs["dims"]) != kernel.ndim:
            raise OpError(
                f"convolve of {x.user_type} with a kernel {kernel.user_type} along dims {attrs['dims']}",
                "name a dim of the input for each dim of the kernel",
                "TX0120",
            )
        dims = [d + x.ndim if d < 0 else d for d in attrs["dims"]]
        if x.layout == "col" and x.ndim > 1:
            mirrored = [x.ndim - 1 - d for d in reversed(dims)]
            turned = kernel.swap_layout() if kernel.layout == "col" else kernel
            return x.swap_layout().convolve(turned, mirrored).swap_layout()
        under = x.windows(kernel.window_sizes(), dims)
        weights = kernel.reshape((*kernel.shape, *(1 for _ in range(x.ndim))))
        products = under * weights
        # The sums keep the products' type, integers too: as Eigen's, which wrap.
        return products.sum(list(range(kernel.ndim)), dtype=products.dtype)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        x, kernel = arrays
        under = np.lib.stride_tricks.sliding_window_view(x, kernel.shape, tuple(attrs["dims"]))
        return (np.tensordot(under, kernel, kernel.ndim),)
