"""Random programs over arrays, numbers and references, as users of NumPy write them: text that ends, and arguments.

Numbers stay small multiples of powers of two, so that sums are exact in any order and no rounding decides a branch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["ARGUMENTS", "Program", "generate"]

#: The ways in which the array arguments lie in memory, as expressions; the last is one array given twice.
ARGUMENTS = (
    "np.arange(6.0), np.arange(6.0)[::-1].copy()",
    "np.arange(12.0)[::2], np.arange(6.0) - 2",
    "np.arange(6.0)[::-1], np.ones(6)",
    "np.arange(6), np.arange(6)[::-1].copy()",
    "np.arange(6, dtype=np.float32), np.ones(6, np.float32)",
)


@dataclass
class Program:
    """A function's text, and the text of its arguments."""

    lines: list[str]
    arguments: str

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    loops: int = 0
    counters: list[str] = field(default_factory=list)
    budget: int = 24
    #: How many branches, and loops that may be left, are open: a list cannot grow there.
    branches: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    # Expressions

    def array(self) -> str:
        return self.pick("x", "x", "y", "y", "z")

    def index(self) -> str:
        own = [f"{c} % 6" for c in self.counters] + list(self.counters[-1:])
        return self.pick("0", "1", "-1", "3", "k % 6", "n % 6", "len(x) - 1", *own, *own)

    def integer(self) -> str:
        return self.pick("k", "n", "1", "2", "len(x)", "k + 1", "n - k", "x.shape[0] // 2", *self.counters)

    def number(self, deep: int = 0) -> str:
        if deep > 2:
            return self.pick("s", "t", "1.0", "b")
        a, i = self.array(), self.index()
        return self.pick(
            "s", "t", "b", "2.0", f"{a}[{i}]", f"{a}[{i}]", f"{a}.sum()", f"{a}.max()", f"pair[0] + {self.integer()}",
            f"abs({self.number(deep + 1)})", f"({self.number(deep + 1)} - {self.number(deep + 1)})",
            f"min({self.number(deep + 1)}, 8.0)", f"({self.number(deep + 1)} if {self.condition(deep + 1)} else t)",
            f"{a}[{self.bounds()}].sum()", "record['v']", f"float({self.integer()})",
        )  # fmt: skip

    def bounds(self) -> str:
        i = self.pick(*self.counters, "k", "1")
        return self.pick(":", "1:", ":-1", "::2", f"{i} - 1:{i} + 2", f"{i}:", f"max(0, {i} - 1):{i} + 1", "::-1")

    def whole(self) -> str:
        """An array of six elements."""
        a, b = self.array(), self.array()
        return self.pick(
            a, f"{a} + {b}", f"{a} * 0.5", f"{a} - {self.number(1)}", f"np.minimum({a}, 8.0)", f"{a}.copy()",
            f"{a}[::-1]",
            f"np.where({a} > {self.number(2)}, {a}, {b})", f"({a} if {self.condition(1)} else {b})", f"abs({a})",
            f"np.roll({a}, 1)", f"np.asarray({a})", f"{a}.reshape(2, 3).T.ravel()", f"np.sort({a})",
        )  # fmt: skip

    def condition(self, deep: int = 0) -> str:
        n = self.number(deep + 2)
        simple = self.pick(
            f"{n} > {self.number(3)}", f"{self.integer()} % 2 == 0", "flag", f"{self.integer()} > 2", f"{n} <= 1.0",
            f"0 <= {n} < 4", f"not {self.integer()} > 1", f"k < len(x) and {self.array()}[k] > 1",
        )  # fmt: skip
        if deep > 1 or self.rng.random() < 0.7:
            return simple
        return f"{simple} {self.pick('and', 'or')} {self.condition(deep + 1)}"

    # Statements

    def block(self, count: int) -> None:
        self.depth += 1
        for _ in range(count):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        self.budget -= 1
        simple: list[Callable[[], None]] = [
            self.assigns_number, self.assigns_array, self.stores, self.stores, self.swaps, self.containers,
            self.closure,
        ]  # fmt: skip
        nested: list[Callable[[], None]] = [self.branch, self.loop, self.counted]
        some = simple + (nested * 2 if self.depth < 4 and self.budget > 0 else [])
        self.rng.choice(some)()

    def assigns_number(self) -> None:
        self.line(f"{self.pick('s', 't')} {self.pick('=', '=', '+=', '-=')} {self.number()}")

    def assigns_array(self) -> None:
        self.line(f"{self.array()} {self.pick('=', '=', '=', '+=')} {self.whole()}")

    def stores(self) -> None:
        a, b, i, j = self.array(), self.array(), self.index(), self.index()
        self.line(self.pick(
            f"{a}[{i}] = {self.number()}", f"{a}[{i}] += 1", f"{a}[{i}], {a}[{j}] = {a}[{j}], {a}[{i}]",
            f"{a}[1:] = {b}[:-1]", f"{a}[:-1] += {b}[1:]", f"{a}[{a} > 2] = {self.number(1)}",
            f"{a}[::2] = {self.number(1)}",
            f"{a}[:3][{self.pick('0', '1', '2')}] = {self.number(1)}", f"{a}[...] = {self.whole()}",
        ))  # fmt: skip

    def swaps(self) -> None:
        self.line(self.pick("x, y = y, x", "y, z = z, y", "s, t = t, s", "z = x", "y = x", "x, y, z = z, x, y"))

    def containers(self) -> None:
        self.line(self.pick(
            f"pair[{self.pick('0', '1')}] = {self.number()}", "pair[0], pair[1] = pair[1], pair[0]",
            f"record['v'] = {self.number()}", "record['v'] += 1",
            "record['v'] += 1" if self.branches else f"found.append({self.number(1)})",
        ))  # fmt: skip

    def closure(self) -> None:
        self.line(self.pick(f"add({self.number(1)})", f"s = scaled({self.number(1)})"))

    def branch(self) -> None:
        self.branches += 1
        self.line(f"if {self.condition()}:")
        self.block(self.rng.randint(1, 2))
        if self.rng.random() < 0.5:
            self.line("else:")
            self.block(self.rng.randint(1, 2))
        self.branches -= 1

    def loop(self) -> None:
        name = f"i{self.loops}"
        self.loops += 1
        items = self.pick("range(3)", "range(len(x))", "range(n)", "range(1, n)", "range(10)", "range(n, 0, -1)")
        self.line(f"for {name} in {items}:")
        self.counters.append(name)
        leaves = self.rng.random() < 0.2
        self.branches += leaves
        self.block(self.rng.randint(1, 3))
        if leaves:
            self.depth += 1
            self.line(f"if {self.condition(1)}: {self.pick('break', 'continue')}")
            self.depth -= 1
            self.block(1)
        self.branches -= leaves
        self.counters.pop()

    def counted(self) -> None:
        name = f"w{self.loops}"
        self.loops += 1
        self.line(f"{name} = 0")
        self.line(f"while {name} < {self.pick('3', 'n', 'len(x)')} and ({self.condition(1)}):")
        self.depth += 1
        self.line(f"{name} += 1")
        self.depth -= 1
        self.counters.append(name)
        self.branches += 1
        self.block(self.rng.randint(1, 2))
        self.branches -= 1
        self.counters.pop()


HEAD = """def f(x, y, n, b, flag):
    z = x * 1
    s, t, k = 0.0, 1.0, 2
    pair, record, found = [0.0, 1.0], {'v': 0.0}, []
    def add(v):
        nonlocal t
        t = t + v
    def scaled(v):
        return v * b + t"""


def generate(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    writer = _Writer(rng)
    for _ in range(rng.randint(3, 8)):
        writer.statement()
    writer.line("return x, y, z, s, t, k, pair, record, len(found)")
    arrays = rng.choice(ARGUMENTS)
    if rng.random() < 0.15:
        arrays = "(a := np.arange(6.0)), a"
    arguments = f"{arrays}, {rng.choice((0, 1, 3, 5))}, {rng.choice((0.5, 2.0))}, {rng.choice((True, False))}"
    return Program([*HEAD.split("\n"), *writer.lines], arguments)
