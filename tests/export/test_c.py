"""Every example as an object and as a shared library, called from C: the JIT's bits, serially and on threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.aot.export import write_export
from txc.compiler.codegen.target.llvm_backend import libcalls
from txc.dialects.types import DTYPES

from .examples import CASES, EXAMPLES, case
from .harness import Machine, call_from_c, exported, reference, same_bits

HERE = Machine()
#: Examples that are large enough here to use threads.
THREADED = ("softmax.softmax", "pairwise_distance.pairwise_distance")

_RNG = np.random.default_rng(5)
_BYTES = {name: _RNG.integers(0, 200, (3, 4)).astype(kind.numpy) for name, kind in DTYPES.items()}
PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    **{
        f"{name} arrays and numbers": (
            f"def f(x: {name}[n, m], s: {name}) -> ({name}[n, m], {name}[m, n]):\n"
            f"    return where(x == s, s, x), where(x == s, x, s).T",
            (_BYTES[name], _BYTES[name][1, 1]),
        )
        for name in DTYPES
    },
    "written in place": (
        "def f(x: f32[n], y: f32[n]) -> f32[n]:\n    y += x * 2\n    return y",
        (_RNG.random(9, np.float32),) * 2,
    ),
    "column-major": (
        "def f(x: f32[n, m].col, y: f32[m, n].col) -> f32[n, m].col:\n    return x - y.T * 2",
        (_RNG.random((4, 7), np.float32), _RNG.random((7, 4), np.float32)),
    ),
    "words of C": (
        "def f(int: f32[long, short], out: f32[long], n: i64, workspace: f32) -> f32[long]:\n"
        "    return int.sum(axis=1) * workspace + out * n",
        (_RNG.random((4, 7), np.float32), _RNG.random(4, np.float32), -3, 0.5),
    ),
    "sizes by expressions": (
        "def f(x: f32[2 * n + 1], k: f32[m], y: f32[n]) -> f32[n * m, n // m + 1]:\n"
        "    return zeros([n * m, n // m + 1], f32) + x.sum() + k.sum() * y.sum()",
        (_RNG.random(11, np.float32), _RNG.random(2, np.float32), _RNG.random(5, np.float32)),
    ),
    "equal sizes": ("def f(x: f32[n], y: f32[m]) -> f32[n]:\n    return x + y", (_RNG.random(9, np.float32),) * 2),
    "no elements": ("def f(x: f32[n, m]) -> f32[n]:\n    return x.sum(axis=1)", (np.zeros((0, 4), np.float32),)),
    "an argument handed back": (
        "def f(x: f32[n]) -> (f32[n], f32[n]):\n    return x, x + 1",
        (np.ones(3, np.float32),),
    ),
    "a result without dims": ("def f(x: f64[n]) -> f64:\n    return x.sum()", (_RNG.random(2000),)),
    "only numbers": ("def f(x: f64, n: i64) -> f64:\n    return x * n", (2.5, 7)),
}


def test_every_function_of_every_example_has_a_case():
    known = {f"{p.stem}.{name}" for p in EXAMPLES.glob("*.tx") for name in txc.load(p).functions}
    assert known == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_object_and_shared_library(name: str, tmp_path: Path):
    HERE.require()
    function, arguments = case(name)
    made = exported(function)
    assert libcalls(made.object) == set()
    expected = reference(function, arguments)
    got = call_from_c(made, arguments, tmp_path, HERE, threaded=name in THREADED)
    assert len(got) == len(expected) and all(map(same_bits, got, expected))
    library, header = write_export(made, "so", tmp_path / "library")
    assert (library.name, header.name) == ("library.so", "library.h")
    assert all(map(same_bits, call_from_c(made, arguments, tmp_path, HERE, library=library), expected))


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS.values(), ids=PROGRAMS)
def test_kinds_of_parameters_and_results(program: str, arguments: tuple[Any, ...], tmp_path: Path):
    HERE.require()
    function = txc.compile_source(program).function()
    made = exported(function)
    got = call_from_c(made, arguments, tmp_path, HERE)
    expected = reference(function, arguments)
    assert len(got) == len(expected) and all(map(same_bits, got, expected))
