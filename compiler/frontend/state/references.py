"""Variables of loops that refer to one of some arrays, as iterations decide: which one is a bool for each array.

An iteration that says ``y = x`` and stores into `y` stores into `x` from then on.  What such a variable may refer to
is a fixed set of arrays from before the loop, and an array of its own that iterations made.  The loop carries a bool
for each of the former, and the latter as an array; in the loop and behind it the variable is a choice among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.registry import OpError
from ..tensor.apply import apply, as_tensor
from ..tensor.composite_views import roots
from ..tensor.tensor import Tensor
from ..trace.context import table
from ..trace.graph import Block, inside
from .choice import Choice
from .sharing import dims_in

__all__ = ["Reference", "options_of"]

#: The most arrays from before a loop to which a variable may refer: a store into it is one into each.
MOST_ARRAYS = 8


class Reference:
    """The arrays from before a loop to which a variable may refer, and whether it may have one of its own."""

    def __init__(self, given: Tensor):
        self.given, self.has_own = given, False
        self.arrays = [array for array, _ in options_of(given)]

    def starts(self) -> list[Any]:
        """Whether it refers to each of the arrays before the loop."""
        return [
            next((True if cond is None else cond for array, cond in options_of(self.given) if array is one), False)
            for one in self.arrays
        ]

    def own_start(self) -> Tensor:
        """An array of its own of that type."""
        return Tensor(self.given.value, layout=self.given.layout, boxed=self.given.boxed)

    def value(self, conds: Sequence[Any], own: Tensor) -> Tensor:
        """What it refers to where these of the `conds` are true, and its `own` array where none is."""
        options = [(array, as_tensor(cond)) for array, cond in zip(self.arrays, conds)]
        if self.has_own:
            others = options[0][1]
            for _, cond in options[1:]:
                others = apply("logical_or", others, cond)
            options.append((own, apply("logical_not", others)))
        if len(options) == 1:
            return options[0][0]
        chosen = options[-1][0]
        for array, cond in options[-2::-1]:
            chosen = apply("select", cond, array, chosen)
        return Choice(options, chosen)

    def find(self, array: Tensor) -> int | None:
        """The number of an array, which it is itself or a view of the same elements."""
        return next((k for k, other in enumerate(self.arrays) if _is_same(array, other)), None)

    def add(self, array: Tensor, block: Block) -> bool:
        """Note an array from before the loop whose iterations are `block`; False where it is none, or none alike."""
        facts, first = table(), self.arrays[0]
        alike = array.element is first.element and array.layout == first.layout
        alike = alike and facts.resolve_all(array.type.dims) == facts.resolve_all(first.type.dims)
        if not alike or len(self.arrays) >= MOST_ARRAYS or any(inside(root._home, block) for root in roots(array)):
            return False
        at = array
        while at._parent is not None:
            if at._op is None or any(facts.varies(facts.resolve(d)) for d in dims_in(at._attrs)):
                return False
            at = at._parent
        if type(at) is not Tensor:
            return False
        self.arrays.append(array)
        return True


def options_of(value: Tensor) -> Sequence[tuple[Tensor, Any]]:
    """The arrays that a value may be, each with its condition; None: it is."""
    return value.options if isinstance(value, Choice) else [(value, None)]


def _is_same(a: Tensor, b: Tensor) -> bool:
    """Whether two arrays are one, or views of the same elements of one."""
    if a is b:
        return True
    if a._parent is None or b._parent is None:
        return False
    try:
        (owner, first), (other, second) = a.owner(), b.owner()
    except OpError:
        return False
    return owner is other and str(first) == str(second)
