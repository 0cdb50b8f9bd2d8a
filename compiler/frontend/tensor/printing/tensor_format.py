"""Printing tensors: `TensorIOFormat` and the four formats that have a name, as the Eigen document defines them.

The elements are written in row-major order, whatever the layout; only ``"legacy"`` shows the order in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .....dialects.registry import OpError
from ...trace.context import current
from ..memory.storage import array_of

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["FORMATS", "TensorIOFormat", "text"]


@dataclass(frozen=True)
class TensorIOFormat:
    """How a tensor is written.

    `prefix`, `separator` and `suffix` have an entry for each level: elements, rows, matrices, …; the last one also
    serves all further levels.  `tensor_prefix` and `tensor_suffix` stand around all.  Between blocks the separators of
    all levels that end there are written; where one of them breaks the line, only those that do.  After a line break
    comes as much blank as the prefixes before it are wide.  `fill` pads elements to one width, unless `align` is false.
    `precision` is the number of significant digits; `complex_numbers` the form of a complex element.
    """

    separator: Sequence[str] = (" ", "\n", "\n")
    prefix: Sequence[str] = ("",)
    suffix: Sequence[str] = ("",)
    precision: int = 6
    align: bool = True
    tensor_prefix: str = ""
    tensor_suffix: str = ""
    fill: str = " "
    complex_numbers: str = "({},{})"

    def __post_init__(self) -> None:
        for name in ("separator", "prefix", "suffix"):
            given = getattr(self, name)
            if isinstance(given, str) or not given or not all(isinstance(s, str) for s in given):
                raise OpError(
                    f"{name} of a TensorIOFormat is {given!r}",
                    "a list of texts, one a level, of at least one",
                    "TX0708",
                )
        if len(self.fill) != 1:
            raise OpError(f"fill of a TensorIOFormat is {self.fill!r}", "one character", "TX0708")
        if self.precision < 1:
            raise OpError(f"precision of a TensorIOFormat is {self.precision}", "at least 1", "TX0708")

    def write(self, array: np.ndarray) -> str:
        """The text of an array, dims as the user counts them."""
        if not array.ndim:
            return self.element(array[()])
        if not array.size:
            return self.tensor_prefix + self.tensor_suffix
        words = [self.element(v) for v in array.flat]
        width = max(map(len, words)) if self.align else 0
        rank, made = array.ndim, [self.tensor_prefix]
        for index, word in zip(np.ndindex(array.shape), words):
            begins = _run(index, [0] * rank)
            ends = _run(index, [n - 1 for n in array.shape])
            if any(index):
                made.append(self._margin(begins, rank))
            made += [_level(self.prefix, k) for k in reversed(range(min(begins + 1, rank)))]
            made.append(word.rjust(width, self.fill))
            made += [_level(self.suffix, k) for k in range(min(ends + 1, rank))]
            if ends < rank:
                made.append(self._between(ends))
        return "".join(made) + self.tensor_suffix

    def element(self, value: Any) -> str:
        """One element."""
        kind = np.asarray(value).dtype.kind
        if kind == "c":
            return self.complex_numbers.format(self._number(value.real), self._number(value.imag))
        return str(int(value)) if kind in "biu" else self._number(value)

    def _number(self, value: Any) -> str:
        return f"{float(value):.{self.precision}g}"

    def _between(self, level: int) -> str:
        """What stands between two blocks of a level."""
        all_of_them = [_level(self.separator, k) for k in range(level + 1)]
        breaking = [s for s in all_of_them if "\n" in s]
        return "".join(breaking or all_of_them)

    def _margin(self, begins: int, rank: int) -> str:
        """The blank at the start of a line, below the prefixes of the blocks that go on there."""
        if not self.align or "\n" not in self._between(begins):
            return ""
        open_ones = [self.tensor_prefix, *(_level(self.prefix, k) for k in range(begins + 1, rank))]
        return "".join(" " * len(p.rpartition("\n")[2]) for p in open_ones)


def _level(texts: Sequence[str], level: int) -> str:
    return texts[min(level, len(texts) - 1)]


def _run(index: Sequence[int], at: Sequence[int]) -> int:
    """How many of the innermost dims of an index are where `at` says."""
    return len([*itertools.takewhile(lambda pair: pair[0] == pair[1], zip(reversed(index), reversed(at)))])


#: The formats with a name, but ``legacy``, which depends on the layout.
FORMATS = {
    "plain": TensorIOFormat(),
    "numpy": TensorIOFormat(
        (" ", "\n"), ("", "["), ("", "]"), tensor_prefix="[", tensor_suffix="]", complex_numbers="{}{:+}j"
    ),
    "native": TensorIOFormat(
        (", ", ",\n", "\n"), ("", "{"), ("", "}"), tensor_prefix="{", tensor_suffix="}", complex_numbers="{{{}, {}}}"
    ),
}


def text(t: Tensor, form: str | TensorIOFormat = "plain") -> str:
    """A lazy tensor as text: ``"plain"``, ``"numpy"``, ``"native"``, ``"legacy"``, or a format of your own.

    ``"legacy"`` is a matrix of the first dim (row-major: all but the last) and the others in the order of memory.
    """
    if current() is not None:
        raise OpError("a traced tensor has no value to print yet", "print it outside the compiled function", "TX0232")
    if isinstance(form, str) and form not in (*FORMATS, "legacy"):
        raise OpError(
            f"there is no tensor format {form!r}", f"{', '.join(FORMATS)}, legacy, or a TensorIOFormat", "TX0707"
        )
    array = array_of(t)
    if isinstance(form, TensorIOFormat):
        return form.write(array)
    return FORMATS["plain"].write(_as_matrix(array, t.layout)) if form == "legacy" else FORMATS[form].write(array)


def _as_matrix(array: np.ndarray, layout: str) -> np.ndarray:
    """The elements in the order of memory as a matrix; a vector is a column."""
    if array.ndim == 1:
        return array[:, None]
    if array.ndim < 2 or not array.size:
        return array
    if layout == "col":
        return array.reshape((array.shape[0], -1), order="F")
    return array.reshape((-1, array.shape[-1]))
