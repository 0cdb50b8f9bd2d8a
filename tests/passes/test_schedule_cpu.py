"""The CPU schedule: kernels, their loops, and machine code of those loops have the same bits, at every width."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from txc.dialects.dims.dims import Sym
from txc.dialects.loop import AllocOp, BindOp, IndexOp, ParallelOp

from ..pairwise import pairwise
from .nests import Scheduled, function, nest, scheduled

RNG = np.random.default_rng(3)
WIDTHS = (0, 1, 4, 16)
ORDERS = ("tree<1024, 64>", "tree<64, 8>", "tree<16, 1>", "chain<32>")

DOUBLE = "^bb0(%a: f32):\n%b = arith.addf %a, %a : f32\nkernel.yield %b : f32"


def add(t: str) -> str:
    return f"^bb0(%a: {t}, %b: {t}):\n%c = arith.addf %a, %b : {t}\nkernel.yield %c : {t}"


def same(t: str) -> str:
    return f"^bb0(%a: {t}):\nkernel.yield %a : {t}"


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_map_of_any_size(lanes: int) -> None:
    x = "f32[n, m] by [m, 1]"
    made = scheduled(
        function({"x": x, "y": x}, nest("n, m", [("x", x, "d0, d1")], [("y", x, "d0, d1")], DOUBLE), "n, m"),
        lanes=lanes,
    )
    for n, m in [(0, 3), (3, 0), (1, 1), (7, 9), (5, 64), (300, 131)]:
        y = made.check([f32(n, m), f32(n, m)], {"n": n, "m": m})[1]
        assert y.shape == (n, m)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_transposed_broadcast_and_guarded_maps(lanes: int) -> None:
    x, y, v = "f32[m, n] by [n, 1]", "f32[n, m] by [m, 1]", "f32[m] by [1]"
    body = "^bb0(%a: f32, %b: f32, %c: f32):\n%d = arith.addf %a, %b : f32\n"
    body += "%e = arith.mulf %d, %c : f32\nkernel.yield %e : f32"
    ins = [("x", x, "d1, d0"), ("v", v, "d1"), ("x", x, "d1 - 1, d0 - 2 where (d1 - 1, d0 - 2)")]
    text = function({"x": x, "v": v, "y": y}, nest("n, m", ins, [("y", y, "d0, d1")], body), "n, m")
    made = scheduled(text, lanes=lanes)
    for n, m in [(0, 0), (1, 1), (3, 17), (18, 35), (70, 45)]:
        made.check([f32(m, n), f32(m), f32(n, m)], {"n": n, "m": m}, interpret=n < 70)


def tasks(made: Scheduled, env: dict[str, int]) -> int:
    """Iterations of the function's only parallel loop."""
    values = {Sym(name): size for name, size in env.items()}
    body = next(op for op in made.module.body.block.ops if isinstance(op, FuncOp)).body.block
    for op in body.ops:
        if isinstance(op, BindOp):
            assert isinstance(op.value.owner, IndexOp)
            values[Sym(op.symbol.data)] = op.value.owner.expr.data.evaluate(values)
    (loop,) = (op for op in body.ops if isinstance(op, ParallelOp))
    return -(-loop.upper.data.evaluate(values) // loop.step.data.evaluate(values))


@pytest.mark.parametrize("lanes", WIDTHS)
def test_threads_share_the_rows_of_few_images(lanes: int) -> None:
    x, y = "f32[b, n + 1, 2*m] by [2*n*m + 2*m, 2*m, 1]", "f32[b, n, m] by [n*m, m, 1]"
    text = nest("b, n, m", [("x", x, "d0, d1, d2")], [("y", y, "d0, d1, d2")], DOUBLE)
    made = scheduled(function({"x": x, "y": y}, text, "b, n, m"), lanes=lanes)
    for (b, n, m), shared in {(0, 3, 5): 0, (2, 0, 3): 2, (1, 9, 9): 1, (1, 54, 40000): 54, (3, 7, 1): 3}.items():
        env = {"b": b, "n": n, "m": m}
        assert tasks(made, env) == shared
        made.check([f32(b, n + 1, 2 * m), f32(b, n, m)], env, interpret=b * n * m < 1000)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_threads_share_all_loops_around_a_fold(lanes: int) -> None:
    """Windows of a plane in a batch: three loops around a fold, vectors across the last."""
    x, y = "f32[b, n, m, k] by [n*m*k, m*k, k, 1]", "f32[b, n - 2, m, k] by [n*m*k - 2*m*k, m*k, k, 1]"
    text = nest(
        "b, n - 2, m, k, 3", [("x", x, "d0, d1 + d4, d2, d3")], [("y", y, "d0, d1, d2, d3")], same("f32"),
        order="chain<512>", identity="-0.0 : f32", merge=add("f32"), finish=DOUBLE,
    )  # fmt: skip
    made = scheduled(function({"x": x, "y": y}, text, "b, n, m, k"), lanes=lanes)
    for b, n, m, k in [(0, 4, 2, 3), (1, 2, 3, 4), (1, 9, 20, 5), (3, 4, 2, 17), (1, 3, 300, 1)]:
        made.check([f32(b, n, m, k), f32(b, n - 2, m, k)], {"b": b, "n": n, "m": m, "k": k})


def test_iterators_that_the_body_counts_with_stay_apart() -> None:
    y = "i64[n, m] by [m, 1]"
    body = "%a = loop.index (10*d0 + d1)\nkernel.yield %a : i64"
    made = scheduled(function({"y": y}, nest("n, m", [], [("y", y, "d0, d1")], body), "n, m"))
    (out,) = made.check([np.zeros((4, 9), np.int64)], {"n": 4, "m": 9})
    assert np.array_equal(out, 10 * np.arange(4)[:, None] + np.arange(9))


def fold(order: str, x: str, at: str, extents: str, y: str, out: str) -> str:
    return nest(
        extents, [("x", x, at)], [("y", y, out)], same("f32"), order=order, identity="-0.0 : f32", merge=add("f32"),
        finish=DOUBLE,
    )  # fmt: skip


@pytest.mark.parametrize(("order", "lanes", "columns"), pairwise(ORDERS, WIDTHS, (False, True)))
def test_reductions_keep_their_order(order: str, lanes: int, columns: bool) -> None:
    x, y = ("f32[k, n] by [n, 1]", "d1, d0") if columns else ("f32[n, k] by [k, 1]", "d0, d1"), "f32[n] by [1]"
    made = scheduled(function({"x": x[0], "y": y}, fold(order, *x, "n, k", y, "d0"), "n, k"), lanes=lanes)
    for n, k in [(0, 4), (3, 0), (1, 1), (5, 70), (19, 2100)]:
        made.check([f32(k, n) if columns else f32(n, k), f32(n)], {"n": n, "k": k}, interpret=k < 2000)


@pytest.mark.parametrize(("order", "lanes"), list(product(ORDERS, WIDTHS)))
def test_full_reductions_keep_their_order(order: str, lanes: int) -> None:
    x, y = "f32[k] by [1]", "f32[] by []"
    made = scheduled(function({"x": x, "y": y}, fold(order, x, "d0", "k", y, ""), "k"), lanes=lanes)
    for k in (0, 1, 63, 1024, 1025, 5000):
        made.check([f32(k), np.zeros((), np.float32)], {"k": k})


def test_a_free_order_is_split_between_threads() -> None:
    x, y = "i64[k] by [1]", "i64[] by []"
    merge = "^bb0(%a: i64, %b: i64):\n%c = arith.addi %a, %b : i64\nkernel.yield %c : i64"
    text = nest(
        "k",
        [("x", x, "d0")],
        [("y", y, "")],
        same("i64"),
        order="free",
        identity="0 : i64",
        merge=merge,
        finish=same("i64"),
    )
    made = scheduled(function({"x": x, "y": y}, text, "k"))
    for k in (0, 5, 16384, 100000):
        data = RNG.integers(-99, 99, k)
        assert made.check([data, np.zeros((), np.int64)], {"k": k})[1] == data.sum()


def contraction(
    dtype: str, a: tuple[str, str], b: tuple[str, str], finish: str = "", k: str = "k", m: str = "m", n: str = "n"
) -> str:
    c = f"{dtype}[{m}, {n}] by [{n}, 1]"
    body = f"^bb0(%a: {dtype}, %b: {dtype}):\nkernel.yield %a, %b : {dtype}, {dtype}"
    text = nest(
        f"{m}, {n}, {k}", [("a", *a), ("b", *b)], [("c", c, "d0, d1")], body, order="chain<512, fma>",
        identity=f"-0.0 : {dtype}", merge=add(dtype), finish=finish or same(dtype),
    )  # fmt: skip
    return function({"a": a[0], "b": b[0], "c": c}, text, ", ".join(s for s in (m, n, k) if not s.isdigit()))


def any_product(lanes: int) -> Scheduled:
    return scheduled(
        contraction("f32", ("f32[m, k] by [k, 1]", "d0, d2"), ("f32[k, n] by [n, 1]", "d2, d1")), lanes=lanes
    )


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize(("m", "n"), [("1", "n"), ("m", "1"), ("1", "1")])
def test_products_with_one_row_or_column_have_the_bits_of_any(m: str, n: str, lanes: int) -> None:
    a, b = (f"f32[{m}, k] by [k, 1]", "d0, d2"), (f"f32[k, {n}] by [{n}, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, m=m, n=n), lanes=lanes)
    assert not any(isinstance(op, AllocOp) for op in made.module.walk())
    anything = any_product(0)
    for rows, columns, k in [(1, 1, 0), (7, 5, 3), (300, 70, 40), (9, 17, 1030)]:
        sizes = {"m": 1 if m == "1" else rows, "n": 1 if n == "1" else columns, "k": k}
        arrays = [f32(sizes["m"], k), f32(k, sizes["n"]), f32(sizes["m"], sizes["n"])]
        result = made.check(arrays, sizes, interpret=k < 1000)[2]
        assert np.array_equal(result, anything.check(arrays, sizes, interpret=False)[2])


def test_iterators_of_one_place_leave_what_a_body_counts() -> None:
    y = "i64[n, 1, m] by [m, m, 1]"
    body = "%a = loop.index (100*d0 + 10*d1 + d2)\n"
    body += (
        "%b = kernel.read %m_x[d1, d2] where (d2 - d1 - 1 >= 0)\n%c = arith.addi %a, %b : i64\nkernel.yield %c : i64"
    )
    text = nest("n, 1, m", [], [("y", y, "d0, d1, d2")], body)
    made = scheduled(function({"x": "i64[1, m] by [m, 1]", "y": y}, text, "n, m"))
    x = np.arange(1, 10)[None] * 1000
    out = made.check([x, np.zeros((4, 1, 9), np.int64)], {"n": 4, "m": 9})[1]
    assert np.array_equal(out[:, 0], 100 * np.arange(4)[:, None] + np.arange(9) + np.where(np.arange(9) > 0, x, 0))


@pytest.mark.parametrize(("lanes", "dtype", "transposed"), pairwise(WIDTHS, ("f32", "f64"), (False, True)))
def test_contractions_keep_their_order(dtype: str, lanes: int, transposed: bool) -> None:
    a = (f"{dtype}[k, m] by [m, 1]", "d2, d0") if transposed else (f"{dtype}[m, k] by [k, 1]", "d0, d2")
    b = (f"{dtype}[n, k] by [k, 1]", "d1, d2") if transposed else (f"{dtype}[k, n] by [n, 1]", "d2, d1")
    made = scheduled(contraction(dtype, a, b), lanes=lanes)
    element = np.dtype(np.float32 if dtype == "f32" else np.float64)
    for m, n, k in [(0, 2, 3), (2, 0, 3), (3, 4, 0), (1, 1, 1), (13, 35, 7), (5, 17, 1030), (101, 3, 40)]:
        shapes = ((k, m), (n, k)) if transposed else ((m, k), (k, n))
        arrays = [RNG.standard_normal(s).astype(element) for s in (*shapes, (m, n))]
        out = made.check(arrays, {"m": m, "n": n, "k": k}, interpret=m * n * k < 10000)[2]
        x, y = (arrays[0].T, arrays[1].T) if transposed else arrays[:2]
        np.testing.assert_allclose(out, x @ y, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 40])
def test_threads_share_panels_or_rows_of_a_contraction(threads: int) -> None:
    """Many panels, few panels, fewer than there are threads; all that a worker packs is in memory of its own."""
    made = any_product(4)
    for m, n, k in [(9, 2500, 3), (90, 70, 520), (3, 500, 3), (300, 20, 5), (10, 33, 1030), (9, 1, 1)]:
        arrays = [f32(m, k), f32(k, n), f32(m, n)]
        interpret = threads == 1 and m * n * k < 50_000
        out = made.check(arrays, {"m": m, "n": n, "k": k}, interpret=interpret, threads=[threads])[2]
        np.testing.assert_allclose(out, arrays[0] @ arrays[1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("m", "n", "threads", "tasks"),
    [(400, 4096, 1, 22), (400, 4096, 3, 24), (400, 8, 1, 1), (400, 8, 4, 4), (18, 8, 40, 3), (17, 40, 40, 1)],
)
def test_tasks_of_a_contraction_follow_from_threads(m: int, n: int, threads: int, tasks: int) -> None:
    """256 panels, of which a worker holds twelve; one, of which threads share rows by whole tiles; a small product."""
    a, b = (f"f32[{m}, 400] by [400, 1]", "d0, d2"), (f"f32[400, {n}] by [{n}, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, k="40" if m == 17 else "400", m=str(m), n=str(n)), lanes=8)
    body = next(op for op in made.module.body.block.ops if isinstance(op, FuncOp)).body.block
    values: dict[Sym, int] = {}
    for op in body.ops:
        if isinstance(op, BindOp):
            of = op.value.owner
            values[Sym(op.symbol.data)] = of.expr.data.evaluate(values) if isinstance(of, IndexOp) else threads
    (multiply,) = (op for op in body.ops if isinstance(op, ParallelOp))
    assert multiply.upper.data.evaluate(values) == tasks


@pytest.mark.parametrize("k", ["k", "40"])
def test_an_epilogue_follows_the_last_block(k: str) -> None:
    a, b = (f"f32[m, {k}] by [{k}, 1]", "d0, d2"), (f"f32[{k}, n] by [n, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, DOUBLE, k))
    for m, n in [(1, 1), (13, 35)]:
        for size in (0, 40, 1030) if k == "k" else (40,):
            made.check([f32(m, size), f32(size, n), f32(m, n)], {"m": m, "n": n, "k": size}, interpret=False)


@pytest.mark.parametrize("sizes", [("3", "4", "5"), ("8", "32", "16"), ("100", "7", "600")])
def test_contractions_of_known_sizes(sizes: tuple[str, str, str]) -> None:
    m, n, k = sizes
    a, b = (f"f32[{m}, {k}] by [{k}, 1]", "d0, d2"), (f"f32[{k}, {n}] by [{n}, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, k=k, m=m, n=n))
    made.check([f32(int(m), int(k)), f32(int(k), int(n)), f32(int(m), int(n))], {}, interpret=False)


def test_blocks_of_a_contraction_start_from_its_identity() -> None:
    """Products that are all -0 sum to -0 where that is the identity, of several blocks of K too."""
    a, b = ("f32[m, k] by [k, 1]", "d0, d2"), ("f32[k, n] by [n, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b))
    for m, n, interpret in ((13, 35, False), (3, 5, True)):
        arrays = [-np.zeros((m, 1030), np.float32), f32(1030, n) ** 2, f32(m, n)]
        made.check(arrays, {"m": m, "n": n, "k": 1030}, interpret=interpret)


def test_threads_share_tiles_of_a_contraction_evenly() -> None:
    """31 blocks of at most 16 tiles, which the first cache holds, would be a round more for one of four threads; 32
    have 15 tiles or 16."""
    a, b = ("f32[40, 2916] by [2916, 1]", "d2, d0"), ("f32[40, 64] by [64, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, k="40", m="2916", n="64"), lanes=8)
    body = next(op for op in made.module.body.block.ops if isinstance(op, FuncOp)).body.block
    *_, multiply = (op for op in body.ops if isinstance(op, ParallelOp))
    tasks = range(multiply.upper.data.evaluate({}))
    firsts = [list(_bound(multiply.block, {multiply.symbol: task}).values())[-1] for task in tasks]
    assert len(firsts) == 32 and set(np.diff([*firsts, 2916])) == {90, 96}
    made.check([f32(40, 2916), f32(40, 64), f32(2916, 64)], {}, interpret=False)


@pytest.mark.parametrize(("columns", "rows_shared"), [(128, False), (100, True)])
def test_threads_share_rows_where_the_last_panel_is_narrow(columns: int, rows_shared: bool) -> None:
    """Four panels are two for each of two threads; of three and an eighth one thread would have two, so each has half
    of the rows by all panels, which both pack."""
    n = str(columns)
    a, b = ("f32[200, 200] by [200, 1]", "d0, d2"), (f"f32[200, {n}] by [{n}, 1]", "d2, d1")
    made = scheduled(contraction("f32", a, b, k="200", m="200", n=n), lanes=8)
    multiply = next(op for op in made.module.walk() if isinstance(op, ParallelOp))
    firsts: set[int] = set()
    assert multiply.parent is not None
    around = _bound(multiply.parent, {})
    for task in range(multiply.upper.data.evaluate(around)):
        inside = _bound(multiply.block, {**around, multiply.symbol: task})
        firsts.add(list(inside.values())[-1])
    assert len(firsts) == (2 if rows_shared else 1)
    made.check([f32(200, 200), f32(200, columns), f32(200, columns)], {}, interpret=False)


def _bound(block: Block, values: dict[Sym, int]) -> dict[Sym, int]:
    """What a block binds, where two threads are there."""
    for op in block.ops:
        if isinstance(op, BindOp):
            made = op.value.owner
            values[Sym(op.symbol.data)] = made.expr.data.evaluate(values) if isinstance(made, IndexOp) else 2
    return values


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize(
    ("columns", "order"),
    [(False, "tree<1024, 64>"), (True, "tree<1024, 64>"), (True, "tree<16, 1>"), (True, "chain<16>")],
)
def test_rows_of_a_normalisation(lanes: int, columns: bool, order: str) -> None:
    """x / sum(x) along rows, or along columns: the sum lives in a worker's own memory."""
    x, at = ("f32[m, n] by [n, 1]", "d1, d0") if columns else ("f32[n, m] by [m, 1]", "d0, d1")
    one = "f32[] by []"
    total = nest(
        "n, m", [("x", x, at)], [("s", one, "")], same("f32"), order=order, identity="-0.0 : f32", merge=add("f32"),
        finish=same("f32"),
    )  # fmt: skip
    divide = "^bb0(%a: f32, %b: f32):\n%c = arith.divf %a, %b : f32\nkernel.yield %c : f32"
    scale = nest("n, m", [("x", x, at), ("s", one, "")], [("y", x, at)], divide)
    rows = f"""%m_s = loop.alloc {one} in thread at 0
"kernel.row_group"() ({{ {total} {scale}
kernel.yield }}) {{shared = 1 : i64}} : () -> ()"""
    text = function({"x": x, "y": x}, rows, "n, m").replace(
        'tx.thread_arena = #tx.dim<"0">', 'tx.thread_arena = #tx.dim<"64">'
    )
    made = scheduled(text, lanes=lanes)
    for n, m in [(0, 1), (1, 1), (5, 33), (40, 70), (70, 8), (200, 3)]:
        shape = (m, n) if columns else (n, m)
        made.check([f32(*shape), f32(*shape)], {"n": n, "m": m})


def test_control_flow_around_nests() -> None:
    flag, x = "bool[] by []", "f32[n] by [1]"
    step = nest("n", [("x", x, "d0")], [("x", x, "d0")], DOUBLE)
    body = f"""%t = loop.load %m_c[]
"kernel.if"(%t) ({{ "kernel.for"() ({{ {step}
kernel.yield }}) {{iv = "t", lower = #tx.dim<"0">, upper = #tx.dim<"3">, step = #tx.dim<"1">}} : () -> ()
kernel.yield }}, {{ kernel.yield }}) : (i1) -> ()"""
    made = scheduled(function({"c": flag, "x": x}, body, "n"))
    data = f32(50)
    for c in (True, False):
        out = made.check([np.array(c), data], {"n": 50})[1]
        assert np.array_equal(out, data * 8 if c else data)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_band_of_columns_keeps_whole_columns_of_private_values(lanes: int) -> None:
    """t = 2x lives within a column; y = t reversed along it, for each of p slabs."""
    x, t = "f32[p, m, n] by [m*n, n, 1]", "f32[m] by [1]"
    into = nest("p, n, m", [("x", x, "d0, d2, d1")], [("t", t, "d2")], DOUBLE)
    back = nest("p, n, m", [("t", t, "m - 1 - d2")], [("y", x, "d0, d2, d1")], same("f32"))
    rows = f"""%m_t = loop.alloc {t} in thread at 0
"kernel.row_group"() ({{ {into} {back}
kernel.yield }}) {{shared = 2 : i64}} : () -> ()"""
    text = function({"x": x, "y": x}, rows, "p, n, m").replace(
        'tx.thread_arena = #tx.dim<"0">', 'tx.thread_arena = #tx.dim<"4*m">'
    )
    made = scheduled(text, lanes=lanes)
    for p, n, m in [(0, 1, 1), (1, 1, 1), (3, 70, 5), (2, 130, 9)]:
        data = f32(p, m, n)
        out = made.check([data, f32(p, m, n)], {"p": p, "n": n, "m": m})[1]
        assert np.array_equal(out, 2 * data[:, ::-1])


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("axes", [(2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)])
def test_permutations_of_three_dims(lanes: int, axes: tuple[int, int, int]) -> None:
    names = ("p", "n", "m")
    a, b, c = (names[i] for i in axes)
    x, y = f"f32[{a}, {b}, {c}] by [{b}*{c}, {c}, 1]", "f32[p, n, m] by [n*m, m, 1]"
    at = ", ".join(f"d{i}" for i in axes)
    text = function({"x": x, "y": y}, nest("p, n, m", [("x", x, at)], [("y", y, "d0, d1, d2")], same("f32")), "p, n, m")
    made = scheduled(text, lanes=lanes)
    for sizes in [(0, 2, 3), (1, 1, 1), (3, 20, 35), (40, 3, 18)]:
        data = f32(*(sizes[i] for i in axes))
        out = made.check([data, f32(*sizes)], dict(zip(names, sizes)))[1]
        assert np.array_equal(out, data.transpose(np.argsort(axes)))


@pytest.mark.parametrize("n, m", [(1472, 1448), (1531, 1400), (1531, 1401)])
def test_transpositions_past_the_caches_go_through_tiles(n: int, m: int) -> None:
    x, y = "f32[m, n] by [n, 1]", "f32[n, m] by [m, 1]"
    made = scheduled(
        function({"x": x, "y": y}, nest("n, m", [("x", x, "d1, d0")], [("y", y, "d0, d1")], same("f32")), "n, m")
    )
    assert "nontemporal" in str(made.module)
    made.check([f32(m, n), f32(n, m)], {"n": n, "m": m}, interpret=False)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_ends_of_transposed_tiles_are_transposed_too(lanes: int) -> None:
    """Rows and columns of every number that vectors leave over."""
    x, y = "f32[m, n] by [n, 1]", "f32[n, m] by [m, 1]"
    text = function({"x": x, "y": y}, nest("n, m", [("x", x, "d1, d0")], [("y", y, "d0, d1")], same("f32")), "n, m")
    made = scheduled(text, lanes=lanes)
    for left in range(lanes):
        for n, m in ((lanes + left, 2 * lanes + left), (left, 5 * lanes + 1), (2 * lanes + 1, left)):
            data = f32(m, n)
            out = made.check([data, f32(n, m)], {"n": n, "m": m}, interpret=left < 2)[1]
            assert np.array_equal(out, data.T)


MOST = "^bb0(%a: f32, %b: f32):\n%g = arith.cmpf ogt, %a, %b : f32\n"
MOST += "%c = arith.select %g, %a, %b : f32\nkernel.yield %c : f32"


@pytest.mark.parametrize("order, identity, merge", [("tree<64, 1>", "-0.0", add("f32")), ("free", "0xff800000", MOST)])
def test_folds_of_what_no_cache_holds_go_in_sweeps(order: str, identity: str, merge: str) -> None:
    x, y = "f32[b, n, m] by [n*m, m, 1]", "f32[b, m] by [m, 1]"
    ins, outs = [("x", x, "d0, d2, d1")], [("y", y, "d0, d1")]
    text = nest("b, m, n", ins, outs, same("f32"), order=order, identity=f"{identity} : f32", merge=merge,
                finish=same("f32"))  # fmt: skip
    made = scheduled(function({"x": x, "y": y}, text, "b, n, m"))
    for b, n, m in [(2, 3, 5), (2, 139, 600), (1, 64, 2100), (3, 33, 1500)]:
        made.check([f32(b, n, m), f32(b, m)], {"b": b, "n": n, "m": m}, interpret=b * n * m < 1000)
