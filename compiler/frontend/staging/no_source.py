"""Functions whose source cannot be read, of the interpreter's prompt or `exec`: they are traced as they are.

What staging would have made of their loops and of `np.zeros` does not happen then, and the user is told so.
"""

from __future__ import annotations

import dis
import types
import warnings
from typing import TYPE_CHECKING

from ....dialects.registry import OpError
from ...diagnostics import user_loc

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = ["note_traced_plainly", "refuse_array"]


def note_traced_plainly(function: types.FunctionType, trace: Trace) -> None:
    """The function is traced as it is; a UserWarning of code TX0323 at its definition where it has a loop."""
    code = function.__code__
    trace.plain.add((code.co_filename, code.co_name))
    if code.co_name == "<lambda>" or not _has_loop(code):
        return
    warnings.warn_explicit(
        f"the source of {code.co_name} cannot be read, so it is traced as it is: its loops are unrolled, and code is "
        "compiled anew for each number of iterations. Define it in a file or a notebook cell [TX0323]",
        UserWarning,
        code.co_filename,
        code.co_firstlineno,
        registry=function.__globals__.setdefault("__warningregistry__", {}),
    )


def _has_loop(code: types.CodeType) -> bool:
    return any(i.opname == "FOR_ITER" or "JUMP_BACKWARD" in i.opname for i in dis.get_instructions(code))


def refuse_array(trace: Trace, what: str) -> OpError:
    """The error where `what` asks a tensor of the trace for an array."""
    loc = user_loc()
    if loc is not None and (loc.filename, loc.function) in trace.plain:
        return OpError(
            f"{what} asks a traced tensor for a NumPy array, as a store into one does; the source of {loc.function} "
            "cannot be read, so np.zeros and the like make arrays in it at once, which hold no tensors",
            f"define {loc.function} in a file or a notebook cell, or build the result with np functions",
            "TX0324",
        )
    return OpError(
        f"a traced tensor has no NumPy array yet, which {what} asks for", "use np functions on it directly", "TX0232"
    )
