"""The text of entries, the plan they are written from, and the estimate of a call's work."""

from __future__ import annotations

import re

import numpy as np
import pytest

import txc
from txc.compiler import pipeline
from txc.compiler.call.parameters import NotNative
from txc.compiler.call.plan import CallPlan, packed_order
from txc.compiler.codegen.target.llvm_backend import undefined_symbols
from txc.compiler.driver import compile_cache
from txc.dialects.dims.dims import dim, sym
from txc.runtime.stub.cpython_layout import problem
from txc.runtime.stub.native_call import outside

pytestmark = pytest.mark.skipif(bool(problem()), reason="calls go through Python")

X = np.ones((3, 4), np.float32)


def made(monkeypatch, function, *args):
    """The plan, the text and the object of a function compiled for these arguments, whatever was compiled before."""
    found = []
    emit, compile_llvm = pipeline.emit_entry, pipeline.compile_llvm

    def noted(plan: CallPlan, module: str) -> str:
        found.append(plan)
        found.append(emit(plan, module))
        return found[-1]

    def kept(text, target, opt_level):
        found.append(compile_llvm(text, target, opt_level))
        return found[-1]

    monkeypatch.setenv("TXC_CACHE_DIR", "0")
    monkeypatch.setattr(compile_cache, "_code", {})
    monkeypatch.setattr(pipeline, "emit_entry", noted)
    monkeypatch.setattr(pipeline, "compile_llvm", kept)
    txc.jit(function)(*args)
    return found


def several(x, y, s, n, flag, kind="k"):
    return {"a": (x + y) * s + n, "b": [x.sum(), flag, None]}


def test_an_entry_holds_no_address_and_needs_only_what_is_provided(monkeypatch):
    _, text, machine_code = made(monkeypatch, several, X, X, 2.0, 3, True)
    entry = text[text.index("@several.entry(") :]
    assert set(re.findall(r"inttoptr \(i64 (\d+)", entry)) == {"1"}
    numbers = [int(n) for n in re.findall(r"\b\d+\b", entry)]
    assert max(numbers) < 1 << 40
    needed = undefined_symbols(machine_code)
    assert {"txc_is_array", "txc_run", "txc_dict", "PyFloat_Type"} <= needed
    assert needed <= {*outside(), "_GLOBAL_OFFSET_TABLE_"}


def test_the_kernel_of_a_stage_has_no_entry():
    assert "several.entry" not in txc.jit(several).lower(X, X, 2.0, 3, True).as_text("llvm")


def test_containers_are_taken_apart_by_their_forms(monkeypatch):
    def nested(x, parts, kind, *more, out=None):
        return x + parts["a"][0] + parts["b"] * more[0] + more[1]

    plan = made(monkeypatch, nested, X, {"a": [X, "text"], "b": 2.0}, "k", 1, X)[0]
    assert [p.name for p in plan.parameters] == ["x", "parts", "kind", "more.0", "more.1", "out"]
    forms = [p.form for p in plan.parameters]
    assert forms[1] == ("dict", 0, (("list", (("input", 1), ("object", 2))), ("input", 2)))
    assert forms[2:] == [("object", 3), ("input", 3), ("input", 4), ("object", 4)]


def test_the_plan_says_what_a_call_does(monkeypatch):
    plan = made(monkeypatch, several, X, X.T.copy().T, 2.0, 3, True)[0]
    assert [p.name for p in plan.parameters] == ["x", "y", "s", "n", "flag", "kind", "out"]
    assert [p.form for p in plan.parameters] == [
        *(("input", i) for i in range(4)),
        ("object", 0),
        ("object", 1),
        ("out",),
    ]
    assert [i.kind for i in plan.inputs] == ["array", "array", "float", "int"]
    assert plan.inputs[1].fact == ("order", 1, 0)
    kind, keys, parts = plan.structure
    assert kind == "dict" and keys == (2, 3) and parts[1][0] == "list"
    assert plan.work is not None


@pytest.mark.parametrize(
    ("function", "args", "sizes", "least", "most"),
    [
        (lambda x: x + 1, (X,), {"x.0": 100, "x.1": 50}, 5000, 6000),
        (lambda x: x.sum(), (X,), {"x.0": 100, "x.1": 50}, 5000, 6000),
        (lambda x, y: x @ y, (X, X.T.copy()), {"x.0": 64, "x.1": 64, "y.1": 64}, 64**3, 2 * 64**3),
        (lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), (X,), {"x.0": 10, "x.1": 20}, 200, 2000),
    ],
    ids=["map", "reduction", "contraction", "rows"],
)
def test_the_work_is_about_what_the_loops_do(monkeypatch, function, args, sizes, least, most):
    plan = made(monkeypatch, function, *args)[0]
    assert plan.work is not None
    assert least <= plan.work.evaluate({sym(name).symbol: size for name, size in sizes.items()}) <= most


def test_loops_multiply_the_work_whichever_way_they_run(monkeypatch):
    def up(x, n):
        for _ in range(0, n, 2):
            x = np.sin(x)
        return x

    def down(x, n):
        for _ in range(n, 0, -2):
            x = np.sin(x)
        return x

    sizes = {"x.0": 10, "x.1": 20, "$n": 100}
    alone = made(monkeypatch, lambda x: np.sin(x), X)[0].work
    assert alone is not None
    weight = alone.terms[0][1]
    for function in (up, down):
        work = made(monkeypatch, function, X, 50)[0].work
        assert work is not None
        points = work.evaluate({sym(name).symbol: size for name, size in sizes.items()}) / weight
        assert 10_000 <= points <= 11_000


def test_a_loop_without_known_end_is_work_without_bound(monkeypatch):
    def function(x):
        while x.sum() < 100:
            x = x * 2
        return x

    assert made(monkeypatch, function, X)[0].work is None


def test_the_order_of_dims_in_packed_memory():
    n, m = sym("n"), sym("m")
    assert packed_order((n, m), (m, dim(1))) == (0, 1)
    assert packed_order((n, m), (dim(1), n)) == (1, 0)
    assert packed_order((n, dim(1), m), (m, m, dim(1))) in ((0, 1, 2), (1, 0, 2))
    with pytest.raises(NotNative, match="a result is not packed in memory"):
        packed_order((n, m), (m * 2, dim(1)))
