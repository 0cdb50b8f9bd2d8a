"""`f.profile` on a GPU: what each kernel takes, by what its device can measure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.gpu.profile import GpuProfile

from .devices import GPUS

X = np.random.default_rng(0).standard_normal((20, 33)).astype(np.float32)


def smooth(x: Any, w: Any) -> Any:
    return np.sqrt(x * x + 1) * w


def test_the_simulator_counts() -> None:
    found = txc.jit(smooth, device="ptx-sim").profile(X, X[0])
    assert isinstance(found, GpuProfile) and (found.device, found.repeats, found.name) == ("ptx-sim", 1, "smooth")
    (kernel,) = found.kernels
    assert kernel.launches == 1 and kernel.place.endswith("test_profile.py:19")
    # Each element is written once, and no sector twice.
    assert kernel.measured["bytes written"] == -(-X.nbytes // 32) * 32
    assert X.nbytes <= kernel.measured["bytes read"] <= 3 * X.nbytes
    assert kernel.measured["float"] == 4 * X.size and kernel.measured["bank conflicts"] == 0
    title, headings, row = str(found).splitlines()
    assert title.startswith("smooth on ptx-sim: ") and title.endswith(" ms a call, median of 1")
    assert headings.split()[:5] == ["kernel", "launches", "blocks", "threads", "shared"]
    assert row.split()[0] == kernel.name and row.endswith("test_profile.py:19")


@GPUS
def test_kernels_that_are_launched_several_times(device: str) -> None:
    def steps(x: Any, n: int) -> Any:
        for i in range(n):
            x = x + x.sum(axis=0) * i
        return x

    x = X.copy()
    kernels = txc.jit(steps, device=device).profile(x, 12, repeats=2).kernels
    assert sum(kernel.launches for kernel in kernels) >= 12
    assert all(sum(kernel.measured.values()) > 0 for kernel in kernels)
    np.testing.assert_array_equal(x, X)


def test_what_is_written_in_place_is_copied() -> None:
    def scale(x: Any) -> None:
        x[1:, ::2] *= 2

    x = X.copy()
    function = txc.jit(scale, device="ptx-sim")
    assert function.profile(x[:, ::-1]).kernels
    np.testing.assert_array_equal(x, X)
    with pytest.raises(ValueError, match=r"scale writes to an array on ptx-sim: profile it with NumPy's arrays"):
        function.profile(txc.to_device(X, "ptx-sim"))
    with pytest.raises(ValueError, match=r"profile\(repeats=0\): it takes a positive number of calls"):
        function.profile(x, repeats=0)


def test_functions_of_tx_files() -> None:
    module = txc.compile_source("def f(x: f32[n, m], w: f32[m]) -> f32[n, m]:\n    return (x * x + 1).sqrt() * w")
    found = module.f.options(device="ptx-sim").profile(X, X[0])
    assert [kernel.launches for kernel in found.kernels] == [1] and "<tx>:2" in str(found)
