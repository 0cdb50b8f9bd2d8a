"""PTX that the NVIDIA driver compiles, and launches of its kernels, by the driver's own functions.

PyCUDA would pack a kernel's arguments one behind the other.  The driver takes such a buffer as it is, and a tensor map,
which is aligned to 64 bytes, does not lie where the sizes of the arguments before it end: on an H100 kernels read
sizes that were 0, and did nothing.  Given a pointer to each argument, the driver puts it where the kernel has it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_void_p

from .cuda_library import CudaLibrary, LibraryError
from .gpu_device import KernelLaunch, TensorMap

__all__ = ["LoadedModule"]

#: `CU_JIT_ERROR_LOG_BUFFER`, `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`, and how large ours is.
_ERROR_LOG, _ERROR_LOG_SIZE, _LOG_BYTES = 5, 6, 8192
#: `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
_MOST_SHARED = 8
#: More dynamic shared memory than this a kernel has to be allowed.
USUAL_SHARED = 48 << 10


class LoadedModule:
    """Kernels in the current context.  LibraryError with what the driver says where it does not take the PTX."""

    def __init__(self, library: CudaLibrary, ptx: str):
        self._library, self._handle = library, c_void_p()
        self._kernels: dict[str, _Kernel] = {}
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        try:
            library.call("cuModuleLoadDataEx", ctypes.byref(self._handle), c_char_p(ptx.encode()), 2, options, values)
        except LibraryError as error:
            raise LibraryError(log.value.decode(errors="replace").strip() or str(error)) from None

    def unload(self) -> None:
        """Give it back to the driver."""
        self._library.call("cuModuleUnload", self._handle)

    def allow(self, launch: KernelLaunch) -> None:
        """Let the kernel have as much shared memory as a launch takes."""
        self._kernel(launch).allow(launch.shared)

    def launch(self, launch: KernelLaunch, stream: int) -> None:
        """Queue a launch on a stream."""
        self._kernel(launch).launch(launch, stream)

    def _kernel(self, launch: KernelLaunch) -> _Kernel:
        kernel = self._kernels.get(launch.kernel)
        if kernel is None:
            function = c_void_p()
            name = c_char_p(launch.kernel.encode())
            self._library.call("cuModuleGetFunction", ctypes.byref(function), self._handle, name)
            kernel = self._kernels[launch.kernel] = _Kernel(self._library, function, launch.arguments)
        return kernel


class _Kernel:
    """A kernel with room for its arguments, which the driver copies when it launches."""

    def __init__(self, library: CudaLibrary, function: c_void_p, arguments: Sequence[int | TensorMap]):
        self._library, self._function = library, function
        self._values = library.values(arguments)
        self._pointers = (c_void_p * len(self._values))(*map(ctypes.addressof, self._values))
        self._allowed = USUAL_SHARED

    def allow(self, shared: int) -> None:
        if shared > self._allowed:
            self._library.call("cuFuncSetAttribute", self._function, _MOST_SHARED, shared)
            self._allowed = shared

    def launch(self, launch: KernelLaunch, stream: int) -> None:
        self.allow(launch.shared)
        for value, argument in zip(self._values, launch.arguments, strict=True):
            if isinstance(argument, TensorMap):
                value[:] = self._library.encoded(argument)
            else:
                value.value = argument
        self._library.call(
            "cuLaunchKernel", self._function, *launch.grid, *launch.block, launch.shared, stream, self._pointers, None
        )
