"""What staged code calls: a function of Python's on symbolic tensors, with control flow as structured ops.

The function's AST is rewritten once (`rewriting/`); each rewritten construct calls `StagedRuntime`, which decides
by the values at hand: Python values behave as in Python, tensors and run-time ints give `for`, `while`, `if` and
selects.  A function without source is traced as it is.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...cache.captured_value import CONTAINERS, MISSING, cell_content
from ...call.signature import is_named, like
from ...call.wrapper import unwrapped
from ...diagnostics import TxcError, error_loc, head_of, located
from ..numpy.dispatch import library_function
from ..numpy.functions.creation.index_tricks import INDEXED
from ..scalars.type_tests import TYPE_TESTS, python_type, type_name
from ..state.alternatives.identity import is_same
from ..state.alternatives.mixed_numbers import MixedNumber
from ..state.alternatives.one_of import Attributes, OneOf, any_of, one_of_in
from ..state.containers.growing_lists import GrowingList
from ..state.containers.list_errors import SeveralDtypes
from ..state.containers.staged_dicts import StagedDict
from ..state.iterators import Consumer, PlacedIterator
from ..state.lookup.items import item_of
from ..state.state import roots_of
from ..tensor.tensor import Tensor
from ..trace.captures import Captures, Frame, is_library, variable
from ..trace.context import current, require
from ..trace.demands import Ended
from ..trace.symint import SymInt
from ..trace.undefined import Undefined, unset_name
from .calls.builtins import as_text, replacement, staging_error
from .calls.constructors import constructor
from .calls.copies import COPIES
from .calls.functional import FUNCTIONAL
from .calls.in_python import IN_PYTHON
from .calls.list_methods import method_of_container, sorted_
from .calls.membership import conditions_of_equality, conditions_of_membership
from .calls.pattern_tests import class_parts, mapping_parts, sequence_parts
from .control.control_flow import ControlFlow
from .iteration.comprehensions import Comprehension, Generator, dict_of, listed, set_of
from .iteration.consumers import BY_ITEM, with_list
from .iteration.generators import Generated
from .iteration.iterators import ITERATORS, begun, makes_iterator, remembering, through
from .no_source import note_traced_plainly
from .rewriting.ast_rewrite import RUNTIME
from .rewriting.source_cache import factory_of, global_names

__all__ = [
    "StagedRuntime",
    "run_staged",
    "stage",
]


#: Functions of Python's that call those which they are given.
_TAKE_FUNCTIONS = (
    sorted, functools.reduce, itertools.accumulate, itertools.groupby, itertools.starmap,
    itertools.takewhile, itertools.dropwhile, itertools.filterfalse,
)  # fmt: skip


#: Functions of Python's that take all items of an iterable before they do anything else.
_TAKE_ALL = (tuple, set, frozenset, dict)

#: The attributes of arrays that a staged function may assign.
_ASSIGNED = ("real", "imag", "shape", "flat")
#: How what is changed is called where that is an attribute.
_AN_ATTRIBUTE = "the attribute "


def run_staged(function: Callable[..., Any], runtime: StagedRuntime, bound: inspect.BoundArguments) -> Any:
    """The result of the staged function; errors that staging itself causes carry the user's line."""
    require().fork_value = runtime.fork_value
    try:
        result = stage(function, runtime)(*bound.args, **bound.kwargs)
    except RecursionError:
        text = "calls are nested too deeply while the function is staged: both branches of an `if` on a tensor are"
        raise TxcError(text, head_of(function), "write a loop instead of a recursion", "TX0322") from None
    except NameError as error:
        name = unset_name(error)
        why = runtime.captures.unset.get(name)
        if why is not None:
            raise why.error(error_loc(error)) from error
        if "free variable" not in str(error):
            raise
        # What is a cell only because it is staged is a local variable to the user.
        text = f"cannot access local variable {name!r} where it is not associated with a value"
        raise UnboundLocalError(text) from error
    refuse_undefined(result, function)
    return result


def _takes_any(function: Any) -> bool:
    """Whether a function runs staged code, which finds out itself what to do with a value of one kind or another."""
    if isinstance(function, type):
        return function.__module__ != "builtins"
    if isinstance(getattr(function, "__self__", None), GrowingList) and function.__name__ == "append":
        return True
    code = getattr(function, "__code__", None)
    return isinstance(function, functools.partial) or (code is not None and RUNTIME in code.co_freevars)


def _has(value: Any, x: Any) -> bool:
    """Whether `x` is a value, or has it as an item."""
    parts = (list.__iter__(x) if isinstance(x, list) else x) if _has_items(x) else ()
    return x is value or any(_has(value, part) for part in parts)


def _has_items(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and not getattr(x, "stacked", False)


def _in_place_of(one: Any, value: Any, x: Any) -> Any:
    """`x`, with a value in the place of one that it may be, also in lists and tuples."""
    if x is one:
        return value
    if _has_items(x) and _has(one, x):
        made = [_in_place_of(one, value, part) for part in x]
        return GrowingList(made) if isinstance(x, GrowingList) else like(x, made)
    return x


def _unbound(name: str, is_own: bool) -> NameError:
    """What Python raises where a variable is read that holds nothing."""
    if is_own:
        text = f"cannot access local variable {name!r} where it is not associated with a value"
        return UnboundLocalError(text, name=name)
    text = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
    return NameError(text, name=name)


def refuse_undefined(result: Any, function: Callable[..., Any]) -> None:
    """TxcError where a part of the result has no value, or is an iterator."""
    if isinstance(result, Undefined):
        raise result.error(head_of(function))
    if isinstance(result, PlacedIterator):
        text = "an iterator is returned, which goes through what exists only while the function is compiled"
        raise TxcError(text, head_of(function), "return a list of its items: list(…)", "TX0322")
    parts = result.parts() if isinstance(result, GrowingList) else result
    if isinstance(result, OneOf):
        parts = [value for value, _ in result.options]
    for part in dict.values(parts) if isinstance(parts, dict) else parts if isinstance(parts, (tuple, list)) else ():
        refuse_undefined(part, function)


def stage(function: Callable[..., Any], runtime: StagedRuntime) -> Callable[..., Any]:
    """The function in staged form, bound to a runtime; as it is where it has no source."""
    factory, runtime = factory_of(function), runtime.bound_to(function)
    if factory is None:
        assert isinstance(function, types.FunctionType)
        note_traced_plainly(function, require())
        return runtime.with_captured(function)
    contents = [cell_content(c) for c in function.__closure__ or ()]
    cells = [Undefined("a closure variable") if c is MISSING else c for c in contents]
    made = factory(runtime, *cells)
    runtime.captures.know_closure(function, made)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


class StagedRuntime(ControlFlow):
    """What staged code calls.  One for each function of a trace; they share what was captured."""

    def __init__(self, function: Callable[..., Any] | None = None, captures: Captures | None = None):
        self.function = function
        self.captures = Captures() if captures is None else captures

    def bound_to(self, function: Callable[..., Any]) -> StagedRuntime:
        return StagedRuntime(function, self.captures)

    # Names

    def frame(self, variables: Callable[[], Any]) -> Frame:
        """The variables of the function that runs, as those of a function in it; it holds what is returned."""
        made = Frame(self.roots(variables))
        self.captures.frames.add(made)
        return made

    def begins(self, frame: Frame) -> None:
        """A statement begins that reads variables which what it calls may give other values."""
        frame.read.clear()

    def reads(self, frame: Frame, value: Any) -> Any:
        """The value of such a variable, which the statement has until it ends."""
        if isinstance(value, Tensor):
            frame.read.append(types.CellType(value))
        return value

    def bind(self, variable: Callable[[], Any], value: Any) -> Any:
        """``variable := value``, of a variable that the function `variable` reads."""
        for cell in variable.__closure__ or ():
            cell.cell_contents = value
        return value

    def bound(self, variable: Callable[[], Any], name: str, is_own: bool) -> Any:
        """What a variable holds that may hold nothing, which is Python's error; `is_own`: of the function that runs.

        Where compiled code decides whether it is reached, or whether there is something, that is a check.
        """
        cell = next(iter(variable.__closure__ or ()))
        value = cell_content(cell)
        if value is MISSING:
            error = _unbound(name, is_own)
            unknown = name in self.captures.unset or any(loop.may_bind(cell) for loop in self.captures.loops)
            raise Ended(error) if require().in_region and not unknown else error
        if not isinstance(value, OneOf):
            return value
        with located():
            return value.bound(_unbound(name, is_own))

    def captured(self, name: str, value: Any) -> Any:
        """A global or closure variable: a fact; arrays become hidden arguments.

        Methods of classes that the function makes read its own variables so, which are none.
        """
        assert isinstance(self.function, types.FunctionType)
        if self.captures.is_variable(roots_of(self.function).get(name)):
            return value
        self.captures.take(variable(self.function, name)._replace(value=value), (self.function, name))
        return self._as_staged(value)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute: of what is outside the function a fact; arrays become hidden arguments."""
        if isinstance(owner, OneOf):
            return owner.attribute(name, lambda v: self.attribute(v, name))
        if isinstance(owner, (Tensor, SymInt)):
            kind = python_type(owner)
            if name == "__class__":
                return kind
            if not issubclass(kind, (np.ndarray, np.generic)) and not hasattr(kind, name):  # a number of Python's
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        read = inspect.getattr_static(type(owner), name, None)
        if isinstance(read, property) and isinstance(read.fget, types.FunctionType) and not is_library(read.fget):
            return self.fn(read.fget)(owner)
        value = self.captures.attribute(owner, name)
        return value if isinstance(owner, (Tensor, np.ndarray)) else self._as_staged(value)

    def _as_staged(self, value: Any) -> Any:
        """A value from outside as staged code has it: arrays, also those in containers, are hidden arguments."""
        if isinstance(value, np.ndarray):
            return require().capture(value)
        if isinstance(value, CONTAINERS) and self.captures.is_outside(value):
            return self.captures.with_arrays(value, require().capture)
        return INDEXED.get(id(value), value)

    def _made(self, value: Any) -> Any:
        """What code that is not staged made: arrays become hidden arguments, each call's own.

        As they are, a loop or branch of compiled code would store into them once, while the function is compiled.
        """
        if type(value) is np.ndarray and value.dtype.kind in "biufc":
            return require().capture(value)
        if (type(value) in (tuple, list) or is_named(value)) and any(type(part) is np.ndarray for part in value):
            parts: Any = value
            return like(parts, [self._made(part) for part in parts])
        return value

    def compared(self, value: Any) -> Any:
        """An operand of ``==`` or ``!=``: what its class then reads of it are facts."""
        self.captures.take_comparison(value)
        return value

    def is_(self, a: Any, b: Any) -> Any:
        """``a is b``: of two arguments that are arrays it is a fact of the call."""
        if isinstance(a, OneOf) and isinstance(b, OneOf):
            return a.each(lambda v: self.is_(v, b))
        with located():
            return is_same(a, b)

    def _getattr(self, owner: Any, name: str, *default: Any) -> Any:
        if isinstance(owner, OneOf):
            return owner.each(lambda v: self._getattr(v, name, *default), *default)
        if default and not TYPE_TESTS[hasattr](owner, name):
            return default[0]
        return self.attribute(owner, name)

    def _getter(self, getter: operator.attrgetter[Any]) -> Callable[[Any], Any]:
        """What ``operator.attrgetter`` made, whose reads are facts as others are."""
        _, paths = getter.__reduce__()

        def get(owner: Any) -> Any:
            found = [functools.reduce(self.attribute, path.split("."), owner) for path in paths]
            return found[0] if len(found) == 1 else tuple(found)

        return get

    def list_(self, items: list[Any]) -> GrowingList:
        """A list that the function makes: loops of compiled code may append to it."""
        return GrowingList(items).made_here()

    def dict_(self, items: dict[Any, Any]) -> StagedDict:
        """A dict that the function makes: branches and loops of compiled code may give it keys."""
        return StagedDict(items)

    def in_(self, item: Any, container: Any) -> Any:
        """``item in container``."""
        if isinstance(container, OneOf):
            return container.each(lambda v: self.in_(item, v), item)
        if isinstance(item, OneOf) and not isinstance(item, MixedNumber):
            return item.each(lambda v: self.in_(v, container), container)
        if (found := conditions_of_membership(item, container)) is not None:
            conds = [self.truth(cond) for cond in found]
            known = any(cond is True for cond in conds)
            return known or self._as_condition(any_of([cond for cond in conds if isinstance(cond, Tensor)]))
        return container.has(item) if isinstance(container, StagedDict) else item in container

    def equal(self, a: Any, b: Any, negated: bool) -> Any:
        """``a == b``, or `negated` ``a != b``."""
        if (found := conditions_of_equality(a, b)) is None:
            return a != b if negated else a == b
        conds = [self.truth(cond) for cond in found]
        if any(cond is False for cond in conds):
            return negated
        unknown = [self.not_(cond) for cond in conds if isinstance(cond, Tensor)]
        differs = self._as_condition(any_of(unknown)) if unknown else False
        return differs if negated else self.not_(differs)

    # Patterns

    def is_instance(self, value: Any, kind: Any) -> Any:
        return self.fn(isinstance)(value, kind)

    def sequence_parts(self, value: Any, number: int, star: int | None) -> Any:
        return sequence_parts(value, number, star)

    def mapping_parts(self, value: Any, keys: Sequence[Any]) -> Any:
        return mapping_parts(value, keys)

    def class_parts(self, value: Any, kind: Any, number: int, names: Sequence[str]) -> Any:
        if isinstance(value, OneOf):
            return value.each(lambda v: self.class_parts(v, kind, number, names))
        return class_parts(value, kind, number, names, self.attribute, TYPE_TESTS[hasattr])

    # Comprehensions

    def listed(self, *parts: Any) -> Any:
        return self._of_each(listed, *parts)

    def set_of(self, *parts: Any) -> Any:
        return self._of_each(set_of, *parts)

    def dict_of(self, *parts: Any) -> Any:
        return self._of_each(dict_of, *parts)

    def _of_each(self, make: Callable[[Comprehension], Any], first: Any, *parts: Any) -> Any:
        """What is made of a comprehension; where it goes through one of several things, of each."""
        if isinstance(first, OneOf):
            roots = Comprehension(self, first, *parts).roots
            return first.each(lambda items: self._of_each(make, items, *parts), *roots.values())
        first = through(first)
        made = make(Comprehension(self, begun(first), *parts))
        if isinstance(first, PlacedIterator):
            first.end()
        return made

    def generator(self, *parts: Any) -> Generator:
        return Generator(Comprehension(self, *parts))

    # Generators

    def generated(self, whole: Callable[[Consumer], None], until: Callable[[Consumer], None]) -> Generated:
        return Generated(whole, until)

    def yielded(self, consumer: Consumer, item: Any) -> Any:
        """Whether who goes through a generator asks for no more behind an item that it yields."""
        return consumer.take(item)

    slice = staticmethod(slice)

    def item(self, items: Any, key: Any) -> Any:
        """``items[key]``: where only the compiled function knows the key, what it selects of Python's containers."""
        if isinstance(items, Tensor) or not isinstance(key, (Tensor, SymInt, OneOf, slice)):
            return items.each(lambda v: self.item(v, key), key) if isinstance(items, OneOf) else items[key]
        if isinstance(items, OneOf):
            return items.each(lambda v: self.item(v, key), key)
        if isinstance(key, OneOf):
            return key.each(lambda k: self.item(items, k))
        with located():
            return item_of(items, key, self.captures.is_outside)

    def text(self, value: Any) -> Any:
        """A value in an f-string."""
        return as_text(value)

    def changed(self, owner: Any, what: str) -> Any:
        """The object of which an attribute or element is assigned."""
        if isinstance(owner, OneOf):
            for value, _ in owner.options:
                self.changed(value, what)
            return Attributes(owner) if what.startswith(_AN_ATTRIBUTE) else owner
        if isinstance(owner, Tensor) and what.startswith(_AN_ATTRIBUTE) and what.split()[-1] not in _ASSIGNED:
            hint = "keep it in a variable of its own"
            raise staging_error(f"{what} of a tensor is not assigned", hint, "TX0322")
        return self.captures.refuse_change(owner, what)

    def deleting(self, owner: Any, what: str) -> Any:
        """The object of which an element is deleted."""
        if isinstance(owner, OneOf):
            return owner
        if isinstance(owner, Tensor):
            raise staging_error("del of an element is not staged", "make a new value without it", "TX0322")
        return self.captures.refuse_change(owner, what)

    def with_captured(self, function: types.FunctionType) -> types.FunctionType:
        """A function that is traced as it is, over variables whose arrays are hidden arguments.

        All that its code may read is a fact, as nothing says what it does read.
        """
        self.captures.take_plainly(function)
        code = function.__code__
        named = {n: variable(function, n).value for n in global_names(code) - set(code.co_freevars)}
        scope = {n: self._as_staged(v) for n, v in named.items() if isinstance(v, (np.ndarray, *CONTAINERS))}
        contents = [cell_content(c) for c in function.__closure__ or ()]
        cells = tuple(types.CellType() if c is MISSING else types.CellType(self._as_staged(c)) for c in contents)
        made = types.FunctionType(
            code, {**function.__globals__, **scope}, function.__name__, function.__defaults__, cells
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    # Calls

    def fn(self, called: Any) -> Any:
        """What to call instead: creation functions and builtins that tensors need, the user's functions staged."""
        if isinstance(called, OneOf):
            return lambda *given, **named: called.each(lambda f: self.fn(f)(*given, **named), *given, *named.values())
        found = self._fn(called)
        if current() is None:  # a function of the library, run at once
            return found
        calling = found if _takes_any(found) else functools.partial(self._called, found)
        if _hashable(called) and called in _TAKE_ALL:
            return lambda *given, **named: calling(*(with_list(self, items) for items in given), **named)
        return calling

    def _called(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The result of a function that is not staged, of the values that there are."""
        one = one_of_in([*given, *named.values()]) if require().has_one_of else None
        replaced: Any = one
        if one is None:
            try:
                return self._made(function(*given, **named))
            except SeveralDtypes as error:
                replaced = error.grown
                if not any(_has(replaced, x) for x in (*given, *named.values())):
                    raise
                one = replaced.by_dtype()

        def of(value: Any) -> Any:
            chosen = [_in_place_of(replaced, value, x) for x in given]
            return self._called(function, *chosen, **{k: _in_place_of(replaced, value, x) for k, x in named.items()})

        return one.each(of, function, *given, *named.values())

    def _fn(self, called: Any) -> Any:
        if isinstance(called, (Tensor, SymInt)):
            raise TypeError(f"'{type_name(called)}' object is not callable")
        if _hashable(called):
            if called is sorted:
                return functools.partial(sorted_, self)
            if (by_item := BY_ITEM.get(called) or COPIES.get(called)) is not None:
                return functools.partial(by_item, self)
            if (found := replacement(called)) is not None:
                return found
            if (own := IN_PYTHON.get(called)) is not None:
                return stage(own, self)
        if (method := method_of_container(self, called)) is not None:
            return method
        if called is operator.getitem:
            return self.item
        if called is getattr:
            return self._getattr
        if called is vars:
            return lambda *owner: self.attribute(owner[0], "__dict__") if owner else vars()
        if called is setattr:
            return lambda owner, name, value: setattr(self.changed(owner, f"{_AN_ATTRIBUTE}{name}"), name, value)
        if isinstance(called, operator.attrgetter):
            return self._getter(called)
        if _hashable(called) and (called in FUNCTIONAL or called in _TAKE_FUNCTIONS):
            taking = ITERATORS.get(called) or (remembering(called) if makes_iterator(called) else called)
            return lambda *given, **named: taking(
                *map(self._staged, given), **{name: self._staged(value) for name, value in named.items()}
            )
        if _hashable(called) and (called in ITERATORS or makes_iterator(called)):
            return ITERATORS.get(called) or remembering(called)
        self.captures.refuse_call(called)
        if isinstance(getattr(called, "__self__", None), str):
            return lambda *given, **named: called(
                *map(as_text, given), **{name: as_text(value) for name, value in named.items()}
            )
        if isinstance(called, np.vectorize):
            return Tensor.functions.vectorized(called)
        if isinstance(called, functools.partial):
            return functools.partial(self.fn(called.func), *called.args, **called.keywords)
        if isinstance(called, types.MethodType) and not is_library(called.__func__):
            return functools.partial(self.fn(called.__func__), called.__self__)
        called = unwrapped(called)
        if isinstance(called, types.FunctionType):
            if is_library(called):
                return library_function(called)
            # A local function was rewritten with the one around it.
            if RUNTIME in called.__code__.co_freevars:
                return called
            self.captures.take_defaults(called)
            return stage(called, self)
        if isinstance(called, type):  # it makes an object; what its `__call__` says is of those
            return constructor(self, called)
        method = inspect.getattr_static(called, "__call__", None)
        if isinstance(method, types.FunctionType) and not is_library(method):
            return functools.partial(self.fn(method), called)
        return called

    def _staged(self, argument: Any) -> Any:
        """An argument of a function that calls it, where it is a function."""
        return self.fn(argument) if isinstance(argument, (types.FunctionType, types.MethodType)) else argument


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
