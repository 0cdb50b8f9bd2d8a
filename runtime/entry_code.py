"""Machine code of what native entries share: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .fingerprint import digest, environment
from .loader import LoadedObject, can_load, library_symbols
from .store import Store, open_store

__all__ = ["shared_half"]


def shared_half(symbols: Mapping[str, int]) -> Mapping[str, int]:
    """Addresses of the functions of `entry_ir`, linked to `symbols`; never unmapped."""
    from .entry_ir import EXPORTED

    needed = {**library_symbols(), **symbols}
    if not can_load(b"\x7fELF"):
        return _load_by_llvm(needed, tuple(EXPORTED))
    loaded = LoadedObject(_object(), EXPORTED, needed)
    loaded.keep_forever()
    return loaded.addresses


def _object() -> bytes:
    """The object file."""
    store, key = _place()
    found = None if store is None else store.read(f"entry-{digest(key)}")
    if found is not None and found.metadata is not None and found.metadata.get("key") == key:
        return found.payload
    module, machine = _module()
    made: bytes = machine.emit_object(module)
    if store is not None:
        store.publish(f"entry-{digest(key)}", {"key": key}, made)
    return made


def _place() -> tuple[Store | None, dict[str, str]]:
    """Where it is kept, and under which key; nowhere where the processor cannot be told without LLVM."""
    try:
        key = {"kind": "entry", "function": "txc_vectorcall", **environment()}
    except OSError:
        return None, {}
    return open_store(), key


def _module() -> tuple[Any, Any]:
    """The module and LLVM's machine for it."""
    import llvmlite.binding as llvm

    from .entry_ir import source

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(source())
    module.verify()
    # Level 0 compiles in a quarter of the time; a call takes some nanoseconds more.
    target = llvm.Target.from_default_triple()
    return module, target.create_target_machine(opt=0, reloc="pic", codemodel="small")


def _load_by_llvm(symbols: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    import llvmlite.binding as llvm

    module, machine = _module()
    engine = llvm.create_mcjit_compiler(module, machine)
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration and not value.name.startswith("llvm."):
            engine.add_global_mapping(value, symbols[value.name])
    engine.finalize_object()
    found = {name: engine.get_function_address(name) for name in names}
    engine.detach()  # the wrapper would free code that callables still refer to when the interpreter ends
    return found
