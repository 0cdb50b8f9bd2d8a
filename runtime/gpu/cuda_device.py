"""One NVIDIA GPU: its primary context, a stream, recycled memory, copies through pinned memory, modules."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from . import cuda_library
from .cuda_driver import NoDevice, architecture, text_of
from .cuda_library import CudaLibrary, LibraryError, RecordedGraph
from .cuda_module import LoadedModule
from .device_pool import DevicePool
from .gpu_device import DeviceError, KernelLaunch, TensorMap

__all__ = ["CudaDevice", "CudaGraph", "CudaModule"]

#: Copies between host and device go through two pinned buffers of this size, one filled while the other is copied.
STAGING_BYTES = 4 << 20
#: `CU_STREAM_NON_BLOCKING`: what other libraries do on the default stream is not waited for.
_NON_BLOCKING = 1


class CudaDevice:
    """A `GpuDevice`.  The context is the primary one of the process, which PyTorch, CuPy and JAX use as well."""

    def __init__(self, driver: Any, number: int):
        count = driver.Device.count()
        if number >= count:
            there = ", ".join(f"cuda:{n}" for n in range(count))
            raise NoDevice(f"the NVIDIA driver finds {there}; CUDA_VISIBLE_DEVICES says which it shows")
        device = driver.Device(number)
        self.driver, self.name = driver, f"cuda:{number}"
        self.cpu = architecture(device.compute_capability())
        try:
            self.context = device.retain_primary_context()
            self.context.push()
        except driver.Error as error:
            raise NoDevice(f"{device.name()} is there and cannot be used now: {text_of(error)}") from None
        try:
            self.stream = driver.Stream()
            self._staging = _Staging(driver, self.stream)
        finally:
            driver.Context.pop()
        self._allocations: dict[int, Any] = {}
        self._pool = DevicePool(self._new, self._drop, driver.MemoryError, self.name)
        self._lock = threading.RLock()
        self._current = _Current(self, self._lock)
        #: What kernels may still use, each with an event that comes after them.
        self._held: deque[tuple[Any, object]] = deque()
        #: Kernels launched since it was last known that all went well.
        self._pending: dict[str, None] = {}

    def current(self) -> _Current:
        """The context is this thread's; what the driver says is wrong becomes a DeviceError."""
        return self._current

    def failed(self, error: BaseException) -> DeviceError:
        """Kernels run behind the host's back, so an error may be that of any that was launched since the last wait."""
        suspects, self._pending = [*self._pending], {}
        said = text_of(error)
        if len(suspects) == 1:
            return DeviceError(said, kernel=suspects[0])
        among = f" (in one of {', '.join(suspects)}; CUDA_LAUNCH_BLOCKING=1 tells in which)" if suspects else ""
        return DeviceError(f"{self.name}: {said}{among}")

    # Memory

    def _new(self, size: int) -> int:
        allocation = self.driver.mem_alloc(size)
        self._allocations[int(allocation)] = allocation
        return int(allocation)

    def _drop(self, address: int) -> None:
        self._allocations.pop(address).free()

    @property
    def used(self) -> int:
        """Bytes that calls and arrays hold now."""
        return self._pool.used

    def allocate(self, size: int) -> int:
        with self.current():
            return self._pool.take(size)

    def free(self, address: int) -> None:
        with self._lock:
            self._pool.give(address)

    def release(self) -> None:
        """Give memory that nothing uses back to the driver, for other libraries."""
        with self.current():
            self.stream.synchronize()
            self._pool.release()

    def write(self, address: int, array: np.ndarray) -> None:
        with self.current():
            self._staging.write(address, array)

    def read(self, address: int, array: np.ndarray, *, written: bool = True) -> None:
        with self.current():
            self._staging.read(address, array)
            self._pending.clear()

    def copy(self, target: int, source: int, size: int) -> None:
        """Queue a copy from one place on the device to another."""
        with self.current():
            self.driver.memcpy_dtod_async(target, source, size, self.stream)

    # Kernels

    def load(self, ptx: str) -> CudaModule:
        with self.current():
            try:
                return CudaModule(self, LoadedModule(self.library, ptx))
            except LibraryError as error:
                raise DeviceError(f"{self.name} does not take the PTX: {error}") from None

    def launched(self, kernels: Iterable[str]) -> None:
        """Remember what may be at fault if the device says that something failed."""
        self._pending.update(dict.fromkeys(kernels))

    @cached_property
    def library(self) -> CudaLibrary:
        """What PyCUDA does not have of the driver."""
        return CudaLibrary(cuda_library.load())

    @cached_property
    def recorder(self) -> Any:
        """A stream that launches are recorded on."""
        return self.driver.Stream(_NON_BLOCKING)

    def give_back(self, free: Callable[[], None]) -> None:
        """Free something of the driver's, from whatever thread lets go of it last."""
        with self.current():
            free()

    def synchronize(self) -> None:
        with self.current():
            self.stream.synchronize()
            self._pending.clear()
            self._held.clear()

    @property
    def stream_handle(self) -> int:
        return self.stream.handle

    def wait_for(self, stream: int) -> None:
        with self.current():
            self.library.let_wait(self.stream.handle, stream)

    def let_wait(self, stream: int) -> None:
        with self.current():
            self.library.let_wait(stream, self.stream.handle)

    def keep_until_done(self, thing: object) -> None:
        with self.current():
            while self._held and self._held[0][0].query():
                self._held.popleft()
            done = self.driver.Event()
            done.record(self.stream)
            self._held.append((done, thing))

    def wait_for_others(self) -> None:
        with self.current():
            self.driver.Context.synchronize()

    def measured(self, work: Callable[[], None]) -> dict[str, float]:
        """Microseconds, by events of the device."""
        return {"µs": self.seconds(work) * 1e6}

    def seconds(self, work: Callable[[], None]) -> float:
        """How long the device takes for what `work` queues."""
        with self.current():
            first, last = self.driver.Event(), self.driver.Event()
            first.record(self.stream)
            work()
            last.record(self.stream)
            last.synchronize()
            return last.time_since(first) * 1e-3


class _Current:
    """A device's context made that of a thread, for as long as it has the lock; inside of itself it does nothing."""

    def __init__(self, device: CudaDevice, lock: threading.RLock):
        self._device, self._lock = device, lock
        self._depth, self._process = 0, os.getpid()

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            raise DeviceError(
                f"{self._device.name} belongs to the process that forked this one: start processes by the method "
                "'spawn'"
            )
        self._lock.acquire()
        if not self._depth:
            try:
                self._device.context.push()
            except BaseException:
                self._lock.release()
                raise
        self._depth += 1

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._depth -= 1
        try:
            if not self._depth:
                self._device.driver.Context.pop()
        finally:
            self._lock.release()
        if error is not None and isinstance(error, (self._device.driver.Error, LibraryError)):
            raise self._device.failed(error) from error


class CudaModule:
    """Kernels in a GPU's context; they are given back to the driver with it."""

    def __init__(self, device: CudaDevice, module: LoadedModule):
        self._device, self.loaded = device, module
        # Not `__del__`: at the interpreter's end the driver may be gone.
        weakref.finalize(self, device.give_back, module.unload).atexit = False

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | TensorMap],
    ) -> None:
        with self._device.current():
            self._device.launched((kernel,))
            self.loaded.launch(KernelLaunch(kernel, grid, block, shared, arguments), self._device.stream.handle)

    def record(self, launches: Sequence[KernelLaunch]) -> CudaGraph:
        device = self._device
        with device.current():
            stream = device.recorder.handle
            graph = RecordedGraph(device.library, stream, launches, lambda made: self.loaded.launch(made, stream))
        return CudaGraph(device, self, graph, [made.kernel for made in launches])


class CudaGraph:
    """Recorded launches of a module's kernels; the driver's graph is given back with it."""

    def __init__(self, device: CudaDevice, module: CudaModule, graph: RecordedGraph, kernels: Sequence[str]):
        self._device, self._module, self._graph, self._kernels = device, module, graph, dict.fromkeys(kernels)
        # Not `__del__`: at the interpreter's end the driver may be gone.
        weakref.finalize(self, device.give_back, graph.destroy).atexit = False

    def change(self, position: int, launch: KernelLaunch) -> None:
        with self._device.current():
            self._module.loaded.allow(launch)
            self._graph.change(position, launch)

    def launch(self) -> None:
        with self._device.current():
            self._device.launched(self._kernels)
            self._graph.launch(self._device.stream.handle)


class _Staging:
    """Copies of any size through two pinned buffers: the device reads and writes no other memory at full speed."""

    def __init__(self, driver: Any, stream: Any):
        self._driver, self._stream = driver, stream
        self._buffers = [driver.pagelocked_empty(STAGING_BYTES, np.uint8) for _ in range(2)]
        self._done = [driver.Event() for _ in range(2)]

    def _parts(self, memory: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """The number of the buffer, offset and bytes of each part."""
        for i, offset in enumerate(range(0, memory.size, STAGING_BYTES)):
            yield i % 2, offset, memory[offset : offset + STAGING_BYTES]

    def write(self, address: int, array: np.ndarray) -> None:
        for which, offset, part in self._parts(array.reshape(-1).view(np.uint8)):
            self._done[which].synchronize()
            pinned = self._buffers[which][: part.size]
            pinned[...] = part
            self._driver.memcpy_htod_async(address + offset, pinned, self._stream)
            self._done[which].record(self._stream)

    def read(self, address: int, array: np.ndarray) -> None:
        waiting: tuple[int, np.ndarray] | None = None
        for which, offset, part in self._parts(array.reshape(-1).view(np.uint8)):
            self._done[which].synchronize()
            self._driver.memcpy_dtoh_async(self._buffers[which][: part.size], address + offset, self._stream)
            self._done[which].record(self._stream)
            if waiting is not None:
                self._taken(*waiting)
            waiting = which, part
        if waiting is not None:
            self._taken(*waiting)

    def _taken(self, which: int, part: np.ndarray) -> None:
        self._done[which].synchronize()
        part[...] = self._buffers[which][: part.size]
