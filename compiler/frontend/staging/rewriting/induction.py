"""Loops that count: a `while` whose condition compares what its last statement moves on."""

from __future__ import annotations

import ast
import copy
from typing import NamedTuple

from .nodes import walk

__all__ = ["Counting", "counting", "counting_of"]


class Counting(NamedTuple):
    """A `while` that counts: ``while name relation bound: …; name += step``, where bound and step never change."""

    name: str
    relation: str
    bound: ast.expr
    step: ast.expr


_RELATIONS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def counting(node: ast.While) -> Counting | None:
    """What a `while` counts; None where it is of another form."""
    *before, last = node.body
    match last:
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=step):
            pass
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), op=op, right=step)):
            if left != name:
                return None
        case _:
            return None
    if not isinstance(op, (ast.Add, ast.Sub)):
        return None
    match node.test:
        case ast.Compare(left=ast.Name(id=tested), ops=[relation], comparators=[bound]) if tested == name:
            found = _RELATIONS.get(type(relation))
        case ast.Compare(left=bound, ops=[relation], comparators=[ast.Name(id=tested)]) if tested == name:
            found = _TURNED.get(_RELATIONS.get(type(relation), ""))
        case _:
            return None
    rebound = {w.id for s in before for w in walk(s) if isinstance(w, ast.Name) and isinstance(w.ctx, ast.Store)}
    if found is None or name in rebound or not all(_constant_over(e, rebound | {name}) for e in (bound, step)):
        return None
    bound, step = copy.deepcopy((bound, step))
    return Counting(
        name, found, bound, ast.copy_location(ast.UnaryOp(ast.USub(), step), step) if isinstance(op, ast.Sub) else step
    )


def _constant_over(expression: ast.expr, rebound: set[str]) -> bool:
    """Whether an expression of numbers, names and sizes keeps its value while only the names `rebound` change."""
    match expression:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name not in rebound
        case ast.BinOp(left=left, right=right):
            return _constant_over(left, rebound) and _constant_over(right, rebound)
        case ast.UnaryOp(operand=operand):
            return _constant_over(operand, rebound)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=index):
            return name not in rebound and _constant_over(index, rebound)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
            return name not in rebound
    return False


def counting_of(node: ast.While) -> Counting | None:
    """What a `while` counted before its jumps were rewritten (`break_lowering`)."""
    return getattr(node, "counts", None)
