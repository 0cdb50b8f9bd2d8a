"""Programs of fixed seeds do what Python does with them, or are refused with a line of theirs.

Most are run by the interpreter of graphs, as it is the front end that they try; some by machine code.
``TXC_PROGRAMS=3000`` compares so many by that; ``python -m tests.frontend.programs`` any number of others, and shows
what differs, made small.
"""

from __future__ import annotations

import os

import pytest

from .compare import FAULTS, compare
from .generate import DEEPEST, Program, generate
from .shrink import shrink, without

COUNT = int(os.environ.get("TXC_PROGRAMS", "60"))
#: What share of these machine code runs in each way: once there is a graph, it does not know the way.
SHARES = {"jit": 1, "tx": 3, "eager": 3}
#: How many programs the interpreter of graphs runs in each way.
INTERPRETED = {"jit": 3000, "tx": 300, "eager": 300}


def deepest(seed: int) -> int:
    """How deep statements stand in others: of one program in ten as deep as there are.

    Those are one in thirty anyway, and two thirds of the time, as a loop looks several times at what is in it.
    """
    return DEEPEST - bool(seed % 10)


def check(seeds: range, way: str, *, by_code: bool) -> None:
    for seed in seeds:
        program = generate(seed, way=way, deepest=deepest(seed))
        outcome = compare(program, way, by_code=by_code)
        assert outcome.verdict not in FAULTS, f"seed {seed}: {program.calls}\n{program.text}{outcome.detail}"


@pytest.mark.parametrize(
    ("way", "first"), [(way, first) for way, share in SHARES.items() for first in range(0, COUNT // share, 20)]
)
def test_programs(way: str, first: int):
    check(range(first, first + 20), way, by_code=True)


@pytest.mark.parametrize(
    ("way", "first"), [(way, first) for way, count in INTERPRETED.items() for first in range(0, count, 100)]
)
def test_interpreted_programs(way: str, first: int):
    check(range(first, first + 100), way, by_code=False)


def small(*lines: str, calls: tuple[str, ...] = ("np.arange(3.0), 1",)) -> Program:
    return Program(["def f(x, n):", *(f"    {line}" for line in lines)], list(calls))


def test_a_difference_is_seen_and_made_small():
    """What is equal to nothing else is a difference, and what it does not need is left out."""
    large = small("y = x + 1", "if n > 5:", "    y = y * 2", "y[0] = 1", "return y + 1, object()")
    assert compare(large).verdict == "different"
    made = shrink(large, lambda p: compare(p).verdict == "different")
    assert made.lines == ["def f(x, n):", "    return object()"]


def test_a_refusal_is_no_exception_of_python_s():
    """Python raises a ValueError, and the compiler's errors are ValueErrors: a refusal all the same."""
    refused = compare(small("for i in range(n):", "    x = np.concatenate([x, x])", "x[:] = np.arange(n + 5)"))
    assert (refused.verdict, refused.line) == ("refused", 2)


def test_a_program_as_text_of_tx():
    text = ("x[0] = n", "if n > 3 or x[1] > 5:", "    return np.sort(x)[::-1]", "return x * (n or 2.0)")
    calls = ("np.arange(3.0), 1", "np.arange(3.0), 5", "np.arange(3.0), 0")
    assert compare(small(*text, calls=calls), "tx").verdict == "same"
    assert compare(small("return x[n]", calls=("np.arange(3.0), 7",)), "tx").verdict == "raises"
    assert compare(small("return {n: x}"), "tx").verdict == "refused"


def test_effects_on_arguments_and_captured_arrays_are_compared():
    assert compare(small("x[0] = n", "return 0")).verdict == "same"
    assert compare(small("return x[n]", calls=("np.arange(3.0), 7",))).verdict == "same"  # an IndexError


def test_calls_share_what_is_compiled():
    """The second call has other numbers: what was taken for a fact of the first one would be seen."""
    assert compare(small("return x * n", calls=("np.ones(3), 1", "np.ones(3), 5"))).verdict == "same"


def test_an_endless_program_is_left():
    assert compare(small("while True:", "    n += 1")).verdict == "endless"


def test_a_block_without_lines_passes():
    assert without(["def f(x):", "    if x:", "        x = 1", "    return x"], 2)[2] == "        pass"


def test_a_statement_goes_with_its_branches():
    assert without(["def f(x):", "    if x:", "        x = 1", "    else:", "        x = 2", "    return x"], 1) == [
        "def f(x):",
        "    return x",
    ]


def test_interpreted_graphs_give_what_machine_code_gives():
    text = ("x[0] = n", "for i in range(n):", "    x += x[i]", "if x[1] > 5:", "    x = x[1:]", "return x * n, x[n]")
    calls = ("np.arange(3.0), 1", "np.arange(9.0)[::2], 2", "np.arange(3.0), 7")
    assert compare(small(*text, calls=calls), by_code=False).verdict == "same"
    assert compare(small(*text, calls=calls)).verdict == "same"
    assert compare(small("return x, object()"), by_code=False).verdict == "different"


@pytest.mark.parametrize("by_code", [True, False])
def test_floats_that_an_integer_does_not_hold_are_not_compared(by_code: bool):
    assert compare(small("return (x - 1).astype('u1')"), by_code=by_code).verdict == "large"
    assert compare(small("return (x + 1).astype('u1')"), by_code=by_code).verdict == "same"
