"""Copies that transpose: by the tiles of the map schedule, into memory from which a later nest reads whole rows."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import scalar_type
from ....dialects.dims.dims import Dim
from ....dialects.dims.index_map import IndexMap
from ..access import buffer_info
from ..body import ScheduleContext
from ..language.lower import write_scheduled
from ..language.nest import Nest
from .schedule import VectorConfig, tiles

__all__ = ["copy_transposed"]


def copy_transposed(
    context: ScheduleContext, block: Block, extents: tuple[Dim, Dim], source: tuple[SSAValue, Sequence[Dim]],
    target: tuple[SSAValue, Sequence[Dim]], lanes: VectorConfig,
) -> None:  # fmt: skip
    """Append loops that copy an element of `source` to one of `target`, each with its indices in ``d0`` and ``d1``.

    The source is contiguous along ``d0``, the target along ``d1``.
    """
    info, body = buffer_info(source[0]), Block()
    body.add_op(kernel.YieldOp(body.insert_arg(scalar_type(info.dtype), 0)))
    read, store = (IndexMap(extents, tuple(index)) for _, index in (source, target))
    copy = kernel.GenericOp([source[0]], [target[0]], extents, [read], [store], body, [])
    width, side = lanes.width(info.dtype.part.bytes * 8), context.costs.l1_tile
    write_scheduled(Nest(context, copy, serial=True), lambda nest: tiles(nest, 0, (side, side), width), block)
    copy.drop_all_references()
