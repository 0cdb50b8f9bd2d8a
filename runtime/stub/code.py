"""Machine code of what native entries share: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

from collections.abc import Mapping

from ..loader.code_cache import RuntimeCode, source_of_calls
from ..loader.loader import library_symbols
from .layout import EXPORTED

__all__ = ["CODE", "shared_half"]


def shared_half(symbols: Mapping[str, int]) -> Mapping[str, int]:
    """Addresses of the functions of `ir.py`, linked to `symbols`; never unmapped."""
    return CODE.load(EXPORTED, {**library_symbols(), **symbols})


CODE = RuntimeCode("txc_vectorcall", source_of_calls)
