"""Conditions: Python's truth of values, where these are known; else a bool of compiled code, or a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.alternatives.one_of import OneOf
from ...state.containers.growing_lists import GrowingList
from ...state.containers.staged_dicts import StagedDict
from ...tensor.apply import apply, as_tensor
from ...tensor.promotion import truth as as_bool
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import in_scope
from ...trace.context import require
from ...trace.symint import SymInt
from ..iteration.iterables import StagedRange
from ..regions.fork import not_one_bool
from .forks import Forks

__all__ = ["Conditions"]


class Conditions(Forks):
    """What `if`, `while`, `and`, `or` and `not` ask."""

    def truth(self, value: Any, what: str = "if") -> Any:
        """The truth of a value: Python's, or a bool tensor of rank 0 where only the compiled function knows it."""
        if isinstance(value, SymInt):
            return value != 0
        if isinstance(value, MixedNumber):
            return Tensor(as_bool(value.common).value, weak="bool")
        if isinstance(value, OneOf):
            return value.each(lambda v: self._truth_of(v, what))
        if isinstance(value, GrowingList) and value.stacked:
            return as_tensor(value.length) != 0
        if isinstance(value, StagedDict):
            return value.truth
        if isinstance(value, StagedRange):
            return self.truth(value.length)
        if isinstance(value, Tensor) and value.ndim:
            with located():
                facts = require().table
                ones = [facts.decide(d, "==", 1, "a condition is one element") for d in value.dims]
                if None in ones and any(facts.varies(facts.resolve(d)) for d in value.dims):
                    text = f"whether the condition of {what}, a {value.user_type}, is one element varies with a loop"
                    raise OpError(text, "use .any() / .all()", "TX0202")
                if not all(ones):
                    raise not_one_bool(what, value)
                return value.reshape(())
        return value

    def _truth_of(self, value: Any, what: str) -> Any:
        """`truth` as a bool in any case."""
        found = self.truth(value, what)
        return found if isinstance(found, (Tensor, OneOf)) else bool(found)

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        test = self.truth(test)
        if not isinstance(test, Tensor):
            return then() if test else otherwise()
        return self._fork(test, then, otherwise, "the value")

    def and_(self, *terms: Callable[[], Any]) -> Any:
        """``a and b``: the first operand that is false, or the last one."""
        return self._logic(terms, False, whole=True)

    def or_(self, *terms: Callable[[], Any]) -> Any:
        """``a or b``: the first operand that is true, or the last one."""
        return self._logic(terms, True, whole=True)

    def all_(self, *terms: Callable[[], Any]) -> Any:
        """The truth of ``a and b``."""
        return self._logic(terms, False, whole=False)

    def any_(self, *terms: Callable[[], Any]) -> Any:
        """The truth of ``a or b``."""
        return self._logic(terms, True, whole=False)

    def _logic(self, terms: Sequence[Callable[[], Any]], decides: bool, whole: bool) -> Any:
        """Python's short circuit: what follows an operand runs where that does not decide."""
        first, *rest = terms
        value = first()
        if not rest:
            return value if whole else self._as_condition(self.truth(value))
        test = self.truth(value)
        if not isinstance(test, Tensor):
            return (value if whole else test) if bool(test) is decides else self._logic(rest, decides, whole)
        decided = value if whole else decides
        as_decided, by_the_rest = (lambda: decided), (lambda: self._logic(rest, decides, whole))
        then, otherwise = (as_decided, by_the_rest) if decides else (by_the_rest, as_decided)
        return self._fork(test, then, otherwise, "the value")

    def _as_condition(self, found: Any) -> Any:
        """A truth as a bool of Python's, so that those of all terms are of one type."""
        return Tensor(as_bool(found).value, weak="bool") if isinstance(found, Tensor) else found

    def not_(self, value: Any) -> Any:
        if isinstance(value, SymInt):
            return value == 0
        value = self.truth(value, "not")
        if not isinstance(value, Tensor):
            return not value
        opposites = require().opposites
        found = opposites.get(value.value)
        if found is None or not in_scope(found):
            found = apply("logical_not", value).value
            opposites[value.value], opposites[found] = found, value.value
        return Tensor(found, weak="bool")

    def _deferred(self, test: Callable[[], Any]) -> Any:
        """The condition of a loop: a tensor where calls may differ in it."""
        with require().deferred():
            return self.truth(test(), "while")
