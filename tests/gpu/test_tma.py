"""Operands of warp groups that come as boxes of tensor maps: results, when they may, and mistakes that are caught."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

import txc
from txc.compiler.call.facts import stride_fact
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.config.options import Options
from txc.compiler.driver.compile_cache import compiled
from txc.compiler.driver.executable import Executable
from txc.compiler.gpu.executable import GpuCode
from txc.compiler.gpu.launch_plan import If, Launch, Step
from txc.compiler.interpret import loops
from txc.compiler.pipeline import run_stages
from txc.dialects.dims.dims import iterators
from txc.dialects.dims.index_map import IndexMap, identity_map
from txc.dialects.loop import BulkCopyOp, MmaOp, TensorMapOp
from txc.runtime.gpu.gpu_device import DeviceError

from .devices import GPUS, ON_HOPPER

RNG = np.random.default_rng(29)
FREELY = {"reassoc"}
VECTORS = "tx-schedule-gpu{tma=false}"


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def product(a: Any, b: Any) -> Any:
    return a @ b


def of_transposed(a: Any, b: Any) -> Any:
    return a.T @ b.T


def inside(a: Any, b: Any) -> Any:
    """What lies around the factors is not to be added."""
    return a[1:-1, 8:-3] @ b[2:-3, 16:]


def stacked(q: Any, k: Any) -> Any:
    """The stack lies between rows and K in memory."""
    return np.einsum("bthd,bshd->bhts", q, k)


CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "six pieces, edges in all directions": (product, ((130, 328), (328, 24))),
    "turned": (of_transposed, ((328, 40), (72, 328))),
    "parts": (inside, ((40, 80), (74, 40))),
    "a stack within": (stacked, ((1, 20, 2, 72), (1, 12, 2, 72))),
    "rows of several matrices": (product, ((3, 45, 72), (72, 24))),
    "nothing to add": (product, ((3, 0), (0, 8))),
    "rows that begin anywhere": (product, ((5, 9), (9, 16))),
}


@GPUS
@pytest.mark.parametrize("case", CASES)
def test_the_bits_are_those_of_vectors_brought_one_by_one(device: str, case: str) -> None:
    f, shapes = CASES[case]
    arrays = [drawn(*shape) for shape in shapes]
    found, expected = (txc.jit(f, device=device, fastmath=FREELY, passes=passes)(*arrays) for passes in ("", VECTORS))
    np.testing.assert_array_equal(found.view(np.uint16), expected.view(np.uint16), strict=True)
    np.testing.assert_allclose(found, f(*(a.astype(np.float64) for a in arrays)), rtol=2e-3, atol=2e-3)


def at_loops(f: Callable[..., Any], *arrays: np.ndarray, cpu: str = "sm_90a") -> ModuleOp:
    graph = txc.jit(f).graph(*arrays)
    module = run_stages(graph, Options.of(fastmath=FREELY), target=gpu_target(cpu), stop_after="loops").module
    assert module is not None
    return module


def test_the_stage_loops_gives_them_too() -> None:
    a, b = drawn(37, 72), drawn(72, 24)
    out = np.zeros((37, 24), np.float16)
    loops.run(at_loops(product, a, b), [a, b, out], {})
    expected = txc.jit(product, device="ptx-sim", fastmath=FREELY)(a, b)
    np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


def test_what_tensor_maps_and_copies_are_checked_for() -> None:
    """At stage `loops`, where a user may write them."""
    module = at_loops(product, drawn(40, 72), drawn(72, 24))
    copy = next(op for op in module.walk() if isinstance(op, BulkCopyOp))
    tensor, fold = copy.tensor.owner, copy.parent_op()
    assert isinstance(tensor, TensorMapOp) and isinstance(fold, MmaOp)
    for op in (tensor, copy, fold):
        op.verify_()
    source, (m, k) = tensor.source, tensor.index.data.extents

    def refused(op: Operation, message: str) -> None:
        with pytest.raises(VerifyException, match=re.escape(message)):
            op.verify_()

    turned = IndexMap((k, m), (iterators(2)[1], iterators(2)[0]))
    refused(TensorMapOp(source, turned, (128, 64)), "no tensor map describes (d0: a.1, d1: a.0) -> (d1, d0) of f16")
    guarded = IndexMap((m, k), iterators(2), (iterators(2)[0] - 1,))
    refused(TensorMapOp(source, guarded, (128, 64)), "no tensor map describes (d0: a.0, d1: a.1) -> (d0, d1) where")
    refused(TensorMapOp(source, identity_map((m, k)), (512, 64)), "a box has at most 256 elements along each dim")
    refused(TensorMapOp(source, identity_map((m, k)), (64,)), "boxes of f16 with 2 dims are needed, not f16[64]")
    refused(TensorMapOp(source, IndexMap((k,), (iterators(1)[0],)), (64,)), "indices for a buffer of rank 2 are needed")
    for box, message in (
        ((128, 32), "a box is eights of lines of 128 bytes, not f16[128, 32]"),
        ((4, 64), "a box is eights of lines of 128 bytes, not f16[4, 64]"),
        ((64, 64), "boxes of f16[64, 64] do not fit into f16[4, 1, 128, 8, 8]"),
    ):
        made = TensorMapOp(source, identity_map((m, k)), box)
        refused(BulkCopyOp(made.result, copy.at.data, copy.target, copy.to.data), message)
    outside = BulkCopyOp(copy.tensor, copy.at.data, copy.target, copy.to.data)
    refused(outside, "a bulk copy stands directly in a loop.mma, which waits for it")
    one = BulkCopyOp(copy.tensor, copy.at.data[:1], copy.target, copy.to.data)
    refused(one, "2 indices in the map and 2 in shared memory are needed")
    del fold.attributes["warpgroup"]
    refused(fold, "bulk copies fill the stages of both operands, for warp groups")


def has_boxes(module: ModuleOp) -> bool:
    return any(isinstance(op, BulkCopyOp) for op in module.walk())


def doubled(a: Any, b: Any) -> Any:
    return (a * 2) @ b


@ON_HOPPER
def test_where_there_are_boxes_explain_says_and_elsewhere_why_not() -> None:
    a, b = drawn(8, 16), drawn(16, 8)

    def said(f: Callable[..., Any], *arrays: np.ndarray, **options: Any) -> str:
        text = str(txc.jit(f, device="ptx-sim", fastmath=FREELY, **options).explain(*arrays))
        return next(line for line in text.splitlines() if ": wgmma: " in line).partition("  at ")[0]

    assert "; operands by TMA where (a.1 % 8) == 0 and (b.1 % 8) == 0, else element by element" in said(product, a, b)
    assert "; operands not by TMA: the left operand is computed on its way" in said(doubled, a, b)
    assert "TMA" not in said(product, a, b, passes=VECTORS)
    across = np.lib.stride_tricks.as_strided(a, (8, 8), (48, 2))
    assert "; operands not by TMA: no tensor map describes the left operand" in said(product, across, b[:8])
    assert has_boxes(at_loops(product, a, b)) and not has_boxes(at_loops(doubled, a, b))
    assert not has_boxes(at_loops(product, a, b, cpu="sm_90"))


def test_blocks_of_a_grid_that_one_block_runs(right: Executable) -> None:
    """Its mbarriers and pieces are used again: for another tile, from the first phase on."""
    assert isinstance(right.native, GpuCode)
    a, b = drawn(260, 72), drawn(72, 24)
    expected = right([a, b])[0]
    plan = right.native.plan
    one = plan._replace(steps=tuple(map(_in_one_block, plan.steps)))
    made = GpuCode("ptx-sim", right.native.ptx, one, right.code)
    np.testing.assert_array_equal(Executable(right.signature, right.code, made)([a, b])[0], expected)


def _in_one_block(step: Step) -> Step:
    if isinstance(step, Launch):
        return step._replace(blocks="1")
    if isinstance(step, If):
        return step._replace(
            then=tuple(map(_in_one_block, step.then)), otherwise=tuple(map(_in_one_block, step.otherwise))
        )
    return step


# Mistakes

#: Six pieces, so that the four stages are used again.
LEFT, RIGHT = drawn(64, 384), drawn(384, 64)
WAIT = r"mbarrier\.try_wait\.parity\.shared::cta\.b64 p, (\[%rd\d+\], )(%r\d+);"
FULL, EMPTY = 0, 1
PLANTED: dict[str, tuple[str, str, int, str]] = {
    "who multiplies does not wait": (WAIT, "setp.eq.u32 p, 0, 0;", FULL, "never-written memory|shared-memory race"),
    "who copies does not wait": (WAIT, "setp.eq.u32 p, 0, 0;", EMPTY, r"race: write .*\(a bulk copy that thread \(0,"),
    "a wait for the other phase": (
        WAIT, r".reg .b32 q; xor.b32 q, \2, 1; mbarrier.try_wait.parity.shared::cta.b64 p, \1q;", FULL,
        "never-written memory|shared-memory race",
    ),
    "more bytes expected": (r"(expect_tx\.\S+ _, \[%rd\d+\], )%r\d+", r"\g<1>65536", 0, "deadlock: no thread can go"),
    "fewer bytes expected": (r"(expect_tx\.\S+ _, \[%rd\d+\], )%r\d+", r"\g<1>128", 0, "deadlock: no thread can go"),
    "no release": (r"mbarrier\.arrive\.shared::cta\.b64 _, \[%rd\d+\];", "", 0, "deadlock: no thread can go on"),
    "products that still run": (r"wgmma\.wait_group\.sync\.aligned 1;", "", 0, "race: a bulk copy to what a product"),
}  # fmt: skip


@pytest.fixture(scope="module")
def right() -> Executable:
    graph = txc.jit(product).graph(LEFT, RIGHT)
    facts = [stride_fact(LEFT), stride_fact(RIGHT)]
    made = compiled(graph, facts, Options.of(device="ptx-sim", fastmath=FREELY))
    np.testing.assert_allclose(made([LEFT, RIGHT])[0], LEFT.astype(np.float32) @ RIGHT, rtol=2e-3, atol=2e-3)
    return made


def kernels_of(ptx: str) -> list[str]:
    """The text before the first kernel, then each kernel."""
    return re.split(r"(?=\n\.visible \.entry )", ptx)


@ON_HOPPER
@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_in_what_is_emitted(right: Executable, mistake: str) -> None:
    pattern, replacement, which, said = PLANTED[mistake]
    assert isinstance(right.native, GpuCode)

    def planted(kernel: str) -> str:
        found = list(re.finditer(pattern, kernel))
        if not found:
            return kernel  # the one that has no boxes
        place = found[which]
        return kernel[: place.start()] + place.expand(replacement) + kernel[place.end() :]

    parts = kernels_of(right.native.ptx)
    ptx = "".join(map(planted, parts))
    assert ptx != right.native.ptx, f"the PTX has nothing like {pattern!r} any more"
    code = GpuCode("ptx-sim", ptx, right.native.plan, right.code)
    with pytest.raises(DeviceError, match=said):
        Executable(right.signature, right.code, code)([LEFT, RIGHT])
