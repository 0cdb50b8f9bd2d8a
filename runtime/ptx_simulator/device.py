"""The device ``ptx-sim``: memory, modules of PTX, launches."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..gpu.gpu_device import DeviceError, KernelLaunch, TensorMap
from .execution.inlining import inlined
from .execution.perf_counters import KernelCounts
from .execution.program import Program, make_program
from .execution.resident_blocks import Batch, Launch
from .execution.scheduler import Scheduler
from .memory.global_memory import Heap
from .memory.tensor_maps import encoded
from .ptx.parser import parse
from .ptx.syntax import Module, Variable

__all__ = ["PtxModule", "PtxSimulator"]

#: Threads of a batch: enough that NumPy's cost of a call counts for little, few enough for the caches.
BATCH_THREADS = 1 << 14
#: A batch's shared and local memory together.
BATCH_BYTES = 1 << 26
#: "Compute Capabilities, Technical Specifications per Compute Capability".
MOST_THREADS, MOST_BLOCK, MOST_GRID = 1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535)
MOST_SHARED = 227 * 1024


class PtxSimulator:
    """A `GpuDevice` in NumPy.  `memory` is how many bytes it has; the host gives them as they are used.

    It stands for any GPU, since each instruction means the same on all that have it: `cpu` is what PTX is made for.
    """

    name = "ptx-sim"

    def __init__(self, memory: int = 1 << 31, cpu: str = "sm_90a"):
        self.cpu = cpu
        self.heap = Heap(memory)
        self.counts: dict[str, KernelCounts] | None = None

    def allocate(self, size: int) -> int:
        return self.heap.allocate(size)

    def free(self, address: int) -> None:
        self.heap.free(address)

    def write(self, address: int, array: np.ndarray) -> None:
        self.heap.write(address, array)

    def read(self, address: int, array: np.ndarray, *, written: bool = True) -> None:
        self.heap.read(address, array, written)

    def load(self, ptx: str) -> PtxModule:
        return PtxModule(self, parse(ptx))

    stream_handle = 0

    def wait_for(self, stream: int) -> None:
        """No other library has memory here."""

    let_wait = wait_for

    def keep_until_done(self, thing: object) -> None:
        """Launches have ended when they return."""

    def wait_for_others(self) -> None:
        """As `wait_for`."""

    def synchronize(self) -> None:
        """Launches have ended when they return."""

    @contextmanager
    def counting(self) -> Iterator[dict[str, KernelCounts]]:
        """Count what the launches inside do, by kernel."""
        before, self.counts = self.counts, {}
        try:
            yield self.counts
        finally:
            self.counts = before

    def measured(self, work: Callable[[], None]) -> dict[str, float]:
        """What the launches of the work count together (`KernelCounts.figures`)."""
        with self.counting() as counts:
            work()
        found: Counter[str] = Counter()
        for kernel in counts.values():
            found.update(kernel.figures())
        return dict(found)


class PtxModule:
    """Kernels of a PTX text on a simulator; its variables live in the device's memory while the module does."""

    def __init__(self, device: PtxSimulator, module: Module):
        self.device = device
        self.shared = 0
        self.dynamic_align = 1
        variables: dict[str, tuple[str, int]] = {}
        self._owned: list[int] = []
        # Not `__del__`: at the interpreter's end there may be nothing left that it needs.
        weakref.finalize(self, _free_all, device, self._owned).atexit = False
        open_ended = []
        for variable in module.variables.values():
            if variable.space == "shared":
                if variable.extern or not variable.size:
                    open_ended.append(variable)
                    continue
                self.shared = -(-self.shared // variable.align) * variable.align
                variables[variable.name] = "shared", self.shared
                self.shared += variable.size
            else:
                variables[variable.name] = variable.space, self._placed(variable)
        self.programs: dict[str, Program] = {}
        for function in module.functions.values():
            if function.is_kernel:
                inner = any(v.space == "shared" for v in function.variables.values())
                if inner and open_ended:
                    raise DeviceError(
                        "dynamic beside a function's own shared memory is not known", kernel=function.name
                    )
                align = max((v.align for v in open_ended), default=1)
                self.shared = -(-self.shared // align) * align
                dynamic = {v.name: ("shared", self.shared) for v in open_ended}
                self.programs[function.name] = make_program(inlined(function, module), variables | dynamic, self.shared)

    def _placed(self, variable: Variable) -> int:
        """A variable of global memory; what has no initial value is zero ("Initializers")."""
        address = self.device.allocate(variable.size)
        self._owned.append(address)
        data = (variable.data or b"").ljust(variable.size, b"\0")
        self.device.write(address, np.frombuffer(data, np.uint8))
        return address

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        arguments: Sequence[int | TensorMap],
    ) -> None:
        """Run a kernel to its end.  DeviceError for sizes no GPU takes, and for what a thread does wrong."""
        program = self.programs.get(kernel)
        if program is None:
            raise DeviceError(f"no kernel of this name; there are {', '.join(self.programs) or 'none'}", kernel=kernel)
        _check(program, grid, block, shared)
        launch = Launch(
            self.device.heap,
            grid,
            block,
            _packed(program, arguments),
            program.shared_bytes,
            shared,
            program.local_bytes,
            program.shared_grain,
        )
        memory = program.shared_bytes + shared + program.local_bytes * launch.slots
        together = max(1, min(BATCH_THREADS // launch.slots, BATCH_BYTES // max(memory, 1)))
        executed: Counter[int] = Counter()
        counts = self.device.counts.setdefault(kernel, KernelCounts()) if self.device.counts is not None else None
        with np.errstate(all="ignore"):
            for first in range(0, launch.blocks, together):
                batch = Batch(launch, first, min(together, launch.blocks - first), program.blank, counts)
                Scheduler(program, batch, executed).run()
        if counts is not None:
            counts.launches += 1
            for at, threads in executed.items():
                for name, times in program.blocks[at].classes.items():
                    counts.instructions[name] += times * threads

    def record(self, launches: Sequence[KernelLaunch]) -> PtxGraph:
        return PtxGraph(self, list(launches))


class PtxGraph:
    """Launches that are made one after the other."""

    def __init__(self, module: PtxModule, launches: list[KernelLaunch]):
        self._module, self._launches = module, launches

    def change(self, position: int, launch: KernelLaunch) -> None:
        self._launches[position] = launch

    def launch(self) -> None:
        for made in self._launches:
            self._module.launch(*made)


def _check(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int) -> None:
    name, function = program.function.name, program.function
    for what, sizes, most in (("grid", grid, MOST_GRID), ("block", block, MOST_BLOCK)):
        if len(sizes) != 3 or any(not 1 <= s <= m for s, m in zip(sizes, most, strict=True)):
            raise DeviceError(
                f"invalid launch: {what} {tuple(sizes)}; each size is from 1 to that of {most}", kernel=name
            )
    threads = block[0] * block[1] * block[2]
    if threads > MOST_THREADS:
        raise DeviceError(f"invalid launch: {threads} threads a block; at most {MOST_THREADS}", kernel=name)
    if function.required_threads is not None and tuple(block) != function.required_threads:
        raise DeviceError(
            f"invalid launch: block {tuple(block)}; .reqntid asks for {function.required_threads}", kernel=name
        )
    most = function.most_threads
    if most is not None and threads > most[0] * most[1] * most[2]:
        raise DeviceError(f"invalid launch: {threads} threads a block; .maxntid allows {most}", kernel=name)
    if not 0 <= shared <= MOST_SHARED - program.shared_bytes:
        raise DeviceError(
            f"invalid launch: {program.shared_bytes} + {shared} bytes of shared memory; at most {MOST_SHARED}",
            kernel=name,
        )


def _packed(program: Program, arguments: Sequence[int | TensorMap]) -> bytes:
    """Arguments as a kernel's parameters lie in memory."""
    parameters = program.function.parameters
    if len(arguments) != len(parameters):
        raise DeviceError(
            f"invalid launch: {len(arguments)} arguments; it has {len(parameters)} parameters",
            kernel=program.function.name,
        )
    data = bytearray()
    for value, parameter in zip(arguments, parameters, strict=True):
        data.extend(b"\0" * (-len(data) % parameter.align))
        if isinstance(value, TensorMap):
            data.extend(encoded(value))
        else:
            data.extend((int(value) & ((1 << 8 * parameter.size) - 1)).to_bytes(parameter.size, "little"))
    return bytes(data)


def _free_all(device: PtxSimulator, addresses: Iterable[int]) -> None:
    for address in addresses:
        device.free(address)
