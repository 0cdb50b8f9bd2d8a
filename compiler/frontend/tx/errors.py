"""Errors at a place of a `.tx` file, and of reading one."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ....dialects.types import DTYPES
from ...diagnostics import Loc, TxcError
from ..numpy.ufunc_table import find_op_for
from ..refusals import instead

__all__ = ["fail", "load_text", "location", "nearest", "written_without_module"]


def location(filename: str, node: ast.AST) -> Loc:
    line = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    same = getattr(node, "end_lineno", line) == line
    return Loc(filename, line, column, getattr(node, "end_col_offset", column + 1) if same else column + 1)


def fail(filename: str, node: ast.AST, message: str, hint: str = "", code: str = "TX0500") -> NoReturn:
    raise TxcError(message, location(filename, node), hint, code)


def nearest(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, list(names), 2, 0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(list(names)[:12])}"


def written_without_module(name: str, names: Collection[str]) -> str:
    """What to write instead of a name of NumPy's, with a module in front, in a language that has `names`."""
    if name in names:
        return f"write {name}: names have no module in front"
    theirs = getattr(np, name, None)
    meant = find_op_for(theirs)
    if meant is None and isinstance(theirs, type) and issubclass(theirs, np.number):
        meant = next((n for n, d in DTYPES.items() if d.numpy == np.dtype(theirs)), None)
    if meant in names:
        return f"write {meant}"
    return instead(f"np.{name}") or "docs/reference/ops.md lists the functions there are"


#: More characters are no program: a device that never ends, or data.
_LONGEST = 16 << 20


def load_text(path: str | Path) -> str:
    """A file's text, UTF-8 with or without a mark of that in front; TxcError where it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(_LONGEST + 1)
    except UnicodeDecodeError:
        raise TxcError(f"cannot read {path}: it is not text", code="TX0544") from None
    except (OSError, ValueError) as error:
        raise TxcError(f"cannot read {path}: {getattr(error, 'strerror', error)}", code="TX0544") from None
    if len(text) > _LONGEST:
        raise TxcError(f"cannot read {path}: it is longer than any program", code="TX0544")
    return text
