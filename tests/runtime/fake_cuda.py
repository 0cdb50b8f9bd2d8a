"""A stand-in for ``pycuda.driver``: the part that txc uses, over host memory, with GPUs that do as they are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from txc.runtime.ptx_simulator import PtxModule, PtxSimulator

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

    def Stream(self) -> Any:
        return Stream(self)

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


@dataclass
class Stream:
    driver: FakeDriver

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

    def prepare(self, kinds: str) -> Function:
        self.kinds = kinds
        return self

    def set_attribute(self, attribute: str, value: int) -> None:
        self.driver.log.append((attribute, value))

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *arguments: int, shared_size: int) -> None:
        assert self.driver.depth and isinstance(stream, Stream) and len(arguments) == len(self.kinds)
        self.driver.log.append(("launch", self.name, grid, block, shared_size, arguments))


@dataclass
class SimulatedFunction(Function):
    module: PtxModule

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *arguments: int, shared_size: int) -> None:
        super().prepared_async_call(grid, block, stream, *arguments, shared_size=shared_size)
        self.module.launch(self.name, grid, block, shared_size, arguments)
