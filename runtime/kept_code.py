"""Machine code of the runtime's own LLVM IR: from the persistent cache, else made by LLVM and kept there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fingerprint import digest, environment
from .store import open_store

__all__ = ["compile_module", "kept_object"]


def kept_object(name: str, source: Callable[[], str], **facts: str) -> bytes:
    """The object file of `source()`, LLVM IR text that follows from the `facts` and this version of txc."""
    try:
        key = {"kind": "runtime", "function": name, **facts, **environment()}
        store = open_store()
    except OSError:  # the processor cannot be told without LLVM
        key, store = {}, None
    found = None if store is None else store.read(f"runtime-{digest(key)}")
    if found is not None and found.metadata is not None and found.metadata.get("key") == key:
        return found.payload
    module, machine = compile_module(source())
    made: bytes = machine.emit_object(module)
    if store is not None:
        store.publish(f"runtime-{digest(key)}", {"key": key}, made)
    return made


def compile_module(text: str) -> tuple[Any, Any]:
    """LLVM's module of the text, and its machine for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()  # on AArch64, single-instruction atomics
    # Level 0 compiles in a quarter of the time; a parallel region or a call takes some nanoseconds more.
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=0, reloc="pic", codemodel="small"
    )
    return module, machine
