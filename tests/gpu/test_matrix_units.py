"""Contractions by matrix units: of floats where `fastmath` allows their order of sums, of bytes always."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException, VerifyException

import txc
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.config.devices import gpu_device
from txc.compiler.config.options import Options
from txc.compiler.interpret import loops
from txc.compiler.interpret.kernel import run as run_kernels
from txc.compiler.pipeline import Stages, run_stages
from txc.dialects.attributes import integer_attr
from txc.dialects.loop import AsyncCopyOp, MmaOp, ParallelOp
from txc.dialects.order import Order, parse_order
from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.execution.perf_counters import SECTOR, KernelCounts

from .devices import GPUS, ON_HOPPER

RNG = np.random.default_rng(12)
FREELY = frozenset({"reassoc"})


def drawn(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    return RNG.standard_normal(shape).astype(kind)


def product(a: Any, b: Any) -> Any:
    return a @ b


def of_transposed(a: Any, b: Any) -> Any:
    return np.maximum(a.T @ b.T, 0)


def staged(f: Callable[..., Any], *arrays: np.ndarray, cpu: str = "sm_80", stop: str = "asm", **options: Any) -> Stages:
    graph = txc.jit(f).graph(*arrays)
    return run_stages(graph, Options.of(**options), target=gpu_target(cpu), stop_after=stop)


def bytes_exactly(a: Any, b: Any) -> Any:
    return a.astype(np.int32) @ b.astype(np.int32)


def bytes_turned(a: Any, b: Any) -> Any:
    return a.T.astype(np.int32) @ b.T.astype(np.int32)


#: Matrix units warp by warp although there are those of four warps.
WARPS = "tx-schedule-gpu{warpgroups=false}"
#: Vectors, edges, nothing to add.
SIZES = [(40, 48, 24), (130, 70, 17), (3, 0, 2)]
F64, TF32 = 1e-15, 2e-3


@GPUS
@pytest.mark.parametrize(
    ("kind", "f", "passes"),
    [
        (np.float16, product, ""),
        (np.float16, of_transposed, ""),
        (np.float16, product, WARPS),
        (np.float16, of_transposed, WARPS),
        (ml_dtypes.bfloat16, product, ""),
    ],
)
def test_products_of_halves(device: str, kind: Any, f: Callable[..., Any], passes: str) -> None:
    """As near to the product in f64 as a rounded sum in f32 is."""
    made = txc.jit(f, device=device, fastmath=FREELY, passes=passes)
    for m, k, n in SIZES:
        arrays = [drawn(s, kind) for s in ([(m, k), (k, n)] if f is product else [(k, m), (n, k)])]
        found, expected = made(*arrays), f(*(a.astype(np.float64) for a in arrays))
        assert found.dtype == np.dtype(kind) and found.shape == expected.shape
        bits = 11 if kind == np.float16 else 8
        ulp = np.ldexp(1.0, np.frexp(expected)[1] - bits)
        assert np.all(np.abs(found.astype(np.float64) - expected) <= 0.51 * ulp + 1e-5)


@GPUS
@pytest.mark.parametrize(
    ("kind", "f", "allowed", "error"),
    [
        (np.float32, product, "tf32", TF32),
        (np.float32, of_transposed, "tf32", TF32),
        (np.float64, of_transposed, "reassoc", F64),
    ],
)
def test_products_of_wider_factors(device: str, kind: Any, f: Callable[..., Any], allowed: str, error: float) -> None:
    made = txc.jit(f, device=device, fastmath={allowed})
    for m, k, n in SIZES:
        arrays = [drawn(s, kind) for s in ([(m, k), (k, n)] if f is product else [(k, m), (n, k)])]
        exact, most = (f(*(g(a).astype(np.longdouble) for a in arrays)) for g in (np.asarray, np.abs))
        assert np.all(np.abs(made(*arrays) - exact) <= error * (most + 1e-3))


@GPUS
@pytest.mark.parametrize(
    ("kinds", "f", "passes"),
    [
        ((np.int8, np.int8), bytes_exactly, ""),
        ((np.uint8, np.int8), bytes_turned, ""),
        ((np.int8, np.uint8), bytes_exactly, WARPS),
    ],
)
def test_products_of_bytes_are_exact(device: str, kinds: tuple[Any, Any], f: Callable[..., Any], passes: str) -> None:
    """So nothing has to be allowed for them."""
    made = txc.jit(f, device=device, passes=passes)
    for m, k, n in ((64, 128, 16), (70, 33, 20)):
        shapes = [(m, k), (k, n)] if f is bytes_exactly else [(k, m), (n, k)]
        arrays = [RNG.integers(np.iinfo(t).min, np.iinfo(t).max + 1, s).astype(t) for s, t in zip(shapes, kinds)]
        np.testing.assert_array_equal(made(*arrays), f(*arrays), strict=True)


@pytest.mark.gpu
@pytest.mark.parametrize(("m", "k", "n"), [(16500, 328, 264), (300, 1024, 272), (2304, 1000, 2304), (70, 2047, 129)])
@pytest.mark.parametrize("f", [product, of_transposed])
def test_large_products_of_small_integers_are_exact(f: Callable[..., Any], m: int, k: int, n: int) -> None:
    """In whatever order they are added: what a simulator is too slow for, by each of the kernels that there are."""
    a, b = (RNG.integers(-1, 2, s) for s in ([(m, k), (k, n)] if f is product else [(k, m), (n, k)]))
    expected = f(a.astype(np.float32), b.astype(np.float32))
    for kind, options in (
        (np.float16, {"fastmath": FREELY}),
        (ml_dtypes.bfloat16, {"fastmath": FREELY}),
        (np.float32, {"fastmath": {"tf32"}}),
        (np.float32, {}),
        (np.float64, {"fastmath": FREELY}),
    ):
        found = txc.jit(f, device="cuda:0", **options)(a.astype(kind), b.astype(kind))
        np.testing.assert_array_equal(found, expected.astype(kind), strict=True)


def counted(f: Callable[..., Any], arrays: list[np.ndarray], **options: Any) -> tuple[KernelCounts, np.ndarray]:
    """What a call's one kernel counts, and its result."""
    made = txc.jit(f, device="ptx-sim", **options)
    made(*arrays)  # which compiles and loads it
    device = gpu_device("ptx-sim")
    assert isinstance(device, PtxSimulator)
    with device.counting() as counts:
        result = made(*arrays)
    (count,) = counts.values()
    return count, np.asarray(result)


@pytest.mark.parametrize("f", [product, of_transposed])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param(np.float16, {"fastmath": {"reassoc"}}, marks=ON_HOPPER),
        (np.float16, {"fastmath": {"reassoc"}, "passes": WARPS}),
        (np.float32, {"fastmath": {"tf32"}}),
        (np.float64, {"fastmath": {"reassoc"}}),
    ],
    ids=["wgmma", "f16", "tf32", "f64"],
)
def test_each_sector_is_asked_for_once_and_banks_do_not_clash(f: Any, kind: Any, options: dict[str, Any]) -> None:
    """The tile has 128 rows and 64 columns; where warps work alone there are two, which both load the columns.

    So there are where both operands are transposed: the product is that of the two as they are, with 128 columns.
    """
    arrays = [drawn(s, kind) for s in ([(128, 128), (128, 64)] if f is product else [(128, 128), (64, 128)])]
    count, result = counted(f, arrays, **options)
    again = 0 if f is product and kind == np.float16 and "passes" not in options else arrays[1].nbytes
    assert count.global_load_sectors == (arrays[0].nbytes + arrays[1].nbytes + again) // SECTOR
    assert count.global_store_sectors == result.nbytes // SECTOR
    assert count.shared_bank_conflicts == 0


@ON_HOPPER
def test_bytes_along_k_come_sixteen_at_a_time() -> None:
    arrays = [RNG.integers(-128, 128, s).astype(np.int8) for s in ((128, 256), (64, 256))]
    count, _ = counted(lambda a, b: a.astype(np.int32) @ b.T.astype(np.int32), arrays)
    assert count.global_load_sectors == sum(a.nbytes for a in arrays) // SECTOR and count.shared_bank_conflicts == 0


def test_convolution() -> None:
    """One kernel: what lies under a window is a factor that is gathered."""

    def f(x: Any, w: Any) -> Any:
        return np.einsum("nhwcij,ijco->nhwo", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2)), w)

    x, w = drawn((2, 7, 6, 5), np.float16), drawn((3, 3, 5, 9), np.float16)
    stages = staged(f, x, w, fastmath=FREELY, cpu="sm_90a")
    assert stages.ptx is not None and "wgmma" in stages.ptx
    _, found = counted(f, [x, w], fastmath=FREELY)
    np.testing.assert_allclose(found.astype(np.float64), f(x.astype(np.float64), w.astype(np.float64)), 2e-3, 2e-3)


def test_rows_of_several_matrices_come_sixteen_bytes_at_a_time() -> None:
    a, b = drawn((3, 22, 24), np.float16), drawn((24, 16), np.float16)
    (vectors, *_) = folds(staged(product, a, b, stop="loops", fastmath=FREELY).module)
    assert {c.elements.value.data for c in vectors.walk() if isinstance(c, AsyncCopyOp)} == {8}
    found = txc.jit(product, device="ptx-sim", fastmath=FREELY, passes=WARPS)(a, b)
    np.testing.assert_allclose(found, product(a.astype(np.float64), b.astype(np.float64)), rtol=2e-3, atol=2e-3)


def test_stacks_and_what_is_fused() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return np.tanh((a * 2) @ b) * c

    arrays = [drawn(s, np.float16) for s in ((3, 33, 16), (3, 16, 40), (33, 40))]
    stages = staged(f, *arrays, fastmath=FREELY)
    assert stages.ptx is not None and "mma.sync" in stages.ptx
    expected = f(*(a.astype(np.float32) for a in arrays))
    found = txc.jit(f, device="ptx-sim", fastmath=FREELY)(*arrays)
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=3e-3, atol=3e-3)


def test_every_stage_gives_the_bits_of_the_simulator() -> None:
    a, b = drawn((37, 50), np.float16), drawn((50, 21), np.float16)
    expected = txc.jit(product, device="ptx-sim", fastmath=FREELY)(a, b)
    for stop, run in (("buffers", run_kernels), ("loops", loops.run)):
        module = staged(product, a, b, stop=stop, fastmath=FREELY).module
        assert module is not None
        out = np.zeros(expected.shape, np.float16)
        run(module, [a, b, out], {})
        np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16), err_msg=stop)


def folds(module: ModuleOp | None) -> list[MmaOp]:
    assert module is not None
    return [op for op in module.walk() if isinstance(op, MmaOp)]


def test_only_where_it_is_allowed() -> None:
    half, single = drawn((8, 8), np.float16), drawn((8, 8), np.float32)
    assert folds(staged(product, half, half, stop="loops", fastmath=FREELY).module)
    assert not folds(staged(product, half, half, stop="loops").module), "the order of the program is kept"
    assert not folds(staged(product, half, half, stop="loops", fastmath=FREELY, cpu="sm_75").module)
    assert not folds(staged(product, single, single, stop="loops", fastmath=FREELY).module)
    assert not folds(staged(product, half, half[:, 0].copy(), stop="loops", fastmath=FREELY).module), "a vector"
    np.testing.assert_array_equal(
        txc.jit(product, device="ptx-sim")(half, half), txc.jit(product, fastmath=FREELY)(half, half)
    )


def test_a_cpu_has_none() -> None:
    half = drawn((8, 8), np.float16)
    with pytest.raises(PassFailedException, match="the order unit<16, fma> is that of a GPU's matrix units"):
        txc.jit(product, passes="tx-select-mma{units=f16}")(half, half)


def test_the_order_is_written_and_read() -> None:
    for order, text in ((Order("unit", 16, 1, "fma"), "unit<16, fma>"), (Order("unit", 32), "unit<32>")):
        assert str(order) == text and parse_order(text) == order


def test_what_a_matrix_fold_is_checked_for() -> None:
    """At stage `loops`, where a user may write one."""
    half = drawn((8, 8), np.float16)
    fold = folds(staged(product, half, half, stop="loops", fastmath=FREELY).module)[0]
    copy = next(op for op in fold.walk() if isinstance(op, AsyncCopyOp))
    fold.verify_()
    copy.verify_()
    attributes, parent = dict(fold.attributes), fold.parent_op()

    def refused(message: str, **changed: Attribute) -> None:
        fold.attributes.update(changed)
        with pytest.raises(VerifyException, match=re.escape(message)):
            fold.verify_()
        fold.attributes.clear()
        fold.attributes.update(attributes)

    refused("128 rows in tiles of 24: the tile is a multiple of 16", tile_rows=integer_attr(24))
    refused("there is no unit 'f17': f16, bf16, tf32", unit=StringAttr("f17"))
    refused("the left stages are f16[4, 1, 128, 8, 8], not f16[3, 1, 128, 8, 8]", stages=integer_attr(4))
    refused("the left stages are bf16[3, 1, 128, 8, 8], not f16[3", unit=StringAttr("bf16"))
    refused("stages of tf32 are 32 long, from 0 on, not 64", unit=StringAttr("tf32"))
    refused("warp groups of f16 have 64 rows, 16 a warp, and at most 256", warpgroup=UnitAttr())
    fold.operands[2] = fold.left
    refused("the sums of f16 are of f32, not of f16")
    copy.attributes["elements"] = integer_attr(16)
    with pytest.raises(VerifyException, match="4, 8 or 16 bytes are copied at once, not 32"):
        copy.verify_()
    assert isinstance(parent, ParallelOp)
    fold.detach()
    with pytest.raises(VerifyException, match=r"a loop\.mma stands in a gpu_block"):
        fold.verify_()
