"""Machine code of what native entries share: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

from collections.abc import Mapping

from .entry_layout import EXPORTED
from .kept_code import compile_module, kept_object
from .loader import LoadedObject, can_load, library_symbols

__all__ = ["shared_half"]


def shared_half(symbols: Mapping[str, int]) -> Mapping[str, int]:
    """Addresses of the functions of `entry_ir`, linked to `symbols`; never unmapped."""
    needed = {**library_symbols(), **symbols}
    if not can_load(b"\x7fELF"):
        return _load_by_llvm(needed, tuple(EXPORTED))
    loaded = LoadedObject(kept_object("txc_vectorcall", _source), EXPORTED, needed)
    loaded.keep_forever()
    return loaded.addresses


def _source() -> str:
    from .entry_ir import source

    return source()


def _load_by_llvm(symbols: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    import llvmlite.binding as llvm

    module, machine = compile_module(_source())
    engine = llvm.create_mcjit_compiler(module, machine)
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration and not value.name.startswith("llvm."):
            engine.add_global_mapping(value, symbols[value.name])
    engine.finalize_object()
    found = {name: engine.get_function_address(name) for name in names}
    engine.detach()  # the wrapper would free code that callables still refer to when the interpreter ends
    return found
