"""A function on a device: its kernels, loaded, and its launch plan as a Python function."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.gpu.device_array import OnDevice
from ...runtime.gpu.gpu_device import DeviceError, KernelLaunch, TensorMap
from ..config import knobs
from ..config.devices import device_lock, gpu_device
from .graph_replay import Replays
from .launch_plan import Allocate, Bind, Compute, EncodeTensorMap, For, If, Launch, Load, Plan, Step, While

if TYPE_CHECKING:
    from ...runtime.gpu.gpu_device import GpuDevice, GpuModule
    from ..driver.executable import CodeSpec, Prepared

__all__ = ["GpuCode"]

#: As many blocks as a grid may have; kernels step by the size of the grid, so fewer than asked for do all the work.
MOST_BLOCKS = 2**31 - 1
_OPERATORS = {
    "eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">=",
    "and": "&", "or": "|", "xor": "^", "add": "+", "subtract": "-", "shift": "<<",
}  # fmt: skip


class GpuCode:
    """What `Executable` runs for a function that is compiled for a GPU: copies to the device, launches, copies back."""

    #: Calls from Python have no entry of machine code.
    entry, linked = 0, True

    def __init__(self, device: str, ptx: str, plan: Plan, code: CodeSpec):
        self.device_name, self.ptx, self.plan, self.code = device, ptx, plan, code
        self._lock = threading.Lock()
        self._loaded: GpuModule | None = None

    @cached_property
    def device(self) -> GpuDevice:
        """The device; OptionError where there is none of that name."""
        return gpu_device(self.device_name)

    @property
    def module(self) -> GpuModule:
        """The kernels on the device, loaded when they are first needed."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self.device.load(self.ptx)
            return self._loaded

    def run(self, arrays: Sequence[np.ndarray], inputs: int, prepared: Prepared, threads: int) -> None:
        """Run it on arrays, the first `inputs` of which are the arguments; results are in the others.

        Those of the host are copied to the device and back, those on it (`OnDevice`) are used as they are; where all
        results are there, they are only queued when this returns.  Threads of the host have nothing to do here.  Raises
        DeviceError with the kernel's name and the user's line.
        """
        self.watched(arrays, inputs, prepared, None)

    def watched(
        self,
        arrays: Sequence[np.ndarray],
        inputs: int,
        prepared: Prepared,
        around: Callable[[KernelLaunch, Callable[[], None]], None] | None,
    ) -> None:
        """As `run`; `around` is called with each launch and what makes it."""
        with device_lock(self.device_name), _Call(self.device, self.code.partial) as call:
            addresses = [call.place(a, filled=i < inputs) for i, a in enumerate(arrays)]
            arena = call.allocate(prepared.arena)
            self.queue(prepared, addresses, arena, around)
            if any(not isinstance(array, OnDevice) for array in arrays[inputs:]):
                self._wait()
            for array in arrays:
                if isinstance(array, OnDevice):
                    array.owner.used()
            word = self.code.check_word
            if word >= 0:
                call.fetch(addresses[word], arrays[word])
            # Behind a check that failed results are never written; what was written in place until then stays.
            done = word < 0 or isinstance(arrays[word], OnDevice) or not arrays[word]
            for i, array in enumerate(arrays):
                if i in self.code.written or (done and i >= inputs):
                    call.fetch(addresses[i], array)

    def queue(
        self,
        prepared: Prepared,
        addresses: Sequence[int],
        arena: int,
        around: Callable[[KernelLaunch, Callable[[], None]], None] | None = None,
    ) -> None:
        """Launch the kernels of a call whose buffers and temporaries are at these addresses; errors as of `run`."""
        module = self.module

        def plain(made: KernelLaunch) -> None:
            module.launch(*made)

        def watched(made: KernelLaunch) -> None:
            assert around is not None
            around(made, lambda: plain(made))

        def steps(launch: Callable[[KernelLaunch], None]) -> None:
            self._steps(launch, self._read, arena, prepared.symbols, addresses)

        try:
            if around is not None:
                steps(watched)
            elif self._replays is not None and knobs.GPU_GRAPHS.get():
                self._replays.run(module, (*prepared.symbols, arena, *addresses), steps)
            else:
                steps(plain)
        except DeviceError as error:
            raise self._placed(error) from error

    def _wait(self) -> None:
        try:
            self.device.synchronize()
        except DeviceError as error:
            raise self._placed(error) from error

    def _read(self, address: int, dtype: str) -> Any:
        """One element, read back to the host once all that was launched before is done."""
        element = np.empty(1, dtype)
        self.device.read(address, element)
        return element[0].item()

    def _placed(self, error: DeviceError) -> DeviceError:
        """The error with the user's line, which the plan knows of each kernel."""
        if error.place:
            return error
        place = next((k.place for k in self.plan.kernels if k.name == error.kernel), "")
        return DeviceError(error.what, kernel=error.kernel, ptx_line=error.ptx_line, place=place)

    @cached_property
    def _steps(self) -> Callable[..., None]:
        return _StepsWriter(self.plan, self.code).compile()

    @cached_property
    def _replays(self) -> Replays | None:
        """Graphs of launches, where it is known what to launch before anything has run."""
        return None if self.plan.one_by_one else Replays()


class _Call:
    """The memory of one call on a device, given back when it ends, whatever way.

    Where code is `partial`, results may hold what nobody wrote.
    """

    def __init__(self, device: GpuDevice, partial: bool):
        self.device, self.partial = device, partial
        self._taken: list[int] = []

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *_: object) -> None:
        for address in reversed(self._taken):  # so that the next such call has the same addresses
            self.device.free(address)

    def allocate(self, size: int) -> int:
        """The address of memory for this call; 0 where there is nothing to hold."""
        if not size:
            return 0
        address = self.device.allocate(size)
        self._taken.append(address)
        return address

    def place(self, array: np.ndarray, filled: bool) -> int:
        """Memory that is laid out as that of an array, with its values where `filled`: the address of the first."""
        if isinstance(array, OnDevice):
            return array.owner.address
        low, memory = _memory_of(array)
        address = self.allocate(memory.size)
        if filled and memory.size:
            self.device.write(address, memory)
        return address + array.ctypes.data - low if address else 0

    def fetch(self, address: int, array: np.ndarray) -> None:
        """Copy back what a call wrote.  Of an array with gaps only the elements: others may use what lies between."""
        if isinstance(array, OnDevice):
            return
        low, memory = _memory_of(array)
        if not memory.size:
            return
        start = address - (array.ctypes.data - low)
        if memory.size == array.nbytes:
            self.device.read(start, memory, written=not self.partial)
            return
        copied = np.empty(memory.size, np.uint8)
        self.device.read(start, copied, written=not self.partial)
        array[...] = np.ndarray(array.shape, array.dtype, copied.data, array.ctypes.data - low, array.strides)


def _memory_of(array: np.ndarray) -> tuple[int, np.ndarray]:
    """The first address and all bytes from the first to the last element of an array, whatever its strides."""
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    return low, np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))


#: A symbol in the text of a dim; the compiler's own begin with dots.
_NAME = re.compile(r"(?:[.$]|[^\W\d])[\w.$]*")


class _StepsWriter:
    """Writes the Python function that makes a plan's steps: ``steps(launch, read, arena, symbols, buffers)``.

    `launch` takes a `KernelLaunch`; of a grid without blocks there is none.
    """

    def __init__(self, plan: Plan, code: CodeSpec):
        self.plan, self.code = plan, code
        self.kernels = {kernel.name: kernel for kernel in plan.kernels}
        self.names = {symbol: f"s{i}" for i, symbol in enumerate(code.symbols)}
        self.lines: list[str] = []

    def compile(self) -> Callable[..., None]:
        if self.code.symbols:
            self._line(1, f"{''.join(f'{self.names[s]}, ' for s in self.code.symbols)}= symbols")
        if self.code.buffers:
            self._line(1, f"{''.join(f'b{i}, ' for i in range(len(self.code.buffers)))}= buffers")
        self._steps(self.plan.steps, 1)
        source = "\n".join(["def steps(launch, read, arena, symbols, buffers):", "    pass", *self.lines, ""])
        scope: dict[str, Any] = {"KernelLaunch": KernelLaunch, "TensorMap": TensorMap}
        exec(compile(source, f"<launches of {self.code.function}>", "exec"), scope)
        return scope["steps"]

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _steps(self, steps: Sequence[Step], depth: int) -> None:
        for step in steps:
            self._step(step, depth)

    def _block(self, steps: Sequence[Step], depth: int) -> None:
        self._line(depth, "pass")
        self._steps(steps, depth)

    def _step(self, step: Step, depth: int) -> None:
        match step:
            case Allocate(name, offset):
                self._line(depth, f"{name} = arena + {self._dim(offset)}")
            case EncodeTensorMap(name, buffer, first, size, extents, between, box):
                counts = "".join(f"{self._dim(d)}, " for d in extents)
                strides = "".join(f"{size} * {self._dim(d)}, " for d in between)
                what = f"{buffer} + {size} * {self._dim(first)}, {size}, ({counts}), ({strides}), {box!r}"
                self._line(depth, f"{name} = TensorMap({what})")
            case Launch(kernel, blocks, buffers, integers):
                used = self.kernels[kernel]
                self._line(depth, f"blocks = min({self._dim(blocks)}, {MOST_BLOCKS})")
                sizes = f"(blocks, 1, 1), ({used.threads}, 1, 1), {self._dim(used.shared)}"
                given = "".join(f"{argument}, " for argument in (*buffers, *map(self._dim, integers)))
                self._line(depth, f"if blocks > 0: launch(KernelLaunch({kernel!r}, {sizes}, ({given})))")
            case Load(name, buffer, dtype, at):
                size = np.dtype(dtype).itemsize
                self._line(depth, f"{name} = read({buffer} + {size} * ({self._dim(at)}), {dtype!r})")
            case Compute(name, operation, operands):
                self._line(depth, f"{name} = {self._computed(operation, operands)}")
            case Bind(symbol, value):
                self._line(depth, f"{self._new(symbol)} = {value}")
            case For(symbol, lower, upper, by, body, until):
                bounds = ", ".join(map(self._dim, (lower, upper, by)))
                self._line(depth, f"for {self._new(symbol)} in range({bounds}):")
                self._block(body, depth + 1)
                if until:
                    self._line(depth + 1, f"if {until}: break")
            case While(condition, value, body):
                self._line(depth, "while True:")
                self._block(condition, depth + 1)
                self._line(depth + 1, f"if not {value}: break")
                self._steps(body, depth + 1)
            case If(value, then, otherwise):
                self._line(depth, f"if {value}:")
                self._block(then, depth + 1)
                self._line(depth, "else:")
                self._block(otherwise, depth + 1)

    def _computed(self, operation: str, operands: Sequence[str]) -> str:
        if operation == "index":
            return self._dim(operands[0])
        if operation == "constant":
            return operands[0]
        if operation == "select":
            return "{1} if {0} else {2}".format(*operands)
        if operation == "divide":
            return "{0} // {1} if ({0} < 0) == ({1} < 0) else -(-{0} // {1})".format(*operands)
        return f" {_OPERATORS[operation]} ".join(operands)

    def _new(self, symbol: str) -> str:
        return self.names.setdefault(symbol, f"s{len(self.names)}")

    def _dim(self, text: str) -> str:
        return "(" + _NAME.sub(lambda m: m[0] if m[0] in ("min", "max") else self.names[m[0]], text) + ")"
