"""Products of vectors, matrices and more: all of them contractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ......dialects.dims.dims import packed_strides
from ......dialects.registry import OpError
from ......dialects.types import DTYPES
from .....diagnostics import located
from ....tensor.apply import apply, as_tensor, stack
from ....tensor.broadcasting import broadcast_together, equally_long, meet
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, strong
from ....tensor.tensor import Tensor
from ....tensor.views.view_or_copy import is_number
from ....trace.context import current, table
from ...creation import zeros
from ...out_arrays import into, into_acceptable
from ..registry import handles, required

__all__ = ["batched_matmul", "contracted", "cross", "dot", "kron", "matmul", "outer", "power", "raised", "vecdot"]


@handles(np.dot)
def dot_(a: Any, b: Any, out: Any = None) -> Any:
    return into_acceptable(out, dot(a, b))


@handles(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return matmul(x1, x2)


@handles(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """All products of elements of one place, the first operand conjugated, summed."""
    return dot(elements.conjugate(reshaping.ravel(as_tensor(a))), reshaping.ravel(as_tensor(b)))


@handles(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products along an axis counted from the end, the first operand conjugated, summed."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.ndim or not x2.ndim:
        raise OpError(f"np.vecdot takes no scalars: {x1.user_type} and {x2.user_type}", code="TX0271")
    x1, x2 = equally_long(x1, axis % x1.ndim, x2, axis % x2.ndim, "vecdot: the sizes of the axis differ")
    products = apply("mul", elements.conjugate(x1), x2)
    return cast(reducing.reduce("sum", products, axis), products.element)


@handles(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return vecdot(x1, x2, axis=axis)


@handles(*filter(None, [getattr(np, "matvec", None)]))
def matvec(x1: Any, x2: Any, /) -> Any:
    return reshaping.squeeze(matmul(x1, reshaping.expand_dims(as_tensor(x2), -1)), -1)


@handles(*filter(None, [getattr(np, "vecmat", None)]))
def vecmat(x1: Any, x2: Any, /) -> Any:
    row = reshaping.expand_dims(elements.conjugate(as_tensor(x1)), -2)
    return reshaping.squeeze(matmul(row, x2), -2)


@handles(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = _arrays(a, b)
    if not a.ndim or not b.ndim:
        return apply("mul", a, b)
    return _in_rows(apply("contract", a, b, pairs=((a.ndim - 1, b.ndim - 1),)))


@handles(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = reshaping.ravel(as_tensor(a)), reshaping.ravel(as_tensor(b))
    return into(out, apply("mul", reshaping.expand_dims(a, 1), b), np.multiply, broadcasts=True)


@handles(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Each element of `a` by all of `b`, as blocks."""
    a, b = as_tensor(a), as_tensor(b)
    rank = max(a.ndim, b.ndim)
    a, b = (reshaping.expand_dims(t, tuple(range(rank - t.ndim))) if t.ndim < rank else t for t in (a, b))
    wide_a = reshaping.expand_dims(a, tuple(range(1, 2 * rank, 2))) if rank else a
    wide_b = reshaping.expand_dims(b, tuple(range(0, 2 * rank, 2))) if rank else b
    return reshaping.reshape(apply("mul", wide_a, wide_b), [m * n for m, n in zip(a.shape, b.shape)])


def _crossed(a: Tensor, b: Tensor, along: tuple[int, int, int]) -> Tensor:
    """The cross product of vectors of 3, or of 2, along the axes `along` of the operands and the result."""
    a, b = reshaping.moveaxis(a, along[0], -1), reshaping.moveaxis(b, along[1], -1)
    (a0, a1, *rest), (b0, b1, *others) = ([t[..., i] for i in range(int(t.shape[-1]))] for t in (a, b))
    if not rest and not others:
        return a0 * b1 - a1 * b0
    (a2,), (b2,) = rest or [zeros((), a.element)], others or [zeros((), b.element)]
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return stack(broadcast_together(parts, "cross"), along[2])


@handles(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    for t, at in ((a, axisa), (b, axisb)):
        if t.ndim == 0 or int(t.shape[reshaping.axis_of(at, t.ndim)]) not in (2, 3):
            raise OpError(f"np.cross takes vectors of 2 or 3 elements, not {t.user_type}", code="TX0111")
    return _crossed(a, b, (axisa, axisb, axisc))


@handles(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = as_tensor(x1), as_tensor(x2)
    for t in (x1, x2):
        if t.ndim == 0 or bool(t.shape[reshaping.axis_of(axis, t.ndim)] != 3):
            raise OpError(f"np.linalg.cross takes vectors of 3 elements, not {t.user_type}", code="TX0111")
    return cross(x1, x2, axis=axis)


@handles(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = _arrays(a, b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    if len(left) != len(right):
        raise OpError(f"np.tensordot: {len(left)} axes against {len(right)}", code="TX0141")
    return _in_rows(apply("contract", a, b, pairs=tuple(zip(left, right))))


@handles(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


#: The name of a dim of size 1 that goes with every element of the other operand's.
STRETCHED = "stretched"


def batched_matmul(a: Tensor, b: Tensor) -> Tensor:
    """Products of stacks of matrices; a stack of one, or a vector, goes with every matrix of the other."""
    facts = table()
    left, right = [f"l{i}" for i in range(a.ndim)], [f"r{i}" for i in range(b.ndim)]
    left[-1] = right[max(0, b.ndim - 2)] = "summed"
    stacks: list[str] = []
    for back in range(3, max(a.ndim, b.ndim) + 1):  # dims from the third last on
        i, j = a.ndim - back, b.ndim - back
        if i >= 0 and j >= 0:
            size = facts.resolve(meet(a.dims[i], b.dims[j]))
            if facts.resolve(a.dims[i]) is facts.resolve(b.dims[j]):
                left[i] = right[j] = f"both{back}"
            elif facts.resolve(a.dims[i]) is size:
                right[j] = STRETCHED
            else:
                left[i] = STRETCHED
        stacks.insert(0, left[i] if i >= 0 and left[i] != STRETCHED else right[j])
    a, b = (
        reshaping.squeeze(t, tuple(i for i, n in enumerate(names) if n == STRETCHED)) if STRETCHED in names else t
        for t, names in ((a, left), (b, right))
    )
    left, right = ([n for n in names if n != STRETCHED] for names in (left, right))
    rows, columns = left[-2:-1] if a.ndim > 1 else [], right[-1:] if b.ndim > 1 else []
    return contracted(a, left, b, right, [*stacks, *rows, *columns])


def contracted(a: Tensor, left: Sequence[str], b: Tensor, right: Sequence[str], kept: Sequence[str]) -> Tensor:
    """Products of elements whose dims of one name agree, summed over the names that are not `kept`.

    The sums run in the order in which the right operand, the weights, has those names, the last one fastest.
    """
    if "col" in (a.layout, b.layout) and a.layout == b.layout:
        swapped = contracted(b.swap_layout(), right[::-1], a.swap_layout(), left[::-1], kept[::-1])
        return swapped.swap_layout()
    shared = [n for n in left if n in right]
    pairs = {n: (left.index(n), right.index(n)) for n in shared}
    batch = [n for n in shared if n in kept]
    summed = tuple(pairs[n] for n in right if n in left and n not in kept)
    result = apply("contract", a, b, pairs=summed, batch=tuple(pairs[n] for n in batch))
    have = [*batch, *(n for n in left if n not in shared), *(n for n in right if n not in shared)]
    return reshaping.transpose(result, [have.index(n) for n in kept]) if have != list(kept) else result


def matmul(a: Any, b: Any) -> Any:
    """NumPy's matmul: vectors, matrices, and stacks of matrices (by a loop over the products' sum)."""
    a, b = as_tensor(a), as_tensor(b)
    if not a.ndim or not b.ndim:
        raise OpError("matmul takes no scalars", "use *", "TX0271")
    if b.ndim <= 2 and (a.ndim <= 2 or b.ndim == 2):
        made = apply("contract", a, b, pairs=((a.ndim - 1, max(0, b.ndim - 2)),))
        return _in_rows(made) if made.ndim <= 2 else made
    if a.ndim <= 2 and b.ndim > 2 and a.ndim == 1:
        return apply("contract", a, b, pairs=((0, b.ndim - 2),))
    return batched_matmul(a, b)


def _arrays(*given: Any) -> list[Tensor]:
    """Operands as arrays, which NumPy makes of Python's numbers too: those have its default dtypes then."""
    return [strong(as_tensor(x)) for x in given]


def dot(a: Any, b: Any) -> Any:
    """NumPy's dot."""
    a, b = _arrays(a, b)
    if not a.ndim or not b.ndim:
        return apply("mul", a, b)
    return _in_rows(apply("contract", a, b, pairs=((a.ndim - 1, max(0, b.ndim - 2)),)))


def _in_rows(made: Tensor) -> Tensor:
    """A product that NumPy lays out in the order of its dims, however its operands lie."""
    if current() is not None:
        made._held = lambda: packed_strides(made.type.dims)
    return made


def power(x: Any, y: Any) -> Any:
    """``x ** y``, small whole exponents as products (as NumPy's fast paths do)."""
    base = as_tensor(x)
    if isinstance(y, (int, float)) and not isinstance(y, bool) and not isinstance(y, np.generic):
        x, kind = base, base.element.kind
        of_floats = kind in ("float", "complex")
        if y == 2 and (of_floats or isinstance(y, int)) and (kind != "bool" or base.ndim or base.boxed):
            return apply("square", x)
        if y == 0.5 and kind == "float":
            return apply("sqrt", x)
        if kind == "bool" and isinstance(y, int):
            x = base = cast(base, DTYPES["i64"])  # as beside an int in any other op
        if y == 1 and isinstance(y, int):
            return apply("positive", x)
    exponent = as_tensor(y)
    text = "Integers to negative integer powers are not allowed."
    if base.element.kind in ("bool", "int", "uint") and exponent.element.kind == "int":
        if isinstance(y, int) and y < 0:
            with located():
                raise OpError(text, "make the base a float", "TX0112")
        if not isinstance(y, int) and not (base.weak and exponent.weak):
            y = required(exponent, exponent >= 0, text)
    return apply("pow", x, y)


def raised(x: Any, y: Any) -> Any:
    """The operator ``x ** y``: `power`, but that NumPy's scalars go to C's `pow`.

    ``(-inf) ** 0.5`` of it is inf, ``(-0.0) ** 0.5`` is 0.0.
    """
    base = as_tensor(x)
    is_root = isinstance(y, float) and not isinstance(y, np.generic) and y == 0.5
    if not (is_root and is_number(base) and base.element.is_float):
        return power(x, y)
    root = apply("sqrt", apply("add", base, 0.0))
    return apply("select", apply("equal", base, -math.inf), math.inf, root)
