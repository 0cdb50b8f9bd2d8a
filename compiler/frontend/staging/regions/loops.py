"""The graph's ``for`` and ``while`` nodes, from Python callables.

A body is called, perhaps several times, until it is known what it carries.  A variable that it rebinds becomes an
argument of the region.  A tensor that it stores into, whether it is carried by name or only reached through a view,
keeps its identity: inside the region it has the region's argument as its value, afterwards the node's result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from .....dialects.dims.dims import Dim, Sym, dim, sym
from .....dialects.registry import OPS, OpError
from ....diagnostics import TxcError, located, name_counter, user_loc
from ...indexing.data_dependent_sizes import closed
from ...tensor.apply import apply, as_tensor
from ...tensor.promotion import truth
from ...tensor.tensor import Tensor
from ...trace.demands import all_fine, go_on
from ...trace.emit import emit, resolved
from ...trace.symint import SymInt, as_dim, is_integer

if TYPE_CHECKING:
    from ...trace.trace import Trace
from .carried import Carried, Hints, Retrace
from .region import own_writes, region, values_kept

__all__ = ["for_", "while_"]


_ROUNDS = 12


def for_(
    trace: Trace, lower: Any, upper: Any, step: Any, body: Callable[..., Any], carried: Sequence[Any],
    names: Sequence[str] = (), stop: str | None = None, is_shared: Callable[[Tensor], bool] | None = None,
    hints: Hints | None = None, resized: Collection[int] = (), vectors: Collection[int] = (), counter: str = "",
    tried: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """``for i in range(lower, upper, step)``: `body(i, carried) -> carried`; the variables after the loop.

    `i` is a `SymInt`.  `is_shared` says of a variable's array whether others see it.  The loop ends after an iteration
    that makes the variable called `stop` true.  Raises TxcError, naming the variable by `names`, where one changes
    dtype or shape on the way; the sizes of those whose numbers are `resized` may, and those of `vectors` probably do.
    Errors call `i` by the name `counter`.  `tried`: where it can be no such loop, its iterations are written out.
    """
    with located():
        loc = user_loc()
        facts = trace.table
        for bound, what in ((lower, "start"), (upper, "stop"), (step, "step")):
            if not is_integer(bound) and not isinstance(bound, Dim):
                raise OpError(f"the {what} of a range is an integer, not {bound!r}", code="TX0293")
        low, high, by = (facts.resolve(as_dim(x)) for x in (lower, upper, step))
        if by.const == 0 or facts.hint(by) == 0:
            raise OpError("range() arg 3 must not be zero", code="TX0293")
        upwards = facts.settle(0, "<", by, "the step of a range")
        if upwards is None:
            raise OpError(
                f"the step {by} of a range varies with a loop: its sign is not known",
                "loop over the number of steps, and compute the position",
                "TX0293",
            )
        # Loops of the IR run upwards: one that runs down counts its iterations.
        first, scale = dim(0), dim(1)
        if not upwards:
            first, scale = low, by
            low, high, by = dim(0), (low - high - by - 1) // -by, dim(1)
        name = trace.new_loop_symbol()
        # A loop whose variable is known never to be negative gets a symbol that says so.
        if low.nonneg:
            name = name.removeprefix("$")
        plan = Carried(trace, carried, names, is_shared, hints, resized, (high - low + by - 1) // by, vectors)
        symbol = Sym(name)
        if not tried:
            facts.only_loops.add(symbol)
        name_counter(name, counter if upwards else "")
        item = SymInt(first + scale * sym(name))
        for _ in range(_ROUNDS):
            initial = plan.initial()
            facts.loops[symbol] = (low, high - 1)  # nothing from before the loop is as large as its counter
            try:
                with values_kept(plan.written), region(trace, [resolved(v) for v in initial], stop is None) as block:
                    arguments = plan.arguments(block)
                    if plan.may_fail:
                        go_on(trace)
                    returned = body(item, arguments)
                    plan.refuse_stores(arguments)
                    own_writes(trace, block)
                    block.outputs = closed(trace, block, plan.results(arguments, returned, block))
            except Retrace:
                continue
            finally:
                facts.end_loop(symbol)
            stops = list(names).index(stop) if stop is not None and stop in names else -1
            until = list(plan.rebound).index(stops) if stops in plan.rebound else None  # no iteration sets it
            attrs = {"iv": name, "lower": low, "upper": high, "step": by, "until": until, "only": None}
            results = emit(OPS["for"], initial, attrs, [resolved(v) for v in initial], (block,), loc)
            return plan.after(results, arguments)
        raise OpError("the types of the loop's variables do not settle", code="TX0292")


def while_(
    trace: Trace, cond: Callable[..., Any], body: Callable[..., Any], carried: Sequence[Any],
    names: Sequence[str] = (), is_shared: Callable[[Tensor], bool] | None = None, hints: Hints | None = None,
    resized: Collection[int] = (), vectors: Collection[int] = (),
) -> tuple[Any, ...]:  # fmt: skip
    """``while cond(carried): carried = body(carried)``; both get the tuple of variables.

    The sizes of those whose numbers are `resized` may change, and those of `vectors` probably do.
    """
    with located():
        loc = user_loc()
        plan = Carried(trace, carried, names, is_shared, hints, resized, vectors=vectors)
        for _ in range(_ROUNDS):
            initial = plan.initial()
            types = [resolved(v) for v in initial]
            try:
                with values_kept(plan.written), region(trace, types) as test:
                    condition = as_tensor(cond(plan.arguments(test, checked=False)))
                    if condition.ndim:
                        raise OpError(f"the condition of while is {condition.user_type}, not one bool", code="TX0294")
                    own_writes(trace, test)
                    if trace.writes[-1]:
                        raise TxcError(
                            "the condition of a loop stores into a tensor that is used outside it",
                            condition.value.node.loc or loc,
                            "store in the body of the loop, or into a copy",
                            "TX0296",
                        )
                    going = truth(condition)
                    if plan.may_fail:
                        going = apply("logical_and", all_fine(trace), going)
                    test.outputs = closed(trace, test, [going.value])
                with values_kept(plan.written), region(trace, types) as block:
                    arguments = plan.arguments(block)
                    returned = body(arguments)
                    plan.refuse_stores(arguments)
                    own_writes(trace, block)
                    block.outputs = closed(trace, block, plan.results(arguments, returned, block))
            except Retrace:
                continue
            results = emit(OPS["while"], initial, {}, [resolved(v) for v in initial], (test, block), loc)
            return plan.after(results, arguments)
        raise OpError("the types of the loop's variables do not settle", code="TX0292")
