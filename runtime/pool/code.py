"""Machine code of the thread pool's native half."""

from __future__ import annotations

import platform
from collections.abc import Mapping

from ..loader.code_cache import load_cached
from .futex import waiting_symbols

__all__ = ["native_half"]

_FUNCTIONS = ("txc_parallel", "txc_worker", "txc_pool_stop")
_MEMORY = "txc_pool"


def native_half(futex: bool) -> Mapping[str, int]:
    """Addresses of the symbols of `ir.py`; a new copy, memory included, with each call, which is never unmapped."""
    symbols = waiting_symbols(futex)
    return load_cached("txc_parallel", lambda: _source(futex), (*_FUNCTIONS, _MEMORY), symbols, futex=str(futex))


def _source(futex: bool) -> str:
    from .ir import source

    return source(platform.machine(), futex)
