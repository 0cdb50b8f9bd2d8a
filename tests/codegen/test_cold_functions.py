"""Functions that run once a call are compiled quickly, those with loops are not."""

from __future__ import annotations

import re

import pytest

from txc.compiler.codegen.target.llvm_backend import make_target
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import run_stages

MAP = "def f(x: f32[n]) -> f32[n]:\n    return exp(x) + 1.0\n"
ROUNDS = "def f(x: f32[n]) -> f32[n]:\n    for i in range(50):\n        x = x * 0.5 + 1.0\n    return x\n"
#: A branch on sizes, in each arm of which are parallel loops.
COLUMNS = "def f(x: f32[n, m]) -> f32[n, m]:\n    e = exp(x - x.max(axis=0))\n    return e / e.sum(axis=0)\n"
#: Tables of factors, in front of parallel loops.
TRANSFORM = "def f(z: c64[n, 64]) -> c64[n, 64]:\n    return fft(z)\n"
#: A number that stays in a register.
NUMBER = "def f(a: f64) -> f64:\n    for i in range(50):\n        a = a * 0.5 + 1.0\n    return a\n"
HEAD = re.compile(r"^define (?:internal )?(\w+) @.*\) (#\d) \{$", re.MULTILINE)


def groups(source: str, target: str = "x86_64-unknown-linux-gnu") -> tuple[dict[str, str], str]:
    """The attribute group of the function and of its loops, by what they return; and the whole text."""
    (function,) = parse(source, "once.tx").functions.values()
    cpu = "x86-64-v3" if target.startswith("x86") else ""
    text = run_stages(function.graph(), stop_after="llvm", target=make_target(target, cpu)).llvm
    assert text is not None
    return dict(HEAD.findall(text)), text


@pytest.mark.parametrize(
    ("source", "group"), [(MAP, "#1"), (COLUMNS, "#1"), (TRANSFORM, "#1"), (ROUNDS, "#0"), (NUMBER, "#0")]
)
def test_what_only_divides_work_is_compiled_quickly(source, group):
    found, text = groups(source)
    assert found["i32"] == group and found.get("void", "#0") == "#0"
    assert "attributes #1 = { noinline optnone " in text


def test_loops_of_what_is_compiled_quickly_are_functions():
    """All lanes and loops of the tables are in functions that LLVM optimises."""
    text = groups(TRANSFORM)[1]
    (body,) = re.findall(r"^define i32 @.*?^}$", text, re.MULTILINE | re.DOTALL)
    assert "call void @f." in body and not re.search(r"<\d+ x |fmul|fdiv", body)


def test_other_processors_have_one_way_to_compile():
    assert "optnone" not in groups(MAP, "aarch64-unknown-linux-gnu")[1]
