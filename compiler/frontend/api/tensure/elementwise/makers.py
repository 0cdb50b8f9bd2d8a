"""How elementwise functions are made: a copying and a mutating one of each op, documented from one description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from ......dialects.registry import OPS, OpError
from .....diagnostics import located
from ....numpy.functions.linalg.products import power
from ....tensor.apply import apply
from ....tensor.broadcasting import broadcast_to
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.emit import constant
from ..arguments import depth_of, mutable, shape_text, tensor
from ..storage import storage_of, wrapped
from .broadcasting import fitted, matched
from .call_cache import repeated, repeated_in_place

__all__ = ["assigned", "comparison", "unary", "variadic"]

Copying = Callable[..., Any]


def assigned(target: Tensor, compute: Callable[[], Tensor], depth: int) -> Tensor:
    """`target` with all elements replaced by what `compute` makes of them, in its own dtype; every view sees it."""
    storage = storage_of(target)
    if storage is None:
        target.store(cast(compute(), target.element))
        return target
    with storage.updating():
        target.store(cast(compute(), target.element))
    storage.depth = depth
    return target


def _named(function: Copying, name: str, text: str) -> Copying:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _into(target: Tensor, operand: Tensor, name: str) -> Tensor:
    found = fitted(operand, target.dims)
    if found is None:
        raise OpError(
            f"{name}: shape {shape_text(operand.shape)} does not broadcast to {shape_text(target.shape)}, "
            "the shape of the first argument, which takes the result",
            "put the larger operand first, or use the function that returns a new tensor",
            "TX0811",
        )
    return found


_COPY = "Returns a new tensor; TxcError for what is no tensor of f32 or f64"
_CHANGE = (
    "Changes the first argument, in its own dtype, and returns it: every view of its data sees it.\n\n"
    "TxcError for what is no tensor of f32 or f64"
)
_IMMUTABLE = "  A scalar is immutable here: TxcError."


def unary(name: str, op: str, meaning: str, *, mutates: bool = True) -> tuple[Copying, Copying]:
    """``name(a)`` and ``name_(a)`` for an op of one operand."""

    @repeated
    def copying(a: Any) -> Any:
        with located():
            x = tensor(a, name)
            depth = depth_of(x)
            return wrapped(apply(op, x), depth)

    @repeated_in_place
    def mutating(a: Any) -> Any:
        with located():
            target = mutable(a, f"{name}_", scalars=True)
            depth = depth_of(target)
            return assigned(target, lambda: apply(op, target), depth)

    first = f"{meaning}, element by element: `a` of any shape, f32 or f64, as is the result."
    return (
        _named(copying, name, f"{first}\n\n{_COPY}.\n"),
        _named(mutating, f"{name}_", f"{first}\n\n{_CHANGE}.\n"),
    )


def variadic(
    name: str,
    op: str,
    meaning: str,
    *,
    none: Callable[[], Any] | None = None,
    one: str = "itself",
    scalars: bool = False,
) -> tuple[Copying, Copying]:
    """``name(a, b, …)`` and ``name_(a, b, …)``, which take one operand after the other, with broadcasting.

    `none` makes the result of no arguments; `one` is the op for a single one (``itself``: the argument); `scalars` says
    whether ``name_`` changes scalars, as the document's library does for some functions and not for others.
    """

    @repeated
    def copying(*operands: Any) -> Any:
        with located():
            if not operands:
                if none is None:
                    raise OpError(f"{name} takes at least one tensor", code="TX0801")
                return none()
            tensors = [tensor(x, name, i) for i, x in enumerate(operands)]
            if len(tensors) == 1 and one == "itself":
                return operands[0]
            depth = depth_of(*tensors) + len(tensors) - 2
            result = _alone(one, tensors[0]) if len(tensors) == 1 else tensors[0]
            for b in tensors[1:]:
                result = _applied(op, *matched(result, b, name))
            return wrapped(result, depth)

    @repeated_in_place
    def mutating(a: Any, *more: Any) -> Any:
        with located():
            target = mutable(a, f"{name}_", scalars=scalars)
            tensors = [tensor(x, f"{name}_", i) for i, x in enumerate(more, 1)]
            fits = [_into(target, b, f"{name}_") for b in tensors]
            depth = depth_of(target, *tensors) + max(0, len(tensors) - 1)
            if not tensors:
                return target if one == "itself" else assigned(target, lambda: _alone(one, target), depth)

            def compute() -> Tensor:
                result = target
                for b in fits:
                    result = _applied(op, result, b)
                return result

            return assigned(target, compute, depth)

    first = f"{meaning}, element by element, of operands of f32 or f64, the smaller ones broadcast as Tensure does."
    alone = {"itself": "itself"}.get(one, f"`{one}` of it")
    of_one = f"Of one argument the result is {alone}." + ("" if none is None else "  Of none it is a scalar.")
    return (
        _named(copying, name, f"{first}\n\nThe result has the larger shape.  {of_one}\n\n{_COPY}, and for shapes of "
               "which neither broadcasts to the other.\n"),
        _named(mutating, f"{name}_", f"{first}\n\n{_CHANGE}, and where an operand does not broadcast to the shape "
               f"of the first.{'' if scalars else _IMMUTABLE}\n"),
    )  # fmt: skip


def _applied(op: str, a: Tensor, b: Tensor) -> Tensor:
    """The op; a power whose exponent is written in the program as NumPy's ``**`` has it, which multiplies for 2."""
    made = b.value.node if op == "pow" and b.ndim == 0 else None
    if made is None or made.op is not OPS["constant"]:
        return apply(op, a, b)
    element = common_dtype([a, b])
    return power(cast(a, element), made.attrs["value"])


def _alone(one: str, x: Tensor) -> Tensor:
    return apply("div", 1.0, x) if one == "reciprocal" else apply(one, x)


def comparison(name: str, op: str, meaning: str) -> tuple[Copying, Copying]:
    """``name(a, b, …)`` and ``name_(a, b, …)``: 1.0 where it holds of each and the next, and 0.0 elsewhere.

    As Clojure's, it holds of a single operand, and ``ne`` is the contrary of ``eq``: it asks for one pair that differs.
    """
    every = op != "not_equal"

    def compared(tensors: Sequence[Tensor]) -> Tensor:
        element = common_dtype(tensors)
        if len(tensors) == 1:
            return broadcast_to(Tensor(constant(float(every), element)), tensors[0].dims)
        result = apply(op, *matched(tensors[0], tensors[1], name))
        for a, b in pairwise(tensors[1:]):
            pair = apply(op, *matched(a, b, name))
            result = apply("logical_and" if every else "logical_or", *matched(result, pair, name))
        return cast(result, element)

    @repeated
    def copying(a: Any, *more: Any) -> Any:
        with located():
            tensors = [tensor(x, name, i) for i, x in enumerate((a, *more))]
            depth = depth_of(*tensors) + max(0, len(tensors) - 2)
            return wrapped(compared(tensors), depth)

    @repeated_in_place
    def mutating(a: Any, *more: Any) -> Any:
        with located():
            target = mutable(a, f"{name}_")
            tensors = [tensor(x, f"{name}_", i) for i, x in enumerate(more, 1)]
            fits = [_into(target, b, f"{name}_") for b in tensors]
            depth = depth_of(target, *tensors) + max(0, len(tensors) - 1)
            return assigned(target, lambda: compared([target, *fits]), depth)

    first = (
        f"1.0 where {meaning} and 0.0 elsewhere, element by element, of tensors of f32 or f64, the smaller ones "
        f"broadcast as Tensure does.  Of several it is asked of each and the next; of one the result is {float(every)}."
    )
    return (
        _named(copying, name, f"{first}\n\n{_COPY}, and for shapes of which neither broadcasts to the other.\n"),
        _named(
            mutating,
            f"{name}_",
            f"{first}\n\n{_CHANGE}, and where another does not broadcast to the shape of the first.{_IMMUTABLE}\n",
        ),
    )
