"""``tensor-compile explore``: a page of HTML that leads from the lines of a program to what became of them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...passes.cost.remarks import collect
from ..config.options import Options
from ..instrumentation import InstrumentationOptions
from ..pipeline import run_stages
from ..tools.explain import explain
from ..tools.explore.page import page_of
from .inputs import CliError

__all__ = ["add_arguments", "explore_command"]


def add_arguments(parser: ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", metavar="FILE.tx", type=Path)
    parser.add_argument("--function", metavar="NAME", help="which function (default: the last of the file)")
    parser.add_argument("-o", "--output", metavar="PAGE.html", type=Path, help="default: FILE.html")


def explore_command(given: Namespace, select: Callable[[Path, str | None], Any]) -> int:
    """The command with its arguments; its exit status.  `select` finds a function of a file by name.

    CliError for what cannot be written, and what `select` raises.
    """
    output: Path = given.output or given.file.with_suffix(".html")
    if output.is_dir():
        raise CliError(f"cannot write {output}: it is a folder", "name a file in it")
    try:
        _page_of(select(given.file, given.function).graph()).save(output)
    except OSError as error:
        raise CliError(f"cannot write {output}: {error.strerror or error}") from None
    print(output)
    return 0


def _page_of(graph: Any) -> Any:
    """The page of a function of a `.tx` file."""
    watch = InstrumentationOptions(keep_text=True, locations=True)
    with collect() as remarks:
        stages = run_stages(graph, Options.of(debug=True), watch=watch)
    facts = [f"{i.name}: {i.value.type if i.value else 'int'}" for i in graph.inputs]
    return page_of(graph.name, explain(graph.name, graph, facts, [], stages, remarks), None, stages, remarks)
