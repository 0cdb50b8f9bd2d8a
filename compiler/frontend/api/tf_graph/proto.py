"""The protocol buffers of the TensorFlow notes, wire-compatible: shapes, slices, tensors.

The messages are declared here as data, with the notes' field numbers, and made by the protobuf library.  They live in a
descriptor pool of their own, so that TensorFlow itself may be imported in the same process.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["DataType", "TensorProto", "TensorShapeProto", "TensorSliceProto", "VariantTensorDataProto"]


class DataType(enum.IntEnum):
    """Element types as the wire format numbers them; a reference type is its type plus 100."""

    DT_INVALID = 0
    DT_FLOAT = 1
    DT_DOUBLE = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 5
    DT_INT8 = 6
    DT_STRING = 7
    DT_COMPLEX64 = 8
    DT_INT64 = 9
    DT_BOOL = 10
    DT_BFLOAT16 = 14
    DT_UINT16 = 17
    DT_COMPLEX128 = 18
    DT_HALF = 19
    DT_RESOURCE = 20
    DT_VARIANT = 21
    DT_UINT32 = 22
    DT_UINT64 = 23
    DT_FLOAT_REF = 101
    DT_DOUBLE_REF = 102
    DT_INT32_REF = 103
    DT_UINT8_REF = 104
    DT_INT16_REF = 105
    DT_INT8_REF = 106
    DT_STRING_REF = 107
    DT_COMPLEX64_REF = 108
    DT_INT64_REF = 109
    DT_BOOL_REF = 110
    DT_BFLOAT16_REF = 114
    DT_UINT16_REF = 117
    DT_COMPLEX128_REF = 118
    DT_HALF_REF = 119
    DT_UINT32_REF = 122
    DT_UINT64_REF = 123


class _Field(NamedTuple):
    """`kind` is a scalar type of the protocol buffer language or the name of a message or enum."""

    name: str
    number: int
    kind: str
    repeated: bool = False
    packed: bool = False
    oneof: str = ""


_MESSAGES: dict[str, list[_Field]] = {
    "TensorShapeProto.Dim": [_Field("size", 1, "int64"), _Field("name", 2, "string")],
    "TensorShapeProto": [_Field("dim", 2, "TensorShapeProto.Dim", repeated=True), _Field("unknown_rank", 3, "bool")],
    "TensorSliceProto.Extent": [_Field("start", 1, "int64"), _Field("length", 2, "int64", oneof="has_length")],
    "TensorSliceProto": [_Field("extent", 1, "TensorSliceProto.Extent", repeated=True)],
    "ResourceHandleProto": [
        _Field("device", 1, "string"),
        _Field("container", 2, "string"),
        _Field("name", 3, "string"),
        _Field("hash_code", 4, "uint64"),
        _Field("maybe_type_name", 5, "string"),
    ],
    "VariantTensorDataProto": [
        _Field("type_name", 1, "string"),
        _Field("metadata", 2, "bytes"),
        _Field("tensors", 3, "TensorProto", repeated=True),
    ],
    "TensorProto": [
        _Field("dtype", 1, "DataType"),
        _Field("tensor_shape", 2, "TensorShapeProto"),
        _Field("version_number", 3, "int32"),
        _Field("tensor_content", 4, "bytes"),
        _Field("half_val", 13, "int32", repeated=True, packed=True),
        _Field("float_val", 5, "float", repeated=True, packed=True),
        _Field("double_val", 6, "double", repeated=True, packed=True),
        _Field("int_val", 7, "int32", repeated=True, packed=True),
        _Field("string_val", 8, "bytes", repeated=True),
        _Field("scomplex_val", 9, "float", repeated=True, packed=True),
        _Field("int64_val", 10, "int64", repeated=True, packed=True),
        _Field("bool_val", 11, "bool", repeated=True, packed=True),
        _Field("dcomplex_val", 12, "double", repeated=True, packed=True),
        _Field("resource_handle_val", 14, "ResourceHandleProto", repeated=True),
        _Field("variant_val", 15, "VariantTensorDataProto", repeated=True),
        _Field("uint32_val", 16, "uint32", repeated=True, packed=True),
        _Field("uint64_val", 17, "uint64", repeated=True, packed=True),
    ],
}

_PACKAGE = "tensorflow"


def _declare() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="txc/tensor.proto", package=_PACKAGE, syntax="proto3")
    kinds = file.enum_type.add(name="DataType")
    for member in DataType:
        kinds.value.add(name=member.name, number=member.value)
    made: dict[str, Any] = {}
    for name in sorted(_MESSAGES, key=lambda n: n.count(".")):
        outer, _, inner = name.rpartition(".")
        made[name] = made[outer].nested_type.add(name=inner) if outer else file.message_type.add(name=inner)
    for name, fields in _MESSAGES.items():
        for field in fields:
            _add_field(made[name], field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(message: Any, field: _Field) -> None:
    proto = descriptor_pb2.FieldDescriptorProto
    made = message.field.add(name=field.name, number=field.number)
    made.label = proto.LABEL_REPEATED if field.repeated else proto.LABEL_OPTIONAL
    if field.kind in _MESSAGES or field.kind == "DataType":
        made.type = proto.TYPE_ENUM if field.kind == "DataType" else proto.TYPE_MESSAGE
        made.type_name = f".{_PACKAGE}.{field.kind}"
    else:
        made.type = proto.Type.Value(f"TYPE_{field.kind.upper()}")
    if field.packed:
        made.options.packed = True
    if field.oneof:
        made.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=field.oneof)


_POOL = _declare()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


TensorShapeProto: Any = _message("TensorShapeProto")
TensorSliceProto: Any = _message("TensorSliceProto")
TensorProto: Any = _message("TensorProto")
VariantTensorDataProto: Any = _message("VariantTensorDataProto")
