"""Which rounds of a `while` over Python's numbers become a loop, whose numbers then are tensors.

Only those that compute with what is known at run time; Python goes round itself where only its own numbers change.
Python's ints have any number of digits and a loop's have 64 bits, so ints may only change by what cannot leave these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ....diagnostics import TxcError, user_loc
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.graph import Value
from ...trace.symint import SymInt
from ...trace.undefined import Undefined

__all__ = ["LIMIT", "REFUSALS", "WRITTEN_OUT", "NotALoop", "computing", "endless", "worth_a_loop"]

#: The most rounds of a loop that each add to the program while it is staged.
LIMIT = 10_000
#: The most iterations that are written out because they are no loop of compiled code.
WRITTEN_OUT = 1_000
#: Steps of this size do not leave 64 bits in the time that anybody waits.
_STEP = 1 << 31
_KNOWN = (int, float, complex, np.generic)


class NotALoop(Exception):
    """What keeps rounds from being a loop."""


#: What a body raises where a number that Python knows has become a tensor; it raises them again where it is to blame.
REFUSALS = (NotALoop, OpError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


def endless(limit: int, refusal: Exception | None = None) -> TxcError:
    """The error of a loop that goes round too often while staging; `refusal` is why it is no compiled loop."""
    why = "" if refusal is None else f"; it is no loop of compiled code, because {_spoken(refusal)}"
    return TxcError(
        f"a loop goes round more than {limit} times while the function is compiled{why}",
        user_loc(),
        "count with for … in range(…), let the condition depend on an argument, or compute it outside the function",
        "TX0325",
    )


def _spoken(refusal: Exception) -> str:
    return refusal.message if isinstance(refusal, OpError) else str(refusal)


def worth_a_loop(names: Sequence[str], state: Sequence[Any]) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    """A check of what a round makes of its arguments, as one of many rounds from `state` on.

    Refused, at once or by the check, where these are Python's.
    """
    for name, value in zip(names, state):
        if isinstance(value, int) and abs(value) >> 62:
            raise NotALoop(f"{name!r} is an int of more than 62 bits")
    known = [isinstance(v, _KNOWN) for v in state]

    def check(values: Sequence[Any], after: Sequence[Any]) -> None:
        numbers = {v.value for v, n in zip(values, known) if n and isinstance(v, Tensor)}
        changed = False
        for name, before, value, made in zip(names, state, values, after):
            # What a `for` counts is an int in its body.
            if isinstance(before, Undefined) or isinstance(value, SymInt) or not isinstance(made, Tensor):
                continue
            if made is value:
                continue
            changed = changed or _computed_at_run_time(made.value, numbers)
            if isinstance(before, int) and made.weak == "int" and not _moves_little(made.value, numbers):
                raise NotALoop(f"{name!r} is an int that may get more than 64 bits")
        if not changed and not require().writes[-1]:
            raise NotALoop("only numbers that Python knows change in it")

    return check


def computing(
    names: Sequence[str], state: Sequence[Any], given: Callable[[], tuple[Sequence[Tensor], Sequence[Tensor]]]
) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    """A check of what an iteration over a known range makes of its arguments.

    Refused where only numbers change that Python knows: they stay Python's.  `given` are the items that the iteration
    appends to lists, and the arrays that gather these.
    """
    known = [isinstance(v, _KNOWN) for v in state]

    def check(values: Sequence[Any], after: Sequence[Any]) -> None:
        numbers = {v.value for v, n in zip(values, known) if n and isinstance(v, Tensor)}
        items, gathered = given()
        made = [*items, *(a for a, v in zip(after, values) if isinstance(a, Tensor) and a is not v)]
        if any(_computed_at_run_time(t.value, numbers) for t in made):
            return
        if all(any(owner is rows for rows in gathered) for owner in require().writes[-1]):
            raise NotALoop("only numbers that Python knows change in it")

    return check


def _computed_at_run_time(value: Value, numbers: set[Value]) -> bool:
    """Whether a value depends on anything but constants, those numbers, and what loops around count."""
    loops = require().table.loops
    rest, seen = [value], set(numbers)
    while rest:
        value = rest.pop()
        if value in seen:
            continue
        seen.add(value)
        node = value.node
        if node.op is None or node.regions:
            return True
        if node.op.name == "dim" and not node.attrs["expr"].symbols() <= loops.keys():
            return True
        rest += node.operands
    return False


def _moves_little(value: Value, numbers: set[Value]) -> bool:
    """Whether an int is one of those, or a constant, or what a few small steps, divisions and choices make of them."""
    if value in numbers or _constant(value) is not None:
        return True
    node = value.node
    name = "" if node.op is None else node.op.name
    if name == "select":
        return all(_moves_little(v, numbers) for v in node.operands[1:])
    if len(node.operands) != 2:
        return False
    first, second = node.operands
    by = _constant(second)
    if name == "add" and by is None:
        first, by = second, _constant(first)
    if by is None or not _moves_little(first, numbers):
        return False
    return abs(by) < _STEP if name in ("add", "sub") else by > 0 and name in ("floor_divide", "remainder")


def _constant(value: Value) -> int | None:
    """The int that a value is, None where it is not known or none."""
    found = value.node.attrs.get("value") if value.node.op is not None and value.node.op.name == "constant" else None
    return found if isinstance(found, int) else None
