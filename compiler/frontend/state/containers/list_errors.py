"""What cannot be asked of lists that compiled code fills, and what to write instead.

`ByItems` and `SeveralDtypes` are for those who can do it in another way; their text is for who cannot.
"""

from __future__ import annotations

from typing import Any

from ....diagnostics import TxcError, user_loc
from ...tensor.tensor import Tensor
from ..alternatives.one_of import OneOf

__all__ = ["OF_COMPREHENSION", "ByItems", "SeveralDtypes", "copying", "instead_of_item", "item_of", "unknown_length"]

#: How a list is called that has no name.
OF_COMPREHENSION = "of a comprehension"


def item_of(name: str) -> str:
    """An item of the list of a name, as messages call it."""
    return f"an item {name}" if name == OF_COMPREHENSION else f"an item of {name}"


def copying(name: str) -> str:
    """What to write where the items of a list may be arrays that others see."""
    how = "make a copy of each item: [….copy() for … in …]"
    return how if name == OF_COMPREHENSION else f"append a copy: {name}.append(….copy())"


def unknown_length() -> TxcError:
    return TxcError(
        "a list that a compiled loop appends to is as long as only the compiled function knows",
        user_loc(),
        "make one array of it with np.array, loop over it with for, or return it",
        "TX0315",
    )


def instead_of_item(value: Any, otherwise: str) -> str:
    """What to write instead of appending a value to a list that compiled code fills."""
    options = [option for option, _ in value.options] if isinstance(value, OneOf) else [value]
    if any(option is None for option in options):
        return "append a number that stands for None, such as np.nan, or -1 where the items are indices"
    if any(isinstance(option, str) for option in options):
        return "append a number that stands for the text, and look the texts up outside of the compiled function"
    if isinstance(value, OneOf) and any(isinstance(option, (tuple, list)) for option in options):
        return "append tuples of as many numbers each"
    if isinstance(value, Tensor) and value.boxed and not value.ndim:
        return "append the number in the array: …[()]"
    if isinstance(value, OneOf):
        return "make one type of both before, as float(…), np.float64(…) or x.astype(…) do"
    return otherwise


class ByItems(Exception):
    """A loop appends to a list in ways that need to know how many items there are; `error` is for who cannot."""

    def __init__(self, grown: Any, error: TxcError):
        self.grown, self.error = grown, error


class SeveralDtypes(TxcError):
    """An array is asked of a list whose items are of several types; which of them there are decides about its dtype."""

    def __init__(self, grown: Any):
        text = "a list has items of several types, and which of them it has decides the dtype of NumPy's array of it"
        hint = "make the array first, np.array(…), or append items of one type, as float(…) makes them"
        super().__init__(text, user_loc(), hint, "TX0315")
        self.grown = grown
