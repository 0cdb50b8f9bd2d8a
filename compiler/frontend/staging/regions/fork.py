"""The graph's ``if`` nodes: two regions, each from the state before, and one type for what both leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .....dialects.registry import OPS, OpError
from .....dialects.types import TensorType
from ....diagnostics import located, user_loc
from ...indexing.data_dependent_sizes import closed, leaves
from ...state.sharing import NOWHERE
from ...tensor.apply import as_tensor
from ...tensor.promotion import cast, common_dtype, truth
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.demands import Guard, go_on
from ...trace.emit import emit, resolved
from ...trace.graph import Block, Value, inside
from ...trace.symint import SymInt
from ...trace.undefined import Undefined
from ..rewriting.break_lowering import GENERATED_PREFIX

if TYPE_CHECKING:
    from ...indexing.data_dependent_sizes import Binding
    from ...trace.trace import Trace
from .region import among, own_writes, region, values_kept
from .stand_ins import anything_like, of_dims, zeros_like

__all__ = ["Fork", "if_", "not_one_bool"]


class Fork:
    """An ``if`` node while it is made: two regions, of which each runs from the state before, and what they join to."""

    def __init__(self, trace: Trace, cond: Tensor):
        self.trace, self.cond, self.loc = trace, truth(cond), user_loc()
        self.blocks: list[Block] = []
        #: For each side: its open blocks and the sizes that became known in them, as `Trace.enter` takes them.
        self._open: list[tuple[list[Block], list[Binding | Guard]]] = []
        #: For each side: the owners of storage that it wrote, with what it left them.
        self.written: list[dict[Tensor, Value]] = []

    @contextmanager
    def side(self) -> Iterator[Block]:
        """The region of the next side, first where the condition is true."""
        depth = len(self.trace.blocks)
        with region(self.trace, ()) as block:
            yield block
            own_writes(self.trace, block)
            self.written.append({t: t.value for t in self.trace.writes[-1]})
            self._open.append(self.trace.leave(depth))
        self.blocks.append(block)

    def leave_out(self, side: int) -> None:
        """Let a side that was run do nothing."""
        block = Block((), self.trace.block)
        self.blocks[side], self._open[side], self.written[side] = block, ([block], []), {}

    @contextmanager
    def at_end(self, side: int) -> Iterator[None]:
        """The end of a side again: its region open, storages as it left them."""
        with values_kept(list(self.written[side])), self._reopened(side):
            for owner, value in self.written[side].items():
                owner._value = value
            yield

    @contextmanager
    def _reopened(self, side: int) -> Iterator[None]:
        depth = len(self.trace.blocks)
        self.trace.enter(*self._open[side])
        try:
            yield
        finally:
            self.trace.leave(depth)

    def is_fresh(self, t: Tensor, side: int) -> bool:
        """Whether the storage of a tensor came to be inside that side."""
        return all(inside(root._home, self.blocks[side]) for root in roots(t))

    def typed(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor] | OpError:
        """Two values of one place, as at the end of each side, of one type; the error where they are of none."""
        try:
            with self.trace.only_if_used():
                if a is NOWHERE or b is NOWHERE:
                    return self._on_one_side(a, b, name)
                return self._as_one_type(a, b, name)
        except OpError as error:
            return error

    def join(self, sides: Sequence[tuple[Tensor, Tensor] | OpError]) -> list[Tensor | OpError]:
        """The values of places after the node, from what is `typed` of them; what cannot be one is an error."""
        joined = [pair for pair in sides if not isinstance(pair, OpError)]
        written = list(dict.fromkeys(owner for side in self.written for owner in side))
        for i, block in enumerate(self.blocks):
            outputs = [pair[i].value for pair in joined] + [self.written[i].get(t, t.value) for t in written]
            with self._reopened(i):
                block.outputs = closed(self.trace, block, outputs)
        types = [resolved(v) for v in self.blocks[0].outputs]
        is_seen = types or any(block.demands for block in self.blocks)
        results = emit(OPS["if"], (self.cond.value,), {}, types, self.blocks, self.loc) if is_seen else ()
        for t, r in zip(written, results[len(joined) :]):
            self.trace.record_write(t, t.value, t)
            t._value = r
        if self.trace.fine is not None and among(self.trace.fine, written):
            go_on(self.trace)
        rest = iter(results)
        return [pair if isinstance(pair, OpError) else _like_both(next(rest), *pair) for pair in sides]

    def _on_one_side(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
        """The value of a place that is on one side, and anything of its type on the other: False, or 0, of scalars."""
        side = 0 if b is NOWHERE else 1
        with self.at_end(side):
            there = _as_it_is(as_tensor((a, b)[side]))
        if not all(map(self.trace.table.knows, there.dims)):
            raise leaves(there.type)
        with self.at_end(1 - side):
            instead = anything_like(there) if there.ndim else zeros_like(there)
        return (there, instead) if side == 0 else (instead, there)

    def _as_one_type(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
        """Two values of one place, each as at the end of its side, at one dtype and shape."""
        if name.startswith(GENERATED_PREFIX) and isinstance(a, Undefined) is not isinstance(b, Undefined):
            # A flag says that it has no value here: it may be anything.
            side = 0 if isinstance(a, Undefined) else 1
            with self.at_end(side):
                zeros = zeros_like(as_tensor(b if side == 0 else a))
            a, b = (zeros, b) if side == 0 else (a, zeros)
        ends: list[Tensor] = []
        for side, x in enumerate((a, b)):
            if not isinstance(x, (Tensor, SymInt, bool, int, float, complex)) and not hasattr(x, "dtype"):
                raise OpError(
                    f"{name} is set in only one branch of an if, or is no number or tensor",
                    f"give {name} a value before the if",
                    "TX0295",
                )
            with self.at_end(side):
                ends.append(_as_it_is(as_tensor(x)))
        if (rounded := _rounded(*ends)) is not None:
            number, kind = rounded
            raise OpError(
                f"{name} is {number!r} in one branch of an if and {kind} in the other, which would round it",
                "give it one dtype: a NumPy scalar for the number, or float() of the other",
                "TX0295",
            )
        for t in ends:
            if not all(map(self.trace.table.knows, t.dims)):
                raise leaves(t.type)
        then, otherwise = ends
        first, second = self._of_one_shape(then, otherwise, name)
        if not first.ndim and first.boxed is not second.boxed:
            text = f"{name} is an array of rank 0 in one branch of an if and a number in the other"
            raise OpError(text, "let both give an array: np.asarray(…)", "TX0295")
        if (first.ndim or first.boxed) and first.element is not second.element:
            raise OpError(_differ(first, second, name), "give it one dtype with astype", "TX0295")
        return self._of_one_dtype(first, second)

    def _of_one_shape(self, first: Tensor, second: Tensor, name: str) -> tuple[Tensor, Tensor]:
        text = _differ(first, second, name)
        if first.ndim != second.ndim:
            raise OpError(text, "give it one shape", "TX0295")
        for m, n in zip(first.type.dims, second.type.dims):
            try:
                self.trace.table.equate(m, n, f"{name} has one shape after an if")
            except OpError as error:
                raise OpError(text, error.message, "TX0295") from error
        with self._reopened(1):
            # Sizes that became known in a branch are no others': they cannot leave it, which `closed` says.
            return first, of_dims(second, first.dims) if all(map(self.trace.table.knows, first.dims)) else second

    def _of_one_dtype(self, *ends: Tensor) -> tuple[Tensor, Tensor]:
        element, weak = common_dtype(ends), all(t.weak for t in ends)
        made: list[Tensor] = []
        for side, t in enumerate(ends):
            if t.element is not element:
                with self._reopened(side):
                    was = t.weak
                    t = cast(t, element)
                    t.weak = was if weak else ""
            made.append(t)
        return made[0], made[1]


def _rounded(*ends: Tensor) -> tuple[Any, TensorType] | None:
    """A number of Python's of two values that are to have one type, where it is none of that type, and the type."""
    element = common_dtype(ends)
    for t, other in zip(ends, ends[::-1]):
        node = t.value.node
        if t.weak and t.element is not element and node.op is OPS["constant"] and not element.kind == "bool":
            number = np.asarray(node.attrs["value"])
            with np.errstate(all="ignore"):
                if number == number and number.astype(element.numpy).astype(number.dtype) != number:
                    return number.item(), other.user_type
    return None


def _differ(first: Tensor, second: Tensor, name: str) -> str:
    return f"{name} is {first.user_type} in one branch of an if and {second.user_type} in the other"


def _like_both(value: Value, a: Tensor, b: Tensor) -> Tensor:
    """The result of an `if` whose sides gave two tensors of one type."""
    return Tensor(value, layout=a.layout, weak=a.weak if a.weak == b.weak else "", boxed=a.boxed and b.boxed)


def if_(
    trace: Trace, cond: Any, then: Callable[[], Any], otherwise: Callable[[], Any], names: Sequence[str] = ()
) -> tuple[Any, ...]:
    """The variables after ``if cond``: each branch gives them as a tuple, equal in number and shape."""
    if not isinstance(cond, Tensor):
        chosen = then() if cond else otherwise()
        return tuple(chosen) if isinstance(chosen, (tuple, list)) else (chosen,)
    with located():
        if cond.ndim:
            raise not_one_bool("if", cond)
        fork, returned = Fork(trace, cond), []
        for branch in (then, otherwise):
            with fork.side():
                result = branch()
                returned.append(list(result) if isinstance(result, (tuple, list)) else [result])
        if len(returned[0]) != len(returned[1]):
            raise OpError("the branches of an if give different numbers of values", code="TX0295")
        labels = [names[i] if i < len(names) else f"value {i}" for i in range(len(returned[0]))]
        found = fork.join([fork.typed(*pair) for pair in zip(*returned, labels)])
        for one in found:
            if isinstance(one, OpError):
                raise one
        return tuple(found)


def not_one_bool(what: str, condition: Tensor) -> OpError:
    return OpError(
        f"the condition of {what} is {condition.user_type}, not one bool",
        "use np.where for a choice element by element, or .any() / .all()",
        "TX0294",
    )


def _as_it_is(x: Tensor) -> Tensor:
    """A tensor of its own with the present value of a tensor."""
    return Tensor(x.value, layout=x.layout, weak=x.weak, boxed=x.boxed)
