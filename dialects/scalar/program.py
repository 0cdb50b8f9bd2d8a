"""Functions of scalars as data: what a user's Python function of numbers becomes, as a parameter of ops.

A `ScalarProgram` is a block of steps over numbered values: registered map ops, constants, and ``if``, ``while`` and
``for`` with programs of their own, which see the values around them.  Run by a `ScalarBuilder` it is part of a body:
every lane takes its own branches and goes round its own loops as often as it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..registry import Map, Param, find_op
from ..types import DTYPES, DType
from .language import ComplexValue, ScalarBuilder, Value

__all__ = ["LOOP_TRIPS", "ScalarProgram", "Step", "parse_program", "program_param"]

#: How often a loop is taken to go round, for the cost model.
LOOP_TRIPS = 16


@dataclass(frozen=True)
class Step:
    """``results = op<attrs> operands programs``.

    `op` is the name of a map, or ``constant`` (attributes dtype and value), ``if`` (one operand, two programs without
    arguments), ``while`` (a condition and a body of the operands), ``for`` (operands: lower bound, upper bound, step
    and what is carried; its body takes the counter first; it ends when the carried bool of its attribute is true).
    """

    op: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attrs: tuple[Any, ...] = ()
    programs: tuple[ScalarProgram, ...] = ()

    def __str__(self) -> str:
        attrs = f"<{', '.join(map(str, self.attrs))}>" if self.attrs else ""
        operands = "".join(f" %{n}" for n in self.operands)
        inner = "".join(f" {p}" for p in self.programs)
        return f"{', '.join(f'%{n}' for n in self.results)} = {self.op}{attrs}{operands}{inner}"


@dataclass(frozen=True)
class ScalarProgram:
    """Numbered arguments and results with their types; the steps between them.  Numbers are unique, inner ones too."""

    arguments: tuple[tuple[int, DType], ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[int, DType], ...]

    def __str__(self) -> str:
        def typed(values: Sequence[tuple[int, DType]]) -> str:
            return ", ".join(f"%{n}: {kind}" for n, kind in values)

        steps = "".join(f"{step}; " for step in self.steps)
        return f"({typed(self.arguments)}) {{{steps}yield {typed(self.results)}}}"

    @cached_property
    def cost(self) -> float:
        """A rough number of floating-point instructions, as `Map.cost` counts them."""
        return sum(_cost(step) for step in self.steps)

    @property
    def has_loops(self) -> bool:
        return any(step.op in ("while", "for") or any(p.has_loops for p in step.programs) for step in self.steps)

    def run(self, b: ScalarBuilder, *operands: Value, alive: Value | None = None) -> tuple[Value, ...]:
        """Its results for values of its arguments' types; loops run only where `alive`, if it is given."""
        return _Run(b).program(self, operands, alive)


def program_param() -> Param:
    return Param("function", lambda v, _: v)


def _cost(step: Step) -> float:
    inner = sum(p.cost for p in step.programs)
    if step.programs:
        return inner * (1 if step.op == "if" else LOOP_TRIPS)
    found = find_op(step.op)
    return found.cost if issubclass(found, Map) else 0.0


class _Run:
    """Runs a program with a builder.  `alive` says which lanes a value is for; None means all of them."""

    def __init__(self, b: ScalarBuilder):
        self.b = b
        self.values: dict[int, Value] = {}

    def program(self, program: ScalarProgram, operands: Sequence[Value], alive: Value | None) -> tuple[Value, ...]:
        self.values.update(zip((n for n, _ in program.arguments), operands, strict=True))
        for step in program.steps:
            self.values.update(zip(step.results, self._step(step, alive), strict=True))
        return tuple(self.values[n] for n, _ in program.results)

    def _step(self, step: Step, alive: Value | None) -> Sequence[Value]:
        operands = [self.values[n] for n in step.operands]
        if step.op == "constant":
            kind, value = step.attrs
            return (self.b.constant(value, kind),)
        if step.op == "if":
            return self._branch(step, operands[0], alive)
        if step.op == "while":
            return self._while(step, operands, alive)
        if step.op == "for":
            return self._for(step, operands, alive)
        if step.attrs:
            decl = find_op(step.op)
            assert issubclass(decl, Map)
            return (decl.build(self.b, *operands, **dict(zip(decl.params, step.attrs, strict=True))),)
        return (self.b.op(step.op, *operands),)

    def _branch(self, step: Step, condition: Value, alive: Value | None) -> Sequence[Value]:
        """Both branches, and for each lane the results of its own; loops in a branch run for its lanes only."""
        then, otherwise = (
            self.program(p, (), _both(alive, c)) for p, c in zip(step.programs, (condition, ~condition), strict=True)
        )
        return [self.b.select(condition, x, y) for x, y in zip(then, otherwise, strict=True)]

    def _while(self, step: Step, carried: Sequence[Value], alive: Value | None) -> Sequence[Value]:
        condition, body = step.programs

        def goes_on(values: Sequence[Value], alive: Value | None) -> Value:
            return _both(alive, self.program(condition, values, alive)[0])

        def turn(values: Sequence[Value], alive: Value) -> tuple[Value, Sequence[Value]]:
            new = self.program(body, values, alive)
            return goes_on(new, alive), new

        return self._iterate(goes_on(carried, alive), carried, turn)

    def _for(self, step: Step, operands: Sequence[Value], alive: Value | None) -> Sequence[Value]:
        lower, upper, by, *carried = operands
        (body,), (until,) = step.programs, step.attrs

        def turn(values: Sequence[Value], alive: Value) -> tuple[Value, Sequence[Value]]:
            following = values[0] + by
            new = self.program(body, values, alive)
            again = alive & (following < upper)
            return again if until is None else again & ~new[until], [following, *new]

        return self._iterate(_both(alive, lower < upper), [lower, *carried], turn)[1:]

    def _iterate(self, active: Value, values: Sequence[Value], turn: Any) -> list[Value]:
        """A loop over values, complex ones among them.  `turn` is told which lanes still run: what a lane that is done
        holds may be anything to the loops inside, which then do not start for it."""
        kinds = [v.dtype for v in values]

        def step(alive: Value, *states: Value) -> tuple[Value, Sequence[Value]]:
            again, new = turn(self._whole(kinds, states), alive)
            return again, [again, *_parts(new)]

        return self._whole(kinds, self.b.iterate(active, [active, *_parts(values)], step, None)[1:])

    def _whole(self, kinds: Sequence[DType], states: Sequence[Value]) -> list[Value]:
        rest = iter(states)
        return [self.b.complex_of(next(rest), next(rest)) if kind.is_complex else next(rest) for kind in kinds]


def _both(alive: Value | None, condition: Value) -> Value:
    return condition if alive is None else alive & condition


def _parts(values: Sequence[Value]) -> list[Value]:
    return [part for v in values for part in ((v.re, v.im) if isinstance(v, ComplexValue) else (v,))]


_TOKEN = re.compile(r"\s*(%\d+|<[^>]*>|\w+|[(){}:;,=])")


def parse_program(text: str) -> ScalarProgram:
    """Read back what `str` printed; ValueError where it is no program."""
    tokens = _TOKEN.findall(text)
    if _squeezed("".join(tokens)) != _squeezed(text):
        raise ValueError(f"{text!r} is not a scalar program")
    try:
        return _Reader(iter(tokens)).program()
    except (KeyError, StopIteration) as error:
        raise ValueError(f"{text!r} is not a scalar program: {error}") from error


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


class _Reader:
    def __init__(self, tokens: Iterator[str]):
        self.tokens = tokens
        self.here = next(tokens)

    def next(self, expected: str = "") -> str:
        found, self.here = self.here, next(self.tokens, "")
        if expected and found != expected:
            raise ValueError(f"{expected!r} expected in a scalar program, not {found!r}")
        return found

    def program(self) -> ScalarProgram:
        self.next("(")
        arguments = self.typed()
        self.next(")")
        self.next("{")
        steps = []
        while self.here != "yield":
            steps.append(self.step())
            self.next(";")
        self.next("yield")
        results = self.typed()
        self.next("}")
        return ScalarProgram(arguments, tuple(steps), results)

    def typed(self) -> tuple[tuple[int, DType], ...]:
        found = []
        while self.here.startswith("%"):
            number = int(self.next()[1:])
            self.next(":")
            found.append((number, DTYPES[self.next()]))
            if self.here == ",":
                self.next()
        return tuple(found)

    def numbers(self) -> tuple[int, ...]:
        found = []
        while self.here.startswith("%"):
            found.append(int(self.next()[1:]))
            if self.here == ",":
                self.next()
        return tuple(found)

    def step(self) -> Step:
        results = self.numbers()
        self.next("=")
        name = self.next()
        attrs = _attributes(name, self.next()) if self.here.startswith("<") else ()
        operands = self.numbers()
        programs = []
        while self.here == "(":
            programs.append(self.program())
        return Step(name, operands, results, attrs, tuple(programs))


def _attributes(name: str, text: str) -> tuple[Any, ...]:
    first, _, value = text[1:-1].partition(", ")
    if name == "for":
        return (None if first == "None" else int(first),)
    kind = DTYPES[first]
    if not value:
        return (kind,)
    if kind.kind == "bool":
        return kind, value == "True"
    return kind, int(value) if kind.is_integer else complex(value) if kind.is_complex else float(value)
