"""What a program calls its sizes, arguments and functions never meets what the compiler calls its own symbols."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.cli.main import main
from txc.compiler.diagnostics import TxcError

NAMES = ["i0", "i1", "d0", "d2", "iv0", "max", "min", "ñ", "größe", "s0", "b0", "t0", "floor", "int", "range", "N" * 80]

SIZES = """
def f(x: f64[rows, {0}]) -> f64[rows, {0}]:
    for k in range({0}):
        x[0, k] = x[0, k] + {0}
    return x + {0}
"""
ARGUMENTS = """
def f({0}: f64[n], k{0}: i64) -> f64[n]:
    return exp({0}) + k{0} * {0}[0:k{0}].sum()
"""


@pytest.mark.parametrize("name", NAMES)
def test_sizes(name: str):
    x = np.ones((2, 3))
    expected = x + 3
    expected[0] += 3
    np.testing.assert_array_equal(txc.compile_source(SIZES.format(name)).f(x.copy()), expected)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("max", "min", "floor", "int", "range")])
def test_arguments(name: str):
    x = np.ones(3)
    np.testing.assert_allclose(txc.compile_source(ARGUMENTS.format(name)).f(x, 2), np.exp(x) + 4, rtol=1e-15)


@pytest.mark.parametrize("name", ["i0", "max", "größe"])
def test_each_stage_and_c(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "f.tx"
    file.write_text(SIZES.format(name), encoding="utf-8")
    for stage in ("graph", "fused", "loops", "llvm"):
        assert main([str(file), f"--emit={stage}"]) == 0
    assert main(["run", str(file), "--input", "x=random:f64[2,3]", "--bisect"]) == 0
    capsys.readouterr()
    assert main([str(file), "--emit=so", "-o", str(tmp_path / "f")]) == 0
    spelled = "".join(c if c.isascii() else "_" for c in name)
    assert f"int64_t {spelled}" in (tmp_path / "f.h").read_text(encoding="utf-8")


def test_one_name_for_a_parameter_and_a_size():
    with pytest.raises(TxcError, match="'x' is a parameter and a size") as caught:
        txc.compile_source("def f(x: f64[x]) -> f64[x]:\n    return x")
    assert caught.value.code == "TX0525" and caught.value.hint


def turned(x: Any) -> Any:
    return x[::-1]


class Doubled:
    def turned(self, x: Any) -> Any:
        return turned(x) * 2


def test_a_method_calls_the_function_that_has_its_name():
    x, doubled = np.arange(3.0), Doubled()
    np.testing.assert_array_equal(txc.jit(doubled.turned)(x), doubled.turned(x))
    np.testing.assert_array_equal(txc.jit(lambda x: doubled.turned(x))(x), doubled.turned(x))


def test_a_function_calls_what_its_name_means_now():
    def step(x: Any, n: int) -> Any:
        return x if n == 0 else step(x, n - 1) + 1

    first = step
    recursive = first(np.ones(2), 3)
    np.testing.assert_array_equal(txc.jit(lambda x: first(x, 3))(np.ones(2)), recursive)
    step = lambda x, n: x * 100  # noqa: E731
    np.testing.assert_array_equal(txc.jit(lambda x: first(x, 3))(np.ones(2)), first(np.ones(2), 3))
    np.testing.assert_array_equal(txc.jit(first)(np.ones(2), 3), first(np.ones(2), 3))
