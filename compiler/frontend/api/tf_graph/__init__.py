"""`txc.graph`: symbolic graphs and sessions, shapes, slices, tensors in protocol buffers: the TensorFlow notes."""

from typing import Any

from .....dialects.registry import OPS as _OPS
from ...tensor.tensor import Tensor as _Traced
from . import initializers
from .conversion import convert_n_to_tensor, convert_to_tensor, register_tensor_conversion_function
from .default_session import get_default_session
from .graph import Graph, Operation, Tensor, constant, get_default_graph, matmul, placeholder
from .graph import operation as _operation
from .host_tensor import (
    HostTensor,
    concat,
    data_type_of,
    deep_copy,
    from_tensor_proto,
    numpy_type_of,
    split,
    to_tensor_proto,
)
from .initializers import Constant as constant_initializer
from .initializers import Ones as ones_initializer
from .initializers import Orthogonal as orthogonal_initializer
from .initializers import RandomNormal as random_normal_initializer
from .initializers import RandomUniform as random_uniform_initializer
from .initializers import TruncatedNormal as truncated_normal_initializer
from .initializers import UniformUnitScaling as uniform_unit_scaling_initializer
from .initializers import VarianceScaling as variance_scaling_initializer
from .initializers import Zeros as zeros_initializer
from .proto import DataType, TensorProto, TensorShapeProto, TensorSliceProto, VariantTensorDataProto
from .session import FeedError, Session
from .shape import (
    Dimension,
    PartialTensorShape,
    TensorShape,
    are_compatible,
    are_identical,
    num_elements,
    shape_list_string,
)
from .tensor_slice import TensorSlice, extent_length, has_extent_length
from .variables import Variable, get_variable

__all__ = [
    "DataType", "Dimension", "FeedError", "Graph", "HostTensor", "Operation", "PartialTensorShape", "Session",
    "Tensor", "TensorProto", "TensorShape", "TensorShapeProto", "TensorSlice", "TensorSliceProto", "Variable",
    "VariantTensorDataProto", "are_compatible", "are_identical", "concat", "constant", "constant_initializer",
    "convert_n_to_tensor", "convert_to_tensor", "data_type_of", "deep_copy", "extent_length", "from_tensor_proto",
    "get_default_graph", "get_default_session", "get_variable", "has_extent_length", "initializers", "matmul",
    "num_elements", "numpy_type_of", "ones_initializer", "orthogonal_initializer", "placeholder",
    "random_normal_initializer", "random_uniform_initializer", "register_tensor_conversion_function",
    "shape_list_string", "split", "to_tensor_proto", "truncated_normal_initializer",
    "uniform_unit_scaling_initializer", "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip

#: The element types by their names alone: ``graph.DT_FLOAT``.
globals().update(DataType.__members__, __all__=[*__all__, *DataType.__members__])


def __getattr__(name: str) -> Any:
    """Any op of the registry as a function on symbolic tensors: ``graph.exp(x)``."""
    if name not in _OPS:
        raise AttributeError(f"txc.graph has no attribute {name!r}")

    def apply(*operands: Any, **params: Any) -> Any:
        return _operation(name, _Traced.apply, name, *operands, **params)

    apply.__name__ = name
    apply.__doc__ = _OPS[name].__doc__
    return apply
