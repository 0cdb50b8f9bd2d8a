"""Machine code of the thread pool's native half."""

from __future__ import annotations

import platform

from .kept_code import compile_module, kept_object
from .loader import LoadedObject, can_load
from .pool_waiting import waiting_symbols

__all__ = ["native_half"]

_FUNCTIONS = ("txc_parallel", "txc_worker", "txc_pool_stop")
_MEMORY = "txc_pool"


def native_half(futex: bool) -> dict[str, int]:
    """Addresses of the symbols of `pool_ir`; a new copy, memory included, with each call, which is never unmapped."""
    if not can_load(b"\x7fELF"):
        return _load_by_llvm(futex)
    code = kept_object("txc_parallel", lambda: _source(futex), futex=str(futex))
    loaded = LoadedObject(code, (*_FUNCTIONS, _MEMORY), waiting_symbols(futex))
    loaded.keep_forever()
    return loaded.addresses


def _source(futex: bool) -> str:
    from .pool_ir import source

    return source(platform.machine(), futex)


def _load_by_llvm(futex: bool) -> dict[str, int]:
    import llvmlite.binding as llvm

    module, machine = compile_module(_source(futex))
    engine = llvm.create_mcjit_compiler(module, machine)
    for name, address in waiting_symbols(futex).items():
        engine.add_global_mapping(module.get_function(name), address)
    engine.finalize_object()
    symbols = {name: engine.get_function_address(name) for name in _FUNCTIONS}
    symbols[_MEMORY] = engine.get_global_value_address(_MEMORY)
    engine.detach()  # the wrapper would free code that threads may still run
    return symbols
