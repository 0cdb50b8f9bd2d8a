"""From LLVM IR text to machine code: targets checked before LLVM sees them, a short pass list, objects, loading."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

import llvmlite.binding as llvm

from ....runtime.amx_permission import tiles_permitted
from ....runtime.loader import loader
from ....runtime.loader.elf import read_elf
from ...config import knobs
from .target import Target, TargetError, object_name
from .wasm import imported_functions

__all__ = [
    "LoadedObject", "TargetError", "compile_linked", "compile_llvm", "emit_asm", "generate_here", "gpu_target",
    "host_target", "host_with_amx", "libcalls", "load_object", "make_target", "native_target", "undefined_symbols",
]  # fmt: skip

#: What an object may call: LLVM makes these of loops and wide copies; the C library has them everywhere.
ALLOWED_SYMBOLS = frozenset({"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_"})
#: LLVM's level of code generation, where nobody asks for code that is made fast (0).
USUAL_LEVEL = 2


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


@lru_cache(maxsize=1)
def _initialize_all() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def host_target() -> Target:
    """What this machine's code is compiled for: `native_target`, or the lower level that ``TXC_TARGET`` names.

    TargetError where the processor does not have that level.
    """
    return _at_level(knobs.TARGET.get(), native_target())


@lru_cache(maxsize=1)
def native_target() -> Target:
    """This machine: its processor's name and its features (in a virtual machine the name alone can be wrong).

    Tiles are not among them: `host_with_amx`.
    """
    return _host().without_amx


def host_with_amx() -> Target:
    """This machine with its matrix units, for which the process asks here; without them where it may not use them.

    No level that ``TXC_TARGET`` names has them.
    """
    return _host() if knobs.TARGET.get() == knobs.NATIVE and tiles_permitted() else host_target()


@lru_cache(maxsize=8)
def _at_level(name: str, native: Target) -> Target:
    if name == knobs.NATIVE:
        return native
    if native.arch != "x86_64":
        raise TargetError(f"TXC_TARGET={name}: this processor is of {native.arch}; it takes {knobs.NATIVE}")
    lacking = [word[1:] for word in _LEVELS_X86[name].split(",") if not native.has(word[1:])]
    if lacking:
        runs = [n for n, words in _LEVELS_X86.items() if all(native.has(word[1:]) for word in words.split(","))]
        text = f"TXC_TARGET={name}: this processor has no {', '.join(lacking)}"
        raise TargetError(f"{text}; the highest level that it has is {runs[-1]}")
    return Target(native.triple, name, _LEVELS_X86[name])


@lru_cache(maxsize=1)
def _host() -> Target:
    _initialize()
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def make_target(triple: str = "", cpu: str = "", features: str = "") -> Target:
    """A target by name, checked.  TargetError where LLVM, which would abort the process, does not know a part of it."""
    host = host_target()
    if not triple and not cpu and not features:
        return host
    triple = triple or host.triple
    arch = triple.partition("-")[0]
    if arch != host.arch:
        _initialize_all()
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise TargetError(f"no target {triple!r}: {error}") from error
    words = [w for w in features.split(",") if w]
    known = _LEVELS_X86.keys() | set(llvm.get_host_cpu_features()) if arch in ("x86_64", "i686") else None
    for word in words:
        name = word[1:]
        if word[0] not in "+-" or not name.replace(".", "").replace("-", "").replace("_", "").isalnum():
            raise TargetError(f"a feature is written +name or -name, not {word!r}")
        if known is not None and name not in known:
            raise TargetError(f"no feature {name!r} on {arch}")
    if cpu in ("", "native", "host") and arch == host.arch:
        base = host.features
        return Target(triple, host.cpu, ",".join([base, *words]) if words else base)
    if arch == "x86_64":
        if cpu not in _LEVELS_X86:
            raise TargetError(f"no processor {cpu!r}: there are native, {', '.join(_LEVELS_X86)}")
        return Target(triple, cpu, ",".join([_LEVELS_X86[cpu], *words]))
    if arch == "nvptx64":
        if not cpu.removeprefix("sm_").removesuffix("a").isdigit():
            raise TargetError(f"no GPU {cpu!r}: it is written sm_80, sm_90, …")
        return Target(triple, cpu, features)
    if not cpu.replace("-", "").replace("_", "").isalnum() and cpu:
        raise TargetError(f"a processor of {arch} is named by letters and digits, not {cpu!r}")
    return Target(triple, cpu, ",".join([*filter(None, [_USUAL.get(arch, "")]), *words]))


def gpu_target(cpu: str) -> Target:
    """An NVIDIA GPU by the name of its instruction set (``sm_90a``).  Errors as of `make_target`.

    PTX has version 8.0, of CUDA 12.0, so that no newer driver is asked for; what is newer takes LLVM's own choice.
    """
    known = re.fullmatch(r"sm_([0-9]+)[af]?", cpu)
    return make_target("nvptx64-nvidia-cuda", cpu, "+ptx80" if known is None or int(known[1]) <= 90 else "")


#: What every processor of an architecture that runs our code has: RV64GC; vectors and saturating casts of WebAssembly.
_USUAL = {"riscv64": "+m,+a,+f,+d,+c", "wasm32": "+simd128,+nontrapping-fptoint,+bulk-memory,+sign-ext"}
_V1 = "+64bit,+cmov,+cx8,+fxsr,+mmx,+sse,+sse2"
_V2 = _V1 + ",+cx16,+sahf,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = _V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
_V4 = _V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
_LEVELS_X86 = {"x86-64": _V1, "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}


@lru_cache(maxsize=16)
def _machine(target: Target, opt_level: int) -> Any:
    if target.arch != host_target().arch:
        _initialize_all()
    reloc, model = ("default", "default") if target.is_gpu else ("pic", "small")
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt_level, reloc=reloc, codemodel=model
    )


def _parsed(text: str) -> Any:
    """A module that LLVM's verifier has looked at: of what is not well-formed code generation ends the process."""
    try:
        module = llvm.parse_assembly(text)
        module.verify()
        return module
    except RuntimeError as error:
        raise TargetError(f"LLVM rejects the generated IR: {error}") from error


def _linked(texts: Sequence[str], exported: Collection[str]) -> Any:
    """One module of several; what is not in `exported` is visible in it only."""
    module = _parsed(texts[0])
    for text in texts[1:]:
        module.link_in(_parsed(text))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in exported and value.linkage is llvm.Linkage.external:
            value.linkage = llvm.Linkage.internal
    return module


def _inlined(module: Any, inlined: Collection[str], machine: Any) -> None:
    """Make functions parts of those that call them."""
    for name in inlined:
        module.get_function(name).add_function_attribute("alwaysinline")
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()  # what went through memory becomes registers
    passes.add_instruction_combine_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))


def _optimized(module: Any, machine: Any) -> Any:
    module.data_layout = str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_function_pass_manager()
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()  # numbers that loops carry become registers
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return module


@contextmanager
def _addresses_as_written() -> Iterator[None]:
    """Without loop strength reduction: our loops advance their pointers already, and it costs a quarter of the time.

    The option is the process's, so it is put back: other users of llvmlite keep theirs.
    """
    with _options_lock:
        llvm.set_option("", "-disable-lsr=1")
        try:
            yield
        finally:
            llvm.set_option("", "-disable-lsr=0")


_options_lock = threading.Lock()


def generate_here(
    kind: str, texts: Sequence[str], exported: Collection[str] | None, target: Target, opt_level: int = USUAL_LEVEL,
    inlined: Collection[str] = (),
) -> bytes:  # fmt: skip
    """An object (`kind` ``obj``) or assembly (``asm``), made by this process: LLVM may end it for a foreign target.

    The functions `inlined`, which are not `exported`, become parts of those that call them.
    """
    module = _parsed(texts[0]) if exported is None else _linked(texts, exported)
    machine = _machine(target, opt_level)
    module = _optimized(module, machine)
    if inlined:
        _inlined(module, inlined, machine)
    with _addresses_as_written():
        return machine.emit_object(module) if kind == "obj" else machine.emit_assembly(module).encode()


def _generate(
    kind: str, texts: Sequence[str], exported: Collection[str] | None, target: Target, opt_level: int
) -> bytes:
    host = host_target()
    # LLVM takes unknown processors with a warning, which only the process apart hears.
    known = target.arch == host.arch and (target.is_x86 or target.cpu in ("", "generic", host.cpu))
    if known:
        return generate_here(kind, texts, exported, target, opt_level)
    from . import isolated  # start-up: most code is for this machine

    return isolated.generate(kind, texts, exported, target, opt_level)


def compile_llvm(text: str, target: Target, opt_level: int = USUAL_LEVEL) -> bytes:
    """A relocatable object of LLVM IR text.  TargetError where LLVM refuses it, or cannot generate code for it."""
    return _generate("obj", [text], None, target, opt_level)


def compile_linked(
    texts: Sequence[str], exported: Collection[str], target: Target, opt_level: int = USUAL_LEVEL
) -> bytes:
    """A relocatable object of several LLVM IR texts that shows only the functions `exported`.

    Functions may have features beyond the target's in their attributes.  Errors as of `compile_llvm`.
    """
    return _generate("obj", texts, exported, target, opt_level)


def emit_asm(text: str, target: Target, opt_level: int = USUAL_LEVEL) -> str:
    """Assembly (or PTX) of LLVM IR text.  Errors as of `compile_llvm`."""
    return _generate("asm", [text], None, target, opt_level).decode()


class LoadedObject(Protocol):
    """An object in memory, executable as long as this lives; `addresses` of the names asked for."""

    addresses: dict[str, int]


class _Jitted:
    """An object that LLVM's own loader put into memory: of formats other than ELF."""

    def __init__(self, data: bytes, names: Sequence[str], symbols: Mapping[str, int]):
        _initialize()
        for symbol, address in symbols.items():
            llvm.add_symbol(symbol, address)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        self.addresses = {name: self._engine.get_function_address(name) for name in names}
        for name, address in self.addresses.items():
            if not address:
                raise TargetError(f"the object has no function {name!r}")


def _new_machine() -> Any:
    # An execution engine takes its machine over, so each needs its own.
    return llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)


def load_object(data: bytes, names: Iterable[str], symbols: Mapping[str, int] | None = None) -> LoadedObject:
    """Load an object of this machine's; TargetError where it lacks one of `names` or cannot be loaded.

    `symbols` has the addresses of what it needs (default: functions of the C library).
    """
    symbols = loader.library_symbols() if symbols is None else symbols
    spelled = {object_name(name): name for name in names}
    try:
        made = loader.LoadedObject if loader.can_load(data) else _Jitted
        loaded = made(data, [*spelled], symbols)
    except loader.LoaderError as error:
        raise TargetError(str(error)) from error
    loaded.addresses = {spelled[name]: address for name, address in loaded.addresses.items()}
    return loaded


def undefined_symbols(data: bytes) -> set[str]:
    """What an object needs from outside; the empty set where its format is neither ELF64 nor WebAssembly."""
    if data[:4] == b"\0asm":
        return imported_functions(data)
    if data[:5] != b"\x7fELF\x02":
        return set()
    return {s.name for s in read_elf(data).symbols if s.name and s.section is None and not s.absolute}


def libcalls(data: bytes) -> set[str]:
    """Undefined symbols that no C library is sure to have: a sign that LLVM fell back to a helper function."""
    return undefined_symbols(data) - ALLOWED_SYMBOLS
