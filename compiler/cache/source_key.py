"""What the staged form of a Python function depends on, found without staging it: the key of the cache's first look-up.

That is its code and, by content, every global and closure value that the code names, functions with theirs.  Names are
taken from the code object, attributes included, so the list may be longer than what staging reads, never shorter.
What cannot be judged by content, such as an object, is `NotHashable`: such a function is staged in every
process, and only its machine code is looked up, by its graph.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from opcode import opmap
from typing import Any, NamedTuple

import numpy as np

from ...runtime.file_store import sha256
from ..call.facts import Identity, as_dense_strided, element_name, stride_fact
from ..call.wrapper import unwrapped
from .captured_value import MISSING, Captured, Place, cell_content, snapshot

__all__ = ["NotHashable", "SourceDigest", "digest_function", "digest_plain", "source_unchanged"]


class NotHashable(ValueError):
    """Why a function's staged form cannot be known without staging it."""


class SourceDigest(NamedTuple):
    """`arrays` are those that the function captures; `checks` hold while no captured name has a new meaning."""

    digest: str
    arrays: tuple[np.ndarray, ...]
    checks: tuple[Captured, ...]
    functions: tuple[types.FunctionType, ...]


#: Builtins whose results follow from their arguments.
_BUILTINS = frozenset(
    "abs all any bool chr complex dict divmod enumerate filter float format int isinstance issubclass iter len list "
    "map max min next ord pow range repr reversed round slice sorted str sum tuple type zip ArithmeticError "
    "AssertionError Exception FloatingPointError IndexError KeyError NotImplemented NotImplementedError OverflowError "
    "RuntimeError TypeError ValueError ZeroDivisionError".split()
)
#: Names in a library whose value or effect does not follow from the program.
_IMPURE = frozenset(
    "random load loadtxt genfromtxt fromfile fromregex memmap lib ctypeslib testing geterr seterr getbufsize "
    "get_printoptions show_config".split()
)
#: Ways around the names in the code.
_INTROSPECTION = frozenset(
    "__dict__ __globals__ __builtins__ __import__ __class__ __closure__ __code__ __getattribute__ __subclasses__ "
    "f_globals f_locals tb_frame".split()
)
#: Modules that are the same wherever their version is; the versions of NumPy, Python and txc are part of every key.
_LIBRARIES = ("numpy", "math", "txc")
#: Statements that read or change what lies outside in a way that the names of the code do not show.
_IMPURE_CODES = frozenset(opmap[name] for name in ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def digest_function(function: Callable[..., Any]) -> SourceDigest:
    """The digest of a plain Python function as it is now.  Undigestible, with the reason, where there is none."""
    walk = _Walk()
    walk.add(function, "the function")
    text = "\n".join(walk.lines)
    return SourceDigest(
        sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        tuple(walk.arrays),
        tuple(walk.checks),
        tuple(walk.functions),
    )


def digest_plain(value: Any) -> str:
    """A text for a plain value, or a container of such, that no other value has.  Undigestible for anything else."""
    if type(value) in _PLAIN:
        return f"{type(value).__name__}:{value!r}"
    if type(value) in (tuple, list):
        return f"{type(value).__name__}({','.join(map(digest_plain, value))})"
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({','.join(sorted(map(digest_plain, value)))})"
    if isinstance(value, np.dtype):
        return f"dtype {value.str} {value.name}"
    if isinstance(value, Identity):
        raise NotHashable(f"an argument is a {type(value.value).__name__}, which cannot be judged by its content")
    if type(value) is dict:
        return f"[{','.join(f'{digest_plain(k)}={digest_plain(v)}' for k, v in value.items())}]"
    raise NotHashable(f"a {type(value).__name__} cannot be judged by its content")


class _Walk:
    """Collects a line of text for everything met; each object once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.arrays: list[np.ndarray] = []
        self.checks: list[Captured] = []
        self.functions: list[types.FunctionType] = []
        self._numbers: dict[tuple[Any, ...], int] = {}

    def add(self, value: Any, what: str, names: frozenset[str] = frozenset()) -> None:
        """`names` are the attributes that the code around may take of it."""
        self.lines.append(self._text(value, what, names))

    def _text(self, value: Any, what: str, names: frozenset[str]) -> str:
        if isinstance(value, np.generic):
            return f"scalar {value.dtype.str} {value.tobytes().hex()}"
        if type(value) is np.ndarray:
            return self._array(value)
        wrapped = unwrapped(value)
        if isinstance(wrapped, types.FunctionType) and (wrapped.__module__ or "").partition(".")[0] not in _LIBRARIES:
            if names & wrapped.__dict__.keys():
                raise NotHashable(f"{what} is a function with attributes that may be used")
            return self._function(wrapped, what)
        if isinstance(value, types.ModuleType):
            return self._module(value, what, names)
        if _of_library(value):
            return f"library {getattr(value, '__module__', None) or 'numpy'} {value.__name__}"
        try:
            return digest_plain(value)
        except NotHashable:
            raise NotHashable(f"{what} is a {type(value).__name__}, which cannot be judged by its content") from None

    def _seen(self, *key: Any) -> int | None:
        """The number of what was met before; otherwise it gets one."""
        number = self._numbers.get(key)
        if number is None:
            self._numbers[key] = len(self._numbers)
        return number

    def _array(self, array: np.ndarray) -> str:
        if not any(array is a for a in self.arrays):
            self.arrays.append(array)
        number = next(i for i, a in enumerate(self.arrays) if a is array)
        walked = as_dense_strided(array)
        return f"array {number} {element_name(walked)} {array.ndim} {digest_plain(stride_fact(walked))}"

    def _module(self, module: types.ModuleType, what: str, names: frozenset[str]) -> str:
        name = module.__name__
        if name.partition(".")[0] in _LIBRARIES:
            impure = sorted(_IMPURE & {*names, *name.split(".")})
            if impure:
                raise NotHashable(f"{what} has {impure[0]!r}, whose result does not follow from the program")
            return f"module {name}"
        if "__getattr__" in vars(module):
            raise NotHashable(f"{what} is a module that computes its attributes")
        if self._seen(id(module), names) is None:
            for attribute in sorted(names & vars(module).keys()):
                self.lines.append(f"attribute {name}.{attribute}")
                self._watched(vars(module), attribute, f"{name}.{attribute}", names)
        return f"module {name}"

    def _function(self, function: types.FunctionType, what: str) -> str:
        seen = self._seen(id(function))
        if seen is not None:
            return f"function {seen}"
        self.functions.append(function)
        code = function.__code__
        self._code(code)
        names = frozenset(_names(code))
        if names & _INTROSPECTION:
            raise NotHashable(f"{what} may use {min(names & _INTROSPECTION)!r}, which reaches what it does not name")
        if function is not self.functions[0]:  # the first one's defaults are arguments of the call
            for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()):
                self.add(default, f"a default of {function.__qualname__}")
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self.lines.append(f"closure {name}")
            self._cell(cell, repr(name), names)
        builtins = function.__builtins__
        for name in sorted(names):
            if name in function.__globals__:
                self.lines.append(f"global {name}")
                self._watched(function.__globals__, name, repr(name), names)
            elif name in builtins and name not in _BUILTINS and not name.startswith("__"):
                raise NotHashable(f"{what} may call {name!r}, whose result does not follow from the program")
        return f"function {function.__qualname__}"

    def _cell(self, cell: types.CellType, what: str, names: frozenset[str]) -> None:
        value = cell_content(cell)
        if value is MISSING:
            raise NotHashable(f"{what} has no value yet")
        self.add(value, what, names)
        self._check(what, value, lambda: cell_content(cell), (cell, None, ()))

    def _watched(self, namespace: dict[str, Any], name: str, what: str, names: frozenset[str]) -> None:
        value = namespace[name]
        self.add(value, what, names)
        self._check(what, value, lambda: namespace.get(name, MISSING), (namespace, name, ()))

    def _check(self, what: str, value: Any, find: Callable[[], Any], place: Place) -> None:
        """Modules are taken to stay what they are, as staging takes them."""
        if not isinstance(value, types.ModuleType):
            self.checks.append(Captured(what, snapshot(value), find, place))

    def _code(self, code: types.CodeType) -> None:
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_name
        table = getattr(code, "co_exceptiontable", b"")
        if _IMPURE_CODES & set(code.co_code[::2]):
            raise NotHashable(f"{code.co_name} imports a module or sets a global variable while it is staged")
        self.lines.append(f"code {counts} {names} {code.co_code.hex()} {code.co_linetable.hex()} {table.hex()}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self.lines.append(f"constant {digest_plain(constant)}")


def _of_library(value: Any) -> bool:
    """Whether it is a function, ufunc or type of a library, and found there under its name."""
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value
    if getattr(value, "__self__", None) is not None and value.__self__ is math:
        return True
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if not isinstance(module, str) or not callable(value) or name in _IMPURE:
        return False
    if isinstance(value, type):
        return module.partition(".")[0] in ("numpy", "builtins")
    return module.partition(".")[0] == "numpy" and getattr(np, name, None) is value


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def source_unchanged(function: types.FunctionType) -> bool:
    """Whether the source that staging reads is what the function was compiled from.

    A file may have changed since it was imported; its text then says another thing than the code that is digested.
    """
    import linecache

    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        return False
    try:
        whole = compile(text, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return any(found == code for found in _codes(whole))


def _codes(code: types.CodeType) -> list[types.CodeType]:
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += _codes(constant)
    return found
