"""What these functions take: tensors of floats, numbers, axes and shapes; errors name the function and the argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import DTYPES, DType, dtype
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import current
from ...trace.symint import SymInt, is_integer
from .storage import Tensure, storage_of

__all__ = ["axes_of", "axis_of", "element_of", "integer", "mutable", "number", "shape_text", "sizes_of", "tensor"]


def tensor(x: Any, name: str, position: int = 0) -> Tensor:
    """An argument that must be a tensor, for an expression to read.

    Inside a function that is being compiled any float tensor of it is one, and NumPy arrays are tensors there.
    """
    if isinstance(x, Tensor) and (isinstance(x, Tensure) or not x.is_lazy):
        found = as_tensor(x)
    elif current() is not None and isinstance(x, (Tensor, np.ndarray)):
        found = as_tensor(x)
    else:
        given = f"the {type(x).__name__} {x!r}" if isinstance(x, (bool, int, float, str)) else f"a {type(x).__name__}"
        raise OpError(
            f"{name} takes tensors, and argument {position} is {given}", "make it one: txc.tensure.array(…)", "TX0801"
        )
    if not found.element.is_float or found.element.bits < 32:
        raise OpError(
            f"{name} takes tensors of f32 or f64, and argument {position} is {found.user_type}",
            "convert it: x.astype(np.float32)",
            "TX0801",
        )
    return found


def mutable(x: Any, name: str, *, scalars: bool = False) -> Tensor:
    """An argument whose data a function changes.  OpError for what is no tensor, and unless `scalars` for a scalar."""
    found = tensor(x, name)
    if found.ndim == 0 and not scalars:
        raise OpError(
            f"{name} cannot change a scalar: scalars are immutable",
            f"use {name.rstrip('_')}, which returns a new one",
            "TX0802",
        )
    if found is not x and isinstance(x, Tensor):
        raise OpError(
            f"{name} would change a {x.user_type} from outside the compiled function",
            "pass it as an argument",
            "TX0817",
        )
    return found


def number(x: Any, name: str) -> Any:
    """A Python number, or a scalar tensor in its place (an int known only at run time stays one)."""
    if isinstance(x, (Tensor, np.ndarray)):
        found = tensor(x, name)
        if found.ndim:
            raise OpError(f"{name} takes a number, not a {found.user_type}", code="TX0803")
        return found
    if isinstance(x, SymInt) or (isinstance(x, (int, float, np.number)) and not isinstance(x, bool)):
        return x
    raise OpError(f"{name} takes a number, not the {type(x).__name__} {x!r}", code="TX0803")


def integer(x: Any, name: str, what: str) -> Any:
    """A whole number: an int, or a scalar tensor whose value is known."""
    if is_integer(x):
        return x
    if isinstance(x, Tensure) and x.ndim == 0 and current() is None and float(x).is_integer():
        return int(float(x))
    given = f"a {x.user_type}" if isinstance(x, Tensor) else f"the {type(x).__name__} {x!r}"
    raise OpError(f"{name} takes an integer for {what}, not {given}", code="TX0803")


def axis_of(x: Any, rank: int, name: str, shape: Sequence[Any]) -> int:
    """An axis of a tensor, counted from 0.  OpError for one that it has not."""
    found = int(integer(x, name, "an axis"))
    if not 0 <= found < rank:
        raise OpError(
            f"{name}: there is no axis {found} in shape {shape_text(shape)}",
            f"axes are 0 to {rank - 1}" if rank else "a scalar has none",
            "TX0804",
        )
    return found


def axes_of(axes: Any, x: Tensor, name: str) -> tuple[int, ...]:
    """One axis or several of `x`, each once, in ascending order; None is all of them."""
    if axes is None:
        return tuple(range(x.ndim))
    given = axes if isinstance(axes, (list, tuple)) else [axes]
    return tuple(sorted({axis_of(a, x.ndim, name, x.shape) for a in given}))


def sizes_of(shape: Any, name: str) -> tuple[Any, ...]:
    """A shape: a list of sizes; None is a scalar's.  Whole floats such as 1e4 are sizes too."""
    if shape is None:
        return ()
    if not isinstance(shape, (list, tuple)):
        raise OpError(f"{name} takes a shape as a list of sizes, not {shape!r}", f"write [{shape!r}]", "TX0805")
    sizes = [int(s) if isinstance(s, float) and s.is_integer() else s for s in shape]
    if not all(is_integer(s) for s in sizes) or any(isinstance(s, int) and s < 0 for s in sizes):
        raise OpError(f"{name}: the sizes of a shape are integers from 0, not {shape!r}", code="TX0805")
    return tuple(sizes)


def element_of(spec: Any, name: str) -> DType:
    """f32 or f64; None is f32."""
    if spec is None:
        return DTYPES["f32"]
    try:
        found = dtype(spec)
    except TypeError as error:
        raise OpError(f"{name}: {error}", "dtypes are 'f32' and 'f64'", "TX0806") from error
    if found.name not in ("f32", "f64"):
        raise OpError(f"{name}: elements are f32 or f64, not {found}", code="TX0806")
    return found


def shape_text(shape: Iterable[Any]) -> str:
    """A shape as the document writes it: ``[2 3]``."""
    return "[" + " ".join(map(str, shape)) + "]"


def depth_of(*operands: Tensor) -> int:
    """How long an expression of these operands is: see `Storage.read`."""
    stores = {id(s): s for s in map(storage_of, operands) if s is not None}
    for s in stores.values():
        s.read()
    return 1 + max((s.depth for s in stores.values()), default=0)
