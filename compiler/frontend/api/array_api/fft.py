"""The extension `fft`: NumPy's functions, with the standard's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....diagnostics import located
from ...numpy import fft as numpy_fft
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from .creation import on_device

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


def _along_one(numpy: Any) -> Callable[..., Tensor]:
    def transform(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        with located():
            return numpy_fft.FUNCTIONS[numpy](x, n, axis, norm)

    return _named(transform, numpy)


def _along_many(numpy: Any) -> Callable[..., Tensor]:
    def transform(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        with located():
            # Sizes without axes are those of the last dims.
            chosen = tuple(range(-len(s), 0)) if s is not None and axes is None else axes
            return numpy_fft.FUNCTIONS[numpy](x, s, chosen, norm)

    return _named(transform, numpy)


def _shifting(numpy: Any) -> Callable[..., Tensor]:
    def shift(x: Any, /, *, axes: Any = None) -> Tensor:
        with located():
            return numpy_fft.FUNCTIONS[numpy](x, axes)

    return _named(shift, numpy)


def _frequencies(numpy: Any) -> Callable[..., Tensor]:
    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
        with located():
            on_device(device)
            found = as_tensor(numpy_fft.CREATION[numpy](n, d))
            return found if dtype is None else found.astype(dtype)

    return _named(frequencies, numpy)


def _named(function: Any, numpy: Any) -> Any:
    function.__name__ = function.__qualname__ = numpy.__name__
    function.__doc__ = numpy_fft.__doc__
    return function


fft, ifft, rfft, irfft, hfft, ihfft = (
    _along_one(f) for f in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft)
)
fftn, ifftn, rfftn, irfftn = (_along_many(f) for f in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn))
fftshift, ifftshift = _shifting(np.fft.fftshift), _shifting(np.fft.ifftshift)
fftfreq, rfftfreq = _frequencies(np.fft.fftfreq), _frequencies(np.fft.rfftfreq)
