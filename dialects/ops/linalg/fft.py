"""The discrete Fourier transform along one dim; `np.fft` and Eigen's `fft` are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import Composite, OpError, Param, Structural, axes, axis, choice, op
from ...types import TensorType


@op
class Dft(Structural):
    """``sum(x[j] * exp(-+2*pi*i*j*k/n))`` along `axis`; `sign` is that of the exponent.  Never scaled; any size."""

    foreign = "fft"
    in_place = True
    shorter_along = "axis"
    params: ClassVar[dict[str, Param]] = {"axis": axis(-1), "sign": choice("minus", "plus", default="minus")}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (x,) = operands
        if not x.dtype.is_complex:
            raise OpError(f"dft transforms complex tensors, not {x}", "cast it to c64 or c128", "TX0112")
        return (x,)

    @classmethod
    def expanded(cls, tensors: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Of one element: itself."""
        (z,) = tensors
        return z if z.dims[attrs["axis"]].const == 1 else None

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        if not x.size:
            return (x.copy(),)
        if attrs["sign"] == "minus":
            found = np.fft.fft(x, axis=attrs["axis"])
        else:
            found = np.fft.ifft(x, axis=attrs["axis"], norm="forward")
        return (found.astype(x.dtype, copy=False),)


@op
class Fft(Composite):
    """Eigen's: the transform over `dims`, complex (``both``) or its real or imaginary part; ``reverse`` is scaled."""

    seeds = "Eigen fft"
    methods = ("fft",)
    params: ClassVar[dict[str, Param]] = {
        "dims": axes(),
        "result": choice("both", "real", "imag", default="both"),
        "direction": choice("forward", "reverse", default="forward"),
    }

    @classmethod
    def expand(cls, *tensors: Any, **attrs: Any) -> Any:
        (x,) = tensors
        z = x.cast(x.element.as_complex)
        reverse = attrs["direction"] == "reverse"
        for at in attrs["dims"]:
            z = z.apply("dft", z, axis=at, sign="plus" if reverse else "minus")
        if reverse and attrs["dims"]:
            size = x.count(attrs["dims"])
            z = z.apply("complex", z.real / size, z.imag / size)
        return z if attrs["result"] == "both" else getattr(z, attrs["result"])

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        function = np.fft.ifftn if attrs["direction"] == "reverse" else np.fft.fftn
        made = function(x, axes=attrs["dims"])
        return (made if attrs["result"] == "both" else getattr(np, attrs["result"])(made),)
