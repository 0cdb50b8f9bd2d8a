"""Element types and tensor types, as plain Python objects: what the front end, the registry and the runtime share.

No xDSL here; `dialects.attributes` converts to and from IR types.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .dims.dims import Dim, DimLike, dim

__all__ = ["DTYPES", "DType", "TensorType", "as_literal", "dtype", "tensor_type"]


#: Ints from the first to the second one.
Interval: TypeAlias = tuple[int, int]


class DType:
    """An element type.  `name` is how txc spells it, `numpy` NumPy's object, `kind` one of ``bool int uint float
    complex``."""

    #: That of bf16 comes with a library, which is loaded when somebody asks.
    numpy: np.dtype[Any]

    def __init__(self, name: str, numpy: Any, kind: str, bits: int):
        self.name, self.kind, self.bits = name, kind, bits
        if numpy is not None:
            self.numpy = np.dtype(numpy)

    def __getattr__(self, name: str) -> Any:
        if name != "numpy":
            raise AttributeError(name)
        import ml_dtypes

        self.numpy = np.dtype(ml_dtypes.bfloat16)
        return self.numpy

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.kind in ("int", "float", "complex")

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def computes_in(self) -> DType:
        """The type its arithmetic is done in: f32 for the half-width floats (rounded back after every operation)."""
        return DTYPES["f32"] if self.name in ("f16", "bf16") else self

    @property
    def ints(self) -> Interval:
        """The least and the largest int such that it holds these and all between, exactly."""
        if self.is_integer:
            return int(np.iinfo(self.numpy).min), int(np.iinfo(self.numpy).max)
        if self.kind == "bool":
            return 0, 1
        most = 2 ** {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[self.part.name]
        return -most, most

    @property
    def part(self) -> DType:
        """The type of the real and imaginary parts of a complex type; any other type itself."""
        return DTYPES[f"f{self.bits // 2}"] if self.is_complex else self

    @property
    def as_complex(self) -> DType:
        """The complex type that holds its values: c64 of c64 and floats up to f32, else c128."""
        narrow = self.name in ("f16", "bf16", "f32", "c64")
        return DTYPES["c64" if narrow else "c128"]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)


def _table() -> dict[str, DType]:
    rows = [DType("bool", np.bool_, "bool", 1)]
    rows += [DType(f"i{n}", f"int{n}", "int", n) for n in (8, 16, 32, 64)]
    rows += [DType(f"u{n}", f"uint{n}", "uint", n) for n in (8, 16, 32, 64)]
    rows += [
        DType("f16", np.float16, "float", 16),
        DType("bf16", None, "float", 16),
        DType("f32", np.float32, "float", 32),
        DType("f64", np.float64, "float", 64),
        DType("c64", np.complex64, "complex", 64),
        DType("c128", np.complex128, "complex", 128),
    ]
    return {row.name: row for row in rows}


DTYPES: dict[str, DType] = _table()
_BY_NUMPY: dict[np.dtype[Any], DType] = {d.numpy: d for d in DTYPES.values() if d.name != "bf16"}


def dtype(spec: Any) -> DType:
    """The `DType` of a txc name (``"f32"``), a NumPy dtype in native byte order, or anything `np.dtype` takes.

    Raises TypeError, naming the types there are, for one txc does not have.
    """
    if isinstance(spec, DType):
        return spec
    if isinstance(spec, str) and spec in DTYPES:
        return DTYPES[spec]
    if isinstance(spec, str) and spec == "bfloat16":  # which NumPy knows once the library is loaded
        return DTYPES["bf16"]
    try:
        given = np.dtype(spec)
        found = _BY_NUMPY.get(given)
        if found is None and "ml_dtypes" in sys.modules and given == DTYPES["bf16"].numpy:
            found = DTYPES["bf16"]
    except TypeError:
        found = None
    if found is None:
        raise TypeError(f"no element type {spec!r}: txc has {', '.join(DTYPES)}")
    return found


def as_literal(value: Any, element: DType) -> bool | int | float | complex:
    """A number as the Python scalar that literals of a type hold."""
    kind = {"bool": bool, "float": float, "complex": complex}.get(element.kind, int)
    return kind(value)


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor value: its element type and its dims, in logical order."""

    dtype: DType
    dims: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def size(self) -> Dim:
        total = dim(1)
        for d in self.dims:
            total = total * d
        return total

    def with_dtype(self, new: DType) -> TensorType:
        return TensorType(new, self.dims)

    def with_dims(self, new: tuple[Dim, ...]) -> TensorType:
        return TensorType(self.dtype, new)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.dims))}]"


@lru_cache(maxsize=4096)
def _tensor_type(element: DType, dims: tuple[Dim, ...]) -> TensorType:
    return TensorType(element, dims)


def tensor_type(element: Any, dims: tuple[DimLike, ...] | list[DimLike] = ()) -> TensorType:
    """A `TensorType` of anything `dtype` takes and a sequence of dims or ints."""
    return _tensor_type(dtype(element), tuple(dim(d) for d in dims))
