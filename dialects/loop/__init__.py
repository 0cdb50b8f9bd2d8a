"""The `loop` dialect: explicit loops over explicit memory, for CPU threads, vector lanes and GPU grids alike.

Iterators are named symbols, not SSA values: ``loop.for i = 0 to n`` makes ``i`` usable in every index expression of the
region, so addresses stay symbolic (and simplifiable) until code is emitted.  Bodies are scalar: a `loop.for` with
``vector`` lanes and ``unroll`` copies means the same as one without; how wide it runs is a schedule, never a change of
result.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from ..attributes import BufferInfo, BufferType, TensorMapType
from .amx import AmxOp
from .base import YieldOp
from .control import ForOp, IfOp, ParallelOp, WhileOp
from .gpu_matrix import AsyncCopyOp, BulkCopyOp, MmaOp
from .index import BindOp, IndexOp
from .memory import AllocOp, LoadOp, PrefetchOp, StoreOp, TimestampOp
from .merge import MergeOp
from .partition import PartitionOp
from .reductions import ReduceOp, ScanOp
from .shuffle import ShuffleOp
from .tensor_map import TensorMapOp
from .threads import BarrierOp, ThreadsOp

__all__ = [
    "LOOP", "AllocOp", "AmxOp", "AsyncCopyOp", "BarrierOp", "BindOp", "BufferInfo", "BulkCopyOp", "ForOp", "IfOp",
    "IndexOp", "LoadOp", "MergeOp", "MmaOp", "ParallelOp", "PartitionOp", "PrefetchOp", "ReduceOp", "ScanOp",
    "ShuffleOp", "StoreOp", "TensorMapOp", "ThreadsOp", "TimestampOp", "WhileOp", "YieldOp",
]  # fmt: skip


LOOP = Dialect(
    "loop",
    [
        AllocOp, AsyncCopyOp, BarrierOp, BindOp, BulkCopyOp, TimestampOp, ForOp, IfOp, IndexOp, LoadOp, MmaOp,
        MergeOp, ParallelOp, PartitionOp, PrefetchOp, ReduceOp, ScanOp, ShuffleOp, StoreOp, TensorMapOp, ThreadsOp,
        AmxOp, WhileOp, YieldOp,
    ],
    [BufferType, TensorMapType],
)  # fmt: skip
