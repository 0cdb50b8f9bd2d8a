"""Generator functions as functions of who goes through them: `yield v` calls the body of that loop with `v`.

A pure rewriting of Python's AST, before anything else sees a function.  What a generator function holds becomes a
function in it, so that it runs where a loop goes through the generator, and not where that is made:

    def rows(x):                 def rows(x):
        for row in x:                def whole(take):
            yield row * 2                for row in x:
                                             yielded(take, row * 2)
                                     def until(take):
                                         for row in x:
                                             if yielded(take, row * 2):
                                                 return
                                     return generated(whole, until)

Loops that go through all items run the first one, and those that may end before the second: it returns where its
consumer asks for no more.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from .break_lowering import GENERATED_PREFIX, NotStaged, acts_behind
from .match_lowering import RuntimeCall
from .nodes import children, walk

__all__ = ["lower_generators"]

#: What the function of a generator's body calls its parameter, and an item of another one that it hands on.
_TAKE, _ITEM = f"{GENERATED_PREFIX}take", f"{GENERATED_PREFIX}item_from"
_WHOLE, _UNTIL = f"{GENERATED_PREFIX}whole", f"{GENERATED_PREFIX}until"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def lower_generators(function: ast.FunctionDef) -> None:
    """Rewrite a function where it is a generator function, and those in it, but for the methods of classes.

    A `yield` whose value is asked stays.
    """
    for node in _functions_in(function):
        if _yields(node.body):
            node.body = _as_functions(node)


def _functions_in(node: ast.AST) -> list[ast.FunctionDef]:
    """The functions at and below a node, the innermost first."""
    inside = [] if isinstance(node, ast.ClassDef) else [f for child in children(node) for f in _functions_in(child)]
    return [*inside, node] if isinstance(node, ast.FunctionDef) else inside


def _yields(body: Sequence[ast.stmt]) -> bool:
    """Whether statements make the function that they are the body of a generator function."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) for statement in body for n in _own(statement))


def _own(node: ast.AST) -> list[ast.AST]:
    """A node and those below it, but for other scopes."""
    if isinstance(node, _SCOPES):
        return []
    return [node, *(n for child in children(node) for n in _own(child))]


def _as_functions(function: ast.FunctionDef) -> list[ast.stmt]:
    """What becomes of the body: the two functions that go through the items, and the generator of them."""
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    parameters = {a.arg for a in every if a is not None}
    made: list[ast.stmt] = []
    for name, body in ((_WHOLE, copy.deepcopy(function.body)), (_UNTIL, function.body)):
        bound = {n.id for s in body for n in _own(s) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        shared = sorted(bound & parameters)
        head: list[ast.stmt] = [ast.Nonlocal(shared)] if shared else []
        take = ast.arguments([], [ast.arg(_TAKE)], None, [], [], None, [])
        made.append(ast.FunctionDef(name, take, head + _Taken(ends=name == _UNTIL).block(body), [], None))
    generated = RuntimeCall.of("generated", ast.Name(_WHOLE, ast.Load()), ast.Name(_UNTIL, ast.Load()))
    made.append(ast.Return(generated))
    for statement in made:
        for node in [statement, *walk(statement)]:
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                ast.copy_location(node, function)
    return made


class _Taken(ast.NodeTransformer):
    """Statements that give what they yield to the consumer; with `ends`, they return where it asks for no more."""

    def __init__(self, ends: bool):
        self.ends = ends

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in body]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Try(self, node: ast.Try) -> ast.Try:
        if _yields([node]):
            text = "a yield in a try is not staged: the loop that goes through the generator would run in it"
            raise NotStaged(node, text, "catch the error where the item is made, before the yield")
        return node

    def visit_With(self, node: ast.With) -> ast.With:
        if _yields([node]) and acts_behind(node):
            text = "a yield in a with is not staged: the loop that goes through the generator would run in it"
            raise NotStaged(node, text, "enter it where the item is made, before the yield")
        node.body = self.block(node.body)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        match node.value:
            case ast.Yield(value=value):
                return self.given(node, value or ast.copy_location(ast.Constant(None), node))
            case ast.YieldFrom(value=items):
                item = ast.copy_location(ast.Name(_ITEM, ast.Load()), node)
                target = ast.copy_location(ast.Name(_ITEM, ast.Store()), node)
                return ast.copy_location(ast.For(target, items, [self.given(node, item)], []), node)
        return node

    def given(self, at: ast.stmt, item: ast.expr) -> ast.stmt:
        taken = ast.copy_location(RuntimeCall.of("yielded", ast.Name(_TAKE, ast.Load()), item), at)
        made = ast.If(taken, [ast.copy_location(ast.Return(None), at)], []) if self.ends else ast.Expr(taken)
        return ast.copy_location(made, at)
