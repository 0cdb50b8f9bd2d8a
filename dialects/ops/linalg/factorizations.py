"""Factorisations of matrices, the last two dims of stacks: `kernel.custom`; NumPy's functions are made of them.

What a singular matrix, or one that is not positive definite, has no result for is infinite or NaN; with `mode`
``raise`` the call raises NumPy's LinAlgError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import minimum
from ...registry import OpError, Param, Structural, bool_param, mode, op
from ...types import TensorType, tensor_type


class _Matrices(Structural):
    #: Whether the matrices have as many rows as columns.
    square: ClassVar[bool] = True

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        a = operands[0]
        if a.rank < 2 or (cls.square and a.dims[-1] is not a.dims[-2]):
            raise OpError(f"{cls.name} takes {'square ' if cls.square else ''}matrices, not {a}", code="TX0103")
        if a.dtype.name not in ("f32", "f64", "c64", "c128"):
            raise OpError(f"{cls.name} is not defined on {a.dtype}", "it takes f32, f64, c64 and c128", "TX0112")
        return cls.given(*operands, **attrs)

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        raise NotImplementedError


@op
class Eliminate(_Matrices):
    """Solutions of ``a @ x = b`` by elimination with row pivots; the pivots, and the sign of their permutation.

    b is a stack of as many matrices as a, or one matrix for all of them.
    """

    foreign = "eliminate"
    arity = 2
    results = 3
    params: ClassVar[dict[str, Param]] = {"mode": mode()}
    error = ("LinAlgError", "Singular matrix")

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        a, b = operands
        if b.dtype is not a.dtype or b.dims[:-1] not in (a.dims[:-1], a.dims[-2:-1]):
            raise OpError(
                f"there are no solutions x of a @ x = b for {a} and {b}", "a row of b for each of a", "TX0110"
            )
        stack = a.dims[:-2]
        return a.with_dims((*a.dims[:-1], b.dims[-1])), a.with_dims(a.dims[:-1]), tensor_type(a.dtype.part, stack)

    @classmethod
    def failed(cls, apply: Callable[..., Any], *results: Any) -> Any:
        """As LAPACK's gesv: a pivot is exactly zero."""
        return apply("equal", results[1], 0)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        a, b = arrays
        n = a.shape[-1]
        b = np.broadcast_to(b, (*a.shape[:-1], b.shape[-1]))
        w = np.concatenate([a, b], -1).reshape(-1, n, n + b.shape[-1])
        signs, pivots = np.ones(len(w), np.real(a).dtype), np.zeros((len(w), n), a.dtype)
        with np.errstate(all="ignore"):
            for number, m in enumerate(w):
                for k in range(n):
                    p = k + int(np.argmax(np.nan_to_num(np.abs(m[k:, k]), nan=-1)))
                    m[[k, p]] = m[[p, k]]
                    signs[number] *= 1 if p == k else -1
                    pivots[number, k] = m[k, k]
                    if m[k, k] != 0:  # else the rest of the column is zero, too
                        m[k + 1 :] -= np.outer(m[k + 1 :, k] / m[k, k], m[k])
                for k in reversed(range(n)):
                    m[k, n:] /= m[k, k]
                    m[:k, n:] -= np.outer(m[:k, k], m[k, n:])
        return w[..., n:].reshape(b.shape), pivots.reshape(a.shape[:-1]), signs.reshape(a.shape[:-2])


@op
class Cholesky(_Matrices):
    """The lower factor l of ``a = l @ l.conj().mT``; of `a` the lower triangle is read."""

    foreign = "cholesky"
    params: ClassVar[dict[str, Param]] = {"mode": mode()}
    error = ("LinAlgError", "Matrix is not positive definite")

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        return (operands[0],)

    @classmethod
    def failed(cls, apply: Callable[..., Any], *results: Any) -> Any:
        """As LAPACK's potrf: the root of what is left of a diagonal element is zero or none."""
        (lower,) = results
        rank = lower.ndim
        roots = apply("real", apply("shuffle", lower, permutation=(rank - 2, rank - 1, *range(rank - 2))).diagonal())
        return apply("logical_not", apply("greater", roots, 0))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (a,) = arrays
        found = np.zeros_like(a)
        with np.errstate(all="ignore"):
            for k in range(a.shape[-1]):
                before = found[..., k:, :k] @ found[..., k : k + 1, :k].conj().swapaxes(-1, -2)
                column = a[..., k:, k] - before[..., 0]
                found[..., k:, k] = column / np.sqrt(np.real(column[..., :1]))
        return (found,)


@op
class Qr(_Matrices):
    """``a = q @ r`` by reflections: q has orthonormal columns, r is upper triangular.

    As many columns of q as the smaller size of `a`, with `complete` as many as it has rows.
    """

    foreign = "qr"
    square = False
    results = 2
    params: ClassVar[dict[str, Param]] = {"complete": bool_param(False)}

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        (a,) = operands
        *stack, m, n = a.dims
        k = m if attrs["complete"] else minimum(m, n)
        return a.with_dims((*stack, m, k)), a.with_dims((*stack, k, n))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return tuple(np.linalg.qr(arrays[0], "complete" if attrs["complete"] else "reduced"))


@op
class JacobiEigh(_Matrices):
    """Eigenvalues, in no order, and eigenvectors (columns) of Hermitian matrices, by Jacobi's rotations."""

    foreign = "jacobi_eigh"
    results = 2

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        (a,) = operands
        return tensor_type(a.dtype.part, a.dims[:-1]), a

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return tuple(np.linalg.eigh(arrays[0]))


@op
class JacobiSvd(_Matrices):
    """Of each matrix `a` ``a @ v`` and v, unitary, such that the columns of ``a @ v`` are orthogonal, by rotations.

    Their norms are the singular values, in no order.
    """

    foreign = "jacobi_svd"
    square = False
    results = 2

    @classmethod
    def given(cls, *operands: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        (a,) = operands
        return a, a.with_dims((*a.dims[:-2], a.dims[-1], a.dims[-1]))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (a,) = arrays
        v = np.linalg.svd(a)[2].conj().swapaxes(-1, -2)
        return a @ v, v
