"""Lanes that change places, as the interpreter has them, on any vectors."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.emit.text import EmitError
from txc.compiler.codegen.target.llvm_backend import host_target, make_target
from txc.compiler.interpret.loops import run as interpret

from .harness import function, load, loop, parse, run_module, store

INFO = "{}[n] by [1]"


def shuffle(dtype: str, lanes: list[int], rows: int = 1, second: str = "w") -> str:
    """Of each row of vectors and the one behind it, lanes to the place of the first; several rows at once."""
    info, width = INFO.format(dtype), len(lanes)
    body = load("v", 0, info, f"{width}*r + i") + load("w", 0, info, f"{width}*r + i + {width}")
    body += f"%z = loop.shuffle %v, %{second} over i lanes {lanes}\n"
    body += store("z", 1, info, f"{width}*r + i")
    return function([info, info], loop("r", "0", f"n // {width} - 1", loop("i", "0", str(width), body, width), 1, rows))


ORDERS = [[0, 1, 2, 3], [3, 2, 1, 0], [4, 1, 6, 3], [7, 7, 0, 5], [*range(8)], [0, 8, 2, 10, 4, 12, 6, 14]]


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("lanes", ORDERS, ids=str)
@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "i16"])
def test_each_lane_gets_what_its_number_says(dtype: str, lanes: list[int], rows: int, cpu: str) -> None:
    module, target = parse(shuffle(dtype, lanes, rows)), make_target(cpu=cpu) if cpu else host_target()
    kind = {"i32": np.int32, "f32": np.float32, "f64": np.float64, "i16": np.int16}[dtype]
    width = len(lanes)
    x = np.arange(5 * width).astype(kind)
    expected, found = ([x.copy(), np.zeros_like(x)] for _ in "ab")
    interpret(module, expected, {"n": len(x)})
    run_module(module, found, [len(x)], target=target)
    wanted = np.array([x[r * width + np.array(lanes)] for r in range(4)]).reshape(-1)
    for result in (expected[1], found[1]):
        np.testing.assert_array_equal(result[: 4 * width], wanted)
        assert not result[4 * width :].any()


def test_a_value_that_all_lanes_share_is_in_each() -> None:
    text = shuffle("i32", [0, 5, 2, 7], second="seven").replace("%w = ", "%seven = arith.constant 7 : i32\n%w = ", 1)
    module = parse(text)
    expected, found = ([np.arange(12, dtype=np.int32), np.zeros(12, np.int32)] for _ in "ab")
    interpret(module, expected, {"n": 12})
    run_module(module, found, [12], target=host_target())
    for result in (expected[1], found[1]):
        assert result.tolist() == [0, 7, 2, 7, 4, 7, 6, 7, 0, 0, 0, 0]


def test_one_instruction_is_a_shuffle() -> None:
    assert emit_llvm(parse(shuffle("f32", [4, 1, 6, 3])), host_target()).count("shufflevector") == 1


def test_a_group_is_what_a_register_has() -> None:
    module = parse(shuffle("f32", [4, 1, 6, 3]).replace('upper = #tx.dim<"4">', 'upper = #tx.dim<"2">'))
    with pytest.raises(EmitError, match="a shuffle of lanes of i, which is not in whole vectors of 4"):
        emit_llvm(module, host_target())
