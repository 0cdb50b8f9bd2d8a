"""The hook between the stages of the pipeline: keep, dump, print, time and verify what each pass made.

`InstrumentationOptions` say what the user wants to see; the `PassInstrumentation` of one compilation does it.  With
nothing asked for, a pass costs one clock reading: text is made only where it is kept, dumped, printed or compared.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeVar

from .config import knobs
from .config.device_names import OptionError
from .progress import doing

__all__ = ["InstrumentationOptions", "PassError", "PassInstrumentation", "PassRecord"]

T = TypeVar("T")

#: Of the files of stages that are no IR modules.
_SUFFIX = {"graph": "txt", "llvm": "ll", "ptx": "ptx", "asm": "s", "obj": "o"}
_compilations = itertools.count()


class PassError(Exception):
    """A pass left IR that does not verify: a bug of the compiler, found by a debug run."""


@dataclass(frozen=True)
class InstrumentationOptions:
    """What to show of a compilation.  `printing` is ``""``, ``all`` or ``change``; `out` is where it goes (stderr).

    IR is printed with `locations`, the user's lines that ops come from, in MLIR's `generic` form, or `unbroken`.
    """

    keep_text: bool = False
    dump_dir: Path | None = None
    printing: str = ""
    timing: bool = False
    verify: bool = False
    out: TextIO | None = None
    locations: bool = False
    generic: bool = False
    unbroken: bool = False

    @staticmethod
    def from_knobs() -> InstrumentationOptions:
        """What the environment asks for; each compilation dumps into a folder of its own."""
        folder = knobs.DUMP_IR.get()
        return InstrumentationOptions(
            dump_dir=folder and folder / f"{next(_compilations):03}",
            printing=knobs.PRINT_IR.get(),
            timing=knobs.TIME_PASSES.get(),
            verify=knobs.VERIFY.get(),
        )

    @property
    def needs_text(self) -> bool:
        return self.keep_text or self.dump_dir is not None or bool(self.printing)


def _plain(name: str) -> str:
    """A pass with its options, as a file may be named."""
    return re.sub(r"[^\w-]+", "-", name)


@dataclass(frozen=True)
class PassRecord:
    """One step of the pipeline.  `text` is None where nobody asked for it; `changed` is None where it is not known."""

    stage: str
    name: str
    seconds: float
    changed: bool | None
    text: str | None


@dataclass
class PassInstrumentation:
    """Runs the steps of one compilation and remembers them."""

    watch: InstrumentationOptions
    name: str = ""
    records: list[PassRecord] = field(default_factory=list)

    def step(self, stage: str, name: str, work: Callable[[], T]) -> T:
        """Run a step that makes a new form of the program and record it."""
        doing(stage, name)
        start = time.perf_counter()
        made = work()
        self._record(stage, name, time.perf_counter() - start, made)
        return made

    def _record(self, stage: str, name: str, seconds: float, made: Any) -> None:
        watch = self.watch
        text = self._text(made) if watch.needs_text and not isinstance(made, bytes) else None
        changed = None
        if text is not None and self.records:
            before = next((r.text for r in reversed(self.records) if r.text is not None), None)
            changed = text != before
        self.records.append(PassRecord(stage, name, seconds, changed, text))
        if watch.verify and hasattr(made, "verify"):
            self._verify(stage, name, made)
        if watch.dump_dir is not None:
            suffix = "mlir" if hasattr(made, "verify") else _SUFFIX[stage]
            self._dump(
                watch.dump_dir, f"{stage}-{_plain(name)}.{suffix}", made if isinstance(made, bytes) else text or ""
            )
        if watch.printing and text is not None:
            self._print(stage, name, text, changed is not False)

    def _text(self, made: Any) -> str:
        from xdsl.ir import Operation

        from ..dialects.ir_text import ir_text

        if not isinstance(made, Operation):
            return str(made)
        watch = self.watch
        return ir_text(made, generic=watch.generic, locations=watch.locations, unbroken=watch.unbroken)

    def _verify(self, stage: str, name: str, module: Any) -> None:
        from xdsl.utils.exceptions import VerifyException

        from ..dialects.verification import check_dominance

        try:
            module.verify()
            check_dominance(module)
        except VerifyException as error:
            raise PassError(f"the IR after {name} (stage {stage}) is not valid: {error}") from error

    def _dump(self, folder: Path, name: str, content: str | bytes) -> None:
        path = folder / f"{len(self.records) - 1:02}-{name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else (content.rstrip("\n") + "\n").encode())
        except OSError as error:
            raise OptionError(f"the IR cannot be written into {folder}: {error.strerror or error}") from None

    def _print(self, stage: str, name: str, text: str, changed: bool) -> None:
        out = self.watch.out or sys.stderr
        head = f"// ---- {stage}: {name}"
        if changed:
            print(f"{head}\n{text.rstrip()}\n", file=out)
        elif self.watch.printing == "change":
            print(f"{head} (unchanged)", file=out)
        else:
            print(f"{head} (unchanged)\n{text.rstrip()}\n", file=out)

    def finish(self) -> None:
        """The compilation is over: print the timing table where it was asked for."""
        if self.watch.timing:
            print(self.timing_table(), file=self.watch.out or sys.stderr)

    def timing_table(self) -> str:
        """Milliseconds and share of each pass, as plain text."""
        total = sum(r.seconds for r in self.records) or 1e-9
        width = max([len(r.name) for r in self.records] + [5])
        lines = [f"time of {self.name or 'the compilation'}", f"{'stage':<10} {'pass':<{width}} {'ms':>9} {'%':>6}"]
        for r in self.records:
            share = 100 * r.seconds / total
            lines.append(f"{r.stage:<10} {r.name:<{width}} {1e3 * r.seconds:9.2f} {share:6.1f}")
        lines.append(f"{'total':<10} {'':<{width}} {1e3 * total:9.2f} {100.0:6.1f}")
        return "\n".join(lines)
