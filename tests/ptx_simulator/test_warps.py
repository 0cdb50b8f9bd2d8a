"""Instructions of a warp: shuffles, votes, matches, reductions, atomics, matrix products and copies."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError

from .harness import kernel, launch, run

N = 64
LANES = np.arange(N, dtype=np.uint32)
MINE = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r2, %laneid;
    mul.lo.u32 %r3, %r1, 7;
"""


def warp(statement: str, **how: Any) -> np.ndarray:
    """%r9 after a statement; %r1 is the thread, %r2 the lane, %r3 seven times the thread."""
    return run(f"{MINE}{statement}\n st.global.u32 [%rd3], %r9;\n ret;", np.zeros(N, np.uint32), **how)


@pytest.mark.parametrize(
    ("mode", "b", "c", "source"),
    [
        ("idx", "5", "31", lambda i: 5), ("bfly", "3", "31", lambda i: i ^ 3),
        ("up", "2", "0", lambda i: i - 2 if i >= 2 else i),
        ("down", "4", "31", lambda i: i + 4 if i + 4 < 32 else i),
        # Segments of eight lanes: the mask is 0x18, and the last lane of each its own.
        ("idx", "3", "6175", lambda i: (i & 24) | 3), ("down", "1", "6175", lambda i: i + 1 if (i & 7) < 7 else i),
        ("up", "1", "6144", lambda i: i - 1 if i & 7 else i),
    ],
)  # fmt: skip
def test_shuffles(mode: str, b: str, c: str, source: Any) -> None:
    found = warp(f"shfl.sync.{mode}.b32 %r9, %r3, {b}, {c}, -1;")
    np.testing.assert_array_equal(found, [7 * (i - i % 32 + source(i % 32)) for i in range(N)])
    inside = warp(f"shfl.sync.{mode}.b32 %r8|%p1, %r3, {b}, {c}, -1;\n selp.u32 %r9, 1, 0, %p1;")
    moved = np.array([source(i % 32) != i % 32 for i in range(N)])
    if mode in ("up", "down"):
        np.testing.assert_array_equal(inside.astype(bool), moved)
    else:
        assert inside.all()


def test_a_shuffle_of_some_lanes() -> None:
    """Lanes that wait for each other in two branches, each with its own members."""
    body = """
    setp.lt.u32 %p1, %r2, 16;
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r9, %r3, 1, 31, 0xFFFF0000;
    bra END;
LOW:
    shfl.sync.bfly.b32 %r9, %r3, 2, 31, 0x0000FFFF;
END:"""
    np.testing.assert_array_equal(warp(body), [7 * (i ^ (2 if i % 32 < 16 else 1)) for i in range(N)])


def test_a_shuffle_from_a_lane_that_takes_no_part() -> None:
    with pytest.raises(DeviceError, match="shuffle from lane 20, which takes no part"):
        warp("setp.lt.u32 %p1, %r2, 16;\n @!%p1 bra END;\n shfl.sync.idx.b32 %r9, %r3, 20, 31, 0xFFFF;\nEND:")


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0000FFFF])
def test_votes(mask: int) -> None:
    guard = "" if mask == 0xFFFFFFFF else "mov.u32 %r9, 0;\n setp.ge.u32 %p2, %r2, 16;\n @%p2 bra END;\n"
    prepare = f"{guard} and.b32 %r4, %r1, 4;\n setp.ne.u32 %p1, %r4, 0;\n"
    taking = [i % 32 < 16 or mask == 0xFFFFFFFF for i in range(N)]
    ballot = sum(1 << i for i in range(32) if i & 4) & mask
    found = warp(f"{prepare} vote.sync.ballot.b32 %r9, %p1, {mask};\nEND:")
    np.testing.assert_array_equal(found, np.where(taking, ballot, 0))
    for kind, value in (("any", 1), ("all", 0), ("uni", 0)):
        found = warp(f"{prepare} vote.sync.{kind}.pred %p3, %p1, {mask};\n selp.u32 %r9, 1, 0, %p3;\nEND:")
        np.testing.assert_array_equal(found, np.where(taking, value, 0))
    found = warp(f"{prepare} vote.sync.uni.pred %p3, !%p3, {mask};\n selp.u32 %r9, 1, 0, %p3;\nEND:")
    np.testing.assert_array_equal(found, taking)


def test_matches() -> None:
    found = warp("and.b32 %r4, %r1, 3;\n match.any.sync.b32 %r9, %r4, -1;")
    np.testing.assert_array_equal(found, [sum(1 << j for j in range(i % 4, 32, 4)) for i in range(N)])
    found = warp("shr.u32 %r4, %r1, 5;\n match.all.sync.b32 %r9|%p1, %r4, -1;")
    assert (found == 2**32 - 1).all()
    found = warp("match.all.sync.b32 %r9|%p1, %r1, -1;\n @%p1 mov.u32 %r9, 1;")
    assert not found.any()


@pytest.mark.parametrize("name", ["add", "min", "max", "and", "or", "xor"])
def test_reductions_of_a_warp(name: str) -> None:
    kind = "b32" if name in ("and", "or", "xor") else "s32"
    found = warp(f"sub.s32 %r4, %r3, 100;\n redux.sync.{name}.{kind} %r9, %r4, -1;")
    values = (7 * np.arange(N) - 100).reshape(2, 32)
    function = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    expected = function.get(name, np.bitwise_xor).reduce(values, axis=1)
    np.testing.assert_array_equal(found.view(np.int32), np.repeat(expected, 32))


def test_special_registers_of_a_warp() -> None:
    np.testing.assert_array_equal(warp("mov.u32 %r9, %lanemask_lt;"), [(1 << i % 32) - 1 for i in range(N)])
    np.testing.assert_array_equal(warp("mov.u32 %r9, %lanemask_ge;"), [2**32 - (1 << i % 32) for i in range(N)])
    np.testing.assert_array_equal(warp("elect.sync %r8|%p1, -1;\n selp.u32 %r9, 1, 0, %p1;"), np.arange(N) % 32 == 0)


# Atomics


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32 %r8, [%rd1], 2", 128), ("max.u32 %r8, [%rd1], %r3", 63 * 7), ("min.s32 %r8, [%rd1], -5", 2**32 - 5),
        ("or.b32 %r8, [%rd1], %r1", 63), ("xor.b32 %r8, [%rd1], 1", 0), ("exch.b32 %r8, [%rd1], %r1", 63),
        ("inc.u32 %r8, [%rd1], 9", 64 % 10), ("dec.u32 %r8, [%rd1], 9", 6), ("cas.b32 %r8, [%rd1], %r1, %r5", 64),
    ],
)  # fmt: skip
def test_atomics_take_turns(operation: str, expected: int) -> None:
    body = f"{MINE} add.u32 %r5, %r1, 1;\n atom.global.{operation};\n ret;"
    assert run(body, np.zeros(N, np.uint32))[0] == expected


def test_atomics_give_what_was_there() -> None:
    body = f"{MINE} ld.param.u64 %rd5, [p1];\n add.s64 %rd6, %rd5, %rd2;\n atom.global.add.f32 %f1, [%rd1], 0f3F800000;"
    found = launch(
        kernel(f"{body}\n st.global.f32 [%rd6], %f1;\n ret;", 2), [np.zeros(1, np.float32), np.zeros(N, np.float32)]
    )
    assert found[0][0] == N
    np.testing.assert_array_equal(found[1], np.arange(N))


def test_atomics_of_shared_memory_are_no_race() -> None:
    body = f"""{MINE}
    mov.u32 %r4, tile;
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r5, 0;
    @%p1 st.shared.u32 [%r4], %r5;
    {{}}
    red.shared.add.u32 [%r4], 1;
    bar.sync 0;
    ld.shared.u32 %r9, [%r4];
    st.global.u32 [%rd3], %r9;
    ret;"""
    tile = ".shared .align 4 .b8 tile[4];"
    assert (run(body.format("bar.sync 0;"), np.zeros(N, np.uint32), variables=tile) == N).all()
    with pytest.raises(DeviceError, match="shared-memory race: write of shared address 0x0, which thread"):
        run(body.format(""), np.zeros(N, np.uint32), variables=tile)


# Matrices


def registers(matrix: np.ndarray, places: Any, count: int, per: int) -> np.ndarray:
    """Each lane's registers: element e of register i is at the row and column that `places(lane, index)` says."""
    held = np.empty((32, count * per), matrix.dtype)
    for lane in range(32):
        for i in range(count * per):
            held[lane, i] = matrix[places(lane >> 2, lane & 3, i)]
    return np.ascontiguousarray(held)


#: By type and shape, as the manual writes it: where element i of a thread's A, B and C lies.
FRAGMENTS: dict[tuple[str, str], tuple[Any, Any, Any]] = {
    ("f16", "m16n8k16"): (
        lambda g, t, i: (g if i < 2 or 4 <= i < 6 else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ),
    ("f16", "m16n8k8"): (
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
        lambda g, t, i: (t * 2 + i, g),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ),
    ("tf32", "m16n8k8"): (
        lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
        lambda g, t, i: (t if i == 0 else t + 4, g),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ),
    ("s8", "m16n8k32"): (
        lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ),
    ("f64", "m8n8k4"): (
        lambda g, t, i: (g, t),
        lambda g, t, i: (t, g),
        lambda g, t, i: (g, t * 2 + (i & 1)),
    ),
    ("f64", "m16n8k8"): (
        lambda g, t, i: (g if i % 2 == 0 else g + 8, i // 2 * 4 + t),
        lambda g, t, i: (i * 4 + t, g),
        lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    ),
}
FRAGMENTS["bf16", "m16n8k16"] = FRAGMENTS["f16", "m16n8k16"]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "s8": np.int8, "f64": np.float64}


@pytest.mark.parametrize(("kind", "shape", "result"), [
    ("f16", "m16n8k16", "f32"), ("f16", "m16n8k16", "f16"), ("f16", "m16n8k8", "f32"), ("bf16", "m16n8k16", "f32"),
    ("tf32", "m16n8k8", "f32"), ("s8", "m16n8k32", "s32"), ("f64", "m8n8k4", "f64"), ("f64", "m16n8k8", "f64"),
])  # fmt: skip
def test_matrix_products(kind: str, shape: str, result: str) -> None:
    m, n, k = map(int, re.findall(r"\d+", shape))
    rng = np.random.default_rng(3)
    dtype, out = np.dtype(DTYPES[kind]), np.dtype({"f32": "f4", "f16": "f2", "s32": "i4", "f64": "f8"}[result])
    a, b, c = (rng.integers(-8, 8, s).astype(np.float64) for s in ((m, k), (k, n), (m, n)))
    bits = max(32, 8 * dtype.itemsize)
    per, per_c = bits // (8 * dtype.itemsize), 2 if result == "f16" else 1
    counts = (m * k // 32 // per, k * n // 32 // per, m * n // 32 // per_c)
    places = FRAGMENTS[kind, shape]
    arrays = [registers(x.astype(t), f, c, p).view(f"u{bits // 8}") for x, t, f, c, p in zip(
        (a, b, c), (dtype, dtype, out), places, counts, (per, per, per_c))]  # fmt: skip
    letter = "%rd" if bits == 64 else "%r"
    lines, first, lists = ["mov.u32 %r50, %tid.x;", "cvt.u64.u32 %rd30, %r50;"], 1, []
    names: list[str] = []
    for i, array in enumerate(arrays):
        lines.append(f"ld.param.u64 %rd31, [p{i}];\n mad.lo.u64 %rd31, %rd30, {array.shape[1] * bits // 8}, %rd31;")
        names = [f"{letter}{first + j}" for j in range(array.shape[1])]
        lines += [f"ld.global.b{bits} {name}, [%rd31+{j * bits // 8}];" for j, name in enumerate(names)]
        lists.append("{" + ", ".join(names) + "}")
        first += len(names)
    lines.append(f"mma.sync.aligned.{shape}.row.col.{result}.{kind}.{kind}.{result} {lists[2]}, {', '.join(lists)};")
    lines += [f"st.global.b{bits} [%rd31+{j * bits // 8}], {name};" for j, name in enumerate(names)]
    found = run("\n".join(lines) + "\nret;", *arrays, block=32)
    expected = registers((a @ b + c).astype(out), places[2], counts[2], per_c).view(found.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_from_shared_memory_and_back(transposed: bool) -> None:
    """`ldmatrix` gives `mma`'s fragments; `stmatrix` is its opposite."""
    trans = ".trans" if transposed else ""
    body = f"""
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%rd3];
    mov.u32 %r6, tile;
    shl.b32 %r7, %r1, 4;
    add.u32 %r8, %r6, %r7;
    st.shared.v4.b32 [%r8], {{%r2, %r3, %r4, %r5}};
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r8];
    BACK
    st.global.v4.b32 [%rd3], {{%r10, %r11, %r12, %r13}};
    ret;"""
    tile = ".shared .align 16 .b8 tile[512];"
    data = np.arange(256, dtype=np.uint16)
    given = np.ascontiguousarray(data).view(np.uint32)
    found = run(body.replace("BACK", ""), given, variables=tile, block=32).view(np.uint16).reshape(32, 4, 2)
    matrices = data.reshape(4, 8, 8)
    for lane in range(32):
        for i in range(4):
            for e in range(2):
                row, column = lane >> 2, 2 * (lane & 3) + e
                assert found[lane, i, e] == (matrices[i, column, row] if transposed else matrices[i, row, column])
    back = f"""bar.sync 0;
    stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r8], {{%r10, %r11, %r12, %r13}};
    bar.sync 0;
    ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r8];"""
    np.testing.assert_array_equal(run(body.replace("BACK", back), given, variables=tile, block=32), given)


# Copies beside the threads


@pytest.mark.parametrize("wait", [True, False])
def test_asynchronous_copies(wait: bool) -> None:
    """Two groups of copies; waiting for all but the newest brings the first."""
    body = f"""
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r6, tile;
    shl.b32 %r7, %r1, 4;
    add.u32 %r8, %r6, %r7;
    cp.async.cg.shared.global [%r8], [%rd3], 16;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r8+512], [%rd3], 16, 8;
    cp.async.commit_group;
    cp.async.wait_group {1 if wait else 2};
    bar.sync 0;
    xor.b32 %r9, %r7, 16;
    add.u32 %r9, %r9, %r6;
    ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r9];
    cp.async.wait_all;
    ld.shared.v4.b32 {{%r14, %r15, %r16, %r17}}, [%r8+512];
    add.u32 %r12, %r12, %r16;
    st.global.v4.b32 [%rd3], {{%r10, %r11, %r12, %r15}};
    ret;"""
    given = np.arange(128, dtype=np.uint32)
    tile = ".shared .align 16 .b8 tile[1024];"
    if wait:
        found = run(body, given, variables=tile, block=32).reshape(32, 4)
        rows = given.reshape(32, 4)
        np.testing.assert_array_equal(found[:, :3], rows[np.arange(32) ^ 1][:, :3])
        np.testing.assert_array_equal(found[:, 3], rows[:, 1])
    else:
        with pytest.raises(DeviceError, match="read of never-written memory: 4 bytes at shared address 0x10"):
            run(body, given, variables=tile, block=32)
