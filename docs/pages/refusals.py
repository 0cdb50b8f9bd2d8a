"""`reference/not-supported.md`: what has no compiled form, and what to write instead (`frontend/refusals.py`)."""

from __future__ import annotations

from txc.compiler.frontend.refusals import COMPILING, GROUPS, Group

__all__ = ["PAGE", "page"]

PAGE = "reference/not-supported.md"
HEADER = """# What has no compiled form

Written by `docs/generate.py` from `compiler/frontend/refusals.py`; do not edit. A use of one of these names in a
function that is compiled is an error that names your line and says the same as the last column. What NumPy has and this
page does not is compiled.
"""
LAST = """## What Python does while a function is compiled

These work on dtypes, sizes and other facts of the call, and give facts again:
"""


def page() -> str:
    """The text of docs/reference/not-supported.md."""
    parts = [HEADER, *map(_section, GROUPS), LAST, ", ".join(f"`{name}`" for name in COMPILING) + ".\n"]
    return "\n".join(parts)


def _section(group: Group) -> str:
    single = [name for name in group.names if name in group.own]
    together = [name for name in group.names if name not in group.own]
    rows = [f"| {', '.join(f'`{name}`' for name in together)} | {_cell(group.write)} |"] if together else []
    rows += [f"| `{name}` | {_cell(group.own[name])} |" for name in single]
    return "\n".join([f"## {group.title}", "", group.what, "", "| name | instead |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
