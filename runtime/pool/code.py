"""Machine code of the thread pool's native half."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..loader.code_cache import RuntimeCode, source_of_pool
from .futex import waiting_symbols

__all__ = ["code_of", "native_half"]

_FUNCTIONS = ("txc_parallel", "txc_worker", "txc_pool_stop")
_MEMORY = "txc_pool"


def native_half(futex: bool) -> Mapping[str, int]:
    """Addresses of the symbols of `ir.py`; a new copy, memory included, with each call, which is never unmapped."""
    return code_of(futex).load((*_FUNCTIONS, _MEMORY), waiting_symbols(futex))


@cache
def code_of(futex: bool) -> RuntimeCode:
    """The code for systems with futexes, or without."""
    return RuntimeCode("txc_parallel", lambda: source_of_pool(futex), futex=str(futex))
