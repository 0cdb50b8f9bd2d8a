"""The meaning of `.tx` functions: a small evaluator that walks the tree of one and calls the front end.

It calls the same as `jit`: the same tensors, methods, functions and structured control flow.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ....dialects.registry import OPS, Composite, OpError, Reduction, Scan
from ....dialects.types import DTYPES
from ...diagnostics import Loc, TxcError, at, located
from ..numpy.dispatch import has_handler
from ..staging.iteration.iterables import StagedIterable
from ..staging.iteration.iterators import Whole
from ..staging.rewriting.ast_rewrite import bound_names, returns
from ..staging.rewriting.break_lowering import NotStaged, rebuild_result, stop_of
from ..staging.rewriting.induction import Counting, counting_of
from ..staging.runtime import StagedRuntime
from ..state.liveness import annotate, live_after, live_at_head, live_in_body
from ..state.state import Location, Names, Roots
from ..tensor.apply import call
from ..tensor.methods.reducing import reduce, scan
from ..tensor.methods.table import METHODS
from ..tensor.tensor import Tensor
from ..trace.context import table
from ..trace.symint import SymInt
from .calls import bind_arguments, match_arguments, typed_results
from .errors import fail, location, nearest, written_without_module
from .names import COMPARE, CONSTANTS, FUNCTIONS, IN_PLACE, ITERATIONS, MODULES, NAMESPACES, binary

if TYPE_CHECKING:
    from .parser import TxFunction, TxModule

__all__ = ["Evaluator"]

#: A `while` whose condition is known while compiling is written out, up to this many times.
_ROUNDS = 1000


class _Return(Exception):
    """Leaves the statements of a function with its value."""

    def __init__(self, value: Any):
        self.value = value


class UnsetName(NameError):
    """A variable of a function is read that holds nothing."""

    def __init__(self, node: ast.expr, name: str):
        super().__init__(f"{name!r} holds nothing", name=name)
        self.node = node


class _Runtime(StagedRuntime):
    """The runtime of a `.tx` function, whose variables are names."""

    def __init__(self, names: Names):
        super().__init__()
        self.names = names

    def roots(self, *parts: Callable[..., Any]) -> Roots:
        return {"": self.names}

    def variable(self, name: str, *parts: Callable[..., Any]) -> Location:
        return Location(self.names, name, name)

    # Of tensors that have dims `and`, `or`, `not` and `if … else` are element by element (docs/reference/language.md).

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        if isinstance(test, Tensor) and test.ndim:
            return Tensor.apply("select", test, then(), otherwise())
        return super().if_exp(test, then, otherwise)

    def and_(self, *terms: Callable[[], Any]) -> Any:
        return self.elementwise("logical_and", super().and_, terms)

    def or_(self, *terms: Callable[[], Any]) -> Any:
        return self.elementwise("logical_or", super().or_, terms)

    def all_(self, *terms: Callable[[], Any]) -> Any:
        return self.elementwise("logical_and", super().all_, terms)

    def any_(self, *terms: Callable[[], Any]) -> Any:
        return self.elementwise("logical_or", super().any_, terms)

    def elementwise(self, op: str, plain: Callable[..., Any], terms: Sequence[Callable[[], Any]]) -> Any:
        """The op where the first operand has dims, else the rest by Python's short circuit."""
        first = terms[0]()
        if len(terms) == 1:
            return first
        if isinstance(first, Tensor) and first.ndim:
            return Tensor.apply(op, first, self.elementwise(op, plain, terms[1:]))
        return plain(lambda: first, lambda: self.elementwise(op, plain, terms[1:]))

    def not_(self, value: Any) -> Any:
        if isinstance(value, Tensor) and value.ndim:
            return Tensor.apply("logical_not", value)
        return super().not_(value)


def _is_number(value: Any) -> bool:
    return not value.ndim if isinstance(value, Tensor) else isinstance(value, (bool, int, float, SymInt))


class Evaluator:
    """Runs one function's body on symbolic values."""

    def __init__(self, module: TxModule, values: dict[str, Any], sizes: dict[str, Any], calls: tuple[str, ...]):
        self.module, self.sizes, self.calls = module, sizes, calls
        self.names = Names({**sizes, **values})
        self.runtime = _Runtime(self.names)
        self.frame = self.runtime.frame(lambda: None)

    def function(self, f: TxFunction) -> Any:
        try:
            body = rebuild_result(copy.deepcopy(f.node))
        except NotStaged as error:
            self.fail(error.node, error.message, error.hint, "TX0531")
        annotate(body, set())
        self.own = {*self.names, *bound_names(body)}
        try:
            self.block(body)
        except UnsetName as error:
            self.fail(error.node, f"there is no {error.name!r} here", f"give {error.name} a value before", "TX0536")
        except _Return as returned:
            if f.results is None:
                return returned.value
            assert f.node.returns is not None
            with at(self.place(f.node.returns)), located():
                return typed_results(f.name, f.results, returned.value, self.sizes, table())
        self.fail(f.node, f"{f.name} ends without a return", code="TX0527")

    def place(self, node: ast.AST) -> Loc | None:
        """The line that what a node does is put down to."""
        return location(self.module.filename, node)

    def fail(self, node: ast.AST, message: str, hint: str = "", code: str = "TX0500") -> NoReturn:
        fail(self.module.filename, node, message, hint, code)

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            with at(self.place(statement)):
                try:
                    self.statement(statement)
                except (TxcError, _Return):
                    raise
                except OpError as error:
                    raise TxcError(error.message, self.place(statement), error.hint, error.code) from error
                except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
                    self.fail(statement, str(error), code="TX0530")

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=value):
                raise _Return(None if value is None else self.value(value))
            case ast.Assign(targets=targets, value=expression):
                value = self.value(expression)
                for target in targets:
                    self.assign(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                self.augmented(target, op, self.value(value))
            case ast.For():
                self.for_(node)
            case ast.While():
                self.while_(node)
            case ast.If(test=test, body=body, orelse=orelse) if returns(body) and returns(orelse):
                raise _Return(self.returning_if(self.condition(test), body, orelse))
            case ast.If(test=test, body=body, orelse=orelse):
                self.if_(self.condition(test), body, orelse)
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case _:
                kind = type(node).__name__
                self.fail(node, f"{kind} is not part of the language", "see docs/reference/language.md", "TX0531")

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, (tuple, list)) or len(value) != len(target.elts):
                self.fail(target, f"{len(target.elts)} names for what is not {len(target.elts)} values", code="TX0532")
            for part, item in zip(target.elts, value):
                self.assign(part, item)
        elif isinstance(target, ast.Subscript):
            self.value(target.value)[self.index(target.slice)] = value
        else:
            self.fail(target, "only names, tuples of names and views can be assigned", code="TX0533")

    def augmented(self, target: ast.expr, op: ast.operator, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            base, index = self.value(target.value), self.index(target.slice)
            base[index] = binary(type(op), base[index], value)
        elif isinstance(target, ast.Name):
            self.names[target.id] = IN_PLACE[type(op)](self.value(target), value)
        else:
            self.fail(target, "only names and views can be assigned", code="TX0533")

    def for_(self, node: ast.For) -> None:
        iterable = self.value(node.iter)
        rows = isinstance(iterable, Tensor) and iterable.ndim > 0
        if not rows and not isinstance(iterable, (StagedIterable, Whole, list, tuple)):
            self.fail(node.iter, "a loop runs over range(…) or the rows of a tensor", "for i in range(n):", "TX0535")
        targets = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]

        def run(item: Any) -> None:
            self.assign(node.target, item)
            self.block(node.body)

        self.runtime.for_(iterable, run, stop_of(node), self.carries(node))
        for name in targets:
            self.names.pop(name, None)

    def carries(self, node: ast.For | ast.While) -> tuple[list[str], list[str], list[str]]:
        """What a loop binds, of it what its iterations may read from before, and what is read behind it."""
        bound = bound_names([node])
        return bound, [n for n in bound if n in live_at_head(node)], [n for n in bound if n in live_after(node)]

    def while_(self, node: ast.While) -> None:
        counts: Counting | None = counting_of(node)
        rounds = itertools.count()

        def condition() -> Any:
            if next(rounds) > _ROUNDS:
                self.fail(
                    node.test, "this loop does not end while it is compiled", "its condition is no tensor", "TX0546"
                )
            return self.condition(node.test)

        def run() -> None:
            self.block(node.body)

        if counts is None:
            fresh = [n for n in bound_names([node]) if n not in live_in_body(node)]
            self.runtime.while_(condition, run, fresh, self.carries(node))
        else:
            bound, step = lambda: self.value(counts.bound), lambda: self.value(counts.step)
            self.runtime.count_(
                condition, run, counts.name, counts.relation, bound, step, stop_of(node), self.carries(node)
            )

    def returning_if(self, test: Any, body: list[ast.stmt], orelse: list[ast.stmt]) -> Any:
        """The result of an `if` both of whose branches return."""

        def branch(statements: list[ast.stmt]) -> Callable[[], Any]:
            def run() -> Any:
                try:
                    self.block(statements)
                except _Return as returned:
                    return returned.value
                raise AssertionError("a branch that returns goes on")

            return run

        return self.runtime.if_return(test, branch(body), branch(orelse))

    def if_(self, test: Any, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        self.runtime.if_(test, lambda: self.block(body), lambda: self.block(orelse))

    # Expressions

    def value(self, node: ast.expr) -> Any:
        with at(self.place(node)):
            return self._value(node)

    def condition(self, node: ast.expr) -> Any:
        """A value of which only the truth is asked."""
        if not isinstance(node, ast.BoolOp):
            return self.value(node)
        circuit = self.runtime.all_ if isinstance(node.op, ast.And) else self.runtime.any_
        with at(self.place(node)):
            return circuit(*[lambda v=v: self.condition(v) for v in node.values])

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | complex() | str() as value):
                return value
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.BinOp(left=left, op=op, right=right):
                return binary(type(op), self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.value(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return ~self.value(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.runtime.not_(self.condition(operand))
            case ast.BoolOp(op=op, values=values):
                circuit = self.runtime.and_ if isinstance(op, ast.And) else self.runtime.or_
                return circuit(*[lambda v=v: self.value(v) for v in values])
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.compare(node, left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.runtime.if_exp(self.condition(test), lambda: self.value(body), lambda: self.value(orelse))
            case ast.Tuple(elts=elts):
                return tuple(self.value(e) for e in elts)
            case ast.List(elts=elts):
                return [self.value(e) for e in elts]
            case ast.Subscript(value=value, slice=index):
                return self.runtime.item(self.value(value), self.index(index))
            case ast.Attribute(value=value, attr=attr):
                self.no_module(node)
                return self.attribute(node, self.value(value), attr)
            case ast.Call():
                return self.call(node)
        kind = type(node).__name__
        self.fail(node, f"{kind} is not part of the language", "see docs/reference/language.md", "TX0531")

    def name(self, node: ast.expr, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name in self.runtime.captures.unset:
            raise self.runtime.captures.unset[name].error(self.place(node))
        if name in self.own:  # as a name that Python's function binds hides a global one all over the function
            raise UnsetName(node, name)
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in DTYPES:
            return DTYPES[name]
        known = [*self.names, *self.module.functions, *FUNCTIONS, *OPS]
        self.fail(node, f"there is no {name!r} here", nearest(name, known), "TX0536")

    def compare(self, node: ast.Compare, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> Any:
        values = [self.value(e) for e in (left, *comparators)]
        terms = []
        for a, op, b in zip(values, ops, values[1:]):
            if type(op) not in COMPARE:
                self.fail(node, "only < <= > >= == != compare values", code="TX0531")
            terms.append(lambda a=a, op=op, b=b: COMPARE[type(op)](a, b))
        return self.runtime.all_(*terms)

    def index(self, node: ast.expr) -> Any:
        match node:
            case ast.Tuple(elts=elts):
                return tuple(self.index(e) for e in elts)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(*[None if x is None else self.value(x) for x in (lower, upper, step)])
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=value) if value is ...:
                return ...
        return self.value(node)

    def attribute(self, node: ast.Attribute, value: Any, attr: str) -> Any:
        if isinstance(value, Tensor) and attr in ("T", "real", "imag", "shape", "ndim", "size"):
            return getattr(value, attr)
        self.fail(node, f"there is no attribute {attr!r}", "call methods with parentheses", "TX0537")

    def no_module(self, node: ast.Attribute) -> None:
        """Fail where a name has one of Python's modules in front of it."""
        root: ast.expr = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in MODULES and root.id not in self.names:
            known = {*CONSTANTS, *DTYPES, *FUNCTIONS, *OPS, *ITERATIONS}
            self.fail(node, f"there is no {ast.unparse(node)} here", written_without_module(node.attr, known), "TX0536")

    def call(self, node: ast.Call) -> Any:
        arguments = [self.argument(a) for a in node.args]
        keywords: dict[str, Any] = {}
        for k in node.keywords:
            if k.arg is None:
                self.fail(k.value, "** is not part of the language", "write name=value", "TX0531")
            keywords[k.arg] = self.argument(k.value)
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id in NAMESPACES and owner.id not in self.names:
                return self.namespaced(node.func, owner.id)(*arguments, **keywords)
            self.no_module(node.func)
            return self.method(node, self.value(node.func.value), node.func.attr, arguments, keywords)
        if not isinstance(node.func, ast.Name):
            self.fail(node, "only named functions and methods can be called", code="TX0538")
        name = node.func.id
        if name in self.module.functions:
            return self.inline(node, self.module.functions[name], arguments, keywords)
        if name in ITERATIONS:
            return self.runtime.fn(ITERATIONS[name])(*arguments, **keywords)
        if name in ("len", "float", "int", "abs"):
            if name == "int" and len(arguments) == 1 and isinstance(arguments[0], SymInt):
                return arguments[0]  # an int already; Python's int() would make its value a fact
            plain = {"len": len, "float": float, "int": int, "abs": abs}[name]
            return self.runtime.fn(plain)(*arguments)
        if name in ("min", "max") and len(arguments) > 1 and all(map(_is_number, arguments)):
            return self.runtime.fn(min if name == "min" else max)(*arguments, **keywords)
        found = FUNCTIONS.get(name)
        if found is not None:
            return found(*arguments, **keywords)
        decl = OPS.get(name)
        if decl is None or decl.family not in ("map", "reduction", "scan", "view", "composite", "structural"):
            numpys = getattr(np, name, None)
            if has_handler(numpys):
                return self.runtime.fn(numpys)(*arguments, **keywords)
            known = [*self.module.functions, *FUNCTIONS, *OPS]
            self.fail(node.func, f"there is no function {name!r}", nearest(name, known), "TX0539")
        if issubclass(decl, Reduction):
            return reduce(name, *arguments, **keywords)
        if issubclass(decl, Scan):
            return scan(name, *arguments, **keywords)
        if decl.numpy is not None and isinstance(decl.numpy, np.ufunc):
            return decl.numpy(*arguments, **keywords)
        if issubclass(decl, Composite):
            return call(decl, arguments, keywords)
        return Tensor.apply(decl, *arguments, **keywords)

    def argument(self, node: ast.expr) -> Any:
        """What a call is given: a value, or a function of the file, for what takes functions of scalars."""
        if isinstance(node, ast.Name) and node.id not in self.names and node.id in self.module.functions:
            f = self.module.functions[node.id]
            return lambda *given: self.inline(node, f, [*given], {})
        return self.value(node)

    def namespaced(self, node: ast.Attribute, package: str) -> Callable[..., Any]:
        """A public function of a package of functions."""
        found = import_module(f"{__name__.partition('.')[0]}.{package}")
        known = [n for n in found.__all__ if not isinstance(getattr(found, n), type)]
        if node.attr not in known:
            self.fail(node, f"{package} has no function {node.attr!r}", nearest(node.attr, known), "TX0539")
        return getattr(found, node.attr)

    def method(self, node: ast.Call, value: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if not isinstance(value, Tensor):
            self.fail(node, f"a {type(value).__name__} has no method {name!r}", code="TX0540")
        try:
            # Only what is public: a file never reaches Python's own methods.
            found = None if name.startswith("_") else getattr(value, name)
        except (AttributeError, OpError):
            found = None
        if not callable(found):
            known = [m for decl in OPS.values() for m in decl.methods] + [*METHODS]
            self.fail(node.func, f"a tensor has no method {name!r}", nearest(name, known), "TX0540")
        return found(*arguments, **keywords)

    def inline(self, node: ast.expr, f: TxFunction, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A call of another function of the file: its body here, with sizes unified with its declared types."""
        if f.name in self.calls:
            self.fail(node, f"{f.name} calls itself", "recursion is not part of the language", "TX0541")
        given = match_arguments(f.name, f.parameters, arguments, keywords)
        values, sizes = bind_arguments(f.name, f.parameters, given, table())
        return Evaluator(self.module, values, sizes, (*self.calls, f.name)).function(f)
