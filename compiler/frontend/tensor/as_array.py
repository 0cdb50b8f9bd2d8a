"""What stands for an object of Python's that NumPy's functions take for an array."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ...diagnostics import located
from .tensor import Tensor

__all__ = ["AsArray"]


class AsArray:
    """As an operand, an index or an argument of NumPy's functions it is the array that `as_array` gives."""

    @abstractmethod
    def as_array(self) -> Tensor:
        """A new array of its items."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        with located():
            given = [x.as_array() if isinstance(x, AsArray) else x for x in inputs]
            return Tensor.functions.ufunc(ufunc, method, given, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with located():
            return Tensor.functions.function(function, args, kwargs)
