"""``jit(donate=("x",))``: arguments whose memory a call may use for its results.

The caller promises not to read a donated array afterwards.  A result that has its dtype and, by what the program says,
its sizes is written into it and *is* that array: in place where the result is computed element by element, otherwise
through a temporary, as if the function ended with ``x[...] = result``.  So all that holds of arguments written in
place holds here: others that overlap one are read as they were, two that overlap each other are an error, and so is
one that is read-only.  A view is written as any array is, which shows in what it is a view of.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ..call.arguments import is_donated
from ..config.device_names import OptionError

if TYPE_CHECKING:
    from ..call.facts import StrideClass
    from ..call.signature import Signature
    from ..frontend.trace.graph import Graph

__all__ = ["DonationWarning", "check_donated", "donate", "warn_of_unused"]


class DonationWarning(UserWarning):
    """A donated argument has no result that could use its memory."""


def check_donated(function: str, parameters: Collection[str], names: Sequence[str]) -> None:
    """OptionError where a name is not that of a parameter."""
    for name in names:
        if name not in parameters:
            known = ", ".join(parameters) or "no parameters"
            raise OptionError(f"donate= of {function} names {name!r}, which is no parameter; there are {known}")


def donate(graph: Graph, facts: Sequence[StrideClass], names: Collection[str]) -> Graph:
    """The graph, with results put into donated inputs of their type; each input is used once, in the order of results.

    An input with stride 0, several elements of which are one, is not used.
    """
    arrays = [i for i, given in enumerate(graph.inputs) if given.value is not None]
    usable = [
        i
        for i, fact in zip(arrays, facts, strict=True)
        if is_donated(graph.inputs[i].name, names)
        and (graph.inputs[i].kind, graph.inputs[i].hidden, "0" in fact) == ("tensor", False, False)
    ]
    for number, value in enumerate(graph.outputs[: graph.results]):
        free = [i for i in usable if i not in graph.aliases.values()]
        fitting = [i for i in free if (given := graph.inputs[i].value) is not None and given.type == value.type]
        if number not in graph.aliases and fitting:
            graph.aliases[number] = fitting[0]
    return graph


def warn_of_unused(signature: Signature, written: Collection[int], names: Sequence[str], stacklevel: int) -> None:
    """DonationWarning for each name of which no array is written."""
    used = {given.name.partition(".")[0] for i, given in enumerate(signature.arrays) if i in written}
    for name in names:
        if name not in used:
            text = (
                f"donate= of {signature.name}: no result has the dtype and sizes of {name}, whose memory is not reused"
            )
            warnings.warn(text, DonationWarning, stacklevel=stacklevel + 1)
