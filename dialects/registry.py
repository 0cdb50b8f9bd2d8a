"""The op registry: every operation is a small class, declared once in `dialects/ops/`, and everything else is derived.

From a declaration come shape and dtype inference, the `tx` op and its verifier, the `Tensor` method, the `.tx`
spelling, NumPy dispatch, the interpreters, the documentation and the generated tests.  No xDSL is imported here.

A family says what an op *is* and so what passes may do with it:

* `Map`        one scalar body applied to every element of operands of equal dims
* `Reduction`  a monoid (possibly with several accumulators and results) along dims in a stated order
* `Scan`       the partial results of a `Reduction` along one axis, in a stated order
* `View`       an index map: no arithmetic, no copy of its own
* `Composite`  written in the tensor language in terms of other ops; expanded when the graph is built
* `Structural` the handful with inference and lowering of their own (constant, contract, insert, take, …)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .dims.dims import Dim, dim
from .dims.index_map import IndexMap
from .order import FREE, Order, scan_order, sum_order
from .params import (
    INHABITED,
    RAISE,
    REQUIRED,
    CertainError,
    OpError,
    Param,
    axes,
    axis,
    bool_param,
    choice,
    dims_param,
    dtype_param,
    float_param,
    int_param,
    ints,
    mode,
)
from .scalar.language import ScalarBuilder, Value
from .types import DTYPES, DType, Interval, TensorType, dtype, tensor_type

__all__ = [
    "INEXACT", "INHABITED", "OPS", "RAISE", "REQUIRED", "CertainError", "Composite", "Map", "Op", "OpError", "Param",
    "Reduction", "Scan", "Structural", "View", "axes", "axis", "bool_param", "choice", "dims_param", "dtype_param",
    "find_op", "float_param", "int_param", "ints", "mode", "op",
]  # fmt: skip


class Op:
    """A declaration.  Subclass a family, not this.

    `numpy` is the NumPy function (or ufunc) that means the same: the oracle of tests, the constant folder and the
    spelling that dispatch recognises (None where NumPy has none); `also` lists further functions that dispatch
    recognises, by dotted name where the library should not be imported (``"scipy.special.expit"``).  `seeds` says
    which document defines it.
    """

    name: ClassVar[str]
    family: ClassVar[str] = ""
    numpy: ClassVar[Any] = None
    also: ClassVar[tuple[Any, ...]] = ()
    seeds: ClassVar[str] = ""
    arity: ClassVar[int] = 1
    results: ClassVar[int] = 1
    params: ClassVar[dict[str, Param]] = {}
    #: Parameters whose value names another op, such as ``{"nan": {"fast": "maximum_fast", …}}``.
    variants: ClassVar[dict[str, dict[str, str]]] = {}
    #: Names of the `Tensor` method and the `.tx` method; () where it is only a function or syntax.
    methods: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def variant(cls, given: dict[str, Any]) -> tuple[type[Op], dict[str, Any]]:
        """The op that is meant, and the parameters without those that choose it; OpError for a choice there is not."""
        chosen: type[Op] = cls
        for key, names in cls.variants.items():
            if given.get(key) is not None:
                if given[key] not in names:
                    listed = ", ".join(map(repr, names))
                    raise OpError(f"{given[key]!r} is not one of {listed}: {key} of {cls.name}", code="TX0105")
                chosen = find_op(names[given[key]])
        return chosen, {k: v for k, v in given.items() if k not in cls.variants}

    @classmethod
    def for_params(cls, attrs: Mapping[str, Any]) -> type[Self]:
        """The declaration with what depends on canonical parameters settled: itself where nothing does."""
        return cls

    @classmethod
    def bind(cls, operands: Sequence[TensorType], given: dict[str, Any]) -> dict[str, Any]:
        """The canonical parameters: converted, defaults filled in; OpError for a wrong or unknown one."""
        unknown = [k for k in given if k not in cls.params]
        if unknown:
            known = ", ".join(cls.params) or "no parameters"
            raise OpError(f"{cls.name} has no parameter {unknown[0]!r}", f"it takes {known}", "TX0101")
        bound = {}
        for key, param in cls.params.items():
            value = given.get(key, param.default)
            if value is REQUIRED:
                raise OpError(f"{cls.name} needs {key!r}", code="TX0101")
            bound[key] = param.convert(value, operands)
        return bound

    @classmethod
    def mirror(cls, attrs: dict[str, Any], rank: int) -> dict[str, Any]:
        """The canonical parameters for a first operand (of that rank) with its dims reversed."""
        return {**attrs, **{key: param.mirror(attrs[key], rank) for key, param in cls.params.items()}}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        """The result types; OpError where the operands do not fit."""
        raise NotImplementedError

    @classmethod
    def expanded(cls, tensors: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """What it is by other ops, where it is no op of its own for these operands: else None."""
        return None

    @classmethod
    def has_meaning(cls) -> bool:
        """Whether `evaluate` is independent of bodies: by a function of NumPy, or by code of the op's own."""
        return cls.numpy is not None or cls.evaluate.__func__.__module__ != __name__  # type: ignore[attr-defined]

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        """What it computes, by NumPy: the oracle and the interpreter of the `graph` and `tensor` levels."""
        raise NotImplementedError


OPS: dict[str, type[Op]] = {}
#: The kinds whose arithmetic rounds.
INEXACT = frozenset({"float", "complex"})
C = TypeVar("C", bound=type[Op])


def op(cls: C) -> C:
    """Register a declaration under its snake-case name."""
    if "name" not in cls.__dict__:
        cls.name = "".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).strip("_")
    if cls.name in OPS:
        raise ValueError(f"op {cls.name!r} is declared twice")
    if "methods" not in cls.__dict__ and cls.family in ("map", "reduction", "scan", "view", "composite"):
        cls.methods = (cls.name,)
    OPS[cls.name] = cls
    return cls


def find_op(name: str) -> type[Op]:
    """The op of that name; OpError with the nearest names where there is none."""
    found = OPS.get(name)
    if found is None:
        import difflib

        near = difflib.get_close_matches(name, OPS, 3)
        raise OpError(f"there is no op {name!r}", f"did you mean {' or '.join(near)}?" if near else "", "TX0100")
    return found


def _same_dims(cls: type[Op], operands: Sequence[TensorType]) -> tuple[Dim, ...]:
    first = operands[0].dims
    for other in operands[1:]:
        if other.dims != first:
            shapes = ", ".join(map(str, operands))
            raise OpError(f"{cls.name} needs operands of equal shape, got {shapes}", "broadcast them first", "TX0110")
    return first


class Map(Op):
    """A scalar body applied element by element.  Operands have equal dims and, but for `select`, one dtype.

    `dtypes` are the kinds it is defined on: of ``bool int uint float complex``.  `promotes` says what the front end
    does with mixed operands: ``common`` (NEP 50), ``float`` (NEP 50, integers become floats as NumPy's ufuncs do).
    `result` is ``same``, ``bool``, or ``part``: the type of the real part.  `mlir` is the op of the `math` dialect that
    has the same meaning for floats: bodies keep
    it as one op; without it the body is inlined.  `ulp` is the stated accuracy in units in the last place, None
    where the result is exact (correctly rounded or not rounded at all).
    `identity` is what it reduces from, for maps that are monoids: `reduction` makes the matching `Reduction`.
    """

    family = "map"
    dtypes: ClassVar[frozenset[str]] = frozenset({"float"})
    promotes: ClassVar[str] = "common"
    result: ClassVar[str] = "same"
    #: Whether it compares two numbers: integers of dtypes that no dtype holds both of as such, not as floats.
    compares: ClassVar[bool] = False
    mlir: ClassVar[str | None] = None
    ulp: ClassVar[float | None] = None
    #: Whether bodies keep it as one op on floats although its result is exact: for few lanes it does much more than for
    #: others, which only code that can branch skips (`ScalarBuilder.rare`).
    kept: ClassVar[bool] = False
    #: Whether `ulp` counts, beside ulp of the result, what one ulp of each operand changes in it.
    conditioned: ClassVar[bool] = False
    commutative: ClassVar[bool] = False
    #: Algebra that canonicalisation applies: ``involution``, ``idempotent``, ``idempotent pair``, ``choice``,
    #: ``("neutral", 0.0)``.
    algebra: ClassVar[tuple[Any, ...]] = ()
    #: Whether `build` takes ``inside``: where its operands are elements, not what stands in for those outside guards.
    guarded: ClassVar[bool] = False
    #: Rough cost of one element in floating-point instructions, for the cost model; from `OUTLINED` on a body on floats
    #: is a function, called where the map is used: code would grow by it everywhere.
    cost: ClassVar[float] = 1.0
    OUTLINED: ClassVar[float] = 150.0
    #: The interval tests draw arguments from, per operand.
    domain: ClassVar[tuple[float, float]] = (-10.0, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        """The one lowering: NumPy, `arith`/`math`, LLVM vectors and PTX all come from it."""
        raise NotImplementedError

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        """The same for complex operands (`ComplexValue`), where their operators do not make it of `scalar`."""
        return cls.scalar(b, *xs)

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        """`scalar`, with half-width floats computed in f32 and rounded once at the end.

        `attrs` are the op's parameters; only `cast` has one.
        """
        if xs[-1].dtype.is_complex:
            return cls.complex_scalar(b, *xs)
        wide = xs[-1].dtype.computes_in
        if wide is xs[-1].dtype or cls.result_dtype(xs[-1].dtype) is not xs[-1].dtype:
            xs = tuple(b.cast(x, x.dtype.computes_in) for x in xs)
            return cls.scalar(b, *xs)
        narrow = xs[-1].dtype
        return b.cast(cls.scalar(b, *(b.cast(x, x.dtype.computes_in) for x in xs)), narrow)

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        """Between which ints the exact result is, for operands between such; None where that is not known."""
        return None

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        """Whether the result, one number, is not the exact one: a bool, by ``apply(op, *tensors)``.

        Of the ops that the `mode` `RAISE` may ask to be exact, which Python's ints are.
        """
        raise NotImplementedError

    @classmethod
    def result_dtype(cls, operand: DType) -> DType:
        if cls.result == "part":
            return operand.part
        return DTYPES["bool"] if cls.result == "bool" else operand

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        dims = _same_dims(cls, operands)
        element = operands[-1].dtype
        for other in operands[1 if cls.name in ("select", "clip") else 0 :]:
            if other.dtype is not element and cls.name != "select":
                raise OpError(
                    f"{cls.name} needs operands of one dtype, got {', '.join(map(str, operands))}",
                    "cast one of them",
                    "TX0111",
                )
        if element.kind not in cls.dtypes:
            raise OpError(
                f"{cls.name} is not defined on {element}", f"it takes {', '.join(sorted(cls.dtypes))} tensors", "TX0112"
            )
        return (tensor_type(cls.result_dtype(element), dims),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        expected = cls.result_dtype(dtype(arrays[-1].dtype)).numpy
        with np.errstate(all="ignore"):
            return (np.asarray(cls.numpy(*arrays)).astype(expected, copy=False),)


class Reduction(Op):
    """A reduction along `dims`, which are dropped from the result (the front ends' `keepdims` adds ones back).

    It keeps `len(accumulators(dtype))` scalars.  Element number `k` (counted row-major along the reduced dims) is
    mapped by `map_element`, two partial results are combined by `combine` (older first), and `finalize` turns the
    accumulators into the op's results.  `exact` says that the combiner is associative and commutative in machine
    arithmetic for the dtype.
    """

    family = "reduction"
    params: ClassVar[dict[str, Param]] = {"dims": axes()}
    dtypes: ClassVar[frozenset[str]] = frozenset({"int", "uint", "float"})
    #: What the front end casts to first: ``sum`` (as NumPy: bool and small ints to 64 bits), ``same``, ``float``,
    #: ``bool``.
    promotes: ClassVar[str] = "same"
    #: Whether an empty reduced extent has a value.
    empty: ClassVar[bool] = True
    #: Whether `map_element` looks at its position `k`.
    indexed: ClassVar[bool] = False

    @classmethod
    def accumulators(cls, element: DType) -> tuple[DType, ...]:
        return (element.computes_in,)

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        """The value each accumulator starts from; combining it changes no accumulator that a reduction reaches, bit for
        bit."""
        raise NotImplementedError

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        """The accumulators of one element; `k` (i64) is its number along the reduced extent."""
        return (b.cast(x, x.dtype.computes_in),)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        raise NotImplementedError

    @classmethod
    def finalize(cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType) -> tuple[Value, ...]:
        return tuple(b.cast(s, d) for s, d in zip(accumulators, cls.result_dtypes(element)))

    @classmethod
    def result_dtypes(cls, element: DType) -> tuple[DType, ...]:
        return (element,)

    @classmethod
    def exact(cls, element: DType) -> bool:
        return not (element.is_float or element.is_complex)

    @classmethod
    def order(cls, operand: TensorType, dims: tuple[int, ...], slides: bool = False) -> Order:
        """From dtype, extent and axis kind (`slides`: over windows), with dims as memory has them, slowest first."""
        if cls.exact(operand.dtype):
            return FREE
        return sum_order(operand.dtype.computes_in.part.bits, operand.rank - 1 in dims and not slides)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (operand,) = operands
        if operand.dtype.kind not in cls.dtypes:
            raise OpError(
                f"{cls.name} is not defined on {operand.dtype}",
                f"it takes {', '.join(sorted(cls.dtypes))} tensors",
                "TX0112",
            )
        if not cls.empty and any(operand.dims[d].const == 0 for d in attrs["dims"]):
            raise OpError(f"{cls.name} of zero elements has no value", code="TX0113")
        kept = tuple(d for i, d in enumerate(operand.dims) if i not in attrs["dims"])
        return tuple(tensor_type(r, kept) for r in cls.result_dtypes(operand.dtype))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        with np.errstate(all="ignore"):
            return (
                np.asarray(cls.numpy(x, axis=attrs["dims"])).astype(
                    cls.result_dtypes(dtype(x.dtype))[0].numpy, copy=False
                ),
            )


class Scan(Op):
    """The partial results along `axis` of the reduction `by`: as many as there are elements.

    Result `i` combines the elements up to `i`, or with `exclusive` those before it.
    """

    family = "scan"
    params: ClassVar[dict[str, Param]] = {"axis": axis(), "exclusive": bool_param(False)}
    #: The name of the reduction.
    by: ClassVar[str]

    @classmethod
    def reduction(cls) -> type[Reduction]:
        found = find_op(cls.by)
        assert issubclass(found, Reduction)
        return found

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        """What the scan starts from: combining it with an element gives the element, bit for bit."""
        return cls.reduction().identity(element)

    @classmethod
    def finalize(
        cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType, exclusive: bool
    ) -> tuple[Value, ...]:
        """The result of a partial reduction; with `exclusive` the first one is the identity."""
        return cls.reduction().finalize(b, accumulators, element)

    @classmethod
    def order(cls, operand: TensorType, along: int) -> Order:
        """From dtype and axis kind, with dims as memory has them, slowest first."""
        return scan_order(operand.dtype.computes_in.bits, along == operand.rank - 1)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (operand,) = operands
        reduction = cls.reduction()
        if operand.dtype.kind not in reduction.dtypes:
            raise OpError(
                f"{cls.name} is not defined on {operand.dtype}",
                f"it takes {', '.join(sorted(reduction.dtypes))} tensors",
                "TX0112",
            )
        return (operand.with_dtype(reduction.result_dtypes(operand.dtype)[0]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        wide = x.astype(dtype(x.dtype).computes_in.numpy, copy=False)
        with np.errstate(all="ignore"):
            found = cls.numpy(wide, axis=attrs["axis"], dtype=wide.dtype)
        if attrs["exclusive"]:
            moved = np.moveaxis(found, attrs["axis"], 0)
            first = np.full_like(moved[:1], cls.reduction().identity(dtype(x.dtype))[0])
            found = np.moveaxis(np.concatenate([first, moved[:-1]])[: len(moved)], 0, attrs["axis"])
        return (found.astype(x.dtype, copy=False),)


class View(Op):
    """No arithmetic: each element of the result is one of the operand's (or `fill` outside the map's guards)."""

    family = "view"
    #: Whether storing through it is storing into the operand: each element of the result is one of the operand's.
    writable: ClassVar[bool] = True

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        """The map from the result's dims (its extents) to the operand's; OpError where the parameters do not fit."""
        raise NotImplementedError

    @classmethod
    def window_dims(cls, attrs: dict[str, Any]) -> int:
        """How many of the leading dims say where in a window an element is: neighbouring windows share elements."""
        return 0

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (operands[0].with_dims(cls.view(operands[0], attrs).extents),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        index = cls.view(tensor_type(x.dtype, x.shape), attrs)
        return (apply_map(x, index, attrs.get("fill", 0)),)


class Structural(Op):
    """An op with inference and lowering of its own.

    `foreign` names the loop generator of an op that is no nest: fusion makes it a `kernel.custom`.  `in_place` says
    that these loops may write the result where the operand is, which has its type.  `shorter_along` is the parameter
    with the dim whose size, where it is known, makes these loops a fraction of what they are for any size.  `error` is
    what a call raises, by its name in `runtime/check_errors.py`, and its text, where an op with the `mode` `RAISE` has
    `failed`.
    """

    family = "structural"
    foreign: ClassVar[str] = ""
    in_place: ClassVar[bool] = False
    shorter_along: ClassVar[str] = ""
    error: ClassVar[tuple[str, str] | None] = None

    @classmethod
    def failed(cls, apply: Callable[..., Any], *results: Any) -> Any:
        """Where it has failed: a tensor of bools, by ``apply(op, *tensors, **params)`` from its results."""
        raise NotImplementedError


class Composite(Op):
    """Expanded into other ops as the graph is built: `expand(*tensors, **attrs)` uses tensor operators and methods."""

    family = "composite"

    @classmethod
    def expand(cls, *tensors: Any, **attrs: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x, *rest) = arrays
        given = {("axis" if k == "dims" else k): v for k, v in attrs.items()}
        with np.errstate(all="ignore"):
            return (np.asarray(cls.numpy(x, *rest, **given)),)


def apply_map(x: np.ndarray, index: IndexMap, fill: Any = 0, env: dict[Any, Any] | None = None) -> np.ndarray:
    """Gather `x` through an index map by NumPy (`env` gives symbols their values): the meaning of every view."""
    values: dict[Any, Any] = dict(env or {})
    shape = tuple(int(e.evaluate(values)) for e in index.extents)
    for i, extent in enumerate(shape):
        values[next(iter(dim(f"d{i}").symbols()))] = np.arange(extent).reshape((-1,) + (1,) * (len(shape) - 1 - i))
    where = np.ones(shape, bool)
    for g in index.guards:
        where &= np.asarray(g.evaluate(values)) >= 0
    result = np.full(shape, fill, x.dtype)
    wheres = tuple(np.broadcast_to(np.asarray(e.evaluate(values)), shape)[where] for e in index.exprs)
    result[where] = x[wheres] if x.ndim else x
    return result
