"""Which values are still needed after an op, loops included: a next iteration needs what was made outside the loop."""

from __future__ import annotations

from bisect import bisect_right

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import kernel

__all__ = ["Liveness", "uses_inside"]


class Liveness:
    """How long values inside `top` are needed, while its ops stay where they are.

    Ops are numbered once, each before what is inside it, so that a question takes time in the depth of an op only,
    however long the program is and however often a value is used.
    """

    def __init__(self, top: Operation):
        self._top = top
        self._ops: list[Operation] = []
        self._first: dict[Operation, int] = {}
        self._last: dict[Operation, int] = {}
        self._uses: dict[SSAValue, list[int]] = {}
        self._needed: dict[SSAValue, int] = {}
        self._number(top)

    def _number(self, op: Operation) -> None:
        self._first[op] = len(self._ops)
        self._ops.append(op)
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self._number(inner)
        self._last[op] = len(self._ops) - 1

    def is_live_after(self, value: SSAValue, op: Operation) -> bool:
        """Whether some use of the value runs after `op` has finished."""
        home, behind = _home(value), self._last[op]
        repeated: Operation | None = None
        while op is not self._top and op.parent is not home:
            assert op.parent is not None and op.parent.last_op is not None
            if self._is_used(value, behind, self._last[op.parent.last_op]):
                return True
            around = op.parent_op()
            assert around is not None
            # The other regions of an op around do not run after this one, unless it runs again.
            op, behind = around, self._last[around]
            if isinstance(op, kernel.ForOp | kernel.WhileOp):
                repeated = op
        if self._is_used(value, behind, len(self._ops)):
            return True
        return repeated is not None and self._is_used(value, self._first[repeated], self._last[repeated])

    def is_over(self, value: SSAValue, op: Operation) -> bool:
        """Whether neither `op`, nor anything that ever runs after it, uses the value."""
        needed = self._needed.get(value)
        if needed is None:
            needed = self._needed[value] = self._needed_until(value)
        return needed < self._first[op]

    def _needed_until(self, value: SSAValue) -> int:
        """The number of the last op that may run before the value's last use, that use included."""
        uses, home = self._numbers(value), _home(value)
        if not uses:
            return -1
        user: Operation | None = self._ops[uses[-1]]
        while user is not None and user.parent is not home:
            user = user.parent_op()
        return len(self._ops) if user is None else self._last[user]

    def _is_used(self, value: SSAValue, behind: int, until: int) -> bool:
        """Whether an op uses the value that has a number above `behind`, and up to `until`."""
        numbers = self._numbers(value)
        place = bisect_right(numbers, behind)
        return place < len(numbers) and numbers[place] <= until

    def _numbers(self, value: SSAValue) -> list[int]:
        found = self._uses.get(value)
        if found is None:
            users = (use.operation for use in value.uses)
            found = self._uses[value] = sorted(self._first[user] for user in users if user in self._first)
        return found


def _home(value: SSAValue) -> Block | None:
    """The block outside which nothing uses a value."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def uses_inside(op: Operation) -> set[SSAValue]:
    """Every value that an op or something inside its regions uses."""
    return {operand for inner in op.walk() for operand in inner.operands}
