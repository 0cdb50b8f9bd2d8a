"""Random programs over arrays, numbers and references, as users of NumPy write them: text that ends, and arguments."""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from dataclasses import dataclass

from .features import HEAD, HEADS, KINDS, LEAVES, NOT_IN_TX, RESULT, RESULTS, TX_HEAD, TX_RESULT, VARIABLES, Template

__all__ = ["ALWAYS", "FEATURES", "PRELUDE", "Program", "generate"]

#: What stands before each program's function.
PRELUDE = """\
from functools import partial

import numpy as np

GLOBAL = np.array([1.0, 2.0, 4.0])
LEVELS, GRADES, STEPS = [0.5, 1.0, 4.0], (1, 2.5, True), [2, 0, -1, 1]
WALK, GRID, COSTS = [[1, 2], [0], [2, 0, 1]], ((1.0, 2), (0.5, 4), (2.0, 1)), {0: 1.0, 1: 0.5, 2: 4}


class Box:
    def __init__(self, x, s):
        self.x, self.s = x, s

    def bump(self, q):
        self.s += q

    def scale(self, q):
        return q * 2 + self.s


class Slot:
    __slots__ = ("x", "s")

    def __init__(self, x, s):
        self.x, self.s = x, s


class Bag:
    def __init__(self, x):
        self.x, self.count = x, 0

    @property
    def first(self):
        return self.x[0]

    @first.setter
    def first(self, q):
        self.x[0] = q

    def __getitem__(self, at):
        return self.x[at]

    def __setitem__(self, at, q):
        self.x[at] = q

    def __iadd__(self, q):
        self.x = self.x + q
        return self

    def __len__(self):
        return len(self.x)

    def __call__(self, q):
        self.count += 1
        return q + self.count


def bumped(q):
    q += 1
    q = q * 2
    return q


def halved(q, times):
    for _ in range(times):
        q[:] = q * 0.5
        q = q + 1
    return q


def chosen(q, r, first):
    return q if first else r


def swapped(q, r):
    q[0], r[-1] = r[-1], q[0]
    return r, q


def total(q, start=0.0):
    for item in q:
        start += item
    return start


def others(q, *rest, scale=1):
    rest[0][0] = q[0]
    return rest[-1] * scale


"""

#: Features by name; `overlaps` is of arguments: arrays that share memory without being one.
FEATURES = sorted({t.feature for templates in KINDS.values() for t in templates} | {"overlaps", "same"})
#: What every program may use: each other feature is in half of the programs, so that few of them meet at a time.
ALWAYS = frozenset({"plain"})

_HOLE = re.compile(r"<(\w+)(?::(\w+))?>")
#: Rank 1, `{n}` long and of `{dtype}`: rows of elements however they lie in memory.
_ROWS = (
    "np.arange({n}).astype({dtype})",
    "np.arange({n})[::-1].astype({dtype})",
    "(np.arange(2 * {n})[::2] % 5).astype({dtype})",
    "np.ones({n}, {dtype})",
    "np.arange(2.0 * {n}).astype({dtype})[::2]",
    "np.arange({n}).astype({dtype})[::-1]",
    "(np.arange({n}) * 3 % 7).astype({dtype})",
)
#: Rank 2.
_MATRICES = (
    "np.arange(12).reshape(3, 4).astype({dtype})",
    "np.arange(9).reshape(3, 3).astype({dtype})",
    "np.arange(12).reshape(3, 4).astype({dtype}).T",
    "np.arange(24).reshape(4, 6).astype({dtype})[:, ::2]",
    "np.arange(12).reshape(4, 3).astype({dtype})[::-1, ::-1]",
    "np.asfortranarray(np.arange(9).reshape(3, 3) % 4).astype({dtype}, order='K')",
)
_DTYPES = (*["'f8'"] * 6, "'f4'", "'f4'", "'i8'", "'i8'", "'i4'", "'u1'", "'c16'")
_LENGTHS = (6, 6, 6, 6, 5, 9, 1)
DEEPEST = 4


@dataclass
class Program:
    """The lines of a function, and the texts of the arguments of its calls."""

    lines: list[str]
    calls: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class _Nothing(Exception):
    """No template of a kind can be filled here."""


class _Writer:
    """Text of templates, drawn from those whose features a program has."""

    def __init__(self, rng: random.Random, features: Collection[str], budget: int, deepest: int):
        self.rng, self.features, self.budget, self.deepest = rng, features, budget, deepest
        self.loops = 0
        self.counters: list[str] = []
        #: Counters of loops that are left.
        self.left: list[str] = []

    def statements(self, count: int, depth: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            found += self.text("statement", depth).split("\n")
        return found

    def text(self, kind: str, depth: int) -> str:
        """Text of one kind; `depth` is how deep it stands in others."""
        if kind in VARIABLES:
            return self.rng.choice(VARIABLES[kind])
        if kind == "new":
            self.loops += 1
            return f"i{self.loops}"
        if kind in ("counter", "left"):
            names = self.counters if kind == "counter" else self.left
            if not names:
                raise _Nothing
            return self.rng.choice(names[-2:])
        if kind != "statement" and depth > 2 and kind in LEAVES:
            return self.rng.choice(LEAVES[kind])
        options = [t for t in KINDS[kind] if t.feature in self.features and self.fits(t, depth)]
        while options:
            chosen = self.rng.choices(options, [t.weight for t in options])[0]
            try:
                return self.filled(chosen, depth)
            except _Nothing:
                options.remove(chosen)
        raise _Nothing

    def fits(self, template: Template, depth: int) -> bool:
        return "<block" not in template.text or (depth < self.deepest and self.budget > 0)

    def filled(self, template: Template, depth: int) -> str:
        known: dict[str, str] = {}
        lines: list[str] = []
        before = len(self.counters)
        expression = 0 if "<block" in template.text or ":" in template.text else depth
        for line in template.text.split("\n"):
            block = re.fullmatch(r"( *)<block(?::(\w+))?>", line)
            if block is None:
                lines.append(_HOLE.sub(lambda hole: self.hole(hole, known, expression), line))
                continue
            self.budget -= 1
            if block[2] is not None:
                self.counters.append(known[block[2]])
            lines += [block[1] + inner for inner in self.statements(self.rng.randint(1, 3), depth + 1)]
            del self.counters[before:]
        if "for <new" in template.text or "while" in template.text:
            self.left += [name for key, name in known.items() if key in "ij"]
        return "\n".join(lines)

    def hole(self, hole: re.Match[str], known: dict[str, str], depth: int) -> str:
        kind, name = hole[1], hole[2]
        if kind in known:
            return known[kind]
        made = self.text(kind, depth + 1)
        if name is not None:
            known[name] = made
        return made


#: What is not drawn for a way: lazy tensors have a type of their own, and those of arrays that overlap are copies, each
#: with its own memory.
_LEFT_OUT = {"tx": NOT_IN_TX, "eager": frozenset({"overlaps", "types"})}


def generate(
    seed: int, without: Collection[str] = (), only: Collection[str] | None = None, way: str = "jit",
    deepest: int = DEEPEST,
) -> Program:  # fmt: skip
    """The program of a seed, `without` some features, or of `only` some; for a `way` to run it, of what that can.

    Statements stand in at most as many others as `deepest` says.
    """
    rng = random.Random(seed)
    drawn = {f for f in FEATURES if f in ALWAYS or rng.random() < 0.5}
    if only is not None:
        drawn = {*ALWAYS, *only}
    head, result = (TX_HEAD, TX_RESULT) if way == "tx" else (HEAD, RESULT)
    drawn -= _LEFT_OUT.get(way, frozenset())
    writer = _Writer(rng, drawn - set(without), rng.choice((4, 8, 8, 16)), deepest)
    for feature in sorted(writer.features):
        head += "\n" + HEADS[feature] if feature in HEADS else ""
        result += ", " + RESULTS[feature] if feature in RESULTS else ""
    body = [*head.split("\n"), *writer.statements(rng.randint(2, 10), 0), RESULT]
    body = [line.replace(RESULT, result) for line in body]
    lines = ["def f(x, y, m, n, c, flag, g):", *("    " + line for line in body)]
    return Program(lines, _calls(rng, writer.features, way))


def _calls(rng: random.Random, features: Collection[str], way: str) -> list[str]:
    """Two calls, whose arrays lie in memory alike and whose numbers may differ.

    Only ``jit`` takes matrices whose order in memory can be seen: others take any as one that is row-major.  The floats
    of `.tx` have a type, so arrays of floats have the same; its ``or`` of tensors goes element by element, which
    Python's does not, where they have a truth.
    """
    dtype, n = rng.choice(_DTYPES), rng.choice(_LENGTHS)
    n = 6 if way == "tx" and n == 1 and "circuits" in features else n
    dtype = dtype if way != "tx" else dtype.replace("f4", "f8")
    x, y, m = (rng.choice(options).format(n=n, dtype=dtype) for options in (_ROWS, _ROWS, _MATRICES))
    m = m if way == "jit" else f"{m}.copy()"
    shared = rng.random()
    if "same" in features and shared < 0.2:
        x, y = f"(o := {x})", "o"
    elif "overlaps" in features and shared > 0.8:
        x, y = f"(o := np.arange({n} + 1).astype({dtype}))[1:]", rng.choice(("o[:-1]", "o[:0:-1]", "o[1:]"))
    rest = [rng.choice(((2, 1.0), (0, 0.5), (1, 2.0), (3, 0.5), (5, 2.0))) for _ in range(2)]
    flags = [rng.choice((True, False)) for _ in range(2)]
    huge = rng.choice((3, 2**62, 2**63 - 1, -(2**63), 2**31, -1))
    return [f"{x}, {y}, {m}, {count}, {c}, {flag}, {huge}" for (count, c), flag in zip(rest, flags)]
