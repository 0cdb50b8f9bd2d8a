"""Numbers of one type or another: a Python int, float or bool, or one of NumPy's scalars, as compiled code decided.

Their value is in one dtype that holds it exactly, whichever type it is of, and a bool for each type says whether it is
of that.  What is done with such a number is staged for each type.  Where all come to the same operations on the value,
as ``best < x[i]`` does of 0.0 and of a ``np.float64``, these are the program; else there is a branch for each type, as
of any value of one kind or another (`one_of`).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from .....dialects.dims.dims import Dim
from .....dialects.registry import OPS
from .....dialects.types import DTYPES, DType, dtype
from ....diagnostics import TxcError, user_loc
from ...refusals import instead
from ...scalars.python_numbers import as_float
from ...tensor.apply import as_tensor
from ...tensor.leaves import element_of
from ...tensor.promotion import cast, common_dtype
from ...tensor.tensor import Tensor
from ...trace.context import require, table
from ...trace.graph import Value
from ...trace.symint import SymInt
from .one_of import OneOf, any_of

__all__ = ["Common", "Kind", "MixedNumber", "as_one_number", "common_value", "is_of", "kinds_of"]

_PYTHONS = {bool: "bool", int: "int", float: "float", complex: "complex"}
_ELEMENTS = {"bool": DTYPES["bool"], "int": DTYPES["i64"], "float": DTYPES["f64"], "complex": DTYPES["c128"]}
_RANKS = {"bool": 0, "int": 1, "uint": 1, "float": 2, "complex": 3}
#: The most operations that are compared, to see whether two types come to the same.
_MOST_COMPARED = 64


class Kind(NamedTuple):
    """The type of a number: `weak` names Python's, and is empty of a NumPy scalar, whose dtype `element` is."""

    weak: str
    element: DType


def kinds_of(value: Any) -> tuple[Kind, ...]:
    """The types of which a number may be; none for what is no number, as an array of rank 0."""
    if isinstance(value, MixedNumber):
        return value.kinds
    if isinstance(value, Tensor):
        return () if value.ndim or value.boxed else (Kind(value.weak, value.element),)
    if isinstance(value, SymInt):
        return (Kind("int", DTYPES["i64"]),)
    if isinstance(value, np.generic):
        return (Kind("", element_of(value)),) if value.dtype.kind in "biufc" else ()
    weak = _PYTHONS.get(type(value))
    return (Kind(weak, _ELEMENTS[weak]),) if weak else ()


class _Computed(NamedTuple):
    """Stands for what a number that compiled code computes may be: any of a dtype.

    Where a float does not hold a Python int exactly the call raises OverflowError.
    """

    value: Value | None
    element: DType
    is_int: bool


class Common(NamedTuple):
    """What numbers of some types have in common: a dtype that holds each exactly.

    `needs` is what it has to hold: numbers that are known, and those that are computed.
    """

    kinds: tuple[Kind, ...]
    needs: tuple[Any, ...]
    element: DType

    @staticmethod
    def of(value: Any) -> Common:
        """Of one number."""
        kinds = kinds_of(value)
        if isinstance(value, MixedNumber):
            return value.spec
        return Common(kinds, (_need(value),), kinds[0].element)

    @staticmethod
    def of_kind(kind: Kind) -> Common:
        """Of numbers of a type, each of which may be any."""
        return Common((kind,), (_Computed(None, kind.element, kind.weak == "int"),), kind.element)

    def without(self, value: Any) -> Common:
        """What there is beside a number that is computed."""
        of = value.value if isinstance(value, Tensor) else None
        return self._replace(
            needs=tuple(n for n in self.needs if of is None or not isinstance(n, _Computed) or n.value is not of)
        )

    @staticmethod
    def of_items(items: Tensor, weak: str) -> Common:
        """Of the items of a list, an array of which each is of the same type."""
        kind = Kind(weak, items.element)
        # Those of a loop are never asked for as a number that is computed.
        return Common.of_kind(kind) if items.ndim else Common.of(Tensor(items.value, weak=weak))

    def joined(self, value: Any) -> Common | None:
        """With another number; itself where that needs no more, and None where no dtype holds them all exactly."""
        return self.joined_with(Common.of(value))

    def joined_with(self, other: Common) -> Common | None:
        """With what other numbers have in common; as `joined`."""
        # What the dtype holds is noted too: with another type it may be a smaller one.
        needs = [need for need in other.needs if not any(_is_implied(need, known) for known in self.needs)]
        if set(other.kinds) <= {*self.kinds} and not needs:
            return self
        return self._replace(needs=(*self.needs, *needs)).of_kinds(other.kinds)

    def of_kinds(self, others: Sequence[Kind]) -> Common | None:
        """With numbers of more types, of which nothing else is known yet."""
        kinds = tuple(dict.fromkeys([*self.kinds, *others]))
        elements = list(dict.fromkeys(kind.element for kind in kinds))
        try:
            elements.append(dtype(np.result_type(*(element.numpy for element in elements))))
        except TypeError:
            pass
        rank = max(_RANKS[element.kind] for element in elements)
        for element in sorted(elements, key=lambda e: e.bits):
            if _RANKS[element.kind] == rank and all(_holds(element, need) for need in self.needs):
                return self._replace(kinds=kinds, element=element)
        return None


def _need(value: Any) -> Any:
    """What a dtype has to hold to hold a number: that, or all numbers of its dtype."""
    if isinstance(value, Tensor):
        node = value.value.node
        if node.op is OPS["constant"]:
            return _literal(node.attrs["value"])
        return _Computed(value.value, value.element, value.weak == "int")
    return value


def _literal(value: Any) -> Any:
    """A literal as a Python number."""
    return value.item() if isinstance(value, np.generic) else value


def _is_implied(need: Any, known: Any) -> bool:
    """Whether what holds one number holds another one: of ints that are not known calls check it."""
    if isinstance(need, SymInt):
        return isinstance(known, SymInt) or (isinstance(known, _Computed) and known.is_int)
    if isinstance(need, _Computed):
        return isinstance(known, _Computed) and (need.element, need.is_int) == (known.element, known.is_int)
    return need is known or (type(need) is type(known) and repr(need) == repr(known))


def _holds(element: DType, need: Any) -> bool:
    """Whether a dtype holds a number exactly."""
    if isinstance(need, _Computed):
        exactly = _holds_all(element, need.element)
        return exactly or (need.is_int and element.part is DTYPES["f64"])
    if isinstance(need, SymInt):
        low, high = element.ints
        return element is DTYPES["i64"] or (element.part is DTYPES["f64"] and table().holds(need.dim, low, high))
    need = _literal(need)
    if need != need:
        return element.is_float or element.is_complex
    if isinstance(need, int):
        return element.ints[0] <= need <= element.ints[1]
    if element.is_integer or element.kind == "bool" or (isinstance(need, complex) and not element.is_complex):
        return False
    with np.errstate(all="ignore"):
        return bool(np.asarray(need).astype(element.numpy).astype(np.complex128) == need)


def _holds_all(element: DType, of: DType) -> bool:
    if element is of or of.kind == "bool":
        return True
    if of.is_integer:
        return element.ints[0] <= of.ints[0] and of.ints[1] <= element.ints[1] and element.kind != "bool"
    if not (element.is_float or element.is_complex) or (of.is_complex and not element.is_complex):
        return False
    # A float of 16 bits has more digits, or a wider range, than the other one of that width.
    return element.part is of.part or element.part.bits > of.part.bits


def common_value(value: Any, element: DType) -> Tensor:
    """The value of a number, that `element` holds, in that dtype."""
    t = value.common if isinstance(value, MixedNumber) else as_tensor(value)
    if element.part is DTYPES["f64"] and t.weak == "int":
        t = as_float(t, exactly=True)
    return cast(t, element)


def as_one_number(value: Any) -> Any:
    """A number where there can be one of one dtype only: promoted as NumPy promotes its types, Python's where all are.

    TxcError where that dtype does not hold it exactly.  Any other value is itself.
    """
    if not isinstance(value, MixedNumber):
        return value
    element = common_dtype([Tensor(derived.value, weak=derived.weak) for derived in value._derived])
    if not _holds_all(element, value.common.element):
        raise value.error(user_loc())
    weak = [kind.weak for kind in value.kinds]
    name = max(weak, key=[*_ELEMENTS].index) if all(weak) else ""
    return Tensor(cast(value.common, element).value, weak=name)


def is_of(value: Any, kind: Kind) -> Any:
    """Whether a number is of a type: a bool, or a condition of compiled code."""
    if isinstance(value, MixedNumber):
        return next((cond for own, (_, cond) in zip(value.kinds, value.options) if own == kind), False)
    return kind in kinds_of(value)


class MixedNumber(OneOf):
    """A number of one of several types: `common` is its value, of the dtype that `spec` says, and there is a condition
    for each of its `kinds`.

    `values` are what it is of each type, where that is known beside (a literal, a size).
    """

    common: Tensor
    spec: Common
    #: The value as a number of each type.
    _derived: Sequence[Tensor]

    def __init__(
        self, name: str, common: Tensor, spec: Common, conds: Sequence[Tensor], fork: Callable[..., Any],
        values: Sequence[Any] = (),
    ):  # fmt: skip
        derived = [_derived(common, kind) for kind in spec.kinds]
        values = [d if v is None else v for v, d in zip(values, derived)] if values else derived
        text = f"{name!r} is a number of one type or another"
        hint = "give it one type: float(…), int(…), or a NumPy scalar"
        super().__init__(name, text, hint, [*zip(values, conds)], fork)
        vars(self).update(common=common, spec=spec, _derived=derived)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return self.spec.kinds

    def among(self, options: Sequence[tuple[Any, Tensor]]) -> Any:
        if len(options) in (1, len(self.options)):
            return super().among(options)
        chosen = [k for k, (_, cond) in enumerate(self.options) if any(cond is of for _, of in options)]
        spec = self.spec._replace(kinds=tuple(self.kinds[k] for k in chosen))
        given = [self.options[k] for k in chosen]
        return MixedNumber(self.name, self.common, spec, [c for _, c in given], self.fork, [v for v, _ in given])

    def beside(self, number: Tensor) -> MixedNumber:
        """The same, without what it needs to hold for being that number."""
        conds = [cond for _, cond in self.options]
        return MixedNumber(self.name, self.common, self.spec.without(number), conds, self.fork)

    def of_kind(self, kind: Kind) -> Any:
        """What it is where it is of that type."""
        return self.options[self.kinds.index(kind)][0]

    def _text(self, *_: Any) -> Any:
        """Nobody knows its text before the function runs, whichever type it is of."""
        text = f"the text of {self.name!r} is asked, a number whose value is known only when the function runs"
        raise TxcError(text, user_loc(), instead("str"), "TX0317")

    __str__ = __format__ = _text

    def each(self, f: Callable[[Any], Any], *reached: Any) -> Any:
        if all(map(_is_fixed, reached)):
            found = self._at_once(f)
            if found is not None:
                return found[0]
        return super().each(f, *reached)

    def _at_once(self, f: Callable[[Any], Any]) -> tuple[Any] | None:
        """``f(value)`` without a branch, where it comes to the same for each type; None where it does not."""
        known = self.known()
        chosen = [k for k, (_, cond) in enumerate(self.options) if any(cond is of for _, of in known)]
        if len(chosen) < 2:
            return None
        runs = [_tried(f, self._derived[k]) for k in chosen]
        first = runs[0]
        if first is None or not all(run is not None and run.is_as(first) for run in runs[1:]):
            return None
        if first.writes:
            return (f(self._derived[chosen[0]]),)
        results = [run.result for run in runs if run is not None]
        kinds = [kinds_of(result) for result in results]
        if all(kind == kinds[0] for kind in kinds):
            return (results[0],)
        if not all(len(kind) == 1 and isinstance(result, Tensor) for kind, result in zip(kinds, results)):
            return None
        conds = [self.options[k][1] for k in chosen]
        by_kind = {kind: [c for c, (own,) in zip(conds, kinds) if own == kind] for (kind,) in kinds}
        common = Tensor(results[0].value)
        spec = Common.of(common)._replace(kinds=tuple(by_kind))
        return (MixedNumber(self.name, common, spec, [any_of(c) for c in by_kind.values()], self.fork),)


def _derived(common: Tensor, kind: Kind) -> Tensor:
    """A value as a number of a type, of which it is."""
    made = cast(Tensor(common.value), kind.element).value
    if made is not common.value and made.node.op is not OPS["constant"]:
        require().exact.setdefault(made, common.value)
    return Tensor(made, weak=kind.weak)


def _is_fixed(x: Any) -> bool:
    """Whether nothing that is done with a value changes it, but for what is stored into an array."""
    if isinstance(x, (tuple, slice)):
        return all(map(_is_fixed, x if isinstance(x, tuple) else (x.start, x.stop, x.step)))
    if isinstance(x, (types.BuiltinFunctionType, types.MethodType)):
        return isinstance(x.__self__, types.ModuleType) or _is_fixed(x.__self__)
    plain = (Tensor, MixedNumber, SymInt, bool, int, float, complex, str, np.generic, np.dtype, np.ufunc, type)
    return x is None or x is Ellipsis or isinstance(x, (*plain, types.FunctionType))


class _Run(NamedTuple):
    """What a function gave, and what it left in arrays."""

    result: Any
    writes: dict[Tensor, Value]

    def is_as(self, other: _Run) -> bool:
        """Whether the other one comes to the same values, of whichever types."""
        same = _Same()
        return (
            list(self.writes) == list(other.writes)
            and all(same.values(v, other.writes[owner]) for owner, v in self.writes.items())
            and same.results(self.result, other.result)
        )


class _Tried(Exception):
    """What was tried is to be as if it had not been."""


def _tried(f: Callable[[Any], Any], value: Any) -> _Run | None:
    """What comes of ``f(value)``, which then did not happen; None where that says more than values."""
    trace, found = require(), None
    demanded = trace.demanded()
    try:
        with trace.attempt():
            result = f(value)
            if trace.demanded() == demanded:
                found = _Run(result, {owner: owner.value for owner in trace.writes[-1]})
            raise _Tried
    except Exception:
        return found


class _Range(Protocol):
    """``range`` with run-time bounds, whose class is of a layer above."""

    @property
    def bounds(self) -> tuple[Any, Any, Any]: ...


def _is_range(x: Any) -> TypeGuard[_Range]:
    return hasattr(type(x), "bounds")


class _Same:
    """Compares what two runs of a function came to."""

    def __init__(self) -> None:
        self.seen: set[tuple[int, int]] = set()

    def results(self, a: Any, b: Any) -> bool:
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(self.results, a, b)) and all(
                kinds_of(x) == kinds_of(y) for x, y in zip(a, b)
            )  # fmt: skip
        if type(a) is Tensor and type(b) is Tensor:
            return (a.layout, a.boxed) == (b.layout, b.boxed) and self.values(a.value, b.value)
        if isinstance(a, SymInt) and isinstance(b, SymInt):
            return a.dim is b.dim
        if type(a) is type(b) and _is_range(a) and _is_range(b):  # its items are ints whatever its bounds are
            return all(map(self.results, a.bounds, b.bounds))
        return a is b or (type(a) is type(b) and isinstance(a, (bool, int, float, str)) and repr(a) == repr(b))

    def values(self, a: Value, b: Value) -> bool:
        """Whether two values are computed alike from the same ones."""
        if a is b or (id(a), id(b)) in self.seen:
            return True
        first, second = a.node, b.node
        if first.op is None or first.op is not second.op or first.regions or second.regions or a.index != b.index:
            return False
        if len(self.seen) > _MOST_COMPARED or len(first.operands) != len(second.operands):
            return False
        self.seen.add((id(a), id(b)))
        return _is_alike(first.attrs, second.attrs) and all(map(self.values, first.operands, second.operands))


def _is_alike(a: Any, b: Any) -> bool:
    """Whether two parameters of ops are the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_alike(part, b[key]) for key, part in a.items())
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_is_alike, a, b))
    return a is b or (isinstance(a, (str, int, float, DType, Dim)) and type(a) is type(b) and repr(a) == repr(b))
