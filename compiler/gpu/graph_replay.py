"""Launches that come again, as one graph of the device: one call of the driver instead of one a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...runtime.gpu.gpu_device import KernelLaunch

if TYPE_CHECKING:
    from ...runtime.gpu.gpu_device import GpuGraph, GpuModule

__all__ = ["MOST_LAUNCHES", "Replays"]

#: A graph of more kernels takes longer to record than its launches one by one.
MOST_LAUNCHES = 256


class Replays:
    """The graph of a function's launches.

    A graph is made when the same kernels are launched in the same order by two calls one after the other.  Sizes and
    addresses may be others in each call: the nodes whose launch is another one are changed.
    """

    def __init__(self) -> None:
        self._graph: GpuGraph | None = None
        #: What the graph, or the latest call where there is none, launches; and what that follows from.
        self._launches: list[KernelLaunch] = []
        self._given: tuple[int, ...] | None = None

    def run(
        self,
        module: GpuModule,
        given: tuple[int, ...],
        steps: Callable[[Callable[[KernelLaunch], None]], None],
    ) -> None:
        """Launch what `steps` passes to its argument, which follows from the numbers that are `given`."""
        if self._graph is not None and given == self._given:
            self._graph.launch()
            return
        launches: list[KernelLaunch] = []
        steps(launches.append)
        before, self._launches, self._given = self._launches, launches, given
        graph, self._graph = self._graph, None  # for good where something fails
        again = [made.kernel for made in launches] == [made.kernel for made in before]
        if not again or not 2 <= len(launches) <= MOST_LAUNCHES:
            for made in launches:
                module.launch(*made)
            return
        if graph is None:
            graph = module.record(launches)
        else:
            for position, (old, new) in enumerate(zip(before, launches, strict=True)):
                if old != new:
                    graph.change(position, new)
        self._graph = graph
        graph.launch()
