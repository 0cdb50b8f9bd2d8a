"""The optimiser goes by what a program is, not by how it is written.

Properties: programs with other names, operands of commutative operations exchanged and independent statements in
another order get kernels of the same number that move the same bytes, and have the same bits.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import compile_graph, function_of, run_stages
from txc.dialects.dims.dims import Sym
from txc.passes.cost.instrument import kernels_of
from txc.passes.cost.kernel_stats import kernel_stats

#: A statement: what it defines, from which values, and how; `{0}`, `{1}` stand for these.
Statement = tuple[str, tuple[str, ...], str]
UNARY = ("exp({0})", "sqrt(abs({0}))", "{0} * 0.5", "tanh({0})", "-{0}")
COMMUTATIVE = ("{0} + {1}", "{0} * {1}")
BINARY = (*COMMUTATIVE, "{0} - {1}", "{0} / (abs({1}) + 1.0)")
ROWS = (
    "{0} - {0}.maximum([1]).reshape([n, 1]).broadcast([1, m])",
    "{0} / (abs({0}).sum([1]).reshape([n, 1]).broadcast([1, m]) + 1.0)",
    "{0} + {0}.sum([0]).reshape([1, m]).broadcast([n, 1]) * 0.01",
)


@st.composite
def programs(draw: Any) -> list[Statement]:
    """Statements over matrices x and y of one size, each of which is used or returned."""
    known, made = ["x", "y"], []
    for number in range(draw(st.integers(2, 6))):
        form = draw(st.sampled_from((*UNARY, *BINARY, *ROWS)))
        operands = tuple(draw(st.sampled_from(known)) for _ in range(1 + ("{1}" in form)))
        made.append((f"v{number}", operands, form))
        known.append(f"v{number}")
    return made


def results(program: list[Statement]) -> list[str]:
    used = {v for _, operands, _ in program for v in operands}
    return sorted(name for name, _, _ in program if name not in used)


def text(program: list[Statement], names: dict[str, str], function: str, swap: random.Random | None) -> str:
    lines = []
    for name, operands, form in program:
        shown = [names[v] for v in operands]
        if swap is not None and form in COMMUTATIVE and swap.random() < 0.5:
            shown.reverse()
        lines.append(f"    {names[name]} = {form.format(*shown)}")
    left = [names[v] for v in results(program)]
    types = ", ".join(["f32[n, m]"] * len(left))
    head = f"def {function}({names['x']}: f32[n, m], {names['y']}: f32[n, m]) -> "
    head += f"({types}):" if len(left) > 1 else f"{types}:"
    given = f"({', '.join(left)})" if len(left) > 1 else left[0]
    return "\n".join([head, *lines, f"    return {given}"]) + "\n"


def reordered(program: list[Statement], chance: random.Random) -> list[Statement]:
    """The statements in another order in which each comes after what it uses."""
    waiting, known, made = list(program), {"x", "y"}, []
    while waiting:
        ready = [s for s in waiting if known.issuperset(s[1])]
        chosen = chance.choice(ready)
        waiting.remove(chosen)
        known.add(chosen[0])
        made.append(chosen)
    return made


def shape_of(source: str) -> tuple[list[tuple[str, int]], int]:
    """Kinds of kernels with how many of each, and the bytes that all of them move at 300 × 200."""
    (function,) = parse(source, "program.tx").functions.values()
    module = run_stages(function.graph(), stop_after="buffers").module
    assert module is not None
    kernels = kernels_of(function_of(module))
    figures = [kernel_stats(k, {Sym("n"): 300, Sym("m"): 200}) for k in kernels]
    names = [k.name for k in kernels]
    moved = sum(f.bytes_read + f.bytes_written for f in figures if f is not None)
    return sorted((name, names.count(name)) for name in set(names)), moved


PLAIN = {name: name for name in ("x", "y", *(f"v{i}" for i in range(6)))}
OTHER = {name: f"softmax_{len(PLAIN) - i}" for i, name in enumerate(PLAIN)}


@settings(max_examples=25, derandomize=True)
@given(programs())
def test_names_do_not_matter(program: list[Statement]) -> None:
    assert shape_of(text(program, PLAIN, "f", None)) == shape_of(text(program, OTHER, "layer_norm", None))


@settings(max_examples=25, derandomize=True)
@given(programs(), st.integers(0, 99))
def test_exchanged_operands_do_not_matter(program: list[Statement], seed: int) -> None:
    assert shape_of(text(program, PLAIN, "f", None)) == shape_of(text(program, PLAIN, "f", random.Random(seed)))


@settings(max_examples=25, derandomize=True)
@given(programs(), st.integers(0, 99))
def test_the_order_of_statements_does_not_matter(program: list[Statement], seed: int) -> None:
    other = reordered(program, random.Random(seed))
    assert shape_of(text(program, PLAIN, "f", None)) == shape_of(text(other, PLAIN, "f", None))


def test_and_they_have_the_same_bits() -> None:
    chance = random.Random(5)
    program = [
        ("v0", ("x", "y"), "{0} * {1}"), ("v1", ("x",), ROWS[0]), ("v2", ("v1",), "exp({0})"),
        ("v3", ("v2", "v0"), "{0} + {1}"),
    ]  # fmt: skip
    arrays = [np.random.default_rng(i).standard_normal((30, 20)).astype(np.float32) for i in (1, 2)]

    def run(source: str) -> np.ndarray[Any, Any]:
        (function,) = parse(source, "program.tx").functions.values()
        executable = compile_graph(function.graph()).executable
        return executable(arrays, (), 1)[0]

    usual = run(text(program, PLAIN, "f", None))
    for _ in range(3):
        other = text(reordered(program, chance), OTHER, "g", chance)
        np.testing.assert_array_equal(run(other).view("u4"), usual.view("u4"))
