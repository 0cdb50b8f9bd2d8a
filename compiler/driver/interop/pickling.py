"""How functions are pickled: by name where their module has them, else by source, captured values and options.

A lambda, a closure and a function of `__main__` are what other processes do not find under a name.  They are rebuilt
from the text of the statement of their file that they are in, which staging reads there as it does here.  What they
name of their module and around them is pickled with them, functions among it in the same way.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import functools
import importlib
import linecache
import operator
import os
import pickle
import sys
import types
import weakref
from _thread import _local
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....runtime.file_store import sha256
from ...cache.captured_value import MISSING, PLAIN, cell_content
from ...call.wrapper import Wrapper
from ...config.options import Options

if TYPE_CHECKING:
    from ..jit import Jitted

__all__ = ["reduce_jitted"]


def reduce_jitted(jitted: Jitted) -> Any:
    """What pickle makes a jitted function of, as `object.__reduce__` says it.

    PicklingError, which names it, for a captured value that cannot be pickled, and for a function without source.
    """
    function, options = jitted.__wrapped__, jitted.compile_options
    assert isinstance(function, types.FunctionType)
    found = _found_by_name(function)
    if found is jitted:
        return function.__qualname__
    if found is function:
        return _jitted, (type(jitted), function, options)
    if isinstance(found, Wrapper) and found.__wrapped__ is function:
        return _with_options, (found, options)
    source = _source_of(function)
    if source is None:
        raise pickle.PicklingError(
            f"{function.__qualname__} cannot be pickled: its source cannot be read; "
            "define it in a file or a notebook cell"
        )
    own = {name: value for name, value in vars(jitted).items() if not name.startswith("_")}
    return _shell, (type(jitted),), (_by_source(function, source), options, own), None, None, _fill_jitted


def _found_by_name(function: types.FunctionType) -> Any:
    """What other processes find in the function's module under its name; None where that is nothing, or not sure."""
    module = sys.modules.get(function.__module__ or "")
    if module is None or function.__module__ in ("__main__", "__mp_main__"):
        return None
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)  # of a name such as <locals> there is nothing
    return found


def _jitted(kind: type[Jitted], function: Callable[..., Any], options: Options) -> Jitted:
    made = _shell(kind)
    kind.__init__(made, function, options)
    return made


def _with_options(jitted: Jitted, options: Options) -> Jitted:
    return type(jitted)(jitted.__wrapped__, options, jitted)


def _shell(kind: type[Jitted]) -> Jitted:
    """A function that is still to be filled: values that it captures may refer to it."""
    return kind.__new__(kind)


def _fill_jitted(made: Jitted, state: tuple[types.FunctionType, Options, dict[str, Any]]) -> None:
    function, options, own = state
    type(made).__init__(made, function, options)
    for name, value in own.items():
        setattr(made, name, value)


# Source --------------------------------------------------------------------------------------------------------------


class _Source(NamedTuple):
    """The text of a file, or what a function's code needs of it, and the way to that code.

    `path` has positions among the constants of the code before; `flags` say what of `__future__` the file has.
    """

    file: str
    text: str
    flags: int
    path: tuple[int, ...]


#: Stands in the names of such files behind that of the file they are from.
_PICKLED = ", pickled "
#: The flags of code that say what of `__future__` its file has.
_FUTURE = functools.reduce(operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


def _source_of(function: types.FunctionType) -> _Source | None:
    """Where the function's code comes from; None where no source can be read, or it is another one by now."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    file = os.path.basename(code.co_filename.strip("<>")).partition(_PICKLED)[0]
    flags = code.co_flags & _FUTURE
    for part in (_needed(text, code.co_firstlineno), text):
        path = _way_to(code, _compiled(part, flags))
        if path is not None:
            return _Source(file, part, flags, path)
    return None


@functools.lru_cache(maxsize=64)
def _needed(text: str, line: int) -> str:
    """The statement at the top of a file that `line` is in, on its lines; all others but imports are left out.

    Code that calls a function of a module differs from code that calls a method.
    """
    body = _statements(text)
    found = next((n for n in body if _first_line(n) <= line <= (n.end_lineno or 0)), None)
    kept = {
        i
        for n in body
        if n is found or isinstance(n, (ast.Import, ast.ImportFrom))
        for i in range(_first_line(n), (n.end_lineno or 0) + 1)
    }
    lines = text.splitlines(keepends=True)[: max(kept, default=0)]
    return "".join(each if i in kept else "\n" for i, each in enumerate(lines, 1))


@functools.lru_cache(maxsize=4)
def _statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


@functools.lru_cache(maxsize=64)
def _compiled(text: str, flags: int, filename: str = "<pickled>") -> types.CodeType | None:
    try:
        return compile(text, filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _way_to(code: types.CodeType, whole: types.CodeType | None) -> tuple[int, ...] | None:
    for position, constant in enumerate(() if whole is None else whole.co_consts):
        if isinstance(constant, types.CodeType):
            rest = () if constant == code else _way_to(code, constant)
            if rest is not None:
                return (position, *rest)
    return None


@functools.lru_cache(maxsize=256)
def _code_of(source: _Source) -> types.CodeType:
    """The code again; messages and staging find its lines under a name of its own, whatever file there is here."""
    digest = sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    filename = f"<{source.file}{_PICKLED}{digest}>"
    linecache.cache[filename] = (len(source.text), None, source.text.splitlines(keepends=True), filename)
    code: Any = _compiled(source.text, source.flags, filename)
    for position in source.path:
        code = code.co_consts[position]
    return code


# Functions by source -------------------------------------------------------------------------------------------------


class _Head(NamedTuple):
    """What a function has beside its code and what it captures."""

    module: str
    name: str
    qualname: str
    doc: str | None
    defaults: tuple[Any, ...] | None
    kwdefaults: dict[str, Any] | None
    annotations: dict[str, Any]


class _BySource:
    """Stands for a function where pickle writes it; one object a function, by which pickle knows it again."""

    __slots__ = ("__weakref__", "_function", "_source")

    def __init__(self, function: types.FunctionType, source: _Source):
        self._function, self._source = function, source

    def __reduce__(self) -> Any:
        f = self._function
        head = _Head(
            f.__module__, f.__name__, f.__qualname__, f.__doc__,
            *(_portable(part) for part in (f.__defaults__, f.__kwdefaults__, f.__annotations__)),
        )  # fmt: skip
        variables, own = _captured(f), {name: _portable(value) for name, value in vars(f).items()}
        if id(f) not in _checks.running:
            _checks.running.add(id(f))
            try:
                for name, value in variables.items():
                    _check(f"{f.__qualname__} captures {name!r}", value)
                for name, value in [*head._asdict().items(), *own.items()]:
                    _check(f"{f.__qualname__} has {name!r}", value)
            finally:
                _checks.running.remove(id(f))
        return _function_shell, (self._source, head), (variables, own), None, None, _fill_function


#: By the id of its function, which lives as long as this does.
_standing: weakref.WeakValueDictionary[int, _BySource] = weakref.WeakValueDictionary()


def _by_source(function: types.FunctionType, source: _Source) -> _BySource:
    return _standing.setdefault(id(function), _BySource(function, source))


def _captured(function: types.FunctionType) -> dict[str, Any]:
    """The values of the names that the function's code takes from its module and from around it."""
    code = function.__code__
    names, attributes = _global_names(code), frozenset(code.co_names)
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    cells = zip(code.co_freevars, map(cell_content, function.__closure__ or ()))
    found |= {name: value for name, value in cells if value is not MISSING}
    return {name: _portable(value, attributes) for name, value in sorted(found.items())}


def _global_names(code: types.CodeType) -> set[str]:
    """The names that code, and that of functions in it, loads from its module or from built-ins."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_global_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def _function_shell(source: _Source, head: _Head) -> types.FunctionType:
    """A function that has nothing captured yet: what it captures may refer to it."""
    code = _code_of(source)
    variables = {"__name__": head.module, "__builtins__": builtins}
    made = types.FunctionType(
        code, variables, head.name, head.defaults, tuple(types.CellType() for _ in code.co_freevars)
    )
    made.__qualname__, made.__module__, made.__doc__ = head.qualname, head.module, head.doc
    made.__kwdefaults__, made.__annotations__ = head.kwdefaults, head.annotations
    return made


def _fill_function(made: types.FunctionType, state: tuple[dict[str, Any], dict[str, Any]]) -> None:
    variables, own = state
    free = dict(zip(made.__code__.co_freevars, made.__closure__ or ()))
    for name, value in variables.items():
        if name in free:
            free[name].cell_contents = value
        else:
            made.__globals__[name] = value
    vars(made).update(own)


# Captured values -----------------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """Stands for a value where pickle writes it: what gives the value when it is called."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __reduce__(self) -> Any:
        return _called, (self.function, self.args, self.kwargs)


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


def _portable(value: Any, attributes: frozenset[str] = frozenset()) -> Any:
    """A value, or what stands for one that pickle does not know: modules, functions without a place, also inside.

    `attributes` are names that code takes of a module.
    """
    if isinstance(value, types.ModuleType):
        return _Call(_imported, (value.__name__, _submodules(value.__name__, attributes)), {})
    if isinstance(value, types.FunctionType):
        source = None if _found_by_name(value) is value else _source_of(value)
        return value if source is None else _by_source(value, source)
    if type(value) is functools.partial:
        return _Call(functools.partial, (_portable(value.func), *_portable(value.args)), _portable(value.keywords))
    if type(value) is np.vectorize:
        function = value.pyfunc
        kept = {name: getattr(value, name) for name in ("otypes", "excluded", "cache", "signature")}
        return _Call(np.vectorize, (_portable(function),), kept)
    if type(value) in (list, tuple):
        made = type(value)(map(_portable, value))
        return value if all(map(operator.is_, made, value)) else made
    if type(value) is dict:
        made = {name: _portable(part) for name, part in value.items()}
        return value if all(made[name] is value[name] for name in value) else made
    return value


def _submodules(name: str, attributes: frozenset[str]) -> tuple[str, ...]:
    """The modules of a package that code may reach by attributes of it."""
    inside = [m.removeprefix(f"{name}.") for m in sys.modules if m.startswith(f"{name}.")]
    return tuple(sorted(m for m in inside if attributes.issuperset(m.split("."))))


def _imported(name: str, submodules: tuple[str, ...]) -> types.ModuleType:
    for submodule in submodules:
        importlib.import_module(f"{name}.{submodule}")
    return importlib.import_module(name)


class _Checks(_local):
    """Of one thread: the functions whose captured values are being checked, by id."""

    def __init__(self) -> None:
        self.running: set[int] = set()


_checks = _Checks()


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        return len(data)


class _Unpicklable(pickle.PicklingError):
    """Names what cannot be pickled."""


def _check(what: str, value: Any) -> None:
    """`_Unpicklable`, which says `what` it is, for a value that neither pickle nor cloudpickle, where used, writes."""
    if isinstance(value, PLAIN) or (type(value) is np.ndarray and not value.dtype.hasobject):
        return
    failed = _failure(pickle.Pickler, value)
    if failed is not None and "cloudpickle" in sys.modules:
        failed = _failure(sys.modules["cloudpickle"].Pickler, value)
    if failed is not None:
        text = f"{what}, a {type(value).__name__}, which cannot be pickled: {failed}; pass it as an argument"
        raise _Unpicklable(text) from failed


def _failure(pickler: Any, value: Any) -> Exception | None:
    """The error of pickling a value; `_Unpicklable` is raised."""
    try:
        pickler(_Nowhere(), pickle.HIGHEST_PROTOCOL, buffer_callback=lambda _: None).dump(value)
    except _Unpicklable:
        raise
    except Exception as error:
        return error
    return None
