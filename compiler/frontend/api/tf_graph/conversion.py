"""`convert_to_tensor`: what becomes a symbolic tensor, by a registry of functions with priorities.

The source of the semantics is the TensorFlow notes' ``_tensor_conversion_func_registry``: priorities are tried in their
order, and at one priority functions in the order they were registered; one that returns NotImplemented passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .graph import Operation, Tensor, constant, operation
from .host_tensor import HostTensor, data_type_of
from .shape import Dimension, PartialTensorShape, TensorShape
from .variables import Variable

__all__ = ["convert_n_to_tensor", "convert_to_tensor", "register_tensor_conversion_function"]

#: ``f(value, dtype, name)``: a Tensor, or NotImplemented.
Conversion = Callable[[Any, Any, "str | None"], Any]

_registry: dict[int, list[tuple[type | tuple[type, ...], Conversion]]] = {}


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion: Conversion, priority: int = 100
) -> None:
    """Let `convert_to_tensor` use ``conversion(value, dtype, name)`` for values of `base_type`; low priorities first.

    TypeError where `base_type` is no type (or tuple of types), or the function cannot be called.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"base_type is a type or a tuple of types, not {base_type!r}")
    if not callable(conversion):
        raise TypeError(f"a conversion is a function, not {conversion!r}")
    _registry.setdefault(priority, []).append((base_type, conversion))


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """A symbolic tensor of a number, a list, an array, a shape, or what a conversion is registered for.

    TypeError where nothing takes it; ValueError where a tensor has another dtype than `dtype`.
    """
    kind = None if dtype is None else data_type_of(dtype)
    for priority in sorted(_registry):
        for base_type, conversion in _registry[priority]:
            if not isinstance(value, base_type):
                continue
            made = conversion(value, kind, name)
            if made is NotImplemented:
                continue
            if not isinstance(made, Tensor):
                raise RuntimeError(f"the conversion of {type(value).__name__} returned {made!r}, which is no tensor")
            if kind is not None and made.dtype is not kind:
                raise ValueError(f"{made.name} is of {made.dtype.name}, and {kind.name} was asked for")
            return made
    raise TypeError(f"nothing converts a {type(value).__name__} to a tensor: {value!r}")


def convert_n_to_tensor(values: Sequence[Any], dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """`convert_to_tensor` of each; `name` is numbered.  TypeError where `values` is no sequence."""
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"values is a list or a tuple, not {values!r}")
    return [convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}") for i, v in enumerate(values)]


def _tensor(value: Tensor, dtype: Any, name: str | None) -> Tensor:
    return value


def _variable(value: Variable, dtype: Any, name: str | None) -> Tensor:
    return value.value


def _packed(value: Sequence[Any], dtype: Any, name: str | None) -> Any:
    """Lists with tensors in them: stacked."""
    if not _has_tensor(value):
        return NotImplemented
    parts = [convert_to_tensor(v, dtype) for v in value]
    return operation("stack", np.stack, parts, name=name)


def _has_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_has_tensor(v) for v in value)
    return isinstance(value, (Tensor, Variable))


def _constant(value: Any, dtype: Any, name: str | None) -> Tensor:
    return constant(value, dtype, name=name)


def _host(value: HostTensor, dtype: Any, name: str | None) -> Tensor:
    return constant(value.numpy(), dtype, name=name)


def _shape(value: TensorShape | PartialTensorShape, dtype: Any, name: str | None) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"the shape {value.debug_string()} is not fully defined, so it is no tensor")
    return constant(np.array(value.dim_sizes(), np.int64), dtype or np.int32, name=name)


def _dimension(value: Dimension, dtype: Any, name: str | None) -> Tensor:
    if value.value is None:
        raise ValueError("an unknown dimension is no tensor")
    return constant(np.int64(value.value), dtype or np.int32, name=name)


def _operation(value: Operation, dtype: Any, name: str | None) -> Any:
    raise TypeError(f"{value!r} is an operation: give one of its outputs")


def _number(value: Any, dtype: Any, name: str | None) -> Any:
    return constant(value, dtype, name=name) if isinstance(value, (bool, int, float, complex)) else NotImplemented


register_tensor_conversion_function(Tensor, _tensor, 0)
register_tensor_conversion_function(Variable, _variable, 0)
register_tensor_conversion_function((list, tuple), _packed, 99)
for _types, _conversion in (
    ((list, tuple), _constant),
    (np.ndarray, _constant),
    (np.generic, _constant),
    (HostTensor, _host),
    ((TensorShape, PartialTensorShape), _shape),
    (Dimension, _dimension),
    (Operation, _operation),
    (object, _number),
):
    register_tensor_conversion_function(_types, _conversion)
