"""`reference/knobs.md`: the environment variables that txc reads (`compiler/config/knobs.py`)."""

from __future__ import annotations

from txc.compiler.config.knobs import KNOBS

__all__ = ["PAGE", "page"]

PAGE = "reference/knobs.md"
HEADER = """# Environment variables

Written by `docs/generate.py` from `compiler/config/knobs.py`; do not edit. `tensor-compile knobs` prints the same
with what each is now. Unless something else is said a variable is read when it is needed, so a program may set it
while it runs; one whose text is not what it takes is an error that says so.

| variable | takes | what it does |
| --- | --- | --- |
"""


def page() -> str:
    """The text of docs/reference/knobs.md."""
    rows = [f"| `{knob.name}` | {knob.takes} | {' '.join(knob.doc.split())} |\n" for knob in KNOBS.values()]
    return HEADER + "".join(row.replace("||", "\\|\\|") for row in rows)
