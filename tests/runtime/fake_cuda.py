"""A stand-in for ``pycuda.driver``: the part that txc uses, over host memory, with GPUs that do as they are told."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from txc.runtime.gpu.cuda_library import PROTOTYPES
from txc.runtime.gpu.gpu_device import TensorMap
from txc.runtime.ptx_simulator import PtxModule, PtxSimulator
from txc.runtime.ptx_simulator.memory.tensor_maps import decoded, encoded

BASE = 1 << 40


class Error(Exception):
    pass


class FakeMemoryError(Error):
    pass


@dataclass
class FakeDriver:
    """`module` is given for PTX, `capabilities` are those of the GPUs there are; the flags make calls fail."""

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

    class function_attribute:
        MAX_DYNAMIC_SHARED_SIZE_BYTES = "most shared"

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

    def module_from_buffer(self, text: bytes, message_handler: Callable[[bool, str, str], None]) -> Any:
        assert text.endswith(b"\0")
        message_handler(not self.refuses, "", self.refuses)
        if self.refuses:
            raise Error("cuModuleLoadDataEx failed: a PTX JIT compilation failed")
        return Module(self)


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

    def module_from_buffer(self, text: bytes, message_handler: Callable[[bool, str, str], None]) -> Any:
        message_handler(True, "", "")
        return SimulatedModule(self, self.gpu.load(text.decode().removesuffix("\0")))


@dataclass
class SimulatedAllocation:
    gpu: PtxSimulator
    address: int

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        self.gpu.free(self.address)


@dataclass
class SimulatedModule:
    driver: SimulatedDriver
    module: PtxModule

    def get_function(self, name: str) -> Any:
        return SimulatedFunction(self.driver, name, self.module)


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

    def get_function(self, name: str) -> Any:
        return Function(self.driver, name)


@dataclass
class Function:
    driver: FakeDriver
    name: str

    def prepare(self, kinds: list[str]) -> Function:
        self.kinds = kinds
        return self

    def set_attribute(self, attribute: str, value: int) -> None:
        self.driver.log.append((attribute, value))

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *arguments: Any, shared_size: int) -> None:
        assert self.driver.depth and isinstance(stream, Stream)
        struct.pack("".join(self.kinds), *arguments)
        if stream.handle in self.driver.captured:
            self.driver.captured[stream.handle].append(Captured(self, grid, block, shared_size, arguments))
        else:
            self.run(grid, block, shared_size, arguments)

    def run(self, grid: Any, block: Any, shared: int, arguments: tuple[Any, ...]) -> None:
        self.driver.log.append(("launch", self.name, grid, block, shared, arguments))


@dataclass
class SimulatedFunction(Function):
    module: PtxModule

    def run(self, grid: Any, block: Any, shared: int, arguments: tuple[Any, ...]) -> None:
        super().run(grid, block, shared, arguments)
        given = [decoded(a) if isinstance(a, bytes) else a for a in arguments]
        self.module.launch(self.name, grid, block, shared, given)


@dataclass
class Captured:
    """A node of a graph."""

    function: Function
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Any, ...]


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
            getattr(self, f"_{name}")(*arguments)
            return 0

        return called

    def _handle(self, thing: Any) -> int:
        self.things.append(thing)
        return len(self.things) - 1

    def _cuGetErrorString(self, code: int, text: Any) -> None:
        text[0] = b"operation not supported"

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
        made.grid[:], made.block[:], made.shared = captured.grid, captured.block, captured.shared

    def _cuGraphExecKernelNodeSetParams_v2(self, ready: int, node: int, parameters: Any) -> None:
        captured, given = self.things[node], parameters[0]
        assert any(captured is there for there in self.things[ready])
        captured.function = self.things[given.function]
        captured.grid, captured.block, captured.shared = tuple(given.grid), tuple(given.block), given.shared
        captured.arguments = tuple(
            ctypes.string_at(at, len(before)) if isinstance(before, bytes) else ctypes.c_int64.from_address(at).value
            for before, at in zip(captured.arguments, given.arguments[: len(captured.arguments)], strict=True)
        )
        self.driver.log.append(("change", captured.function.name))

    def _cuGraphLaunch(self, ready: int, stream: int) -> None:
        assert self.driver.depth
        self.driver.log.append(("replay", stream))
        for node in self.things[ready]:
            node.function.run(node.grid, node.block, node.shared, node.arguments)

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
