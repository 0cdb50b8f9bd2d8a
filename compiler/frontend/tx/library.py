"""Expands the functions of `dialects/library/`, and gives them by name: ``txc.library.softmax(x, axis=1)``.

They are run by the evaluator of `.tx`, with the caller's line for all that they do, so errors and `explain` speak of
what the user wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ....dialects.ops.structure.library import Library
from ....dialects.registry import OPS, OpError
from ....dialects.types import dtype
from ...diagnostics import Loc, user_loc
from ..tensor.apply import call
from ..tensor.tensor import Tensor
from .parser import Evaluator, TxFunction, TxModule

__all__ = ["expand", "library"]


class _Expansion(Evaluator):
    """Evaluates a function of the library in the place of the call."""

    def place(self, node: ast.AST) -> Loc | None:
        return user_loc()

    def fail(self, node: ast.AST, message: str, hint: str = "", code: str = "TX0500") -> NoReturn:
        raise OpError(f"{self.calls[-1]}: {message}", hint, code)

    def attribute(self, node: ast.Attribute, value: Any, attr: str) -> Any:
        # A body serves every dtype, so it may ask for it.
        if isinstance(value, Tensor) and attr == "dtype":
            return value.dtype
        return super().attribute(node, value, attr)

    def call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "half":
            (x,) = (self.value(a) for a in node.args)
            return dtype(x.dtype).is_float and dtype(x.dtype).bits == 16
        return super().call(node)


def expand(op: type[Library], tensors: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
    """The result of a library function on operands and bound parameters."""
    values = {**dict(zip(op.operand_names(), tensors)), **attrs}
    function = TxFunction(TxModule(op.filename), op.function, [], None)
    return _Expansion(function.module, values, {}, (op.name,)).function(function)


class _Functions:
    """The library's functions as attributes, each called with tensors and arrays."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        found = OPS.get(name)
        if found is None or not issubclass(found, Library):
            raise AttributeError(f"the library has no {name!r}: it has {', '.join(dir(self))}")

        def function(*args: Any, **kwargs: Any) -> Any:
            return call(found, args, kwargs)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = found.__doc__
        return function

    def __dir__(self) -> list[str]:
        return sorted(name for name, op in OPS.items() if issubclass(op, Library))


library = _Functions()
