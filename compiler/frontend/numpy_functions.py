"""NumPy's functions that are no ufuncs, in terms of ops and methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.registry import OpError
from . import fft_functions, methods
from .apply import apply, as_tensor, broadcast_together, cast, common_dtype, meet, stack
from .numpy_dispatch import dot, matmul
from .tensor import Tensor
from .trace import table

__all__ = ["FUNCTIONS", "batched_matmul", "handles", "into"]

FUNCTIONS: dict[Any, Callable[..., Any]] = {**fft_functions.FUNCTIONS}


def handles(*functions: Any) -> Callable[[Any], Any]:
    def register(f: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(functions, f))
        return f

    return register


def _reduction(name: str) -> Any:
    def reduction(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **rest: Any
    ) -> Any:
        return methods.reduce(name, a, axis, dtype, out, keepdims, **rest)

    def plain(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **rest: Any) -> Any:
        return methods.reduce(name, a, axis, None, out, keepdims, **rest)

    return reduction if name in ("sum", "prod", "mean") else plain


for _f, _name in {
    np.sum: "sum", np.prod: "prod", np.mean: "mean", np.max: "maximum", np.amax: "maximum", np.min: "minimum",
    np.amin: "minimum", np.all: "all", np.any: "any", np.argmax: "argmax", np.argmin: "argmin",
}.items():  # fmt: skip
    FUNCTIONS[_f] = _reduction(_name)


@handles(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise OpError("np.where(condition) has a size known only at run time", "give it both values", "TX0252")
    return apply("select", condition, x, y)


@handles(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    lo = a_min if min is None or min is np._NoValue else min
    hi = a_max if max is None or max is np._NoValue else max
    lo, hi = (None if v is np._NoValue else v for v in (lo, hi))
    return methods.clip(as_tensor(a), lo, hi, out)


@handles(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: Any = 0, out: Any = None, dtype: Any = None) -> Any:
    tensors = [as_tensor(x) for x in arrays]
    if dtype is not None:
        tensors = [methods.astype(t, dtype) for t in tensors]
    if axis is None:
        tensors, axis = [methods.ravel(t) for t in tensors], 0
    return into(out, apply("concatenate", *tensors, axis=axis))


def into(out: Any, result: Any) -> Any:
    if out is None:
        return result
    out[...] = result
    return out


@handles(np.stack)
def stack_(arrays: Sequence[Any], axis: int = 0, out: Any = None) -> Any:
    return into(out, stack([as_tensor(x) for x in arrays], axis))


@handles(np.vstack)
def vstack(tup: Sequence[Any]) -> Any:
    return concatenate([atleast_2d(x) for x in tup], 0)


@handles(np.hstack)
def hstack(tup: Sequence[Any]) -> Any:
    tensors = [as_tensor(x) for x in tup]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1)


@handles(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    tensors = [as_tensor(x) for x in tup]
    return concatenate([methods.expand_dims(t, 1) if t.ndim == 1 else t for t in tensors], 1)


@handles(np.atleast_2d)
def atleast_2d(x: Any) -> Any:
    x = as_tensor(x)
    return x if x.ndim >= 2 else methods.reshape(x, (1, *x.shape) if x.ndim else (1, 1))


@handles(np.atleast_1d)
def atleast_1d(x: Any) -> Any:
    x = as_tensor(x)
    return x if x.ndim else methods.reshape(x, (1,))


@handles(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    return methods.transpose(as_tensor(a), axes)


@handles(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    return methods.swapaxes(as_tensor(x), -1, -2)


for _f, _method in {
    np.swapaxes: methods.swapaxes, np.moveaxis: methods.moveaxis, np.squeeze: methods.squeeze,
    np.expand_dims: methods.expand_dims, np.std: methods.deviation, np.var: methods.variance,
}.items():  # fmt: skip
    FUNCTIONS[_f] = lambda a, *args, _method=_method, **kwargs: _method(as_tensor(a), *args, **kwargs)


@handles(np.reshape)
def reshape(a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    return methods.reshape(as_tensor(a), shape if newshape is None else newshape, order=order)


@handles(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    return methods.ravel(as_tensor(a), order)


@handles(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Any:
    return methods.broadcast(as_tensor(array), shape)


@handles(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: Any = False) -> Any:
    return tuple(broadcast_together([as_tensor(a) for a in args], "broadcast_arrays"))


@handles(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    m = as_tensor(m)
    chosen = range(m.ndim) if axis is None else [axis] if not isinstance(axis, (tuple, list)) else axis
    flipped = {methods._axis(a, m.ndim) for a in chosen}
    return apply("reverse", m, flags=tuple(i in flipped for i in range(m.ndim)))


@handles(np.flipud)
def flipud(m: Any) -> Any:
    return flip(m, 0)


@handles(np.fliplr)
def fliplr(m: Any) -> Any:
    return flip(m, 1)


@handles(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = as_tensor(a)
    if axis is None:
        return methods.reshape(methods.roll_one(methods.ravel(a), int(shift), 0), a.shape)
    pairs = zip(shift, axis) if isinstance(axis, (tuple, list)) else [(shift, axis)]
    for by, at in pairs:
        a = methods.roll_one(a, int(by), methods._axis(at, a.ndim))
    return a


@handles(np.tile)
def tile(A: Any, reps: Any) -> Any:
    A = as_tensor(A)
    factors = list(reps) if isinstance(reps, (tuple, list)) else [reps]
    factors = [1] * (A.ndim - len(factors)) + factors
    return apply("broadcast", methods.reshape(A, (1,) * (len(factors) - A.ndim) + A.shape), factors=tuple(factors))


@handles(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = as_tensor(a)
    if axis is None:
        a, axis = methods.ravel(a), 0
    if getattr(repeats, "ndim", 0) or isinstance(repeats, (tuple, list)):
        raise OpError("np.repeat with a count for each element has a size known only at run time", code="TX0252")
    return methods.repeat_rows(a, repeats, methods._axis(axis, a.ndim))


@handles(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant":
        raise OpError(f"np.pad does not take mode={mode!r}", "pad with a constant", "TX0240")
    array = as_tensor(array)
    if not isinstance(pad_width, (tuple, list)):
        pad_width = ((pad_width, pad_width),) * array.ndim
    elif not isinstance(pad_width[0], (tuple, list)):
        pad_width = (tuple(pad_width) if len(pad_width) == 2 else (pad_width[0],) * 2,) * array.ndim
    elif len(pad_width) == 1:
        pad_width = tuple(pad_width) * array.ndim
    return apply("pad", array, pairs=tuple(tuple(p) for p in pad_width), fill=constant_values)


FUNCTIONS[np.dot] = dot
FUNCTIONS[np.matmul] = matmul


@handles(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    a, b = methods.ravel(as_tensor(a)), methods.ravel(as_tensor(b))
    return dot(apply("conjugate", a) if a.element.is_complex else a, b)


@handles(np.inner)
def inner(a: Any, b: Any) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    if not a.ndim or not b.ndim:
        return apply("mul", a, b)
    return apply("contract", a, b, pairs=((a.ndim - 1, b.ndim - 1),))


@handles(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = methods.ravel(as_tensor(a)), methods.ravel(as_tensor(b))
    return into(out, apply("mul", methods.expand_dims(a, 1), b))


@handles(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = as_tensor(a), as_tensor(b)
    if isinstance(axes, int):
        left, right = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        left, right = ([x] if isinstance(x, int) else list(x) for x in axes)
    return apply("contract", a, b, pairs=tuple(zip(left, right)))


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
        methods.squeeze(t, tuple(i for i, n in enumerate(names) if n == STRETCHED)) if STRETCHED in names else t
        for t, names in ((a, left), (b, right))
    )
    left, right = ([n for n in names if n != STRETCHED] for names in (left, right))
    rows, columns = left[-2:-1] if a.ndim > 1 else [], right[-1:] if b.ndim > 1 else []
    return _contracted(a, left, b, right, [*stacks, *rows, *columns])


def _contracted(a: Tensor, left: Sequence[str], b: Tensor, right: Sequence[str], kept: Sequence[str]) -> Tensor:
    """Products of elements whose dims of one name agree, summed over the names that are not `kept`."""
    if "col" in (a.layout, b.layout) and a.layout == b.layout:
        swapped = _contracted(b.swap_layout(), right[::-1], a.swap_layout(), left[::-1], kept[::-1])
        return swapped.swap_layout()
    shared = [n for n in left if n in right]
    pairs = {n: (left.index(n), right.index(n)) for n in shared}
    batch = [n for n in shared if n in kept]
    summed = tuple(pairs[n] for n in shared if n not in kept)
    result = apply("contract", a, b, pairs=summed, batch=tuple(pairs[n] for n in batch))
    have = [*batch, *(n for n in left if n not in shared), *(n for n in right if n not in shared)]
    return methods.transpose(result, [have.index(n) for n in kept]) if have != list(kept) else result


@handles(np.einsum)
def einsum(subscripts: Any, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
    """One or two operands: diagonals refused, sums over private letters, a contraction where the result allows it."""
    if not isinstance(subscripts, str) or "." in subscripts or len(operands) not in (1, 2):
        raise OpError("np.einsum takes letters for one or two operands here", "split it into steps", "TX0272")
    text = subscripts.replace(" ", "")
    left, _, right = text.partition("->")
    inputs = left.split(",")
    if "->" not in text:
        letters = left.replace(",", "")
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    tensors = [as_tensor(x) for x in operands]
    if len(inputs) != len(tensors) or any(len(s) != t.ndim for s, t in zip(inputs, tensors)):
        raise OpError(f"np.einsum {text!r} does not fit {', '.join(str(t.user_type) for t in tensors)}", code="TX0272")
    if any(len(set(s)) != len(s) for s in inputs) or len(set(right)) != len(right):
        raise OpError(f"np.einsum {text!r} takes a diagonal", "use np.diagonal first", "TX0272")
    for i, s in enumerate(inputs):
        others = right + "".join(inputs[:i] + inputs[i + 1 :])
        private = tuple(k for k, c in enumerate(s) if c not in others)
        if private:
            tensors[i] = methods.reduce("sum", tensors[i], private)
            inputs[i] = "".join(c for c in s if c in others)
    if len(tensors) == 1:
        result, have = tensors[0], inputs[0]
    else:
        a, b = inputs
        if any(c in b and c not in right for c in a) or not any(c in b for c in a):
            return into(out, _contracted(tensors[0], list(a), tensors[1], list(b), list(right)))
        result, have = apply("mul", *(_aligned(t, s, right) for t, s in zip(tensors, inputs))), right
    return into(out, methods.transpose(result, [have.index(c) for c in right]) if right else result)


def _aligned(t: Tensor, have: str, want: str) -> Tensor:
    """`t` with its dims in the order of `want`, and 1 for each letter it lacks."""
    t = methods.transpose(t, [have.index(c) for c in want if c in have])
    return methods.expand_dims(t, tuple(i for i, c in enumerate(want) if c not in have)) if len(have) < len(want) else t


def _like(value: Any) -> Any:
    def like(a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None) -> Any:
        from .creation import full

        a = as_tensor(a)
        return full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)

    return like


for _f, _value in {np.zeros_like: 0, np.ones_like: 1, np.empty_like: 0}.items():
    FUNCTIONS[_f] = _like(_value)


@handles(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None
) -> Any:
    return _like(fill_value)(a, dtype, shape=shape)


@handles(np.copy)
def copy(a: Any, order: Any = "K", subok: Any = False) -> Any:
    return methods.copy(as_tensor(a))


@handles(np.shape)
def shape(a: Any) -> Any:
    return a.shape


@handles(np.ndim)
def ndim(a: Any) -> Any:
    return a.ndim


@handles(np.size)
def size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else methods.count(a, [axis] if not isinstance(axis, (tuple, list)) else axis)


@handles(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return apply("diagonal", methods.moveaxis(as_tensor(a), (axis1, axis2), (0, 1)), offset=offset)


@handles(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return into(out, methods.trace(as_tensor(a), offset, axis1, axis2))


@handles(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    a = as_tensor(a)
    at = methods._axis(axis, a.ndim)
    for _ in range(n):
        key = [slice(None)] * a.ndim
        after, before = list(key), list(key)
        after[at], before[at] = slice(1, None), slice(None, -1)
        name = "not_equal" if a.element.kind == "bool" else "sub"
        a = apply(name, a[tuple(after)], a[tuple(before)])
    return a


@handles(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_tensor(x)
    if x.element.is_complex:
        x = apply("abs", x)
    elif not x.element.is_float:
        x = methods.astype(x, "f64")
    if ord == 1 and (x.ndim == 1 or isinstance(axis, int)):
        return methods.reduce("sum", apply("abs", x), axis, keepdims=keepdims)
    if ord in (np.inf, -np.inf) and (x.ndim == 1 or isinstance(axis, int)):
        return methods.reduce("maximum" if ord > 0 else "minimum", apply("abs", x), axis, keepdims=keepdims)
    if ord is None or (ord == "fro" and x.ndim == 2) or (ord == 2 and (x.ndim == 1 or isinstance(axis, int))):
        return apply("sqrt", methods.reduce("sum", apply("square", x), axis, keepdims=keepdims))
    raise OpError(f"np.linalg.norm does not take ord={ord!r} for {x.user_type}", code="TX0240")


@handles(np.result_type)
def result_type(*arrays: Any) -> Any:
    return common_dtype([as_tensor(a) for a in arrays]).numpy


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    dst.store(src if where is True else apply("select", where, src, dst))


@handles(np.real)
def real(val: Any) -> Any:
    return as_tensor(val).real


@handles(np.imag)
def imag(val: Any) -> Any:
    return as_tensor(val).imag


@handles(np.angle)
def angle(z: Any, deg: Any = False) -> Any:
    turned = apply("arg", z)
    return turned * (180 / np.pi) if deg else turned


@handles(np.astype)
def astype(x: Any, dtype: Any, *, copy: Any = True, device: Any = None) -> Any:
    return methods.astype(as_tensor(x), dtype)


@handles(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    if decimals:
        scale = 10.0**decimals
        return into(out, apply("rint", cast(as_tensor(a), as_tensor(a).element) * scale) / scale)
    return into(out, apply("round", a))
