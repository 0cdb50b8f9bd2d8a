"""Random tensors: Philox's bits (`dialects/ops/structure/random.py`) by element number, turned into numbers.

A draw has 64 bits.  Two elements share one where 32 are enough, and two normal numbers come of each pair of uniform
ones.  So that no number has to leave its lane, these two are not neighbours: elements that fill a cache line take the
first of each of their draws, those of the next line the second.  An element's number thus depends on its place in
memory, on its dtype's size and on the seed: not on the shape, and not on how many elements there are.

Equal seeds give equal numbers, whatever the number of threads.  Without a seed each call takes the next number of a
sequence: of the process for lazy tensors, of the function under `jit`, whose calls therefore all give the same numbers
(pass a seed that changes: it may be an argument).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, dim
from ....dialects.dims.index_map import product
from ....dialects.registry import OpError
from ....dialects.types import DTYPES, DType
from ....dialects.types import dtype as element_of
from ...diagnostics import located
from ..scalars.custom_functions import elementwise
from ..tensor.apply import apply, as_tensor
from ..tensor.broadcasting import broadcast_to
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current, table
from ..trace.symint import as_dim
from .creation import iota, numbers

__all__ = ["normal", "numbers", "random", "set_random", "uniform"]

_draws = itertools.count()
#: A second counter for each pair of elements, where one draw of 64 bits is too short.
SECOND = 1 << 63
#: Bits of the elements in a row of which each has a draw of its own.
LINE = 512


def _seed(seed: Any) -> Tensor:
    """The seed as a u64 of rank 0."""
    if seed is None:
        trace = current()
        seed = next(_draws if trace is None else trace.draws)
    if isinstance(seed, int):
        return as_tensor(np.uint64(seed & ((1 << 64) - 1)))
    made = as_tensor(seed)
    if made.ndim or not made.element.is_integer:
        raise OpError(f"a seed is one integer, not {made.user_type}", code="TX0720")
    return cast(made, DTYPES["u64"])


def _pairs(dims: tuple[Dim, ...], layout: str, element: DType) -> tuple[Tensor, Tensor]:
    """For each element the number of a draw that two elements share, and which of the two it is: 0 or 1."""
    size, line = product(dims), LINE // element.bits
    lines = (size + (2 * line - 1)) // (2 * line)

    def laid(t: Tensor, axes: tuple[Any, ...], factors: tuple[Any, ...]) -> Tensor:
        tiled = apply("broadcast", apply("reshape", t, dims=axes), factors=factors)
        flat = apply("slice", apply("reshape", tiled, dims=(lines * (2 * line),)), offsets=(0,), extents=(size,))
        return apply("reshape", Tensor(flat.value, layout=layout), dims=dims)

    draw = laid(iota(lines * line, DTYPES["u64"]), (lines, 1, line), (1, 2, 1))
    return draw, laid(iota(dim(2), DTYPES["u64"]), (1, 2, 1), (lines, 1, line))


def _bits(numbers: Tensor, seed: Tensor) -> Tensor:
    return apply("philox", numbers, broadcast_to(seed, numbers.dims, numbers.layout))


def _word(bits: Tensor, which: Any) -> Tensor:
    """The low (0) or the high (1) half of a draw."""
    return cast(apply("right_shift", bits, apply("mul", which, np.uint64(32))), DTYPES["u32"])


def _leading(bits: Tensor, element: DType) -> Tensor:
    """As many leading bits as an element has."""
    return cast(apply("right_shift", bits, bits.element.numpy.type(bits.element.bits - element.bits)), element)


def _fraction(bits: Tensor, element: DType) -> Tensor:
    """The leading bits as a multiple of 2**-p in [0, 1), where p is the precision."""
    if element.name == "bf16":
        return cast(_fraction(apply("bitwise_and", bits, np.uint32(0xFF << 24)), DTYPES["f32"]), element)
    return apply("fraction", _leading(bits, DTYPES[f"u{element.bits}"]))


def _uniform(dims: tuple[Dim, ...], layout: str, seed: Tensor, element: DType) -> Tensor:
    if element.bits > 32:
        bits = _bits(numbers(dims, layout), seed)
    else:
        draw, which = _pairs(dims, layout, element)
        bits = _word(_bits(draw, seed), which)
    return _fraction(bits, element) if element.is_float else _leading(bits, element)


def _normal(dims: tuple[Dim, ...], layout: str, seed: Tensor, element: DType) -> Tensor:
    """The transform of Box and Muller, *A note on the generation of random normal deviates* (1958)."""
    if not element.is_float:
        raise OpError(f"normal numbers are floats, not {element}", code="TX0721")
    wide = element.computes_in
    draw, which = _pairs(dims, layout, element)
    bits = _bits(draw, seed)
    if wide.bits == 32:
        first, second = (_word(bits, np.uint64(number)) for number in (1, 0))
    else:
        first, second = bits, _bits(apply("bitwise_or", draw, np.uint64(SECOND)), seed)
    half = 2.0 ** -(25 if wide.bits == 32 else 54)
    radius = apply("sqrt", apply("mul", apply("log", apply("add", _fraction(first, wide), half)), -2.0))
    # The cosine for the first of the two, the sine, which is that of a quarter turn less, for the second.
    turns = apply("sub", _fraction(second, wide), apply("mul", cast(which, wide), 0.25))
    return cast(apply("mul", radius, apply("cos_turns", turns)), element)


_GENERATORS = {"uniform": _uniform, "normal": _normal}


def _drawn(dims: tuple[Dim, ...], element: DType, generator: Any, seed: Any, layout: str) -> Tensor:
    if callable(generator):
        return cast(elementwise(generator, cast(numbers(dims, layout), DTYPES["i64"])), element)
    if generator not in _GENERATORS:
        raise OpError(f"{generator!r} is no generator", "it is 'uniform', 'normal' or a function", "TX0722")
    return _GENERATORS[generator](dims, layout, _seed(seed), element)


def random(x: Tensor, generator: Any = "uniform", seed: Any = None) -> Tensor:
    """A tensor like `x` of random numbers: uniform in [0, 1) (of integers: all bits), normal, or ``f(number)``."""
    return _drawn(x.dims, x.element, generator, seed, x.layout)


def set_random(x: Tensor, generator: Any = "uniform", seed: Any = None) -> Tensor:
    """All elements become random numbers; the tensor itself."""
    x[...] = random(x, generator, seed)
    return x


def _made(shape: Any, dtype: Any, generator: str, seed: Any) -> Tensor:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    dims = tuple(table().resolve(as_dim(s)) for s in sizes)
    return Tensor(_drawn(dims, element_of(dtype), generator, seed, "row").value, boxed=True)


def uniform(shape: Any, low: Any = 0.0, high: Any = 1.0, *, dtype: Any = "f32", seed: Any = None) -> Tensor:
    """Numbers of a float `dtype` between `low` (inclusive) and `high`; of sizes that may be known only at run time."""
    with located():
        made = _made(shape, dtype, "uniform", seed)
        if isinstance(low, float) and isinstance(high, float) and (low, high) == (0.0, 1.0):
            return made
        return apply("add", apply("mul", made, apply("sub", high, low)), low)


def normal(shape: Any, mean: Any = 0.0, deviation: Any = 1.0, *, dtype: Any = "f32", seed: Any = None) -> Tensor:
    """Normal numbers of a float `dtype`, of that mean and standard deviation."""
    with located():
        made = _made(shape, dtype, "normal", seed)
        if isinstance(mean, float) and isinstance(deviation, float) and (mean, deviation) == (0.0, 1.0):
            return made
        return apply("add", apply("mul", made, deviation), mean)
