"""The calls of a schedule, recorded: the program that made the loops, as a person would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call", "Record"]


class Call:
    """A primitive with its arguments; those by name that are None are not said."""

    def __init__(self, primitive: str, *arguments: Any, **options: Any):
        self.primitive, self.arguments, self.options = primitive, arguments, options

    def __str__(self) -> str:
        options = [f"{name}={value}" for name, value in self.options.items() if value is not None]
        return f"{self.primitive}({', '.join([*map(str, self.arguments), *options])})"


@dataclass
class Record:
    """Calls with their results; a branch is a condition with the records of both sides."""

    steps: list[Any] = field(default_factory=list)

    def call(self, call: Call, *results: object) -> None:
        """Note ``results = nest.call``."""
        self.steps.append((call, results))

    def branch(self, condition: object, records: Sequence[Record]) -> None:
        """Note what either side of a branch did; of one whose condition was known, what was done."""
        if len(records) == 1:
            self.steps += records[0].steps
        else:
            self.steps.append((condition, *records))

    def text(self, indent: str = "") -> Iterator[str]:
        """The program, line by line."""
        for step in self.steps:
            if isinstance(step[0], Call):
                call, results = step
                made = f"{', '.join(map(str, results))} = " if results else ""
                yield f"{indent}{made}nest.{call}"
                continue
            condition, then, otherwise = step
            yield f"{indent}if {condition} > 0:"
            yield from then.text(indent + "    ")
            yield f"{indent}else:"
            yield from otherwise.text(indent + "    ")
