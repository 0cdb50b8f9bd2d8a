"""What a notebook shows of a jitted function: its signature, and a table of the versions that were compiled."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..driver.specializations import Described

__all__ = ["versions_as_html"]


def versions_as_html(head: str, versions: Sequence[Described]) -> str:
    """A heading, and a row for each version: why it was compiled, its facts and guards, and who makes its calls."""
    title = f"<div><code>{escape(head)}</code>"
    if not versions:
        return f"{title}: nothing is compiled yet</div>"
    titles = _row("th", ("version", "compiled because", "facts", "guards", "calls"))
    rows = "".join(
        _row("td", (str(number), v.why, "\n".join(v.facts), "\n".join(v.guards), v.calls))
        for number, v in enumerate(versions, 1)
    )
    return f"{title}<table><thead>{titles}</thead><tbody>{rows}</tbody></table></div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    texts = (escape(cell).replace("\n", "<br>") for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"
