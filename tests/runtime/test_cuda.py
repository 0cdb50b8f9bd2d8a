"""NVIDIA GPUs: which there are, and everything of `CudaDevice` but the driver itself, for which there is a stand-in."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from txc.runtime.gpu import cuda, cuda_driver, cuda_library
from txc.runtime.gpu.cuda_device import STAGING_BYTES, CudaDevice
from txc.runtime.gpu.gpu_device import DeviceError, KernelLaunch, TensorMap

from .fake_cuda import FakeDriver, FakeLibrary


def found_with(monkeypatch: pytest.MonkeyPatch, driver: Any) -> tuple[dict[str, str], str]:
    """What there is where PyCUDA is `driver` (None: not installed; an exception: what importing it raises)."""
    monkeypatch.setitem(sys.modules, "pycuda", None if driver is None else SimpleNamespace(driver=driver))
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    return cuda.find_devices()


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (None, "PyCUDA is not installed: pip install 'txc[cuda]'"),
        (
            FakeDriver(broken="no CUDA-capable device is detected"),
            "the NVIDIA driver finds no GPU that it can use (no CUDA-capable device is detected)",
        ),
        (
            FakeDriver(capabilities=[]),
            "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES says which of them it shows",
        ),
        (
            FakeDriver(version=11080),
            "the NVIDIA driver is one for CUDA 11.8, and the PTX that txc makes needs one for CUDA 12.0 or later: "
            "update the driver",
        ),
    ],
)
def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch, driver: Any, reason: str) -> None:
    assert found_with(monkeypatch, driver) == ({}, reason)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ImportError("libcuda.so.1: cannot open shared object file"),
            "there is no NVIDIA driver here (libcuda.so.1: cannot open shared object file)",
        ),
        (
            ImportError("libcurand.so.10: cannot open shared object file"),
            "PyCUDA cannot be imported (libcurand.so.10: cannot open shared object file)",
        ),
    ],
)
def test_libraries_that_are_missing(monkeypatch: pytest.MonkeyPatch, error: ImportError, reason: str) -> None:
    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name.startswith("pycuda"):
                raise error

    for name in ("pycuda", "pycuda.driver"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert cuda.find_devices() == ({}, reason)


def test_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found, reason = found_with(monkeypatch, FakeDriver(capabilities=[(9, 0), (6, 1)], room=80 << 30))
    assert reason == ""
    assert found == {
        "cuda:0": "Fake GPU 0, 81920 MiB",
        "cuda:1": "not available: its compute capability is 6.1, and txc makes PTX for 7.5 and later",
    }


def test_gpus_that_cannot_be_used() -> None:
    with pytest.raises(cuda_driver.NoDevice, match=r"finds cuda:0; CUDA_VISIBLE_DEVICES says which it shows"):
        CudaDevice(FakeDriver(), 1)
    with pytest.raises(cuda_driver.NoDevice, match=r"compute capability is 7\.0, and txc makes PTX for 7.5 and later"):
        CudaDevice(FakeDriver(capabilities=[(7, 0)]), 0)
    busy = FakeDriver(busy="all CUDA-capable devices are busy or unavailable")
    with pytest.raises(cuda_driver.NoDevice) as caught:
        CudaDevice(busy, 0)
    assert (
        str(caught.value)
        == "Fake GPU 0 is there and cannot be used now: all CUDA-capable devices are busy or unavailable"
    )
    assert busy.depth == 0


@pytest.mark.parametrize(
    ("capability", "name"),
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((12, 0), "sm_90")],
)
def test_what_ptx_is_made_for(capability: tuple[int, int], name: str) -> None:
    assert cuda_driver.architecture(capability) == name


@pytest.mark.parametrize("size", [1, 1000, STAGING_BYTES, 3 * STAGING_BYTES + 17])
def test_copies_of_any_size(size: int) -> None:
    driver = FakeDriver()
    device = CudaDevice(driver, 0)
    sent = np.random.default_rng(size).integers(0, 255, size).astype(np.uint8)
    address = device.allocate(size)
    device.write(address, sent)
    back = np.zeros_like(sent)
    device.read(address, back)
    np.testing.assert_array_equal(back, sent)
    assert driver.depth == 0 and address % 256 == 0


def test_memory_is_used_again() -> None:
    driver = FakeDriver()
    device = CudaDevice(driver, 0)
    first = device.allocate(5000)
    device.free(first)
    assert device.allocate(4900) == first and device.allocate(5000) != first
    assert [what for what, *_ in driver.log] == ["allocate", "allocate"]


def test_a_full_device_gets_back_what_is_kept_before_it_is_an_error() -> None:
    driver = FakeDriver(room=64 << 20)
    device = CudaDevice(driver, 0)
    device.free(device.allocate(40 << 20))
    held = device.allocate(48 << 20)  # fits only without the block that is kept
    assert driver.log[-2:] == [("free", 40 << 20), ("allocate", 48 << 20)]
    with pytest.raises(DeviceError) as caught:
        device.allocate(32 << 20)
    assert str(caught.value) == (
        f"cuda:0 is out of memory: {32 << 20} bytes were asked for, and txc holds {48 << 20} there"
    )
    device.free(held)
    device.release()
    assert driver.memory == {} and driver.depth == 0


#: Kernels as far as the stand-in reads them.
PTX = """
.visible .entry f_k0(.param .u64 f_k0_param_0, .param .u64 f_k0_param_1) { ret; }
.visible .entry f_k1() { ret; }
.visible .entry f_k2(.param .u64 f_k2_param_0) { ret; }
.visible .entry f_k3(.param .align 64 .b8 f_k3_param_0[128], .param .u64 f_k3_param_1) { ret; }
"""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver with its library."""
    made = FakeDriver()
    monkeypatch.setattr(cuda_library, "load", lambda: FakeLibrary(made))
    return made


def test_launches(driver: FakeDriver) -> None:
    device = CudaDevice(driver, 0)
    module = device.load(PTX)
    assert device.seconds(lambda: module.launch("f_k0", (7, 1, 1), (128, 1, 1), 0, (256, -3))) == 2e-3
    module.launch("f_k1", (1, 1, 1), (1024, 1, 1), 60000, ())
    assert driver.log == [
        ("launch", "f_k0", (7, 1, 1), (128, 1, 1), 0, (256, -3)),
        ("most shared", 60000),
        ("launch", "f_k1", (1, 1, 1), (1024, 1, 1), 60000, ()),
    ]
    module.launch("f_k1", (1, 1, 1), (1024, 1, 1), 50000, ())
    assert driver.log[-1] == ("launch", "f_k1", (1, 1, 1), (1024, 1, 1), 50000, ()), "it is allowed more already"


def test_a_module_is_given_back_with_its_last_user(driver: FakeDriver) -> None:
    CudaDevice(driver, 0).load(PTX)
    assert driver.log == [("unload",)] and driver.depth == 0


def test_each_argument_is_where_its_pointer_says(driver: FakeDriver) -> None:
    """A tensor map is aligned in the kernel, so no argument is known by the sizes of those before it."""
    device = CudaDevice(driver, 0)
    module, address = device.load(PTX), device.allocate(1 << 20)
    for extents in ((40, 64), (50, 64)):
        tensor = TensorMap(address, 2, extents, (128,), (8, 64))
        module.launch("f_k3", (1, 1, 1), (32, 1, 1), 0, (tensor, extents[0]))
        assert driver.log[-1][-1] == (tensor, extents[0])


def test_recorded_launches(driver: FakeDriver) -> None:
    device = CudaDevice(driver, 0)
    module = device.load(PTX)
    first = KernelLaunch("f_k0", (7, 1, 1), (128, 1, 1), 0, (256, -3))
    second = KernelLaunch("f_k2", (1, 1, 1), (1024, 1, 1), 60000, (1 << 40,))
    graph = module.record([first, second])
    assert driver.log == [("most shared", 60000), ("graph", 2)], "nothing has run"
    graph.launch()
    assert driver.log[2:] == [("replay", device.stream.handle), ("launch", *first), ("launch", *second)]
    other = second._replace(grid=(9, 1, 1), shared=50000, arguments=(-(1 << 50),))
    graph.change(1, other)
    start = len(driver.log)
    graph.launch()
    assert driver.log[start + 1 :] == [("launch", *first), ("launch", *other)]
    driver.fails_later = "an illegal memory access was encountered"
    with pytest.raises(DeviceError, match="in one of f_k0, f_k2"):
        device.synchronize()
    del graph
    assert driver.log[-2:] == [("destroy", "exec"), ("destroy", "graph")] and driver.depth == 0


def test_errors_name_the_kernel(driver: FakeDriver) -> None:
    device = CudaDevice(driver, 0)
    module = device.load(PTX)
    module.launch("f_k0", (1, 1, 1), (1, 1, 1), 0, (1, 2))
    driver.fails_later = "an illegal memory access was encountered"
    with pytest.raises(DeviceError) as caught:
        device.synchronize()
    assert str(caught.value) == "kernel f_k0: an illegal memory access was encountered"
    module.launch("f_k0", (1, 1, 1), (1, 1, 1), 0, (1, 2))
    module.launch("f_k1", (1, 1, 1), (1, 1, 1), 0, ())
    driver.fails_later = "the launch timed out and was terminated"
    with pytest.raises(DeviceError) as caught:
        device.synchronize()
    assert str(caught.value) == (
        "cuda:0: the launch timed out and was terminated (in one of f_k0, f_k1; CUDA_LAUNCH_BLOCKING=1 tells in which)"
    )
    driver.refuses = "ptxas application ptx input, line 3; fatal   : Unknown instruction"
    with pytest.raises(DeviceError) as caught:
        device.load("")
    assert str(caught.value) == f"cuda:0 does not take the PTX: {driver.refuses}"
    assert driver.depth == 0


def test_a_forked_process_cannot_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    device = CudaDevice(FakeDriver(), 0)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(DeviceError, match=r"cuda:0 belongs to the process that forked this one: .* method 'spawn'"):
        device.allocate(16)
