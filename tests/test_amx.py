"""Contractions by the matrix units of CPUs (AMX), where `fastmath` allows their order of sums."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.utils.exceptions import VerifyException

import txc
from txc.compiler.codegen.emit.module import EmitError
from txc.compiler.codegen.target import llvm_backend
from txc.compiler.codegen.target.names import named_target
from txc.compiler.codegen.target.target import Target
from txc.compiler.config.options import Options
from txc.compiler.interpret import loops
from txc.compiler.interpret.kernel import run as run_kernels
from txc.compiler.pipeline import Stages, run_stages
from txc.dialects.attributes import dims_attr
from txc.dialects.dims.dims import dim
from txc.dialects.loop import AmxOp
from txc.dialects.order import Order, parse_order

RNG = np.random.default_rng(18)
BF16 = ml_dtypes.bfloat16
TILES = llvm_backend.make_target("", "x86-64-v4", "+amx-tile,+amx-bf16") if llvm_backend.host_target().is_x86 else None
with_tiles = pytest.mark.skipif(
    not llvm_backend.host_with_amx().has("amx-bf16"),
    reason="this processor, or its kernel, gives processes no tiles (AMX)",
)
on_x86 = pytest.mark.skipif(TILES is None, reason="the processors of other architectures have other units")

#: Of each way to multiply: the type of its factors, and the largest error, as a part of the sum of absolute products.
#: Results in bf16 are rounded twice in the worst of the functions here; two (three) pieces leave 17 (25) bits.
WAYS = {"reassoc": (BF16, 2.0**-7), "bf16x3": (np.float32, 2.0**-15), "bf16x6": (np.float32, 2.0**-21)}


def product(a: Any, b: Any) -> Any:
    return a @ b


def scaled(a: Any, b: Any) -> Any:
    return np.maximum((a * 2) @ b, 0) + 1


def drawn(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    return RNG.standard_normal(shape).astype(kind)


def whole(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """Small whole numbers, whose sums of products are exact in any order."""
    return RNG.integers(-3, 4, shape).astype(kind)


def as_stored(a: np.ndarray, how: str) -> np.ndarray:
    """The array, contiguous along its last dim (``n``), along the one before (``t``), or along neither (``s``)."""
    if how == "t":
        return np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    if how == "s":
        return np.repeat(a, 2, axis=-1)[..., ::2]
    return a


def staged(f: Callable[..., Any], *arrays: np.ndarray, way: str, target: Target | None, stop: str) -> Stages:
    graph = txc.jit(f).graph(*arrays)
    return run_stages(graph, Options.of(fastmath={way}), target=target, stop_after=stop)


@with_tiles
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", [product, scaled])
def test_errors(way: str, f: Callable[..., Any]) -> None:
    kind, error = WAYS[way]
    made = txc.jit(f, fastmath={way})
    for m, k, n in ((64, 64, 64), (130, 70, 97), (40, 1, 24), (33, 500, 129)):
        a, b = drawn((m, k), kind), drawn((k, n), kind)
        wide = a.astype(np.float64), b.astype(np.float64)
        size = 2 * np.abs(wide[0]) @ np.abs(wide[1]) + 1
        assert np.all(np.abs(made(a, b).astype(np.float64) - f(*wide)) <= error * size), (m, k, n)


@with_tiles
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt", "ss"])
def test_edges(way: str, layouts: str) -> None:
    """Sizes about those of tiles, exactly: nothing is left out, and nothing but zeros added."""
    kind, _ = WAYS[way]
    made = txc.jit(product, fastmath={way})
    sizes = [0, 1, 15, 16, 17, 31, 32, 33, 65]
    for i, m in enumerate(sizes):
        for j, k in enumerate(sizes):
            n = sizes[(i + 2 * j) % len(sizes)]
            a, b = as_stored(whole((m, k), kind), layouts[0]), as_stored(whole((k, n), kind), layouts[1])
            # What is rounded to bf16 in the end is rounded once.
            expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(kind)
            np.testing.assert_array_equal(made(a, b).astype(np.float32), expected.astype(np.float32), f"{m, k, n}")


@with_tiles
@pytest.mark.parametrize("way", WAYS)
def test_stacks(way: str) -> None:
    kind, _ = WAYS[way]
    made = txc.jit(product, fastmath={way})
    for layouts in ("nn", "tt"):
        a, b = (as_stored(whole(s, kind), how) for s, how in zip(((3, 2, 20, 33), (3, 2, 33, 17)), layouts))
        expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(kind)
        np.testing.assert_array_equal(made(a, b).astype(np.float32), expected.astype(np.float32))


@with_tiles
@pytest.mark.parametrize("way", WAYS)
def test_threads_change_no_bit(way: str) -> None:
    kind, _ = WAYS[way]
    for shape in (((300, 200), (200, 260)), ((5, 70, 40), (5, 40, 70))):
        a, b = (drawn(s, kind) for s in shape)
        one, *others = (txc.jit(product, fastmath={way}, threads=threads)(a, b) for threads in (1, 2, 4))
        for other in others:
            assert one.tobytes() == other.tobytes()


@with_tiles
@pytest.mark.parametrize("way", WAYS)
def test_few_rows_or_columns_are_chains(way: str) -> None:
    """Packing the other operand would take longer than tiles save; the results are those of any processor."""
    kind, _ = WAYS[way]
    for *stack, m, k, n in ((8, 70, 90), (90, 70, 8), (1, 70, 90), (3, 8, 70, 90)):
        a, b = drawn((*stack, m, k), kind), drawn((*stack, k, n), kind)
        assert txc.jit(product, fastmath={way})(a, b).tobytes() == txc.jit(product)(a, b).tobytes()
    a, b = drawn((9, 70), kind), drawn((70, 90), kind)
    assert txc.jit(product, fastmath={way})(a, b).tobytes() != txc.jit(product)(a, b).tobytes() or kind is BF16


@with_tiles
def test_rows_go_by_bands_where_no_cache_holds_them() -> None:
    """So many rows that they are packed in several bands, with a last one that is shorter."""
    a, b = whole((10_000, 7_000), BF16), whole((7_000, 24), BF16)
    made = txc.jit(lambda a, b: a.astype(np.float32) @ b.astype(np.float32), fastmath={"reassoc"})
    np.testing.assert_array_equal(made(a, b), a.astype(np.float32) @ b.astype(np.float32))


@with_tiles
def test_numbers_below_the_normal_ones_are_zeros() -> None:
    small = np.full((32, 32), 2.0**-130, BF16)
    large = np.full((32, 32), 2.0**100, BF16)
    assert np.all(txc.jit(product, fastmath={"reassoc"})(small, large) == 0)
    assert np.all(txc.jit(product)(small, large) != 0)


@on_x86
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layouts", ["nn", "tt"])
def test_loops_are_the_kernels(way: str, layouts: str) -> None:
    """The reference of the order, and the loops that the schedule makes of it, on any machine."""
    kind, error = WAYS[way]
    a, b = (as_stored(drawn(s, kind), how) for s, how in zip(((37, 71), (71, 50)), layouts))
    given = [a, b, np.empty((37, 50), kind)]
    strides = [tuple(dim(s // x.itemsize) for s in x.strides) for x in (a, b)]
    graph = txc.jit(product).graph(a, b)
    results = []
    for stage, run in (("buffers", run_kernels), ("loops", loops.run)):
        stages = run_stages(graph, Options.of(fastmath={way}), target=TILES, stop_after=stage, strides=strides)
        assert stages.module is not None
        assert "unit<32, fma" in str(stages.module) or stage == "loops"
        assert ("loop.amx" in str(stages.module)) == (stage == "loops")
        results.append(run(stages.module, [x.copy(order="A") for x in given], {})[-1].astype(np.float64))
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert np.all(np.abs(results[0] - results[1]) <= error * size)
    assert np.all(np.abs(results[1] - a.astype(np.float64) @ b.astype(np.float64)) <= error * size)


@on_x86
def test_what_has_no_leave_keeps_its_chain() -> None:
    a, b = drawn((64, 64), BF16), drawn((64, 64), BF16)
    for arrays, way, target, unit in (
        ((a, b), "reassoc", TILES, True),
        ((a, b), "tf32", TILES, False),
        ((a, b), "bf16x6", TILES, False),  # these are bf16 already
        ((a, b), "reassoc", llvm_backend.make_target("", "x86-64-v4"), False),
        ((a, b), "reassoc", named_target("native").versions[0], False),  # for processes that may not have asked
    ):
        module = staged(product, *arrays, way=way, target=target, stop="fused").module
        assert ("unit<32, fma>" in str(module)) == unit


def test_a_process_without_leave_has_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_backend, "tiles_permitted", lambda: False)
    target = llvm_backend.host_with_amx()
    assert "+amx" not in target.features
    assert target.without_amx == target == llvm_backend.host_target()


def test_a_process_asks_only_where_tiles_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(llvm_backend, "tiles_permitted", lambda: asked.append(1) is None)
    graph = txc.jit(product).graph(*[drawn((64, 64), BF16)] * 2)
    for fastmath, times in ((frozenset[str](), 0), (frozenset({"tf32"}), 0), (frozenset({"reassoc"}), 1)):
        run_stages(graph, Options.of(fastmath=fastmath), stop_after="fused")
        assert len(asked) == times


@on_x86
def test_machine_code() -> None:
    a, b = drawn((64, 64), BF16), drawn((64, 64), BF16)
    text = staged(product, a, b, way="reassoc", target=TILES, stop="llvm").llvm
    assert text is not None
    # Set up before the first product and given back at the end, in the one function that multiplies.
    names = re.findall(r"call void @llvm\.x86\.(ldtilecfg|tdpbf16ps|tilestored64|tilerelease)", text)
    assert names == ["ldtilecfg", *["tdpbf16ps"] * 4, *["tilestored64"] * 4, "tilerelease"]
    with pytest.raises(EmitError, match="bf16_amx is a matrix unit of processors with amx-bf16"):
        graph = txc.jit(product).graph(a, b)
        passes = "tx-select-mma{units=bf16_amx}"
        run_stages(
            graph, Options.of(passes=passes), target=llvm_backend.make_target("", "x86-64-v4"), stop_after="llvm"
        )


def test_orders_read_back() -> None:
    for order in (Order("unit", 32, 1, "fma"), Order("unit", 32, 1, "fma", 2), Order("unit", 32, 1, "fma", 3)):
        assert parse_order(str(order)) == order
    for wrong in ("unit<32, 3>", "unit<32, fma, 4>", "chain<32, fma, 2>"):
        with pytest.raises(ValueError, match="is not an order"):
            parse_order(wrong)


def fold_of_tiles() -> AmxOp:
    a, b = drawn((64, 64), BF16), drawn((64, 64), BF16)
    module = staged(product, a, b, way="reassoc", target=TILES, stop="loops").module
    assert module is not None
    return next(op for op in module.walk() if isinstance(op, AmxOp))


@on_x86
def test_a_fold_of_tiles_is_checked() -> None:
    fold = fold_of_tiles()
    fold.verify_()
    attributes = dict(fold.attributes)
    for name, value, message in (
        ("unit", StringAttr("bf16"), "there is no unit 'bf16' of CPUs: bf16_amx, bf16x3_amx, bf16x6_amx"),
        ("unit", StringAttr("bf16x3_amx"), "the left tiles are packed bf16[2, 2, 16, 32], not bf16["),
        ("right_at", dims_attr((dim(0),)), "the right tiles are packed i32[1, 2, 16, 16], not i32["),
    ):
        fold.attributes[name] = value
        with pytest.raises(VerifyException, match=re.escape(message)):
            fold.verify_()
        fold.attributes.update(attributes)
    fold.detach()
    with pytest.raises(VerifyException, match="an AMX loop stands in a cpu_thread loop"):
        fold.verify_()


@on_x86
@pytest.mark.parametrize(("way", "pieces"), [("reassoc", 0), ("bf16x3", 2), ("bf16x6", 3)])
def test_tiles_that_meet_several_others_are_asked_for_one_step_ahead(way: str, pieces: int) -> None:
    """All lines of the next step's tiles; a tile of one piece meets two, which leaves no time for that."""
    a, b = (drawn((64, 64), WAYS[way][0]) for _ in range(2))
    text = str(staged(product, a, b, way=way, target=TILES, stop="llvm").llvm)
    (multiplying,) = (part for part in text.split("\ndefine ") if "tdpbf16ps(" in part.partition("\n}")[0])
    assert multiplying.partition("\n}")[0].count("call void @llvm.prefetch.p0(ptr") == pieces * (2 + 2) * 16


@on_x86
def test_results_are_stored_while_the_next_fold_multiplies() -> None:
    beside = [op.name for op in fold_of_tiles().block.walk()]
    assert beside.count("loop.store") == beside.count("arith.truncf") == 1
