"""Arrays in a device's memory: results that stay there, and other libraries' arrays, taken and given without a copy."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .gpu_device import GpuDevice

__all__ = ["ALIGNMENT", "DeviceArray", "OnDevice", "is_device_array"]

#: Kernels read 16 bytes at once; an array has to start where that is allowed.
ALIGNMENT = 16


class OnDevice(np.ndarray):
    """The form of an array on a device: dtype, sizes, strides and *device* addresses, as NumPy describes them.

    Its elements are not the host's to touch.
    """

    owner: DeviceArray


class DeviceArray:
    """An array in the memory of a device; what it keeps alive is given back with it.

    `numpy()` and ``np.asarray`` copy it to the host; on a CUDA device ``__cuda_array_interface__`` gives it away.
    """

    def __init__(self, device: GpuDevice, address: int, form: np.ndarray, keep: Any = None, owned: bool = False):
        self._device, self._keep, self.address = device, keep, address
        self.shape, self.dtype, self.strides = form.shape, form.dtype, form.strides
        if owned:
            # Not `__del__`: at the interpreter's end the device may be gone before the last arrays.
            weakref.finalize(self, device.free, address).atexit = False

    @staticmethod
    def empty(device: GpuDevice, like: np.ndarray) -> DeviceArray:
        """Memory of its own, laid out as `like`, an array without gaps."""
        return DeviceArray(device, device.allocate(max(1, like.nbytes)), like, owned=True)

    @staticmethod
    def copy_of(device: GpuDevice, array: np.ndarray) -> DeviceArray:
        """A row-major copy of an array of the host."""
        packed = np.ascontiguousarray(array).reshape(array.shape)
        made = DeviceArray.empty(device, packed)
        if packed.size:
            device.write(made.address, packed)
        return made

    @staticmethod
    def sharing(device: GpuDevice, other: Any) -> DeviceArray:
        """Another library's array (``__cuda_array_interface__``, versions 2 and 3), which it keeps alive.

        ValueError where it starts at an address that kernels cannot read from.
        """
        given = other.__cuda_array_interface__
        dtype, shape = np.dtype(given["typestr"]), tuple(given["shape"])
        address = given["data"][0] or 0
        if address % ALIGNMENT:
            raise ValueError(
                f"a device array at an address that is no multiple of {ALIGNMENT} bytes: pass a copy of it"
            )
        strides = given.get("strides") or [dtype.itemsize * math.prod(shape[d + 1 :]) for d in range(len(shape))]
        form = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
        device.wait_for_others()
        return DeviceArray(device, address, form, keep=other)

    @property
    def device(self) -> str:
        """The name of the device."""
        return self._device.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def form(self) -> OnDevice:
        """What NumPy can say of it: no element may be read or written through this."""
        reach = [s * (n - 1) for s, n in zip(self.strides, self.shape)] if self.nbytes else []
        low = sum(min(0, r) for r in reach)
        size = sum(abs(r) for r in reach) + self.dtype.itemsize if self.nbytes else 0
        memory: Any = (ctypes.c_char * size).from_address(self.address + low)
        made = OnDevice(self.shape, self.dtype, memory, -low, self.strides)
        made.owner = self
        return made

    def numpy(self) -> np.ndarray:
        """A copy on the host, with the same strides."""
        order = sorted(range(self.ndim), key=lambda d: (-self.strides[d], d))
        packed = np.empty([self.shape[d] for d in order], self.dtype)
        if packed.nbytes:
            if packed.strides != tuple(self.strides[d] for d in order):
                raise ValueError(
                    f"a device array of shape {self.shape} with gaps is not copied: copy it where it is from"
                )
            self._device.read(self.address, packed)
        return packed.transpose(np.argsort(order)) if self.ndim else packed

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"an array on {self.device} becomes one of the host by a copy only")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface.  Only arrays on a CUDA device have it."""
        if not self.device.startswith("cuda:"):
            raise AttributeError(f"an array on {self.device} is none of CUDA's")
        self._device.synchronize()
        data = (self.address, False)
        return {
            "version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": self.strides,
            "stream": None,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name}, device={self.device!r})"


def is_device_array(value: Any) -> bool:
    """Whether it is a `DeviceArray`, or another library's array on a GPU."""
    return isinstance(value, DeviceArray) or hasattr(type(value), "__cuda_array_interface__")
