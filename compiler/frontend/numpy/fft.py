"""`np.fft`: every function in terms of the op `dft`, with NumPy's `n`, `s`, `axes` and `norm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ....dialects.types import dtype
from ..tensor.apply import apply, as_tensor
from ..tensor.methods.reshaping import axis_of, repeat_rows
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import table
from ..trace.symint import as_dim, is_integer
from . import creation
from .out_arrays import into

__all__ = ["CREATION", "FUNCTIONS", "fftfreq", "rfftfreq"]

#: What a norm divides the transform of its name's direction by: 1, the size, or its root.
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _swapped(norm: Any) -> str:
    found = _SWAPPED.get("backward" if norm is None else norm)
    if found is None:
        raise OpError(f"norm={norm!r} is not one of 'backward', 'ortho', 'forward'", code="TX0105")
    return found


def _scaled(z: Tensor, n: Any, norm: Any, inverse: bool) -> Tensor:
    """A transform of size `n`, divided as `norm` says."""
    by = _SWAPPED[_swapped(norm)]
    if by == ("forward" if inverse else "backward"):
        return z
    size = cast(as_tensor(n), z.element.part)
    divisor = apply("sqrt", size) if by == "ortho" else size
    return apply("complex", z.real / divisor, z.imag / divisor)


def _along(at: int, part: slice) -> tuple[slice, ...]:
    """The index of a part of one dim."""
    return (*[slice(None)] * at, part)


def _resized(x: Tensor, n: Any, axis: int) -> Tensor:
    """`x` cut or filled up with zeros to `n` elements along an axis."""
    size = x.shape[axis]
    if n is None or n == size:
        return x
    if n < 1:
        raise OpError(f"the number of points of a transform is at least 1, not {n}", code="TX0280")
    if n < size:
        return x[_along(axis, slice(None, n))]
    pairs = tuple((0, n - size if i == axis else 0) for i in range(x.ndim))
    return apply("pad", x, pairs=pairs)


def _one(a: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Tensor:
    x = as_tensor(a)
    at = axis_of(axis, x.ndim)
    x = _resized(x, n, at)
    size = x.shape[at]
    if table().settle(0, "<", x.dims[at], "a transform of at least one element") is False:
        raise OpError(f"a transform along dim {at} of {x.user_type}: it has no elements", code="TX0113")
    z = apply("dft", cast(x, x.element.as_complex), axis=at, sign="plus" if inverse else "minus")
    return _scaled(z, size, norm, inverse)


def _into(out: Any, result: Any) -> Any:
    """`result` in `out`, with the errors of NumPy's ufunc that transforms."""
    if out is None:
        return result
    from numpy.fft import _pocketfft_umath  # pyright: ignore[reportAttributeAccessIssue]

    return into(out, result, _pocketfft_umath.fft)


def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return _into(out, _one(a, n, axis, norm, False))


def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return _into(out, _one(a, n, axis, norm, True))


def _real(a: Any, name: str) -> Tensor:
    x = as_tensor(a)
    if x.element.is_complex:
        raise OpError(f"np.fft.{name} transforms real tensors, not {x.user_type}", "take its real part", "TX0112")
    return x


def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = _real(a, "rfft")
    at = axis_of(axis, x.ndim)
    x = _resized(x, n, at)
    facts, why = table(), "np.fft.rfft asks"
    if facts.decide(x.dims[at] % 2, "==", 0, why) and facts.decide(2, "<", x.dims[at], why):
        return _into(out, _scaled(_of_pairs(cast(x, x.element.as_complex.part), at), x.shape[at], norm, False))
    whole = _one(x, None, at, norm, False)
    return _into(out, whole[_along(at, slice(None, whole.shape[at] // 2 + 1))])


def _of_pairs(x: Tensor, at: int) -> Tensor:
    """The first half of the transform of an even number n of real elements, by one of half as many complex ones.

    With Z the transform of ``x[2*j] + i*x[2*j+1]``, that of the even elements is ``(Z[k] + conj(Z[-k])) / 2``, that of
    the odd ones ``(Z[k] - conj(Z[-k])) / 2i``; the result is the former plus ``exp(-2*pi*i * k/n)`` times the latter.
    """
    z = apply("complex", x[_along(at, slice(0, None, 2))], x[_along(at, slice(1, None, 2))])
    z = apply("dft", z, axis=at, sign="minus")
    half, there, back = z.shape[at], z[_along(at, slice(1, None))], z[_along(at, slice(None, 0, -1))]
    even = (there.real + back.real) * 0.5, (there.imag - back.imag) * 0.5
    odd = (there.imag + back.imag) * 0.5, (back.real - there.real) * 0.5
    cosine, sine = _turns(half, x, x.ndim - 1 - at)
    re, im = even[0] + cosine * odd[0] + sine * odd[1], even[1] + cosine * odd[1] - sine * odd[0]
    first = z[_along(at, slice(None, 1))]
    ends = [apply("complex", end, 0.0) for end in (first.real + first.imag, first.real - first.imag)]
    return apply("concatenate", ends[0], apply("complex", re, im), ends[1], axis=at)


def _turns(half: Any, x: Tensor, behind: int) -> list[Tensor]:
    """The cosine and the sine of ``pi * k/half`` for k from 1 to half - 1, with so many dims of 1 behind, like `x`.

    Angles beyond a quarter of a turn are mirrored, which is exact.
    """
    k = as_tensor(creation.arange(1, half))
    mirrored = apply("cwise_min", k, half - k)
    angle = cast(mirrored, dtype("f64")) * np.pi / cast(as_tensor(half), dtype("f64"))
    cosine, sine = apply("cos", angle), apply("sin", angle)
    cosine = apply("select", k * 2 > half, -cosine, cosine)
    return [_with_dims_behind(cast(t, x.element), x, behind) for t in (cosine, sine)]


def _with_dims_behind(t: Tensor, x: Tensor, behind: int) -> Tensor:
    """A vector with so many dims of 1 behind its own, like `x`."""
    ones, size = [1] * behind, t.shape[0]
    if x.layout == "col":
        return t.reshape((*ones, size)).swap_layout()
    return t.reshape((size, *ones))


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    x = as_tensor(a)
    at = axis_of(axis, x.ndim)
    n = 2 * (x.shape[at] - 1) if n is None else n
    if table().settle(0, "<", as_dim(n), "a transform of at least one point") is False:
        raise OpError(f"the number of points of a transform is at least 1, not {n}", code="TX0280")
    x = cast(x, x.element.as_complex)
    half = _resized(x, n // 2 + 1, at)
    facts, why = table(), "np.fft.irfft asks"
    if facts.decide(as_dim(n) % 2, "==", 0, why) and facts.decide(2, "<", as_dim(n), why):
        return _into(out, _to_pairs(half, n, at, norm))
    mirrored = apply("conjugate", half[_along(at, slice(1, (n + 1) // 2))])
    mirrored = mirrored[_along(at, slice(None, None, -1))]
    whole = apply("concatenate", half, mirrored, axis=at)
    return _into(out, _one(whole, None, at, norm, True).real)


def _to_pairs(x: Tensor, n: Any, at: int, norm: Any) -> Tensor:
    """An even number n of real elements from the first half of their transform, by one of half as many complex ones.

    What `_of_pairs` does, backwards: twice the transform of the even elements is ``X[k] + conj(X[n/2-k])``, that of the
    odd ones ``exp(2*pi*i * k/n) * (X[k] - conj(X[n/2-k]))``.
    """
    there = x[_along(at, slice(1, -1))]
    back = there[_along(at, slice(None, None, -1))]
    even = there.real + back.real, there.imag - back.imag
    odd = there.real - back.real, there.imag + back.imag
    behind = x.ndim - 1 - at
    cosine, sine = _turns(x.shape[at] - 1, even[0], behind)
    turned = odd[0] * cosine - odd[1] * sine, odd[0] * sine + odd[1] * cosine
    first, last = (x[_along(at, part)].real for part in (slice(None, 1), slice(-1, None)))
    ends, others = (first + last, first - last), (even[0] - turned[1], even[1] + turned[0])
    z = apply("concatenate", apply("complex", *ends), apply("complex", *others), axis=at)
    z = _scaled(apply("dft", z, axis=at, sign="plus"), n, norm, True)
    re, im = (repeat_rows(part, 2, at) for part in (z.real, z.imag))
    number = _with_dims_behind(as_tensor(creation.arange(n)), re, behind)
    return apply("select", number % 2 == 0, re, im)


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return irfft(apply("conjugate", a), n, axis, _swapped(norm), out)


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    return _into(out, apply("conjugate", rfft(_real(a, "ihfft"), n, axis, _swapped(norm))))


def _plan(x: Tensor, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """The size (None: that there is) and the axis of each transform, the last first."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    sizes: Sequence[Any] = [None] * len(axes) if s is None else s
    if len(sizes) != len(axes):
        raise OpError(f"s has {len(sizes)} sizes for {len(axes)} axes", "give one for each", "TX0240")
    pairs = [(None if isinstance(n, int) and n == -1 else n, axis_of(a, x.ndim)) for n, a in zip(sizes, axes)]
    return pairs[::-1]


def _many(inverse: bool) -> Callable[..., Any]:
    def function(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        z = as_tensor(a)
        for n, at in _plan(z, s, axes):
            z = _one(z, n, at, norm, inverse)
        return _into(out, z)

    return function


fftn, ifftn = _many(False), _many(True)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    x = _real(a, "rfftn")
    (n, last), *others = _plan(x, s, axes)
    z = rfft(x, n, last, norm)
    for n, at in others:
        z = _one(z, n, at, norm, False)
    return _into(out, z)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    z = as_tensor(a)
    (n, last), *others = _plan(z, s, axes)
    for size, at in others[::-1]:
        z = _one(z, size, at, norm, True)
    return _into(out, irfft(z, n, last, norm))


def _on_a_plane(function: Callable[..., Any]) -> Callable[..., Any]:
    def plane(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return function(a, s, axes, norm, out)

    return plane


def _shift(ahead: bool) -> Callable[..., Any]:
    """Halves exchanged; of an odd number of elements the first half of `fftshift` is the longer."""

    def function(x: Any, axes: Any = None) -> Any:
        x = as_tensor(x)
        given = range(x.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else [axes]
        for at in (axis_of(a, x.ndim) for a in given):
            before, n = [slice(None)] * at, x.shape[at]
            cut = (n + 1) // 2 if ahead else n // 2
            x = apply("concatenate", x[(*before, slice(cut, None))], x[(*before, slice(None, cut))], axis=at)
        return x

    return function


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies of `fft`'s results, for samples `d` apart."""
    k = creation.arange(_whole(n))
    return apply("select", k < (n + 1) // 2, k, k - n) * _spacing(n, d)


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    return creation.arange(_whole(n) // 2 + 1) * _spacing(n, d)


def _whole(n: Any) -> Any:
    if not is_integer(n) and not (isinstance(n, Tensor) and n.element.is_integer and not (n.ndim or n.boxed)):
        raise ValueError("n should be an integer")
    return n


def _spacing(n: Any, d: Any) -> Any:
    return apply("div", cast(as_tensor(1.0), dtype("f64")), as_tensor(n) * d)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.fft.fft: fft, np.fft.ifft: ifft, np.fft.rfft: rfft, np.fft.irfft: irfft, np.fft.hfft: hfft,
    np.fft.ihfft: ihfft, np.fft.fftn: fftn, np.fft.ifftn: ifftn, np.fft.rfftn: rfftn, np.fft.irfftn: irfftn,
    np.fft.fft2: _on_a_plane(fftn), np.fft.ifft2: _on_a_plane(ifftn), np.fft.rfft2: _on_a_plane(rfftn),
    np.fft.irfft2: _on_a_plane(irfftn), np.fft.fftshift: _shift(True), np.fft.ifftshift: _shift(False),
}  # fmt: skip
#: Functions without a tensor among their arguments.
CREATION: dict[Any, Callable[..., Any]] = {np.fft.fftfreq: fftfreq, np.fft.rfftfreq: rfftfreq}
