"""The header: C11 and C++17 take it without a warning, alone and with others; it says what the code checks."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.aot.c_signature import ExportError, check_symbol
from txc.compiler.aot.export import Exported, write_export
from txc.dialects.types import DTYPES

from .examples import CASES, case
from .harness import exported

COMPILERS = [("gcc", "-std=c11", "c"), ("g++", "-std=c++17", "c++")]
PROGRAM = '''
def f(x: f32[n, m], y: f32[k], s: f64, steps: i64) -> (f32[n], f32[m - 3]):
    """What */ it does."""
    return x[:, 3] + x.sum(axis=1) * steps, (y + x.sum(axis=0))[3:] * s.astype(f32)
'''


@pytest.fixture(scope="module")
def made() -> Exported:
    return exported(txc.compile_source(PROGRAM).f)


@pytest.mark.parametrize(("compiler", "standard", "language"), COMPILERS)
def test_headers_compile_together(compiler: str, standard: str, language: str, tmp_path: Path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    names = ["softmax.softmax", "heat.heat", "digits_classifier.digits_classifier"]
    texts = [exported(case(name)[0]).header for name in names]
    every = exported(txc.compile_source(_every_dtype()).f).header
    (tmp_path / "all").write_text("\n".join([*texts, every, texts[0]]))
    command = [compiler, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", language]
    done = subprocess.run([*command, str(tmp_path / "all")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _every_dtype() -> str:
    given = ", ".join(f"a_{d}: {d}[n], s_{d}: {d}" for d in DTYPES)
    return f"def f({given}) -> f32[n]:\n    return a_f32 + s_f32"


def test_what_the_header_says(made: Exported):
    text = " ".join(made.header.split())
    assert "int f(const float *TXC_RESTRICT x, const float *TXC_RESTRICT y, double s, int64_t steps," in text
    assert "float *TXC_RESTRICT out0, float *TXC_RESTRICT out1, int64_t n, int64_t m, void *workspace," in text
    assert "x: float[n][m]" in text and "y: float[m]" in text and "out1: float[m - 3], a result" in text
    assert "int f_out1_shape(int64_t n, int64_t m, int64_t shape[1]);" in text
    assert "size_t f_workspace(int64_t n, int64_t m, const txc_threads *threads);" in text
    assert "What * / it does." in text
    assert "18 unless m > 3" in text
    assert "f_out0_shape" not in text


class Library:
    """The exported `f` through ctypes, with arguments that are right unless a test says otherwise."""

    def __init__(self, made: Exported, folder: Path):
        self.library = ctypes.CDLL(str(write_export(made, "so", folder / "f")[0]))
        self.library.f_workspace.restype = ctypes.c_size_t

    def __call__(self, n: int = 2, m: int = 5, **wrong: Any) -> int:
        arrays = {
            "x": np.ones((max(n, 1), max(m, 1)), np.float32), "y": np.ones(max(m, 1), np.float32),
            "out0": np.zeros(max(n, 1), np.float32), "out1": np.zeros(max(m, 1), np.float32),
        }  # fmt: skip
        pointers = {k: ctypes.c_void_p(a.ctypes.data) for k, a in arrays.items()} | wrong
        threads = wrong.get("threads")
        size = self.library.f_workspace(ctypes.c_int64(n), ctypes.c_int64(m), threads)
        memory = np.zeros(max(size, 1), np.uint8)
        workspace = wrong.get("workspace", ctypes.c_void_p(memory.ctypes.data))
        return self.library.f(
            pointers["x"], pointers["y"], ctypes.c_double(1.5), ctypes.c_int64(2), pointers["out0"], pointers["out1"],
            ctypes.c_int64(n), ctypes.c_int64(m), workspace, threads,
        )  # fmt: skip


class Threads(ctypes.Structure):
    _fields_ = [("parallel", ctypes.c_void_p), ("pool", ctypes.c_void_p), ("threads", ctypes.c_int64)]


def test_statuses(made: Exported, tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    f = Library(made, tmp_path)
    assert f() == 0
    assert f(x=None) == 1 and f(out1=None) == 1
    assert f(n=0, out0=None, x=None) == 0, "no elements, no memory"
    assert f(threads=ctypes.byref(Threads(None, None, 1))) == 0
    assert f(threads=ctypes.byref(Threads(None, None, 0))) == 4
    assert f(threads=ctypes.byref(Threads(None, None, 2))) == 4
    assert f(n=-1) == 16 and f(m=-1) == 17 and f(m=3) == 18
    shape = (ctypes.c_int64 * 1)()
    assert f.library.f_out1_shape(ctypes.c_int64(2), ctypes.c_int64(9), shape) == 0 and shape[0] == 6
    assert f.library.f_out1_shape(ctypes.c_int64(2), ctypes.c_int64(2), shape) == 18
    assert f.library.f_workspace(ctypes.c_int64(2), ctypes.c_int64(2), None) == 0


def test_a_workspace_that_is_needed(tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    made = exported(case("softmax.softmax")[0])
    library = ctypes.CDLL(str(write_export(made, "so", tmp_path / "s")[0]))
    x, out = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    given = [ctypes.c_void_p(x.ctypes.data), ctypes.c_float(1), ctypes.c_void_p(out.ctypes.data)]
    sizes = [ctypes.c_int64(2), ctypes.c_int64(3)]
    library.softmax_workspace.restype = ctypes.c_size_t
    alone = library.softmax_workspace(*sizes, None)
    together = library.softmax_workspace(*sizes, ctypes.byref(Threads(None, None, 4)))
    assert 0 < alone < together
    assert library.softmax(*given, *sizes, None, None) == 2


def test_every_example_is_named_after_its_function():
    for name in CASES:
        made = exported(case(name)[0])
        assert made.signature.symbols[:2] == (made.signature.symbol, f"{made.signature.symbol}_workspace")
        assert made.signature.symbol == name.partition(".")[2]


@pytest.mark.parametrize("symbol", ["class", "main", "txc_threads", "a-b", "_a", "é", ""])
def test_names_that_c_does_not_take(symbol: str):
    with pytest.raises(ExportError) as caught:
        check_symbol(symbol)
    assert repr(symbol) in str(caught.value) and "symbol" in caught.value.hint


def test_another_name():
    made = exported(case("softmax.softmax")[0], symbol="rows_to_one")
    assert "int rows_to_one(const float" in made.header and b"rows_to_one_workspace\0" in made.object
