"""Products of the main namespace, and `linalg`."""

from __future__ import annotations

from typing import Any

from ....diagnostics import located
from ...numpy.functions.creation import diagonals
from ...numpy.functions.linalg import factorizations, norms, products
from ...numpy.functions.shaping import manipulation
from ...tensor.methods import reducing
from ...tensor.tensor import Tensor

#: The main namespace has these; `txc.linalg` has all functions of this module.
__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Any, x2: Any, /) -> Tensor:
    with located():
        return products.matmul(x1, x2)


def matrix_transpose(x: Any, /) -> Tensor:
    with located():
        return manipulation.matrix_transpose(x)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Tensor:
    with located():
        return products.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    with located():
        return products.vecdot(x1, x2, axis=axis)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    with located():
        return products.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    with located():
        return diagonals.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    with located():
        return reducing.reduce("sum", diagonals.diagonal(x, offset, -2, -1), -1, dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    with located():
        return norms.vector_outer(x1, x2)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    with located():
        return norms.matrix_norm(x, ord=ord, keepdims=keepdims)


def matrix_power(x: Any, n: int, /) -> Tensor:
    with located():
        return norms.matrix_power(x, n)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    with located():
        return norms.vector_norm(x, axis=axis, ord=ord, keepdims=keepdims)


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    with located():
        return factorizations.cholesky(x, upper=upper)


def det(x: Any, /) -> Tensor:
    with located():
        return factorizations.det(x)


def eig(x: Any, /) -> factorizations.EigResult:
    with located():
        return factorizations.eig(x)


def eigvals(x: Any, /) -> Tensor:
    with located():
        return factorizations.eigvals(x)


def eigh(x: Any, /) -> factorizations.EighResult:
    with located():
        return factorizations.eigh(x)


def eigvalsh(x: Any, /) -> Tensor:
    with located():
        return factorizations.eigvalsh(x)


def inv(x: Any, /) -> Tensor:
    with located():
        return factorizations.inv(x)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    with located():
        return factorizations.matrix_rank(x, rtol=rtol)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    with located():
        return factorizations.pinv(x, rtol=factorizations.usual_share(x) if rtol is None else rtol)


def qr(x: Any, /, *, mode: str = "reduced") -> factorizations.QRResult | Tensor:
    with located():
        return factorizations.qr(x, mode)


def slogdet(x: Any, /) -> factorizations.SlogdetResult:
    with located():
        return factorizations.slogdet(x)


def solve(x1: Any, x2: Any, /) -> Tensor:
    with located():
        return factorizations.solve(x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> factorizations.SVDResult | Tensor:
    with located():
        return factorizations.svd(x, full_matrices)


def svdvals(x: Any, /) -> Tensor:
    with located():
        return factorizations.svdvals(x)
