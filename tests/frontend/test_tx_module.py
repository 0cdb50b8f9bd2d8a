"""Calling compiled `.tx` functions."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.cli import main as cli

SOURCE = """
def bump(x: f64[n]) -> f64:
    x[1:] += 1.0
    return x.sum()
"""


def test_stores_reach_an_argument_that_had_to_be_copied():
    swapped = np.arange(5.0).astype(">f8")
    misaligned = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float64)
    misaligned[:] = np.arange(5.0)
    for x in (np.arange(5.0), swapped, misaligned, np.arange(10.0)[::2], np.arange(5.0)[::-1]):
        expected = x.astype(float)
        expected[1:] += 1
        assert txc.compile_source(SOURCE).bump(x) == expected.sum()
        np.testing.assert_array_equal(x, expected)


X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(6, 12, dtype=np.float32).reshape(2, 3)
#: Results that are there twice, of one layout and another, of none that is declared, and what is written.
RETURNS = {
    "def f(x: f32[n, m], y: f32[n, m].col) -> (f32[n, m], f32[n, m], f32[n, m].col):\n"
    "    z = x + 1.0\n    return z, z, y + 1.0\n": (X + 1, X + 1, Y + 1),
    "def f(x: f32[n, m], y: f32[n, m].col):\n    return y + 1.0, x, x\n": (Y + 1, X, X),
    "def f(x: f32[n, m], y: f32[n, m].col) -> f32[n, m].col:\n    return y * 2.0\n": (Y * 2,),
    "def f(x: f32[n, m], y: f32[n, m].col):\n    return y * 2.0\n": (Y * 2,),
}


@pytest.mark.parametrize("program", RETURNS)
def test_results_are_in_the_users_dims(program: str, tmp_path: Path):
    """By a call, and as the command writes them."""
    expected = RETURNS[program]
    made = txc.compile_source(program).f(X, Y)
    files = {"x": X, "y": Y}
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
    (tmp_path / "f.tx").write_text(program)
    inputs = [part for name in files for part in ("--input", f"{name}=@{tmp_path / name}.npy")]
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main(["run", str(tmp_path / "f.tx"), *inputs, "-o", str(tmp_path / "r.npz")]) == 0
    with np.load(tmp_path / "r.npz") as written:
        for got in (made if isinstance(made, tuple) else (made,), list(written.values())):
            assert len(got) == len(expected) and all(map(np.array_equal, got, expected))


def test_an_argument_that_is_written_is_shown_in_the_users_dims(tmp_path: Path):
    (tmp_path / "f.tx").write_text("def f(y: f32[n, m].col):\n    y[...] = y + 1.0\n    return\n")
    np.save(tmp_path / "y.npy", Y)
    with contextlib.redirect_stdout(io.StringIO()):
        arguments = ["--input", f"y=@{tmp_path / 'y.npy'}", "-o", str(tmp_path / "r.npy")]
        assert cli.main(["run", str(tmp_path / "f.tx"), *arguments]) == 0
    assert np.array_equal(np.load(tmp_path / "r.npy"), Y + 1)


def test_c_knows_the_layout_of_a_result_behind_one_that_is_there_twice(tmp_path: Path):
    program = next(iter(RETURNS))
    (tmp_path / "f.tx").write_text(program)
    with contextlib.redirect_stdout(io.StringIO()):
        assert cli.main([str(tmp_path / "f.tx"), "--emit=header", "-o", str(tmp_path / "command")]) == 0
    txc.export(txc.compile_source(program).f, tmp_path / "function", emit="header")
    for text in (path.read_text() for path in (tmp_path / "command.h", tmp_path / "function.h")):
        assert "out0: float[n][m], a result" in text
        assert "out1: float[n][m], the first dim fastest (column-major), a result" in text
