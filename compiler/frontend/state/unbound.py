"""Which reads of a variable may find it without a value: what no path to them surely binds.

The classical forward analysis of definite assignment on Python's statements once `break_lowering` has made them
structured.  A loop may not run, so what it binds is sure only in itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ..staging.rewriting.break_lowering import GENERATED_PREFIX
from ..staging.rewriting.match_lowering import MATCH_PREFIX
from ..staging.rewriting.nodes import children, walk

__all__ = ["may_be_unbound", "note_unbound"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def note_unbound(body: Sequence[ast.stmt], parameters: Iterable[str], variables: set[str]) -> None:
    """Note at each name in a function's body whether it is one of `variables` that may be unbound there.

    Local functions are noted for themselves: their variables are others.
    """
    deleted = {n.id for s in body for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    _Unbound(variables, deleted).block(body, {*parameters})


def may_be_unbound(node: ast.Name) -> bool:
    """Whether a name may hold nothing where it is read."""
    return getattr(node, "may_be_unbound", False)


class _Unbound:
    """Of statements, what is surely bound behind them; None where nothing gets there.

    Of what a statement has `deleted`, nothing is sure, as that may be in an earlier iteration.
    """

    def __init__(self, variables: set[str], deleted: set[str]):
        self.variables, self.deleted = variables, deleted

    def block(self, body: Sequence[ast.stmt], sure: set[str] | None) -> set[str] | None:
        for statement in body:
            if sure is None:
                return None
            sure = self.statement(statement, sure)
        return sure

    def statement(self, node: ast.stmt, sure: set[str]) -> set[str] | None:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                self.read(test, sure)
                return _both(self.block(body, sure), self.block(orelse, sure))
            case ast.For(target=target, iter=iterable, body=body):
                self.read(iterable, sure)
                self.read(target, sure)
                self.block(body, sure | _bound(target))
                return sure
            case ast.While(test=test, body=body):
                self.read(test, sure)
                self.block(body, sure)
                return sure
            case ast.With(items=items, body=body):
                for item in items:
                    self.read(item.context_expr, sure)
                    sure = sure | (_bound(item.optional_vars) if item.optional_vars else set())
                return self.block(body, sure)
            case ast.Try():
                return self.attempted(node, sure)
            case ast.Match(subject=subject, cases=cases):
                self.read(subject, sure)
                behind: set[str] | None = sure
                for case in cases:
                    found = sure | _patterns(case.pattern)
                    if case.guard is not None:
                        self.read(case.guard, found)
                    behind = _both(behind, self.block(case.body, found))
                return behind
            case ast.FunctionDef(name=name, args=arguments) | ast.AsyncFunctionDef(name=name, args=arguments):
                for outer in (*node.decorator_list, *arguments.defaults, *arguments.kw_defaults):
                    if outer is not None:
                        self.read(outer, sure)
                return sure | {name}
            case ast.ClassDef(name=name):
                return sure | {name}
            case ast.Return() | ast.Raise():
                self.read(node, sure)
                return None
            case ast.AugAssign(target=target, value=value):
                self.read(value, sure)
                self.read(target, sure, ast.Store)
                return sure | _bound(target)
            case ast.AnnAssign(target=target, value=None):
                return sure
            case ast.Delete(targets=targets):
                for target in targets:
                    self.read(target, sure, ast.Del)
                return sure
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                return sure | {a.asname or a.name.partition(".")[0] for a in names}
        self.read(node, sure)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        return sure.union(*(_bound(t) for t in targets if t is not None))

    def attempted(self, node: ast.Try, sure: set[str]) -> set[str] | None:
        """A `try`, whose handlers begin anywhere in its body; the name of an error is bound in its handler alone."""
        behind = self.block(node.body, sure)
        if behind is not None:
            behind = self.block(node.orelse, behind)
        for handler in node.handlers:
            if handler.type is not None:
                self.read(handler.type, sure)
            names = set() if handler.name is None else {handler.name}
            found = self.block(handler.body, sure | names)
            behind = _both(behind, None if found is None else found - names)
        final = self.block(node.finalbody, sure)
        return None if behind is None or final is None else behind | final

    def read(self, node: ast.AST, sure: set[str], context: type[ast.expr_context] = ast.Load) -> None:
        """Note at the names in an expression whether they may be unbound; `context` is that of targets to be read."""
        if isinstance(node, ast.Name):
            unsure = node.id in self.variables and (node.id not in sure or node.id in self.deleted)
            unsure = unsure and not node.id.startswith((GENERATED_PREFIX, MATCH_PREFIX))
            node.may_be_unbound = unsure and isinstance(node.ctx, (ast.Load, context))  # type: ignore[attr-defined]
            return
        if isinstance(node, _FUNCTIONS):
            return
        if isinstance(node, ast.Lambda):
            a = node.args
            every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
            for default in (*a.defaults, *a.kw_defaults):
                if default is not None:
                    self.read(default, sure)
            self.read(node.body, sure | {arg.arg for arg in every if arg is not None})
            return
        if isinstance(node, _COMPREHENSIONS):
            first, *rest = node.generators
            self.read(first.iter, sure)
            sure = sure.union(*(_bound(g.target) for g in node.generators))
            item = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in (first.target, *first.ifs, *rest, *item):
                self.read(part, sure)
            return
        for child in children(node):
            self.read(child, sure, context)


def _both(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    return b if a is None else a if b is None else a & b


def _bound(target: ast.expr) -> set[str]:
    return {n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _patterns(pattern: ast.pattern) -> set[str]:
    """The names that a pattern binds where it matches."""
    names = [getattr(w, "name", None) or getattr(w, "rest", None) for w in walk(pattern)]
    return {n for n in names if isinstance(n, str)}
