"""The rewriting half of staging: an ordinary Python function becomes one whose control flow calls the front end.

Each construct turns into a call of the runtime object (`staging.Runtime`, bound to the name ``__txc``), with its parts
as small functions, so that the decision between plain Python and a structured op falls when the values are known:

    for i in it: body        ->  a, b = __txc.for_(it, lambda i, a, b: …, stop, names, state)
    while c: body            ->  a, b = __txc.while_(lambda a, b: c, lambda a, b: …, names, state)
    while i < n: …; i += k   ->  a, i = __txc.count_(…, "i", "<", lambda: n, lambda: k, names, state)
    if c: x else: y          ->  a, b = __txc.if_(c, lambda a, b: …, lambda a, b: …, names, state)
    p if c else q, and, or   ->  __txc.if_exp(c, lambda: p, lambda: q), __txc.and_(lambda: p, lambda: q), …
    f(x)                     ->  __txc.fn(f)(x)       (creation calls and the user's functions are replaced)
    W (global or closure)    ->  __txc.captured("W", W)

`jumps` has made `break`, `continue` and early `return` structured before.  Line numbers stay the user's.  Nothing here
knows tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .counting import counting_of
from .jumps import NotStaged, stop_of, structured

__all__ = ["RUNTIME", "assigned_names", "raises", "returns", "rewrite"]

RUNTIME = "__txc"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned_names(body: Sequence[ast.stmt]) -> list[str]:
    """The local names that the statements bind or store into, in order; inner functions are not entered."""
    found: dict[str, None] = {}

    def root(node: ast.expr) -> None:
        while isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            node = node.value
        if isinstance(node, (ast.Tuple, ast.List)):
            for e in node.elts:
                root(e)
        elif isinstance(node, ast.Name):
            found[node.id] = None

    def visit(node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found[name] = None
                return
            case ast.Lambda():
                return
            case ast.Assign(targets=targets):
                for t in targets:
                    root(t)
            case ast.AugAssign(target=t) | ast.AnnAssign(target=t) | ast.For(target=t) | ast.NamedExpr(target=t):
                root(t)
            case ast.withitem(optional_vars=ast.expr() as t):
                root(t)
            case ast.ExceptHandler(name=str(name)):
                found[name] = None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _MUTATORS:
                found[name] = None
        if isinstance(node, _COMPREHENSIONS):
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    for statement in body:
        visit(statement)
    return list(found)


#: Methods that write into their object, so that it is carried through a staged loop.
_MUTATORS = {
    "fill", "set_constant", "set_zero", "set_values", "sort", "append", "extend", "insert", "pop", "remove", "clear",
    "update", "setdefault", "add", "discard",
}  # fmt: skip


def raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a `raise` stands among the statements: whether it runs has to be known while staging."""
    blocks = [b for s in body for b in (getattr(s, "body", ()), getattr(s, "orelse", ())) if not isinstance(s, _SCOPES)]
    return any(isinstance(s, ast.Raise) for s in body) or any(map(raises, blocks))


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements, structured before, end in a `return`."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def rewrite(function: ast.FunctionDef, free: set[str]) -> ast.FunctionDef:
    """The staged form of a function definition; `free` are names that mean globals or closure variables.

    NotStaged where it holds a construct that has no staged form.
    """
    return _Stager(function, free).function(function)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _tuple(names: Sequence[str], store: bool = False) -> ast.expr:
    if store:
        return ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
    return ast.Tuple([_load(n) for n in names], ast.Load())


class _Stager(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef, free: set[str]):
        self.free = free
        self.count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = []
        node.returns = None
        for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            arg.annotation = None
        node.body = self.block(structured(node))
        return ast.fix_missing_locations(node)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in body:
            result = self.visit(statement)
            done += result if isinstance(result, list) else [result]
        return done or [ast.Pass()]

    # Statements

    def call(self, method: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """A call of the runtime, which errors show: of a statement with a body its head, as it is one expression."""
        at = getattr(at, "iter", getattr(at, "test", at)) if isinstance(at, ast.stmt) else at
        return ast.copy_location(ast.Call(ast.Attribute(_load(RUNTIME), method, ast.Load()), list(args), []), at)

    def part(
        self,
        kind: str,
        at: ast.stmt,
        names: list[str],
        body: list[ast.stmt],
        extra: Sequence[str] = (),
        result: Any = None,
    ) -> tuple[str, ast.stmt]:
        """``def kind(extra…, names…): body; return names`` (or `result`)."""
        self.count += 1
        name = f"__txc_{kind}_{self.count}"
        args = ast.arguments([], [ast.arg(a) for a in (*extra, *names)], None, [], [], None, [])
        ending = [] if result is False else [ast.Return(_tuple(names) if result is None else result)]
        made = ast.FunctionDef(name, args, body + ending or [ast.Pass()], [], None)
        return name, ast.copy_location(made, at)

    def state(self, at: ast.stmt, names: list[str]) -> list[ast.expr]:
        """The names as text and their values now, `UNDEFINED` where they have none."""
        now = [self.call("read", at, _lambda(_load(n)), ast.Constant(n)) for n in names]
        return [ast.Tuple([ast.Constant(n) for n in names], ast.Load()), ast.Tuple(list(now), ast.Load())]

    def assign(self, at: ast.stmt, names: list[str], value: ast.expr) -> ast.stmt:
        made: ast.stmt = ast.Assign([_tuple(names, store=True)], value) if names else ast.Expr(value)
        return ast.copy_location(made, at)

    def assigned(self, body: Sequence[ast.stmt]) -> list[str]:
        """`assigned_names` that are the function's own: ``np.sort(x)`` changes no `np`."""
        return [n for n in assigned_names(body) if n not in self.free]

    def visit_For(self, node: ast.For) -> Any:
        iterable = self.visit(node.iter)
        targets = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
        names = self.assigned(node.body)
        names += [t for t in targets if t not in names]
        item = "__txc_item"
        bind = ast.copy_location(ast.Assign([node.target], _load(item)), node)
        name, made = self.part("for", node, names, [bind, *self.block(node.body)], [item])
        targets_text = ast.Tuple([ast.Constant(t) for t in targets], ast.Load())
        stop = ast.Constant(stop_of(node))
        value = self.call("for_", node, iterable, _load(name), targets_text, stop, *self.state(node, names))
        return [made, self.assign(node, names, value)]

    def visit_While(self, node: ast.While) -> Any:
        names, counts = self.assigned(node.body), counting_of(node)
        test_name, test = self.part("test", node, names, [], result=self.visit(node.test))
        body_name, body = self.part("while", node, names, self.block(node.body))
        parts: list[ast.expr] = [_load(test_name), _load(body_name)]
        if counts is not None:
            ends = (_lambda(self.visit(counts.bound)), _lambda(self.visit(counts.step)))
            parts += [ast.Constant(counts.name), ast.Constant(counts.relation), *ends, ast.Constant(stop_of(node))]
        method = "while_" if counts is None else "count_"
        value = self.call(method, node, *parts, *self.state(node, names))
        return [test, body, self.assign(node, names, value)]

    def visit_If(self, node: ast.If) -> Any:
        if raises(node.body) or raises(node.orelse):
            test = self.call("python_bool", node.test, self.visit(node.test), ast.Constant("if … raise"))
            return ast.copy_location(
                ast.If(test, self.block(node.body), self.block(node.orelse) if node.orelse else []), node
            )
        if returns(node.body) and returns(node.orelse):
            return self.returning_if(node)
        test = self.visit(node.test)
        names = self.assigned([*node.body, *node.orelse])
        then_name, then = self.part("then", node, names, self.block(node.body))
        else_name, other = self.part("else", node, names, self.block(node.orelse) if node.orelse else [])
        both = set(assigned_names(node.body)) & set(assigned_names(node.orelse))
        certain = ast.Tuple([ast.Constant(n) for n in names if n in both], ast.Load())
        value = self.call("if_", node, test, _load(then_name), _load(else_name), certain, *self.state(node, names))
        return [then, other, self.assign(node, names, value)]

    def returning_if(self, node: ast.If) -> list[ast.stmt]:
        test = self.visit(node.test)
        names = self.assigned([*node.body, *node.orelse])
        then_name, then = self.part("then", node, names, self.block(node.body), result=False)
        else_name, other = self.part("else", node, names, self.block(node.orelse), result=False)
        value = self.call("if_return", node, test, _load(then_name), _load(else_name), *self.state(node, names))
        return [then, other, ast.copy_location(ast.Return(value), node)]

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test = self.call("python_bool", node.test, self.visit(node.test), ast.Constant("assert"))
        return node

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = self.call("context", item.context_expr, self.visit(item.context_expr))
        node.body = self.block(node.body)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.call("python_bool", node.subject, self.visit(node.subject), ast.Constant("match"))
        for case in node.cases:
            case.body = self.block(case.body)
        return node

    def visit_Delete(self, node: ast.Delete) -> Any:
        """A variable without a value from here on."""
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise NotStaged(node, "del of an element is not staged", "make a new value without it")
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        values = [self.call("deleted", node, ast.Constant(n)) for n in names]
        return self.assign(node, names, ast.Tuple(list(values), ast.Load()))

    def visit_Try(self, node: ast.Try | ast.TryStar) -> Any:
        hint = "catch errors outside the compiled function; for values use np.where"
        raise NotStaged(node, "try is not staged: what a tensor's values are raises no error in compiled code", hint)

    visit_TryStar = visit_Try

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> Any:
        raise NotStaged(node, "a generator is not staged", "return a list, or write the loop where it is used")

    visit_YieldFrom = visit_Yield

    def visit_Await(self, node: ast.AST) -> Any:
        raise NotStaged(node, "await is not staged", "wait outside the compiled function")

    visit_AsyncFor = visit_AsyncWith = visit_Await

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # A local function is rewritten in place: what it reads from outside it already holds in staged form.
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.body = self.block(structured(node))
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        text = (
            f"global {', '.join(node.names)} is not staged: it would be assigned once, while the function is compiled"
        )
        raise NotStaged(node, text, "return the new value")

    # Expressions

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.call("text", node.value, self.visit(node.value))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        parts = [self.visit(node.test), _lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))]
        return self.call("if_exp", node, *parts)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.call(method, node, *(_lambda(self.visit(v)) for v in node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        node.operand = self.visit(node.operand)
        return self.call("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1:
            return self.generic_visit(node)
        # a < b < c: the middle operands are evaluated once, as parameters of a function made here.
        terms = [self.visit(e) for e in (node.left, *node.comparators)]
        names = [f"__txc_term_{i}" for i in range(len(terms))]
        pairs = [
            _lambda(ast.copy_location(ast.Compare(_load(a), [op], [_load(b)]), node))
            for a, op, b in zip(names, node.ops, names[1:])
        ]
        args = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
        return ast.copy_location(ast.Call(ast.Lambda(args, self.call("and_", node, *pairs)), terms, []), node)

    def visit_Call(self, node: ast.Call) -> Any:
        called = node.func
        if isinstance(called, ast.Name) and called.id in ("super", "locals", "globals"):
            return self.generic_visit(node)
        if isinstance(called, ast.Attribute):
            called.value = self.visit(called.value)
        else:
            called = self.visit(called)
        node.func = self.call("fn", called, called)
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if isinstance(node.ctx, ast.Load) and node.id in self.free:
            return self.call("captured", node, ast.Constant(node.id), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            return self.call("attribute", node, node.value, ast.Constant(node.attr))
        node.value = self.call("changed", node, node.value, ast.Constant(f"the attribute {node.attr}"))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            node.value = self.call("changed", node, node.value, ast.Constant("an element"))
        return node
