"""``tensor-compile``: check, show, time, bisect and run `.tx` programs."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from ...dialects.registry import OpError
from ...runtime.check_errors import ERRORS
from ..aot.c_signature import ExportError
from ..codegen.emit.text import EmitError
from ..codegen.target.target import Target, TargetError
from ..config import knobs
from ..config.options import OPT_LEVELS, OptionError, Options
from ..diagnostics import error_loc
from ..frontend.trace.graph import Graph
from ..frontend.tx.errors import load_text
from ..frontend.tx.parser import parse
from ..instrumentation import InstrumentationOptions, PassError
from ..progress import reported
from ..stages import STAGES, check_stage
from ..version import __version__
from .export import (
    FORMS,
    add_options,
    check_options,
    emit_stage,
    is_export,
    scheduled_for_gpu,
    target_of,
    write_for_c,
)
from .inputs import CliError, read_inputs, signature
from .outputs import check_output, write_results

__all__ = ["main"]

#: What the user can set right; anything else is a bug of txc.
_USER_ERRORS = (
    CliError,
    EmitError,
    ExportError,
    OpError,
    OptionError,
    PassError,
    TargetError,
    knobs.KnobError,
)

_EXAMPLES = """examples:
  tensor-compile softmax.tx                                   check it and summarise its functions
  tensor-compile softmax.tx --emit=loops                      print one stage
  tensor-compile softmax.tx --emit=so -o softmax              softmax.so and softmax.h, to be called from C
  tensor-compile softmax.tx --emit=obj -o softmax --target x86-64-v2+v3+v4
  tensor-compile layers.tx --emit=so -o layers --function linear,relu
  tensor-compile run softmax.tx --input x=random:f32[64,128] --input beta=1.0 -o y.npy
  tensor-compile run softmax.tx --input x=@x.npy --input beta=1.0 --bisect
  tensor-compile explore softmax.tx -o softmax.html           a page: each line beside what became of it
  tensor-compile knobs                                        list the environment variables
  tensor-compile calibrate                                    measure this machine for the cost model
  tensor-compile cache info                                   what compiled code is kept; also: clear, why FILE.tx
  eval "$(tensor-compile completion bash)"                    complete commands and options in this shell
"""
#: What is not the name of a file in front.
_COMMANDS = ("run", "explore", "knobs", "calibrate", "cache", "completion")
_USAGE = """tensor-compile FILE.tx [options]
       tensor-compile run FILE.tx --input NAME=VALUE … [options]
       tensor-compile explore FILE.tx [-o PAGE.html]
       tensor-compile knobs | calibrate | cache info|clear|why | completion bash|zsh"""
EXPLORE_HELP = "Write a page of HTML that leads from each line of a program to what became of it in every stage."
CALIBRATE_HELP = "Measure the constants of the cost model on this machine, and keep them for all later compilations."
COMPLETION_HELP = "Print a script by which a shell completes commands, options, their values and files."
CACHE_HELP = "Compiled code that is kept for other processes: what there is, remove it, why a file is not found in it."


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status: 0, 1 where a program or input is not right, 2 for wrong usage, 130 for Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with contextlib.suppress(AttributeError):  # text that a terminal cannot show is escaped
        sys.stdout.reconfigure(errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        status = _command(given)
        sys.stdout.flush()
        return status
    except _USER_ERRORS as error:
        return _fail(error)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:  # such as a full disk behind stdout, to which nothing more goes
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(CliError(f"{error.filename or 'standard output'}: {error.strerror or error}"))
    except MemoryError as error:
        return _fail(CliError(f"there is not enough memory{f': {error}' if str(error) else ''}"))
    except RecursionError:
        hint = "give parts of them names"
        return _fail(CliError("the program has more expressions in each other than the compiler follows", hint))
    except KeyboardInterrupt:
        return 130


def _command(given: list[str]) -> int:
    """Run a command; its exit status."""
    _check_command(given[:1])
    if given[:1] == ["knobs"]:
        _Parser(prog="tensor-compile knobs", description="List the environment variables.").read(given[1:])
        return _knobs()
    if given[:1] == ["cache"]:
        from .cache import cache_command

        return cache_command(_Parser(prog="tensor-compile cache", description=CACHE_HELP), given[1:])
    if given[:1] == ["explore"]:
        from .explore import add_arguments, explore_command

        parser = _Parser(prog="tensor-compile explore", description=EXPLORE_HELP)
        add_arguments(parser)
        return explore_command(parser.read(given[1:]), lambda path, name: _select(_program(path), name, path))
    if given[:1] == ["calibrate"]:
        _Parser(prog="tensor-compile calibrate", description=CALIBRATE_HELP).read(given[1:])
        return _calibrate()
    if given[:1] == ["completion"]:
        from .completion import SHELLS, completion_script

        parser = _Parser(prog="tensor-compile completion", description=COMPLETION_HELP)
        parser.add_argument("shell", choices=SHELLS)
        print(completion_script(parser.read(given[1:]).shell, _COMMANDS, _parser(False), _parser(True)), end="")
        return 0
    running = given[:1] == ["run"]
    options = _parser(running).read(given[1:] if running else given)
    return (_run if running else _check)(options)


def _check_command(first: Sequence[str]) -> None:
    """Wrong usage where the first argument is no file, and nearly a command."""
    for word in first:
        near = difflib.get_close_matches(word, _COMMANDS, 1, 0.6)
        if near and word not in _COMMANDS and not Path(word).exists():
            _Parser(prog="tensor-compile").error(f"there is no command {word!r}; did you mean {near[0]!r}?")


def _fail(error: Exception) -> int:
    text = str(error)
    hint = getattr(error, "hint", "")
    print(f"error: {text}", file=sys.stderr)
    if hint and hint not in text:
        print(f"  hint: {hint}", file=sys.stderr)
    return 1


class _Parser(argparse.ArgumentParser):
    """argparse with the nearest option in its message."""

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """`parse_args`, with that message."""
        known, unknown = self.parse_known_args(arguments)
        if unknown:
            options = [o for action in self._actions for o in action.option_strings]
            near = difflib.get_close_matches(unknown[0].partition("=")[0], options, 1)
            self.error(f"unknown option {unknown[0]!r}" + (f"; did you mean {near[0]}?" if near else ""))
        return known

    def error(self, message: str) -> NoReturn:
        print(f"error: {message}\n  hint: {self.prog} --help lists what there is", file=sys.stderr)
        raise SystemExit(2)


def _parser(running: bool) -> _Parser:
    parser = _Parser(
        prog="tensor-compile run" if running else "tensor-compile",
        usage="tensor-compile run FILE.tx --input NAME=VALUE … [options]" if running else _USAGE,
        description="Compile a .tx program and run it." if running else "Check, summarise and show a .tx program.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tensor-compile {__version__}")
    parser.add_argument("file", metavar="FILE.tx", type=Path)
    parser.add_argument(
        "--function",
        metavar="NAME" if running else "NAME[,NAME…]",
        help=f"which function (default: the last of the file){'' if running else '; for what C calls, also several'}",
    )
    if running:
        parser.add_argument(
            "--input",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="@file.npy, @file.npz:name, @file.csv, random:f32[64,128], or a number",
        )
        parser.add_argument(
            "-o", "--output", metavar="FILE", type=Path, help="write the result: .npy, .csv, .txt; several: .npz"
        )
        parser.add_argument(
            "--max-temp-bytes", metavar="N", type=int, help="more memory for temporaries is an error that says what for"
        )
        parser.add_argument("--bisect", action="store_true", help="name the first stage that changes the result")
        parser.add_argument("--emit", metavar="STAGE", help=f"print one stage: {', '.join(STAGES)}")
    else:
        add_options(parser)
    parser.add_argument("--device", default="cpu", metavar="cpu[:N]", help="how many threads run it")
    parser.add_argument("--stop-after", metavar="STAGE", help="compile no further than this stage or pass")
    parser.add_argument("--dump-ir", metavar="DIR", type=Path, help="write every stage into a folder, numbered")
    parser.add_argument("--print-ir-after-all", action="store_true", help="print the IR after every pass")
    parser.add_argument("--print-ir-after-change", action="store_true", help="only after passes that changed it")
    parser.add_argument("--print-locations", action="store_true", help="print the lines that ops of the IR come from")
    parser.add_argument("--print-op-generic", action="store_true", help="print the IR in MLIR's generic form")
    parser.add_argument("--print-unbroken", action="store_true", help="print long lines of the IR as they are")
    parser.add_argument("--time-passes", action="store_true", help="print how long every pass took")
    parser.add_argument("--verify", action="store_true", help="verify the IR, dominance included, after every pass")
    parser.add_argument("-g", "--debug", action="store_true", help="debug information: which lines code comes from")
    parser.add_argument(
        "-O", dest="opt_level", metavar="LEVEL", type=int, choices=OPT_LEVELS,
        help="-O0: code for the CPU is made fast and runs slower, with the same results; -O2 (the default): fast code",
    )  # fmt: skip
    parser.add_argument("--check-bounds", action="store_true", help="an index outside of its buffer is an error")
    parser.add_argument(
        "--passes", metavar="OPTIONS", default="", help="options of passes: 'tx-fuse-rows{enabled=false}'"
    )
    return parser


@dataclass(frozen=True)
class _Request:
    """What the options say about compiling."""

    options: Options
    watch: InstrumentationOptions
    stop_after: str
    emit: str | None

    @staticmethod
    def of(given: Any, forms: Mapping[str, str] = MappingProxyType({})) -> _Request:
        """`forms` are those that are no stages, with the stage they end with."""
        options = Options.of(device=given.device)
        if given.passes:
            options = Options.of(options, passes=given.passes)
        if getattr(given, "max_temp_bytes", None) is not None:
            options = Options.of(options, max_temp_bytes=given.max_temp_bytes)
        if given.debug:
            options = Options.of(options, debug=True)
        if given.check_bounds:
            options = Options.of(options, check_bounds=True)
        if given.opt_level is not None:
            options = Options.of(options, opt_level=given.opt_level)
        printing = "change" if given.print_ir_after_change else "all" if given.print_ir_after_all else ""
        base = InstrumentationOptions.from_knobs()
        watch = InstrumentationOptions(
            keep_text=given.emit is not None,
            dump_dir=given.dump_ir or base.dump_dir,
            printing=printing or base.printing,
            timing=given.time_passes or base.timing,
            verify=given.verify or base.verify,
            locations=given.print_locations,
            generic=given.print_op_generic,
            unbroken=given.print_unbroken,
        )
        return _Request(options, watch, *_emitted_and_last(given.emit, given.stop_after, forms))


def _emitted_and_last(emit: str | None, stop_after: str | None, forms: Mapping[str, str]) -> tuple[str, str | None]:
    """The stage or pass to stop after, and the one to print."""
    if emit is None and stop_after is None:
        return "obj", None
    from ..pipeline import PASSES, line_of

    stage = None if emit is None else forms.get(check_stage(emit, (*forms, *PASSES)), emit)
    stop = check_stage(stop_after or stage or "obj", PASSES)
    if stage is not None and line_of(stage) > line_of(stop):
        raise OptionError(f"--emit={emit} comes after --stop-after={stop}")
    return stop, stage


def _program(path: Path) -> dict[str, Any]:
    """The functions of a file by name.  TxcError, with the line, where it cannot be read or is not the language."""
    return parse(load_text(path), str(path)).functions


def _select(functions: dict[str, Any], name: str | None, path: Path) -> Any:
    """The function of that name, or the last one of the file."""
    if name is None:
        name = list(functions)[-1]
    if name not in functions:
        near = difflib.get_close_matches(name, functions, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(functions)}"
        raise CliError(f"{path} has no function {name!r}", hint)
    return functions[name]


def _check(given: Any) -> int:
    request = _Request.of(given, FORMS)
    check_options(given)
    functions = _program(given.file)
    if is_export(given):
        names = given.function.split(",") if given.function else [None]
        exported = [_select(functions, name, given.file) for name in names]
        with _status(f"compiling {', '.join(f.name for f in exported)}", exported[0].name):
            write_for_c(exported, given, request.options, request.watch)
        return 0
    chosen = _select(functions, given.function, given.file)
    graphs = [f.graph() for f in ([chosen] if given.function else functions.values())]
    quiet = given.emit or given.stop_after or request.watch.printing or request.watch.timing or given.dump_ir
    if not quiet:
        _summarise(given.file, graphs, request)
        return 0
    graph = chosen.graph()
    with scheduled_for_gpu(graph.name, given):
        stages = _stages(graph, request, target_of(given).versions[0])
    if request.emit:
        emit_stage(stages, request.emit, given.output)
    if given.dump_ir:
        print(f"IR of {graph.name}: {given.dump_ir}", file=sys.stderr)
    return 0


def _stages(graph: Graph, request: _Request, target: Target | None = None) -> Any:
    from ..pipeline import run_stages

    with _status(f"compiling {graph.name}", graph.name):
        return run_stages(graph, request.options, stop_after=request.stop_after, watch=request.watch, target=target)


def _emit(stages: Any, stage: str) -> None:
    if stage == "obj":
        sys.stdout.buffer.write(stages.object)
        return
    print(stages.text(stage).rstrip())


def _summarise(path: Path, graphs: list[Graph], request: _Request) -> None:
    """A table of the functions, each compiled through to machine code."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..tools.explain import figures

    print(f"{path}: {len(graphs)} function{'s' if len(graphs) != 1 else ''}, no errors")
    table = Table()
    for column in ("function", "arguments", "results", "ops", "evals", "kernels", "bytes of code"):
        table.add_column(column, overflow="fold")
    request = replace(request, watch=replace(request.watch, keep_text=True))
    for graph in graphs:
        stages = _stages(graph, request)
        counts = figures(graph, stages)
        shown = [
            ", ".join(signature(i) for i in graph.inputs if not i.hidden),
            ", ".join(str(v.type) for v in graph.outputs),
        ]
        table.add_row(*(Text(str(cell)) for cell in (graph.name, *shown, *counts)))
    Console().print(table)


def _run(given: Any) -> int:
    request = _Request.of(given)
    if given.output is not None:
        check_output(given.output)
    function = _select(_program(given.file), given.function, given.file)
    graph = function.graph()
    inputs = read_inputs(graph, given.input)
    if given.bisect:
        return _bisect(graph, inputs, request)
    if request.stop_after != "obj" or given.emit:
        stages = _stages(graph, request)
        if given.emit:
            _emit(stages, given.emit)
        return 0
    results = _returned(function, graph, _call(graph, inputs, request))
    _report(graph, results)
    if given.output is not None:
        write_results(given.output, results)
    if request.watch.dump_dir is not None:
        print(f"IR of every stage: {request.watch.dump_dir}")
    return 0


def _call(graph: Graph, inputs: dict[str, Any], request: _Request) -> list[np.ndarray]:
    """Compile for packed arrays and run; the outputs of the graph."""
    from ..driver.compile_cache import compiled, packed
    from ..driver.executable import GuardFailure
    from ..driver.temp_limit import check_temporaries
    from ..frontend.indexing.runtime_checks import with_runtime_checks
    from ..pipeline import compile_graph, run_stages

    graph = with_runtime_checks(graph)
    arrays = [
        np.ascontiguousarray(inputs[i.name].T if i.layout == "col" else inputs[i.name])
        for i in graph.inputs
        if i.value is not None
    ]
    integers = [inputs[i.name] for i in graph.inputs if i.value is None]
    with _status(f"compiling {graph.name}", graph.name):
        if request.watch == InstrumentationOptions():
            executable = compiled(graph, packed(graph), request.options)
        else:
            executable = compile_graph(graph, request.options, watch=request.watch).executable
    try:
        prepared = executable.prepared(arrays, integers)
    except GuardFailure as error:
        raise CliError(f"{graph.name}: {error}") from None
    options = request.options
    check_temporaries(
        graph.name, executable.code, prepared, options.max_temp_bytes,
        lambda: run_stages(graph, options, stop_after="loops").module,
    )  # fmt: skip
    try:
        outputs = executable.run(prepared, arrays, options.threads)
    except tuple(ERRORS.values()) as error:
        where = error_loc(error) if any(graph.places) else None
        raise CliError(f"{graph.name}: {error}{'' if where is None else f' ({where})'}") from None
    if graph.results:
        return outputs[: graph.results]
    return outputs[:-1] if graph.checks else outputs


def _returned(function: Any, graph: Graph, outputs: list[np.ndarray]) -> list[np.ndarray]:
    """The results one by one; of a function without, the arguments that it writes to."""
    from ..driver.tx_module import results_of

    if not graph.results:
        turned = {number for number, i in graph.aliases.items() if graph.inputs[i].layout == "col"}
        return [o.T if number in turned else o for number, o in enumerate(outputs)]
    made = results_of(function, graph, outputs)
    return list(made) if isinstance(made, tuple) else [made]


def _bisect(graph: Graph, inputs: dict[str, Any], request: _Request) -> int:
    from ..interpret.bisect import bisect

    with _status(f"running every stage of {graph.name}"):
        report = bisect(graph, inputs, request.options)
    print(report)
    return 0 if report.culprit is None else 1


def _report(graph: Graph, results: Sequence[np.ndarray]) -> None:
    for number, array in enumerate(results):
        name = graph.name if len(results) == 1 else f"{graph.name}[{number}]"
        if array.ndim == 0:
            print(f"{name} = {array[()]}")
            continue
        text = np.array2string(array, threshold=20, edgeitems=2, precision=4, max_line_width=100)
        print(f"{name}: {array.dtype} of shape {array.shape}\n{text}")


@contextlib.contextmanager
def _status(text: str, name: str = "") -> Iterator[None]:
    """A spinner while something takes time, where a person is watching; it tells what is done to compile `name`."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        with reported(name, status.update) if name else contextlib.nullcontext():
            yield


def _knobs() -> int:
    """Each variable, its text where it is set, and below it what it takes and does."""
    width = min(shutil.get_terminal_size().columns, 100)
    wrong = None
    for knob in knobs.KNOBS.values():
        text = os.environ.get(knob.name, "").strip()
        try:
            knob.get()
        except knobs.KnobError as error:
            wrong, text = error, f"{text!r}, which it does not take"
        print(f"{knob.name}{text and f' = {text}'}")
        print(textwrap.fill(f"takes {knob.takes}. {knob.doc}", width, initial_indent="    ", subsequent_indent="    "))
    if wrong is not None:
        raise wrong
    return 0


def _calibrate() -> int:
    from dataclasses import fields

    from ...passes.cost.model import Machine
    from ..tools.calibrate import calibrate

    with _status("measuring this machine"):
        try:
            machine = calibrate()
        except OSError as error:
            raise CliError(f"calibrate: {error}") from None
    print(f"{'constant':<12} {'here':>12} {'default':>12}")
    for field in fields(Machine):
        print(f"{field.name:<12} {getattr(machine, field.name):>12g} {field.default:>12g}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
