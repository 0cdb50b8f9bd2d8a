"""Making a program small that still differs."""

from __future__ import annotations

from collections.abc import Callable

from .generate import Program

__all__ = ["shrink"]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without(lines: list[str], at: int) -> list[str]:
    """Lines without one, and without what stands under it."""
    end = at + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[at]):
        end += 1
    return lines[:at] + lines[end:]


def _unwrapped(lines: list[str], at: int) -> list[str]:
    """Lines with what stands under one in its place."""
    end = at + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[at]):
        end += 1
    return lines[:at] + [line[4:] for line in lines[at + 1 : end]] + lines[end:]


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that fails too and of which no line can be left out."""
    lines, again = program.lines, True
    while again:
        again = False
        for at in range(len(lines) - 2, 0, -1):
            for smaller in (_without(lines, at), _unwrapped(lines, at)):
                try:
                    compile("\n".join(smaller), "program", "exec")
                except SyntaxError:
                    continue
                if len(smaller) < len(lines) and fails(Program(smaller, program.arguments)):
                    lines, again = smaller, True
                    break
            if again:
                break
    return Program(lines, program.arguments)
