"""Stores past the caches: only into large buffers, only where the place is aligned, and never another result."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import emit_asm, host_target, make_target
from txc.passes.cost.model import CostModel

from .harness import function, load, loop, parallel, parse, run, store

F32 = "f32[n] by [1]"
LEAST = CostModel().nontemporal_threshold
LARGE = LEAST // 4 if host_target().has_nontemporal_stores else 0


def shifted_copy(unroll: int, long: bool = False, info: str = F32, streaming: bool = True) -> str:
    """``y[i + s] = x[i] + 1``; where `long`, in a body so long that whole and partial vectors share it."""
    adds = "".join(f"%y{k + 1} = arith.addf %y{k}, %zero : f32\n" for k in range(50 if long else 0))
    body = (
        load("x", 0, info, "i")
        + '%one = "arith.constant"() {value = 1.0 : f32} : () -> f32\n'
        + '%zero = "arith.constant"() {value = 0.0 : f32} : () -> f32\n'
        + f"%y0 = arith.addf %x, %one : f32\n{adds}"
        + store(f"y{50 if long else 0}", 1, info, "i + $s").replace(
            "}", f", nontemporal = {LEAST} : i64}}" if streaming else "}"
        )
    )
    chunk = loop("i", "j", "min(j + 4096, m)", body, vector=8, unroll=unroll)
    return function([info, info], parallel("j", "0", "m", chunk, step="4096"), "n, m, $s")


@pytest.mark.skipif(not LARGE, reason="this processor has no such stores")
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("shift", [0, 1, 8, 16])
@pytest.mark.parametrize("count", [LARGE - 16, LARGE - 3, 100])
def test_large_results_are_right_wherever_they_lie(count: int, shift: int, long: bool) -> None:
    x = np.arange(LARGE, dtype=np.float32)
    y = np.full(LARGE + 32, -7, np.float32)
    first = -y.ctypes.data // 4 % 16  # elements to the next line
    y = y[first : first + LARGE + 16]
    run(shifted_copy(1 if long else 4, long), [x, y], [LARGE, count, shift])
    np.testing.assert_array_equal(y[shift : shift + count], x[:count] + 1)
    assert (y[:shift] == -7).all() and (y[shift + count :] == -7).all()


def text_of(text: str, cpu: str = "x86-64-v3", triple: str = "x86_64-unknown-linux-gnu") -> str:
    return emit_llvm(parse(text), make_target(triple, cpu))


@pytest.mark.skipif(not host_target().is_x86, reason="assembled for x86")
def test_they_are_followed_by_a_fence() -> None:
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    lines = [line.strip() for line in emit_asm(text_of(shifted_copy(4)), target).splitlines()]
    past = [i for i, line in enumerate(lines) if line.startswith("vmovntps")]
    assert len(past) == 4  # four copies; a vector that is left over is no line
    assert any(line == "sfence" for line in lines[past[-1] :])


def test_one_choice_for_all_copies_of_an_unrolled_loop() -> None:
    text = text_of(shifted_copy(4))
    assert text.count("!nontemporal") == 4
    assert text.count("label %past") == 1


@pytest.mark.parametrize(("unroll", "stores"), [(1, 0), (2, 2), (3, 0)])
def test_only_whole_lines_go_that_way(unroll: int, stores: int) -> None:
    assert text_of(shifted_copy(unroll)).count("!nontemporal") == stores


@pytest.mark.parametrize(
    "text",
    [
        shifted_copy(4, streaming=False),
        shifted_copy(4, info="f32[2000000] by [1]"),
        shifted_copy(4, info="f32[n] by [2]"),
    ],
    ids=["not asked for", "small", "not adjacent"],
)
def test_where_there_are_none(text: str) -> None:
    assert "nontemporal" not in text_of(text)
    assert "sfence" not in text_of(text)


def test_other_processors_have_none() -> None:
    assert "nontemporal" not in text_of(shifted_copy(4), "", "aarch64-unknown-linux-gnu")
