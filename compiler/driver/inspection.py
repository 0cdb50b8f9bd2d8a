"""What was compiled for a call, and why: stages, explanations, pages and profiles of jitted functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import on_demand
from ..cache.disk_cache import explain_miss
from ..cache.source_lookup import SourceLookup
from ..call.facts import StrideClass, describe
from ..call.signature import Signature
from ..config.options import Options
from .compile_cache import stages_of
from .specializations import Version, describe_versions, described

if TYPE_CHECKING:
    from ...passes.cost.remarks import Remark
    from ...runtime.stub.native_call import Record
    from ..cache.captured_value import Captured
    from ..call.arguments import Call
    from ..frontend.trace.graph import Graph
    from ..tools.autotune import Tuned
    from ..tools.explain import Explanation
    from ..tools.explore.page import Page
    from .jit import Jitted

__all__ = ["Inspection", "Lowered", "lowered", "profiled"]


class Lowered:
    """The stages of one compilation."""

    def __init__(self, stages: Any):
        self.stages = stages

    def as_text(self, stage: str = "tensor") -> str:
        """The program as it was after `stage`; OptionError for a stage that there is not."""
        return self.stages.text(stage)


def lowered(graph: Graph, facts: Sequence[StrideClass], options: Options, found: Tuned | None = None) -> Lowered:
    """Every stage of a graph's compilation, as text."""
    watch = on_demand.instrumentation().InstrumentationOptions(keep_text=True, locations=options.debug)
    return Lowered(stages_of(graph, facts, options, watch, found))


def profiled(
    graph: Graph,
    facts: Sequence[StrideClass],
    options: Options,
    arrays: Sequence[Any],
    integers: Callable[[Any], Sequence[int]],
    repeats: int | None,
) -> Any:
    """Where the time of a call goes (`tools/profile.py`)."""
    return on_demand.profile().profile_graph(graph, facts, options, arrays, integers, repeats)


class Inspection:
    """A mixin of `Jitted`."""

    __slots__ = ()

    if TYPE_CHECKING:
        __wrapped__: Callable[..., Any]
        _options: Options
        _signature: inspect.Signature
        _versions: dict[Any, list[Version]]
        _lookups: list[tuple[Any, SourceLookup]]
        _records: dict[Version, Record | None] | None

        def options(self, **given: Any) -> Jitted: ...
        def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call: ...
        def _trace(self, call: Call) -> tuple[Graph, Sequence[Captured], Sequence[StrideClass]]: ...
        def _tuned(self, call: Call, graph: Graph, facts: Sequence[StrideClass]) -> Tuned | None: ...
        def _made(self) -> list[Version]: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Every stage of the compilation for these arguments, as text; nothing is run (but by a search: `autotune`)."""
        call = self._bind(args, kwargs)
        graph, _, facts = self._trace(call)
        found = self._tuned(call, graph, facts)
        if found is not None:
            found.remark(graph.name)
        return lowered(graph, facts, self._options, found)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The expression graph for these arguments."""
        return self._trace(self._bind(args, kwargs))[0]

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What was compiled for these arguments and why: facts, guards, decisions with figures, kernels."""
        return self._explained(args, kwargs)[0]

    def explore(self, *args: Any, **kwargs: Any) -> Page:
        """A page of HTML, to be saved or shown by a notebook: the program, each stage beside it, what became of each
        line, decisions, and times of passes, for these arguments.  Nothing is run (but by a search: `autotune`)."""
        said, stages, remarks = self.options(debug=True)._explained(args, kwargs)
        page = on_demand.explore_page()
        return page.page_of(self.__wrapped__.__name__, said, page.text_of(self.__wrapped__), stages, remarks)

    def _explained(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Explanation, Any, Sequence[Remark]]:
        """`explain()`, and the stages and remarks that it speaks of."""
        call = self._bind(args, kwargs)
        graph, captured, _ = self._trace(call)
        with on_demand.remarks().collect() as remarks:
            stages = self.lower(*args, **kwargs).stages
        said = on_demand.explain().explain(
            self.__wrapped__.__name__,
            graph,
            [f"{name}: {describe(k)}" for name, k in zip(call.names(), call.key, strict=True)],
            [str(c) for c in captured],
            stages,
            remarks,
            self._options.is_plain,
        )
        return said, stages, remarks

    def profile(self, *args: Any, repeats: int | None = None, **kwargs: Any) -> Any:
        """Where the time of such a call goes, a `Profile`: time, bytes, flops and rates of each kernel; `print` it.

        It is the call of median length of `repeats` (None: 20), results going to memory that is mapped already.
        Arguments that the function writes to are copied before each call and stay as they are.  On a GPU it is a
        `GpuProfile`, with what the device measures: time, or on the simulator counts, for which one call is enough.
        ValueError where `repeats` is not a positive int; errors as of a call.
        """
        call = self._bind(args, kwargs)
        graph, _, facts = self._trace(call)
        signature = Signature.of(graph)
        integers = functools.partial(call.integers, signature)
        return profiled(graph, facts, self._options, call.arrays(signature), integers, repeats)

    def explain_cache(self) -> str:
        """For each look-up in the persistent cache: whether it was a hit, and why not.

        A line each, in the order of the calls that had no code yet in this process; ``no look-ups`` where none had.
        """
        lines = []
        for facts, lookup in self._lookups:
            outcome = "hit, neither staged nor compiled"
            if lookup.why:
                nearest = f" ({explain_miss(lookup.key)})" if lookup.key is not None and not lookup.kept else ""
                outcome = f"miss: {lookup.why}{nearest}{'; kept now' if lookup.kept else ''}"
            lines.append(f"{'; '.join(describe(k) for k in facts) or 'no arguments'}: {outcome}")
        return "\n".join(lines) or "no look-ups"

    def signatures(self) -> list[str]:
        """The facts for which there is code, a line each."""
        return ["; ".join(describe(k) for k in key[0]) for key in self._versions]

    def explain_compile(self) -> str:
        """Every version there is: why it was compiled, its facts and guards, and whether calls enter it directly."""
        return describe_versions(self.__wrapped__.__name__, self._made(), self._waiting())

    def _waiting(self) -> list[Version]:
        """Versions that the next call but one enters directly."""
        return [version for version, record in (self._records or {}).items() if record is None]

    def _repr_html_(self) -> str:
        waiting, name = self._waiting(), self.__wrapped__.__qualname__
        return on_demand.notebook().versions_as_html(
            f"{name}{self._signature}", [described(v, waiting) for v in self._made()]
        )
