"""Running a program by Python and by txc, and what comes of it.

`WAYS` are how txc runs it: ``jit`` compiles the function; ``eager`` runs it by Python on lazy tensors; ``tx`` is the
same text, without NumPy's name, as a `.tx` file.  In each way the interpreter of graphs may stand where machine code
is, which tries the front end alone, in a fifth of the time.  Each call of a program has arguments of its own, and the
compiled function is one, so that what it took for a fact is seen.
"""

from __future__ import annotations

import linecache
import re
import signal
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numpy as np

import txc
from txc.compiler.diagnostics import TxcError, is_pythons
from txc.compiler.frontend.tensor.tensor import Tensor
from txc.dialects.types import dtype

from .generate import PRELUDE, Program
from .interpreted import interpreted

__all__ = ["FAULTS", "WAYS", "Outcome", "compare"]

WAYS = ("jit", "eager", "tx")
#: The verdicts that are mistakes of txc: another value or effect; an exception that Python does not raise, or none
#: where Python raises; a refusal without the line of the program.
FAULTS = ("different", "raised", "unplaced")
#: What sums are no longer exact beyond, so that their order matters.
_LARGE = 2.0**20
_numbers = count()


class Outcome(NamedTuple):
    """``same``, ``refused`` (with its code and line), one of `FAULTS`; or, for what is not to be compared, ``large``,
    ``endless``, and in `.tx`, whose indices are not checked, ``raises``.

    Large are sums whose order matters, ints of Python beyond 64 bits, which txc raises for, and floats that become an
    integer which does not hold them (`docs/reference/numbers.md`).
    """

    verdict: str
    code: str = ""
    detail: str = ""
    line: int = 0


def compare(program: Program, way: str = "jit", *, by_code: bool = True, device: str = "cpu") -> Outcome:
    """What Python and txc do with a program: its results, and what it leaves in its arguments.

    Without `by_code` the interpreter of graphs stands where machine code is.
    """
    text = PRELUDE + program.text
    name = f"<program {next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    try:
        code = compile(text, name, "exec")
        outcome = _compared(program, code, name, way, device) if by_code else None
        if outcome is not None and outcome.verdict not in ("different", "raised"):
            return outcome
        with interpreted() as seen:
            outcome_of_interpreter = _compared(program, code, name, way)
        outcome = outcome or outcome_of_interpreter
        # What is stored then differs, and NumPy raises where an int made of such a float does not fit.
        return Outcome("large") if seen.saturated and outcome.verdict in ("different", "raised") else outcome
    finally:
        del linecache.cache[name]


def _compared(program: Program, code: types.CodeType, name: str, way: str, device: str = "cpu") -> Outcome:
    theirs, ours = types.ModuleType("theirs"), types.ModuleType("ours")
    for module in (theirs, ours):
        exec(code, module.__dict__)
    f: Callable[..., Any] = _eager(ours.f) if way == "eager" else txc.jit(ours.f, device=device)
    if way == "tx":
        f = _loaded(program, name)
    outcome = Outcome("same")
    for call in program.calls:
        given, copied = (eval(f"[{call}]", {"np": np}) for _ in range(2))
        outcome = _call(theirs, ours, f, given, copied, name, way)
        if outcome.verdict != "same":
            break
    return outcome


def _call(
    theirs: types.ModuleType, ours: types.ModuleType, f: Callable[..., Any], given: list[Any], copied: list[Any],
    name: str, way: str,
) -> Outcome:  # fmt: skip
    try:
        with _limited():
            how, expected = _run(theirs.f, given)
    except _Endless:
        return Outcome("endless")
    if way == "tx" and how == "raised":
        return Outcome("raises")
    got_how, got = _run(f, copied)
    if got_how == "refused":
        assert isinstance(got, TxcError)
        # An error of the compiler's own class is a ValueError whatever is wrong: it is Python's where its code is.
        kinds = [ValueError] if is_pythons(got) else []
        kinds += [kind for kind in (IndexError, OverflowError, TypeError) if issubclass(type(got), kind)]
        if how == "raised" and isinstance(expected, tuple(kinds)):
            return Outcome("same")
        loc = got.loc if got.loc is not None and got.loc.filename == name else None
        line = loc.line - PRELUDE.count("\n") if loc is not None else 0
        # A line of the helpers is one of the program's.  What a `.tx` function demands of its arguments is an error of
        # the call.
        placed = loc is not None or (way == "tx" and got.code == "TX0552")
        return Outcome("refused" if placed else "unplaced", got.code, str(got), line)
    if how == "raised" or got_how == "raised":
        if how == got_how and _public(type(got)) is _public(type(expected)):
            return Outcome("same")
        if isinstance(got, OverflowError) and "64 bits" in str(got):
            return Outcome("large")
        return Outcome(
            "raised", type(got).__name__ if got_how == "raised" else "", f"Python: {expected!r}\n   txc: {got!r}"
        )
    sides = (expected, given, theirs.GLOBAL), (got, copied, ours.GLOBAL)
    if any(_is_large(x) for x in sides[0]):
        return Outcome("large")
    # Lazy tensors and `.tx` have no numbers of Python's.
    typed = way == "jit"
    if _same(sides[1], sides[0], typed):
        return Outcome("same")
    return Outcome("different", "", _difference(sides[0], sides[1], typed))


def _run(f: Callable[..., Any], arguments: list[Any]) -> tuple[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", f(*arguments)
    except TxcError as error:
        return "refused", error
    except Exception as error:
        return "raised", error


def _public(kind: type[BaseException]) -> type[BaseException]:
    """The kind of an error that programs can name: ufuncs raise private kinds of TypeError."""
    return next(k for k in kind.__mro__ if not k.__module__.startswith("numpy._core"))


class _Endless(BaseException):
    """A program takes longer than any should."""


@contextmanager
def _limited(seconds: float = 2.0) -> Iterator[None]:
    """_Endless raised after some time, where signals can say so."""

    def stop(*_: Any) -> None:
        raise _Endless

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on lazy tensors of its arrays, what it leaves in which goes back to the arrays."""

    def called(*arguments: Any) -> Any:
        made: dict[int, Tensor] = {}
        for array in arguments:
            if isinstance(array, np.ndarray):
                made.setdefault(id(array), txc.asarray(array, copy=True))
        results = function(*(made.get(id(x), x) for x in arguments))
        arrays = {id(x): x for x in arguments if isinstance(x, np.ndarray)}
        for key, tensor in made.items():
            arrays[key][...] = np.asarray(tensor)
        return _arrays(results)

    return called


def _loaded(program: Program, name: str) -> Callable[..., Any]:
    """The function as text of the `.tx` language, by the types of its first call, when it is called."""
    given = eval(f"[{program.calls[0]}]", {"np": np})
    names = re.findall(r"\w+", program.lines[0].partition("(")[2])
    types = []
    for name_of, value in zip(names, given):
        if isinstance(value, np.ndarray):
            sizes = ", ".join(f"{name_of}{i}" for i in range(value.ndim))
            types.append(f"{name_of}: {dtype(value.dtype)}[{sizes}]")
        else:
            types.append(f"{name_of}: {_NUMBERS[type(value)]}")
    lines = [f"def f({', '.join(types)}):", *(line.replace("np.", "") for line in program.lines[1:])]
    text = "\n" * PRELUDE.count("\n") + "\n".join(lines) + "\n"
    return lambda *arguments: txc.compile_source(text, name).f(*arguments)


_NUMBERS = {bool: "bool", int: "i64", float: "f64"}


def _arrays(value: Any) -> Any:
    """A result with NumPy's arrays in the place of tensors."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_arrays, value))
    if isinstance(value, dict):
        return {k: _arrays(v) for k, v in value.items()}
    return np.asarray(value)[()] if isinstance(value, Tensor) else value


def _is_number(a: Any) -> bool:
    return isinstance(a, (bool, int, float, complex, np.generic))


def _is_large(a: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return any(map(_is_large, a))
    if isinstance(a, dict):
        return any(map(_is_large, a.values()))
    if isinstance(a, (float, complex, np.floating, np.complexfloating)) or (
        isinstance(a, np.ndarray) and a.dtype.kind in "fc"
    ):
        return bool(np.size(a)) and not bool(np.all(np.abs(a) < _LARGE))
    return False


def _same(a: Any, b: Any, typed: bool) -> bool:
    """Whether two results are one value: numbers, of one type where they are `typed`, arrays of one dtype and shape."""
    if _is_number(a) and _is_number(b) and (type(a) is type(b) or not typed):
        if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
            return int(a) == int(b)
        return bool(a == b) or bool(np.isclose(a, b, 1e-5, 1e-5, equal_nan=True))
    if type(a) is not type(b):
        return False
    if isinstance(a, (types.FunctionType, types.BuiltinFunctionType)):
        return True
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y, typed) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[k], b[k], typed) for k in a)
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return np.array_equal(a, b) or np.allclose(a, b, 1e-5, 1e-5, equal_nan=True)
    return bool(a == b)


def _difference(expected: Any, got: Any, typed: bool, at: str = "") -> str:
    """The parts that differ, Python's first."""
    if isinstance(expected, (tuple, list)) and isinstance(got, type(expected)) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got))
        parts = [_difference(a, b, typed, f"{at}[{i}]") for i, (a, b) in pairs if not _same(a, b, typed)]
        return "\n".join(parts)
    return f"{at}: Python {_shown(expected)}, txc {_shown(got)}"


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())
