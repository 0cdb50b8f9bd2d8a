"""`try` and `with`: errors that Python raises while the function is staged are the program's, and handlers take them.

What only the compiled function can raise, a check of an index or a `raise` in a branch on values, no handler sees: the
call raises it.  So a check that stays in the program, of an error that a handler would take, or behind which something
is to be cleaned up, is refused (`Trace.guarded`).  What is refused is no error of the program's, and passes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ....diagnostics import TxcError, error_loc, is_pythons, user_loc
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import Ended, as_pythons, is_certain
from ..calls.builtins import Quiet, staging_error
from .statements import Statements

if TYPE_CHECKING:
    from ..runtime import StagedRuntime

__all__ = ["Attempts"]

#: Classes that stand for Python's and NumPy's: an error that names one is about what stands there, and no program's.
_OURS = re.compile(r"\b(Tensor|SymInt|OneOf|MixedNumber|GrowingList|StagedDict|StagedRange|Undefined|Generated)\b")


class Attempts(Statements):
    """`try` and `with`."""

    def handling(self, *kinds: Callable[[], Any]) -> Attempt:
        """The body of a `try` with handlers of those errors; None: of all."""
        return Attempt(kinds)

    def cleaning_up(self) -> contextlib.AbstractContextManager[Any]:
        """What stands before a `finally`."""
        return _guarded(BaseException)

    def context(self, manager: Any) -> Any:
        """What is entered instead of the manager of a `with`."""
        if isinstance(manager, (np.errstate, Quiet, contextlib.nullcontext)):
            return manager
        if isinstance(manager, contextlib.suppress):
            kinds = manager._exceptions  # pyright: ignore[reportAttributeAccessIssue]
            return Attempt([lambda: kinds])
        kind = type(manager)
        if all(hasattr(getattr(kind, name, None), "__code__") for name in ("__enter__", "__exit__")):
            if not kind.__module__.startswith(("contextlib", "threading", "multiprocessing")):
                return _Entered(self, manager)  # pyright: ignore[reportArgumentType]
        raise staging_error(
            f"with {kind.__name__} is not staged: it would be entered once, while the function is compiled",
            "enter it around the call of the compiled function",
            "TX0322",
        )


class Attempt:
    """The body of a `try`: which handler takes the error that leaves it, by its number, and the error."""

    def __init__(self, kinds: Any):
        self.kinds = kinds
        self.which: int | None = None
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        self._checks = _guarded(lambda kind: self._taker(kind) is not None)
        self._checks.__enter__()
        return self

    def __exit__(self, _: Any, raised: BaseException | None, traceback: TracebackType | None) -> bool:
        self._checks.__exit__(None, None, None)
        if isinstance(raised, NameError) and self._taker(type(raised)) is not None:
            text = f"{type(raised).__name__} is taken by a handler: {raised}"
            raise TxcError(text, error_loc(raised), "give the name a value before the try", "TX0311") from raised
        error = _of_program(raised)
        if error is None:
            return False
        self.which = self._taker(type(error))
        if self.which is not None:
            self.error = error
        return self.which is not None

    def _taker(self, kind: type[BaseException]) -> int | None:
        for number, taken in enumerate(self.kinds):
            kinds = taken()
            if kinds is None or issubclass(kind, kinds):
                return number
        return None


class _Entered:
    """A manager of one of the program's classes, whose methods are staged."""

    def __init__(self, runtime: StagedRuntime, manager: Any):
        self.runtime, self.manager = runtime, manager
        self._checks = _guarded(BaseException)

    def __enter__(self) -> Any:
        made = self.runtime.fn(type(self.manager).__enter__)(self.manager)
        self._checks.__enter__()
        return made

    def __exit__(self, _: Any, raised: BaseException | None, traceback: TracebackType | None) -> bool:
        self._checks.__exit__(None, None, None)
        error = _of_program(raised)
        if raised is not None and error is None:
            return False
        given = (None, None, None) if error is None else (type(error), error, traceback)
        drops = self.runtime.truth(self.runtime.fn(type(self.manager).__exit__)(self.manager, *given))
        if error is not None and isinstance(drops, Tensor):
            text = "whether __exit__ drops an error is known only when the compiled function runs"
            raise staging_error(text, "let it return True or False", "TX0322")
        return error is not None and bool(drops)


def _of_program(raised: BaseException | None) -> BaseException | None:
    """The error of the program's that has left a block, as Python has it; None where there is none."""
    if isinstance(raised, Ended):
        return raised.error if require().is_outermost(raised) else None
    if not isinstance(raised, Exception) or isinstance(raised, (NameError, RecursionError, MemoryError)):
        return None
    trace = require()
    if not is_pythons(raised) or not trace.is_outermost(raised) or not is_certain(trace, raised):
        return None
    if isinstance(raised, (TypeError, AttributeError)) and _OURS.search(str(raised)):
        text = f"whether {type(raised).__name__} is raised is not known while the function is compiled: {raised}"
        raise TxcError(text, error_loc(raised), "check it before the try", "TX0311") from raised
    return as_pythons(trace, raised)


def _guarded(kinds: Any) -> contextlib.AbstractContextManager[Any]:
    takes = kinds if not isinstance(kinds, type) else lambda kind: issubclass(kind, kinds)
    return require().guarding(takes, user_loc(2))
