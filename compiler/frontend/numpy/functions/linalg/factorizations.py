"""What of `np.linalg` needs a factorisation, over the ops of `dialects.ops.factor`.

Equations and inverses of a singular matrix, and Cholesky's factor of one that is not positive definite, make the call
raise NumPy's LinAlgError; determinants of singular matrices are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ......dialects.dims.dims import dim, minimum
from ......dialects.registry import RAISE, OpError
from ......dialects.types import dtype
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import equally_long, meet
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import symint
from ...creation import eye
from ..registry import handles
from ..shaping.indexing import take_along_axis
from .products import matmul

__all__ = [
    "EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "det", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "inverse", "matrices", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
    "usual_share",
]  # fmt: skip


if TYPE_CHECKING:

    class EigResult(NamedTuple):
        """As NumPy's named tuple: eigenvalues, in no order, and eigenvectors as columns; complex."""

        eigenvalues: Tensor
        eigenvectors: Tensor

    class EighResult(NamedTuple):
        """As NumPy's named tuple: eigenvalues, ascending, and eigenvectors as columns."""

        eigenvalues: Tensor
        eigenvectors: Tensor

    class QRResult(NamedTuple):
        """As NumPy's named tuple: orthonormal columns and the upper triangle."""

        Q: Tensor
        R: Tensor

    class SlogdetResult(NamedTuple):
        """As NumPy's named tuple: sign or phase of a determinant, and the logarithm of its absolute value."""

        sign: Tensor
        logabsdet: Tensor

    class SVDResult(NamedTuple):
        """As NumPy's named tuple: left vectors as columns, singular values, descending, and right vectors as rows."""

        U: Tensor
        S: Tensor
        Vh: Tensor

else:
    # NumPy's own, which it shows only as what these functions return.
    EigResult, EighResult, QRResult, SlogdetResult, SVDResult = (
        type(function(np.ones((1, 1))))
        for function in (np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.slogdet, np.linalg.svd)
    )


def matrices(a: Any, name: str, square: bool = True) -> Tensor:
    """Stacks of matrices of a floating type, square where they must be."""
    a = as_tensor(a)
    if a.ndim < 2:
        raise OpError(f"np.linalg.{name} takes matrices, not {a.user_type}", code="TX0103")
    if a.element.is_integer or a.element.kind == "bool":
        a = elements.astype(a, "f64")
    if square:
        try:
            table().equate(a.dims[-1], a.dims[-2], f"np.linalg.{name} takes square matrices")
        except OpError as error:
            raise OpError(f"np.linalg.{name} takes square matrices, not {a.user_type}", code="TX0103") from error
    return a


def _adjoint(a: Tensor) -> Tensor:
    return apply("conjugate", reshaping.swapaxes(a, -1, -2))


def _stacked_alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two stacks of matrices broadcast to stacks of as many; one right side for all stays one."""
    if a.ndim > b.ndim == 2:
        return a, b
    rank = max(a.ndim, b.ndim) - 2
    stacks = [[1] * (rank + 2 - t.ndim) + list(t.dims[:-2]) for t in (a, b)]
    stack = [meet(dim(x), dim(y)) for x, y in zip(*stacks)]
    return reshaping.broadcast(a, [*stack, *a.dims[-2:]]), reshaping.broadcast(b, [*stack, *b.dims[-2:]])


@handles(np.linalg.solve)
def solve(a: Any, b: Any, /) -> Tensor:
    a, b = matrices(a, "solve"), as_tensor(b)
    vector = b.ndim == 1
    b = reshaping.expand_dims(b, 1) if vector else b
    element = common_dtype([a, b])
    a, b = cast(a, element), cast(b, element)
    a, b = equally_long(a, a.ndim - 1, b, b.ndim - 2, "solve: the matrix has another number of columns",
                        why="np.linalg.solve")  # fmt: skip
    found = apply("eliminate", *_stacked_alike(a, b), mode=RAISE)[0]
    return reshaping.squeeze(found, -1) if vector else found


@handles(np.linalg.inv)
def inv(a: Any) -> Tensor:
    return inverse(a, RAISE)


def inverse(a: Any, mode: str | None = None) -> Tensor:
    """The inverse, or what the `mode` of elimination says of a singular matrix."""
    a = matrices(a, "inv")
    return apply("eliminate", a, eye(a.shape[-1], dtype=a.dtype), mode=mode)[0]


def _pivots(a: Any, name: str) -> tuple[Tensor, Tensor]:
    a = matrices(a, name)
    return apply("eliminate", a, a[..., :0])[1:]


@handles(np.linalg.det)
def det(a: Any) -> Tensor:
    pivots, sign = _pivots(a, "det")
    return apply("select", _singular(pivots), 0.0, reducing.reduce("prod", pivots, -1) * sign)


def _singular(pivots: Tensor) -> Tensor:
    """Whether a pivot is zero: then the determinant is, whatever the others are, as LAPACK's getrf is read by NumPy."""
    return reducing.reduce("any", apply("equal", pivots, 0), -1)


@handles(np.linalg.slogdet)
def slogdet(a: Any) -> SlogdetResult:
    """The sign (of complex matrices: the phase) of the determinant, and the logarithm of its absolute value."""
    pivots, sign = _pivots(a, "slogdet")
    size = apply("abs", pivots)
    phases = apply("select", size == 0, cast(as_tensor(0.0), pivots.element), pivots / size)
    logarithm = reducing.reduce("sum", apply("log", size), -1)
    singular, phase = _singular(pivots), reducing.reduce("prod", phases, -1) * sign
    return SlogdetResult(apply("select", singular, 0.0, phase), apply("select", singular, -np.inf, logarithm))


@handles(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    """The triangular factor; `upper` reads the upper triangle and gives its adjoint's."""
    a = matrices(a, "cholesky")
    return _adjoint(apply("cholesky", _adjoint(a), mode=RAISE)) if upper else apply("cholesky", a, mode=RAISE)


def _in_range(a: Tensor) -> tuple[Tensor, Tensor]:
    """`a` with elements whose squares are numbers of its dtype, and by what results are to be multiplied for that.

    Both are exact: matrices whose largest element is too large or too small are multiplied by a power of two, as
    LAPACK's drivers do, and others by one.
    """
    part = a.element.part
    near, far = (480, 900) if part.bits == 64 else (60, 110)
    largest = reducing.reduce("maximum_numbers", apply("abs", a), (-2, -1), keepdims=True)

    def power(of_large: int) -> Tensor:
        one, large, small = (cast(as_tensor(2.0**k), part) for k in (0, of_large, -of_large))
        return apply("select", largest > 2.0**near, large, apply("select", largest < 2.0**-near, small, one))

    return a * power(-far), power(far)


@handles(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> QRResult | Tensor:
    if mode not in ("reduced", "complete", "r"):
        raise OpError(f"np.linalg.qr does not take mode={mode!r}", "it takes reduced, complete and r", "TX0240")
    scaled, back = _in_range(matrices(a, "qr", False))
    q, r = apply("qr", scaled, complete=mode == "complete")
    return r * back if mode == "r" else QRResult(q, r * back)


def _lower_or_upper(a: Any, uplo: str, name: str) -> Tensor:
    a = matrices(a, name)
    if uplo.upper() not in ("L", "U"):
        raise OpError(f"np.linalg.{name} does not take UPLO={uplo!r}", "it takes L and U", "TX0240")
    return a if uplo.upper() == "L" else _adjoint(a)


@handles(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues in ascending order; the eigenvectors are the columns."""
    scaled, back = _in_range(_lower_or_upper(a, UPLO, "eigh"))
    values, vectors = apply("jacobi_eigh", scaled)
    values, order = apply("sort_with_positions", values * back[..., 0])
    return EighResult(values, take_along_axis(vectors, _for_columns(order, vectors), -1))


def _complex_matrices(a: Any, name: str) -> Tensor:
    a = matrices(a, name)
    return cast(a, a.element.as_complex)


@handles(np.linalg.eig)
def eig(a: Any) -> EigResult:
    """Complex always; NumPy gives real ones where all eigenvalues of a real matrix are, which types cannot tell."""
    scaled, back = _in_range(_complex_matrices(a, "eig"))
    values, vectors = apply("eigenvectors", scaled, mode=RAISE)
    return EigResult(values * back[..., 0], vectors)


@handles(np.linalg.eigvals)
def eigvals(a: Any) -> Tensor:
    """Complex always, as of `eig`."""
    scaled, back = _in_range(_complex_matrices(a, "eigvals"))
    return apply("eigenvalues", scaled, mode=RAISE) * back[..., 0]


def _for_columns(order: Tensor, matrices: Tensor) -> Tensor:
    """Positions of columns, for every row."""
    return reshaping.broadcast(reshaping.expand_dims(order, -2), matrices.shape)


@handles(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Tensor:
    scaled, back = _in_range(_lower_or_upper(a, UPLO, "eigvalsh"))
    return apply("sort", apply("jacobi_eigh", scaled)[0] * back[..., 0])


def _singular_columns(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``a @ v`` but for a factor, v, and the singular values, largest first; `a` has no fewer rows than columns."""
    a, back = _in_range(a)
    turned, v = apply("jacobi_svd", a)
    size = apply("sqrt", reducing.reduce("sum", apply("square", apply("abs", turned)), -2))
    values, order = apply("sort_with_positions", size, descending=True)
    turned, v = (take_along_axis(t, _for_columns(order, t), -1) for t in (turned, v))
    return turned, v, values * back[..., 0]


def _has_more_columns(a: Tensor) -> bool | None:
    """Whether it has; None where iterations or values decide."""
    return table().settle(a.dims[-2], "<", a.dims[-1], "singular values of matrices with more columns")


def _is_wide(a: Tensor) -> bool:
    """Whether the singular columns are those of its adjoint: the size that varies is better that of rows."""
    wide, facts = _has_more_columns(a), table()
    return facts.varies(a.dims[-1]) and not facts.varies(a.dims[-2]) if wide is None else wide


def _number_of_values(a: Tensor) -> Any:
    """How many singular values a matrix has that is not wide, or of which only values know that."""
    return symint(minimum(*a.dims[-2:])) if _has_more_columns(a) is None else a.shape[-1]


@handles(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> SVDResult | Tensor:
    a = matrices(a, "svd", False)
    if hermitian:
        return _svd_of_hermitian(a) if compute_uv else _sizes_of_eigenvalues(a)
    return _with_vectors(a, full_matrices) if compute_uv else svdvals(a)


def _with_vectors(a: Tensor, full_matrices: bool) -> SVDResult:
    if _is_wide(a):
        u, values, vh = _with_vectors(_adjoint(a), full_matrices)
        return SVDResult(_adjoint(vh), values, _adjoint(u))
    turned, v, values = _singular_columns(a)
    # The columns are orthogonal: of their factors, q is them at length one, but for a phase, which r has.
    q, r = apply("qr", turned, complete=bool(full_matrices))
    size = _number_of_values(a)
    values, v = values[..., :size], v if full_matrices else v[..., :size]
    diagonal = reducing.reduce("sum", apply("select", eye(size, dtype="bool"), r[..., :size, :size], 0), -1)
    long = apply("abs", diagonal)
    phase = apply("select", long == 0, cast(as_tensor(1.0), a.element), diagonal / long)
    phase = reshaping.expand_dims(phase, -2)
    if not full_matrices:
        return SVDResult(q[..., :size] * phase, values, _adjoint(v))
    u = apply("concatenate", q[..., :size] * phase, q[..., size:], axis=q.ndim - 1)
    return SVDResult(u, values, _adjoint(v))


def _sizes_of_eigenvalues(a: Tensor) -> Tensor:
    """The singular values of Hermitian matrices."""
    return apply("sort", apply("abs", eigvalsh(a)), descending=True)


def _svd_of_hermitian(a: Tensor) -> SVDResult:
    """Of an eigenvalue the sign goes to the right vectors."""
    values, vectors = eigh(a)
    sizes, order = apply("sort_with_positions", apply("abs", values), descending=True)
    u = take_along_axis(vectors, _for_columns(order, vectors), -1)
    signs = take_along_axis(apply("select", values < 0, -1.0, cast(as_tensor(1.0), values.element)), order, -1)
    return SVDResult(u, sizes, _adjoint(u * reshaping.expand_dims(signs, -2)))


@handles(np.linalg.svdvals)
def svdvals(x: Any, /) -> Tensor:
    a = matrices(x, "svdvals", False)
    a = _adjoint(a) if _is_wide(a) else a
    return _singular_columns(a)[2][..., : _number_of_values(a)]


def _share_of_largest(values: Tensor, share: Any) -> Tensor:
    """What singular values must be above; one share for all matrices, or one for each."""
    share = as_tensor(share)
    share = reshaping.expand_dims(share, -1) if share.ndim else share
    return reducing.reduce("maximum", values, -1, keepdims=True) * cast(share, values.element)


@handles(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """The number of singular values above `tol`, or above the share `rtol` of the largest."""
    a = as_tensor(A)
    if a.ndim < 2:
        some = reducing.reduce("any", apply("not_equal", a, 0))
        return Tensor(cast(some, dtype("i64")).value, weak="int")  # an int of Python's here
    a = matrices(a, "matrix_rank", False)
    values = _sizes_of_eigenvalues(a) if hermitian else svdvals(a)
    if tol is None:
        above = _share_of_largest(values, usual_share(a) if rtol is None else rtol)
    else:
        above = as_tensor(tol)
        above = reshaping.expand_dims(above, -1) if above.ndim else above
    return reducing.reduce("sum", values > above, -1)


def usual_share(a: Any) -> Tensor:
    """NumPy's and the standard's: as often as the larger size, one unit in the last place."""
    a = as_tensor(a)
    larger = apply("cwise_max_propagate", as_tensor(a.shape[-1]), as_tensor(a.shape[-2]))
    return cast(larger, a.element.part) * float(np.finfo(a.element.part.numpy).eps)


@handles(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverse, without singular values up to a share of the largest (1e-15, as NumPy)."""
    a = matrices(a, "pinv", False)
    u, values, vh = svd(a, False, hermitian=hermitian)
    share = rcond if rtol is None else rtol
    above = _share_of_largest(values, 1e-15 if share is None else share)
    inverse = apply("select", values > above, 1 / values, cast(as_tensor(0.0), values.element))
    return matmul(_adjoint(vh) * reshaping.expand_dims(inverse, -2), _adjoint(u))
