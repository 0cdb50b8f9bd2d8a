"""Contraction: sums of products over pairs of dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import OpError, Param, Structural, op
from ...types import TensorType


def _pairs(value: Any, operands: Sequence[TensorType]) -> tuple[tuple[int, int], ...]:
    found = []
    for pair in value:
        if len(pair) != 2:
            raise OpError(f"contract takes pairs of dims, not {pair!r}", code="TX0140")
        ends = []
        for number, operand in zip(pair, operands):
            if not -operand.rank <= int(number) < operand.rank:
                raise OpError(f"dim {number} of a contraction is out of range for {operand}", code="TX0140")
            ends.append(int(number) % operand.rank)
        found.append((ends[0], ends[1]))
    return tuple(found)


@op
class Contract(Structural):
    """Products summed over `pairs` of (left dim, right dim); the left's free dims, then the right's.

    No pair gives the outer product, all pairs a scalar.  Pairs of `batch` dims run together and stay, before all others
    of the result: stacks of contractions, each with the bits that it has alone.
    """

    numpy = np.tensordot
    arity = 2
    seeds = "Eigen contract"
    methods = ("contract",)
    params: ClassVar[dict[str, Param]] = {"pairs": Param("pairs", _pairs), "batch": Param("pairs", _pairs, ())}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        left, right = operands
        batch = attrs["batch"]
        pairs: tuple[tuple[int, int], ...] = (*batch, *attrs["pairs"])
        for side, word in enumerate(("left", "right")):
            numbers = [p[side] for p in pairs]
            if len(set(numbers)) != len(numbers):
                raise OpError(f"a dim of the {word} operand is contracted twice: {pairs}", code="TX0140")
        if left.dtype is not right.dtype:
            raise OpError(f"contract needs operands of one dtype, got {left} and {right}", "cast one of them", "TX0111")
        for i, j in pairs:
            if left.dims[i] is not right.dims[j]:
                raise OpError(
                    f"cannot contract dim {i} of {left} with dim {j} of {right}",
                    f"their sizes are {left.dims[i]} and {right.dims[j]}",
                    "TX0141",
                )
        free = [left.dims[i] for i, _ in batch]
        free += [d for i, d in enumerate(left.dims) if i not in [p[0] for p in pairs]]
        free += [d for j, d in enumerate(right.dims) if j not in [p[1] for p in pairs]]
        return (left.with_dims(tuple(free)),)

    @classmethod
    def expanded(cls, tensors: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Complex operands: four contractions of their parts, which is all the arithmetic there is, at full speed."""
        left, right = tensors
        if not left.element.is_complex:
            return None

        def product(x: Any, y: Any) -> Any:
            return x.contract(y, attrs["pairs"], attrs["batch"])

        re = product(left.real, right.real) - product(left.imag, right.imag)
        im = product(left.real, right.imag) + product(left.imag, right.real)
        return left.apply("complex", re, im)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        left, right = arrays
        pairs, batch = attrs["pairs"], attrs["batch"]
        wide = np.float32 if left.dtype.itemsize == 2 and left.dtype.kind not in "iu" else left.dtype
        letters = iter(range(52))
        a, b = [next(letters) for _ in range(left.ndim)], [next(letters) for _ in range(right.ndim)]
        for i, j in (*batch, *pairs):
            b[j] = a[i]
        kept = [a[i] for i, _ in batch]
        kept += [x for x in a if x not in b] + [x for x in b if x not in a]
        with np.errstate(all="ignore"):
            total = np.einsum(left.astype(wide), a, right.astype(wide), b, kept, optimize=not batch)
        return (np.asarray(total).astype(left.dtype, copy=False),)
