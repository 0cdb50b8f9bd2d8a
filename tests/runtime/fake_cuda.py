"""Stand-ins for ``pycuda.driver`` and the driver's library: what txc uses, over host memory, with obedient GPUs."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from txc.runtime.gpu.cuda_library import MAP_BYTES, PROTOTYPES
from txc.runtime.gpu.gpu_device import KernelLaunch, TensorMap
from txc.runtime.ptx_simulator import PtxModule, PtxSimulator
from txc.runtime.ptx_simulator.memory.tensor_maps import decoded, encoded

BASE = 1 << 40


class Error(Exception):
    pass


class FakeMemoryError(Error):
    pass


class Refused(Exception):
    """A function of the library says no."""


@dataclass
class FakeDriver:
    """`capabilities` are those of the GPUs there are; the flags make calls fail."""

    capabilities: list[tuple[int, int]] = field(default_factory=lambda: [(9, 0)])
    version: int = 12040
    broken: str = ""
    busy: str = ""
    room: int = 1 << 30
    refuses: str = ""
    fails_later: str = ""
    log: list[Any] = field(default_factory=list)
    memory: dict[int, np.ndarray] = field(default_factory=dict)
    depth: int = 0
    streams: int = 0
    idle: bool = True
    waits_of_context: int = 0
    #: The launches of the stream that is captured, by its handle.
    captured: dict[int, list[Captured]] = field(default_factory=dict)

    Error = Error
    MemoryError = FakeMemoryError

    def init(self) -> None:
        if self.broken:
            raise Error(f"cuInit failed: {self.broken}")

    def get_driver_version(self) -> int:
        return self.version

    @property
    def Device(self) -> Any:
        driver = self

        class Device:
            def __init__(self, number: int):
                self.number = number

            @staticmethod
            def count() -> int:
                return len(driver.capabilities)

            def compute_capability(self) -> tuple[int, int]:
                return driver.capabilities[self.number]

            def name(self) -> str:
                return f"Fake GPU {self.number}"

            def total_memory(self) -> int:
                return driver.room

            def retain_primary_context(self) -> Any:
                if driver.busy:
                    raise Error(f"cuDevicePrimaryCtxRetain failed: {driver.busy}")
                return Context(driver)

        return Device

    @property
    def Context(self) -> Any:
        return Context(self)

    def Stream(self, flags: int = 0) -> Any:
        self.streams += 1
        return Stream(self, flags, 0x5000 + self.streams)

    def Event(self) -> Any:
        return Event(self)

    def pagelocked_empty(self, size: int, dtype: Any) -> np.ndarray:
        return np.empty(size, dtype)

    def mem_alloc(self, size: int) -> Any:
        assert self.depth, "no context is current"
        if sum(b.size for b in self.memory.values()) + size > self.room:
            raise FakeMemoryError("cuMemAlloc failed: out of memory")
        address = BASE + (len(self.log) << 32)
        self.log.append(("allocate", size))
        self.memory[address] = np.zeros(size, np.uint8)
        return Allocation(self, address)

    def _at(self, address: int, size: int) -> np.ndarray:
        start = max(a for a in self.memory if a <= address)
        return self.memory[start][address - start : address - start + size]

    def memcpy_htod_async(self, address: int, array: np.ndarray, stream: Any) -> None:
        assert self.depth and isinstance(stream, Stream)
        self._at(address, array.size)[...] = array

    def memcpy_dtoh_async(self, array: np.ndarray, address: int, stream: Any) -> None:
        assert self.depth and isinstance(stream, Stream)
        array[...] = self._at(address, array.size)

    def module(self, ptx: str) -> Module:
        return Module(self, parameters_of(ptx))


class SimulatedDriver(FakeDriver):
    """A driver whose GPU of compute capability 9.0 is the PTX simulator: kernels do what they are to do."""

    def __init__(self) -> None:
        super().__init__()
        self.gpu = PtxSimulator(1 << 28)

    def mem_alloc(self, size: int) -> Any:
        assert self.depth, "no context is current"
        if size > self.room:
            raise FakeMemoryError("cuMemAlloc failed: out of memory")
        self.log.append(("allocate", size))
        return SimulatedAllocation(self.gpu, self.gpu.allocate(size))

    def memcpy_htod_async(self, address: int, array: np.ndarray, stream: Any) -> None:
        self.gpu.write(address, array)

    def memcpy_dtoh_async(self, array: np.ndarray, address: int, stream: Any) -> None:
        self.gpu.read(address, array)

    def module(self, ptx: str) -> Module:
        return SimulatedModule(self, parameters_of(ptx), self.gpu.load(ptx))


def parameters_of(ptx: str) -> dict[str, list[bool]]:
    """Of each kernel, by name, whether its parameters are tensor maps; the others are 64-bit integers."""
    entries = re.findall(r"\.entry (\w+)\(([^)]*)\)", ptx)
    return {name: ["[128]" in p for p in parameters.split(",") if p.strip()] for name, parameters in entries}


@dataclass
class SimulatedAllocation:
    gpu: PtxSimulator
    address: int

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        self.gpu.free(self.address)


@dataclass
class Context:
    driver: FakeDriver

    def push(self) -> None:
        self.driver.depth += 1

    def pop(self) -> None:
        self.driver.depth -= 1

    def synchronize(self) -> None:
        assert self.driver.depth, "no context is current"
        self.driver.waits_of_context += 1


@dataclass
class Stream:
    driver: FakeDriver
    flags: int
    handle: int

    def synchronize(self) -> None:
        said, self.driver.fails_later = self.driver.fails_later, ""
        if said:
            raise Error(f"cuStreamSynchronize failed: {said}")


@dataclass
class Event:
    driver: FakeDriver

    def record(self, stream: Any) -> None:
        assert isinstance(stream, Stream)

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return self.driver.idle

    def time_since(self, other: Any) -> float:
        return 2.0


@dataclass
class Allocation:
    driver: FakeDriver
    address: int

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        self.driver.log.append(("free", self.driver.memory.pop(self.address).size))


@dataclass
class Module:
    driver: FakeDriver
    parameters: dict[str, list[bool]]

    def run(self, launch: KernelLaunch) -> None:
        self.driver.log.append(("launch", *launch))


@dataclass
class SimulatedModule(Module):
    simulated: PtxModule

    def run(self, launch: KernelLaunch) -> None:
        super().run(launch)
        self.simulated.launch(*launch)


@dataclass
class Function:
    module: Module
    name: str

    def arguments(self, pointers: Any) -> tuple[int | TensorMap, ...]:
        """What lies at the pointers that a launch is given, one for each parameter."""
        found: list[int | TensorMap] = []
        for i, is_map in enumerate(self.module.parameters[self.name]):
            at = pointers[i]
            found.append(decoded(ctypes.string_at(at, MAP_BYTES)) if is_map else ctypes.c_int64.from_address(at).value)
        return tuple(found)


@dataclass
class Captured:
    """A node of a graph."""

    function: Function
    launch: KernelLaunch


class FakeLibrary:
    """The driver's library: functions as ctypes calls them, with the types of their parameters in C.

    Handles of functions, nodes and graphs are numbers of what `things` has.
    """

    def __init__(self, driver: FakeDriver):
        self.driver = driver
        self.things: list[Any] = [None]
        self.refuses: dict[str, int] = {}
        for name, parameters in PROTOTYPES.items():
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(self._function(name)))

    def _function(self, name: str) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            if name in self.refuses:
                return self.refuses[name]
            try:
                getattr(self, f"_{name}")(*arguments)
            except Refused:
                return 218
            return 0

        return called

    def _handle(self, thing: Any) -> int:
        self.things.append(thing)
        return len(self.things) - 1

    def _cuGetErrorString(self, code: int, text: Any) -> None:
        text[0] = b"operation not supported"

    def _cuModuleLoadDataEx(self, module: Any, ptx: bytes, count: int, options: Any, values: Any) -> None:
        assert self.driver.depth and options[:count] == [5, 6]
        if self.driver.refuses:
            said = self.driver.refuses.encode() + b"\0"
            assert len(said) <= values[1]
            ctypes.memmove(values[0], said, len(said))
            raise Refused
        module[0] = self._handle(self.driver.module(ptx.decode()))

    def _cuModuleUnload(self, module: int) -> None:
        assert self.driver.depth
        self.things[module] = None
        self.driver.log.append(("unload",))

    def _cuModuleGetFunction(self, function: Any, module: int, name: bytes) -> None:
        function[0] = self._handle(Function(self.things[module], name.decode()))

    def _cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> None:
        assert attribute == 8
        self.driver.log.append(("most shared", value))

    def _cuLaunchKernel(self, function: int, *given: Any) -> None:
        *sizes, shared, stream, pointers, extra = given
        assert self.driver.depth and not extra
        called: Function = self.things[function]
        arguments = called.arguments(pointers)
        launch = KernelLaunch(called.name, (*sizes[:3],), (*sizes[3:],), shared, arguments)
        if stream in self.driver.captured:
            self.driver.captured[stream].append(Captured(called, launch))
        else:
            called.module.run(launch)

    def _cuStreamBeginCapture_v2(self, stream: int, mode: int) -> None:
        assert self.driver.depth and mode == 2
        self.driver.captured[stream] = []

    def _cuStreamGetCaptureInfo_v2(
        self, stream: int, status: Any, number: Any, graph: Any, nodes: Any, count: Any
    ) -> None:  # fmt: skip
        last = self._handle(self.driver.captured[stream][-1])
        self.last = (ctypes.c_void_p * 1)(last)
        status[0], count[0], nodes[0] = 1, 1, self.last

    def _cuStreamEndCapture(self, stream: int, graph: Any) -> None:
        graph[0] = self._handle(self.driver.captured.pop(stream))

    def _cuGraphInstantiateWithFlags(self, ready: Any, graph: int, flags: int) -> None:
        self.driver.log.append(("graph", len(self.things[graph])))
        ready[0] = self._handle(self.things[graph])

    def _cuGraphKernelNodeGetParams_v2(self, node: int, parameters: Any) -> None:
        captured: Captured = self.things[node]
        made = parameters[0]
        made.function = self._handle(captured.function)
        made.grid[:], made.block[:], made.shared = captured.launch.grid, captured.launch.block, captured.launch.shared

    def _cuGraphExecKernelNodeSetParams_v2(self, ready: int, node: int, parameters: Any) -> None:
        captured, given = self.things[node], parameters[0]
        assert any(captured is there for there in self.things[ready])
        function = self.things[given.function]
        arguments = function.arguments(given.arguments)
        sizes = tuple(given.grid), tuple(given.block), given.shared
        captured.function, captured.launch = function, KernelLaunch(function.name, *sizes, arguments)
        self.driver.log.append(("change", function.name))

    def _cuGraphLaunch(self, ready: int, stream: int) -> None:
        assert self.driver.depth
        self.driver.log.append(("replay", stream))
        for node in self.things[ready]:
            node.function.module.run(node.launch)

    def _cuGraphExecDestroy(self, ready: int) -> None:
        self.driver.log.append(("destroy", "exec"))

    def _cuGraphDestroy(self, graph: int) -> None:
        self.driver.log.append(("destroy", "graph"))

    def _cuTensorMapEncodeTiled(
        self, made: int, element: int, dims: int, address: int, extents: Any, strides: Any, box: Any, steps: Any,
        *how: int,
    ) -> None:  # fmt: skip
        assert made % 64 == 0 and steps[:dims] == [1] * dims and how == (0, 3, 2, 0)
        self.driver.log.append(("tensor map", address))
        lists = (tuple(reversed(part)) for part in (extents[:dims], strides[: dims - 1], box[:dims]))
        ctypes.memmove(made, encoded(TensorMap(address, {0: 1, 1: 2}[element], *lists)), 128)

    def _cuEventCreate(self, event: Any, flags: int) -> None:
        assert self.driver.depth
        event[0] = self._handle("event")

    def _cuEventRecord(self, event: int, stream: int) -> None:
        self.things[event] = ("event of", stream)

    def _cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> None:
        self.driver.log.append(("wait", stream, self.things[event][1]))

    def _cuEventDestroy_v2(self, event: int) -> None:
        self.things[event] = None
