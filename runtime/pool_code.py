"""Machine code of the thread pool's native half: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

import platform
from typing import Any

from .fingerprint import digest, environment
from .loader import LoadedObject, can_load
from .pool_waiting import waiting_symbols
from .store import Store, open_store

__all__ = ["native_half"]

_FUNCTIONS = ("txc_parallel", "txc_worker", "txc_pool_stop")
_MEMORY = "txc_pool"


def native_half(futex: bool) -> dict[str, int]:
    """Addresses of the symbols of `pool_ir`; a new copy, memory included, with each call, which is never unmapped."""
    if not can_load(b"\x7fELF"):
        return _load_by_llvm(futex)
    loaded = LoadedObject(_object(futex), (*_FUNCTIONS, _MEMORY), waiting_symbols(futex))
    loaded.keep_forever()
    return loaded.addresses


def _object(futex: bool) -> bytes:
    """The object file."""
    store, key = _place(futex)
    found = None if store is None else store.read(f"pool-{digest(key)}")
    if found is not None and found.metadata is not None and found.metadata.get("key") == key:
        return found.payload
    module, machine = _module(futex)
    made: bytes = machine.emit_object(module)
    if store is not None:
        store.publish(f"pool-{digest(key)}", {"key": key}, made)
    return made


def _place(futex: bool) -> tuple[Store | None, dict[str, str]]:
    """Where it is kept, and under which key; nowhere where the processor cannot be told without LLVM."""
    try:
        key = {"kind": "pool", "function": "txc_parallel", "futex": str(futex), **environment()}
    except OSError:
        return None, {}
    return open_store(), key


def _module(futex: bool) -> tuple[Any, Any]:
    """The module and LLVM's machine for it."""
    import llvmlite.binding as llvm

    from .pool_ir import source

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(source(platform.machine(), futex))
    module.verify()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()  # on AArch64, single-instruction atomics
    # Level 0 compiles in a quarter of the time; a region, bound by its atomics, takes tens of nanoseconds more.
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=0, reloc="pic", codemodel="small"
    )
    return module, machine


def _load_by_llvm(futex: bool) -> dict[str, int]:
    import llvmlite.binding as llvm

    module, machine = _module(futex)
    engine = llvm.create_mcjit_compiler(module, machine)
    for name, address in waiting_symbols(futex).items():
        engine.add_global_mapping(module.get_function(name), address)
    engine.finalize_object()
    symbols = {name: engine.get_function_address(name) for name in _FUNCTIONS}
    symbols[_MEMORY] = engine.get_global_value_address(_MEMORY)
    engine.detach()  # the wrapper would free code that threads may still run
    return symbols
