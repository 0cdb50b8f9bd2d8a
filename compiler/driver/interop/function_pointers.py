"""What a jitted function is to libraries that call back: `c_function` of a C type, and pointers of the usual ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import on_demand

if TYPE_CHECKING:
    from ...aot.c_function import CFunction
    from ...config.options import Options

__all__ = ["FunctionPointers"]


class FunctionPointers:
    """A mixin of `Jitted`."""

    __slots__ = ()

    if TYPE_CHECKING:
        __wrapped__: Callable[..., Any]
        _options: Options

    def c_function(self, type: str) -> CFunction:
        """Compile it for a C type, ``"f64(f64)"``, ``"f64(i32, f64*)"``: an object with `address`, `ctypes` and
        `low_level_callable`.

        What it takes from outside is what that is now.  TxcError where it has no such type.
        """
        return on_demand.c_function().c_function(self.__wrapped__, type, self._options)

    @property
    def address(self) -> int:
        """The address of ``double f(double, …)``, of all parameters without a default; it lives as long as this object.

        TxcError where there is no such function: `c_function` makes those of other types.
        """
        return self._usual(f"f64({', '.join(['f64'] * self._least)})").address

    @property
    def ctypes(self) -> Any:
        """The function of `address` for `ctypes`.  Errors as of `address`."""
        return self._usual(f"f64({', '.join(['f64'] * self._least)})").ctypes

    @property
    def low_level_callable(self) -> Any:
        """A `scipy.LowLevelCallable` for integration: ``double (double)``, or of several parameters, as `args=` and
        `nquad` have them, ``double (int, double *)``.

        Errors as of `address`; ImportError where there is no SciPy.
        """
        return self._usual("f64(f64)" if self._least < 2 else "f64(i32, f64*)").low_level_callable

    @property
    def _least(self) -> int:
        """How many parameters have no default."""
        parameters = inspect.signature(self.__wrapped__).parameters.values()
        return sum(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)

    def _usual(self, type: str) -> CFunction:
        """That of one of the usual types, made once: whoever has its address keeps no more than this object."""
        said = on_demand.diagnostics()
        made: dict[str, CFunction] = self.__dict__.setdefault("_c_functions", {})
        if type not in made:
            try:
                made.setdefault(type, self.c_function(type))  # another thread's stays, whose address is known
            except said.TxcError as error:
                hint = f"{error.hint}; " if error.hint else ""
                hint += f'{self.__wrapped__.__name__}.c_function("f64(i32, f64*)") is that of another C type'
                raise said.TxcError(error.message, error.loc, hint, error.code) from None
        return made[type]
