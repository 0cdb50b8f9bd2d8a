"""Staging: running a NumPy function on symbolic tensors, with its control flow turned into structured ops.

The function's AST is rewritten once (`staging_ast.py`); each rewritten construct calls `Runtime`, which decides by the
values at hand: Python values behave as in Python, tensors and run-time ints give `for`, `while`, `if` and selects.
A function without source is traced as it is.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dialects.dims import sym
from ..argument import Argument
from ..captured import MISSING, Captured, cell_content
from ..diagnostics import TxcError
from ..signature import like
from .captures import Captures, Root, is_library
from .functional import FUNCTIONAL
from .graph import Graph, Loc
from .jumps import MADE
from .masked import Masked
from .numpy_dispatch import library_function
from .numpy_functions.grids import INDEXED
from .staged_source import factory_of, global_names
from .staging_ast import RUNTIME
from .staging_builtins import REPLACED, as_text, staging_error
from .staging_iteration import Elements, StagedIterable, StagedRange
from .symint import SymInt, is_integer
from .tensor import Tensor
from .trace import Trace, require
from .traced_plainly import note_traced_plainly
from .undefined import Undefined

__all__ = [
    "Argument",
    "Runtime",
    "StagedRange",
    "Traced",
    "is_staged",
    "refuse_undefined",
    "stage",
    "trace_function",
]

#: A range known while staging is written out up to this length; a longer one becomes a loop.
UNROLL = 8


@dataclass
class Traced:
    """A graph, and what it took from outside the function."""

    graph: Graph
    captured: list[Captured] = field(default_factory=list)


def trace_function(
    function: Callable[..., Any], arguments: Sequence[Argument], fixed: Mapping[str, int] = types.MappingProxyType({})
) -> Traced:
    """Run the staged function on symbolic arguments; its graph.  Errors carry the user's line.

    The sizes whose symbols are in `fixed` are numbers, which makes them facts.
    """
    with Trace(function.__name__) as trace:
        runtime = Runtime()
        trace.captures = runtime.captures
        values = {a.name: _symbolic(trace, a, runtime.captures) for a in arguments}
        for symbol, size in fixed.items():
            trace.table.equate(sym(symbol), size, "calls kept having it")
        bound = inspect.BoundArguments(inspect.signature(function), values)  # pyright: ignore[reportArgumentType]
        try:
            result = stage(function, runtime)(*bound.args, **bound.kwargs)
        except RecursionError:
            text = "calls are nested too deeply while the function is staged: both branches of an `if` on a tensor are"
            raise TxcError(text, _head_of(function), "write a loop instead of a recursion", "TX0322") from None
        refuse_undefined(result, function)
        return Traced(trace.finish(result), list(runtime.captures.facts.values()))


def refuse_undefined(result: Any, function: Callable[..., Any]) -> None:
    """TxcError where a part of the result has no value."""
    if isinstance(result, (Undefined, Masked)):
        loc = _head_of(function)
        raise result.error(loc) if isinstance(result, Undefined) else result.no_result(loc)
    for part in result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ():
        refuse_undefined(part, function)


def _head_of(function: Callable[..., Any]) -> Loc:
    """The line on which a function begins."""
    code = function.__code__
    return Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__)


def _symbolic(trace: Trace, argument: Argument, captures: Captures) -> Any:
    name, value = argument.name, argument.value
    if argument.kind == "array":
        made = trace.array_input(name, value)
        return made.relabelled() if argument.layout == "col" else made
    if argument.kind == "scalar":
        return trace.scalar_input(name, value.dtype, argument.weak)
    if argument.kind == "int":
        return trace.int_input(name, value)
    if argument.kind == "dict":
        return {k: _symbolic(trace, v, captures) for k, v in value.items()}
    if argument.kind in ("tuple", "list"):
        return like(argument.original, [_symbolic(trace, v, captures) for v in value])
    captures.take(Root(value, name, lambda: value, (types.CellType(value), None, ())), ("argument", name))
    return value


def stage(function: Callable[..., Any], runtime: Runtime) -> Callable[..., Any]:
    """The function in staged form, bound to a runtime; as it is where it has no source."""
    factory, runtime = factory_of(function), runtime.bound_to(function)
    if factory is None:
        assert isinstance(function, types.FunctionType)
        note_traced_plainly(function, require())
        runtime.take_all()
        return function
    contents = [cell_content(c) for c in function.__closure__ or ()]
    cells = [Undefined("a closure variable") if c is MISSING else c for c in contents]
    made = factory(runtime, *cells)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def is_staged(function: types.FunctionType) -> bool:
    """Whether a call of it is staged, so that `Runtime` sees all that it reads from outside."""
    return factory_of(function) is not None and not is_library(function)


class Runtime:
    """What staged code calls.  One for each function of a trace; they share what was captured."""

    def __init__(self, function: Callable[..., Any] | None = None, captures: Captures | None = None):
        self.function = function
        self.captures = Captures() if captures is None else captures

    def bound_to(self, function: Callable[..., Any]) -> Runtime:
        return Runtime(function, self.captures)

    # Names

    def read(self, value: Callable[[], Any], name: str) -> Any:
        """The value of a local variable, or a mark that it has none yet."""
        try:
            return value()
        except NameError:
            return Undefined(name)

    def captured(self, name: str, value: Any) -> Any:
        """A global or closure variable: a fact; arrays become hidden arguments."""
        self.captures.take(self._root(name, value), (self.function, name))
        return require().capture(value) if isinstance(value, np.ndarray) else INDEXED.get(id(value), value)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute: of what is outside the function a fact; arrays become hidden arguments."""
        value = self.captures.attribute(owner, name)
        captured = isinstance(value, np.ndarray) and not isinstance(owner, (Tensor, np.ndarray))
        return require().capture(value) if captured else INDEXED.get(id(value), value)

    def text(self, value: Any) -> Any:
        """A value in an f-string."""
        return as_text(value)

    def changed(self, owner: Any, what: str) -> Any:
        """The object of which an attribute or element is assigned."""
        if isinstance(owner, Tensor) and what.startswith("the attribute ") and what.split()[-1] not in ("real", "imag"):
            hint = "x = x.reshape(…)" if what.endswith(" shape") else "keep it in a variable of its own"
            raise staging_error(f"{what} of a tensor is not assigned", hint, "TX0322")
        return self.captures.refuse_change(owner, what)

    def take_all(self) -> None:
        """Every global and closure variable of the function: it is traced as it is, so nothing says which it reads."""
        function = self.function
        assert isinstance(function, types.FunctionType)
        for name in {*function.__code__.co_freevars, *global_names(function.__code__)}:
            value = self._find(name)
            if value is not MISSING:
                self.captures.take(self._root(name, value), (function, name))

    def _root(self, name: str, value: Any) -> Root:
        function = self.function
        assert isinstance(function, types.FunctionType)
        free = function.__code__.co_freevars
        cells = function.__closure__ or ()
        place = (cells[free.index(name)], None, ()) if name in free else (function.__globals__, name, ())
        return Root(value, name, lambda: self._find(name), place)

    def _find(self, name: str) -> Any:
        """What a name means outside the function now."""
        function = self.function
        assert isinstance(function, types.FunctionType)
        free = function.__code__.co_freevars
        if name in free:
            return cell_content((function.__closure__ or ())[free.index(name)])
        return function.__globals__.get(name, MISSING)

    # Calls

    def fn(self, called: Any) -> Any:
        """What to call instead: creation functions and builtins that tensors need, the user's functions staged."""
        found = REPLACED.get(called) if _hashable(called) else None
        if found is not None:
            return found
        if _hashable(called) and called in FUNCTIONAL:
            return lambda *given, **named: called(*map(self._staged, given), **named)
        self.captures.refuse_call(called)
        if isinstance(called, np.vectorize):
            from .elementwise import vectorized

            return vectorized(called)
        if isinstance(called, functools.partial):
            return functools.partial(self.fn(called.func), *called.args, **called.keywords)
        if isinstance(called, types.MethodType) and not is_library(called.__func__):
            return functools.partial(self.fn(called.__func__), called.__self__)
        from ..jit import Jitted

        if isinstance(called, Jitted):
            called = called.__wrapped__
        if isinstance(called, types.FunctionType):
            if is_library(called):
                return library_function(called)
            # A local function was rewritten with the one around it.
            return called if RUNTIME in called.__code__.co_freevars else stage(called, self)
        method = inspect.getattr_static(called, "__call__", None)
        if isinstance(method, types.FunctionType) and not is_library(method):
            return functools.partial(self.fn(method), called)
        return called

    def _staged(self, argument: Any) -> Any:
        """An argument of a function that calls it, where it is a function."""
        return self.fn(argument) if isinstance(argument, (types.FunctionType, types.MethodType)) else argument

    # Conditions

    def python_bool(self, value: Any, what: str) -> Any:
        """A condition that has to be known while staging."""
        if isinstance(value, Tensor):
            raise staging_error(
                f"{what} depends on a tensor, whose value is not known while the function is staged",
                "use np.where, or move it out of the compiled function",
                "TX0311",
            )
        return value

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        if isinstance(test, Tensor):
            return np.where(test, then(), otherwise())  # pyright: ignore[reportCallIssue, reportArgumentType]
        return then() if test else otherwise()

    def and_(self, *terms: Callable[[], Any]) -> Any:
        return self._logic(terms, np.logical_and, False)

    def or_(self, *terms: Callable[[], Any]) -> Any:
        return self._logic(terms, np.logical_or, True)

    def _logic(self, terms: Sequence[Callable[[], Any]], combine: Any, decides: bool) -> Any:
        """Python's short circuit while values are Python's; all of the rest, combined, from the first tensor on."""
        value: Any = not decides
        for i, term in enumerate(terms):
            value = term()
            if isinstance(value, Tensor):
                for other in terms[i + 1 :]:
                    value = combine(value, other())
                return value
            if bool(value) is decides:
                return value
        return value

    def not_(self, value: Any) -> Any:
        if isinstance(value, SymInt):
            return value == 0
        return np.logical_not(value) if isinstance(value, Tensor) else not value  # pyright: ignore[reportArgumentType]

    # Statements

    def context(self, manager: Any) -> Any:
        """The manager of a `with`: only one that changes nothing of what is compiled."""
        if isinstance(manager, np.errstate):
            return manager
        kind = type(manager).__name__
        raise staging_error(
            f"with {kind} is not staged: it would be entered once, while the function is compiled",
            "enter it around the call of the compiled function",
            "TX0322",
        )

    def deleted(self, name: str) -> Any:
        return Undefined(name)

    def if_(
        self, test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], certain: tuple[str, ...],
        names: tuple[str, ...], state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """An `if` statement: the values of its variables afterwards."""
        if not isinstance(test, Tensor):
            return then(*state) if test else otherwise(*state)
        kept = [
            i for i, v in enumerate(state)
            if _numeric(v) or (isinstance(v, Undefined) and (names[i] in certain or names[i].startswith(MADE)))
        ]  # fmt: skip

        def branch(body: Callable[..., Any]) -> Callable[[], tuple[Any, ...]]:
            return lambda: self._unchanged(names, state, body(*state), kept)

        found = require().if_(test, branch(then), branch(otherwise), [names[i] for i in kept])
        return self._merged(names, state, kept, found)

    def if_return(
        self,
        test: Any,
        then: Callable[..., Any],
        otherwise: Callable[..., Any],
        names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> Any:
        """An `if` both of whose branches return."""
        if not isinstance(test, Tensor):
            return then(*state) if test else otherwise(*state)
        single: list[bool] = []

        def branch(body: Callable[..., Any]) -> Callable[[], tuple[Any, ...]]:
            def run() -> tuple[Any, ...]:
                result = body(*state)
                single.append(not isinstance(result, tuple))
                if len(set(single)) > 1:
                    raise staging_error(
                        "one branch returns a tuple, the other does not", "return the same kind of value", "TX0312"
                    )
                return result if isinstance(result, tuple) else (result,)

            return run

        found = require().if_(test, branch(then), branch(otherwise), ["the result"])
        return found[0] if single[0] else tuple(found)

    def while_(
        self, test: Callable[..., Any], body: Callable[..., Any], names: tuple[str, ...], state: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """A `while` statement: run while staging as long as its condition is the same in every call, then a loop."""
        while not isinstance(truth := self._deferred(test, *state), Tensor):
            if not truth:
                return state
            state = body(*state)
        kept = [i for i, v in enumerate(state) if _carries(v, names[i])]

        def full(values: Sequence[Any]) -> list[Any]:
            return list(self._merged(names, state, kept, values))

        def step(*values: Any) -> tuple[Any, ...]:
            return self._unchanged(names, state, body(*full(_flat(values))), kept)

        found = require().while_(
            lambda *values: self._deferred(test, *full(_flat(values))),
            step,
            [state[i] for i in kept],
            [names[i] for i in kept],
        )
        return self._merged(names, state, kept, found)

    @staticmethod
    def _deferred(test: Callable[..., Any], *values: Any) -> Any:
        """The condition of a loop: a tensor where calls may differ in it."""
        with require().deferred():
            found = test(*values)
            return found != 0 if isinstance(found, SymInt) else found

    def count_(
        self, test: Callable[..., Any], body: Callable[..., Any], counter: str, relation: str,
        bound: Callable[[], Any], step: Callable[[], Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `while` that counts (`counting`): a `for` where its ends are ints known at run time.

        So its counter stays an int, which may be an index and a size; that of another `while` is a tensor.
        """
        at = names.index(counter)
        start, by = state[at], step()
        end = bound()
        upwards = relation in ("<", "<=")
        counts = is_integer(start) and is_integer(end) and isinstance(by, int) and (by > 0 if upwards else by < 0)
        if not counts or not (isinstance(start, SymInt) or isinstance(end, SymInt)):
            return self.while_(test, body, names, state)
        if relation in ("<=", ">="):
            end = end + (1 if upwards else -1)

        def iteration(item: Any, *values: Any) -> tuple[Any, ...]:
            return body(*values[:at], item, *values[at + 1 :])

        counted = StagedRange(start, end, by)
        found = self.for_(counted, iteration, (counter,), stop, names, state)
        return (*found[:at], start + counted.length * by, *found[at + 1 :])

    def for_(
        self, iterable: Any, body: Callable[..., Any], targets: tuple[str, ...], stop: str | None,
        names: tuple[str, ...], state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `for` statement: over what Python iterates over, or few items, written out; else a loop.

        It ends after an iteration that sets the variable `stop`.
        """
        if isinstance(iterable, Tensor):
            if not iterable.ndim:
                text = f"a loop runs over the rows of a tensor, and {iterable.user_type} has none"
                raise staging_error(text, "loop over range(…)", "TX0313")
            iterable = Elements(iterable)
        if isinstance(iterable, StagedRange) and iterable.of_tensors:
            return self._for_of_tensors(iterable, body, stop, names, state)
        if not isinstance(iterable, StagedIterable):
            return self._written_out(iterable, body, stop, names, state)
        known = iterable.known()
        if known is not None and len(known) <= UNROLL:
            return self._written_out(known, body, stop, names, state)
        kept = [i for i, v in enumerate(state) if _carries(v, names[i]) and names[i] not in targets]
        plain = isinstance(iterable, StagedRange)
        ends = (iterable.start, iterable.stop, iterable.step) if plain else (0, iterable.length, 1)

        def step(i: Any, values: Sequence[Any]) -> tuple[Any, ...]:
            item = i if plain else iterable.at(i)
            return self._unchanged(names, state, body(item, *self._merged(names, state, kept, values)), kept, targets)

        carried, labels = [state[i] for i in kept], [names[i] for i in kept]
        found = list(self._merged(names, state, kept, require().for_(*ends, step, carried, labels, stop)))
        for i, name in enumerate(names):
            if name in targets:
                found[i] = Undefined(name)
        return tuple(found)

    def _written_out(
        self, items: Iterable[Any], body: Callable[..., Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A loop as so many copies of its body; those behind one that may stop it are branches."""
        for item in items:
            stopped = False if stop is None else state[names.index(stop)]
            if isinstance(stopped, Tensor):
                go_on = functools.partial(body, item)
                state = self.if_(stopped, lambda *values: values, go_on, (), names, state)
            elif stopped:
                break
            else:
                state = body(item, *state)
        return state

    def _for_of_tensors(
        self, counted: StagedRange, body: Callable[..., Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `for` over a range that tensors bound: a `while` whose counter is a tensor."""
        names = (f"{MADE}counter", *names)

        def test(i: Any, *values: Any) -> Any:
            inside = i < counted.stop if counted.rises else i > counted.stop
            return (
                inside if stop is None else self.and_(lambda: self.not_(values[names.index(stop) - 1]), lambda: inside)
            )

        def iteration(i: Any, *values: Any) -> tuple[Any, ...]:
            return (i + counted.step, *body(i, *values))

        start = Tensor.apply("cast", counted.start, dtype="i64")
        return self.while_(test, iteration, names, (start, *state))[1:]

    def _merged(
        self, names: tuple[str, ...], state: tuple[Any, ...], kept: Sequence[int], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        """All variables: the carried ones as given, of the rest what they were."""
        found = list(state)
        for i, value in zip(kept, values):
            found[i] = value
        return tuple(found)

    def _unchanged(
        self, names: tuple[str, ...], state: tuple[Any, ...], after: Sequence[Any], kept: Sequence[int],
        free: tuple[str, ...] = (),
    ) -> tuple[Any, ...]:  # fmt: skip
        """The carried variables; an error where another one, that had a value, has a new one now."""
        for i, (name, value) in enumerate(zip(names, after)):
            was = state[i]
            if i not in kept and name not in free and not isinstance(was, Undefined) and value is not was:
                raise staging_error(
                    f"{name!r} holds a {type(was).__name__} and changes inside a staged loop or branch",
                    "only numbers and tensors can change there",
                    "TX0315",
                )
        return tuple(after[i] for i in kept)


def _flat(values: tuple[Any, ...]) -> Sequence[Any]:
    return values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


def _numeric(value: Any) -> bool:
    return isinstance(value, (Tensor, SymInt, bool, int, float, np.generic, np.ndarray))


def _carries(value: Any, name: str) -> bool:
    """Whether a loop carries a variable: also one made by `jumps`, which may get its first value inside."""
    return _numeric(value) or (isinstance(value, Undefined) and name.startswith(MADE))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
