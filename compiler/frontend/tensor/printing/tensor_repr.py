"""What a tensor looks like at a prompt, in a debugger and in a notebook: elements as NumPy shows them, and its type.

Nobody waits for it: an expression of large arrays that is not computed yet is not computed for it.
"""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trace.context import current
from ..memory import storage

if TYPE_CHECKING:
    from ...trace.graph import Value
    from ..tensor import Tensor

__all__ = ["as_html", "as_text", "formatted"]

#: An expression whose arrays, its leaves and results, have so many elements together is computed to be shown.
SHOWN_AT_ONCE = 1_000_000


def as_text(t: Tensor) -> str:
    """``Tensor([1., 2.])``; ``<Tensor f64[n]>`` in a compiled function, and with the reason what is not shown."""
    array, reason = _elements(t)
    if array is None:
        return f"<{_head(t)}{reason and f', {reason}'}>"
    text = repr(array.view(_class_named(type(t).__name__)))
    return text if t.layout == "row" else f"{text[:-1]}, layout='col')"


def as_html(t: Tensor) -> str:
    """Its type, whether it is computed, and its elements."""
    array, reason = _elements(t)
    # Notebooks show `pre` in their text's font, in which columns do not stand below each other.
    elements = "" if array is None else f'<pre style="font-family: monospace">{escape(str(array))}</pre>'
    return f"<div><code>{escape(_head(t))}</code>{reason and f', {escape(reason)}'}{elements}</div>"


def formatted(t: Tensor, spec: str) -> str:
    """A number as its NumPy scalar is formatted; TypeError for an array, as NumPy's."""
    if t.ndim:
        raise TypeError(
            f"unsupported format string passed to {type(t).__name__}.__format__: {spec!r} is for a number, "
            f"and this is a {t.user_type}"
        )
    number = np.asarray(t)[()]
    return format(float(number) if number.dtype.kind == "V" else number, spec)


def _head(t: Tensor) -> str:
    return f"{type(t).__name__} {t.user_type}{'' if t.layout == 'row' else ' col'}"


def _elements(t: Tensor) -> tuple[np.ndarray | None, str]:
    """The elements in the user's dims, or None and why they are not shown; it raises nothing."""
    if current() is not None:
        return None, ""
    try:
        if storage.readable(t) is None and _size(t.deferred_value) > SHOWN_AT_ONCE:
            return None, "not computed yet"
        return np.asarray(t), ""
    except Exception as error:
        return None, f"which cannot be computed: {str(error).splitlines()[0]}"


def _size(value: Value) -> int:
    """How many elements the arrays of an expression have together; more than `SHOWN_AT_ONCE` where those are enough."""
    total, seen, waiting = 0, set(), [value]
    while waiting and total <= SHOWN_AT_ONCE:
        found = waiting.pop()
        if id(found) not in seen:
            seen.add(id(found))
            total += int(found.type.size.const or 0)
            waiting += found.operands
    return total


@cache
def _class_named(name: str) -> Any:
    """A class of arrays that print as `name`."""
    return type(name, (np.ndarray,), {})
