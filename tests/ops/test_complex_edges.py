"""Complex functions at zeros, infinities and NaNs: the cases of C's Annex G, which the Python array API repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

#: For arguments ``x + iy`` with y not below 0 and, where the function has that symmetry, x not below 0: x, y, and the
#: parts of the result.  ``~`` is either sign, `f` any finite number but 0, `p` any above 0.
CASES = {
    "exp": """
        0 0 1 0 | f inf nan nan | f nan nan nan | inf 0 inf 0 | -inf f ~0 ~0 | -inf inf ~0 ~0 | inf inf ~inf nan
        -inf nan ~0 ~0 | inf nan ~inf nan | nan 0 nan 0 | nan p nan nan | nan nan nan nan | nan inf nan nan""",
    "expm1": """
        0 0 0 0 | f inf nan nan | f nan nan nan | inf 0 inf 0 | -inf f -1 ~0 | -inf inf -1 ~0 | inf inf ~inf nan
        -inf nan -1 ~0 | inf nan ~inf nan | nan 0 nan 0 | nan p nan nan | nan nan nan nan""",
    "log": """
        -0 0 -inf π | 0 0 -inf 0 | f inf inf π/2 | f nan nan nan | -inf p inf π | inf p inf 0 | -inf inf inf 3π/4
        inf inf inf π/4 | inf nan inf nan | -inf nan inf nan | nan f nan nan | nan inf inf nan | nan nan nan nan""",
    "sqrt": """
        0 0 0 0 | f inf inf inf | inf inf inf inf | nan inf inf inf | f nan nan nan | -inf p 0 inf | inf p inf 0
        -inf nan nan ~inf | inf nan inf nan | nan f nan nan | nan nan nan nan""",
    "sinh": """
        0 0 0 0 | 0 inf ~0 nan | 0 nan ~0 nan | p inf nan nan | p nan nan nan | inf 0 inf 0 | inf inf ~inf nan
        inf nan ~inf nan | nan 0 nan 0 | nan p nan nan | nan nan nan nan""",
    "cosh": """
        0 0 1 0 | 0 inf nan ~0 | 0 nan nan ~0 | p inf nan nan | p nan nan nan | inf 0 inf 0 | inf inf ~inf nan
        inf nan inf nan | nan 0 nan ~0 | nan p nan nan | nan nan nan nan""",
    "tanh": """
        0 0 0 0 | 0 inf 0 nan | 0 nan 0 nan | p inf nan nan | p nan nan nan | inf p 1 ~0 | inf inf 1 ~0 | inf nan 1 ~0
        nan 0 nan 0 | nan p nan nan | nan nan nan nan""",
    "asinh": """
        0 0 0 0 | p inf inf π/2 | f nan nan nan | inf p inf 0 | inf inf inf π/4 | inf nan inf nan | nan 0 nan 0
        nan p nan nan | nan inf ~inf nan | nan nan nan nan""",
    "acosh": """
        0 0 0 π/2 | f inf inf π/2 | 0 nan nan ~π/2 | p nan nan nan | -inf p inf π | inf p inf 0 | -inf inf inf 3π/4
        inf inf inf π/4 | inf nan inf nan | -inf nan inf nan | nan f nan nan | nan inf inf nan | nan nan nan nan""",
    "atanh": """
        0 0 0 0 | 0 nan 0 nan | 1 0 inf 0 | p inf 0 π/2 | p nan nan nan | inf p 0 π/2 | inf inf 0 π/2 | inf nan 0 nan
        nan p nan nan | nan inf ~0 π/2 | nan nan nan nan""",
    "acos": """
        0 0 π/2 -0 | 0 nan π/2 nan | f inf π/2 -inf | p nan nan nan | -inf p π -inf | inf p 0 -inf | -inf inf 3π/4 -inf
        inf inf π/4 -inf | inf nan nan ~inf | -inf nan nan ~inf | nan f nan nan | nan inf nan -inf | nan nan nan nan""",
}
#: f(-z) is -f(z), f(z) itself, or another function's business.
ODD, EVEN = {"sinh", "tanh", "asinh", "atanh"}, {"cosh"}
NUMBERS = {"π": math.pi, "π/2": math.pi / 2, "π/4": math.pi / 4, "3π/4": 3 * math.pi / 4}
DRAWN = {"p": (0.25, 1.0, 3.0, 30.0), "f": (0.25, 1.0, 3.0, -2.0, 30.0)}


def number(text: str) -> float:
    return NUMBERS[text] if text in NUMBERS else float(text)


def cases(name: str) -> list[tuple[complex, str, str]]:
    """Every argument with both parts of its result; those of the lower half plane follow from the upper."""
    found = []
    for row in CASES[name].replace("\n", "|").split("|"):
        if row.strip():
            x, y, re, im = row.split()
            xs, ys = ([*DRAWN[t]] if t in DRAWN else [number(t)] for t in (x, y))
            found += [(complex(a, abs(b)), re, im) for a in xs for b in ys]
    return found


def agrees(got: float, expected: str, flipped: bool) -> bool:
    if expected == "nan":
        return math.isnan(got)
    either, value = expected.startswith("~"), number(expected.removeprefix("~"))
    close = abs(got) == abs(value) or abs(abs(got) - abs(value)) < 1e-6
    return close and (either or (math.copysign(1, got) == math.copysign(1, value)) != flipped)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CASES)
def test_annex_g(name: str, dtype: type) -> None:
    op = OPS[name]
    assert issubclass(op, Map)
    wanted = []
    for z, re, im in cases(name):
        wanted += [(z, re, im, False, False), (z.conjugate(), re, im, False, True)]
        if name in ODD | EVEN:
            odd = name in ODD
            wanted += [(-z, re, im, odd, odd), (-z.conjugate(), re, im, odd, not odd)]
    b = NumpyScalarBuilder()
    with np.errstate(all="ignore"):
        got = b.array(op.build(b, b.value(np.array([z for z, *_ in wanted], dtype))))
    for found, (z, re, im, flips_re, flips_im) in zip(got, wanted):
        right = agrees(found.real, re, flips_re) and agrees(found.imag, im, flips_im)
        assert right, f"{name}({z}) is {found}, not {re} and {im} (negated: {flips_re}, {flips_im})"
