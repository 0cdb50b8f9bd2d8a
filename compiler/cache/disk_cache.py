"""The persistent cache: compiled functions in files, for other processes (`runtime/file_store.py` has the files).

There are two kinds of entries for calls.  A *code* entry is machine code with the description of its call; its key is
the graph.  A *source* entry says, for a Python function and the facts of a call, which graphs it was staged to; its key
is the function's code with all that it refers to (`source_key.py`).  So a hit by source needs no staging and no
compiler, and a function that cannot be judged by source still finds its machine code once it is staged.  A *pointer*
entry is the object of a function that C calls (`aot/c_function.py`), by its graph too.  All keys hold what else the
code depends on: options, this compiler, its libraries, Python, NumPy and the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...runtime.amx_permission import tiles_permitted
from ...runtime.calibration import calibrated
from ...runtime.check_errors import Place
from ...runtime.file_store import Store, default_folder, open_store, sha256
from ...runtime.fingerprint import digest, environment
from ...runtime.loader.loader import can_load
from ...runtime.stub import cpython_layout
from ..call.signature import NotSerializable, Signature
from ..config import knobs
from ..driver.executable import Code, CodeSpec, Executable, load_lazily
from ..driver.options import Options
from .source_key import NotHashable, SourceDigest, digest_function, digest_plain, source_unchanged

if TYPE_CHECKING:
    from ..frontend.trace.graph import Graph
    from ..gpu.launch_plan import Plan
    from .captured_value import Captured

__all__ = [
    "CodeKey", "SourceLookup", "code_key", "explain_miss", "load_code", "load_pointer", "open_cache", "pointer_key",
    "publish_code", "publish_pointer", "tuning_key",
]  # fmt: skip

#: Versions of one function for the same facts, which differ in what they demand of sizes.
_MOST_VARIANTS = 8


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


def _program(graph: Graph, facts: Sequence[Any]) -> dict[str, str]:
    return {"function": graph.name, "graph": graph.key(), "facts": repr(tuple(facts))}


def _options(options: Options) -> dict[str, str]:
    fastmath, passes, _, donate, most, _, autotune, schedule = options.compiled
    entry = knobs.NATIVE_ENTRY.get() is not False and not cpython_layout.problem()
    made = f"fastmath={sorted(fastmath)} passes={passes!r} entry={entry} donate={donate} temporaries={most}"
    made += f" schedule={schedule.content}" if schedule else ""
    tiles = bool(fastmath) and not options.gpu and _has_tiles(fastmath)
    return {"options": made, "gpu": options.gpu, "autotune": str(autotune), "tiles": str(tiles)}


def _has_tiles(fastmath: Collection[str]) -> bool:
    """Whether what is allowed allows tiles, and this process may use them; it asks for that here."""
    from ...dialects.matrix_units import wants_amx

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


class SourceLookup:
    """A look-up by source: of a function as it is now, for the facts of a call.

    `why` says, where there is no hit, what the reason is; `key` is None where the function cannot be looked up.
    """

    def __init__(self, function: Callable[..., Any], facts: Sequence[Any], options: Options):
        self.key: CodeKey | None = None
        #: Whether it was compiled and is kept now.
        self.kept = False
        self.digest: SourceDigest | None = None
        self._function, self._device = function, options.device
        self._store, self.why = open_cache()
        if options.unkept:
            self._store, self.why = None, options.unkept
        if self._store is None:
            return
        try:
            self.digest = digest_function(function)
            parts = {
                "function": f"{function.__module__}.{function.__qualname__}",
                "code": self.digest.digest,
                "facts": digest_plain(tuple(facts)),
                **_options(options),
            }
            if options.lines:
                codes = (f.__code__ for f in self.digest.functions)
                parts["lines"] = digest_plain(tuple(f"{c.co_filename}:{c.co_firstlineno}" for c in codes))
            self.key = _key("source", parts)
        except NotHashable as reason:
            self.why = f"it is staged in every process: {reason}"

    @property
    def checks(self) -> tuple[Captured, ...]:
        """What has to hold for a version to stay valid in this process."""
        return () if self.digest is None else self.digest.checks

    def executables(self) -> Iterator[Executable]:
        """The versions that are kept, the latest first; their guards are not checked yet."""
        for variant in self._variants():
            key = CodeKey(variant["code"]["parts"], variant["code"]["name"])
            cached = load_code(key, self._device)
            if cached is None:
                self.why = "its machine code is not kept any more"
                continue
            assert self.digest is not None
            sources = {name: self.digest.arrays[i] for name, i in variant["captured"].items()}
            self.why = "the versions that are kept have guards which these arguments do not meet"
            try:
                signature = Signature.of_plain(variant["signature"], sources)
                signature = signature._replace(places=self._placed(variant["places"]))
            except NotSerializable as error:
                self.why = str(error)
                continue
            yield Executable(signature, cached.code, cached.native)

    def _variants(self) -> list[dict[str, Any]]:
        if self._store is None or self.key is None:
            return []
        found = self._store.read(self.key.name)
        if found.metadata is None or found.metadata.get("key") != self.key.parts:
            self.why = found.why or "another function is kept under this key"
            return []
        return found.metadata["variants"]

    def keep(self, signature: Signature, code: CodeKey | None) -> None:
        """The function was staged to this signature, with machine code of that key: remember it where that is sound."""
        if self._store is None or self.key is None or self.digest is None or code is None:
            return
        try:
            reason = self._unsound()
            captured = self._captured(signature)
            plain = signature.plain()
            places = [self._place(p) for p in signature.places]
        except (NotSerializable, NotHashable) as error:
            reason, captured, plain, places = str(error), {}, {}, []
        if reason:
            self.key, self.why = None, f"it is staged in every process: {reason}"
            return
        variant = {"signature": plain, "captured": captured, "code": code._asdict(), "places": places}
        why = self.why
        others = [v for v in self._variants() if v["signature"] != plain]
        self.why = why
        entry = {"key": self.key.parts, "variants": [variant, *others][:_MOST_VARIANTS]}
        self.kept = self._store.publish(self.key.name, entry)

    def _unsound(self) -> str:
        """Why the digest does not say all that staging depended on; empty where it does."""
        from ..frontend.staging.staging import is_staged

        assert self.digest is not None
        for function in self.digest.functions:
            if not is_staged(function):
                return f"{function.__qualname__} is traced as it is, not staged"
            if not source_unchanged(function):
                return f"the source of {function.__qualname__} is not what it was compiled from"
        if digest_function(self._function).digest != self.digest.digest:
            return "what it refers to changed while it was staged"
        return ""

    def _place(self, place: Place | None) -> list[Any] | None:
        """A place by the number of its function, as lines behind where that begins: the key holds nothing else."""
        assert self.digest is not None
        if place is None:
            return None
        heads = [(f.__code__.co_firstlineno, n) for n, f in enumerate(self.digest.functions)
                 if f.__code__.co_filename == place.filename and f.__code__.co_firstlineno <= place.line]  # fmt: skip
        if not heads:
            return None
        first, number = max(heads)
        return [number, place.line - first, place.column, place.end_column, place.function]

    def _placed(self, places: Sequence[Any]) -> tuple[Place | None, ...]:
        """Places in the functions as they are now."""
        assert self.digest is not None
        found: list[Place | None] = []
        for place in places:
            if place is None:
                found.append(None)
                continue
            number, line, *rest = place
            code = self.digest.functions[number].__code__
            found.append(Place(code.co_filename, code.co_firstlineno + line, *rest))
        return tuple(found)

    def _captured(self, signature: Signature) -> dict[str, int]:
        """For each captured array its number in the digest."""
        assert self.digest is not None
        found = {}
        for given in signature.inputs:
            if given.hidden:
                numbers = [i for i, a in enumerate(self.digest.arrays) if a is given.source]
                if not numbers:
                    raise NotHashable(f"{given.name} is an array that is made while it is staged")
                found[given.name] = numbers[0]
        return found


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
