"""Export: functions as an object file, a shared library and a C header, with no Python and no txc at run time.

``export(f, "softmax", "x: f32[n, m], beta: f32")`` writes ``softmax.so`` and ``softmax.h``.  The object holds the
compiled code of each version of each function (`--target x86-64-v2+v3` asks for two) and, around it, what C calls
(`compiler/codegen/call/c_stub.py`); the header says how (`c_header.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..codegen.call.c_pool import emit_pool
from ..codegen.call.c_stub import emit_entry
from ..codegen.target.llvm_backend import compile_linked
from ..codegen.target.names import NamedTarget, named_target
from ..config.options import Options
from ..driver.jit import Jitted
from ..driver.tx_module import CompiledTx
from ..frontend.staging.annotations import declared_graph
from ..frontend.trace.graph import Graph
from ..instrumentation import InstrumentationOptions
from ..stages import EXPORTS
from .c_header import c_header
from .c_signature import CSignature, ExportError
from .compiled_entry import Entry, compiled_entry
from .linker import link_shared
from .whole_file import whole_file

__all__ = [
    "THREADS", "Exported", "export", "export_entries", "export_graph", "write_export",
]  # fmt: skip


#: Whose threads run parallel loops: those of the program that calls, or also a pool in the object.
THREADS = ("host", "pool")


@dataclass(frozen=True)
class Exported:
    """An object file that C can link, its header, and the target both are for."""

    signatures: tuple[CSignature, ...]
    object: bytes
    header: str
    target: NamedTarget

    @property
    def signature(self) -> CSignature:
        """That of the only function."""
        (only,) = self.signatures
        return only


def export_graph(
    graph: Graph,
    target: NamedTarget,
    options: Options | None = None,
    *,
    symbol: str = "",
    threads: str = "host",
    layouts: Sequence[str] = (),
    doc: str = "",
) -> Exported:
    """`export_entries` of one function."""
    return export_entries([Entry(graph, symbol, layouts, doc)], target, options, threads=threads)


def export_entries(
    entries: Sequence[Entry],
    target: NamedTarget,
    options: Options | None = None,
    *,
    threads: str = "host",
    watch: InstrumentationOptions | None = None,
) -> Exported:
    """Compile functions for C, into one object with one header.

    `threads` is one of `THREADS`; a pool is named after the first function and serves all.  Raises ExportError for
    what C cannot call, TargetError for what the target cannot run.
    """
    if threads not in THREADS:
        raise ExportError(f"there are no threads {threads!r}", f"there are {', '.join(THREADS)}")
    if target.versions[0].is_gpu:
        raise ExportError(f"C calls no code of {target.name}", "--emit=ptx shows what there is")
    options = options or Options.of()
    signatures: list[CSignature] = []
    texts: list[str] = []
    for entry in entries:
        signature, versions, code = compiled_entry(entry, target, options, watch)
        signatures.append(signature)
        texts += [emit_entry(signature, versions), *code]
    if threads == "pool":
        signatures[0] = replace(signatures[0], pool=True)
        texts.append(emit_pool(signatures[0], target.versions[0]))
    symbols = [symbol for s in signatures for symbol in s.symbols]
    for symbol in symbols:
        if symbols.count(symbol) > 1:
            raise ExportError(f"two functions of one library are called {symbol}", "--symbol gives each its name in C")
    data = compile_linked(texts, symbols, target.versions[0], options.opt_level)
    return Exported(tuple(signatures), data, c_header(signatures, target.name), target)


def write_export(exported: Exported, emit: str, output: Path) -> list[Path]:
    """Write the object, library or header, and beside the first two the header; what was written.

    `output` without the form's suffix gets it.  ExportError where a file cannot be written or nothing can link.
    """
    suffix = EXPORTS[emit]
    if not output.name or output.is_dir():
        raise ExportError(f"cannot write {output}: it is a folder", "name a file in it")
    path = output if output.suffix == suffix else output.with_name(output.name + suffix)
    header = path.with_suffix(".h")
    try:
        if emit == "obj":
            with whole_file(path) as file:
                file.write(exported.object)
        elif emit == "so":
            link_shared(exported.object, path, exported.target)
        with whole_file(header) as file:
            file.write(exported.header.encode("ascii"))
    except OSError as error:
        raise ExportError(f"cannot write {error.filename or path}: {error.strerror or error}") from None
    return [header] if emit == "header" else [path, header]


def export(
    function: Any,
    output: str | Path,
    signature: str | None = None,
    *,
    emit: str = "so",
    target: str = "native",
    cpu: str = "",
    symbol: str = "",
    threads: str = "host",
) -> list[Path]:
    """Write a function for C: an object (``emit="obj"``), a shared library (``"so"``) or the header alone; the paths.

    `function` is one of a `.tx` module, or a ``@txc.jit`` function with the types of its parameters in `signature`,
    written as in `.tx`: ``"x: f32[n, m], beta: f32"``; arrays that it captures become part of the object.
    `symbol` is what C calls the function (default: its name, after ``f_`` where C has that for something else);
    `target`, `cpu` and `threads` are those of the command line.  Raises ExportError, or TxcError where the function
    does not compile for these types.
    """
    if emit not in EXPORTS:
        raise ExportError(f"there is no form {emit!r} to export", f"there are {', '.join(EXPORTS)}")
    source = _Source.of(function, signature)
    entry = Entry(source.graph, symbol, source.layouts, source.doc)
    made = export_entries([entry], named_target(target, cpu), source.options, threads=threads)
    return write_export(made, emit, Path(output))


@dataclass(frozen=True)
class _Source:
    """What is to be exported."""

    graph: Graph
    options: Options
    layouts: tuple[str, ...]
    doc: str

    @staticmethod
    def of(function: Any, signature: str | None) -> _Source:
        if isinstance(function, CompiledTx):
            if signature is not None:
                raise ExportError(f"{function.__name__} has its types from its .tx file", "leave the signature out")
            layouts = tuple(function.function.output_layouts(function.graph))
            return _Source(function.graph, function.compile_options, layouts, function.__doc__ or "")
        if isinstance(function, Jitted):
            if signature is None:
                raise ExportError(
                    f"{function.__wrapped__.__name__} has no types: an exported function serves one signature",
                    'give it, for example signature="x: f32[n, m], beta: f32"',
                )
            graph = declared_graph(function.__wrapped__, signature)
            return _Source(graph, function.compile_options, (), function.__wrapped__.__doc__ or "")
        raise ExportError(
            f"a {type(function).__name__} cannot be exported", "pass a function of a .tx module, or one of @txc.jit"
        )
