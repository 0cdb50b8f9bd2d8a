"""Entries of the persistent cache by source: for a Python function and the facts of a call, what it was staged to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...runtime.check_errors import Place
from .. import on_demand
from ..call.signature import NotSerializable, Signature
from ..config.options import Options
from ..driver.executable import Executable
from .disk_cache import CodeKey, load_code, open_cache, source_entry_key
from .source_key import NotHashable, SourceDigest, digest_function, digest_plain, source_unchanged

if TYPE_CHECKING:
    from .captured_value import Captured

__all__ = ["SourceLookup"]

#: Versions of one function for the same facts, which differ in what they demand of sizes.
_MOST_VARIANTS = 8


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
            }
            if options.lines:
                codes = (f.__code__ for f in self.digest.functions)
                parts["lines"] = digest_plain(tuple(f"{c.co_filename}:{c.co_firstlineno}" for c in codes))
            self.key = source_entry_key(parts, options)
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
        assert self.digest is not None
        for function in self.digest.functions:
            if not on_demand.staging().is_staged(function):
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
