"""Jumps made structured: `break`, `continue` and early `return` become flags and nested branches, as AutoGraph does.

A pure rewriting of Python's AST, for the functions that are staged and for `.tx` files alike.  Afterwards

* `return` stands only at ends: last in the function, or last in both branches of an `if` that is last;
* no loop holds a `break`, `continue` or `return`.  A loop that one left has the name of a flag as its attribute `stop`:
  it ends after an iteration that sets it.  A loop's `else` is an `if not` of that flag behind it.

What follows an `if` one branch of which always jumps moves into the other; only where a branch may jump or not does a
flag guard what follows.  Variables made here start with `GENERATED_PREFIX`; each is read only where a flag says that
it was set.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import NamedTuple

from .induction import counting
from .nodes import children, walk

__all__ = ["GENERATED_PREFIX", "NotStaged", "acts_behind", "rebuild_result", "stop_of"]

#: What the names of variables made here start with.
GENERATED_PREFIX = "__txc_"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
#: Statements behind whose body something is done, however that is left.
_AROUND = (ast.With, ast.AsyncWith, ast.Try)
_NEGATED = ast.Not()


class NotStaged(Exception):
    """A construct that cannot be rewritten, and what to write instead."""

    def __init__(self, node: ast.AST, message: str, hint: str):
        super().__init__(message)
        self.node, self.message, self.hint = node, message, hint


def rebuild_result(function: ast.FunctionDef) -> list[ast.stmt]:
    """The function's body without jumps.  NotStaged where one leaves a `finally` or a `match`."""
    returns = _count_results(function.body)
    body = list(function.body)
    if any(_leaves(s) for s in body) and not _always(body):
        body.append(ast.copy_location(ast.Return(ast.Constant(None)), body[-1]))
    return _Rewriter(function, returns).block(body, _Place())


def stop_of(loop: ast.For | ast.While) -> str | None:
    """The flag that ends a loop, None where it only runs out."""
    return getattr(loop, "stop", None)


def _count_results(body: Sequence[ast.stmt]) -> int | None:
    """The number of values that every `return` lists, 0 for nothing; None where they differ, or are not listed."""
    found = {_listed(r) for s in body for r in _returns_in(s)}
    return found.pop() if len(found) == 1 else None


def _listed(node: ast.Return) -> int | None:
    if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
        return 0
    return len(node.value.elts) if isinstance(node.value, ast.Tuple) else None


def _returns_in(node: ast.AST) -> list[ast.Return]:
    if isinstance(node, ast.Return):
        return [node]
    if isinstance(node, (*_SCOPES, ast.expr)):
        return []
    return [r for child in children(node) for r in _returns_in(child)]


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements inside one."""
    found = [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]
    parts = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    return found + [part.body for part in parts]


def _leaves(node: ast.stmt, in_loop: bool = False) -> bool:
    """Whether a `return` may leave the statement, or a `break` or `continue` of a loop around it."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return not in_loop
    if isinstance(node, _SCOPES):
        return False
    if isinstance(node, _LOOPS):
        return any(_leaves(s, True) for s in node.body) or any(_leaves(s, in_loop) for s in node.orelse)
    return any(_leaves(s, in_loop) for block in _blocks(node) for s in block)


def _breaks(node: ast.stmt, kind: type[ast.stmt] = ast.Break) -> bool:
    """Whether the statement, in a loop's body, holds a jump of that kind that means this loop."""
    if isinstance(node, kind):
        return True
    if isinstance(node, _SCOPES):
        return False
    blocks = [node.orelse] if isinstance(node, _LOOPS) else _blocks(node)
    return any(_breaks(s, kind) for block in blocks for s in block)


def _endless(node: ast.stmt) -> bool:
    """A ``while True`` that only a return leaves."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
        and not any(_breaks(s) for s in node.body)
    )


def _always(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind the statements runs: every way through them ends in a jump or an error."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise)) or _endless(last):
        return True
    if isinstance(last, ast.If):
        return _always(last.body) and _always(last.orelse)
    if isinstance(last, ast.Try):
        whole = _always(last.body) or _always(last.orelse)
        return _always(last.finalbody) or (whole and all(_always(h.body) for h in last.handlers))
    return isinstance(last, _AROUND) and _always(last.body)


def _unchanged(body: Sequence[ast.stmt], results: int | None) -> dict[int, ast.expr]:
    """The parts, by number, that all returns in loops, `with` and `try` read of one variable, which none of these
    binds, or that are one constant.

    Nothing runs between such a `return` and the end of the function: they can be read there.  What is done behind a
    `with` or `try` may change variables.
    """
    around = [s for s in _all(body) if isinstance(s, (*_LOOPS, *_AROUND)) and _returns_in(s)]
    returns = {id(r): r for s in around for r in _returns_in(s)}
    bound = {n.id for s in around for n in walk(s) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    acts = any(map(acts_behind, around))
    found: dict[int, ast.expr] = {}
    for i in range(1 if results is None else results):
        parts = [r.value.elts[i] if isinstance(r.value, ast.Tuple) and results is not None else r.value
                 for r in returns.values()]  # fmt: skip
        same = len({ast.dump(part) if part is not None else "" for part in parts}) == 1
        if not same or parts[0] is None:
            continue
        if isinstance(parts[0], ast.Constant) or (not acts and _variable(parts[0]) not in {None, *bound}):
            found[i] = parts[0]
    return found


def acts_behind(node: ast.stmt) -> bool:
    """Whether something of the program's may run behind a jump out of a statement."""
    if isinstance(node, ast.Try):
        return bool(node.finalbody)
    if not isinstance(node, (ast.With, ast.AsyncWith)):
        return False
    return not all("errstate" in ast.dump(item.context_expr) for item in node.items)


def _all(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements and those in them, but for other scopes."""
    inside = [s for node in body if not isinstance(node, _SCOPES) for block in _blocks(node) for s in _all(block)]
    return [*body, *inside]


def _variable(node: ast.expr) -> str | None:
    """The variable of which a name, or an attribute of an attribute, is read."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class _Place(NamedTuple):
    """Where a block stands: the flag of the loop around it, and the flags of what its jumps skip on the way there."""

    stop: str | None = None
    skips: tuple[str, ...] = ()
    #: Whether a `return` sets flags: in loops, and in the body of a `with` or `try`.
    flagged: bool = False


class _Rewriter:
    def __init__(self, function: ast.FunctionDef, results: int | None):
        self.function, self.results, self.count = function, results, 0
        #: By number: the parts of what is returned that nothing has to keep.
        self.unchanged = _unchanged(function.body, results)

    # Pieces of AST

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{GENERATED_PREFIX}{kind}_{self.count}"

    def set(self, at: ast.stmt, name: str, value: ast.expr | bool) -> ast.stmt:
        given = ast.Constant(value) if isinstance(value, bool) else value
        made = ast.Assign([ast.Name(name, ast.Store())], given)
        return ast.fix_missing_locations(ast.copy_location(made, at))

    def if_(self, at: ast.stmt, flag: str, then: list[ast.stmt], negated: bool = False) -> ast.If:
        test: ast.expr = ast.Name(flag, ast.Load())
        if negated:
            test = ast.UnaryOp(_NEGATED, test)
        made = ast.If(test, then, [])
        return ast.fix_missing_locations(ast.copy_location(made, at))

    # Statements

    def block(self, body: Sequence[ast.stmt], place: _Place) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for i, node in enumerate(body):
            rest = list(body[i + 1 :])
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return done + self.jump(node, place)
            if isinstance(node, _LOOPS):
                return done + self.loop(node, rest, place)
            if not _leaves(node):
                self.inside(node)
                done.append(node)
                continue
            if isinstance(node, ast.If):
                return done + self.branch(node, rest, place)
            if isinstance(node, _AROUND):
                return done + self.around(node, rest, place)
            kind = type(node).__name__.lower().removesuffix("star")
            raise NotStaged(node, f"a jump out of {kind} is not staged", "move break, continue and return out of it")
        return done

    def inside(self, node: ast.stmt) -> None:
        """Rewrite the blocks of a statement that no jump leaves: loops in them have jumps of their own."""
        if isinstance(node, _SCOPES):
            return
        for block in _blocks(node):
            block[:] = self.block(block, _Place())

    def jump(self, node: ast.Return | ast.Break | ast.Continue, place: _Place) -> list[ast.stmt]:
        if isinstance(node, ast.Return) and not place.flagged:
            return [node]
        done: list[ast.stmt] = []
        if isinstance(node, ast.Return) and not getattr(node, "forwarded", False):
            done += self.keep(node)
        if not isinstance(node, ast.Continue) and place.stop is not None:
            done.append(self.set(node, place.stop, True))
        return done + [self.set(node, name, True) for name in place.skips]

    def keep(self, node: ast.Return) -> list[ast.stmt]:
        """Keep what is returned, and that something is."""
        value = node.value or ast.copy_location(ast.Constant(None), node)
        if self.results is None:
            parts = [value]
        else:
            parts = value.elts if isinstance(value, ast.Tuple) else []
        sets = [
            self.set(node, f"{GENERATED_PREFIX}value_{i}", part)
            for i, part in enumerate(parts)
            if i not in self.unchanged
        ]
        return [*sets, self.set(node, f"{GENERATED_PREFIX}returned", True)]

    def kept(self, at: ast.stmt) -> ast.Return:
        """``return`` of what was kept."""
        count = 1 if self.results is None else self.results
        names = [
            copy.deepcopy(self.unchanged.get(i)) or ast.Name(f"{GENERATED_PREFIX}value_{i}", ast.Load())
            for i in range(count)
        ]
        several = ast.Tuple(list(names), ast.Load()) if names else ast.Constant(None)
        value = names[0] if self.results is None else several
        return ast.fix_missing_locations(ast.copy_location(ast.Return(value), at))

    def branch(self, node: ast.If, rest: list[ast.stmt], place: _Place) -> list[ast.stmt]:
        if _always(node.body) or _always(node.orelse):
            bodies = [list(b) if _always(b) else [*b, *rest] for b in (node.body, node.orelse)]
        elif not place.flagged:
            # Either way may return or go on to what follows, which so becomes the end of both.
            bodies = [[*node.body, *copy.deepcopy(rest)], [*node.orelse, *rest]]
        else:
            skip = self.fresh("skip")
            inner = place._replace(skips=(*place.skips, skip))
            node.body, node.orelse = self.some(node, node.body, inner), self.block(node.orelse, inner)
            guarded = [self.if_(rest[0], skip, self.block(rest, place), negated=True)] if rest else []
            return [self.set(node, skip, False), node, *guarded]
        node.body, node.orelse = self.some(node, bodies[0], place), self.block(bodies[1], place)
        return [node]

    def some(self, at: ast.stmt, body: Sequence[ast.stmt], place: _Place) -> list[ast.stmt]:
        return self.block(body, place) or [ast.copy_location(ast.Pass(), at)]

    def around(self, node: ast.With | ast.AsyncWith | ast.Try, rest: list[ast.stmt], place: _Place) -> list[ast.stmt]:
        """A `with` or `try` that a jump leaves: what follows it depends on flags, which its blocks set."""
        always = _always([node])
        if place.flagged:
            flag = self.fresh("skip")
            self.blocks_of(node, place._replace(skips=(*place.skips, flag)), flag)
            guarded = [self.if_(rest[0], flag, self.block(rest, place), negated=True)] if rest and not always else []
            return [self.set(node, flag, False), node, *guarded]
        flag = f"{GENERATED_PREFIX}returned"
        self.blocks_of(node, place._replace(flagged=True), flag)
        last: list[ast.stmt] = [self.kept(node)] if always else [self.if_(node, flag, [self.kept(node)]), *rest]
        return [self.set(node, flag, False), node, *self.block(last, place)]

    def blocks_of(self, node: ast.With | ast.AsyncWith | ast.Try, place: _Place, flag: str) -> None:
        """Rewrite what stands in such a statement, whose jumps set a flag."""
        leaves = any(_leaves(s) for s in node.body)
        node.body = self.some(node, node.body, place)
        if not isinstance(node, ast.Try):
            return
        for handler in node.handlers:
            handler.body = self.some(handler.body[0], handler.body, place)
        if node.orelse:
            node.orelse = self.some(node, node.orelse, place)
            if leaves:
                node.orelse = [self.if_(node.orelse[0], flag, node.orelse, negated=True)]
        if any(_leaves(s) for s in node.finalbody):
            text = "a jump out of finally is not staged: it would drop an error"
            raise NotStaged(node.finalbody[0], text, "move break, continue and return behind the try")
        node.finalbody = self.block(node.finalbody, _Place())

    def loop(self, node: ast.For | ast.While, rest: list[ast.stmt], place: _Place) -> list[ast.stmt]:
        returns = any(_returns_in(s) for s in node.body)
        breaks = any(_breaks(s) for s in node.body)
        continues = any(_breaks(s, ast.Continue) for s in node.body)
        forever = _endless(node)
        if isinstance(node, ast.While):
            node.counts = None if continues else counting(node)  # type: ignore[attr-defined]
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        stop = None
        if returns or breaks:
            stop = node.stop = self.fresh("stop")  # type: ignore[union-attr]
            before.append(self.set(node, stop, False))
            if isinstance(node, ast.While):
                going = ast.UnaryOp(_NEGATED, ast.Name(stop, ast.Load()))
                node.test = ast.fix_missing_locations(
                    ast.copy_location(ast.BoolOp(ast.And(), [going, node.test]), node.test)
                )
            if returns and not place.flagged:
                before.append(self.set(node, f"{GENERATED_PREFIX}returned", False))
        counts = node.counts if isinstance(node, ast.While) else None  # type: ignore[attr-defined]
        if stop is not None and counts is not None and self.read_later(counts.name, node):
            # Where a loop was left says its counter, which no closed form gives.
            last = self.fresh("last")
            node.body.insert(0, self.set(node, last, ast.Name(counts.name, ast.Load())))
            after.append(self.if_(node, stop, [self.set(node, counts.name, ast.Name(last, ast.Load()))]))
        node.body = self.some(node, node.body, _Place(stop, flagged=True))
        if returns:
            leave = self.kept(node)
            leave.forwarded = True  # type: ignore[attr-defined]
            after.append(leave if forever else self.if_(node, f"{GENERATED_PREFIX}returned", [leave]))
        if node.orelse and not forever:
            after += [self.if_(node.orelse[0], stop, node.orelse, negated=True)] if stop is not None else node.orelse
        node.orelse = []
        return [*before, node, *self.block([*after, *([] if forever else rest)], place)]

    def read_later(self, name: str, loop: ast.For | ast.While) -> bool:
        """Whether a variable may be read outside a loop: nearly, since other loops that bind it are left out."""
        skipped = {id(loop)}

        def reads(node: ast.AST) -> bool:
            if id(node) in skipped:
                return False
            if isinstance(node, ast.Name):
                return node.id == name and isinstance(node.ctx, ast.Load)
            if isinstance(node, ast.For) and any(isinstance(t, ast.Name) and t.id == name for t in walk(node.target)):
                return reads(node.iter) or any(map(reads, node.orelse))
            return any(map(reads, children(node)))

        return any(map(reads, self.function.body))
