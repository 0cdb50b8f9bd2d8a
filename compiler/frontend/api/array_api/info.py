"""What the namespace says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2025.12"

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip


class Info:
    """Inspection, as the standard has it."""

    def capabilities(self) -> dict[str, Any]:
        """Sizes that are values are computed first; a compiled function cannot have them."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        return "cpu"

    def devices(self) -> list[str]:
        return ["cpu"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        found = {name: getattr(dtypes, name) for name in _DTYPES}
        return {name: d for name, d in found.items() if kind is None or dtypes.isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    return Info()
