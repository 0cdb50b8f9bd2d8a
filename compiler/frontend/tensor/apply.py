"""Applying an op to tensors: operands converted, promoted, broadcast, inferred, made a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import ops as _declarations
from ....dialects.dims.dims import Dim
from ....dialects.ops.structure.library import Library
from ....dialects.registry import OPS, Composite, Map, Op, OpError, Reduction, Scan, View, find_op
from ....dialects.types import DTYPES, tensor_type
from ...call.foreign_arrays import refuse_foreign
from ...diagnostics import located, user_loc
from ..lazy import op_templates
from ..trace.context import current, table
from ..trace.emit import constant, emit
from ..trace.graph import SingleResultNode, next_serial
from ..trace.short_loops import MANY, sizes_worth_knowing
from ..trace.symint import SymInt
from ..trace.undefined import Unusable
from .as_array import AsArray
from .broadcasting import broadcast_together, common_layout, equally_long, seen_as
from .column_major import reverse_dims
from .leaves import element_of
from .promotion import accumulator_dtype, cast, common_dtype, demand_fit, promote, weak_result
from .tensor import Tensor

__all__ = ["apply", "as_tensor", "call", "is_traced", "stack", "tensor_of_array"]

assert _declarations  # importing them fills the registry


def is_traced(x: Any) -> bool:
    """Whether `x` is, or is a list or tuple that has, a number or an array that the compiled function computes."""
    if isinstance(x, (list, tuple)):
        return getattr(x, "stacked", False) or any(map(is_traced, x))
    return isinstance(x, (Tensor, SymInt))


def as_tensor(x: Any) -> Tensor:
    """A tensor of anything operators take: tensors, arrays, NumPy and Python scalars, ints known at run time."""
    if isinstance(x, Tensor):
        trace = current()
        return trace.capture_lazy(x) if trace is not None and x.is_lazy else x
    if isinstance(x, SymInt):
        demand_fit(x.dim, DTYPES["i64"])
        return Tensor(emit(OPS["dim"], (), {"expr": x.dim, "dtype": DTYPES["i64"]})[0], weak="int")
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        weak = next(kind.__name__ for kind in (bool, int, float, complex) if isinstance(x, kind))
        return Tensor(constant(x, {"bool": "bool", "int": "i64", "float": "f64", "complex": "c128"}[weak]), weak=weak)
    if isinstance(x, np.generic):
        return Tensor(constant(x.item() if x.dtype.kind in "biufc" else float(x), element_of(x)))
    if isinstance(x, Unusable):
        raise x.error(user_loc())
    refuse_foreign("an operand", x)
    if isinstance(x, np.ndarray):
        # An expression waits, and NumPy says nothing of what is stored into its arrays until then.
        return tensor_of_array(x.copy() if current() is None and _may_change(x) else x)
    if isinstance(x, (list, tuple)):
        if getattr(x, "stacked", False):  # a `growing.GrowingList`
            return x.as_array()  # pyright: ignore[reportAttributeAccessIssue]
        if any(isinstance(v, (Tensor, SymInt, list, tuple)) for v in x):
            return stack([as_tensor(v) for v in x])
        return as_tensor(np.asarray(x))
    if isinstance(x, AsArray):
        return x.as_array()
    if hasattr(type(x), "__txc_array__"):  # as a `HostTensor`, which stands for the array that it holds
        if current() is not None:  # it may come to hold another one, which code compiled for this one would not see
            raise OpError(
                f"a {type(x).__name__} from outside the compiled function", "pass it as an argument", "TX0206"
            )
        return as_tensor(x.__txc_array__())
    raise OpError(f"{type(x).__name__} {x!r} is no tensor and cannot be made one", code="TX0206")


def _may_change(x: np.ndarray) -> bool:
    """Whether NumPy stores into an array's memory, through itself or an array that it is a view of."""
    array: Any = x
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return False


def tensor_of_array(x: np.ndarray) -> Tensor:
    """A tensor whose elements are read from an array when they are needed."""
    element, trace = element_of(x), current()
    if trace is not None:
        return trace.capture(x)
    # An array object of its own: the caller may give theirs another shape.
    return Tensor(SingleResultNode.of_array(x.view(), tensor_type(element, x.shape), False), boxed=True)


def apply(op: type[Op] | str, *operands: Any, **params: Any) -> Any:
    """The result of an op on anything `as_tensor` takes: a tensor, or a tuple where it has several results.

    Parameters are in the user's dims.  Raises TxcError, with the user's line, for what the op does not take.
    """
    known = None
    asked = op_templates.request(op, operands, params) if current() is None else None
    if asked is not None:
        made = op_templates.lookup(*asked)
        if made is not None:
            return made
        known = op_templates.operands_of(op, params, *asked)
        made = None if known is None else op_templates.instantiate(known)
        if made is not None:
            return made
    since = next_serial() if known is not None else 0
    with located():
        meant, rest = (find_op(op) if isinstance(op, str) else op).variant(params)
        result = _apply(meant, operands, rest)
    if known is not None and not any(result is x for x in operands):
        op_templates.record(known, since, result)
    return result


def call(op: type[Op], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The op as a function: operands come first (one, where an op takes any number), then parameters in their order."""
    count = op.arity if op.arity >= 0 else 1
    params = dict(zip(op.params, args[count:]))
    with located():
        if len(args) > count + len(op.params):
            raise OpError(f"{op.name} takes {count + len(op.params)} arguments, not {len(args)}", code="TX0101")
        for name in kwargs:
            if name in params:
                raise OpError(f"{op.name} gets {name} twice, by position and by name", code="TX0101")
    return apply(op, *args[:count], **params, **kwargs)


#: What NumPy has no loop for where all operands are bools, and what it says.
_NOT_OF_BOOLS = {
    np.subtract: "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, "
    "or the logical_xor function instead.",
    np.negative: "The numpy boolean negative, the `-` operator, is not supported, use the `~` operator or the "
    "logical_not function instead.",
}


def _apply(op: type[Op], operands: Sequence[Any], params: dict[str, Any]) -> Any:
    if issubclass(op, Map) and op.compares:
        operands = [_comparable(x, y) for x, y in zip(operands, reversed(operands), strict=True)]
    tensors = [as_tensor(x) for x in operands]
    if op.numpy in _NOT_OF_BOOLS and all(t.element.kind == "bool" for t in tensors) and not tensors[0].weak:
        raise TypeError(_NOT_OF_BOOLS[op.numpy])
    layout = common_layout(op, tensors)
    if issubclass(op, Library):
        if len(tensors) != op.arity:
            raise OpError(f"{op.name} takes {op.arity} tensors, not {len(tensors)}", code="TX0101")
        return Tensor.functions.expand_library(op, tensors, op.bind([t.user_type for t in tensors], params))
    if issubclass(op, Composite):
        return op.expand(*tensors, **op.bind([t.user_type for t in tensors], params))
    if op.name == "swap_layout":
        return tensors[0].swap_layout()
    if op.name == "cast":
        target = op.bind([t.user_type for t in tensors], params)["dtype"]
        return cast(tensors[0], target)
    weak = ""
    if issubclass(op, Map):
        exact = _compared_exactly(op, tensors) if op.compares else None
        if exact is not None:
            return exact
        tensors, weak = promote(op, tensors)
        tensors = broadcast_together(tensors, op.name, layout)
    elif issubclass(op, Reduction):
        tensors = [cast(tensors[0], accumulator_dtype(op, tensors[0].element))]
    elif issubclass(op, Scan):
        tensors = [cast(tensors[0], accumulator_dtype(op.reduction(), tensors[0].element))]
    elif op.name in ("concatenate", "contract"):
        tensors = _join(op.name, tensors, params)
    attrs = op.bind([t.user_type for t in tensors], params)
    expanded = op.expanded(tensors, attrs)
    if expanded is not None:
        return expanded
    if issubclass(op, Reduction) and not op.empty:
        tensors = [_not_empty(op, tensors[0], attrs["dims"])]
    if issubclass(op, View):
        return Tensor.view_of(tensors[0], op, attrs)
    if layout == "col":
        attrs, tensors = reverse_dims(op, attrs, tensors)
    _specialize(op, tensors, attrs)
    results = emit(op, [t.value for t in tensors], attrs)
    made = tuple(Tensor(v, layout=layout, weak=weak_result(weak, v.type.dtype)) for v in results)
    return made[0] if len(made) == 1 else made


def _specialize(op: type[Op], tensors: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    """Make numbers of the sizes of row-major operands that are worth it, where the trace may.

    Code for any of these sizes, as few rows have, is for few rows: many that come later have code of their own.
    """
    trace = current()
    if trace is None or not trace.specializes:
        return
    facts = trace.table
    types = [t.value.type.with_dims(facts.resolve_all(t.value.type.dims)) for t in tensors]

    def is_many(count: Dim) -> bool:
        number = facts.hint(count)
        if number is None or number >= MANY:
            return number is not None
        facts.decide(count, "<", MANY, f"more have code for one size of {op.name}")
        return False

    for d in sizes_worth_knowing(op, types, attrs, facts.hint, is_many):
        if facts.hint(d) is not None:
            facts.fix(d, f"the loops of {op.name} are much shorter for one size")


def _not_empty(op: type[Op], x: Tensor, dims: Sequence[int]) -> Tensor:
    """`x`; refuse, as NumPy does, to reduce no elements to one that is among them.

    Of a size that values decide the call says it (of the others that a loop varies, none is empty for certain).
    """
    # In the order of memory: then both layouts ask for the same, and share their code.
    for i in dims if x.layout == "row" else reversed(dims):
        some = table().settle(0, "<", x.dims[i], f"{op.name} of at least one element")
        if some is False:
            raise OpError(f"{op.name} along dim {i} of {x.user_type}: it has no elements", code="TX0113")
        if some is None:
            text = f"{op.name} along dim {i} of an array that has no elements there"
            x = apply("require", x, apply("less", 0, SymInt(x.dims[i])), text=text)
    return x


def _comparable(x: Any, other: Any) -> Any:
    """An operand of a comparison; of integers with a Python int beyond i64 an u64, or what lies beyond all of them."""
    if type(x) is not int or -(2**63) <= x < 2**63:
        return x
    if getattr(other, "dtype", np.dtype(np.int64)).kind not in "iub":
        return float(x)
    return np.uint64(x) if 0 <= x < 2**64 else np.float64(np.copysign(np.inf, x))


def _fits(t: Tensor, other: Tensor) -> bool:
    """Whether a Python int surely has the value in the dtype of the other side that it has itself."""
    if other.weak or other.element.kind == "bool" or t.value.node.op is not OPS["constant"]:
        return bool(other.weak) or other.element is DTYPES["i64"]
    info = np.iinfo(other.element.numpy)
    return info.min <= t.value.node.attrs["value"] <= info.max


def _compared_exactly(op: type[Map], tensors: Sequence[Tensor]) -> Tensor | None:
    """A comparison of integers of which no dtype holds both sides; None where promotion compares them exactly.

    NumPy compares Python ints, and u64 with signed integers, as numbers: neither is rounded or wrapped.
    """
    a, b = tensors
    if not all(t.element.is_integer or t.element.kind == "bool" for t in tensors):
        return None
    # A Python int that need not fit the other side's dtype is an i64.
    a, b = (cast(x, DTYPES["i64"]) if x.weak == "int" and not _fits(x, y) else x for x, y in ((a, b), (b, a)))
    if {a.element.kind, b.element.kind} != {"int", "uint"} or DTYPES["u64"] not in (a.element, b.element):
        return apply(op, a, b) if a is not tensors[0] or b is not tensors[1] else None
    signed = a if a.element.kind == "int" else b
    below = apply("less", signed, cast(as_tensor(0), signed.element))
    unsigned = apply(op, *(cast(t, DTYPES["u64"]) for t in (a, b)))
    # Every number of u64 is larger than a negative one, as 1 is larger than 0.
    order = (0, 1) if signed is a else (1, 0)
    if op.evaluate([np.asarray(n) for n in order], {})[0]:
        return apply("logical_or", below, unsigned)
    return apply("logical_and", apply("logical_not", below), unsigned)


def _join(name: str, tensors: Sequence[Tensor], params: dict[str, Any]) -> list[Tensor]:
    """Operands of a concatenation or contraction: one dtype, and equal sizes where they must be."""
    element = common_dtype(tensors)
    tensors = [cast(t, element) for t in tensors]
    if name == "contract":
        a, b = tensors
        bound = find_op("contract").bind([a.user_type, b.user_type], params)
        for i, j in (*bound["batch"], *bound["pairs"]):
            try:
                a, b = equally_long(a, i, b, j, "the sizes of contracted dims differ", why="a contraction")
            except OpError as error:
                text = f"cannot contract dim {i} of {a.user_type} with dim {j} of {b.user_type}: {error.message}"
                raise OpError(text, "contracted dims have equal sizes", "TX0141") from error
        _guard_single_column(a, b, (*bound["batch"], *bound["pairs"]))
        met = {j: a.dims[i] for i, j in (*bound["batch"], *bound["pairs"])}
        return [a, seen_as(b, tuple(met.get(j, d) for j, d in enumerate(b.dims)))]
    first = tensors[0]
    at = find_op("concatenate").bind([first.user_type], params)["axis"]
    for n, other in enumerate(tensors[1:], 1):
        if other.ndim != first.ndim:
            raise OpError(f"cannot concatenate {first.user_type} and {other.user_type}: ranks differ", code="TX0133")
        for i in range(first.ndim):
            if i != at:
                text = "all the input array dimensions except for the concatenation axis must match exactly"
                first, other = equally_long(first, i, other, i, text, why="concatenate")
        tensors[0], tensors[n] = first, other
    named = [(*first.dims[:at], t.dims[at], *first.dims[at + 1 :]) for t in tensors]
    return [seen_as(t, dims) for t, dims in zip(tensors, named)]


def _guard_single_column(a: Tensor, b: Tensor, met: Sequence[tuple[int, int]]) -> None:
    """Ask whether a product has one column, whose code is another than that of many; rows go into one code."""
    # Of the operand whose dims are the last in memory: then both layouts ask for the same, and share their code.
    side = int(a.layout == "row")
    matched = {pair[side] for pair in met}
    table().all_ones([d for i, d in enumerate((a, b)[side].dims) if i not in matched], "a contraction asks")


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """NumPy's `stack`: along a new axis."""
    rank = tensors[0].ndim + 1
    if not -rank <= axis < rank:
        raise OpError(f"axis {axis} is out of range for rank {rank}", code="TX0103")
    axis %= rank
    text, tensors = "all input arrays must have the same shape", [*tensors]
    for n in range(1, len(tensors)):
        if tensors[n].ndim != tensors[0].ndim:
            raise OpError(text, f"they are {tensors[0].user_type} and {tensors[n].user_type}", "TX0201")
        for i in range(tensors[0].ndim):
            tensors[0], tensors[n] = equally_long(tensors[0], i, tensors[n], i, text)
    tensors = broadcast_together(tensors, "stack")
    return apply("concatenate", *(t.reshape((*t.shape[:axis], 1, *t.shape[axis:])) for t in tensors), axis=axis)
