"""Eigenvalues and eigenvectors of any square matrices, the last two dims of stacks: `kernel.custom`.

Results are complex, of matrices of real numbers too, since types do not depend on values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import OpError, Param, Structural, mode, op
from ...types import TensorType


class _Eigen(Structural):
    params: ClassVar[dict[str, Param]] = {"mode": mode()}
    error = ("LinAlgError", "Eigenvalues did not converge: the array may contain infs or NaNs")

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (a,) = operands
        if a.rank < 2 or a.dims[-1] is not a.dims[-2]:
            raise OpError(f"{cls.name} takes square matrices, not {a}", code="TX0103")
        if not a.dtype.is_complex:
            raise OpError(f"{cls.name} takes complex matrices, not {a}", "cast it to c64 or c128", "TX0112")
        return (a.with_dims(a.dims[:-1]), a)[: cls.results]

    @classmethod
    def failed(cls, apply: Callable[..., Any], *results: Any) -> Any:
        """No value is finite where a matrix has none that is."""
        return apply("logical_not", apply("isfinite", apply("real", results[0])))


@op
class Eigenvalues(_Eigen):
    """Eigenvalues of complex matrices, in no order."""

    foreign = "eigenvalues"

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.linalg.eigvals(arrays[0]),)


@op
class Eigenvectors(_Eigen):
    """Eigenvalues of complex matrices, in no order, and eigenvectors of length one as columns."""

    foreign = "eigenvectors"
    results = 2

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return tuple(np.linalg.eig(arrays[0]))
