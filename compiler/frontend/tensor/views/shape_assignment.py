"""``x.shape = …``: another shape of the same object, as NumPy has it where no copy is needed.

Every name of the array sees its new shape, and views of it that were taken before keep theirs.  So what the tensor was
becomes another one, the storage and what views are of, and the tensor a reshape of that.
"""

from __future__ import annotations

from typing import Any

from .....dialects.registry import OpError
from ...trace.context import current
from ...trace.demands import Guard
from ..methods.reshaping import reshape
from ..tensor import Tensor
from .composite_views import Derived, Perhaps

__all__ = ["give_shape"]

_HINT = "write x = x.reshape(…)"


def give_shape(x: Tensor, shape: Any) -> None:
    """Give the array `x` another shape.

    AttributeError where that takes a copy, as NumPy raises it, by facts of the call.  OpError outside of compiled
    functions, of arrays that the caller has, and in loops and branches of compiled code, which would have to take it
    back.
    """
    trace = current()
    if trace is None or len(trace.writes) > 1:
        where = "outside of a compiled function" if trace is None else "in a loop or branch of compiled code"
        raise OpError(f"the shape of a {x.user_type} is assigned {where}", _HINT, "TX0322")
    if type(x) is not Tensor or any(x is given for given in trace.tensors.values()) or x in trace.shared_names:
        what = "an argument or captured array" if type(x) is Tensor else "what may be a view or a copy"
        raise OpError(f"the shape of {what}, a {x.user_type}, is assigned", _HINT, "TX0322")
    alive = [view for ref in trace.views if (view := ref()) is not None]
    if any(isinstance(d, Derived) and not isinstance(d, Perhaps) and any(s is x for s in d.sources()) for d in alive):
        text = f"the shape of a {x.user_type} is assigned, which there is a part of by values or of complex numbers"
        raise OpError(text, _HINT, "TX0322")
    made = reshape(x, shape)
    if isinstance(made, Perhaps) and made.shares_memory():
        made = made.shared
    if made._parent is not x:
        text = "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
        raise AttributeError(text)
    kept = Tensor.__new__(Tensor)
    for name in Tensor.__slots__:
        if name != "__weakref__" and hasattr(x, name):
            setattr(kept, name, getattr(x, name))
    for view in alive:
        if view._parent is x and view is not x:
            view._parent = kept
    if not x.is_view:
        del x._value
    kept._viewing(x, made._op, made._attrs)
    x.boxed = not x.ndim
    for binding in trace.bindings.values():
        if isinstance(binding, Guard) and x in binding.before:
            binding.before[kept] = binding.before.pop(x)
    for noted in trace.writes:
        if x in noted:
            noted[kept] = noted.pop(x)
