"""What a GPU is to the rest of txc: memory, PTX that it loads, kernels that it launches.

`runtime/gpu/cuda.py` is a real one, `runtime/ptx_simulator/` one in NumPy.  Whoever runs a launch plan
(`compiler/gpu/`) knows only this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

__all__ = ["DeviceError", "GpuDevice", "GpuGraph", "GpuModule", "KernelLaunch", "TensorMap"]


class DeviceError(RuntimeError):
    """What went wrong on a device: no memory, PTX that it does not take, a kernel that failed or cannot be launched.

    `kernel` is the kernel's name, `ptx_line` the number of the PTX line (from 1) and `place` the user's line
    (``file:line``), each where it is known; `what` says what happened, without them.
    """

    code = "TX0410"

    def __init__(self, what: str, *, kernel: str = "", ptx_line: int = 0, place: str = ""):
        self.what, self.kernel, self.ptx_line, self.place = what, kernel, ptx_line, place
        where = [f"kernel {kernel}" if kernel else "", f"PTX line {ptx_line}" if ptx_line else "", place]
        known = ", ".join(w for w in where if w)
        super().__init__(f"{known}: {what}" if known else what)


class TensorMap(NamedTuple):
    """Memory that kernels copy in boxes: what a kernel's parameter of 128 bytes is made from.

    From `address` on there are elements of `size` bytes, so many along each dim; `strides`, in bytes, are those of all
    dims but the last, which is contiguous.  Of a `box`, lines of 128 bytes along the last dim, line l comes to lie with
    granule g of 16 bytes at place ``g ^ l % 8``; what a box has beyond the elements is zero.
    """

    address: int
    size: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]

    def check(self) -> None:
        """DeviceError where no device could take it, which the CUDA driver says without a reason.

        The conditions are those of ``cuTensorMapEncodeTiled`` ("CUDA Driver API", "Tensor Map Object Management").
        """
        dims, wrong = len(self.extents), ""
        if not 1 <= dims <= 5 or (len(self.strides), len(self.box)) != (dims - 1, dims):
            wrong = f"{dims} extents, {len(self.strides)} strides and {len(self.box)} sizes of a box"
        elif self.address % 16:
            wrong = f"address {self.address:#x} is no multiple of 16"
        elif not all(0 < extent <= 1 << 32 for extent in self.extents):
            wrong = f"extents {self.extents}: each is from 1 to 2**32"
        elif not all(0 < stride < 1 << 40 and stride % 16 == 0 for stride in self.strides):
            wrong = f"strides {self.strides}: each is a multiple of 16 bytes below 2**40"
        elif not all(0 < size <= 256 for size in self.box) or self.box[-1] * self.size != 128:
            wrong = f"boxes {self.box} of {self.size}-byte elements: at most 256 along a dim, 128 bytes along the last"
        if wrong:
            raise DeviceError(f"a tensor map that no device takes: {wrong}")


class KernelLaunch(NamedTuple):
    """A kernel's name, blocks of the grid, threads of a block, bytes of dynamic shared memory, and its arguments:
    tensor maps, addresses and 64-bit integers in the kernel's order.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: Sequence[int | TensorMap]


class GpuModule(Protocol):
    """Kernels of one PTX text, ready to be launched."""

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | TensorMap],
    ) -> None:
        """Queue a launch (the fields of a `KernelLaunch`) behind what the device was given before.

        Raises DeviceError, at the latest in `synchronize`.
        """
        ...

    def record(self, launches: Sequence[KernelLaunch]) -> GpuGraph:
        """Launches of kernels that were launched before, one after the other, as one thing to launch; nothing runs."""
        ...


class GpuGraph(Protocol):
    """Recorded launches."""

    def change(self, position: int, launch: KernelLaunch) -> None:
        """Let later launches of the graph have this one, of the same kernel, at a position."""
        ...

    def launch(self) -> None:
        """Queue all of them.  Raises DeviceError, at the latest in `synchronize`."""
        ...


class GpuDevice(Protocol):
    """A GPU, or what behaves as one.  All calls go to one queue and take effect in their order."""

    @property
    def name(self) -> str:
        """What the user calls it: ``ptx-sim``, ``cuda:0``."""
        ...

    @property
    def cpu(self) -> str:
        """What PTX is made for: ``sm_90a``."""
        ...

    def allocate(self, size: int) -> int:
        """The address of `size` bytes, a multiple of 256.  Raises DeviceError when there is no memory left."""
        ...

    def free(self, address: int) -> None:
        """Give back what `allocate` gave; what was queued before may still use it."""
        ...

    def write(self, address: int, array: np.ndarray) -> None:
        """Copy a C-contiguous array of the host to the device; the array may be changed once this returns."""
        ...

    def read(self, address: int, array: np.ndarray, *, written: bool = True) -> None:
        """Copy from the device to a C-contiguous array of the host, which holds the values once this returns.

        All of it is to have been `written`, which the simulator checks, unless nobody reads what was not.
        """
        ...

    def load(self, ptx: str) -> GpuModule:
        """Assemble PTX.  Raises DeviceError for a text that the device does not take."""
        ...

    @property
    def stream_handle(self) -> int:
        """CUDA's stream behind the queue, as other libraries are told of it."""
        ...

    def wait_for(self, stream: int) -> None:
        """What is queued from now on waits for what another library queued on a stream of its own until now."""
        ...

    def let_wait(self, stream: int) -> None:
        """What is queued on another library's stream from now on waits for what was queued here until now."""
        ...

    def keep_until_done(self, thing: object) -> None:
        """Hold a reference at least until what was queued until now is done."""
        ...

    def wait_for_others(self) -> None:
        """Wait until what other libraries of this process queued on the device, on whatever stream, is done."""
        ...

    def synchronize(self) -> None:
        """Wait until all that was queued is done.  Raises DeviceError where some of it failed."""
        ...

    def measured(self, work: Callable[[], None]) -> Mapping[str, float]:
        """Do the work, launches of one kernel, and say what can be measured of it, by name: time, or counts."""
        ...
