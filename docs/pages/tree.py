"""`inside/tree.md`: every folder and file of the product with the first line of its docstring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PAGE = "inside/tree.md"
ROOT = Path(__file__).parents[2]
#: In the order in which a program passes them.
ROOMS = ("compiler", "dialects", "passes", "runtime")

HEAD = """\
# The tree

Each folder is a concept of the field and each file one idea; the sentence beside a name is the first of its docstring.
This page is generated (`python docs/generate.py`). [Architecture](architecture.md) says how a program passes through
them.
"""


def page() -> str:
    return HEAD + "".join(text for room in ROOMS for text in _folder(ROOT / room))


def _folder(folder: Path) -> Iterator[str]:
    files = sorted(p for p in folder.glob("*.py") if p.name != "__init__.py")
    package = folder / "__init__.py"
    yield f"\n## `{folder.relative_to(ROOT)}/`\n\n{_says(package)}\n"
    if files:
        yield "\n| file | |\n|---|---|\n"
        yield from (f"| `{p.name}` | {_says(p)} |\n" for p in files)
    for inner in sorted(p for p in folder.iterdir() if (p / "__init__.py").exists()):
        yield from _folder(inner)


def _says(path: Path) -> str:
    """The first sentence of a file's docstring, in one line of Markdown."""
    text = path.read_text(encoding="utf-8").split('"""', 2)[1]  # parsing a thousand files would take seconds
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")
