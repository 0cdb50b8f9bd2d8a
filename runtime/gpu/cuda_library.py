"""What PyCUDA does not have of the driver's API, or not as it is needed: modules, graphs, tensor maps, events.

By ctypes, from the library that PyCUDA has loaded.  Names, types and meaning: "CUDA Driver API Reference Manual" 12.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint8, c_uint64, c_void_p
from functools import lru_cache
from typing import Any

from .gpu_device import KernelLaunch, TensorMap

__all__ = ["MAP_BYTES", "PROTOTYPES", "CudaLibrary", "LibraryError", "NodeParameters", "RecordedGraph", "load"]

#: `CU_STREAM_CAPTURE_MODE_RELAXED`: what others do meanwhile, and what Python gives back, does not end a capture.
_RELAXED = 2
#: `CU_EVENT_DISABLE_TIMING`.
_NO_TIMING = 2
#: Bytes of a `CUtensorMap`, and what its address is a multiple of.
MAP_BYTES, _MAP_ALIGNMENT = 128, 64
#: `CU_TENSOR_MAP_DATA_TYPE_UINT8`, …, by the bytes of an element: nothing is computed.
_ELEMENTS = {1: 0, 2: 1, 4: 2, 8: 4}
#: `CU_TENSOR_MAP_INTERLEAVE_NONE`, `…_SWIZZLE_128B`, `…_L2_PROMOTION_L2_128B`, `…_FLOAT_OOB_FILL_NONE`.
_BOXES_OF_LINES = (0, 3, 2, 0)
#: Tensor maps that are kept.
_MOST_MAPS = 1024


class NodeParameters(ctypes.Structure):
    """`CUDA_KERNEL_NODE_PARAMS_v2`."""

    _fields_ = [
        ("function", c_void_p), ("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint),
        ("arguments", POINTER(c_void_p)), ("extra", POINTER(c_void_p)), ("kernel", c_void_p), ("context", c_void_p),
    ]  # fmt: skip


#: The types of the functions' parameters; all of them give a `CUresult`.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuModuleLoadDataEx": (POINTER(c_void_p), c_char_p, c_uint, POINTER(c_int), POINTER(c_void_p)),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (
        c_void_p, *[c_uint] * 6, c_uint, c_void_p, POINTER(c_void_p), POINTER(c_void_p),
    ),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamGetCaptureInfo_v2": (
        c_void_p, POINTER(c_int), POINTER(c_uint64), POINTER(c_void_p), POINTER(POINTER(c_void_p)), POINTER(c_size_t),
    ),
    "cuStreamEndCapture": (c_void_p, POINTER(c_void_p)),
    "cuGraphInstantiateWithFlags": (POINTER(c_void_p), c_void_p, c_uint64),
    "cuGraphKernelNodeGetParams_v2": (c_void_p, POINTER(NodeParameters)),
    "cuGraphExecKernelNodeSetParams_v2": (c_void_p, c_void_p, POINTER(NodeParameters)),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphExecDestroy": (c_void_p,),
    "cuGraphDestroy": (c_void_p,),
    "cuTensorMapEncodeTiled": (
        c_void_p, c_int, c_uint, c_void_p, POINTER(c_uint64), POINTER(c_uint64), POINTER(c_uint), POINTER(c_uint),
        c_int, c_int, c_int, c_int,
    ),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuEventDestroy_v2": (c_void_p,),
}  # fmt: skip


class LibraryError(Exception):
    """The driver says no; the text is what it says."""


def load() -> Any:
    """The driver's library, which PyCUDA has loaded."""
    return ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")


class CudaLibrary:
    """The driver's functions, by name: ``call("cuGraphLaunch", …)``.  LibraryError where one fails."""

    def __init__(self, library: Any):
        self._functions: dict[str, Callable[..., int]] = {}
        for name, parameters in PROTOTYPES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = parameters, c_int
            self._functions[name] = function
        #: The bytes of a tensor map that a kernel is given.  DeviceError where no device could take it.
        self.encoded = lru_cache(_MOST_MAPS)(self._encoded)

    def call(self, name: str, *arguments: Any) -> None:
        result = self._functions[name](*arguments)
        if result:
            said = c_char_p()
            self._functions["cuGetErrorString"](result, ctypes.byref(said))
            raise LibraryError(f"{name}: {(said.value or b'error %d' % result).decode()}")

    def values(self, arguments: Sequence[int | TensorMap]) -> list[Any]:
        """A kernel's arguments as C has them: 128 bytes of a tensor map, and 64-bit integers."""
        return [(c_uint8 * MAP_BYTES)(*self.encoded(a)) if isinstance(a, TensorMap) else c_int64(a) for a in arguments]

    def _encoded(self, tensor: TensorMap) -> bytes:
        tensor.check()
        room = (c_uint8 * (MAP_BYTES + _MAP_ALIGNMENT))()
        offset = -ctypes.addressof(room) % _MAP_ALIGNMENT
        dims = len(tensor.extents)
        # The driver counts dims from the contiguous one on.
        extents, strides = (
            (c_uint64 * len(sizes))(*reversed(sizes)) for sizes in (tensor.extents, tensor.strides or (0,))
        )
        box, neighbours = (c_uint * dims)(*reversed(tensor.box)), (c_uint * dims)(*[1] * dims)
        self.call(
            "cuTensorMapEncodeTiled", ctypes.addressof(room) + offset, _ELEMENTS[tensor.size], dims, tensor.address,
            extents, strides, box, neighbours, *_BOXES_OF_LINES,
        )  # fmt: skip
        return bytes(room[offset : offset + MAP_BYTES])

    def let_wait(self, waiting: int, stream: int) -> None:
        """What is queued on a stream from now on waits for what another one has been given until now."""
        event = c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), _NO_TIMING)
        try:
            self.call("cuEventRecord", event, stream)
            self.call("cuStreamWaitEvent", waiting, event, 0)
        finally:
            self.call("cuEventDestroy_v2", event)


class RecordedGraph:
    """Kernels as one thing to launch, one after the other.

    `launch` makes each of the launches on `stream`, which nothing else uses; none of them runs.
    """

    def __init__(
        self,
        library: CudaLibrary,
        stream: int,
        launches: Sequence[KernelLaunch],
        launch: Callable[[KernelLaunch], None],
    ):
        self._library = library
        self._graph, self._ready = c_void_p(), c_void_p()
        self._nodes: list[int] = []
        try:
            self._record(stream, launches, launch)
            library.call("cuGraphInstantiateWithFlags", ctypes.byref(self._ready), self._graph, 0)
            self._parameters = [self._parameters_of(node) for node in self._nodes]
        except BaseException:
            self.destroy()
            raise

    def destroy(self) -> None:
        """Give it back to the driver."""
        if self._ready:
            self._library.call("cuGraphExecDestroy", self._ready)
        if self._graph:
            self._library.call("cuGraphDestroy", self._graph)

    def _record(self, stream: int, launches: Sequence[KernelLaunch], launch: Callable[[KernelLaunch], None]) -> None:
        self._library.call("cuStreamBeginCapture_v2", stream, _RELAXED)
        try:
            for made in launches:
                launch(made)
                self._nodes.append(self._last_node(stream))
        finally:
            self._library.call("cuStreamEndCapture", stream, ctypes.byref(self._graph))

    def _last_node(self, stream: int) -> int:
        """What the next thing on a stream that is captured would depend on."""
        status, number, graph, count = c_int(), c_uint64(), c_void_p(), c_size_t()
        last = POINTER(c_void_p)()
        pointers = map(ctypes.byref, (status, number, graph, last, count))
        self._library.call("cuStreamGetCaptureInfo_v2", stream, *pointers)
        return last[0] or 0

    def _parameters_of(self, node: int) -> NodeParameters:
        made = NodeParameters()
        self._library.call("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(made))
        return made

    def change(self, position: int, launch: KernelLaunch) -> None:
        """Another grid, and other arguments, for the kernel at a position."""
        parameters = self._parameters[position]
        values = self._library.values(launch.arguments)
        parameters.arguments = (c_void_p * len(values))(*map(ctypes.addressof, values))
        parameters.extra = None
        parameters.grid[:], parameters.block[:], parameters.shared = launch.grid, launch.block, launch.shared
        node = self._nodes[position]
        self._library.call("cuGraphExecKernelNodeSetParams_v2", self._ready, node, ctypes.byref(parameters))

    def launch(self, stream: int) -> None:
        """Queue it on a stream."""
        self._library.call("cuGraphLaunch", self._ready, stream)
