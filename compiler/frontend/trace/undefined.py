"""Variables of which nothing can be done: what a name holds that was set in one branch only, or in a loop that may not
run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...diagnostics import Loc, TxcError, user_loc

__all__ = ["UNSET", "Undefined", "Unusable", "unset_name"]


class _Unset:
    """What a location holds that holds nothing: a variable without a value."""

    def __repr__(self) -> str:
        return "nothing"


UNSET = _Unset()


def unset_name(error: NameError) -> str:
    """The variable that Python found without a value."""
    return error.name or re.findall(r"'(\w+)'", str(error))[0]


class Unusable:
    """What is passed on freely, and is an error, which says why, where it is used in a way that it does not know."""

    def __init__(self, name: str, reason: str, hint: str):
        # Not by attribute: a class may give assigning to one a meaning.
        vars(self).update(name=name, reason=reason, hint=hint)

    name: str
    reason: str
    hint: str

    def error(self, loc: Loc | None) -> TxcError:
        return TxcError(self.reason, loc, self.hint, "TX0319")

    def each(self, f: Callable[[Any], Any], *reached: Any) -> Any:
        """``f(value)``, of the value that this is."""
        raise self.error(user_loc())

    def _used(self, *_: Any, **__: Any) -> Any:
        raise self.error(user_loc())

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "dtype":
            raise AttributeError(attribute)
        return self._used()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _used
    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __matmul__ = __rmatmul__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __invert__ = __bool__ = __len__ = __iter__ = _used
    __getitem__ = __setitem__ = __call__ = __float__ = __int__ = __index__ = __array_ufunc__ = _used


class Undefined(Unusable):
    """Stands for a variable that has no value."""

    def __init__(self, name: str, reason: str = "", hint: str = ""):
        super().__init__(
            name,
            reason or f"{name!r} has no value here: it is set in only one branch, or in a loop that may not run",
            hint or f"give {name} a value before",
        )

    def __repr__(self) -> str:
        return f"<{self.name} has no value here>"
