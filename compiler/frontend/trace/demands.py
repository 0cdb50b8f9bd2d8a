"""What the function raises where compiled code decides: a check, behind which the rest runs only where it holds.

A trace keeps whether all such checks held so far in a tensor that branches and loops carry as they do arrays that are
written.  The rest of the open block becomes the region of an ``if`` on it, so what Python would not do is not done: no
store, and no loop that might not end.  The region ends where the block around it does (`data_dependent_sizes.closed`).
Where nothing in it does more than compute, it needs no region: what it computes, nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....dialects.registry import OPS, CertainError, OpError
from ....dialects.tx_internal import Empty
from ....dialects.types import TensorType
from ....runtime.check_errors import ERRORS
from ...diagnostics import Loc, at, error_loc, is_pythons, spelled, user_loc
from ..tensor.apply import apply
from ..tensor.tensor import Tensor
from .emit import constant, emit, resolved
from .graph import Block, Node, Value, inside, schedule

if TYPE_CHECKING:
    from .trace import Trace

__all__ = ["Ended", "Guard", "as_pythons", "demand", "end_by", "go_on", "is_certain"]


class Ended(Exception):
    """The part of the program that is staged ends here, in a region of compiled code, with an `error` of its own."""

    def __init__(self, error: BaseException):
        self.error = error


@dataclass
class Guard:
    """The rest of an open block as the region of an ``if`` on `holds`."""

    block: Block
    holds: Value
    loc: Loc | None
    #: What storage that is written in the region held before.
    before: dict[Tensor, Value] = field(default_factory=dict)
    #: For what such storage holds at the end of the region, what it held before.
    kept: Mapping[Value, Value] | None = None

    def end(self) -> Mapping[Value, Value]:
        """`kept`, of storage as it is now where the region has not ended yet."""
        if self.kept is None:
            for owner in [t for t in self.before if inside(t._home, self.block)]:
                del self.before[owner]  # nobody outside sees it
            self.kept = {owner.value: before for owner, before in self.before.items()}
        return self.kept

    def close(self, trace: Trace, inner: Sequence[Value], origin: Mapping[Value, Value]) -> dict[Value, Value]:
        """The values behind the region of those in it that it hands on; `origin` are what these were when it ended."""
        kept = self.end()
        trace.leave(trace.blocks.index(self.block))
        before = {v: kept[origin.get(v, v)] for v in inner if origin.get(v, v) in kept}
        nodes = schedule(inner, self.block, self.block.demands)
        truth = trace.fine
        plain = all(truth is owner for owner in self.before)
        if plain and not any(node.op is OPS["while"] for node in _walk(nodes)):
            trace.take_over(nodes, self.block)
            return {}
        types = [resolved(v) for v in inner]
        instead = Block((), trace.block)
        trace.blocks.append(instead)
        instead.outputs = [before[v] if v in before else _anything(t, self.loc) for v, t in zip(inner, types)]
        trace.blocks.pop()
        self.block.outputs = list(inner)
        results = emit(OPS["if"], (self.holds,), {}, types, (self.block, instead), self.loc)
        return dict(zip(inner, results))


def _anything(t: TensorType, loc: Loc | None) -> Value:
    return emit(Empty, (), {"dtype": t.dtype, "dims": t.dims}, [t], loc=loc)[0]


def _walk(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for region in node.regions:
            yield from _walk(region.nodes())


def demand(trace: Trace, holds: Tensor | bool, error: BaseException) -> None:
    """From here on the open block runs only where `holds`, a bool of rank 0; the call raises `error` elsewhere."""
    text = _text_of(trace, error)
    fine = all_fine(trace)
    checked = apply("require", fine, holds, text=text, error=type(error).__name__)
    fine.replace(apply("logical_and", checked, holds).value, fine.value, fine)
    go_on(trace)


#: Stores into what is read-only, or of what does not fit its dtype, and the truth of an array.
_IN_EVERY_ITERATION = frozenset({"TX0220", "TX0222", "TX0294"})


def end_by(trace: Trace, error: Exception) -> None:
    """End the open block by an error, where that was raised: by the function, or by Python at this place.

    Any other is raised, and so is one that left a region, which may not run, and one of sizes or indices where a loop
    may vary these, which not every iteration has (but see `CertainError`).  What Python says of a name without a value
    is no error of the program as long as loops around this are not settled.
    """
    with at(error_loc(error) or user_loc()):
        _end_by(trace, error)


def _end_by(trace: Trace, error: Exception) -> None:
    if isinstance(error, Ended):
        demand(trace, False, error.error)
        return
    if not is_pythons(error) or isinstance(error, (NameError, RecursionError)) or not trace.is_outermost(error):
        raise error
    if not is_certain(trace, error):
        raise error
    demand(trace, False, as_pythons(trace, error))


def is_certain(trace: Trace, error: Exception) -> bool:
    """Whether an error of Python's is one of every iteration of the loops around: not one of sizes that these vary."""
    if not isinstance(error, OpError) or not trace.table.loops:
        return True
    return error.code in _IN_EVERY_ITERATION or isinstance(error.__cause__, CertainError)


def as_pythons(trace: Trace, error: Exception) -> Exception:
    """An error of Python's as one of its own classes, with a text that is right in other calls too."""
    if not isinstance(error, OpError):
        return error
    kind = next(k for k in (IndexError, OverflowError, TypeError, ValueError) if isinstance(error, k))
    return kind(spelled(trace.table.without_values(error.message)))


def all_fine(trace: Trace) -> Tensor:
    """Whether all checks held so far."""
    if trace.fine is None:
        inner, trace.blocks[1:] = trace.blocks[1:], []
        trace.fine = Tensor(constant(True, "bool"), boxed=True)
        trace.blocks += inner
    return trace.fine


def go_on(trace: Trace) -> None:
    """Run the rest of the open block only where all checks held."""
    block = Block((), trace.block)
    trace.enter([block], [Guard(block, all_fine(trace).value, user_loc())])


def _text_of(trace: Trace, error: BaseException) -> str:
    """The message of an error that compiled code can raise; OpError where it cannot."""
    kind, said = type(error), error.args
    text = "" if not said else str(said[0])
    known = ERRORS.get(kind.__name__) is kind and len(said) < 2 and "{}" not in text
    if known and kind is KeyError:
        known = all(isinstance(s, str) for s in said)
    if known and trace.binds:
        return text
    what = "in a function of scalars" if known else repr(error)
    raise OpError(
        f"an error cannot be raised here by compiled code: {what}",
        "raise one of Python's own with a text, or raise it outside of the compiled function",
        "TX0311",
    )
