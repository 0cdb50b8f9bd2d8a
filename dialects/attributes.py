"""IR attributes and types over txc's own objects: dims, index maps, orders, buffers; and conversions to xDSL types.

Each is one string literal, so that the expression language of `dims` need not fit MLIR's tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
)
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .dims.dims import Dim, dim, packed_strides, parse_dim
from .dims.index_map import IndexMap
from .order import Order, parse_order
from .scalar.program import ScalarProgram, parse_program
from .types import DTYPES, DType, TensorType, tensor_type

__all__ = [
    "BoxInfo",
    "BufferInfo",
    "BufferType",
    "ComplexAttr",
    "DTypeAttr",
    "DimsAttr",
    "MapAttr",
    "OrderAttr",
    "ProgramAttr",
    "TensorMapType",
    "TextAttr",
    "dims_attr",
    "element_type",
    "from_attr",
    "integer_attr",
    "ir_tensor",
    "map_attr",
    "scalar_dtype",
    "tensor_of",
    "to_attr",
]

T = TypeVar("T")


def _between_angles(parser: AttrParser) -> str | None:
    """What stands in the angle brackets that come next; None where that is a string literal, or they are not there.

    It is none of MLIR's tokens, so it is taken from the text as it stands there.
    """
    content: Any = parser.lexer.input.content
    start = parser.pos
    if content[start : start + 1] != "<" or content[start + 1 : start + 2] == '"':
        return None
    depth = 0
    for i in range(start, len(content)):
        if content[i - 1 : i + 1] != "->":
            depth += (content[i] == "<") - (content[i] == ">")
        if depth == 0:
            parser._resume_from(i + 1)
            return " ".join(content[start + 1 : i].split())
    parser.raise_error("'<' is not closed", start)


class TextAttr(Generic[T], Data[T]):
    """A Data attribute printed as a string literal and read back by `read`, with or without quotes."""

    @classmethod
    def read(cls, text: str) -> T:
        raise NotImplementedError

    @classmethod
    def write(cls, value: T) -> str:
        return str(value)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> T:
        position = parser.pos
        text = _between_angles(parser)
        if text is None:
            with parser.in_angle_brackets():
                text = parser.parse_str_literal()
        try:
            return cls.read(text)
        except (ValueError, KeyError) as error:
            parser.raise_error(str(error), position)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.write(self.data))


def split_top(text: str) -> list[str]:
    """Split on the commas that stand outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]] if text.strip() else []


def read_dims(text: str) -> tuple[Dim, ...]:
    return tuple(parse_dim(part.strip()) for part in split_top(text))


def write_dims(dims: Sequence[Dim]) -> str:
    return ", ".join(map(str, dims))


@irdl_attr_definition
class DimsAttr(TextAttr[tuple[Dim, ...]]):
    """``#tx.dims<"n, m*2">``: a list of integer expressions; also a tensor type's encoding."""

    name = "tx.dims"

    @classmethod
    def read(cls, text: str) -> tuple[Dim, ...]:
        return read_dims(text)

    @classmethod
    def write(cls, value: tuple[Dim, ...]) -> str:
        return write_dims(value)


@irdl_attr_definition
class DimAttr(TextAttr[Dim]):
    """``#tx.dim<"n - 1">``: one integer expression."""

    name = "tx.dim"

    @classmethod
    def read(cls, text: str) -> Dim:
        return parse_dim(text)


@irdl_attr_definition
class MapAttr(TextAttr[IndexMap]):
    """``#tx.map<"(d0: n, d1: m) -> (d1, d0) where (d0 - 1)">``: an index map."""

    name = "tx.map"

    @classmethod
    def read(cls, text: str) -> IndexMap:
        arrow = text.find(") -> (")
        if arrow < 0 or not text.startswith("(") or not text.endswith(")"):
            raise ValueError(f"{text!r} is not an index map: (d0: extent, …) -> (expression, …) where (guard, …)")
        head, tail = text[1:arrow], text[arrow + 6 : -1]
        exprs, _, guards = tail.partition(") where (")
        extents = []
        for i, part in enumerate(split_top(head)):
            name, _, extent = part.partition(":")
            if name.strip() != f"d{i}":
                raise ValueError(f"iterator {i} of an index map is called d{i}, not {name.strip()!r}")
            extents.append(parse_dim(extent.strip()))
        return IndexMap(tuple(extents), read_dims(exprs), read_dims(guards))


@irdl_attr_definition
class OrderAttr(TextAttr[Order]):
    """``#tx.order<"tree<1024, 64>">``: the order of arithmetic."""

    name = "tx.order"

    @classmethod
    def read(cls, text: str) -> Order:
        return parse_order(text)


@irdl_attr_definition
class DTypeAttr(TextAttr[DType]):
    """``#tx.dtype<"f32">``: an element type, signedness included."""

    name = "tx.dtype"

    @classmethod
    def read(cls, text: str) -> DType:
        return DTYPES[text]


@irdl_attr_definition
class ComplexAttr(TextAttr[complex]):
    """``#tx.complex<"(1+2j)">``: a complex literal."""

    name = "tx.complex"

    @classmethod
    def read(cls, text: str) -> complex:
        return complex(text)


@irdl_attr_definition
class ProgramAttr(TextAttr[ScalarProgram]):
    """``#tx.program<"(%0: f32) {%1 = exp %0; yield %1: f32}">``: a user's function of scalars."""

    name = "tx.program"

    @classmethod
    def read(cls, text: str) -> ScalarProgram:
        return parse_program(text)


@dataclass(frozen=True)
class BufferInfo:
    """Memory of a value: element type, dims, and the stride of each dim, counted in elements."""

    dtype: DType
    dims: tuple[Dim, ...]
    strides: tuple[Dim, ...]

    @classmethod
    def packed(cls, dtype: DType, dims: Sequence[Dim]) -> BufferInfo:
        """Elements one behind the other, the last dim's first."""
        return cls(dtype, (*dims,), packed_strides(dims))

    @property
    def rank(self) -> int:
        return len(self.dims)

    def address(self, index: Sequence[Dim]) -> Dim:
        """The element offset of an index."""
        total = dim(0)
        for stride, i in zip(self.strides, index, strict=True):
            total = total + stride * i
        return total

    def __str__(self) -> str:
        return f"{self.dtype}[{write_dims(self.dims)}] by [{write_dims(self.strides)}]"


@irdl_attr_definition
class BufferType(TextAttr[BufferInfo], TypeAttribute):
    """``!loop.buffer<"f32[n, m] by [m, 1]">``: memory with symbolic dims and strides (in elements)."""

    name = "loop.buffer"

    @classmethod
    def read(cls, text: str) -> BufferInfo:
        match = re.fullmatch(r"(\w+)\[(.*)\] by \[(.*)\]", text)
        if match is None:
            raise ValueError(f"{text!r} is not a buffer type: dtype[dims] by [strides]")
        return BufferInfo(DTYPES[match[1]], read_dims(match[2]), read_dims(match[3]))


@dataclass(frozen=True)
class BoxInfo:
    """What a tensor map copies at once: the element type, and the elements along each dim, the last contiguous."""

    dtype: DType
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.sizes))}]"


@irdl_attr_definition
class TensorMapType(TextAttr[BoxInfo], TypeAttribute):
    """``!loop.tensor_map<"f16[128, 64]">``: what a GPU has to know of memory that it copies in boxes."""

    name = "loop.tensor_map"

    @classmethod
    def read(cls, text: str) -> BoxInfo:
        match = re.fullmatch(r"(\w+)\[(\d+(?:, \d+)*)\]", text)
        if match is None:
            raise ValueError(f"{text!r} is no type of tensor maps: dtype[elements of a box along each dim]")
        return BoxInfo(DTYPES[match[1]], tuple(map(int, match[2].split(", "))))


@lru_cache(maxsize=65536)
def dims_attr(dims: tuple[Dim, ...]) -> DimsAttr:
    return DimsAttr(dims)


@lru_cache(maxsize=65536)
def dim_attr(value: Dim) -> DimAttr:
    return DimAttr(value)


@lru_cache(maxsize=65536)
def map_attr(index: IndexMap) -> MapAttr:
    return MapAttr(index)


@lru_cache(maxsize=1024)
def order_attr(order: Order) -> OrderAttr:
    return OrderAttr(order)


@lru_cache(maxsize=65536)
def buffer_type(info: BufferInfo) -> BufferType:
    return BufferType(info)


@lru_cache(maxsize=64)
def element_type(element: DType) -> Attribute:
    """The IR element type of a tensor: bool is i1, unsigned integers keep their sign in the type (``ui8``)."""
    if element.kind == "bool":
        return builtin.i1
    if element.kind == "uint":
        return IntegerType(element.bits, Signedness.UNSIGNED)
    if element.kind == "int":
        return IntegerType(element.bits)
    if element.is_complex:
        part = element_type(element.part)
        assert isinstance(part, builtin.Float32Type | Float64Type)
        return builtin.ComplexType(part)
    return {"f16": builtin.f16, "bf16": builtin.bf16, "f32": builtin.f32, "f64": builtin.f64}[element.name]


@lru_cache(maxsize=64)
def scalar_type(element: DType) -> Attribute:
    """The IR type of a scalar in a body: as `element_type`, integers signless (the operations carry the sign)."""
    return IntegerType(element.bits) if element.is_integer else element_type(element)


def scalar_dtype(ir_type: Attribute) -> DType:
    """The `DType` of a body scalar; integers come back signed, which is how their bits are held."""
    match ir_type:
        case IntegerType(width=width, signedness=sign):
            bits = width.data
            if bits == 1:
                return DTYPES["bool"]
            return DTYPES[("u" if sign.data is Signedness.UNSIGNED else "i") + str(bits)]
        case builtin.Float16Type():
            return DTYPES["f16"]
        case builtin.BFloat16Type():
            return DTYPES["bf16"]
        case builtin.Float32Type():
            return DTYPES["f32"]
        case Float64Type():
            return DTYPES["f64"]
        case builtin.ComplexType(element_type=part):
            return scalar_dtype(part).as_complex
    raise ValueError(f"{ir_type} is no element type of txc")


@lru_cache(maxsize=65536)
def ir_tensor(value: TensorType) -> builtin.TensorType[Any]:
    """The IR type of a tensor: static sizes in the shape, all dims as its encoding."""
    shape = [builtin.DYNAMIC_INDEX if d.const is None else d.const for d in value.dims]
    encoding = dims_attr(value.dims) if any(d.const is None for d in value.dims) else builtin.NoneAttr()
    return builtin.TensorType(element_type(value.dtype), shape, encoding)


def tensor_of(ir_type: Attribute) -> TensorType:
    """The `TensorType` of an IR tensor type; ValueError where it lacks its dims.

    Every pass asks, so the answer stays with the type, as a `cached_property` would: looking it up in a table would
    hash all that the type is made of.
    """
    kept = vars(ir_type)
    found = kept.get(_READ)
    if found is None:
        found = kept[_READ] = _tensor_of(ir_type)
    return found


#: Where an IR type keeps its `TensorType`.
_READ = "_txc_tensor_type"


def _tensor_of(ir_type: Attribute) -> TensorType:
    if not isinstance(ir_type, builtin.TensorType):
        raise ValueError(f"{ir_type} is not a tensor")
    element = scalar_dtype(ir_type.element_type)
    shape = ir_type.get_shape()
    if isinstance(ir_type.encoding, DimsAttr):
        dims = ir_type.encoding.data
        if len(dims) != len(shape) or any(s != builtin.DYNAMIC_INDEX and d.const != s for d, s in zip(dims, shape)):
            raise ValueError(f"the dims of {ir_type} contradict its shape")
        return tensor_type(element, dims)
    if builtin.DYNAMIC_INDEX in shape:
        raise ValueError(f"{ir_type} has a dim of unknown size and no #tx.dims that names it")
    return tensor_type(element, tuple(dim(s) for s in shape))


@lru_cache(maxsize=4096)
def string_attr(text: str) -> StringAttr:
    return StringAttr(text)


@lru_cache(maxsize=4096)
def integer_attr(value: int) -> IntegerAttr:
    """A number in 64 bits."""
    return IntegerAttr(value, builtin.i64)


@lru_cache(maxsize=64)
def dtype_attr(element: DType) -> DTypeAttr:
    return DTypeAttr(element)


def to_attr(value: Any) -> Attribute:
    """The IR attribute of a canonical op parameter (see `registry.Param`)."""
    match value:
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return integer_attr(value)
        case float():
            return FloatAttr(value, builtin.f64)
        case complex():
            return ComplexAttr(value)
        case str():
            return string_attr(value)
        case Dim():
            return dim_attr(value)
        case IndexMap():
            return map_attr(value)
        case Order():
            return order_attr(value)
        case DType():
            return dtype_attr(value)
        case ScalarProgram():
            return ProgramAttr(value)
        case tuple() if value and all(isinstance(v, Dim) for v in value):
            return dims_attr(value)
        case tuple():
            return ArrayAttr([to_attr(v) for v in value])
        case None:
            return builtin.NoneType()
    raise TypeError(f"{value!r} has no attribute form")


def from_attr(attribute: Attribute) -> Any:
    """The parameter of an IR attribute: the inverse of `to_attr` (an empty list of dims comes back as ``()``)."""
    match attribute:
        case IntegerAttr(value=value, type=IntegerType(width=width)) if width.data == 1:
            return bool(value.data)
        case IntegerAttr(value=value):
            return value.data
        case FloatAttr(value=value):
            return value.data
        case ArrayAttr():
            return tuple(from_attr(a) for a in attribute.data)
        case builtin.NoneType():
            return None
        case Data():
            return attribute.data
    raise TypeError(f"{attribute} is not the attribute of a parameter")
