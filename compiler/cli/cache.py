"""``tensor-compile cache``: what compiled code is kept for other processes, removing it, why a file is not there."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...runtime.fingerprint import environment
from ..cache.disk_cache import code_key, explain_miss, load_code, open_cache
from ..config import knobs
from ..config.options import Options
from ..driver.compile_cache import packed
from ..frontend.tx.errors import load_text
from ..frontend.tx.parser import parse
from .inputs import CliError

__all__ = ["cache_command"]


def cache_command(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """The command with its arguments; its exit status.  CliError and KnobError for what is wrong."""
    actions = parser.add_subparsers(dest="action", metavar="info|clear|why", required=True, parser_class=type(parser))
    actions.add_parser("info", help="the folder, how much is in it, and what every key depends on")
    actions.add_parser("clear", help="remove all that is kept")
    why = actions.add_parser("why", help="whether the functions of a file are kept, and why not")
    why.add_argument("file", metavar="FILE.tx", type=Path)
    why.add_argument("--passes", metavar="OPTIONS", default="", help="options of passes, as for running it")
    given = parser.parse_args(arguments)
    knobs.CACHE_SIZE_MB.get()
    store, reason = open_cache()
    if store is None:
        raise CliError(f"there is no cache: {reason}")
    return {"info": _info, "clear": _clear, "why": _why}[given.action](store, given)


def _info(store: Any, _: Any) -> int:
    entries = store.entries()
    used = sum(e.size for e in entries)
    print(f"folder   {store.folder}")
    print(f"entries  {len(entries)}, {used / (1 << 20):.2f} MB of {store.limit >> 20}")
    for kind, what in {
        "machine": "calibrations",
        "code": "graphs",
        "source": "Python functions",
        "pointer": "function pointers",
        "runtime": "parts of the runtime",
        "tuning": "searches",
    }.items():
        print(f"         {sum(e.name.startswith(f'{kind}-') for e in entries)} {what}")
    print("every key depends on")
    for part, value in environment().items():
        print(f"         {part}: {value}")
    return 0


def _clear(store: Any, _: Any) -> int:
    removed = store.clear()
    print(f"removed {removed} entr{'y' if removed == 1 else 'ies'} of {store.folder}")
    return 0


def _why(_: Any, given: Any) -> int:
    options = Options.of(**({"passes": given.passes} if given.passes else {}))
    for name, function in parse(load_text(given.file), str(given.file)).functions.items():
        graph = function.graph()
        key = code_key(graph, packed(graph), options)
        assert key is not None, "the cache was open a moment ago"
        print(f"{name}: {'hit' if load_code(key, options.device) else f'miss: {explain_miss(key)}'}")
    return 0
