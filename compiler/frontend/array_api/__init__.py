"""The Python array API standard, revision 2025.12, over lazy tensors: ``import txc as xp``.

One module a chapter of the standard.  `txc.__getattr__` finds a name here when it is first used.
"""

from . import creation, dtypes, elementwise, info, linalg, manipulation, searching, statistics

__all__ = ["CHAPTERS", "find", "names"]

#: Where names of the namespace are, by chapter.
CHAPTERS = (creation, dtypes, elementwise, info, linalg, manipulation, searching, statistics)


def names() -> list[str]:
    """All names of the main namespace."""
    return [*(name for chapter in CHAPTERS for name in chapter.__all__), "linalg"]


def find(name: str) -> object | None:
    """What a name of the main namespace means; None where there is no such name."""
    if name == "linalg":
        return linalg
    return next((getattr(chapter, name) for chapter in CHAPTERS if name in chapter.__all__), None)
