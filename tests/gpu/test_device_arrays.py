"""Arrays in a GPU's memory: given to functions, kept by them as results, shared with other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.devices import gpu_device
from txc.runtime.gpu import device_array
from txc.runtime.gpu.device_array import DeviceArray
from txc.runtime.ptx_simulator import PtxSimulator

X = np.random.default_rng(0).standard_normal((7, 9))


def centred(x: Any) -> Any:
    return x - x.mean(axis=0), x.sum()


def test_results_stay_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    function, expected = txc.jit(centred, device="ptx-sim"), txc.jit(centred)(X)
    x = txc.to_device(X, "ptx-sim")
    function(x)  # loads the kernels
    copied: list[str] = []
    monkeypatch.setattr(PtxSimulator, "write", lambda *_: copied.append("write"))
    monkeypatch.setattr(PtxSimulator, "read", lambda *_: copied.append("read"))
    rows, total = function(x)
    again, _ = function(rows)
    assert copied == []
    monkeypatch.undo()
    assert isinstance(rows, DeviceArray) and rows.shape == X.shape and rows.dtype == X.dtype and total.ndim == 0
    np.testing.assert_array_equal(rows.numpy(), expected[0])
    np.testing.assert_array_equal(np.asarray(total), expected[1])
    np.testing.assert_array_equal(again, txc.jit(centred)(expected[0])[0])
    assert repr(rows) == "DeviceArray(shape=(7, 9), dtype=float64, device='ptx-sim')"
    assert len(function.signatures()) == 1, "an array is the same to compiled code wherever it is"


def test_hosts_and_devices_arrays_together() -> None:
    made = txc.jit(lambda x, y: x @ y + 1, device="ptx-sim")(txc.to_device(X, "ptx-sim"), X.T)
    np.testing.assert_array_equal(made.numpy(), txc.jit(lambda x, y: x @ y + 1)(X, X.T))


def test_hosts_arrays_that_share_memory_beside_a_devices() -> None:
    def shifted(d: Any, x: Any, y: Any) -> Any:
        x += d[0, 0]
        y *= 2
        return x.sum()

    ours, plain = np.arange(6.0), np.arange(6.0)
    made = txc.jit(shifted, device="ptx-sim")(txc.to_device(X, "ptx-sim"), ours[:-1], ours[1:])
    np.testing.assert_array_equal(np.asarray(made), shifted(X, plain[:-1], plain[1:]))
    np.testing.assert_array_equal(ours, plain)


def test_stores_into_an_array_on_the_device() -> None:
    def scale(x: Any) -> None:
        x[1:3] *= 2

    x, expected = txc.to_device(X, "ptx-sim"), X.copy()
    assert txc.jit(scale, device="ptx-sim")(x) is None
    scale(expected)
    np.testing.assert_array_equal(x.numpy(), expected)
    donated = txc.jit(lambda x: x + 1, device="ptx-sim", donate=("x",))
    assert donated(x) is x
    np.testing.assert_array_equal(x.numpy(), expected + 1)

    def move(x: Any, y: Any) -> None:
        x[:] = y.T

    square = txc.to_device(X[:, :7], "ptx-sim")
    with pytest.raises(ValueError, match="an array on a GPU overlaps one that is written in place: pass a copy"):
        txc.jit(move, device="ptx-sim")(square, square)


def test_results_that_go_to_an_array_on_the_device() -> None:
    function = txc.jit(centred, device="ptx-sim")
    expected = txc.jit(centred)(X)
    x, out = txc.to_device(X, "ptx-sim"), txc.to_device(np.zeros_like(X), "ptx-sim")
    rows, total = function(x, out=(out, None))
    assert rows is out and isinstance(total, DeviceArray)
    np.testing.assert_array_equal(out.numpy(), expected[0])
    other = txc.to_device(np.zeros_like(X), "ptx-sim")
    assert isinstance(function(X, out=(other, None))[1], np.generic | np.ndarray)
    np.testing.assert_array_equal(other.numpy(), expected[0])
    host = np.zeros_like(X)
    function(x, out=(host, None))
    np.testing.assert_array_equal(host, expected[0])
    with pytest.raises(TypeError, match="out= of centred, result 0, is on ptx-sim, and centred runs on cpu"):
        txc.jit(centred)(X, out=(out, None))
    with pytest.raises(
        ValueError, match=r"out= of centred is on ptx-sim and would have to be copied to: pass an array"
    ):
        function(x, out=(x, None))
    with pytest.raises(ValueError, match=r"out= of centred has shape \(9,\), the result has \(7, 9\)"):
        function(x, out=(txc.to_device(X[0], "ptx-sim"), None))


def test_memory_goes_back_with_the_last_reference() -> None:
    freed: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        device = gpu_device("ptx-sim")
        free = device.free
        patch.setattr(device, "free", lambda a: (freed.append(a), free(a)))
        x = txc.to_device(X, "ptx-sim")
        address = x.address
        assert freed == []
        del x
    assert freed == [address]


def test_the_wrong_place() -> None:
    x = txc.to_device(X, "ptx-sim")
    with pytest.raises(TypeError) as caught:
        txc.jit(centred)(x)
    hint = "call centred.options(device='ptx-sim')"
    assert str(caught.value) == f"x of centred is on ptx-sim, and centred runs on cpu: {hint}"
    with pytest.raises(txc.OptionError, match="NumPy's arrays are in the CPU's memory; name a GPU"):
        txc.to_device(X, "cpu")
    with pytest.raises(AttributeError, match="an array on ptx-sim is none of CUDA's"):
        _ = x.__cuda_array_interface__
    with pytest.raises(ValueError, match="becomes one of the host by a copy only"):
        np.asarray(x, copy=False)


def test_functions_of_tx_files() -> None:
    module = txc.compile_source(
        "def f(x: f64[n, m], y: f64[m]) -> f64[n, m]:\n"
        "    return x + y\n"
        "def columns(x: f64[n, m].col, y: f64[n, m].col) -> f64[n, m].col:\n"
        "    return x + y * 2\n"
        "def g(x: f64[n, m], k: f64) -> f64[n, m]:\n"
        "    x[1:, :] = x[1:, :] * k\n"
        "    return x"
    )
    f, columns = (function.options(device="ptx-sim") for function in (module.f, module.columns))
    rows = f(txc.to_device(X, "ptx-sim"), X[0])
    assert isinstance(rows, DeviceArray)
    np.testing.assert_array_equal(rows.numpy(), X + X[0])
    there = columns(txc.to_device(X.T, "ptx-sim").T, np.asfortranarray(X))
    assert there.shape == X.shape and there.strides == np.asfortranarray(X).strides
    np.testing.assert_array_equal(there.numpy(), X * 3)
    np.testing.assert_array_equal(columns(there, rows).numpy(), X * 3 + (X + X[0]) * 2)
    x = txc.to_device(X, "ptx-sim")
    assert module.g.options(device="ptx-sim")(x, 3.0) is x
    np.testing.assert_array_equal(x.numpy(), np.concatenate([X[:1], X[1:] * 3]))
    with pytest.raises(ValueError, match=r"x of f is on ptx-sim, and f runs on cpu: call f.options\(device='ptx-sim'"):
        module.f(x, X[0])
    with pytest.raises(ValueError, match=r"f takes x: f64\[n, m\], got float32 of shape 7×9"):
        f(txc.to_device(X.astype("f4"), "ptx-sim"), X[0])


class Others:
    """An array of another library in the simulator's memory, described as CUDA's are."""

    def __init__(self, array: np.ndarray, offset: int = 0, strides: tuple[int, ...] | None = None):
        self.shape, self.strides, self.typestr = array.shape, strides, array.dtype.str
        self.device = gpu_device("ptx-sim")
        self.start = self.device.allocate(array.nbytes + offset)
        self.address = self.start + offset
        self.device.write(self.address, np.ascontiguousarray(array))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self.address, False)
        return {"version": 3, "shape": self.shape, "typestr": self.typestr, "data": data, "strides": self.strides}

    def __del__(self) -> None:
        self.device.free(self.start)


def test_arrays_of_other_libraries() -> None:
    assert device_array.is_device_array(Others(X)) and not device_array.is_device_array(X)
    function = txc.jit(lambda x: x * 2, device="ptx-sim")
    np.testing.assert_array_equal(function(Others(X)).numpy(), X * 2)
    transposed = Others(X)
    transposed.shape, transposed.strides = (9, 7), (8, 72)
    np.testing.assert_array_equal(function(transposed).numpy(), X.T * 2)
    with pytest.raises(ValueError, match="no multiple of 16 bytes: pass a copy of it"):
        function(Others(X, offset=8))
    with pytest.raises(TypeError, match=r"x of <lambda> is on a GPU, and <lambda> runs on cpu"):
        txc.jit(lambda x: x * 2)(Others(X))
