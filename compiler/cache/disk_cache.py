"""The persistent cache: compiled functions in files, for other processes (`runtime/file_store.py` has the files).

There are two kinds of entries for calls.  A *code* entry is machine code with the description of its call; its key is
the graph.  A *source* entry says, for a Python function and the facts of a call, which graphs it was staged to; its key
is the function's code with all that it refers to (`source_lookup.py`).  So a hit by source needs no staging and no
compiler, and a function that cannot be judged by source still finds its machine code once it is staged.  A *pointer*
entry is the object of a function that C calls (`aot/c_function.py`), by its graph too.  All keys hold what else the
code depends on: options, this compiler, its libraries, Python, NumPy and the processor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...runtime.calibration import calibrated
from ...runtime.file_store import Store, default_folder, open_store, sha256
from ...runtime.fingerprint import digest, environment
from ...runtime.loader.loader import can_load
from ...runtime.stub import cpython_layout
from ..config import knobs
from ..config.options import Options
from ..driver.executable import Code, CodeSpec, load_lazily
from .source_key import digest_plain

if TYPE_CHECKING:
    from ..frontend.trace.graph import Graph
    from ..gpu.launch_plan import Plan

__all__ = [
    "CodeKey", "code_key", "explain_miss", "load_code", "load_pointer", "open_cache", "pointer_key",
    "publish_code", "publish_pointer", "source_entry_key", "tuning_key",
]  # fmt: skip


class CodeKey(NamedTuple):
    """What machine code is looked up by: the parts, in words, and the name that they give the entry."""

    parts: dict[str, str]
    name: str


class Cached(NamedTuple):
    """Compiled code in memory and how it is called."""

    code: CodeSpec
    native: Code


def open_cache() -> tuple[Store | None, str]:
    """The store, or None and why it is not used."""
    if not default_folder():
        return None, "the cache is switched off (TXC_CACHE_DIR)"
    shown = [knob.name for knob in (knobs.DUMP_IR, knobs.PRINT_IR, knobs.TIME_PASSES, knobs.VERIFY) if knob.get()]
    if shown:
        return None, f"{shown[0]} wants to see a compilation"
    if not can_load(b"\x7fELF"):
        return None, "on this platform only LLVM can load code"
    try:
        environment()
    except OSError as error:
        return None, f"{error}"
    store = open_store()
    return store, "" if store is not None else f"{default_folder()} cannot be used"


def code_key(
    graph: Graph, facts: Sequence[Any], options: Options, parameters: Sequence[Any] | None = None,
    figures: Sequence[tuple[str, float]] = (),
) -> CodeKey | None:  # fmt: skip
    """The key of a graph's machine code; None where the cache is not used, or the code is not kept.

    `parameters` are those of the Python function for whose calls the code has an entry, `figures` what a search found.
    """
    if options.unkept or open_cache()[0] is None:
        return None
    parts = {"parameters": repr(parameters), "figures": repr(tuple(figures))}
    if options.lines:
        parts["lines"] = digest_plain(tuple(str(node.loc) for node in graph.walk()))
    return _key("code", {**_program(graph, facts), **parts, **_options(options)})


def pointer_key(graph: Graph, called: str, options: Options) -> CodeKey | None:
    """The key of a function pointer's code, which C calls as `called` says; None as of `code_key`.

    The arrays that the function captured are in the code.
    """
    if options.unkept or open_cache()[0] is None:
        return None
    held = [np.asarray(i.source) for i in graph.inputs if i.hidden]
    parts = {"called": called, "arrays": repr([(a.dtype.str, a.shape, sha256(a.tobytes()).hexdigest()) for a in held])}
    return _key("pointer", {**_program(graph, ()), **parts, **_options(options)})


def load_pointer(key: CodeKey) -> bytes | None:
    """The object of that key; None where it is not kept, or not as it was written."""
    store = open_cache()[0]
    found = None if store is None else store.read(key.name)
    if found is None or found.metadata is None or found.metadata.get("key") != key.parts:
        return None
    return found.payload


def publish_pointer(key: CodeKey, data: bytes) -> None:
    """Keep a function pointer's code for other processes."""
    store = open_cache()[0]
    if store is not None and can_load(data):
        store.publish(key.name, {"key": key.parts}, data)


def tuning_key(graph: Graph, facts: Sequence[Any], options: Options, threads: int) -> CodeKey:
    """The key of what a search found for a graph, on so many threads."""
    return _key("tuning", {**_program(graph, facts), "threads": str(threads), **_options(options)})


def source_entry_key(function: Mapping[str, str], options: Options) -> CodeKey:
    """The key of what a Python function, described in words, was staged to."""
    return _key("source", {**function, **_options(options)})


def _program(graph: Graph, facts: Sequence[Any]) -> dict[str, str]:
    return {"function": graph.name, "graph": graph.key(), "facts": repr(tuple(facts))}


def _options(options: Options) -> dict[str, str]:
    fastmath, passes, (*_, plain), donate, most, _, autotune, schedule = options.compiled
    entry = knobs.NATIVE_ENTRY.get() is not False and not cpython_layout.problem()
    made = f"fastmath={sorted(fastmath)} passes={passes!r} entry={entry} donate={donate} temporaries={most}"
    made += " opt_level=0" if plain else ""
    made += f" schedule={schedule.content}" if schedule else ""
    tiles = bool(fastmath) and not options.gpu and _has_tiles(fastmath)
    return {"options": made, "gpu": options.gpu, "autotune": str(autotune), "tiles": str(tiles)}


def _has_tiles(fastmath: Collection[str]) -> bool:
    """Whether what is allowed allows tiles, and this process may use them; it asks for that here."""
    from ...dialects.matrix_units import wants_amx
    from ...runtime.amx_permission import tiles_permitted

    return wants_amx(fastmath) and tiles_permitted()


def _key(kind: str, parts: dict[str, str]) -> CodeKey:
    machine = {"machine": repr(sorted(calibrated().items())), "target": knobs.TARGET.get()}
    full = {"kind": kind, **parts, **machine, **environment()}
    return CodeKey(full, f"{kind}-{digest(full)}")


def load_code(key: CodeKey, device: str) -> Cached | None:
    """The code of that key, ready to run on the device; None where it is not kept, or not as it was written."""
    store = open_cache()[0]
    found = None if store is None else store.read(key.name)
    if found is None or found.metadata is None or found.metadata.get("key") != key.parts:
        return None
    code = CodeSpec.of_plain(found.metadata["code"])
    machine_code = found.payload
    if "plan" in found.metadata:
        from ..gpu.executable import GpuCode
        from ..gpu.launch_plan import Plan

        return Cached(code, GpuCode(device, machine_code.decode(), Plan.of_plain(found.metadata["plan"]), code))
    return Cached(code, load_lazily(machine_code, code))


def publish_code(key: CodeKey, code: CodeSpec, machine_code: bytes, plan: Plan | None = None) -> None:
    """Keep machine code for other processes, or PTX, which a launch `plan` belongs to."""
    store = open_cache()[0]
    if store is not None and (plan is not None or can_load(machine_code)):
        planned = {} if plan is None else {"plan": plan.plain()}
        store.publish(key.name, {"key": key.parts, "code": code.plain(), **planned}, machine_code)


def explain_miss(key: CodeKey) -> str:
    """Which parts of the key differ from the latest entry for a function of the same name."""
    store, why = open_cache()
    if store is None:
        return why
    kind = f"{key.parts['kind']}-"
    for entry in store.entries():
        if not entry.name.startswith(kind) or entry.name == key.name:
            continue
        metadata = store.read(entry.name).metadata
        parts: Mapping[str, str] = metadata.get("key", {}) if metadata else {}
        if parts.get("function") == key.parts["function"]:
            changed = sorted(k for k in {*parts, *key.parts} if parts.get(k) != key.parts.get(k))
            return f"it is kept with another {', '.join(changed)}"
    return "nothing is kept for a function of this name"
