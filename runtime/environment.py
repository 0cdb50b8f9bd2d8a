"""Variables of the environment that are asked for with every evaluation of a lazy expression, or large result."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["variable"]


def variable(name: str) -> Callable[[], Any]:
    """What asks for a variable: its text, perhaps encoded, or None.

    `os.environ.get` raises and catches two exceptions inside where a variable is unset; the dict behind it raises none.
    """
    kept = getattr(os.environ, "_data", None)
    encode = getattr(os.environ, "encodekey", None)
    if type(kept) is dict and encode is not None:
        return partial(kept.get, encode(name))
    return partial(os.environ.get, name)
