"""The Python array API standard, revision 2025.12, over lazy tensors: ``import txc as xp``.

One module a chapter of the standard.  `txc.__getattr__` finds a name here when it is first used.
"""

from . import creation, dtypes, elementwise, fft, info, linalg, manipulation, searching, sorting, statistics

__all__ = ["CHAPTERS", "EXTENSIONS", "find", "names"]

#: Where names of the namespace are, by chapter.
CHAPTERS = (creation, dtypes, elementwise, info, linalg, manipulation, searching, sorting, statistics)
#: Its extensions, each a namespace of its own.
EXTENSIONS = {"fft": fft, "linalg": linalg}


def names() -> list[str]:
    """All names of the main namespace."""
    return [*(name for chapter in CHAPTERS for name in chapter.__all__), *EXTENSIONS]


def find(name: str) -> object | None:
    """What a name of the main namespace means; None where there is no such name."""
    if name in EXTENSIONS:
        return EXTENSIONS[name]
    return next((getattr(chapter, name) for chapter in CHAPTERS if name in chapter.__all__), None)
