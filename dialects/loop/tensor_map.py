"""Memory as boxes of it are copied by a GPU: `loop.tensor_map`.

What a tensor map can describe is the CUDA driver's ("Tensor Map Object Management", ``cuTensorMapEncodeTiled``): up to
five dims, the last contiguous, the step along each of the others a multiple of that along the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import known_operand, map_after
from ..attributes import BoxInfo, BufferInfo, BufferType, MapAttr, TensorMapType, map_attr
from ..dims.analysis import expand_mods, linear_in, simplify
from ..dims.dims import Dim, dim
from ..dims.index_map import IndexMap
from ..region_assembly import print_rest, read_rest

__all__ = ["TensorMapOp", "strides_of_map"]


def strides_of_map(info: BufferInfo, index: IndexMap) -> tuple[Dim, tuple[Dim, ...]] | None:
    """Where in a buffer the first point of an index map lies, and the elements from point to point along each dim.

    None where boxes of the points cannot be copied, whatever the sizes are.
    """
    if index.guards or not 1 <= index.rank <= TensorMapOp.MOST_DIMS or not all(s.nonneg for s in info.strides):
        return None
    found = linear_in(simplify(expand_mods(info.address(index.exprs)), index.bounds), index.bounds)
    if found is None:
        return None
    steps = tuple(found[0].get(iterator, dim(0)) for iterator in index.bounds)
    if steps[-1].const != 1 or not all(s.terms and s.nonneg for s in steps):
        return None
    return (found[1], steps) if all((outer % inner).const == 0 for outer, inner in pairwise(steps)) else None


@irdl_op_definition
class TensorMapOp(IRDLOperation):
    """What `loop.bulk_copy` has to know of a buffer: the elements at the points of an index map, copied in boxes.

    The host makes it, before the grid whose blocks copy.  The map's iterators are the dims of the tensor map.
    """

    name = "loop.tensor_map"
    source = operand_def(BufferType)
    index = attr_def(MapAttr)
    result = result_def(TensorMapType)
    traits = traits_def(Pure())

    MOST_DIMS: ClassVar = 5
    #: Elements of a box along a dim, at most.
    MOST_OF_BOX: ClassVar = 256

    def __init__(self, source: SSAValue, index: IndexMap, box: Sequence[int]):
        assert isinstance(source.type, BufferType)
        made = TensorMapType(BoxInfo(source.type.data.dtype, tuple(box)))
        Operation.__init__(self, operands=[source], attributes={"index": map_attr(index)}, result_types=[made])

    @property
    def info(self) -> BufferInfo:
        assert isinstance(self.source.type, BufferType)
        return self.source.type.data

    @property
    def box(self) -> BoxInfo:
        assert isinstance(self.result.type, TensorMapType)
        return self.result.type.data

    def print(self, printer: Printer) -> None:
        """``loop.tensor_map %x at (d0: n, d1: m) -> (d0, d1) box [128, 64]``"""
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f" at {self.index.data} box {list(self.box.sizes)}")
        print_rest(printer, self, ("index",))

    @classmethod
    def parse(cls, parser: Parser) -> TensorMapOp:
        source = known_operand(parser)
        if not isinstance(source.type, BufferType):
            parser.raise_error(f"expected a buffer, got {source.type}")
        attributes: dict[str, Attribute] = {"index": map_attr(map_after(parser, "at"))}
        parser.parse_keyword("box")
        box = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)
        made = TensorMapType(BoxInfo(source.type.data.dtype, tuple(box)))
        return cls.create(operands=[source], result_types=[made], attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        index, box = self.index.data, self.box
        if box.dtype != self.info.dtype or len(box.sizes) != index.rank:
            raise VerifyException(f"boxes of {self.info.dtype} with {index.rank} dims are needed, not {box}")
        if not all(1 <= size <= self.MOST_OF_BOX for size in box.sizes):
            raise VerifyException(f"a box has at most {self.MOST_OF_BOX} elements along each dim, not {box}")
        if len(index.exprs) != self.info.rank:
            raise VerifyException(f"indices for a buffer of rank {self.info.rank} are needed")
        if strides_of_map(self.info, index) is None:
            raise VerifyException(
                f"no tensor map describes {index} of {self.info}: at most {self.MOST_DIMS} dims, the last contiguous, "
                "the step along each of the others a multiple of that along the next one"
            )
