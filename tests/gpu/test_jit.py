"""Functions on a GPU as users have them: devices by name, results, arguments in place, the cache, errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import TargetError
from txc.compiler.config import devices, knobs
from txc.compiler.config.device_names import Device
from txc.compiler.config.devices import device_here
from txc.compiler.driver.inspection import Lowered
from txc.runtime.gpu.gpu_device import DeviceError
from txc.runtime.ptx_simulator import PtxModule, PtxSimulator

from ..ops.generated import PAIRS
from .devices import GPUS

SOURCE = Path(__file__).parents[2] / "src"
X = np.random.default_rng(0).standard_normal((37, 53)).astype(np.float32)


def same(got: Any, expected: Any) -> None:
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(got, expected)


def smooth(x: Any, w: Any) -> Any:
    return np.sqrt(x * x + 1) * w


@GPUS
def test_the_ways_to_choose_a_device(device: str) -> None:
    expected = txc.jit(smooth)(X, X[0])
    same(txc.jit(smooth, device=device)(X, X[0]), expected)
    same(txc.jit(smooth).options(device=device)(X, X[0]), expected)
    expression = smooth(txc.asarray(X), X[0])
    same(expression.eval(device=device), expected)
    with txc.device(device):
        assert device_here() == Device(device)
        same(smooth(txc.asarray(X), X[0]), expected)
    c = txc.Tensor("f32", X.shape)
    c.on(device)[...] = smooth(txc.asarray(X), X[0])
    same(c, expected)
    assert expression.eval_async(device=device).result().shape == X.shape
    module = txc.compile_source("def f(x: f32[n, m], w: f32[m]) -> f32[n, m]:\n    return (x * x + 1).sqrt() * w")
    same(module.f.options(device=device)(X, X[0]), expected)


def test_the_device_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TXC_DEVICE", "ptx-sim")
    made = txc.jit(smooth)
    assert made.compile_options.device == "ptx-sim" and device_here() == Device("ptx-sim")
    same(made(X, X[0]), txc.jit(smooth, device="cpu")(X, X[0]))
    assert "it runs on ptx-sim" in made.explain_compile()
    monkeypatch.setenv("TXC_DEVICE", "gpu")
    with pytest.raises(knobs.KnobError, match=r"TXC_DEVICE='gpu': it takes a device: .* \(there is no device 'gpu'"):
        txc.jit(smooth)


@pytest.mark.parametrize("cpu", ["sm_75", "sm_80", "sm_89", "sm_100", "sm_103", "sm_120"])
def test_the_gpu_that_the_simulator_stands_for(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def shares(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setenv("TXC_SIMULATED_GPU", cpu)
    made = txc.jit(shares, device="ptx-sim")
    same(made(X), txc.jit(shares)(X))
    assert f".target {cpu}\n" in made.lower(X).as_text("ptx")


def test_a_gpu_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setenv("TXC_SIMULATED_GPU", "sm_33")
    with pytest.raises(TargetError, match="'sm_33' is not a recognized processor"):
        txc.jit(lambda x: x + 33, device="ptx-sim")(X)
    monkeypatch.setattr(devices, "_gpus", {})
    monkeypatch.setenv("TXC_SIMULATED_GPU", "H200")
    with pytest.raises(knobs.KnobError, match="TXC_SIMULATED_GPU='H200': it takes a GPU's instruction set, such as"):
        txc.jit(lambda x: x + 33, device="ptx-sim")(X)


def test_threads_are_the_cpus() -> None:
    for wrong in (
        lambda: txc.jit(smooth, device="ptx-sim", threads=2),
        lambda: txc.jit(smooth, device="ptx-sim").options(threads=2),
    ):
        with pytest.raises(txc.OptionError, match="threads=2 of 'ptx-sim': threads are those of the CPU"):
            wrong()
    assert txc.jit(smooth, threads=3).options(device="ptx-sim").compile_options.threads == 0


LAYOUTS = {
    "packed": lambda a: a,
    "fortran": np.asfortranarray,
    "steps": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


@GPUS
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_strides(device: str, layout: str) -> None:
    x = LAYOUTS[layout](X)
    for f in (lambda x: x * 2 + 1, lambda x: x.T + x.sum(axis=0)[:, None]):
        got, expected = txc.jit(f, device=device)(x), txc.jit(f)(x)
        same(got, expected)
        assert got.strides == expected.strides


@GPUS
def test_results_of_several_kinds(device: str) -> None:
    def f(x: Any, n: int, s: float) -> Any:
        return {"sum": x.sum(), "rows": (x.max(axis=1), x[:n] * s), "name": "f", "none": None, "empty": x[:0] + 1}

    got, expected = txc.jit(f, device=device)(X, 5, 2.5), txc.jit(f)(X, 5, 2.5)
    assert got.keys() == expected.keys() and got["name"] == "f" and got["none"] is None
    for key in ("sum", "empty"):
        same(got[key], expected[key])
    for a, b in zip(got["rows"], expected["rows"], strict=True):
        same(a, b)
    assert np.ndim(got["sum"]) == 0 and got["empty"].shape == (0, 53)


@GPUS
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1)])
def test_empty_arrays(device: str, shape: tuple[int, int]) -> None:
    x = np.ones(shape)
    for f in (lambda x: x + 1, lambda x: x.sum(axis=0), lambda x: x.sum()):
        same(txc.jit(f, device=device)(x), txc.jit(f)(x))


@GPUS
def test_arguments_that_are_written(device: str) -> None:
    def update(x: Any, y: Any) -> Any:
        x[1:, ::2] += y
        return x.sum()

    around = np.arange(200.0).reshape(10, 20)
    mine, theirs = around.copy(), around.copy()
    y = np.full((4, 3), 0.5)
    got = txc.jit(update, device=device)(mine[::2, 3:13:2], y)
    same(got, txc.jit(update)(theirs[::2, 3:13:2], y))
    same(mine, theirs)
    donated = txc.jit(lambda x: x * 2, device=device, donate=("x",))
    x = np.ones((3, 3))
    assert donated(x) is x
    same(x, np.full((3, 3), 2.0))
    out = np.zeros(X.shape, np.float32)
    assert txc.jit(smooth, device=device)(X, X[0], out=out) is out
    same(out, txc.jit(smooth)(X, X[0]))


@GPUS
def test_loops_and_branches_are_the_hosts(device: str) -> None:
    def halve(x: Any, n: int) -> Any:
        steps = 0
        for i in range(n):
            x = x + x[i % 3] * i
        while x.max() > 10:
            x = x * 0.5
            steps += 1
        if x.sum() > 0:
            x = x - 1
        for i in range(20):
            if x.sum() < -500:
                break
            x = x - i
        return x, steps

    got, expected = txc.jit(halve, device=device)(X, 12), txc.jit(halve)(X, 12)
    for a, b in zip(got, expected, strict=True):
        same(a, b)
    assert expected[1] > 3


def test_the_plan_is_above_the_ptx() -> None:
    lowered: Lowered = txc.jit(smooth, device="ptx-sim").lower(X, X[0])
    ptx = lowered.as_text("ptx")
    assert ptx.startswith("// kernel smooth_k0: ") and re.search(r"^//\s+launch smooth_k0 with", ptx, re.M)
    assert ".visible .entry smooth_k0(" in ptx and "gpu_block" in lowered.as_text("loops")
    assert "smooth_k0: " in txc.jit(smooth, device="ptx-sim").explain(X, X[0])
    with pytest.raises(txc.OptionError, match="did not get to stage 'obj'"):
        lowered.as_text("obj")


def test_errors_name_kernel_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, kernel: str, *_: Any) -> None:
        raise DeviceError("a thread did something", kernel=kernel, ptx_line=7)

    made = txc.jit(smooth, device="ptx-sim")
    made(X, X[0])
    monkeypatch.setattr(PtxModule, "launch", fail)
    with pytest.raises(DeviceError) as caught:
        made(X, X[0])
    place = f"{__file__}:{smooth.__code__.co_firstlineno + 1}"
    assert re.fullmatch(
        rf"kernel smooth_k\d, PTX line 7, {re.escape(place)}: a thread did something", str(caught.value)
    )


def test_equal_functions_have_lines_of_their_own() -> None:
    def again(x: Any, w: Any) -> Any:
        return np.sqrt(x * x + 1) * w

    for f in (smooth, again):
        profile = txc.jit(f, device="ptx-sim").profile(X, X[0])
        assert profile.kernels[0].place == f"{__file__}:{f.__code__.co_firstlineno + 1}"


def test_memory_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    held: set[int] = set()
    allocate, free = PtxSimulator.allocate, PtxSimulator.free

    def take(self: Any, size: int) -> int:
        address = allocate(self, size)
        held.add(address)
        return address

    def give(self: Any, address: int) -> None:
        held.discard(address)
        free(self, address)

    made = txc.jit(lambda x: (x - x.mean()).sum(axis=0), device="ptx-sim")
    made(X)  # which loads the module
    monkeypatch.setattr(PtxSimulator, "allocate", take)
    monkeypatch.setattr(PtxSimulator, "free", give)
    made(X)
    assert held == set()
    large = np.broadcast_to(np.ones(1), (20000, 20000))
    with pytest.raises(DeviceError, match="memory"):
        txc.jit(lambda x: x + 1, device="ptx-sim")(large)
    assert held == set()


PROGRAM = """
    import sys
    import numpy as np, txc
    @txc.jit(device="ptx-sim")
    def f(x):
        return (x - x.max()) * 2
    x = np.arange(12.0).reshape(3, 4)
    assert (f(x) == (x - 11) * 2).all() and (f(x[:2]) == (x[:2] - 7) * 2).all()
    print(f.explain_cache())
    print(*(m for m in sys.modules if m.split(".")[0] in ("xdsl", "llvmlite") or m.startswith("txc.passes")))
"""


def test_the_cache_keeps_ptx_and_plan(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TXC_CACHE_DIR": str(tmp_path / "kept")}

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first, second = run(), run()
    assert "miss" in first[0] and "xdsl" in first[1]
    assert "hit, neither staged nor compiled" in second[0] and second[1] == ""


def test_explain_says_how_kernels_are_scheduled() -> None:
    def f(x: Any) -> Any:
        return np.cumsum(x, axis=1), np.sort(x, axis=1), x * 2, x.sum(), np.searchsorted(x[0], x[1])

    text = txc.jit(f, device="ptx-sim").explain(X)
    for said in (
        "grid           reduce(add): scan: a block for each block of the order prefix<1024, 8>",
        "grid           sort: sort: blocks sort tiles, then merge by ranks",
        "grid           searchsorted: threads: little parallelism: CPU threads and lanes become GPU threads",
        "grid           mul: map: elements are independent",
        "grid           reduce(add): reduction: threads share the order tree<1024, 64>",
        "by the cost model of a GPU (sizes that are not facts: 512)",
        "kernel f_k0: 128 threads a block, 5120 bytes of shared memory, 16 at once on a multiprocessor",
        "launch f_k0 with ",
    ):
        assert said in text, said
    # What a CPU's schedules say of its threads is said on a CPU.
    assert "\n  threads " not in text and "\n  threads " in txc.jit(f, passes=PAIRS).explain(X)
