"""Whole calls on ``cuda:0`` where the driver is a stand-in that runs kernels on the simulator."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.compiler.config import devices
from txc.compiler.config.devices import gpu_device
from txc.runtime.gpu import cuda, cuda_library
from txc.runtime.gpu.cuda_device import CudaDevice
from txc.runtime.gpu.device_array import DeviceArray
from txc.runtime.gpu.dlpack import take
from txc.runtime.gpu.gpu_device import DeviceError

from ..runtime.fake_cuda import FakeDriver, FakeLibrary, SimulatedDriver

X = np.random.default_rng(0).standard_normal((7, 33)).astype(np.float32)


def centred(x: Any) -> Any:
    return x - x.mean(axis=0), (x @ x.T).sum()


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedDriver]:
    """The driver that PyCUDA is for the length of a test."""
    made = SimulatedDriver()
    found_with(monkeypatch, made)
    monkeypatch.setattr(cuda_library, "load", lambda: FakeLibrary(made))
    yield made
    cuda.open_device.cache_clear()


def found_with(monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    monkeypatch.setitem(sys.modules, "pycuda", None if driver is None else SimpleNamespace(driver=driver))
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setattr("txc.compiler.driver.compile_cache._code", {})
    cuda.open_device.cache_clear()


def test_a_call_of_numpys_arrays(driver: SimulatedDriver) -> None:
    function, expected = txc.jit(centred, device="cuda:0"), txc.jit(centred)(X)
    logs = []
    for _ in range(2):
        start = len(driver.log)
        for got, wanted in zip(function(X), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
        logs.append(driver.log[start:])
    first, second = ([entry[:3] for entry in log if entry[0] == "launch"] for log in logs)
    assert first == second != []
    assert "allocate" not in {entry[0] for entry in logs[1]}, "the second call has the memory of the first"
    device = gpu_device("cuda:0")
    assert isinstance(device, CudaDevice) and device.used == 0 and driver.depth == 0


def test_arrays_that_stay_there(driver: SimulatedDriver) -> None:
    function = txc.jit(centred, device="cuda")
    x = txc.to_device(X, "cuda:0")
    rows, total = function(x)
    np.testing.assert_array_equal(rows.numpy(), txc.jit(centred)(X)[0])
    interface = rows.__cuda_array_interface__
    assert interface["version"] == 3 and interface["shape"] == X.shape and interface["data"] == (rows.address, False)

    class Theirs:
        """As CuPy's arrays show themselves."""

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**interface, "strides": None}

    again, _ = function(Theirs())
    np.testing.assert_array_equal(again.numpy(), function(rows)[0].numpy())
    assert total.device == "cuda:0" and repr(txc.devices()["cuda:0"]) == "'Fake GPU 0, 1024 MiB'"


class Shown:
    """An array on `cuda:0` as Numba (version 2 of the interface) and CuPy (version 3, with a stream) show theirs."""

    def __init__(self, array: DeviceArray, read_only: bool = False, **more: Any):
        self.array, self.more = array, {"data": (array.address, read_only), "strides": None, **more}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.array.shape, "typestr": self.array.dtype.str, **self.more}


class Given:
    """An array that is given by DLPack only, as PyTorch's and JAX's are; `asked` has the streams that takers named."""

    def __init__(self, array: DeviceArray, number: int = 0):
        self.array, self.number = array, number
        self.asked: list[int | None] = []

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.asked.append(stream)
        return self.array.__dlpack__(stream=-1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number


def test_arrays_of_other_libraries_streams(driver: SimulatedDriver) -> None:
    function = txc.jit(lambda x: x * 2, device="cuda:0")
    x = txc.to_device(X, "cuda:0")
    own = gpu_device("cuda:0").stream_handle

    def waits(given: Any) -> list[tuple[int, int]]:
        start = len(driver.log)
        np.testing.assert_array_equal(function(given).numpy(), X * 2)
        return [entry[1:] for entry in driver.log[start:] if entry[0] == "wait"]

    # Before the call ours waits for theirs, and after it theirs for ours.
    assert waits(Shown(x, stream=7)) == [(own, 7), (7, own)]
    assert waits(Shown(x, stream=1)) == [(own, 1), (1, own)]
    assert waits(Shown(x, stream=None)) == waits(Shown(x)) == []
    synchronised = driver.waits_of_context
    assert waits(Shown(x, version=2)) == [] and driver.waits_of_context == synchronised + 1
    given = Given(x)
    assert waits(given) == [] and given.asked == [own], "who gives by DLPack lets our stream wait"


def test_arrays_of_other_libraries_live_until_they_are_not_used(driver: SimulatedDriver) -> None:
    function = txc.jit(lambda x: x * 2, device="cuda:0")
    driver.idle = False
    x = txc.to_device(X, "cuda:0")
    for show in (Given, Shown):
        given = show(x)
        watched = weakref.ref(given)
        function(given)
        del given
        assert watched() is not None, "its kernel may still be running"
        gpu_device("cuda:0").synchronize()
        assert watched() is None
    first, second = Given(x), Given(x)
    watched = weakref.ref(first)
    function(first)
    driver.idle = True
    del first
    function(second)
    assert watched() is None, "its kernel has ended"


def test_arrays_of_other_libraries_in_place(driver: SimulatedDriver) -> None:
    def scale(x: Any) -> Any:
        x[1:] *= 2
        return x

    expected = scale(X.copy())
    for show in (Shown, Given):
        x = txc.to_device(X, "cuda:0")
        theirs = show(x)
        assert txc.jit(scale, device="cuda:0")(theirs) is theirs
        np.testing.assert_array_equal(x.numpy(), expected)
        out = show(txc.to_device(X, "cuda:0"))
        assert txc.jit(lambda x: x + 1, device="cuda:0")(x, out=out) is out
        np.testing.assert_array_equal(out.array.numpy(), expected + 1)
    with pytest.raises(ValueError, match=r"scale writes to x \(shape 7×33\), which is read-only: pass a copy"):
        txc.jit(scale, device="cuda:0")(Shown(txc.to_device(X, "cuda:0"), read_only=True))
    with pytest.raises(TypeError, match=r"x of scale is on cuda:1, and scale runs on cuda:0: call scale.options"):
        txc.jit(scale, device="cuda:0")(Given(x, number=1))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, "i1", "u8", "?", "c16"])
def test_dlpack_both_ways(driver: SimulatedDriver, dtype: Any) -> None:
    x = txc.to_device((X > 0).astype(dtype), "cuda:0")
    taken = take(x.T.__dlpack__(stream=-1))
    assert (taken.address, taken.dtype, taken.shape) == (x.address, x.dtype, (33, 7))
    assert taken.strides == x.strides[::-1]
    function = txc.jit(lambda x: x.T, device="cuda:0")
    np.testing.assert_array_equal(function(Given(x)).numpy(), x.numpy().T)


def test_memory_that_is_given_by_dlpack(driver: SimulatedDriver) -> None:
    x = txc.to_device(X, "cuda:0")
    device, address = gpu_device("cuda:0"), x.address
    assert isinstance(device, CudaDevice)
    assert x.__dlpack_device__() == (2, 0)
    for stream, waiting in ((None, 1), (2, 2), (77, 77)):
        x.__dlpack__(stream=stream, max_version=(1, 0))
        assert driver.log[-1] == ("wait", waiting, device.stream_handle)
    before = device.used
    taken, unused = take(x.__dlpack__(stream=-1)), x.__dlpack__(stream=-1)
    del x
    assert device.used == before, "there is a capsule, and who took another one"
    del unused
    assert device.used == before
    assert taken.address == address
    del taken
    assert device.used < before
    y = txc.to_device(X, "cuda:0")
    for refused in (lambda: y.__dlpack__(copy=True), lambda: y.__dlpack__(dl_device=(1, 0))):
        with pytest.raises(BufferError, match="an array on cuda:0 is given away where it is, without a copy"):
            refused()
    with pytest.raises(BufferError, match="an array on ptx-sim is none of CUDA's"):
        txc.to_device(X, "ptx-sim").__dlpack__()


def test_launches_that_come_again_are_a_graph(driver: SimulatedDriver) -> None:
    function, expected = txc.jit(centred, device="cuda:0"), txc.jit(centred)
    done: list[list[Any]] = []

    def call(x: np.ndarray) -> None:
        start = len(driver.log)
        for got, wanted in zip(function(x), expected(x), strict=True):
            np.testing.assert_array_equal(got, wanted)
        done.append([e[0] for e in driver.log[start:] if e[0] != "allocate"])

    for x in (X, X, X, X[:5], X[:5]):
        call(x)
    n = len(done[0])
    assert n > 1
    launches = ["launch"] * n
    assert done[:3] == [launches, ["graph", "replay", *launches], ["replay", *launches]]
    # Other sizes have other grids and arguments, and the same kernels.
    changes = done[3][: done[3].index("replay")]
    assert changes and set(changes) == {"change"} and done[3][len(changes) :] == ["replay", *launches]
    assert done[4] == ["replay", *launches]
    text = function.explain(X)
    assert text.count("launched as one graph from the second such call on") == 1


def test_launches_that_are_made_one_by_one(driver: SimulatedDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(x: Any) -> Any:
        while x.sum() > 1:
            x = x / 2 - x.mean()
        return x

    function = txc.jit(halved, device="cuda:0")
    for _ in range(3):
        np.testing.assert_array_equal(function(abs(X)), txc.jit(halved)(abs(X)))
    assert "replay" not in {entry[0] for entry in driver.log}
    assert "launched one by one: what is launched depends on " in function.explain(X)
    monkeypatch.setenv("TXC_GPU_GRAPHS", "0")
    function = txc.jit(centred, device="cuda:0")
    for _ in range(3):
        function(X)
    assert "replay" not in {entry[0] for entry in driver.log}, "nobody wants graphs"
    monkeypatch.delenv("TXC_GPU_GRAPHS")
    single = txc.jit(lambda x: x + 1, device="cuda:0")
    for _ in range(3):
        single(X)
    assert "launched one by one: there is one launch" in single.explain(X)


def test_a_graph_that_the_driver_does_not_make(driver: SimulatedDriver) -> None:
    function = txc.jit(centred, device="cuda:0")
    function(X)
    device = gpu_device("cuda:0")
    assert isinstance(device, CudaDevice)
    library = FakeLibrary(driver)
    library.refuses["cuGraphInstantiateWithFlags"] = 801
    device.__dict__["library"] = cuda_library.CudaLibrary(library)
    with pytest.raises(DeviceError, match="cuGraphInstantiateWithFlags: operation not supported"):
        function(X)
    assert driver.log[-1] == ("destroy", "graph") and driver.depth == 0 and device.used == 0


def test_a_call_that_there_is_no_memory_for_gives_back_what_it_took(driver: SimulatedDriver) -> None:
    function = txc.jit(lambda x: (x + 1, np.concatenate([x] * 50)), device="cuda:0")
    device = gpu_device("cuda:0")
    assert isinstance(device, CudaDevice)
    driver.room = 20_000
    for x in (X, txc.to_device(X, "cuda:0")):
        before = device.used
        with pytest.raises(DeviceError, match=r"cuda:0 is out of memory: 46200 bytes were asked for, and txc holds"):
            function(x)
        gc.collect()
        assert device.used == before and driver.depth == 0
    driver.room = 1 << 30
    np.testing.assert_array_equal(function(X)[1], np.concatenate([X] * 50))


def test_a_kernel_that_fails_is_named_with_its_line(driver: SimulatedDriver) -> None:
    def doubled(x: Any) -> Any:
        return x * 2

    function = txc.jit(doubled, device="cuda:0")
    x = txc.to_device(X, "cuda:0")
    function(x)
    driver.fails_later = "an illegal memory access was encountered"
    with pytest.raises(DeviceError) as caught:
        function(X)
    line = doubled.__code__.co_firstlineno + 1
    assert str(caught.value).startswith("kernel doubled_k0, ") and f"test_cuda_calls.py:{line}: an ill" in str(
        caught.value
    )
    np.testing.assert_array_equal(function(X), X * 2)


def test_evaluation_in_another_thread(driver: SimulatedDriver) -> None:
    made = [(txc.asarray(X) + i).eval_async(device="cuda:0") for i in range(3)]
    for i, result in enumerate(made):
        np.testing.assert_array_equal(np.asarray(result.result()), X + np.float32(i))
    assert driver.depth == 0


def test_a_profile_measures_time(driver: SimulatedDriver) -> None:
    profile = txc.jit(centred, device="cuda:0").profile(X, repeats=3)
    assert profile.repeats == 3 and all(k.measured["µs"] == 2000 * k.launches for k in profile.kernels)


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (None, "PyCUDA is not installed: pip install 'txc[cuda]'"),
        (
            FakeDriver(capabilities=[]),
            "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES says which of them it shows",
        ),
        (FakeDriver(version=11080), "the NVIDIA driver is one for CUDA 11.8, and the PTX that txc makes needs one"),
        (FakeDriver(busy="the device is busy"), "Fake GPU 0 is there and cannot be used now: the device is busy"),
        (FakeDriver(capabilities=[(7, 0)]), "its compute capability is 7.0, and txc makes PTX for 7.5 and later"),
    ],
    ids=["no PyCUDA", "no GPU", "an old driver", "a busy device", "an old GPU"],
)
def test_a_device_that_cannot_be_used_is_an_error(monkeypatch: pytest.MonkeyPatch, driver: Any, reason: str) -> None:
    found_with(monkeypatch, driver)
    for attempt in (
        lambda: txc.jit(centred, device="cuda:0"),
        lambda: txc.jit(centred).options(device="cuda:0"),
        lambda: (txc.asarray(X) + 1).eval(device="cuda:0"),
        lambda: txc.to_device(X, "cuda:0"),
        lambda: txc.device("cuda:0").__enter__(),
    ):
        with pytest.raises(txc.OptionError) as caught:
            attempt()
        assert str(caught.value).startswith(f"there is no device 'cuda:0' here: {reason}")


def product(a: Any, b: Any, c: Any) -> Any:
    return (a @ b) @ c


def test_tensor_maps_are_kept_and_go_into_graphs(driver: SimulatedDriver) -> None:
    rng = np.random.default_rng(1)
    function = txc.jit(product, device="cuda:0", fastmath={"reassoc"})
    made = []
    for size in (64, 64, 72, 72):
        arrays = [rng.standard_normal((size, size)).astype(np.float16) for _ in range(3)]
        start = len(driver.log)
        found = function(*arrays)
        told = (entry[0] for entry in driver.log[start:])
        made.append([what for what in told if what in ("tensor map", "graph", "change", "replay")])
        np.testing.assert_array_equal(found, txc.jit(product, device="ptx-sim", fastmath={"reassoc"})(*arrays))
    # A map for each operand of both products, made once for a size; other sizes change what the graph launches.
    assert made[0] == ["tensor map"] * 4 and made[1] == ["graph", "replay"]
    assert made[2].count("tensor map") == 4 and made[2].count("change") == 2 and made[3] == ["replay"]
