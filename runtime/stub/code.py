"""Machine code of what native entries share: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

from collections.abc import Mapping

from ..loader.code_cache import RuntimeCode
from ..loader.loader import library_symbols
from .layout import EXPORTED

__all__ = ["CODE", "shared_half"]


def shared_half(symbols: Mapping[str, int]) -> Mapping[str, int]:
    """Addresses of the functions of `ir.py`, linked to `symbols`; never unmapped."""
    return CODE.load(EXPORTED, {**library_symbols(), **symbols})


def _source() -> str:
    from .ir import source

    return source()


CODE = RuntimeCode("txc_vectorcall", _source)
