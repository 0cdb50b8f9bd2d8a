"""txc's dialects and passes as an xDSL universe: stock `xdsl-opt` and `xdsl-gui` know them once txc is installed."""

from __future__ import annotations

from xdsl.universe import Universe

from ...dialects.kernel import KERNEL
from ...dialects.loop import LOOP
from ...dialects.tx import tx_dialect
from ...passes.cost.instrument import InstrumentPass
from ..pipeline import PASSES

__all__ = ["UNIVERSE"]

UNIVERSE = Universe(
    all_dialects={"tx": tx_dialect, "kernel": lambda: KERNEL, "loop": lambda: LOOP},
    all_passes={p.name: (lambda made=p: made) for p in (*PASSES.values(), InstrumentPass)},
)
