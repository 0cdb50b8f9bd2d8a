"""Errors that point at the user's line, and how a node learns which line made it."""

from __future__ import annotations

import linecache
import re
import sys
from _thread import _local  # `threading.local`, without the rest of that module
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from opcode import opname
from types import CodeType, FrameType

from ..dialects.registry import OpError

__all__ = [
    "Loc", "TxcError", "at", "error_loc", "file_text", "head_of", "is_pythons", "located", "name_counter", "spelled",
    "user_loc",
]  # fmt: skip

_HIDDEN = ("txc.", "numpy.")
#: Places by code object and instruction, asked for with every node; None for code that is txc's or NumPy's.  By
#: identity, because code objects hash all of their instructions.  Lists of all positions of a code, as long as that,
#: are kept for those asked last: a staged function and the parts of its statements take turns.
_places: dict[int, tuple[CodeType, dict[int, Loc] | None]] = {}
_positions: dict[int, tuple[CodeType, list[tuple[int | None, int | None, int | None, int | None]]]] = {}
_MOST_POSITIONS = 64


@dataclass(frozen=True)
class Loc:
    """A place in the user's program; columns count from 0, `end_column` is after the last character."""

    filename: str
    line: int
    column: int = 0
    end_column: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"


class _Override(_local):
    """What `at` says in this thread, the innermost last; an attribute of the class while it never did."""

    stack: tuple[Loc | None, ...] = ()


_override = _Override()


#: What has a name of ours, and how Python writes what it is: what `return` gives, the stride or the size of an
#: argument's dim, a number of the call.
_SPELLINGS = (
    (re.compile(r"(['`]?)__txc_value\w*\1"), "the result"),
    (re.compile(r"\$((?:\w+\.)*\w+)\.s(\d+)\b"), r"\1.strides[\2]"),
    (re.compile(r"(?<![\w.$/])([A-Za-z_]\w*(?:\.\w+)*)\.(\d+)(?![\w./])"), r"\1.shape[\2]"),
    (re.compile(r"\$(?=[A-Za-z_])"), ""),
)
#: The key of a dict in the name of its item (`call/argument.item_name`).
_KEY = re.compile(r"\.__key_\d+_((?:[0-9a-f]{2})+)")


class _Counters(_local):
    """The user's names of this thread's loop counters, by their symbols."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}


_counters = _Counters()


def name_counter(symbol: str, name: str) -> None:
    """Errors call a loop's counter by the user's name; where there is none (empty), ``iteration``, from 0 on."""
    _counters.names[symbol] = name or "iteration"


def spelled(text: str) -> str:
    """A message in Python's words: ``x.shape[0]`` for the symbol ``x.0``, ``n`` for ``$n``, ``i`` for ``iv0``."""
    text = re.sub(r"\$?\biv\d+\b", lambda found: _counters.names.get(found[0], found[0]), text)
    for symbol, spelling in _SPELLINGS:
        text = symbol.sub(spelling, text)
    return _KEY.sub(lambda found: f"[{bytes.fromhex(found[1]).decode()}]", text)


class TxcError(OpError):
    """An error with the user's line.  `message` alone is what went wrong; `str` adds place, caret, hint and code."""

    def __init__(self, message: str, loc: Loc | None = None, hint: str = "", code: str = "TX0001"):
        super().__init__(spelled(message), spelled(hint), code)
        self.loc = loc

    def __str__(self) -> str:
        lines = [f"{self.message} [{self.code}]"]
        if self.loc is not None:
            where = f", in {self.loc.function}" if self.loc.function else ""
            lines.append(f"  --> {file_text(self.loc.filename)}:{self.loc.line}{where}")
            source = linecache.getline(self.loc.filename, self.loc.line).rstrip()
            if source:
                start = self.loc.column
                width = max(1, min(self.loc.end_column, len(source)) - start)
                lines += [f"   | {source}", f"   | {' ' * start}{'^' * width}"]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks show: of the calls those that are the user's, and the error."""
        from traceback import walk_tb

        calls = ["Traceback of your calls, without txc's own:"]
        for frame, line in walk_tb(self.__traceback__):
            name, file = frame.f_globals.get("__name__") or "", frame.f_code.co_filename
            if not _is_hidden(name) and not name.startswith("IPython."):
                calls.append(f"  {file_text(file)}:{line}, in {_function_of(frame.f_code)}")
                calls.append(f"    {linecache.getline(file, line).strip()}")
        return [*calls, f"{type(self).__name__}: {self}"]


class TxcIndexError(TxcError, IndexError):
    """Of an index or axis that the tensor does not have: what Python and NumPy raise `IndexError` for."""


class TxcOverflowError(TxcError, OverflowError):
    """Of a Python int that does not fit where it has to be: what Python and NumPy raise `OverflowError` for."""


class TxcTypeError(TxcError, TypeError):
    """Of an operation on types that have none: what Python and NumPy raise `TypeError` for."""


def file_text(filename: str) -> str:
    """A file as messages name it: a cell of a notebook as IPython does, ``Cell In[3]``."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    name = None if shell is None else shell.compile.format_code_name(filename)
    return filename if name is None else " ".join(name)


#: The errors that are more than a ValueError, by code.
_CLASSES: dict[str, type[TxcError]] = {
    **dict.fromkeys(("TX0103", "TX0250", "TX0251"), TxcIndexError),
    **dict.fromkeys(("TX0112", "TX0222"), TxcTypeError),
    "TX0207": TxcOverflowError,
}


#: Codes of errors that Python and NumPy raise too when they come to that line: no refusals to compile.
_PYTHONS = frozenset({"TX0122", "TX0201", "TX0211", "TX0220", "TX0221", "TX0222", "TX0294"})


def is_pythons(error: BaseException) -> bool:
    """Whether Python, running the function, would raise such an error as well."""
    if isinstance(error, OpError):
        return isinstance(error, IndexError) or error.code in _PYTHONS
    return not type(error).__module__.startswith("txc.") and not _is_fault_of_ours(error)


#: Modules that follow no reference and read no item for the program: what goes wrong in them there is the compiler's.
_INTERNAL = (
    "txc.dialects.", "txc.compiler.frontend.indexing.", "txc.compiler.frontend.staging.regions.",
    "txc.compiler.frontend.state.alternatives.choice", "txc.compiler.frontend.state.loops.",
    "txc.compiler.frontend.state.merging.", "txc.compiler.frontend.state.values", "txc.compiler.frontend.tensor.",
    "txc.compiler.frontend.trace.",
)  # fmt: skip
#: The instructions by which a module's own text reads an item, an attribute or a variable.
_READS = frozenset({
    "BINARY_OP", "BINARY_SUBSCR", "LOAD_ATTR", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_METHOD", "UNPACK_SEQUENCE",
})  # fmt: skip


def _is_fault_of_ours(error: BaseException) -> bool:
    """Whether it is a mistake of the compiler: a failed `assert`, or an item or attribute that is not there.

    Not where the program's own `assert` failed (`ControlFlow.asserted`), or what was raised says what Python would.
    """
    if not isinstance(error, (AssertionError, AttributeError, LookupError, UnboundLocalError)):
        return False
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    if innermost is None:
        return False
    code, module = innermost.tb_frame.f_code, innermost.tb_frame.f_globals.get("__name__", "")
    if isinstance(error, AssertionError):
        return code.co_name != "asserted" and module.startswith("txc.")
    return module.startswith(_INTERNAL) and opname[code.co_code[innermost.tb_lasti]] in _READS


def user_loc(inner: int = 1) -> Loc | None:
    """Where the user's code is now: the innermost frame that is neither txc's nor NumPy's, or what `at` says.

    The caller knows that the `inner` innermost frames, itself first, are txc's.
    """
    stack = _override.stack
    if stack:
        return stack[-1]
    frame: FrameType | None = sys._getframe(inner + 1)
    while frame is not None:
        code = frame.f_code
        _, places = _places.get(id(code)) or _new_code(code, frame.f_globals.get("__name__") or "")
        if places is not None:
            return places.get(frame.f_lasti) or _new_place(code, frame.f_lasti, places)
        frame = frame.f_back
    return None


def error_loc(error: BaseException) -> Loc | None:
    """Where the user's code raised an error: the innermost frame of its traceback that is neither txc's nor NumPy's."""
    found, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        _, places = _places.get(id(code)) or _new_code(code, step.tb_frame.f_globals.get("__name__") or "")
        if places is not None:
            found = places.get(step.tb_lasti) or _new_place(code, step.tb_lasti, places)
        step = step.tb_next
    return found


def head_of(function: Callable[..., object]) -> Loc:
    """The line on which a function begins."""
    code = function.__code__
    return Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__)


def _new_code(code: CodeType, module: str) -> tuple[CodeType, dict[int, Loc] | None]:
    """What is known of a module's code that nobody asked for before."""
    return _places.setdefault(id(code), (code, None if _is_hidden(module) else {}))


def _is_hidden(module: str) -> bool:
    """Whether a module's code is txc's or NumPy's, or runs these."""
    return module.startswith(_HIDDEN) or module in ("txc", "numpy", "contextlib")


def _new_place(code: CodeType, instruction: int, places: dict[int, Loc]) -> Loc:
    """A place that nobody asked for before."""
    known = _positions.pop(id(code), None)
    if known is None or known[0] is not code:
        known = code, list(code.co_positions())
    _positions[id(code)] = known
    if len(_positions) > _MOST_POSITIONS:
        _positions.pop(next(iter(_positions)), None)
    line, end_line, column, end_column = known[1][instruction // 2]
    if end_line != line:
        end_column = None
    found = Loc(code.co_filename, line or code.co_firstlineno, column or 0, end_column or 0, _function_of(code))
    return places.setdefault(instruction, found)


def _function_of(code: CodeType) -> str:
    """The function that code is of, by its name: also that of a lambda in it, as staging makes some of statements."""
    named = [part for part in code.co_qualname.split(".") if not part.startswith(("<", "__txc_"))]
    return named[-1] if named else code.co_name


@contextmanager
def at(loc: Loc | None) -> Iterator[None]:
    """Nodes made inside come from `loc`: for programs that are not Python frames."""
    before, _override.stack = _override.stack, (*_override.stack, loc)
    try:
        yield
    finally:
        _override.stack = before


class _Located:
    """What `located` gives.  It has no state, and is no generator: every operation of a lazy expression enters it."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, OpError) and not isinstance(error, TxcError):
            raise _CLASSES.get(error.code, TxcError)(error.message, user_loc(), error.hint, error.code) from error


_LOCATED = _Located()


def located() -> _Located:
    """Give an `OpError` raised inside the user's line."""
    return _LOCATED
