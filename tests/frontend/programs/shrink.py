"""Making a program small that still does what it is known for: lines, parts of expressions, and calls are left out."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from itertools import islice

from .generate import Program

__all__ = ["shrink", "without"]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end(lines: list[str], at: int) -> int:
    """Where the lines under one end."""
    end = at + 1
    while end < len(lines) and _indent(lines[end]) > _indent(lines[at]):
        end += 1
    return end


def _is_branch(line: str) -> bool:
    return line.lstrip().startswith(("elif", "else"))


def without(lines: list[str], at: int) -> list[str]:
    """Lines without a statement, or one of its branches; a block that it leaves empty passes."""
    end = _end(lines, at)
    while not _is_branch(lines[at]) and end < len(lines) and _indent(lines[end]) == _indent(lines[at]):
        if not _is_branch(lines[end]):
            break
        end = _end(lines, end)
    rest = lines[end:]
    kept = lines[:at]
    opens = at > 0 and lines[at - 1].endswith(":") and _indent(lines[at - 1]) < _indent(lines[at])
    if opens and (not rest or _indent(rest[0]) < _indent(lines[at])):
        kept = [*kept, " " * _indent(lines[at]) + "pass"]
    return kept + rest


def _unwrapped(lines: list[str], at: int) -> list[str]:
    """Lines with what stands under one in its place."""
    end = _end(lines, at)
    return lines[:at] + [line[4:] for line in lines[at + 1 : end]] + lines[end:]


def _fewer_lines(program: Program) -> Iterator[Program]:
    """Without some statements that follow each other, many first; then without the heads of blocks."""
    for size in (8, 4, 2, 1):
        for at in range(1, len(program.lines) - 1):
            lines = program.lines
            for _ in range(size):
                lines = without(lines, at) if at < len(lines) - 1 else []
            if lines and lines != program.lines:
                yield Program(lines, program.calls)
    for at in range(1, len(program.lines) - 1):
        if _end(program.lines, at) > at + 1:
            yield Program(_unwrapped(program.lines, at), program.calls)


def _one_result(program: Program) -> Iterator[Program]:
    """With one of the values that the last line returns."""
    *lines, last = program.lines
    result = ast.parse(last.strip()).body[0] if last.lstrip().startswith("return") else None
    if isinstance(result, ast.Return) and isinstance(result.value, ast.Tuple):
        for value in result.value.elts:
            yield Program([*lines, f"    return {ast.unparse(value)}"], program.calls)


def _fewer_calls(program: Program) -> Iterator[Program]:
    if len(program.calls) > 1:
        for call in program.calls:
            yield Program(program.lines, [call])


def _smaller_expressions(program: Program) -> Iterator[Program]:
    """Each expression of the function replaced by one inside it; a tuple with an element less."""
    tree = ast.parse(program.text)
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.expr):
                    continue
                inner = [n for n in ast.iter_child_nodes(child) if isinstance(n, ast.expr)]
                shorter = [None] if isinstance(node, ast.Tuple) and len(node.elts) > 1 else []
                for new in [*inner, *shorter]:
                    made = copy.deepcopy(tree)
                    target = next(n for i, n in enumerate(ast.walk(made)) if i == number)
                    if at is None:
                        setattr(target, field, new)
                    elif new is None:
                        del getattr(target, field)[at]
                    else:
                        getattr(target, field)[at] = new
                    try:
                        text = ast.unparse(ast.fix_missing_locations(made))
                    except Exception:
                        continue
                    lines = [line for line in text.split("\n") if line]
                    if len("".join(lines)) < len(program.text):
                        yield Program(lines, program.calls)


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program that fails too and of which nothing can be left out."""
    before = None
    while before != program.lines:
        before = program.lines
        for step in (_fewer_calls, _one_result, _fewer_lines, _smaller_expressions):
            program = _shrunk(program, step, fails)
    return program


def _shrunk(
    program: Program, step: Callable[[Program], Iterator[Program]], fails: Callable[[Program], bool]
) -> Program:
    """A program after each try of a step that fails too: the tries behind it go on from there."""
    at = 0
    while True:
        smaller = next(islice(step(program), at, None), None)
        if smaller is None:
            return program
        if _compiles(smaller) and fails(smaller):
            program = smaller
        else:
            at += 1


def _compiles(program: Program) -> bool:
    try:
        compile(program.text, "program", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
