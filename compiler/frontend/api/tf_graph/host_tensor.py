"""`HostTensor`: a dtype, a shape and a buffer that slices share; the TensorFlow notes' Tensor of C++.

Views (`flat`, `shaped`, …) are NumPy arrays on the tensor's own buffer: writing to them writes to it.  Nothing here
computes: symbolic tensors, which do, are in `graph`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from .proto import DataType, TensorProto
from .shape import TensorShape

__all__ = [
    "HostTensor", "concat", "data_type_of", "deep_copy", "from_tensor_proto", "numpy_type_of", "split",
    "to_tensor_proto",
]  # fmt: skip

_ALIGNMENT = 16

_NUMPY: dict[DataType, np.dtype[Any]] = {
    DataType.DT_FLOAT: np.dtype(np.float32),
    DataType.DT_DOUBLE: np.dtype(np.float64),
    DataType.DT_HALF: np.dtype(np.float16),
    DataType.DT_BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DataType.DT_INT8: np.dtype(np.int8),
    DataType.DT_INT16: np.dtype(np.int16),
    DataType.DT_INT32: np.dtype(np.int32),
    DataType.DT_INT64: np.dtype(np.int64),
    DataType.DT_UINT8: np.dtype(np.uint8),
    DataType.DT_UINT16: np.dtype(np.uint16),
    DataType.DT_UINT32: np.dtype(np.uint32),
    DataType.DT_UINT64: np.dtype(np.uint64),
    DataType.DT_BOOL: np.dtype(np.bool_),
    DataType.DT_COMPLEX64: np.dtype(np.complex64),
    DataType.DT_COMPLEX128: np.dtype(np.complex128),
    DataType.DT_STRING: np.dtype(object),
}
_DATA_TYPES = {n: d for d, n in _NUMPY.items()}
#: Where a TensorProto keeps the elements of a type, and the type they have on the wire.
_FIELDS = {
    **dict.fromkeys((DataType.DT_HALF, DataType.DT_BFLOAT16), ("half_val", np.uint16)),
    DataType.DT_FLOAT: ("float_val", np.float32),
    DataType.DT_DOUBLE: ("double_val", np.float64),
    **dict.fromkeys(
        (DataType.DT_INT8, DataType.DT_INT16, DataType.DT_INT32, DataType.DT_UINT8, DataType.DT_UINT16),
        ("int_val", np.int32),
    ),
    DataType.DT_INT64: ("int64_val", np.int64),
    DataType.DT_UINT32: ("uint32_val", np.uint32),
    DataType.DT_UINT64: ("uint64_val", np.uint64),
    DataType.DT_BOOL: ("bool_val", np.bool_),
    DataType.DT_COMPLEX64: ("scomplex_val", np.float32),
    DataType.DT_COMPLEX128: ("dcomplex_val", np.float64),
    DataType.DT_STRING: ("string_val", object),
}


def numpy_type_of(data_type: DataType) -> np.dtype[Any]:
    """NumPy's type of the elements (object, of bytes, for DT_STRING).  TypeError for types that are handles."""
    if data_type not in _NUMPY:
        raise TypeError(f"{DataType(data_type).name} has no elements in memory")
    return _NUMPY[data_type]


def data_type_of(dtype: Any) -> DataType:
    """The wire format's number of a NumPy type (or what `np.dtype` takes); bytes and texts are DT_STRING."""
    if isinstance(dtype, DataType):
        return dtype
    found = np.dtype(dtype)
    if found.kind in "SU":
        return DataType.DT_STRING
    if found.newbyteorder("=") not in _DATA_TYPES:
        raise TypeError(f"{found} is no element type of a tensor")
    return _DATA_TYPES[found.newbyteorder("=")]


class HostTensor:
    """``HostTensor(DataType.DT_INT32, [10])``: zeros (empty strings), or an array's memory by `from_numpy`.

    TypeError for a type that has no elements in memory, ValueError for what is no shape.
    """

    __slots__ = ("_array", "_root", "_shape")

    def __init__(self, data_type: Any, shape: Any = ()):
        made = numpy_type_of(data_type_of(data_type))
        shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        empty: Any = b"" if made.kind == "O" else 0
        self._set(np.full(shape.dim_sizes(), empty, made))

    def _set(self, array: np.ndarray, root: Any = None) -> None:
        self._array, self._root = array, array if root is None else root
        self._shape = TensorShape(array.shape)
        self._shape.set_data_type(data_type_of(array.dtype))

    @classmethod
    def _of(cls, array: np.ndarray, root: Any = None) -> HostTensor:
        made = cls.__new__(cls)
        made._set(array, root)
        return made

    @classmethod
    def from_numpy(cls, array: Any) -> HostTensor:
        """A tensor in the memory of a C-contiguous array, else in a copy; texts become bytes."""
        array = np.asarray(array)
        if array.dtype.kind in "SU":
            texts = [t.encode() if isinstance(t, str) else bytes(t) for t in array.ravel().tolist()]
            array = np.array([*texts, None], object)[:-1].reshape(array.shape)
        return cls._of(np.asarray(array, array.dtype.newbyteorder("="), order="C"))

    def numpy(self) -> np.ndarray:
        """The elements as an array in the same memory."""
        return self._array

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
        """The elements for NumPy: in the same memory, unless `dtype` or `copy` ask for others."""
        return np.array(self._array, dtype, copy=copy)

    __txc_array__ = numpy

    # What it is

    @property
    def dtype(self) -> DataType:
        return self._shape.data_type

    @property
    def shape(self) -> TensorShape:
        """Its shape (a copy: a tensor's shape never changes)."""
        return self._shape.copy()

    def dims(self) -> int:
        return self._array.ndim

    def dim_size(self, d: int) -> int:
        return self._shape.dim_size(d)

    def num_elements(self) -> int:
        return self._array.size

    def is_same_size(self, other: HostTensor) -> bool:
        """Whether the shapes are equal."""
        return self._shape.is_same_size(other._shape)

    def is_initialized(self) -> bool:
        """Whether it has memory: always."""
        return True

    def is_aligned(self) -> bool:
        """Whether its first element lies at a multiple of 16 bytes."""
        return self._array.ctypes.data % _ALIGNMENT == 0

    def total_bytes(self) -> int:
        """The bytes of the elements; of strings, with the strings' own."""
        strings = sum(map(len, self._array.ravel().tolist())) if self.dtype is DataType.DT_STRING else 0
        return self._array.nbytes + strings

    def shares_buffer_with(self, other: HostTensor) -> bool:
        """Whether both are parts of one buffer."""
        return self._root is other._root

    def tensor_data(self) -> bytes:
        """The bytes of the buffer, in the machine's order.  TypeError for strings, which are not in it."""
        if self.dtype is DataType.DT_STRING:
            raise TypeError("the strings of a DT_STRING tensor are not in its buffer")
        return self._array.tobytes()

    # Views

    def slice(self, start: int, limit: int) -> HostTensor:
        """Places `start` to `limit` (exclusive) of dim 0, in the same buffer.  IndexError where there are none such."""
        if self.dims() == 0:
            raise IndexError("a scalar has no dim 0 to slice")
        if not 0 <= start <= limit <= self._array.shape[0]:
            raise IndexError(f"{start} to {limit} is no part of dim 0 of {self._shape.debug_string()}")
        return self._of(self._array[start:limit], self._root)

    def tensor(self, ndims: int) -> np.ndarray:
        """The elements, which must have `ndims` dims: ValueError otherwise."""
        if self.dims() != ndims:
            raise ValueError(f"the tensor has {self.dims()} dims {self._shape.debug_string()}, not {ndims}")
        return self._array

    def scalar(self) -> np.ndarray:
        """The one element, as an array of no dims (write with ``[()]``).  ValueError where there are more."""
        return self.shaped([])

    def vec(self) -> np.ndarray:
        return self.tensor(1)

    def matrix(self) -> np.ndarray:
        return self.tensor(2)

    def shaped(self, sizes: Sequence[int]) -> np.ndarray:
        """The elements in row-major order as an array of other sizes.  ValueError where their numbers differ."""
        if math.prod(sizes) != self._array.size or any(s < 0 for s in sizes):
            raise ValueError(
                f"{self._shape.debug_string()} with {self._array.size} elements is no array of sizes {list(sizes)}"
            )
        return self._array.reshape(tuple(sizes), copy=False)

    def flat(self) -> np.ndarray:
        """All elements as one dim."""
        return self.shaped([self._array.size])

    #: Slices need not be aligned; NumPy does not mind.
    unaligned_flat = flat
    unaligned_shaped = shaped

    def flat_inner_dims(self, ndims: int = 2) -> np.ndarray:
        """As `ndims` dims: the last ones, those before them as one; with ones in front where there are fewer."""
        shape = self._array.shape
        count = len(shape) - ndims + 1
        if count < 0:
            return self.shaped([*[1] * -count, *shape])
        return self.shaped([math.prod(shape[:count]), *shape[count:]])

    def flat_outer_dims(self, ndims: int = 2) -> np.ndarray:
        """As `ndims` dims: the first ones, those after them as one; with ones at the end where there are fewer."""
        shape = self._array.shape
        if len(shape) < ndims:
            return self.shaped([*shape, *[1] * (ndims - len(shape))])
        return self.shaped([*shape[: ndims - 1], math.prod(shape[ndims - 1 :])])

    def flat_inner_outer_dims(self, begin: int, ndims: int = 3) -> np.ndarray:
        """As `ndims` dims: `begin` and the ones after it, all before as part of the first, all after of the last.

        A negative `begin` puts ones in front.
        """
        shape = self._array.shape
        outer = [*shape[: begin + ndims]] if begin + ndims <= len(shape) else [*shape]
        outer += [1] * (begin + ndims - len(outer))
        if begin + ndims <= len(shape):
            outer[-1] = math.prod(shape[begin + ndims - 1 :])
        if begin < 0:
            return self.shaped([*[1] * -begin, *outer][:ndims])
        return self.shaped([math.prod(outer[: begin + 1]), *outer[begin + 1 :]])

    def bit_casted_tensor(self, data_type: Any) -> np.ndarray:
        """The same bytes as elements of another type of the same size.  ValueError where sizes differ."""
        return self.bit_casted_shaped(data_type, self._array.shape)

    def bit_casted_shaped(self, data_type: Any, sizes: Sequence[int]) -> np.ndarray:
        """The same bytes as elements of another type and other sizes.  ValueError where the bytes do not suffice."""
        made = numpy_type_of(data_type_of(data_type))
        if "O" in (made.kind, self._array.dtype.kind):
            raise TypeError("strings are no bytes of the buffer")
        if math.prod(sizes) * made.itemsize != self._array.nbytes:
            raise ValueError(f"{self._array.nbytes} bytes are no {list(sizes)} elements of {made}")
        return self._array.reshape(-1, copy=False).view(made).reshape(tuple(sizes), copy=False)

    def copy_from(self, other: HostTensor, shape: Any) -> None:
        """Become a tensor in the other's buffer, of `shape`.  ValueError where the numbers of elements differ."""
        sizes = (shape if isinstance(shape, TensorShape) else TensorShape(shape)).dim_sizes()
        self._set(other.shaped(sizes), other._root)

    # Texts

    def summarize_value(self, max_entries: int = 3) -> str:
        """At most so many elements as text (a negative number: all), as TensorFlow prints them.

        What is inside a dim but the last lies in brackets, ``[[1 2][3 4]]``; three dots stand in a row, and at the end,
        for elements that are left out: ``[1 2][3...]...``.  Elements of complex types are ``?``.
        """
        count = self._array.size
        limit = count if max_entries < 0 else min(max_entries, count)
        elements = map(_element, self._array.reshape(-1)[:limit])
        text = next(elements, "") if not self._array.ndim else _summary(self._array.shape, limit, elements)
        return text + ("..." if count > limit else "")

    def debug_string(self) -> str:
        """``Tensor<type: float shape: [2] values: 1 2>``."""
        kind = self.dtype.name.removeprefix("DT_").lower()
        return f"Tensor<type: {kind} shape: {self._shape.debug_string()} values: {self.summarize_value()}>"

    __repr__ = debug_string

    # Protocol buffers

    def as_proto_field(self) -> Any:
        """A TensorProto with the elements in the field of their type."""
        proto = self._proto()
        name, wire = _FIELDS[self.dtype]
        flat = self.flat()
        if self.dtype in (DataType.DT_HALF, DataType.DT_BFLOAT16, DataType.DT_COMPLEX64, DataType.DT_COMPLEX128):
            flat = flat.view(wire)
        getattr(proto, name).extend(flat.tolist())
        return proto

    def as_proto_tensor_content(self) -> Any:
        """A TensorProto with the elements as bytes (strings in their field)."""
        if self.dtype is DataType.DT_STRING:
            return self.as_proto_field()
        proto = self._proto()
        content = self._array.astype(self._array.dtype.newbyteorder("<"), copy=False)
        proto.tensor_content = content.tobytes()
        return proto

    def _proto(self) -> Any:
        return TensorProto(dtype=int(self.dtype), tensor_shape=self._shape.as_proto())

    @classmethod
    def from_proto(cls, proto: Any) -> HostTensor:
        """The tensor of a TensorProto (or of its bytes), by `tensor_content` or, without, its type's field.

        Fewer elements than the shape has: the last one stands for the rest (none: zeros).  ValueError for more, for
        unknown sizes and for bytes of another length; TypeError for element types that have none in memory.
        """
        if isinstance(proto, (bytes, bytearray, memoryview)):
            proto = TensorProto.FromString(bytes(proto))
        kind = DataType(proto.dtype)
        made = numpy_type_of(kind)
        shape = TensorShape(proto.tensor_shape)
        count = shape.num_elements()
        if proto.tensor_content and kind is not DataType.DT_STRING:
            expected = count * made.itemsize
            if len(proto.tensor_content) != expected:
                raise ValueError(
                    f"tensor_content has {len(proto.tensor_content)} bytes; {made}{shape.debug_string()} has {expected}"
                )
            flat = np.frombuffer(proto.tensor_content, made.newbyteorder("<")).astype(made)
        else:
            flat = _filled(_elements(proto, kind, made), count, made)
        return cls._of(flat.reshape(shape.dim_sizes()))


def _elements(proto: Any, kind: DataType, made: np.dtype[Any]) -> np.ndarray:
    """The elements in the field of a type."""
    name, wire = _FIELDS[kind]
    values = list(getattr(proto, name))
    if kind is DataType.DT_STRING:
        return np.array([*values, None], object)[:-1]
    given = np.array(values, np.int64 if wire is np.uint16 else wire)
    if kind in (DataType.DT_HALF, DataType.DT_BFLOAT16):
        return given.astype(np.uint16).view(made)
    if kind in (DataType.DT_COMPLEX64, DataType.DT_COMPLEX128):
        if given.size % 2:
            raise ValueError(f"{name} has {given.size} numbers: a complex element is two")
        return given.view(made)
    return given.astype(made)


def _filled(given: np.ndarray, count: int, made: np.dtype[Any]) -> np.ndarray:
    if given.size > count:
        raise ValueError(f"{given.size} elements are given for a shape of {count}")
    empty: Any = b"" if made.kind == "O" else 0
    flat = np.full(count, given[-1] if given.size else empty, made)
    flat[: given.size] = given
    return flat


def _summary(shape: tuple[int, ...], limit: int, elements: Iterator[str]) -> str:
    """The first `limit` elements of a part of this shape: of a row with dots where it goes on, else in brackets."""
    if len(shape) == 1:
        return " ".join(itertools.islice(elements, min(limit, shape[0])))
    size = math.prod(shape[1:])
    parts = []
    for first in range(0, limit, size or 1):
        left = limit - first
        cut = "..." if len(shape) == 2 and left < size else ""
        parts.append(f"[{_summary(shape[1:], min(left, size), elements)}{cut}]")
    return "".join(parts)


#: What C escapes with a letter, and as it is written.
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def _element(value: Any) -> str:
    """An element as C++ prints it: a bool as 0 or 1, a float by as few digits as it takes, a string escaped."""
    if isinstance(value, bytes):
        return "".join(map(_character, value.decode("utf-8", "surrogateescape")))
    if isinstance(value, np.complexfloating):
        return "?"
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.integer):
        return str(value)
    # Six digits (fifteen of a double) where they say it all, else nine (seventeen), which always do.
    double = isinstance(value, np.float64)
    short = f"{float(value):.{15 if double else 6}g}"
    exact = value != value or (np.float64 if double else np.float32)(short) == value
    return short if exact else f"{float(value):.{17 if double else 9}g}"


def _character(c: str) -> str:
    if c in _ESCAPES:
        return _ESCAPES[c]
    code = ord(c)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\{code - 0xDC00:03o}"
    return c if code >= 0x80 or 0x20 <= code < 0x7F else f"\\{code:03o}"


def to_tensor_proto(value: Any) -> Any:
    """The TensorProto of a `HostTensor`, or of what `HostTensor.from_numpy` takes; elements in their type's field."""
    tensor = value if isinstance(value, HostTensor) else HostTensor.from_numpy(value)
    return tensor.as_proto_field()


def from_tensor_proto(proto: Any) -> HostTensor:
    """The tensor of a TensorProto, or of its bytes.  Errors are those of `HostTensor.from_proto`."""
    return HostTensor.from_proto(proto)


def deep_copy(tensor: HostTensor) -> HostTensor:
    """The same elements in a buffer of their own."""
    return HostTensor._of(tensor.numpy().copy())


def concat(tensors: Sequence[HostTensor]) -> HostTensor:
    """The tensors one after another along dim 0, in a new buffer.

    ValueError for none, for scalars, and for other sizes than the first's; TypeError for another type.
    """
    if not tensors:
        raise ValueError("there is nothing to concatenate")
    first = tensors[0]
    for number, t in enumerate(tensors):
        if t.dims() == 0:
            raise ValueError(f"tensor {number} is a scalar: it has no dim 0")
        if t.dtype is not first.dtype:
            raise TypeError(f"tensor {number} is of {t.dtype.name}, tensor 0 of {first.dtype.name}")
        if t.shape.dim_sizes()[1:] != first.shape.dim_sizes()[1:]:
            shapes = f"{first.shape.debug_string()} and {t.shape.debug_string()}"
            raise ValueError(f"tensors 0 and {number} of shapes {shapes} differ in more than dim 0")
    return HostTensor._of(np.concatenate([t.numpy() for t in tensors]))


def split(tensor: HostTensor, sizes: Sequence[int]) -> list[HostTensor]:
    """Parts of these sizes along dim 0, each in a buffer of its own.  ValueError where they do not add up to it."""
    if tensor.dims() == 0:
        raise ValueError("a scalar has no dim 0 to split")
    if any(s < 0 for s in sizes) or sum(sizes) != tensor.dim_size(0):
        raise ValueError(f"sizes {list(sizes)} do not add up to dim 0 of {tensor.shape.debug_string()}")
    parts, start = [], 0
    for size in sizes:
        parts.append(deep_copy(tensor.slice(start, start + size)))
        start += size
    return parts
