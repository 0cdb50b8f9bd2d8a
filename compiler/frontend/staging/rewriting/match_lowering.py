"""``match`` as a chain of ``if``: what its patterns ask becomes conditions, which compiled code may decide.

A pure rewriting of Python's AST, before jumps are made structured.  The subject is evaluated once.  What a pattern
captures is bound where all of it matched, or before the guard that may read it, as in Python.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from .nodes import children, walk

__all__ = ["MATCH_PREFIX", "RuntimeCall", "without_matches"]

#: What the names of variables made here start with.
MATCH_PREFIX = "__match_"

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class RuntimeCall(ast.Call):
    """A call of a method of `StagedRuntime` (`PatternTests`), whose arguments alone are the user's."""

    @staticmethod
    def of(method: str, *arguments: ast.expr) -> RuntimeCall:
        return RuntimeCall(ast.Name(method, ast.Load()), list(arguments), [])

    @property
    def method(self) -> str:
        assert isinstance(self.func, ast.Name)
        return self.func.id


def without_matches(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements with chains of ``if`` for each ``match`` in them, but for those of local functions."""
    return _Lowering().block(body)


class _Lowering:
    def __init__(self) -> None:
        self.count = 0

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for node in body:
            if not isinstance(node, _FUNCTIONS):
                for name in ("body", "orelse", "finalbody"):
                    if inner := getattr(node, name, None):
                        setattr(node, name, self.block(inner))
                for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    part.body = self.block(part.body)
            done += self.chain(node) if isinstance(node, ast.Match) else [node]
        return done

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{MATCH_PREFIX}{kind}_{self.count}"

    def chain(self, node: ast.Match) -> list[ast.stmt]:
        captured = {name for case in node.cases for w in _all(case.pattern) for name in _captures(w)}
        before: list[ast.stmt] = []
        if isinstance(node.subject, ast.Name) and node.subject.id not in captured:
            name = node.subject.id
        else:
            name = self.fresh("subject")
            before.append(_assigned(name, node.subject))
        made: list[ast.stmt] = []
        for case in reversed(node.cases):
            pattern = _Pattern(self.fresh)
            pattern.add(case.pattern, lambda: ast.Name(name, ast.Load()))
            body, tests = case.body, pattern.tests
            if case.guard is None:
                body = [*(_assigned(n, value) for n, value in pattern.captured), *body]
            else:
                tests = [*tests, *(_bound(n, value) for n, value in pattern.captured), case.guard]
            if not tests:
                made = body
                continue
            test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
            made = [ast.copy_location(ast.If(ast.copy_location(test, case.pattern), body, made), node)]
        found = [*before, *(made or [ast.Pass()])]
        return [_located(ast.copy_location(s, node) if not hasattr(s, "lineno") else s, node) for s in found]


class _Pattern:
    """What a pattern asks, in order, and what it captures."""

    def __init__(self, fresh: Callable[[str], str]):
        self.fresh = fresh
        self.tests: list[ast.expr] = []
        self.captured: list[tuple[str, ast.expr]] = []

    def add(self, pattern: ast.pattern, subject: Callable[[], ast.expr]) -> None:
        match pattern:
            case ast.MatchValue(value=value):
                self.tests.append(ast.Compare(subject(), [ast.Eq()], [value]))
            case ast.MatchSingleton(value=value):
                self.tests.append(ast.Compare(subject(), [ast.Is()], [ast.Constant(value)]))
            case ast.MatchAs(pattern=inner, name=name):
                if inner is not None:
                    self.add(inner, subject)
                if name is not None:
                    self.captured.append((name, subject()))
            case ast.MatchOr(patterns=patterns):
                self.tests.append(ast.BoolOp(ast.Or(), [self.alternative(p, subject) for p in patterns]))
            case ast.MatchSequence(patterns=patterns):
                self.sequence(patterns, subject)
            case ast.MatchMapping(keys=keys, patterns=patterns, rest=rest):
                parts = self.parts("mapping_parts", subject(), ast.Tuple(keys, ast.Load()))
                for i, inner in enumerate(patterns):
                    self.add(inner, _item(parts, i))
                if rest is not None:
                    self.captured.append((rest, _item(parts, len(patterns))()))
            case ast.MatchClass(cls=cls, patterns=patterns, kwd_attrs=names, kwd_patterns=named):
                self.tests.append(RuntimeCall.of("is_instance", subject(), cls))
                texts = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
                if patterns or names:
                    number = ast.Constant(len(patterns))
                    parts = self.parts("class_parts", subject(), copy.deepcopy(cls), number, texts)
                    for i, inner in enumerate([*patterns, *named]):
                        self.add(inner, _item(parts, i))

    def parts(self, method: str, *arguments: ast.expr) -> str:
        """A variable that holds the parts of what has some: that it does is a test."""
        name = self.fresh("parts")
        found = ast.NamedExpr(ast.Name(name, ast.Store()), RuntimeCall.of(method, *arguments))
        self.tests.append(ast.Compare(found, [ast.IsNot()], [ast.Constant(None)]))
        return name

    def sequence(self, patterns: Sequence[ast.pattern], subject: Callable[[], ast.expr]) -> None:
        star = next((i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
        parts = self.parts("sequence_parts", subject(), ast.Constant(len(patterns)), ast.Constant(star))
        for i, inner in enumerate(patterns):
            if not isinstance(inner, ast.MatchStar):
                self.add(inner, _item(parts, i))
            elif inner.name is not None:
                self.captured.append((inner.name, _item(parts, i)()))

    def alternative(self, pattern: ast.pattern, subject: Callable[[], ast.expr]) -> ast.expr:
        """One of several patterns, which binds what it captures where it matches."""
        inner = _Pattern(self.fresh)
        inner.add(pattern, subject)
        tests = [*inner.tests, *(_bound(name, value) for name, value in inner.captured)]
        return ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0] if tests else ast.Constant(True)


def _all(pattern: ast.AST) -> list[ast.AST]:
    return [*walk(pattern)]


def _captures(node: ast.AST) -> list[str]:
    names = [getattr(node, "name", None), getattr(node, "rest", None)]
    return [name for name in names if isinstance(name, str)]


def _item(parts: str, i: int) -> Callable[[], ast.expr]:
    return lambda: ast.Subscript(ast.Name(parts, ast.Load()), ast.Constant(i), ast.Load())


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _bound(name: str, value: ast.expr) -> ast.expr:
    """A condition that is true, and binds a variable."""
    return ast.Tuple([ast.NamedExpr(ast.Name(name, ast.Store()), value)], ast.Load())


def _located(node: ast.stmt, at: ast.stmt) -> ast.stmt:
    """Give what was made here the place of the ``match``, or of the part of it that it stands in."""

    def visit(part: ast.AST, place: ast.AST) -> None:
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
        for child in children(part):
            visit(child, part if hasattr(part, "lineno") else place)

    visit(node, at)
    return node
