"""From a graph to a function on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...dialects.dims.dims import Dim
from ..pipeline import code_of, run_stages
from .executable import GpuCode

if TYPE_CHECKING:
    from ..config.options import Options
    from ..driver.executable import CodeSpec
    from ..frontend.trace.graph import Graph
    from ..instrumentation import InstrumentationOptions

__all__ = ["compile_for_gpu"]


def compile_for_gpu(
    graph: Graph,
    options: Options,
    strides: Sequence[tuple[Dim, ...] | None] = (),
    watch: InstrumentationOptions | None = None,
) -> tuple[CodeSpec, GpuCode]:
    """Compile for the options' device, and say how to call it.  Errors as of `run_stages`; nothing is loaded yet."""
    stages = run_stages(graph, options, strides=strides, watch=watch, stop_after="ptx")
    assert stages.module is not None and stages.ptx is not None and stages.plan is not None
    code = code_of(graph, stages.module)._replace(by_python=f"it runs on {options.device}")
    return code, GpuCode(options.device, stages.ptx, stages.plan, code)
