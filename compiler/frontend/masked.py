"""``x[mask]``: values whose number only the compiled function knows, kept as all of `x` beside the mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dims import dim
from ...dialects.registry import OPS, Map, OpError
from ..diagnostics import TxcError, located
from . import methods
from .advanced_indexing import is_mask
from .apply import apply, as_tensor
from .context import table
from .graph import Loc, Value
from .tensor import Tensor
from .ufunc_table import recognised

__all__ = ["Masked", "mask_of", "put_masked"]

#: Two masks are compared as expressions up to this many nodes.
_NODES = 256


def mask_of(x: Tensor, items: list[Any]) -> Tensor:
    """A bool index as a mask of x's rank."""
    masks = [k for k in items if is_mask(k)]
    if len(masks) != 1 or not is_mask(items[0]) or any(k != slice(None) for k in items[1:]):
        raise OpError("a bool mask is the only index", "combine masks with &", "TX0255")
    mask = as_tensor(masks[0])
    for a, b in zip(mask.dims, x.dims):
        table().equate(a, b, "a mask")
    return methods.reshape(mask, [*mask.dims, *[dim(1)] * (x.ndim - mask.ndim)])


def put_masked(x: Tensor, mask: Tensor, new: Any) -> None:
    """``x[mask] = new`` for one value, or for what is left of tensors by the same mask."""
    if isinstance(new, Masked):
        if not same_values(mask, new.mask):
            _refuse("the values of x[mask] = y[other] are chosen by another mask")
        new = new.full
    elif getattr(new, "ndim", 0) and as_tensor(new).ndim:
        value = as_tensor(new)
        if value.ndim > x.ndim - sum(d.const != 1 for d in mask.dims):
            raise OpError(
                f"x[mask] = {value.user_type} needs the number of true elements",
                "store a scalar, or use x[...] = np.where(mask, values, x) with values of x's shape",
                "TX0252",
            )
    x.store(apply("select", mask, apply("cast", new, dtype=x.element), x))


def same_values(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same expression of the same values."""
    seen: dict[tuple[Value, Value], bool] = {}

    def same(v: Value, w: Value) -> bool:
        if v is w:
            return True
        if (v, w) not in seen:
            seen[v, w] = False  # a pair met again on the way to itself: no
            m, n = v.node, w.node
            alike = m.op is not None and m.op is n.op and not m.regions and v.index == w.index and m.attrs == n.attrs
            known = alike and len(m.operands) == len(n.operands) and len(seen) < _NODES
            seen[v, w] = known and all(same(x, y) for x, y in zip(m.operands, n.operands))
        return seen[v, w]

    return same(a.value, b.value)


_UNKNOWN = "x[mask] has as many elements as the mask has true ones, which is known only at run time"
_HINT = "use np.where(mask, x, other), x[mask] = f(x[mask], y[mask]) or x[mask].sum()"


def _refuse(text: str = _UNKNOWN) -> Any:
    with located():
        raise OpError(text, _HINT, "TX0252")


_REDUCTIONS = {np.sum: "sum", np.mean: "mean", np.prod: "prod", np.all: "all", np.any: "any"}


class Masked:
    """``x[mask]``: may be reduced, computed with element by element, and stored where the same mask is true."""

    def __init__(self, full: Tensor, mask: Tensor):
        self.full, self.mask = full, mask

    def sum(self) -> Any:
        return self._reduced("sum")

    def mean(self) -> Any:
        return self._reduced("mean")

    def prod(self) -> Any:
        return self._reduced("prod")

    def all(self) -> Any:
        return self._reduced("all")

    def any(self) -> Any:
        return self._reduced("any")

    def _reduced(self, name: str) -> Any:
        return methods.reduce(name, self.full, where=self.mask)

    def no_result(self, loc: Loc) -> TxcError:
        """Why a function cannot return it."""
        return TxcError(_UNKNOWN, loc, _HINT, "TX0252")

    @property
    def size(self) -> Tensor:
        """The number of elements, as a tensor."""
        return methods.reduce("sum", self.mask)

    @property
    def dtype(self) -> Any:
        return self.full.dtype

    def _with(self, others: tuple[Any, ...]) -> list[Any]:
        """The full operands of an element-by-element operation; each is one value or chosen by the same mask."""
        found: list[Any] = []
        for other in others:
            if isinstance(other, Masked):
                if other is not self and not same_values(self.mask, other.mask):
                    _refuse("x[mask] and y[other] are chosen by different masks")
                found.append(other.full)
            elif getattr(other, "ndim", 0):
                _refuse()
            else:
                found.append(other)
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        with located():
            name = recognised(ufunc)
            if method != "__call__" or name is None or not issubclass(OPS[name], Map) or kwargs:
                return _refuse()
            return Masked(getattr(ufunc, method)(*self._with(inputs)), self.mask)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = _REDUCTIONS.get(function)
        return _refuse() if name is None or args != (self,) or kwargs else self._reduced(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _refuse()

    def __len__(self) -> int:
        return _refuse()

    def __getitem__(self, key: Any) -> Any:
        return _refuse()

    def __neg__(self) -> Masked:
        return Masked(-self.full, self.mask)

    def __abs__(self) -> Masked:
        return Masked(abs(self.full), self.mask)


def _operator(name: str) -> tuple[Any, Any]:
    def forward(self: Masked, other: Any) -> Masked:
        return Masked(getattr(self.full, name)(*self._with((other,))), self.mask)

    def reflected(self: Masked, other: Any) -> Masked:
        return Masked(getattr(as_tensor(*self._with((other,))), name)(self.full), self.mask)

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    _forward, _reflected = _operator(f"__{_name}__")
    setattr(Masked, f"__{_name}__", _forward)
    setattr(Masked, f"__i{_name}__", _forward)
    setattr(Masked, f"__r{_name}__", _reflected)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Masked, f"__{_name}__", _operator(f"__{_name}__")[0])
