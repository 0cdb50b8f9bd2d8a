"""Programs of fixed seeds do what Python does with them, or are refused with a line of theirs.

``python -m tests.frontend.programs --count N --seed S`` runs any number of others, and shows those that differ.
"""

from __future__ import annotations

import pytest

from .compare import compare
from .generate import Program, generate
from .shrink import shrink


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_programs(first: int):
    for seed in range(first, first + 10):
        program = generate(seed)
        outcome = compare(program)
        assert outcome.verdict != "different", f"seed {seed}: f({program.arguments})\n{program.text}{outcome.detail}"


def test_a_difference_is_seen_and_made_small():
    """What is equal to nothing else is a difference, and lines that it does not need are left out."""
    lines = [
        "def f(x, n):",
        "    y = x + 1",
        "    if n > 5:",
        "        y = y * 2",
        "    y[0] = 1",
        "    return y, object()",
    ]
    program = Program(lines, "np.arange(3.0), 1")
    assert compare(program).verdict == "different"
    small = shrink(program, lambda p: compare(p).verdict == "different")
    assert small.lines == ["def f(x, n):", "    y = x + 1", "    return y, object()"]
