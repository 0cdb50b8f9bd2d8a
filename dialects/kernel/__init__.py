"""The `kernel` dialect: fused loop nests over whole tensors (stage `fused`), then over buffers (stage `buffers`).

`kernel.generic` is the one compute op: an iteration space, an index map for every operand, a scalar body, and for
reductions an order, identities and a merge.  `kernel.row_group` groups nests that share their outer iterators, so that
what flows between them is one row and stays in cache.  On tensors a nest has results; on buffers it has only `outs`.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .access import BOUND, segments, shape_of
from .body import CallOp, ReadOp, YieldOp
from .control import ForOp, IfOp, RowGroupOp, WhileOp
from .custom import CustomOp
from .generic import EmptyOp, GenericOp
from .scatter import ScatterOp

__all__ = [
    "BOUND", "KERNEL", "CallOp", "CustomOp", "EmptyOp", "ForOp", "GenericOp", "IfOp", "ReadOp", "RowGroupOp",
    "ScatterOp", "WhileOp", "YieldOp", "segments", "shape_of",
]  # fmt: skip

KERNEL = Dialect(
    "kernel", [CallOp, EmptyOp, ForOp, CustomOp, GenericOp, IfOp, ReadOp, RowGroupOp, ScatterOp, WhileOp, YieldOp]
)
