"""The `loop` dialect: explicit loops over explicit memory, for CPU threads, vector lanes and GPU grids alike.

Iterators are named symbols, not SSA values: ``loop.for i = 0 to n`` makes ``i`` usable in every index expression of the
region, so addresses stay symbolic (and simplifiable) until code is emitted.  Bodies are scalar: a `loop.for` with
``vector`` lanes and ``unroll`` copies means the same as one without; how wide it runs is a schedule, never a change of
result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    RANGE,
    arguments_of,
    arguments_with_values,
    dim_after,
    dims_in_brackets,
    flags,
    guards_of,
    in_parentheses,
    known_operand,
    number_after,
    operands_in,
    optional_dim,
    print_arguments,
    print_arguments_with_values,
    print_buffer,
    print_constants,
    print_guards,
    print_if,
    print_range,
    print_region,
    print_rest,
    range_attributes,
    read_buffer,
    read_constants,
    read_if,
    read_order,
    read_range,
    read_rest,
    symbol_after,
    word,
)
from ..attributes import (
    BufferInfo,
    BufferType,
    DimAttr,
    DimsAttr,
    OrderAttr,
    TensorMapType,
    buffer_type,
    dim_attr,
    dims_attr,
    integer_attr,
    order_attr,
    scalar_dtype,
    scalar_type,
    string_attr,
    write_dims,
)
from ..dims.dims import Dim, dim
from ..order import Order
from .amx import AmxOp
from .base import Ranged, YieldOp, body_of, expect_yield, parallel_around
from .gpu_matrix import AsyncCopyOp, BulkCopyOp, MmaOp
from .merge import MergeOp
from .partition import PartitionOp
from .prefetch import PrefetchOp
from .shuffle import ShuffleOp
from .tensor_map import TensorMapOp
from .threads import ThreadsOp

__all__ = [
    "LOOP",
    "AllocOp",
    "AmxOp",
    "AsyncCopyOp",
    "BarrierOp",
    "BindOp",
    "BufferInfo",
    "BulkCopyOp",
    "ForOp",
    "IfOp",
    "IndexOp",
    "LoadOp",
    "MergeOp",
    "MmaOp",
    "ParallelOp",
    "PartitionOp",
    "PrefetchOp",
    "ReduceOp",
    "ScanOp",
    "ShuffleOp",
    "StoreOp",
    "TensorMapOp",
    "ThreadsOp",
    "TimestampOp",
    "WhileOp",
    "YieldOp",
]  # fmt: skip


@irdl_op_definition
class ParallelOp(Ranged):
    """Independent iterations; ``grain`` of them make one chunk.  ``kind``:

    ``cpu_thread``: by a pool's threads.  ``gpu_block``: by the blocks of a grid, each of ``threads`` threads with
    ``shared`` bytes of block memory; what is directly in it all threads of a block do alike, a store one of them.
    ``gpu_warp``: by the warps of a block, whose 32 threads then are "all threads".  ``gpu_thread``: by the threads of
    the block or warp around it.  ``aligned`` are expressions that are 0 wherever a gpu_block runs (``m % 4``), so that
    vectors in memory are aligned; what makes the loop guards it by that condition.
    """

    name = "loop.parallel"
    kind = attr_def(StringAttr)
    grain = attr_def(DimAttr)
    threads = opt_attr_def(IntegerAttr)
    shared = opt_attr_def(DimAttr)
    aligned = opt_attr_def(DimsAttr)
    body = region_def("single_block")

    KINDS: ClassVar = ("cpu_thread", "gpu_block", "gpu_warp", "gpu_thread")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        block: Block,
        *,
        step: Dim | int = 1,
        grain: Dim | int = 1,
        kind: str = "cpu_thread",
        threads: int = 0,
        shared: Dim | int = 0,
        aligned: Sequence[Dim] = (),
    ):
        attributes = range_attributes(iv, lower, upper, step) | {
            "kind": string_attr(kind),
            "grain": dim_attr(dim(grain)),
        }
        if threads:
            attributes["threads"] = integer_attr(threads)
        if shared != 0:
            attributes["shared"] = dim_attr(dim(shared))
        if aligned:
            attributes["aligned"] = dims_attr(tuple(aligned))
        Operation.__init__(self, attributes=attributes, regions=[Region(block)])

    @property
    def n_threads(self) -> int:
        """The threads of each block of a gpu_block."""
        assert self.threads is not None
        return self.threads.value.data

    @property
    def shared_bytes(self) -> Dim:
        return dim(0) if self.shared is None else self.shared.data

    def print(self, printer: Printer) -> None:
        """``loop.parallel i = 0 to n step 4 on gpu_block threads 128 shared 64*m aligned [n % 4] { … }``"""
        print_range(printer, self)
        printer.print_string(f" on {self.kind.data}")
        if self.grain.data.const != 1:
            printer.print_string(f" grain {self.grain.data}")
        if self.threads is not None:
            printer.print_string(f" threads {self.n_threads}")
        if self.shared is not None:
            printer.print_string(f" shared {self.shared.data}")
        if self.aligned is not None:
            printer.print_string(f" aligned [{write_dims(self.aligned.data)}]")
        print_rest(printer, self, (*RANGE, "kind", "grain", "threads", "shared", "aligned"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        attributes = read_range(parser)
        parser.parse_keyword("on")
        attributes["kind"] = string_attr(parser.parse_identifier())
        attributes["grain"] = dim_attr(optional_dim(parser, "grain") or dim(1))
        if (threads := number_after(parser, "threads")) is not None:
            attributes["threads"] = integer_attr(threads)
        if (shared := optional_dim(parser, "shared")) is not None:
            attributes["shared"] = dim_attr(shared)
        if word(parser, "aligned"):
            attributes["aligned"] = dims_attr(dims_in_brackets(parser))
        attributes |= read_rest(parser, header=True)
        return cls.create(attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        kind = self.kind.data
        if kind not in self.KINDS:
            raise VerifyException(f"'kind' is one of {', '.join(self.KINDS)}, not {kind!r}")
        if kind == "gpu_block":
            if self.threads is None or not 1 <= self.n_threads <= 1024:
                raise VerifyException("a gpu_block has 'threads', 1 to 1024")
        elif self.threads is not None or self.shared is not None or self.aligned is not None:
            raise VerifyException(f"'threads', 'shared' and 'aligned' belong to a gpu_block, not to a {kind}")
        around = parallel_around(self)
        if kind in _AROUND and around not in _AROUND[kind]:
            place = f"in a {around}" if around else "in none"
            raise VerifyException(f"a {kind} loop stands in a {' or '.join(_AROUND[kind])}, not {place}")
        expect_yield(self, 0, ())


#: What the kinds of a GPU stand in.
_AROUND = {"gpu_warp": ("gpu_block",), "gpu_thread": ("gpu_block", "gpu_warp")}


@irdl_op_definition
class ForOp(Ranged):
    """A loop.  With ``vector`` and ``unroll`` (product > 1) its iterations are independent and run as lanes,
    between which only `loop.shuffle` moves values.

    Without lanes, iterations run in order and may carry values (`inits`, block arguments, yield, results).  With
    ``break`` the body also yields an i1, its last value: the loop ends after an iteration where it is true.
    An ``outline`` loop becomes a function of its own where code has functions: the registers that it needs are not
    taken from the loops around it.  It carries no values.
    """

    name = "loop.for"
    inits = var_operand_def()
    vector = attr_def(IntegerAttr)
    unroll = attr_def(IntegerAttr)
    break_flag = opt_attr_def(UnitAttr, attr_name="break")
    outline = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        block: Block,
        *,
        inits: Sequence[SSAValue] = (),
        step: Dim | int = 1,
        vector: int = 1,
        unroll: int = 1,
        break_flag: bool = False,
        outline: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, step) | {
            "vector": integer_attr(vector),
            "unroll": integer_attr(unroll),
        }
        flags = {"break": break_flag, "outline": outline}
        attributes.update({name: UnitAttr() for name, is_set in flags.items() if is_set})
        Operation.__init__(
            self,
            operands=list(inits),
            result_types=[v.type for v in inits],
            attributes=attributes,
            regions=[Region(block)],
        )

    @property
    def lanes(self) -> int:
        return self.vector.value.data * self.unroll.value.data

    def print(self, printer: Printer) -> None:
        """``loop.for i = 0 to n step 2 vector 8 unroll 4 break outline carry (%v = %zero) { … }``"""
        print_range(printer, self)
        for name in ("vector", "unroll"):
            number = self.attributes[name]
            if isinstance(number, IntegerAttr) and number.value.data != 1:
                printer.print_string(f" {name} {number.value.data}")
        for name in ("break", "outline"):
            if name in self.attributes:
                printer.print_string(f" {name}")
        if self.inits:
            printer.print_string(" carry ")
            print_arguments_with_values(printer, self.block.args, self.inits)
        print_rest(printer, self, (*RANGE, "vector", "unroll", "break", "outline"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        attributes = read_range(parser)
        for name in ("vector", "unroll"):
            attributes[name] = integer_attr(number_after(parser, name, 1))
        attributes |= flags(parser, "break", "outline")
        arguments, inits = arguments_with_values(parser) if word(parser, "carry") else ([], [])
        attributes |= read_rest(parser, header=True)
        body = body_of(parser, arguments)
        return cls.create(operands=inits, result_types=[v.type for v in inits], attributes=attributes, regions=[body])

    def verify_(self) -> None:
        self.verify_range()
        types = tuple(v.type for v in self.inits)
        if self.lanes > 1 and types:
            raise VerifyException("a loop with lanes carries no values; use loop.reduce")
        if self.outline is not None and types:
            raise VerifyException("an outlined loop carries no values")
        if self.lanes > 1 and self.break_flag is not None:
            raise VerifyException("a loop with lanes has no 'break'")
        if self.lanes > 1 and self.step.data.const != 1:
            raise VerifyException("a loop with lanes has step 1")
        if self.vector.value.data < 1 or self.unroll.value.data < 1:
            raise VerifyException("'vector' and 'unroll' are at least 1")
        if tuple(a.type for a in self.block.args) != types or tuple(r.type for r in self.outs) != types:
            raise VerifyException("initial values, block arguments and results must have the same types")
        expect_yield(self, 0, types if self.break_flag is None else (*types, IntegerType(1)))


@irdl_op_definition
class ReduceOp(Ranged):
    """An ordered reduction over ``lower <= iv < upper`` (step 1) into `len(identity)` accumulators (`dialects.order`).

    Region 0 yields an element's states (with an ``fma`` order: two factors); region 1 combines ``(older…, newer…)``.
    ``vector`` lanes of the order's virtual lanes run as one machine vector; with ``cooperative`` all threads of the
    gpu_block or gpu_warp that it is in fold together, and all get the results: schedules, never a change of result.
    """

    name = "loop.reduce"
    order = attr_def(OrderAttr)
    identity = attr_def(ArrayAttr)
    vector = attr_def(IntegerAttr)
    cooperative = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")
    combiner = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        body: Block,
        combiner: Block,
        *,
        order: Order,
        identity: Sequence[Attribute],
        types: Sequence[Attribute],
        vector: int = 1,
        cooperative: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, 1) | {
            "order": order_attr(order),
            "identity": ArrayAttr(identity),
            "vector": integer_attr(vector),
        }
        if cooperative:
            attributes["cooperative"] = UnitAttr()
        regions = [Region(body), Region(combiner)]
        Operation.__init__(self, result_types=list(types), attributes=attributes, regions=regions)

    def block_bytes(self, threads: int) -> int:
        """The block memory in which the warps of a block of so many threads hand each other what they fold."""
        around = parallel_around(self)
        if self.cooperative is None or around != "gpu_block" or threads <= 32:
            return 0
        return sum(-(-threads // 32 * scalar_dtype(out.type).bytes // 16) * 16 for out in self.outs)

    def print(self, printer: Printer) -> None:
        """``loop.reduce k = 0 to m order tree<1024, 64> vector 8 init -inf : f32 { … } combine (%a, %b) { … }``"""
        print_range(printer, self)
        printer.print_string(f" order {self.order.data}")
        if self.vector.value.data != 1:
            printer.print_string(f" vector {self.vector.value.data}")
        if self.cooperative is not None:
            printer.print_string(" cooperative")
        printer.print_string(" init ")
        print_constants(printer, self.identity.data, [out.type for out in self.outs])
        print_rest(printer, self, (*RANGE, "order", "vector", "cooperative", "identity"), header=True)
        print_region(printer, self.body)
        printer.print_string(" combine ")
        print_arguments(printer, self.combiner.block.args)
        print_region(printer, self.combiner)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        attributes = read_range(parser)
        parser.parse_keyword("order")
        attributes["order"] = read_order(parser)
        attributes["vector"] = integer_attr(number_after(parser, "vector", 1))
        attributes |= flags(parser, "cooperative")
        parser.parse_keyword("init")
        attributes["identity"], types = read_constants(parser)
        attributes |= read_rest(parser, header=True)
        body = body_of(parser)
        parser.parse_keyword("combine")
        combiner = body_of(parser, arguments_of(parser, types * 2, "combine"))
        return cls.create(result_types=types, attributes=attributes, regions=[body, combiner])

    def verify_(self) -> None:
        self.verify_range()
        if self.cooperative is not None and parallel_around(self) not in ("gpu_block", "gpu_warp"):
            raise VerifyException("a cooperative reduction stands in a gpu_block or gpu_warp, whose threads share it")
        types = tuple(r.type for r in self.outs)
        if len(self.identity.data) != len(types) or not types:
            raise VerifyException("one identity a state, and at least one state")
        order = self.order.data
        if order.product and len(types) != 1:
            raise VerifyException(f"an order with {order.product} has one state")
        expect_yield(self, 0, types * 2 if order.product else types)
        if tuple(a.type for a in self.combiner.block.args) != types * 2:
            raise VerifyException("the combiner takes the older states, then the newer")
        expect_yield(self, 1, types)


@irdl_op_definition
class ScanOp(Ranged):
    """The partial results of an ordered fold over ``lower <= iv < upper`` (step 1), which starts from `inits`.

    Region 0 yields an element's states; region 1 combines ``(older…, newer…)``; region 2 takes the states at each
    element, of those up to it or with ``exclusive`` of those before it, and stores what is made of them.  The results
    are the states after the last element, `inits` where there is none.  The order is ``prefix`` (see `dialects.order`).
    """

    name = "loop.scan"
    inits = var_operand_def()
    order = attr_def(OrderAttr)
    identity = attr_def(ArrayAttr)
    exclusive = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")
    combiner = region_def("single_block")
    epilogue = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        inits: Sequence[SSAValue],
        body: Block,
        combiner: Block,
        epilogue: Block,
        *,
        order: Order,
        identity: Sequence[Attribute],
        exclusive: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, 1) | {
            "order": order_attr(order),
            "identity": ArrayAttr(identity),
        }
        if exclusive:
            attributes["exclusive"] = UnitAttr()
        Operation.__init__(
            self,
            operands=list(inits),
            result_types=[v.type for v in inits],
            attributes=attributes,
            regions=[Region(body), Region(combiner), Region(epilogue)],
        )

    def print(self, printer: Printer) -> None:
        """``loop.scan k = 0 to m order prefix<…> from (%z) init 0.0 : f32 {…} combine (…) {…} epilogue (…) {…}``"""
        print_range(printer, self)
        printer.print_string(f" order {self.order.data}")
        if self.exclusive is not None:
            printer.print_string(" exclusive")
        printer.print_string(" from (")
        printer.print_list(self.inits, printer.print_operand)
        printer.print_string(") init ")
        print_constants(printer, self.identity.data, [out.type for out in self.outs])
        print_rest(printer, self, (*RANGE, "order", "exclusive", "identity"), header=True)
        print_region(printer, self.body)
        for name, region in (("combine", self.combiner), ("epilogue", self.epilogue)):
            printer.print_string(f" {name} ")
            print_arguments(printer, region.block.args)
            print_region(printer, region)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        attributes = read_range(parser)
        parser.parse_keyword("order")
        attributes["order"] = read_order(parser)
        attributes |= flags(parser, "exclusive")
        parser.parse_keyword("from")
        inits = operands_in(parser)
        parser.parse_keyword("init")
        attributes["identity"], types = read_constants(parser)
        attributes |= read_rest(parser, header=True)
        regions = [body_of(parser)]
        for name, count in (("combine", 2), ("epilogue", 1)):
            parser.parse_keyword(name)
            regions.append(body_of(parser, arguments_of(parser, types * count, name)))
        return cls.create(operands=inits, result_types=types, attributes=attributes, regions=regions)

    def verify_(self) -> None:
        self.verify_range()
        types = tuple(v.type for v in self.inits)
        if len(self.identity.data) != len(types) or not types or tuple(r.type for r in self.outs) != types:
            raise VerifyException("one initial value, one identity and one result a state, and at least one state")
        if self.order.data.kind != "prefix":
            raise VerifyException(f"the order of {self.name} is prefix<block, lanes>, not {self.order.data}")
        for region, (given, yielded) in enumerate((((), types), (types * 2, types), (types, ()))):
            if tuple(a.type for a in self.regions[region].block.args) != given:
                raise VerifyException(f"region {region} of {self.name} takes ({', '.join(map(str, given))})")
            expect_yield(self, region, yielded)


class _Access(IRDLOperation):
    """Shared by load and store: the element of a buffer at ``index``, touched only where every guard is ``>= 0``."""

    index = attr_def(DimsAttr)
    guards = opt_attr_def(DimsAttr)

    def _verify_access(self, buffer: SSAValue, value: Attribute) -> None:
        if not isinstance(buffer.type, BufferType):
            raise VerifyException(f"expected a buffer, got {buffer.type}")
        info = buffer.type.data
        if len(self.index.data) != info.rank:
            raise VerifyException(f"{len(self.index.data)} indices for a buffer of rank {info.rank}")
        if value != scalar_type(info.dtype):
            raise VerifyException(f"{value} does not fit a buffer of {info.dtype}")

    @property
    def guard_exprs(self) -> tuple[Dim, ...]:
        return self.guards.data if self.guards is not None else ()

    def print_access(self, printer: Printer, buffer: SSAValue) -> None:
        printer.print_operand(buffer)
        printer.print_string(f"[{write_dims(self.index.data)}]")
        print_guards(printer, self.guard_exprs)

    @staticmethod
    def read_access(parser: Parser) -> tuple[SSAValue, dict[str, Attribute]]:
        """A buffer, and the attributes that say where in it."""
        buffer = known_operand(parser)
        if not isinstance(buffer.type, BufferType):
            parser.raise_error(f"expected a buffer, got {buffer.type}")
        index = dims_in_brackets(parser)
        return buffer, _access(index, guards_of(parser))


def _access(index: Sequence[Dim], guards: Sequence[Dim]) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index))}
    if guards:
        attributes["guards"] = dims_attr(tuple(guards))
    return attributes


@irdl_op_definition
class LoadOp(_Access):
    """An element of a buffer, or zero where a guard is negative."""

    name = "loop.load"
    buffer = operand_def()
    result = result_def()

    def __init__(self, buffer: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()):
        assert isinstance(buffer.type, BufferType)
        Operation.__init__(
            self,
            operands=[buffer],
            result_types=[scalar_type(buffer.type.data.dtype)],
            attributes=_access(index, guards),
        )

    def print(self, printer: Printer) -> None:
        """``loop.load %x[i, j] where (j - 1 >= 0)``"""
        printer.print_string(" ")
        self.print_access(printer, self.buffer)
        print_rest(printer, self, ("index", "guards"))

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer, attributes = cls.read_access(parser)
        assert isinstance(buffer.type, BufferType)
        attributes |= read_rest(parser)
        return cls.create(operands=[buffer], result_types=[scalar_type(buffer.type.data.dtype)], attributes=attributes)

    def verify_(self) -> None:
        self._verify_access(self.buffer, self.result.type)


@irdl_op_definition
class StoreOp(_Access):
    """Writes an element of a buffer; nothing happens where a guard is negative.

    ``nontemporal``: no loop nearby reads the element back, so the store bypasses the caches where the buffer has at
    least so many bytes.
    """

    name = "loop.store"
    value = operand_def()
    buffer = operand_def()
    nontemporal = opt_attr_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        value: SSAValue,
        buffer: SSAValue,
        index: Sequence[Dim],
        guards: Sequence[Dim] = (),
        *,
        nontemporal: int = 0,
    ):
        attributes = _access(index, guards)
        if nontemporal:
            attributes["nontemporal"] = integer_attr(nontemporal)
        Operation.__init__(self, operands=[value, buffer], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """``loop.store %v, %y[i, j] where (j - 1 >= 0) nontemporal 8388608``"""
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        self.print_access(printer, self.buffer)
        if self.nontemporal is not None:
            printer.print_string(f" nontemporal {self.nontemporal.value.data}")
        print_rest(printer, self, ("index", "guards", "nontemporal"))

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = known_operand(parser)
        parser.parse_punctuation(",")
        buffer, attributes = cls.read_access(parser)
        if (threshold := number_after(parser, "nontemporal")) is not None:
            attributes["nontemporal"] = integer_attr(threshold)
        attributes |= read_rest(parser)
        return cls.create(operands=[value, buffer], attributes=attributes)

    def verify_(self) -> None:
        self._verify_access(self.buffer, self.value.type)


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A temporary at byte ``offset``.

    ``scope``: arena (of all threads), thread (one for each worker), shared (a GPU's shared memory: one for each block
    of the grid).
    """

    name = "loop.alloc"
    scope = attr_def(StringAttr)
    offset = attr_def(DimAttr)
    result = result_def()

    SCOPES: ClassVar = ("arena", "thread", "shared")

    def __init__(self, info: BufferInfo, offset: Dim | int, scope: str = "arena"):
        Operation.__init__(
            self,
            result_types=[buffer_type(info)],
            attributes={"scope": string_attr(scope), "offset": dim_attr(dim(offset))},
        )

    def print(self, printer: Printer) -> None:
        """``loop.alloc f32[m] in thread at 64``"""
        printer.print_string(" ")
        print_buffer(printer, self.result.type)
        printer.print_string(f" in {self.scope.data} at {self.offset.data}")
        print_rest(printer, self, ("scope", "offset"))

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        made = read_buffer(parser)
        parser.parse_keyword("in")
        attributes: dict[str, Attribute] = {"scope": string_attr(parser.parse_identifier())}
        attributes["offset"] = dim_attr(dim_after(parser, "at"))
        attributes |= read_rest(parser)
        return cls.create(result_types=[made], attributes=attributes)

    def verify_(self) -> None:
        if self.scope.data not in self.SCOPES:
            raise VerifyException(f"'scope' is one of {', '.join(self.SCOPES)}, not {self.scope.data!r}")
        if not isinstance(self.result.type, BufferType):
            raise VerifyException(f"an allocation gives a buffer, not {self.result.type}")


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The value of an index expression as an i64."""

    name = "loop.index"
    expr = attr_def(DimAttr)
    result = result_def(i64)
    traits = traits_def(Pure())

    def __init__(self, expr: Dim):
        Operation.__init__(self, result_types=[i64], attributes={"expr": dim_attr(expr)})

    def print(self, printer: Printer) -> None:
        """``loop.index (k*k)``"""
        printer.print_string(f" {in_parentheses(self.expr.data)}")
        print_rest(printer, self, ("expr",))

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        (expr,) = dims_in_brackets(parser, "(", 1)
        attributes = {"expr": dim_attr(expr)} | read_rest(parser)
        return cls.create(result_types=[i64], attributes=attributes)


@irdl_op_definition
class BindOp(IRDLOperation):
    """Names an i64 so that index expressions of the rest of the block can use it: data-dependent addressing."""

    name = "loop.bind"
    value = operand_def(i64)
    symbol = attr_def(StringAttr)

    def __init__(self, value: SSAValue, symbol: str):
        Operation.__init__(self, operands=[value], attributes={"symbol": string_attr(symbol)})

    def print(self, printer: Printer) -> None:
        """``loop.bind %k as ..t0``"""
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(f" as {self.symbol.data}")
        print_rest(printer, self, ("symbol",))

    @classmethod
    def parse(cls, parser: Parser) -> BindOp:
        value = known_operand(parser)
        attributes: dict[str, Attribute] = {"symbol": string_attr(symbol_after(parser, "as"))}
        attributes |= read_rest(parser)
        return cls.create(operands=[value], attributes=attributes)


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs one of two regions by a uniform condition; buffers carry the results."""

    name = "loop.if"
    condition = operand_def(IntegerType(1))
    then = region_def("single_block")
    otherwise = region_def("single_block")

    def __init__(self, condition: SSAValue, then: Block, otherwise: Block):
        Operation.__init__(self, operands=[condition], regions=[Region(then), Region(otherwise)])

    def print(self, printer: Printer) -> None:
        """``loop.if %c { … } else { … }``"""
        print_if(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        return read_if(parser, cls, YieldOp)

    def verify_(self) -> None:
        expect_yield(self, 0, ())
        expect_yield(self, 1, ())


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Runs region 0, which yields an i1; while that is true runs region 1 and repeats."""

    name = "loop.while"
    condition = region_def("single_block")
    body = region_def("single_block")

    def __init__(self, condition: Block, body: Block):
        Operation.__init__(self, regions=[Region(condition), Region(body)])

    def print(self, printer: Printer) -> None:
        """``loop.while { … loop.yield %more : i1 } do { … }``"""
        print_rest(printer, self, (), header=True)
        print_region(printer, self.condition)
        printer.print_string(" do")
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        attributes = read_rest(parser, header=True)
        condition = body_of(parser)
        parser.parse_keyword("do")
        return cls.create(attributes=attributes, regions=[condition, body_of(parser)])

    def verify_(self) -> None:
        expect_yield(self, 0, (IntegerType(1),))
        expect_yield(self, 1, ())


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the gpu_block, or of the gpu_warp, around it wait for each other and see each other's stores."""

    name = "loop.barrier"
    assembly_format = "attr-dict"


@irdl_op_definition
class TimestampOp(IRDLOperation):
    """Stores the time now, in nanoseconds of a clock that only runs forwards, as element `slot` of a buffer of i64."""

    name = "loop.timestamp"
    buffer = operand_def()
    slot = attr_def(IntegerAttr)

    def __init__(self, buffer: SSAValue, slot: int):
        Operation.__init__(self, operands=[buffer], attributes={"slot": integer_attr(slot)})

    def print(self, printer: Printer) -> None:
        """``loop.timestamp %times[3]``"""
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        printer.print_string(f"[{self.slot.value.data}]")
        print_rest(printer, self, ("slot",))

    @classmethod
    def parse(cls, parser: Parser) -> TimestampOp:
        buffer = known_operand(parser)
        with parser.in_square_brackets():
            slot = parser.parse_integer()
        return cls.create(operands=[buffer], attributes={"slot": integer_attr(slot)} | read_rest(parser))

    def verify_(self) -> None:
        info = self.buffer.type.data if isinstance(self.buffer.type, BufferType) else None
        if info is None or info.rank != 1 or scalar_type(info.dtype) != i64:
            raise VerifyException(f"times are stored in a buffer of i64 of rank 1, not in {self.buffer.type}")


LOOP = Dialect(
    "loop",
    [
        AllocOp, AsyncCopyOp, BarrierOp, BindOp, BulkCopyOp, TimestampOp, ForOp, IfOp, IndexOp, LoadOp, MmaOp,
        MergeOp, ParallelOp, PartitionOp, PrefetchOp, ReduceOp, ScanOp, ShuffleOp, StoreOp, TensorMapOp, ThreadsOp,
        AmxOp, WhileOp, YieldOp,
    ],
    [BufferType, TensorMapType],
)  # fmt: skip
