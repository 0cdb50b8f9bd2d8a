"""``tensor-compile FILE.tx --emit=FORM -o NAME --target …``: stages for other targets, and what C calls."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..aot.whole_file import whole_file
from ..codegen.emit.text import EmitError
from ..config.options import Options
from ..frontend.tx.parser import TxFunction
from ..instrumentation import InstrumentationOptions
from ..stages import EXPORTS, STAGES
from .inputs import CliError

__all__ = [
    "FORMS",
    "add_options",
    "check_options",
    "emit_stage",
    "is_export",
    "scheduled_for_gpu",
    "target_of",
    "write_for_c",
]

#: Forms that are no stage of their own, with the stage that is their last.
FORMS = {"so": "obj", "header": "obj"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of what is made for others than this process."""
    parser.add_argument(
        "--emit",
        metavar="FORM",
        help=f"print one stage: {', '.join(s for s in STAGES if s not in EXPORTS)}; or make what C calls: "
        f"{', '.join(EXPORTS)}",
    )
    parser.add_argument(
        "-o", "--output", metavar="NAME", type=Path, help="the file to write; what C calls gets a suffix"
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="native, x86-64[-v2…v4], several as x86-64-v2+v3, aarch64, riscv64, wasm32, nvptx64",
    )
    parser.add_argument("--cpu", metavar="NAME", help="a processor of the target, such as sm_90a")
    parser.add_argument(
        "--threads",
        metavar="host|pool",
        help="whose threads an exported function can use: the calling program's (the default), or also a pool in it",
    )
    parser.add_argument(
        "--symbol",
        metavar="NAME[,NAME…]",
        help="what C calls each function (default: its name; f_NAME where C has that)",
    )


def is_export(given: Any) -> bool:
    return given.emit in EXPORTS


def check_options(given: Any) -> None:
    """CliError for options that the form does not use: none is ignored."""
    for option in ("output", "target", "cpu", "symbol", "threads"):
        if getattr(given, option) is not None and given.emit is None:
            raise CliError(f"--{option} says how to emit, and there is no --emit", "add --emit=so, for example")
    if not is_export(given):
        for option in ("symbol", "threads"):
            if getattr(given, option) is not None:
                raise CliError(f"--{option} is for what C calls", f"use it with --emit={', '.join(EXPORTS)}")
        return
    if given.emit == "so" and given.output is None:
        raise CliError("--emit=so writes a file, and a header beside it", "name it with -o")


def target_of(given: Any) -> Any:
    """The `NamedTarget` that is asked for."""
    from ..codegen.target.names import named_target

    name = given.target
    if given.emit == "ptx":
        if name not in (None, "nvptx64"):
            raise CliError(f"--emit=ptx is for the target nvptx64, not {name}")
        name = "nvptx64"
    found = named_target(name or "native", given.cpu or "")
    if given.opt_level == 0 and found.versions[0].is_gpu:
        raise CliError(f"-O0 is a level of code for CPUs, not for {found.name}")
    if len(found.versions) > 1 and not is_export(given):
        raise CliError(f"--emit={given.emit} shows code for one target, not for {name}", "name one of them")
    return found


@contextlib.contextmanager
def scheduled_for_gpu(name: str, given: Any) -> Iterator[None]:
    """Say, where PTX is asked for and cannot be made, what is missing."""
    try:
        yield
    except EmitError as error:
        if given.emit != "ptx" and given.target != "nvptx64":
            raise
        hint = "docs/reference/operations.md says which operations run on a GPU, for which element types"
        raise CliError(f"no PTX of {name}: {error}", hint) from None


def emit_stage(stages: Any, stage: str, output: Path | None) -> None:
    """Print a stage, or write it to a file."""
    text = f"{stages.text(stage).rstrip()}\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        with whole_file(output) as file:
            file.write(text.encode())
    except OSError as error:
        raise CliError(f"cannot write {output}: {error.strerror or error}") from None


def write_for_c(functions: Sequence[TxFunction], given: Any, options: Options, watch: InstrumentationOptions) -> None:
    """Make one object, library or header of functions; without ``-o`` an object or header goes to stdout."""
    from ..aot.compiled_entry import Entry
    from ..aot.export import export_entries, write_export

    symbols = given.symbol.split(",") if given.symbol else [""] * len(functions)
    if len(symbols) != len(functions):
        raise CliError(
            f"--symbol has {len(symbols)} names, and --function {len(functions)}", "give one for each, in their order"
        )
    if watch.dump_dir is not None and len(functions) > 1:
        raise CliError(f"the IR of one function is dumped, not of {len(functions)}", "name one of them with --function")
    graphs = [f.graph() for f in functions]
    entries = [
        Entry(graph, symbol, tuple(f.output_layouts(graph)), f.doc)
        for f, graph, symbol in zip(functions, graphs, symbols, strict=True)
    ]
    made = export_entries(entries, target_of(given), options, threads=given.threads or "host", watch=watch)
    if given.output is None:
        sys.stdout.buffer.write(made.object if given.emit == "obj" else made.header.encode())
        return
    for path in write_export(made, given.emit, given.output):
        print(path)
