"""The type of a C function, written ``f64(i32, f64*)``: what a function pointer is made for, as plain data."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from ...dialects.types import DTYPES, DType
from ..diagnostics import TxcError

if TYPE_CHECKING:
    from ..frontend.tx.parser import Parameter

__all__ = ["POINTER", "Bound", "CFunctionType", "CParameter", "c_function_type"]

#: What the name of the function that C calls ends in.
POINTER = "_pointer"

#: The names of other libraries that mean one type.  C's and Python's `int` and `float` differ, and `long` is any.
_ALSO = {
    "double": "f64", "boolean": "bool", "float32": "f32", "float64": "f64",
    **{f"{kind}{bits}{end}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
       for end in ("", "_t")},
}  # fmt: skip
_HINTS = {
    "float": "write f32 for C's float, f64 for Python's",
    "int": "write i32 for C's int, i64 for Python's",
    "long": "write i64, which C's long is on 64-bit Unix",
}
_HINT = "write it as f64(f64), f64(i32, f64*), or i32(f64*, i64, f64*, void*)"
_TYPE = re.compile(r"(\w+)\s*(\*|\[\s*(\d+)\s*\])?")


@dataclass(frozen=True)
class CParameter:
    """A number (not `pointer`), or the address of elements: of `count`, or of as many as parameter `length` says.

    An address of neither holds one element, and is for a result.  Without a `dtype` nobody looks at it: ``void *``.
    """

    dtype: DType | None
    pointer: bool = False
    count: int | None = None
    length: int | None = None

    def __str__(self) -> str:
        if self.dtype is None:
            return "void*"
        return f"{self.dtype}{'' if not self.pointer else '*' if self.count is None else f'[{self.count}]'}"


@dataclass(frozen=True)
class CFunctionType:
    """`result` None: the function returns nothing."""

    result: DType | None
    parameters: tuple[CParameter, ...]

    @property
    def lengths(self) -> frozenset[int]:
        """The parameters that say how many elements there are."""
        return frozenset(p.length for p in self.parameters if p.length is not None)

    @property
    def given(self) -> list[int]:
        """The parameters that are numbers or elements of the function."""
        return [n for n, p in enumerate(self.parameters) if p.dtype is not None and n not in self.lengths]

    @property
    def has_status(self) -> bool:
        """Whether what it returns can say whether all is well."""
        return self.result is not None and self.result.name == "i32"

    @property
    def place_of_result(self) -> int | None:
        """The address that a result can be stored at, where nothing or a status is returned: one without a length, or
        else the last one."""
        addresses = [n for n in self.given if self.parameters[n].pointer]
        if not addresses or not (self.result is None or self.has_status):
            return None
        bare = [n for n in addresses if self.parameters[n].count is None and self.parameters[n].length is None]
        return bare[0] if len(bare) == 1 else addresses[-1]

    def __str__(self) -> str:
        return f"{self.result or 'void'}({', '.join(map(str, self.parameters))})"


def c_function_type(text: str) -> CFunctionType:
    """Read a type.  TxcError (TX0603) for what is none, and for what C passes differently from target to target.

    ``T*`` has as many elements as the integer directly before it says, else as the one directly behind it.
    """
    match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", text) if isinstance(text, str) else None
    if match is None:
        raise TxcError(f"{text!r} is no type of a C function", None, _HINT, "TX0603")
    listed = match[2].strip()
    parameters = [_parameter(part, text) for part in listed.split(",")] if listed not in ("", "void") else []
    result = None if match[1] == "void" else _number(match[1], text)
    return CFunctionType(result, tuple(_with_lengths(parameters)))


def _parameter(part: str, text: str) -> CParameter:
    match = _TYPE.fullmatch(part.strip())
    if match is None:
        raise TxcError(f"{part.strip()!r} in {text!r} is no type of a C parameter", None, _HINT, "TX0603")
    name, address, count = match.groups()
    if name == "void":
        if address != "*":
            raise TxcError(f"a parameter of {text!r} is void", None, "an address that is not used is void*", "TX0603")
        return CParameter(None, True)
    if address is None:
        return CParameter(_number(name, text))
    if count is not None and not int(count):
        raise TxcError(f"{text!r} has an address of no elements", None, _HINT, "TX0603")
    return CParameter(_element(name, text), True, None if count is None else int(count))


def _number(name: str, text: str) -> DType:
    """The type of a number that goes by value."""
    found = _element(name, text)
    if found.is_complex or found.name in ("f16", "bf16"):
        raise TxcError(
            f"{text!r} passes {found} by value, which targets do in ways of their own", None,
            f"pass its address: {found}[1]", "TX0603",
        )  # fmt: skip
    return found


def _element(name: str, text: str) -> DType:
    found = DTYPES.get(_ALSO.get(name, name))
    if found is None:
        near = difflib.get_close_matches(name, [*DTYPES, *_ALSO], 1)
        hint = _HINTS.get(name) or (f"did you mean {near[0]}?" if near else f"there are {', '.join(DTYPES)}")
        raise TxcError(f"{text!r} has {name!r}, which is no type", None, hint, "TX0603")
    return found


def _with_lengths(parameters: list[CParameter]) -> list[CParameter]:
    """Each ``T*`` with the integer that says how many elements it has, where one stands beside it."""
    taken: set[int] = set()
    made = list(parameters)
    for n, p in enumerate(parameters):
        if not p.pointer or p.dtype is None or p.count is not None:
            continue
        for at in (n - 1, n + 1):
            if at in taken or not 0 <= at < len(parameters):
                continue
            beside = parameters[at]
            if not beside.pointer and beside.dtype is not None and beside.dtype.is_integer:
                taken.add(at)
                made[n] = replace(p, length=at)
                break
    return made


class Bound(NamedTuple):
    """The function's parameters with their types, and for each the number of C's; for each size too, by its name."""

    parameters: list[Parameter]
    arguments: tuple[int, ...]
    sizes: dict[str, int]
    spread: int | None
    result: int | None
