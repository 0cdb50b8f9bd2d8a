"""Applying an op to tensors: operands converted, promoted as NumPy 2 does, broadcast, inferred, made a node."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ....dialects import ops as _declarations
from ....dialects.dims.dims import Dim, dim
from ....dialects.ops.structure.library import Library
from ....dialects.registry import OPS, RAISE, Composite, Map, Op, OpError, Reduction, Scan, View, find_op
from ....dialects.types import DTYPES, DType, dtype, tensor_type
from ...call.foreign_arrays import refuse_foreign
from ...diagnostics import located, user_loc
from ..lazy import op_templates
from ..trace.context import current, table
from ..trace.emit import constant, emit, once, resolved
from ..trace.graph import SingleResultNode, next_serial
from ..trace.short_loops import MANY, sizes_worth_knowing
from ..trace.symint import SymInt
from ..trace.undefined import Unusable
from .as_array import AsArray
from .column_major import reverse_dims
from .leaves import element_of
from .tensor import Tensor

__all__ = [
    "apply", "as_tensor", "broadcast_to", "broadcast_together", "call", "cast", "common_dims", "is_traced", "promote",
    "strong", "tensor_of_array",
]  # fmt: skip

assert _declarations  # importing them fills the registry
_WEAK: dict[str, Any] = {"complex": 0j, "float": 0.0, "int": 0, "bool": False}


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
        _demand_fit(x.dim, DTYPES["i64"])
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


def fits(d: Dim, element: DType = DTYPES["i64"]) -> bool:
    """Whether a Python int known at run time fits a type, which is a fact of the call."""
    info = np.iinfo(element.numpy)
    return table().holds(d, int(info.min), int(info.max))


def _demand_fit(d: Dim, element: DType) -> None:
    """OpError where a Python int known at run time does not fit a type; that it does is a fact of the call."""
    if not fits(d, element):
        text = f"the Python int {table().describe(table().resolve(d))} does not fit {element}"
        raise OpError(text, "use a wider dtype, or floats", "TX0207")


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
    made = tuple(Tensor(v, layout=layout, weak=_weak_result(weak, v.type.dtype)) for v in results)
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


def _weak_result(weak: str, element: DType) -> str:
    """How weak a result is whose operands are `weak`: comparisons are bools, magnitudes of complex numbers floats."""
    if weak == "complex" and element.is_float:
        return "float"
    return "bool" if weak and element.kind == "bool" else weak


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


def common_layout(op: type[Op], tensors: Sequence[Tensor]) -> str:
    """The one layout of the operands; OpError where two layouts meet.

    Tensors of rank 1 go with both; where there are no others, one that is column-major decides.
    """
    found = [t for t in tensors if t.ndim > 1]
    for t in found:
        if t.layout != found[0].layout:
            odd = next(x for x in found if x.layout == "col")
            raise OpError(
                f"{op.name} mixes layouts: {', '.join(f'{x.user_type} {x.layout}' for x in tensors)}",
                f"put .swap_layout() on the operand {odd.user_type} of layout col, or .swap_layout().shuffle(…) "
                "where its dims must keep their order",
                "TX0210",
            )
    if found:
        return found[0].layout
    return "col" if any(t.ndim and t.layout == "col" for t in tensors) else "row"


def cast(t: Tensor, element: DType) -> Tensor:
    """`t` as `element`; itself where it is that already (but no longer weak)."""
    if t.element is element:
        return t if not t.weak else Tensor(t.value, layout=t.layout)
    v = t.value
    if (trace := current()) is not None and (whole := trace.exact.get(v)) is not None:
        if whole.type.dtype is element or element.is_float or element.is_complex:
            return cast(Tensor(whole), element)  # the same number, by one way for all types that it may have
    if v.node.op is OPS["constant"] and t.weak:
        return Tensor(constant(v.node.attrs["value"], element))
    if v.node.op is OPS["dim"] and t.weak == "int":
        if element.is_integer:
            _demand_fit(v.node.attrs["expr"], element)
        return Tensor(emit(OPS["dim"], (), {"expr": v.node.attrs["expr"], "dtype": element})[0])
    attrs: dict[str, Any] = {"dtype": element}
    if t.weak == "int" and element.is_integer and trace is not None:
        attrs["mode"] = RAISE  # Python's int has to fit
    (result,) = emit(OPS["cast"], (v,), attrs, (resolved(v).with_dtype(element),))
    return Tensor(result, layout=t.layout)


def strong(result: Any) -> Any:
    """What a function of NumPy's gives: NumPy's numbers, never Python's, so none of its results is weak."""
    if isinstance(result, Tensor):
        return cast(result, result.element) if result.weak else result
    return type(result)(map(strong, result)) if type(result) in (tuple, list) else result


def common_dtype(tensors: Sequence[Tensor]) -> DType:
    """NumPy 2's promotion: Python scalars are weak, beside bf16 too (NumPy itself knows no weak ones there)."""
    return _common_dtype(tuple((t.element, t.weak) for t in tensors))


@lru_cache(maxsize=1024)
def _common_dtype(operands: tuple[tuple[DType, str], ...]) -> DType:
    """Of elements, each with how weak it is."""
    try:
        strong = [element.numpy for element, weak in operands if not weak]
        if strong and (found := dtype(np.result_type(*strong))).is_float:
            return found.as_complex if any(weak == "complex" for _, weak in operands) else found
        return dtype(np.result_type(*strong, *(_WEAK[weak] for _, weak in operands if weak)))
    except TypeError as error:
        listed = ", ".join(str(element) for element, _ in operands)
        raise OpError(f"no common dtype of {listed}", "cast one of them", "TX0208") from error


#: What Python computes of bools as of bools; all else as of ints.
_KEEP_BOOLS = frozenset(
    {"bitwise_and", "bitwise_or", "bitwise_xor", "select", "logical_and", "logical_or", "logical_not"}
)


def promote(op: type[Map], tensors: Sequence[Tensor]) -> tuple[list[Tensor], str]:
    """The operands in the dtype that the op computes in, and how weak its result is."""
    rest = list(tensors[1:] if op.name == "select" else tensors)
    if all(t.weak == "bool" for t in rest) and op.result != "bool" and op.name not in _KEEP_BOOLS:
        rest = [Tensor(cast(t, DTYPES["i64"]).value, weak="int") for t in rest]  # True + True is 2
    common = common_dtype(rest)
    if op.dtypes == {"bool"}:
        common = DTYPES["bool"]
    elif op.promotes == "float" or common.kind not in op.dtypes:
        common = _as_float(op, common, rest)
    weak = ""
    if all(t.weak for t in rest):
        weak = {"float": "float", "bool": "bool", "complex": "complex"}.get(common.kind, "int")
    converted = [truth(t) if common.kind == "bool" and t.element is not common else cast(t, common) for t in rest]
    if op.name == "select":
        converted.insert(0, truth(tensors[0]))
    return converted, weak


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


#: Python's numbers, which NumPy's promotion knows as weak by their types.
_WEAK_TYPES: dict[str, type] = {"int": int, "float": float, "complex": complex}


def _as_float(op: type[Map], common: DType, operands: Sequence[Tensor]) -> DType:
    """What NumPy's ufunc turns integer or bool operands into, where the op is not defined on them: the first of its
    dtypes that takes each, as f16 for u8 and i8, whose common dtype is i16."""
    if "float" not in op.dtypes or common.is_float or common.is_complex:
        return common
    if isinstance(op.numpy, np.ufunc):
        each = [_WEAK_TYPES.get(t.weak, t.element.numpy) for t in operands]
        given = [common.numpy] * op.numpy.nin if all(t.weak for t in operands) else each
        try:
            found = op.numpy.resolve_dtypes((*given, *[None] * op.numpy.nout))[0]
            if dtype(found).kind in op.dtypes:
                return dtype(found)
        except TypeError:
            return DTYPES["f64"]
    return DTYPES["f64"]


def truth(t: Tensor) -> Tensor:
    """`t` as bool: nonzero, NaN included."""
    if t.element.kind == "bool":
        return cast(t, DTYPES["bool"])
    return apply("not_equal", t, 0)


def accumulator_dtype(op: type[Reduction], element: DType) -> DType:
    """What a reduction casts to first: NumPy sums bools and small integers in 64 bits."""
    inexact = element.is_float or element.is_complex
    if op.promotes == "sum" and not inexact:
        return DTYPES["u64" if element.kind == "uint" else "i64"]
    if op.promotes == "float" and not inexact:
        return DTYPES["f64"]
    return DTYPES["bool"] if op.promotes == "bool" else element


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


def equally_long(
    a: Tensor, i: int, b: Tensor, j: int, text: str, error: str = "ValueError", why: str = ""
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Two tensors of which dims `i` and `j` have one size, as the function demands of its arguments: `why`.

    Where values decide a size, a call in which the other one differs raises the error of this `text`.
    """
    a, b = data_dependent_sizes().as_long(a, i, b, j, text, error)
    table().equate(a.dims[i], b.dims[j], why or text)
    return a, b


def seen_as(t: Tensor, dims: tuple[Dim, ...]) -> Tensor:
    """`t` with other names of its dims, which are equal to them by guards that could not be solved for a symbol."""
    if t.dims == dims:
        return t
    order = dims[::-1] if t.layout == "col" else dims
    (v,) = emit(OPS["slice"], (t.value,), {"offsets": (dim(0),) * len(order), "extents": order})
    return Tensor(v, layout=t.layout)


def meet(a: Dim, b: Dim) -> Dim:
    """The size of two broadcast dims."""
    facts = table()
    a, b = facts.resolve(a), facts.resolve(b)
    if a is b or b.const == 1:
        return a
    if a.const == 1:
        return b
    hint_a, hint_b = facts.hint(a), facts.hint(b)
    # Two dims that are both 1 in this call are better made equal than both fixed to 1.
    if hint_a != hint_b and hint_a == 1 and facts.is_one(a):
        return b
    if hint_a != hint_b and hint_b == 1 and facts.is_one(b):
        return a
    met = data_dependent_sizes().met(a, b)
    if met is not None:
        return met
    if hint_a != hint_b:  # an error of calls in which neither is 1
        facts.is_one(a)
        facts.is_one(b)
    return facts.equate(a, b, "broadcasting")


def data_dependent_sizes() -> Any:
    """The module of sizes that values decide, which needs this one."""
    return Tensor.functions.data_dependent_sizes


def broadcast_together(tensors: Sequence[Tensor], what: str, layout: str = "row") -> list[Tensor]:
    """All operands at their common shape (NumPy's rules, in the user's dims); OpError where there is none."""
    if all(t.dims == tensors[0].dims for t in tensors[1:]):
        return list(tensors)
    target = common_dims(tensors, what)
    return [broadcast_to(t, target, layout) for t in tensors]


def common_dims(tensors: Sequence[Tensor], what: str) -> tuple[Dim, ...]:
    """The dims to which all operands of `what` broadcast; OpError where there are none."""
    rank = max(t.ndim for t in tensors)
    dims: list[Dim] = [dim(1)] * rank
    try:
        for t in tensors:
            for i, d in enumerate(t.dims, rank - t.ndim):
                dims[i] = meet(dims[i], d)
    except OpError as error:
        shapes = " and ".join(str(t.user_type) for t in tensors)
        raise OpError(f"{what} cannot broadcast {shapes}: {error.message}", error.hint, "TX0211") from error
    facts = table()
    return tuple(facts.resolve(d) for d in dims)


def broadcast_to(t: Tensor, dims: tuple[Dim, ...], layout: str = "row") -> Tensor:
    """`t` expanded to dims that it is known to broadcast to; as a value, not an assignable view."""
    facts = table()
    have = t.dims
    if have == dims:
        return t
    if len(have) <= len(dims):
        t = data_dependent_sizes().repeated(t, dims[len(dims) - len(have) :])
        have = t.dims
        # What a fact makes 1 may have no symbol to solve it for, as min(n, m): the dim is seen as 1 from here on.
        last = dims[len(dims) - len(have) :]
        t = seen_as(t, tuple(b if facts.resolve(a) is b or not facts.is_one(a) else dim(1) for a, b in zip(have, last)))
        have = t.dims
    v = t.value
    if layout == "col" and 0 < t.ndim < len(dims):
        ones = (dim(1),) * (len(dims) - t.ndim) + have
        (v,) = emit(OPS["reshape"], (v,), {"dims": ones[::-1]})
        have = ones
    if have != dims:
        target = dims[::-1] if layout == "col" else dims
        v = once((v, target), lambda: emit(OPS["expand"], (v,), {"dims": target})[0])
    return Tensor(v, layout=layout)


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
