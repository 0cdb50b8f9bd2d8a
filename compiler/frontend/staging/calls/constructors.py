"""Objects that staged code makes of the user's classes: what runs to make them is staged too.

It would run once otherwise, while the function is compiled: what it reads of outside would be no facts, what it changes
there would change once, and its arrays would be the same ones in each call.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable
from typing import Any

from ...trace.captures import is_library

__all__ = ["constructor"]


def constructor(runtime: Any, kind: type) -> Callable[..., Any]:
    """What to call instead of a class; itself where nothing of the user's makes its objects.

    `runtime` is the `StagedRuntime` of the code that makes them, which stages.
    """
    if is_library(kind) or type(kind).__call__ is not type.__call__ or issubclass(kind, (BaseException, tuple)):
        return kind
    begin = inspect.getattr_static(kind, "__init__")
    if _is_generated(kind, begin):
        fill = _dataclass_init(runtime, kind)
    elif isinstance(begin, types.FunctionType):
        fill = runtime.fn(begin)
    elif isinstance(kind.__new__, types.FunctionType):
        fill = begin
    else:
        return kind
    make = runtime.fn(kind.__new__) if isinstance(kind.__new__, types.FunctionType) else kind.__new__

    def made(*given: Any, **named: Any) -> Any:
        new = make(kind, *given, **named)
        if isinstance(new, kind):
            fill(new, *given, **named)
        return new

    return made


def _is_generated(kind: type, begin: Any) -> bool:
    """Whether `begin` is the ``__init__`` that ``dataclass`` wrote for a class, or for one that it is made of."""
    for base in kind.__mro__:
        if vars(base).get("__init__") is begin:
            params = vars(base).get("__dataclass_params__")
            return params is not None and params.init and begin.__code__.co_filename.startswith("<")
    return False


def _dataclass_init(runtime: Any, kind: type) -> Callable[..., Any]:
    """What the generated ``__init__`` of a dataclass does."""
    begin = kind.__init__  # pyright: ignore[reportGeneralTypeIssues]
    signature = inspect.signature(begin)

    def fill(new: Any, *given: Any, **named: Any) -> None:
        try:
            values = signature.bind(new, *given, **named).arguments
        except TypeError:
            begin(new, *given, **named)  # which says it in Python's words
            raise
        passed = []
        for f in kind.__dataclass_fields__.values():  # pyright: ignore[reportAttributeAccessIssue]
            what = f._field_type.name
            if what == "_FIELD_CLASSVAR":
                continue
            if f.init and f.name in values:
                value = values[f.name]
            elif f.default is not dataclasses.MISSING:
                value = runtime.attribute(f, "default")
            elif f.default_factory is not dataclasses.MISSING:
                value = runtime.fn(f.default_factory)()
            else:
                continue
            if what == "_FIELD_INITVAR":
                passed.append(value)
            else:
                object.__setattr__(new, f.name, value)
        if hasattr(kind, "__post_init__"):
            runtime.fn(new.__post_init__)(*passed)

    return fill
