"""Short rows in memory and their elements in registers, of any number of lanes, on any vectors."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.codegen.emit.memory.interleave import MOST_ELEMENTS, deinterleaved, interleaved
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import host_target, make_target

from .harness import function, load, loop, parse, run_module, store


def choose(a: str, b: str, numbers) -> str:
    """A shuffle of registers whose elements are characters."""
    return "".join((a + b)[k] for k in numbers)


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_elements_of_rows_are_those_in_memory(width: int) -> None:
    for length in range(2, MOST_ELEMENTS + 1):
        memory = "".join(map(chr, range(width * length)))
        elements = [
            deinterleaved(width, length, 32, k, lambda first, count, all=memory: all[first : first + count], choose)
            for k in range(length)
        ]
        assert elements == [memory[k::length] for k in range(length)]
        assert "".join(interleaved(width, 32, elements, choose)) == memory


def turned(dtype: str, length: int, copies: int) -> str:
    """Short rows backwards from `%0` to `%1`, after one that stays; lanes are rows."""
    info = f"{dtype}[n, {length}] by [{length}, 1]"
    body = load("v", 0, info, f"i, {length - 1} - k") + store("v", 1, info, "i, k")
    return function([info, info], loop("k", "0", str(length), loop("i", "1", "n", body, 8, copies), 1, length))


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize(("dtype", "copies"), [("f32", 1), ("f64", 2), ("u8", 1), ("bool", 1)])
def test_rows_are_read_and_written_whole(dtype: str, copies: int, cpu: str) -> None:
    target = make_target(cpu=cpu) if cpu else host_target()
    for length in (2, 3, 8, 12):
        module = parse(turned(dtype, length, copies))
        kind = {"f32": "f4", "f64": "f8", "u8": "u1", "bool": "?"}[dtype]
        for rows in (1, 8, 9, 40):
            x = (np.arange(rows * length) % 251 % (2 if dtype == "bool" else 251)).reshape(rows, length).astype(kind)
            y = np.zeros_like(x)
            run_module(module, [x, y], [rows], target=target)
            np.testing.assert_array_equal(y[1:], x[1:, ::-1])
            assert not y[0].any()


def vectors_of(info: str, index: str) -> int:
    """Vectors that the loads of elements of lanes of eight are."""
    body = load("v", 0, info, index) + store("v", 1, "f32[n] by [1]", "i")
    text = emit_llvm(parse(function([info, "f32[n] by [1]"], loop("i", "0", "n // 8 * 8", body, 8))), host_target())
    return text.count("load <8 x float>")


def test_rows_that_may_end_before_their_last_element_are_read_one_by_one() -> None:
    """All of a row is read only where it is certain to be in memory, and long ones never are."""
    assert vectors_of("f32[n, 3] by [3, 1]", "i, 2") == 3
    assert vectors_of("f32[n, 4, 3] by [12, 3, 1]", "i // 4, i % 4, 0") == 3
    assert vectors_of("f32[3*n] by [1]", "3*i") == 0
    assert vectors_of("f32[n, 2] by [3, 1]", "i, 1") == 0
    assert vectors_of("f32[n, 17] by [17, 1]", "i, 0") == 0
