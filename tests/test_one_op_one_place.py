"""One file makes an op: it is in the docs, in `.tx`, a method, in every interpreter and in machine code.

The exercises that were added by exactly one file: `diagonal` (view), `logaddexp` (map, with its reduction) and `minmax`
(reduction with two results).  The last test adds an op that nobody has seen, and runs the same checks on it.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect
from txc.compiler.interpret.graph import run_graph
from txc.compiler.stages import IR_STAGES

ROOT = Path(__file__).parent.parent
X = np.random.default_rng(7).normal(size=(5, 40)).astype(np.float32)
Y = np.random.default_rng(8).normal(size=(5, 40)).astype(np.float32)


def diagonal(x, y):
    return x.diagonal(), (x + y).diagonal(offset=2) * 2


def logaddexp(x, y):
    return x.logaddexp(y), x.logsumexp(1), np.logaddexp(x, y).logsumexp(axis=0, keepdims=True)


def minmax(x, y):
    low, high = (x * y).minmax(axis=1, keepdims=True)
    return (x - low) / (high - low), *x.minmax(0), *y.minmax()


PROGRAMS = {
    "diagonal": (diagonal, lambda x, y: (np.diagonal(x), np.diagonal(x + y, 2) * 2)),
    "logaddexp": (
        logaddexp,
        lambda x, y: (
            np.logaddexp(x, y),
            np.logaddexp.reduce(x, axis=1),
            np.logaddexp.reduce(np.logaddexp(x, y), axis=0, keepdims=True),
        ),
    ),
    "minmax": (
        minmax,
        lambda x, y: (
            (x - (x * y).min(1, keepdims=True)) / np.ptp(x * y, axis=1, keepdims=True),
            x.min(0),
            x.max(0),
            y.min(),
            y.max(),
        ),
    ),
}
TX = {
    "diagonal": "return x.diagonal(), diagonal(x + y, offset=2) * 2",
    "logaddexp": "return logaddexp(x, y), logsumexp(x, axis=1), x.logaddexp(y).logsumexp(axis=0, keepdims=True)",
    "minmax": """low, high = minmax(x * y, axis=1, keepdims=True)
    a, b = x.minmax(0)
    c, d = y.minmax()
    return (x - low) / (high - low), a, b, c, d""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods_under_jit(name):
    program, expected = PROGRAMS[name]
    for found, wanted in zip(txc.jit(program)(X, Y), expected(X, Y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tx_functions_and_methods_are_the_same(name):
    module = txc.compile_source(f"def f(x: f32[n, m], y: f32[n, m]):\n    {TX[name]}\n")
    for found, wanted in zip(module.f(X, Y), txc.jit(PROGRAMS[name][0])(X, Y), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_interpreters_agree_with_machine_code(name):
    program, expected = PROGRAMS[name]
    with Trace("f") as trace:
        graph = trace.finish(program(*(trace.array_input(n, a) for n, a in (("x", X), ("y", Y)))))
    for found, wanted in zip(run_graph(graph, {"x": X, "y": Y}), expected(X, Y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    report = bisect(graph, {"x": X, "y": Y})
    assert report.culprit is None, str(report)
    assert report.steps == ("graph", *IR_STAGES, "obj")


@pytest.mark.parametrize("name", [*PROGRAMS, "logsumexp"])
def test_the_exercises_are_documented(name):
    assert f"| `{name}` |" in (ROOT / "docs" / "reference" / "ops.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_other_file_names_the_exercise(name):
    """But for NumPy's functions with more arguments that are built on it (`np.trace`, `np.diagonal` with axes)."""
    folder = ROOT / "compiler" / "frontend"
    methods = [folder / "tensor" / "methods" / file for file in ("reducing.py", "reshaping.py", "table.py")]
    adapters = [*methods, folder / "numpy" / "functions" / "creation" / "diagonals.py"]
    (declared,) = (ROOT / "dialects" / "ops").rglob(f"{name}*.py")
    allowed = {declared, *(adapters if name == "diagonal" else ())}
    for folder in ("compiler", "dialects", "passes", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert path in allowed or f'"{name}"' not in text, f"{path} names {name}"


NEW_OPS = '''
"""Three ops that nobody has seen."""
import numpy as np
from txc.dialects.dims.index_map import IndexMap
from txc.dialects.dims.dims import iterators
from txc.dialects.registry import Map, Reduction, View, op

@op
class Softsign(Map):
    """x / (1 + |x|)."""
    numpy = staticmethod(lambda x: x / (1 + np.abs(x)))

    @classmethod
    def scalar(cls, b, *xs):
        (x,) = xs
        return x / (abs(x) + 1.0)

@op
class SumAndSquares(Reduction):
    """The sum and the sum of squares."""
    results = 2
    dtypes = frozenset({"float"})

    @classmethod
    def accumulators(cls, element):
        return (element.computes_in,) * 2

    @classmethod
    def identity(cls, element):
        return (-0.0, -0.0)

    @classmethod
    def map_element(cls, b, x, k):
        return (x, x * x)

    @classmethod
    def combine(cls, b, older, newer):
        return tuple(o + n for o, n in zip(older, newer))

    @classmethod
    def result_dtypes(cls, element):
        return (element, element)

    @classmethod
    def evaluate(cls, arrays, attrs):
        return tuple(np.asarray(np.sum(a, axis=attrs["dims"])) for a in (arrays[0], arrays[0] ** 2))

@op
class Flipped(View):
    """The first dim backwards."""

    @classmethod
    def view(cls, operand, attrs):
        first, *rest = iterators(operand.rank)
        return IndexMap(operand.dims, (operand.dims[0] - 1 - first, *rest))
'''

CHECK = '''
import sys
import numpy as np
import new_ops  # the one file
import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect

def program(x):
    total, squares = x.softsign().sum_and_squares(axis=1)
    return total, squares, x.flipped() + 1

x = np.random.default_rng(0).normal(size=(6, 50)).astype(np.float32)
soft = x / (1 + abs(x))
results = txc.jit(program)(x)
for found, wanted in zip(results, (soft.sum(1), (soft**2).sum(1), x[::-1] + 1), strict=True):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)

module = txc.compile_source("""
def f(x: f32[n, m]):
    total, squares = sum_and_squares(softsign(x), axis=1)
    return total, squares, flipped(x) + 1
""")
for found, wanted in zip(module.f(x), results, strict=True):
    np.testing.assert_array_equal(found, wanted)

with Trace("f") as trace:
    graph = trace.finish(program(trace.array_input("x", x)))
report = bisect(graph, {"x": x})
assert report.culprit is None, str(report)

sys.path.insert(0, sys.argv[1])
from pages import ops

page = ops.page()
for name in ("softsign", "sum_and_squares", "flipped"):
    assert f"| `{name}` | `.{name}()`, `{name}()` |" in page, name
print("all there")
'''


def test_one_new_file_is_enough(tmp_path):
    (tmp_path / "new_ops.py").write_text(NEW_OPS, encoding="utf-8")
    (tmp_path / "check.py").write_text(textwrap.dedent(CHECK), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "check.py"), str(ROOT / "docs")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all there\n")
