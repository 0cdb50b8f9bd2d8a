"""Machine code of the runtime's own LLVM IR: from the persistent cache, else made by LLVM and kept there.

The texts of calls, pool and signals are loaded only where no code of them is cached: other processes start without.
"""

from __future__ import annotations

import platform
from _thread import allocate_lock  # `threading.Lock`, without the rest of that module
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from ..file_store import open_store
from ..fingerprint import digest, environment
from .loader import LoadedObject, can_load

__all__ = ["RuntimeCode", "source_of_calls", "source_of_pool", "source_of_signals"]


class RuntimeCode:
    """LLVM IR of the runtime's own, and its machine code, made or read once in a process.

    The text that `source` gives follows from the `facts` and this version of txc.
    """

    def __init__(self, name: str, source: Callable[[], str], **facts: str):
        self._name, self._source, self._facts = name, source, facts
        self._made: bytes | None = None
        self._lock = allocate_lock()

    def machine_code(self) -> bytes:
        """The object file."""
        with self._lock:
            if self._made is None:
                self._made = _kept_object(self._name, self._source, **self._facts)
            return self._made

    def load(self, names: Iterable[str], symbols: Mapping[str, int]) -> Mapping[str, int]:
        """Addresses of `names` in the machine code, linked to `symbols`; a new copy with each call.

        It is never unmapped: threads may run it, and objects refer to it, while the interpreter takes its objects
        apart.
        """
        if not can_load(b"\x7fELF"):
            return _load_by_llvm(self._source(), names, symbols)
        loaded = LoadedObject(self.machine_code(), names, symbols)
        loaded.keep_forever()
        return loaded.addresses


def _load_by_llvm(text: str, names: Iterable[str], symbols: Mapping[str, int]) -> dict[str, int]:
    """By LLVM's own loader, where ours does not know the platform."""
    import llvmlite.binding as llvm

    machine = _new_machine()  # an engine takes it over
    module = _parsed(text)
    engine = llvm.create_mcjit_compiler(module, machine)
    for value in (*module.functions, *module.global_variables):
        if value.is_declaration and not value.name.startswith("llvm."):
            engine.add_global_mapping(value, symbols[value.name])
    engine.finalize_object()
    functions = {f.name for f in module.functions}
    found = {
        name: engine.get_function_address(name) if name in functions else engine.get_global_value_address(name)
        for name in names
    }
    engine.detach()  # the wrapper would free the code
    return found


def _kept_object(name: str, source: Callable[[], str], **facts: str) -> bytes:
    """The object file of `source()`, from the persistent cache where it has that."""
    key: dict[str, str] = {}
    try:
        store = open_store()
        if store is not None:  # the environment takes a look at all sources
            key = {"kind": "runtime", "function": name, **facts, **environment()}
    except OSError:  # the processor cannot be told without LLVM
        store = None
    found = None if store is None else store.read(f"runtime-{digest(key)}")
    if found is not None and found.metadata is not None and found.metadata.get("key") == key:
        return found.payload
    machine = _machine()
    made: bytes = machine.emit_object(_parsed(source()))
    if store is not None:
        store.publish(f"runtime-{digest(key)}", {"key": key}, made)
    return made


def _parsed(text: str) -> Any:
    """LLVM's module of the text, after a machine was made."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    return module


def _new_machine() -> Any:
    """What makes code for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()  # on AArch64, single-instruction atomics
    # Level 0 compiles in a quarter of the time; a parallel region or a call takes some nanoseconds more.
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=0, reloc="pic", codemodel="small"
    )


#: One for all objects: each call of LLVM's in a thread gives Python's lock away, and waits to have it again.
_machine = cache(_new_machine)


def source_of_calls() -> str:
    """LLVM IR of what native entries share."""
    from ..stub.ir import source

    return source()


def source_of_pool(futex: bool) -> str:
    """LLVM IR of the thread pool, for systems with futexes or without."""
    from ..pool.ir import source

    return source(platform.machine(), futex)


def source_of_signals() -> str:
    """LLVM IR of what signals do while compiled code runs."""
    from ..signals.ir import source

    return source()
