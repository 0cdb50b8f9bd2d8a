"""Arrays in a device's memory: results that stay there, and other libraries' arrays, taken and given without a copy."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .dlpack import Taken
    from .gpu_device import GpuDevice

__all__ = ["ALIGNMENT", "SOME_GPU", "DeviceArray", "Form", "OnDevice", "is_device_array", "place_of"]

#: Kernels read 16 bytes at once; an array has to start where that is allowed.
ALIGNMENT = 16
#: Where an array is that says only that it is CUDA's.
SOME_GPU = "a GPU"
#: DLPack's numbers of CUDA's memory: of a device, and managed.
_CUDA = (2, 13)


class OnDevice(np.ndarray):
    """The form of an array on a device: dtype, sizes, strides and *device* addresses, as NumPy describes them.

    Its elements are not the host's to touch.
    """

    owner: DeviceArray


class Form(NamedTuple):
    """What a `DeviceArray` is made with of an array; strides in bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    @staticmethod
    def of(dtype: np.dtype[Any], shape: tuple[int, ...], steps: Sequence[int]) -> Form:
        """With strides that count elements."""
        return Form(shape, dtype, tuple(step * dtype.itemsize for step in steps))

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class DeviceArray:
    """An array in the memory of a device; what it keeps alive is given back with it.

    `numpy()` and ``np.asarray`` copy it to the host; on a CUDA device ``__cuda_array_interface__`` gives it away.
    """

    def __init__(self, device: GpuDevice, address: int, form: Form | np.ndarray, keep: Any = None, owned: bool = False):
        self._device, self._keep, self.address = device, keep, address
        self.shape, self.dtype, self.strides = form.shape, form.dtype, form.strides
        #: The array of another library that this is, whether it may be written to, and the stream that it names.
        self.original: Any = None
        self.writeable, self.stream = True, None
        if owned:
            # Not `__del__`: at the interpreter's end the device may be gone before the last arrays.
            weakref.finalize(self, device.free, address).atexit = False

    @staticmethod
    def empty(device: GpuDevice, like: Form | np.ndarray) -> DeviceArray:
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
        """Another library's array, which it keeps alive: by DLPack, or ``__cuda_array_interface__`` (versions 2, 3).

        What is queued on the device from now on waits for what the library queued on the array's stream.  ValueError
        where it starts at an address that kernels cannot read from.
        """
        if hasattr(type(other), "__dlpack__"):
            from .dlpack import take

            taken, stream = take(other.__dlpack__(stream=device.stream_handle)), None
        else:
            taken = _by_interface(other)
            given = other.__cuda_array_interface__
            stream = given.get("stream")
            # Version 2 says nothing of streams; in version 3, None is that there is nothing to wait for.
            if given["version"] < 3:
                device.wait_for_others()
            elif stream is not None:
                device.wait_for(stream)
        if taken.address % ALIGNMENT:
            raise ValueError(
                f"a device array at an address that is no multiple of {ALIGNMENT} bytes: pass a copy of it"
            )
        made = DeviceArray(device, taken.address, Form(taken.shape, taken.dtype, taken.strides), keep=taken.keep)
        made.original, made.writeable, made.stream = other, taken.writeable, stream
        return made

    def used(self) -> None:
        """Let another library, of which this is an array, use the memory again only after what was queued with it."""
        if self.stream is not None:
            self._device.let_wait(self.stream)
        elif self.original is not None:
            self._device.keep_until_done((self.original, self._keep))

    @property
    def T(self) -> DeviceArray:
        """The same memory with dims in the opposite order."""
        form = self.form().T
        return DeviceArray(self._device, self.address, form, keep=self)

    @property
    def device(self) -> str:
        """The name of the device."""
        return self._device.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def form(self) -> OnDevice:
        """What NumPy can say of it: no element may be read or written through this."""
        low = size = 0
        if 0 not in self.shape:
            reach = [s * (n - 1) for s, n in zip(self.strides, self.shape)]
            low, size = sum(min(0, r) for r in reach), sum(map(abs, reach)) + self.dtype.itemsize
        memory: Any = (ctypes.c_char * size).from_address(self.address + low)
        made = OnDevice(self.shape, self.dtype, memory, -low, self.strides)
        made.owner = self
        made.flags.writeable = self.writeable
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
        """Version 3 of the interface, once the elements are there.  Only arrays on a CUDA device have it.

        Some libraries that take it ignore its stream, so it has none and this waits; `__dlpack__` does not.
        """
        if not self.device.startswith("cuda:"):
            raise AttributeError(f"an array on {self.device} is none of CUDA's")
        self._device.synchronize()
        data = (self.address, False)
        return {
            "version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": self.strides,
            "stream": None,
        }  # fmt: skip

    def __dlpack_device__(self) -> tuple[int, int]:
        """Of an array on ``cuda:N`` that it is CUDA's device N.  BufferError where it is none of CUDA's."""
        kind, _, number = self.device.partition(":")
        if kind != "cuda":
            raise BufferError(f"an array on {self.device} is none of CUDA's")
        return _CUDA[0], int(number)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the memory, for ``from_dlpack`` of other libraries; whoever takes it keeps the array alive.

        The host does not wait: their `stream` does (None and 1: the legacy default stream; 2: that of the thread; -1:
        none).  Capsules are of the unversioned kind, whatever `max_version` allows.  BufferError where a copy is asked
        for, or another device.
        """
        del max_version
        here = self.__dlpack_device__()
        if copy or dl_device not in (None, here):
            raise BufferError(f"an array on {self.device} is given away where it is, without a copy")
        if stream != -1:
            self._device.let_wait(1 if stream is None else stream)
        from .dlpack import give

        return give(self, self.address, self, here)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name}, device={self.device!r})"


def _by_interface(other: Any) -> Taken:
    from .dlpack import Taken

    given = other.__cuda_array_interface__
    dtype, shape = np.dtype(given["typestr"]), tuple(given["shape"])
    strides = given.get("strides") or [dtype.itemsize * math.prod(shape[d + 1 :]) for d in range(len(shape))]
    address, read_only = given["data"]
    return Taken(address or 0, dtype, shape, tuple(strides), other, not read_only)


def place_of(value: Any) -> str:
    """The device that an array is on: ``ptx-sim``, ``cuda:N``, `SOME_GPU`; empty: none.

    PyTorch and JAX have one type of array for all devices, so it is the array that is asked.
    """
    if isinstance(value, DeviceArray):
        return value.device
    if hasattr(type(value), "__dlpack_device__"):
        kind, number = value.__dlpack_device__()
        return f"cuda:{number}" if kind in _CUDA else ""
    return SOME_GPU if hasattr(type(value), "__cuda_array_interface__") else ""


def is_device_array(value: Any) -> bool:
    """Whether it is a `DeviceArray`, or another library's array on a GPU."""
    return bool(place_of(value))
