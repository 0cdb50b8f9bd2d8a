"""Which variables are read after a loop, and which a loop hands from one iteration to the next.

The classical backward analysis on Python's statements once `break_lowering` has made them structured: no `break`,
`continue` or early `return` is left, so a block's statements follow each other, and only branches and loops divide and
repeat.  What local functions and lambdas read may be asked at any time: it is live everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ..staging.rewriting.nodes import children, walk

__all__ = ["annotate", "live_after", "live_at_head", "live_in_body"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def annotate(body: Sequence[ast.stmt], always: set[str]) -> None:
    """Note what is live at the head of each loop and behind each `if` and loop; others may read the names `always`."""
    inner = {n for s in body for function in _functions(s) for n in _read_of_others(function)}
    _Liveness(always | inner).block(body, set())


def live_at_head(loop: ast.For | ast.While) -> set[str]:
    """The names whose values at the begin of an iteration may be read in it."""
    return loop.live_at_head  # type: ignore[union-attr]


def live_in_body(loop: ast.While) -> set[str]:
    """The names whose values behind the condition may be read, by the body or later."""
    return loop.live_in_body  # type: ignore[attr-defined]


def live_after(node: ast.If | ast.For | ast.While) -> set[str]:
    """The names whose values behind the `if` or loop may be read."""
    return node.live_after  # type: ignore[union-attr]


def _names(node: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    return (n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context))


def _functions(node: ast.AST) -> Iterator[_Function]:
    """The functions at or below a node that stand in no other."""
    if isinstance(node, _Function):
        yield node
    else:
        for child in children(node):
            yield from _functions(child)


def _read_of_others(function: _Function) -> set[str]:
    """The names that a function reads which are no variables of its own."""
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    own, declared, read = {a.arg for a in every if a is not None}, set[str](), set[str]()
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                read |= _read_of_others(node)
                own |= {node.name} if not isinstance(node, ast.Lambda) else set()
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.ClassDef():
                read |= {*_names(node, ast.Load)}  # what it binds is its own
                continue
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                declared |= {*names}
            case ast.Name(id=name, ctx=context):
                (read if isinstance(context, ast.Load) else own).add(name)
        waiting += children(node)
    before = [d for d in (*args.defaults, *args.kw_defaults, *getattr(function, "decorator_list", ())) if d is not None]
    return (read - (own - declared)) | {n for node in before for n in _names(node, ast.Load)}


class _Liveness:
    def __init__(self, always: set[str]):
        self.always = always

    def block(self, body: Sequence[ast.stmt], live: set[str]) -> set[str]:
        """What is live in front of statements, of what is behind them."""
        for statement in reversed(body):
            live = self.statement(statement, live)
        return live

    def statement(self, node: ast.stmt, live: set[str]) -> set[str]:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                node.live_after = live | self.always  # type: ignore[attr-defined]
                return self.read(test, self.block(body, live) | self.block(orelse, live))
            case ast.For() | ast.While():
                return self.loop(node, live)
            case ast.With(items=items, body=body):
                live = self.block(body, live)
                for item in reversed(items):
                    live = self.written([item.optional_vars] if item.optional_vars else [], live)
                    live = self.read(item.context_expr, live)
                return live
            case ast.Try():
                return self.attempted(node, live)
            case ast.Match(subject=subject, cases=cases):
                return self.read(subject, live.union(*(self.block(c.body, live) for c in cases)))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                return self.read(node, live - {name})
            case ast.Return(value=value):
                return set() if value is None else self.read(value, set())
            case ast.Assign(targets=targets, value=value):
                return self.read(value, self.written(targets, live))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self.read(value, self.written([target], live))
        # What an augmented assignment or a deletion names it reads as well.
        return self.read(node, live) | set(_names(node, ast.Store)) | set(_names(node, ast.Del))

    def attempted(self, node: ast.Try, live: set[str]) -> set[str]:
        """A `try`, each statement of whose body may lead to a handler."""
        behind = self.block(node.finalbody, live)
        caught = behind.union(*(self.read(h, self.block(h.body, behind)) for h in node.handlers))
        outer, self.always = self.always, self.always | caught
        before = self.block(node.body, self.block(node.orelse, behind))
        self.always = outer
        return before | caught

    def loop(self, node: ast.For | ast.While, live: set[str]) -> set[str]:
        node.live_after = live | self.always  # type: ignore[union-attr]
        head = live
        while True:
            before = self.block(node.body, head)
            if isinstance(node, ast.For):
                before = self.written([node.target], before)
            else:
                node.live_in_body = before | self.always  # type: ignore[attr-defined]
                before = self.read(node.test, before)
            if before <= head:
                break
            head = head | before
        node.live_at_head = before | self.always  # type: ignore[union-attr]
        return self.read(node.iter, head) if isinstance(node, ast.For) else self.read(node.test, head)

    def written(self, targets: Sequence[ast.expr], live: set[str]) -> set[str]:
        for target in targets:
            live = live - set(_names(target, ast.Store)) | set(_names(target, ast.Load))
        return live

    def read(self, node: ast.AST, live: set[str]) -> set[str]:
        return live | set(_names(node, ast.Load))
