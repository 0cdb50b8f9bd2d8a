"""The rewriting half of staging: an ordinary Python function becomes one whose control flow calls the front end.

Each construct turns into a call of the runtime object (`staging.StagedRuntime`, bound to the name ``__txc``).  Its
parts become functions inside the function, which declare what they bind ``nonlocal``, so that all variables are cells
which the runtime can read and set (`state/state.py`), and the decision between plain Python and a structured op falls
when the values are known:

    for i in it: body        ->  __txc.for_(it, part(item), stop, carries)
    while c: body            ->  __txc.while_(test, body, carries)
    while i < n: …; i += k   ->  __txc.count_(test, body, counter, "<", lambda: n, lambda: k, stop, carries)
    if c: … else: …          ->  __txc.if_(c, then, otherwise)
    p if c else q            ->  __txc.if_exp(c, lambda: p, lambda: q)
    try: … except E: …       ->  with __txc.handling(lambda: E) as a: …, and if a.which == 0: … else: …
    p and q                  ->  __txc.and_(lambda: p, lambda: q), or .all_(…) where only its truth is asked
    [e for v in it if c]     ->  __txc.listed(it, ((None, lambda item: v := item, lambda: c, "v"),), lambda: e, …)
    f(x)                     ->  __txc.fn(f)(x)       (creation calls and the user's functions are replaced)
    t[i], t[a:b]             ->  __txc.item(t, i)     (where the key is no literal)
    W (global or closure)    ->  __txc.captured("W", W)

`break_lowering` has made `break`, `continue` and early `return` structured before.  Line numbers stay the user's.
Nothing here knows tensors.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ...state.liveness import annotate, live_after, live_at_head, live_in_body
from ...state.unbound import may_be_unbound, note_unbound
from .break_lowering import NotStaged, rebuild_result, stop_of
from .generator_lowering import lower_generators
from .induction import counting_of
from .match_lowering import RuntimeCall, without_matches
from .nodes import children, walk
from .variable_annotations import drop_annotations

__all__ = ["RUNTIME", "bound_names", "returns", "rewrite"]

RUNTIME = "__txc"
#: What knows the variables of the function that runs.
FRAME = "__txc_frame"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(body: Sequence[ast.AST]) -> list[str]:
    """The names that statements bind in the scope they stand in, each once, in order."""
    found: dict[str, None] = {}
    for node in body:
        _bind(node, found)
    return list(found)


def _bind(node: ast.AST, found: dict[str, None]) -> None:
    """Add the names that a node, or one below it, binds."""
    match node:
        case ast.Name():  # most nodes, with nothing below
            if not isinstance(node.ctx, ast.Load):
                found[node.id] = None
            return
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found[name] = None
            return
        case ast.Lambda():
            return
        case ast.alias(name=name, asname=asname):
            found[asname or name.partition(".")[0]] = None
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            found[name] = None
        case ast.MatchMapping(rest=str(name)):
            found[name] = None
    below = children(node)
    if isinstance(node, _COMPREHENSIONS):  # its targets are its own; what := binds in it is not
        below = (n for n in walk(node) if isinstance(n, ast.NamedExpr))
    for child in below:
        _bind(child, found)


def returns(body: Sequence[ast.stmt]) -> bool:
    """Whether the statements, structured before, end in a `return`."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return returns(last.body) and returns(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def rewrite(function: ast.FunctionDef, free: set[str]) -> ast.FunctionDef:
    """The staged form of a function definition; `free` are names that mean globals or closure variables.

    Places are missing at what is generated.  NotStaged where it holds a construct that has no staged form.
    """
    return _Stager(free).function(function)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _lambda(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(_arguments(), body)


def _arguments(*names: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


def _texts(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def _nonlocals(node: ast.AST) -> Iterator[str]:
    """The names that a statement declares to be variables of a function around its own."""
    if isinstance(node, ast.Nonlocal):
        yield from node.names
    elif not isinstance(node, (*_SCOPES, ast.expr)):
        for child in children(node):
            yield from _nonlocals(child)


def _has_calls(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Call) for n in ast.walk(statement))


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant)


def _parameters(args: ast.arguments) -> set[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {a.arg for a in every if a is not None}


class _Stager(ast.NodeTransformer):
    def __init__(self, free: set[str]):
        self.free = free
        #: The variables that functions in others give values, and those that a statement with calls reads of them.
        self.given_inside: set[str] = set()
        self.read: set[str] | None = None
        self.count = 0
        #: The names that are their own of the scopes around, the innermost last.
        self.bound: list[set[str]] = []
        #: What holds the errors of the handlers around, the innermost last.
        self.attempts: list[str] = []

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = []
        drop_annotations(node)
        lower_generators(node)
        self.given_inside = {name for n in ast.walk(node) if isinstance(n, ast.Nonlocal) for name in n.names}
        self.scope(node)
        return node

    def scope(self, node: ast.FunctionDef) -> None:
        """Rewrite a function's body.  Every variable is bound in it once, where nothing runs: parts declare them."""
        around, self.attempts = self.attempts, []
        node.returns = None
        for arg in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            arg.annotation = None
        node.body = without_matches(node.body)
        body = rebuild_result(node)
        declared = [n for s in body for n in _nonlocals(s)]
        parameters = _parameters(node.args)
        own = [n for n in bound_names(body) if n not in declared]
        self.bound.append({*own, *parameters})
        annotate(body, set(declared))
        note_unbound(body, parameters, {*own} | {n for names in self.bound[:-1] for n in names})
        rewritten = self.block(body)
        self.bound.pop()
        self.attempts = around
        head: list[ast.stmt] = [ast.Nonlocal(sorted(set(declared)))] if declared else []
        made = [ast.Name(n, ast.Store()) for n in own if n not in parameters]
        if made:
            head.append(ast.If(ast.Constant(False), [ast.Assign([*made], ast.Constant(None))], []))
        if own or parameters:  # which loops ask for, in functions that this one calls too
            every = ast.Tuple([_load(n) for n in sorted({*own, *parameters})], ast.Load())
            frame = self.call("frame", node, _lambda(every))
            head.append(ast.Assign([ast.Name(FRAME, ast.Store())], frame))
        node.body = [ast.copy_location(s, node) for s in head] + rewritten

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        around = self.read
        for statement in body:
            self.read = set() if self.given_inside and _has_calls(statement) else None
            result = self.visit(statement)
            if self.read:
                begin = ast.Expr(self.call("begins", statement, _load(FRAME)))
                done.append(ast.copy_location(begin, statement))
            done += result if isinstance(result, list) else [result]
        self.read = around
        return done or [ast.Pass()]

    # Statements

    def call(self, method: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """A call of the runtime, which errors show: of a statement with a body its head, as it is one expression."""
        at = getattr(at, "iter", getattr(at, "test", at)) if isinstance(at, ast.stmt) else at
        return ast.copy_location(ast.Call(ast.Attribute(_load(RUNTIME), method, ast.Load()), list(args), []), at)

    def part(self, kind: str, at: ast.stmt, body: Sequence[ast.stmt], *args: str) -> tuple[ast.expr, ast.stmt]:
        """``def part(args…): nonlocal …; body``, for what the body binds: how it is named, and its definition."""
        self.count += 1
        name = f"__txc_{kind}_{self.count}"
        names = [n for n in bound_names(body) if n not in args]
        declared: list[ast.stmt] = [ast.Nonlocal(names)] if names else []
        made = ast.FunctionDef(name, _arguments(*args), declared + self.block(body), [], None)
        return _load(name), ast.copy_location(made, at)

    def carries(self, loop: ast.For | ast.While) -> ast.expr:
        """The names that a loop binds; of these, what its iterations may read from before, and what is read behind."""
        bound = bound_names([loop])
        live = [[n for n in bound if n in names] for names in (live_at_head(loop), live_after(loop))]
        return ast.Tuple([_texts(names) for names in (bound, *live)], ast.Load())

    def visit_For(self, node: ast.For) -> Any:
        iterable, carries, item = self.visit(node.iter), self.carries(node), "__txc_item"
        bind = ast.copy_location(ast.Assign([node.target], _load(item)), node)
        name, made = self.part("for", node, [bind, *node.body], item)
        value = self.call("for_", node, iterable, name, ast.Constant(stop_of(node)), carries)
        return [made, ast.copy_location(ast.Expr(value), node)]

    def visit_While(self, node: ast.While) -> Any:
        counts, carries = counting_of(node), self.carries(node)
        self.count += 1
        asked = ast.FunctionDef(f"__txc_test_{self.count}", _arguments(), [ast.Return(self.truth(node.test))], [], None)
        name, body = self.part("while", node, node.body)
        parts = [_load(asked.name), name]
        if counts is not None:
            ends = (_lambda(self.visit(counts.bound)), _lambda(self.visit(counts.step)))
            parts += [ast.Constant(counts.name), ast.Constant(counts.relation), *ends, ast.Constant(stop_of(node))]
        else:
            parts.append(_texts([n for n in bound_names([node]) if n not in live_in_body(node)]))
        value = self.call("while_" if counts is None else "count_", node, *parts, carries)
        return [ast.copy_location(asked, node.test), body, ast.copy_location(ast.Expr(value), node)]

    def visit_If(self, node: ast.If) -> Any:
        both = returns(node.body) and returns(node.orelse)
        test = self.truth(node.test)
        then_name, then = self.part("then", node, node.body)
        else_name, other = self.part("else", node, node.orelse)
        live = live_after(node)
        dead = _texts([n for n in bound_names([*node.body, *node.orelse]) if n not in live])
        value = self.call("if_return" if both else "if_", node, test, then_name, else_name, dead)
        return [then, other, ast.copy_location(ast.Return(value) if both else ast.Expr(value), node)]

    def visit_Assert(self, node: ast.Assert) -> Any:
        if not __debug__:
            return ast.copy_location(ast.Pass(), node)
        message = () if node.msg is None else (_lambda(self.visit(node.msg)),)
        return ast.copy_location(ast.Expr(self.call("asserted", node.test, self.truth(node.test), *message)), node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is not None:
            node.exc = self.call("raised", node.exc, _lambda(self.visit(node.exc)))
        elif self.attempts:  # what the handler around has
            node.exc = self.call("raised", node, _lambda(ast.Attribute(_load(self.attempts[-1]), "error", ast.Load())))
        if node.cause is not None:
            node.cause = self.visit(node.cause)
        return node

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = self.call("context", item.context_expr, self.visit(item.context_expr))
        node.body = self.block(node.body)
        return node

    def visit_RuntimeCall(self, node: RuntimeCall) -> Any:
        return self.call(node.method, node, *map(self.visit, node.args))

    def visit_Try(self, node: ast.Try) -> Any:
        """A `with` over the body, whose manager keeps an error that a handler takes, and an `if` on which that is."""
        statements = self.block(node.body)
        if node.handlers:
            self.count += 1
            attempt = f"{RUNTIME}_attempt_{self.count}"
            kinds = [_lambda(ast.Constant(None) if h.type is None else self.visit(h.type)) for h in node.handlers]
            entered = ast.withitem(self.call("handling", node, *kinds), ast.Name(attempt, ast.Store()))
            self.attempts.append(attempt)
            handled = [self.handler(h, attempt) for h in node.handlers]
            self.attempts.pop()
            chosen: list[ast.stmt] = self.block(node.orelse) if node.orelse else [ast.Pass()]
            for number, body in reversed([*enumerate(handled)]):
                which = ast.Attribute(_load(attempt), "which", ast.Load())
                test = ast.Compare(which, [ast.Eq()], [ast.Constant(number)])
                chosen = [ast.copy_location(ast.If(test, body, chosen), node.handlers[number])]
            statements = [ast.With([entered], statements), *chosen]
        if node.finalbody:
            guarded = ast.With([ast.withitem(self.call("cleaning_up", node))], statements)
            statements = [ast.Try([ast.copy_location(guarded, node)], [], [], self.block(node.finalbody))]
        return [s if hasattr(s, "lineno") else ast.copy_location(s, node) for s in statements]

    def handler(self, node: ast.ExceptHandler, attempt: str) -> list[ast.stmt]:
        """``except … as name: body``: Python lets go of the name behind it."""
        body = self.block(node.body)
        if node.name is None:
            return body
        error = ast.Attribute(_load(attempt), "error", ast.Load())
        bind = ast.Assign([ast.Name(node.name, ast.Store())], error)
        return [bind, *body, ast.Delete([ast.Name(node.name, ast.Del())])]

    def visit_TryStar(self, node: ast.TryStar) -> Any:
        raise NotStaged(node, "except* is not staged", "write except, which takes one error")

    def visit_Yield(self, node: ast.Yield | ast.YieldFrom) -> Any:
        text = "what a `yield` gives the generator is not staged: a loop that goes through it sends nothing"
        raise NotStaged(node, text, "write the yield as a statement of its own")

    visit_YieldFrom = visit_Yield

    def visit_Await(self, node: ast.AST) -> Any:
        raise NotStaged(node, "await is not staged", "wait outside the compiled function")

    visit_AsyncFor = visit_AsyncWith = visit_Await

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # A local function is rewritten in place: what it reads from outside it already holds in staged form.  Such a
        # function is known by its use of the runtime, which each has, though it may never run.
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.defaults(node.args)
        self.scope(node)
        node.body.insert(0, ast.copy_location(ast.If(ast.Constant(False), [ast.Expr(_load(RUNTIME))], []), node))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """Its methods are staged where they are called."""
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> Any:
        kind = "global" if isinstance(node, ast.Global) else "nonlocal"
        names = ", ".join(node.names)
        text = f"{kind} {names} is not staged: it would be assigned once, while the function is compiled"
        raise NotStaged(node, text, "return the new value")

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        """Variables of a function around a local one; `scope` has declared them."""
        return self.visit_Global(node) if any(n in self.free for n in node.names) else []

    # Expressions

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is asked."""
        match node:
            case ast.BoolOp(op=op, values=values):
                method = "all_" if isinstance(op, ast.And) else "any_"
                return self.call(method, node, *(_lambda(self.truth(v)) for v in values))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                parts = [_lambda(self.truth(body)), _lambda(self.truth(orelse))]
                return self.call("if_exp", node, self.truth(test), *parts)
        return self.visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        is_text = isinstance(node.left, ast.JoinedStr) or (
            isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        )
        if is_text and isinstance(node.op, ast.Mod):
            node.right = self.call("text", node.right, node.right)
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = self.call("text", node.value, self.visit(node.value))
        if node.format_spec is not None:
            node.format_spec = self.visit(node.format_spec)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        parts = [self.truth(node.test), _lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))]
        return self.call("if_exp", node, *parts)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.call(method, node, *(_lambda(self.visit(v)) for v in node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.call("not_", node, self.truth(node.operand))
        node.operand = self.visit(node.operand)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1:
            if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                node.left, node.comparators = self.compared(node.left), [self.compared(node.comparators[0])]
                return self.asked(node)
            node.left, node.comparators = self.visit(node.left), [self.visit(node.comparators[0])]
            return self.asked(node)
        return self.chain(node, self.visit(node.left), 0)

    def chain(self, node: ast.Compare, first: ast.expr, k: int) -> ast.expr:
        """``first < b < c``, which are comparison `k` and those behind it.

        Operands are parameters of functions made here, so that each is evaluated once, and only where the comparisons
        in front of it hold.
        """
        a, b = f"__txc_term_{k}", f"__txc_term_{k + 1}"
        compared = self.asked(ast.copy_location(ast.Compare(_load(a), [node.ops[k]], [_load(b)]), node))
        parts = [_lambda(compared)]
        if k + 1 < len(node.ops):
            parts.append(_lambda(self.chain(node, _load(b), k + 1)))
        asked = ast.Lambda(_arguments(a, b), self.call("and_", node, *parts))
        return ast.copy_location(ast.Call(asked, [first, self.visit(node.comparators[k])], []), node)

    def asked(self, node: ast.Compare) -> ast.expr:
        """A comparison, of two operands, that asks the runtime where it is ``is`` or ``in``, or may be of tuples."""
        kind, operands = type(node.ops[0]), [node.left, *node.comparators]
        if kind in (ast.Eq, ast.NotEq) and not any(isinstance(o, ast.Constant) for o in operands):
            return self.call("equal", node, *operands, ast.Constant(kind is ast.NotEq))
        asks = {ast.Is: "is_", ast.IsNot: "is_", ast.In: "in_", ast.NotIn: "in_"}.get(kind)
        if asks is None:
            return node
        found = self.call(asks, node, *operands)
        plain = kind in (ast.Is, ast.In)
        return found if plain else ast.copy_location(self.call("not_", node, found), node)

    def compared(self, node: ast.expr) -> ast.expr:
        """An operand of ``==``; only names and attributes may be objects of the user's classes."""
        visited = self.visit(node)
        return self.call("compared", node, visited) if isinstance(node, (ast.Name, ast.Attribute)) else visited

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """``:=`` in what has become a function of its own still binds the variable of the function around it."""
        return self.call("bind", node, _lambda(_load(node.target.id)), self.visit(node.value))

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self.defaults(node.args)
        self.bound.append(_parameters(node.args))
        node.body = ast.copy_location(ast.IfExp(ast.Constant(True), self.visit(node.body), _load(RUNTIME)), node.body)
        self.bound.pop()
        return node

    def defaults(self, args: ast.arguments) -> ast.arguments:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [None if d is None else self.visit(d) for d in args.kw_defaults]
        return args

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        return self.call("list_", node, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Dict(self, node: ast.Dict) -> Any:
        self.generic_visit(node)
        return self.call("dict_", node, node)

    def comprehension(self, node: Any) -> Any:
        """A comprehension as what it goes through, and what it does with each item, in functions of its own.

        These share its variables, which so are cells; its first iterable belongs to the scope around it.
        """
        method = {ast.ListComp: "listed", ast.SetComp: "set_of", ast.DictComp: "dict_of"}.get(type(node), "generator")
        rebound = bound_names([node])
        first = self.visit(node.generators[0].iter)
        names = [bound_names([g.target]) for g in node.generators]
        own = sorted({n for level in names for n in level})
        # Since 3.12 it is no function of its own, but for a generator.
        inlined = sys.version_info >= (3, 12) and method != "generator"
        self.bound.append({*own, *self.bound[-1]} if inlined and self.bound else set(own))
        levels: list[ast.expr] = []
        for number, g in enumerate(node.generators):
            if g.is_async:
                self.visit_Await(node)
            source = _lambda(self.visit(g.iter)) if number else ast.Constant(None)
            tests = g.ifs[0] if len(g.ifs) == 1 else ast.copy_location(ast.BoolOp(ast.And(), g.ifs), node)
            test = _lambda(self.truth(tests)) if g.ifs else ast.Constant(None)
            levels.append(ast.Tuple([source, self.binding(g.target), test, _texts(names[number])], ast.Load()))
        item = ast.Tuple([node.key, node.value], ast.Load()) if isinstance(node, ast.DictComp) else node.elt
        element = _lambda(self.visit(ast.copy_location(item, node)))
        self.bound.pop()
        outer = _texts(rebound)
        made = self.call(method, node, _load("__txc_items"), ast.Tuple(levels, ast.Load()), element, outer)
        scope = _arguments("__txc_items", *own)
        scope.defaults = [ast.Constant(None) for _ in own]
        return ast.copy_location(ast.Call(ast.Lambda(scope, made), [first], []), node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def binding(self, target: ast.expr) -> ast.expr:
        """``lambda item: target := item``, of a target of names."""
        item = "__txc_item"

        def bind(name: str, value: str) -> ast.expr:
            return self.call("bind", target, _lambda(_load(name)), _load(value))

        if isinstance(target, ast.Name):
            return ast.Lambda(_arguments(item), bind(target.id, item))
        binds: list[ast.expr] = []
        for node in walk(target):
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                text = "a comprehension that assigns to an attribute or element is not staged"
                raise NotStaged(node, text, "give the variable a name of its own")
            if isinstance(node, ast.Name):
                made = f"{item}_{node.id}"
                binds.append(bind(node.id, made))
                node.id = made
        unpacked = ast.comprehension(target, ast.Tuple([_load(item)], ast.Load()), [], 0)
        return ast.Lambda(_arguments(item), ast.ListComp(ast.Tuple(binds, ast.Load()), [unpacked]))

    def visit_Call(self, node: ast.Call) -> Any:
        called = node.func
        if isinstance(called, ast.Name) and called.id in ("super", "locals", "globals"):
            return self.generic_visit(node)
        node.func = self.call("fn", called, self.visit(called))
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        outside = node.id in self.free and not any(node.id in names for names in self.bound)
        if isinstance(node.ctx, ast.Load) and outside:
            return self.call("captured", node, ast.Constant(node.id), node)
        if not isinstance(node.ctx, ast.Load):
            return node
        found = self.bound_name(node, node.id) if may_be_unbound(node) else node
        if self.read is None or node.id not in self.given_inside:
            return found
        self.read.add(node.id)
        return self.call("reads", node, _load(FRAME), found)

    def bound_name(self, at: ast.AST, name: str) -> ast.expr:
        """A variable that may hold nothing: reading it is a check."""
        return self.call("bound", at, _lambda(_load(name)), ast.Constant(name), ast.Constant(name in self.bound[-1]))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        made = self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return made
        name, before = node.target.id, list[ast.stmt]()
        if may_be_unbound(node.target):
            before.append(ast.Assign([ast.Name(name, ast.Store())], self.bound_name(node, name)))
        if self.read is not None and name in self.given_inside:
            self.read.add(name)
            before.append(ast.Expr(self.call("reads", node, _load(FRAME), _load(name))))
        return [*(ast.copy_location(s, node) for s in before), made]

    def visit_Delete(self, node: ast.Delete) -> Any:
        made = self.generic_visit(node)
        names = [t for t in node.targets if isinstance(t, ast.Name) and may_be_unbound(t)]
        return [*(ast.copy_location(ast.Expr(self.bound_name(t, t.id)), node) for t in names), made]

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            return self.call("attribute", node, node.value, ast.Constant(node.attr))
        node.value = self.call("changed", node, node.value, ast.Constant(f"the attribute {node.attr}"))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            method = "changed" if isinstance(node.ctx, ast.Store) else "deleting"
            node.value = self.call(method, node, node.value, ast.Constant("an element"))
            return node
        key = node.slice
        if isinstance(key, ast.Slice):
            ends = [ast.Constant(None) if end is None else end for end in (key.lower, key.upper, key.step)]
            if all(map(_is_literal, ends)):
                return node
            key = self.call("slice", node, *ends)
        elif _is_literal(key) or isinstance(key, ast.Tuple):
            return node
        return self.call("item", node, node.value, key)
