"""What a notebook shows: of a jitted function a table of its versions, of ``explain()`` its sections."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..driver.specializations import Described
    from .explain import Section

__all__ = ["sections_as_html", "versions_as_html"]


def versions_as_html(head: str, versions: Sequence[Described]) -> str:
    """A heading, and a row for each version: why it was compiled, its facts and guards, work, and who calls it."""
    title = f"<div><code>{escape(head)}</code>"
    if not versions:
        return f"{title}: nothing is compiled yet</div>"
    rows = [
        (str(number), v.why, "\n".join(v.facts), "\n".join(v.guards), v.work, v.calls)
        for number, v in enumerate(versions, 1)
    ]
    columns = ("version", "compiled because", "facts", "guards", "units of work", "calls")
    return f"{title}{_table(columns, rows)}</div>"


def sections_as_html(head: str, sections: Sequence[Section]) -> str:
    """A heading, and below it each section, to be folded away."""
    parts = []
    for section in sections:
        shown = _table(section.columns, section.rows) if section.rows else _lines(section.lines)
        parts.append(f"<details open><summary>{escape(section.title)}</summary>{shown}</details>")
    return f"<div><code>{escape(head)}</code>{''.join(parts)}</div>"


def _lines(lines: Sequence[str]) -> str:
    # In a notebook's own font lines do not show what stands below what.
    text = escape("\n".join(lines) or "none")
    return f'<pre style="font-family: monospace">{text}</pre>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    body = "".join(_row("td", row) for row in rows)
    return f"<table><thead>{_row('th', columns)}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    texts = (escape(cell).replace("\n", "<br>") for cell in cells)
    start, end = f'<{tag} style="text-align: left">', f"</{tag}>"  # notebooks have text in tables at the right
    return f"<tr>{''.join(start + text + end for text in texts)}</tr>"
