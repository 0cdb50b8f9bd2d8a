"""Variables: tensors whose values a session keeps from one run to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import Graph, Operation, Tensor
from .shape import PartialTensorShape, as_shape

__all__ = ["Variable", "get_variable", "variable_of"]


class Variable:
    """A named tensor that `initializer` (an operation) gives its first value; `value` is the symbolic tensor.

    Made by `get_variable`.
    """

    def __init__(self, name: str, initial: Tensor):
        made = _Storage(self, name, initial.graph)
        made.add_outputs([(initial.dtype, PartialTensorShape(initial.shape))])
        self.value = made.outputs[0]
        self.initializer = Operation("assign", (self.value, initial), lambda values: values[1], f"{name}/assign")
        self.initializer.add_outputs([])

    @property
    def name(self) -> str:
        return self.value.op.name

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def shape(self) -> Any:
        return self.value.shape

    def eval(self, session: Any = None) -> np.ndarray:
        """Its value in a session (the default one where none is given)."""
        return self.value.eval(session=session)

    def __repr__(self) -> str:
        return f"<Variable {self.name!r} shape={self.shape.debug_string()} dtype={self.dtype.name}>"


class _Storage(Operation):
    """The operation whose output a variable's value is: sessions give it what they keep."""

    def __init__(self, variable: Variable, name: str, graph: Graph):
        def unset(values: Sequence[Any]) -> Any:
            raise RuntimeError(f"variable {name!r} has no value")

        super().__init__("variable", (), unset, name, graph)
        self.variable = variable


def variable_of(tensor: Tensor) -> Variable | None:
    """The variable that a tensor is the value of; None where it is none's."""
    return tensor.op.variable if isinstance(tensor.op, _Storage) else None


def get_variable(name: str, shape: Any, dtype: Any = np.float32, *, initializer: Any) -> Variable:
    """A new variable; ``initializer(shape, dtype)`` makes the tensor of its first value.  Errors are its."""
    sizes = as_shape(shape).as_tensor_shape().dim_sizes()
    return Variable(name, initializer(sizes, dtype))
