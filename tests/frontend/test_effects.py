"""Each part of a statement or expression is evaluated as often, and in the order, as Python does it.

A function `e` gives its argument and changes something: a list, an array or a variable outside.  It stands in
every construct, at the top, in a branch and in loops of compiled code; what it left says how often it was called.
"""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest

import txc

from .programs.interpreted import interpreted

#: How `e` begins, what it does, and what is returned of that.
EFFECTS = {
    "list": ("log = []", "log.append(1)", "len(log)"),
    "store": ("pass", "x[0] += 1", "x[0]"),
    "variable": ("n = 0", "nonlocal n; n += 1", "n"),
}
CONSTRUCTS = {
    "if": ["if e(x[1]) > 1: s += 1", "else: s += 2"],
    "elif": ["if x[1] > 5: s += 1", "elif e(x[2]) > 1: s += 2", "else: s += e(3)"],
    "while": ["k = 0", "while e(k) < x[2]:", "    s += 1; k += 1"],
    "while and": ["k = 0", "while k < 3 and e(x[k]) < 3:", "    s += 1; k += 1"],
    "for": ["for v in e(x[:3]):", "    s += v"],
    "range": ["for v in range(e(3)):", "    s += v * x[1]"],
    "range of a value": ["for v in range(int(e(x[2]))):", "    s += v * x[1]"],
    "for else": ["for v in range(3):", "    if e(x[v]) > 1: break", "else: s += 10"],
    "enumerate": ["for i, v in enumerate(x):", "    if e(i) > 1: s += v"],
    "conditional expression": ["s += e(1.0) if e(x[1]) > 1 else e(2.0) * e(1.0)"],
    "and, or": ["s += 1 if (x[1] > 1 and e(x[2]) > 1) or e(x[3]) > 2 else 0", "q = x[1] > 0 and e(x[2])", "s += q"],
    "not": ["s += 1 if not e(x[1]) > 1 else 5"],
    "chain": ["s += 1 if 0 < e(x[1]) < 3 else 0"],
    "end of a chain": ["s += 1 if x[1] < 1 < e(x[2]) else 0", "s += 1 if x[0] < x[1] < e(x[2]) < e(x[3]) else 0"],
    "index": ["s += x[e(1)] + x[e(1) : e(3)].sum() + [x[1], x[2]][e(1)]"],
    "arguments": ["s += np.maximum(e(x[1]), e(x[2])) + np.hypot(*[e(x[1]), e(x[2])])"],
    "augmented": ["x[e(1)] += 5", "s += e(x[1])"],
    "targets": ["x[e(1)] = x[e(2)] = e(3.0)", "a, b = e(x[1]), e(x[2])", "s += a - b"],
    "assert": ["assert e(x[1]) < 100"],
    "comprehensions": ["s += sum([e(v) for v in x]) + sum([v for v in e(x) if e(v) > 1])"],
    "generators": ["s += sum(e(v) for v in x[1:]) + max(e(v) for v in x)"],
    "any, all": ["s += any(e(v) > 1 for v in x) + 2 * all(e(v) > 1 for v in x[::-1])"],
    "displays": ["m = {'a': e(x[1]), 'b': e(x[2])}", "s += m['a'] * m['b']"],
    "defaults": ["g = lambda u, w=e(2.0): u * w", "s += g(e(x[1])) + g(x[2])"],
    "walrus": ["if (u := e(x[1])) > 1: s += u"],
    "in": ["s += 1 if e(2) in (1, 2, 3) else 0"],
    "where": ["s += np.where(e(x[1]) > 1, e(x[2]), e(x[3]))"],
    "return": ["if e(x[1]) > 1: return s, x, READ"],
    "functions of items": ["s += sum(map(e, x)) + sorted([3, 1, 2], key=lambda z: e(-z))[0] + max(e(x[1]), e(2.0))"],
}
PLACES = {
    "top": ("if True:", ""),
    "branch": ("if c > 0:", ""),
    "for": ("for j in range(int(c)):", ""),
    "while": ("j = 0\n    while j < c:", "j += 1; "),
}
CALLS = [(np.arange(4.0), 1.0), (np.arange(4.0), 2.0), (np.arange(4.0)[::-1] + 1, 1.0), (np.arange(4.0), 0.0)]


def function_of(construct: str, effect: str, place: str) -> Any:
    (begin, does, read), (head, first) = EFFECTS[effect], PLACES[place]
    body = [f"    {line}" for line in CONSTRUCTS[construct]]
    lines = ["s = 0.0", begin, "def e(v):", f"    {does}", "    return v", head, f"    {first}pass", *body]
    text = "def f(x, c):\n" + "".join(f"    {line}\n" for line in [*lines, "return s, x, READ"])
    text, name = text.replace("READ", read), f"<{construct}, {effect}, {place}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_as_often_as_in_python(construct: str):
    for effect, place in itertools.product(EFFECTS, PLACES):
        f = function_of(construct, effect, place)
        with interpreted():
            compiled = txc.jit(f)
            for x, c in CALLS:
                theirs, ours = x.copy(), x.copy()
                want, found = f(theirs, np.float64(c)), compiled(ours, np.float64(c))
                for a, b in zip((*found, ours), (*want, theirs)):
                    np.testing.assert_array_equal(a, b, err_msg=f"{effect}, {place}, {x}, {c}")
