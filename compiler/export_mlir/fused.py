"""Stage `fused` as `linalg.generic` on tensors.

An input goes into the nest directly where its map only drops or permutes iterators; where it is a strided slice, a
`tensor.extract_slice` goes before; any other map is an `tensor.extract` with computed indices inside the body.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.dims.analysis import linear_in
from ...dialects.dims.dims import Dim, Sym
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import EmptyOp, ForOp, GenericOp, IfOp, ReadOp, RowGroupOp, WhileOp, shape_of
from .text import ExportError, Text, element, free_symbols

__all__ = ["export_fused"]


def export_fused(function: func.FuncOp) -> list[str]:
    """The lines of the function with its kernels on tensors in upstream form."""
    text = _Fused()
    args = function.body.block.args
    text.bind(args, [f"%arg{i}" for i in range(len(args))])
    parameters = [f"{text.of(a)}: {tensor_type(a.type)}" for a in args]
    at_run_time = text.dims_of_arguments(args, free_symbols(function))
    for symbol in at_run_time:
        text.env[symbol] = f"%s{len(parameters)}"
        parameters.append(f"{text.env[symbol]}: index")
    text.block(function.body.block)
    results = ", ".join(tensor_type(t) for t in function.function_type.outputs)
    comment = f"  // index arguments: {', '.join(s.name for s in at_run_time)}" if at_run_time else ""
    head = f"func.func @{function.sym_name.data}({', '.join(parameters)}) -> ({results}) {{{comment}"
    return [head, *text.lines, "}"]


def tensor_type(value_type: Attribute) -> str:
    return _tensor(shape_of(value_type)[1], element(value_type))


def _tensor(dims: Sequence[Dim], scalar: str) -> str:
    return "tensor<" + "".join(f"{'?' if d.const is None else d.const}x" for d in dims) + f"{scalar}>"


def _affine(rank: int, exprs: Sequence[str]) -> str:
    names = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({names}) -> ({', '.join(exprs)})>"


class _Fused(Text):
    def dims_of_arguments(self, args: Sequence[SSAValue], symbols: list[Sym]) -> list[Sym]:
        """Read symbols off the shapes of arguments; those that no shape tells."""
        missing = list(symbols)
        for argument in args:
            for axis, d in enumerate(shape_of(argument.type)[1]):
                if d.symbol in missing:
                    at = self.define(f"arith.constant {axis} : index")
                    found = self.define(f"tensor.dim {self.of(argument)}, {at} : {tensor_type(argument.type)}")
                    assert d.symbol is not None
                    self.env[d.symbol] = found
                    missing.remove(d.symbol)
        return missing

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Operation) -> None:
        match op:
            case GenericOp():
                self.generic(op)
            case EmptyOp():
                self.names[op.result] = self.empty(shape_of(op.result.type)[1], element(op.result.type))
            case RowGroupOp():
                self.nested(op.body.block)
                assert op.body.block.last_op is not None
                self.bind(op.results_, [self.of(v) for v in op.body.block.last_op.operands])
            case ForOp():
                self.loop(op)
            case WhileOp():
                self.repeat(op)
            case IfOp():
                self.condition(op)
            case func.ReturnOp():
                self.end("return", op)
            case _:
                self.scalar(op)

    def nested(self, block: Block) -> None:
        """A region's ops without its terminator."""
        for op in block.ops:
            if op is not block.last_op:
                self.op(op)

    def end(self, name: str, op: Operation | None) -> None:
        assert op is not None
        values = ", ".join(map(self.of, op.operands))
        types = ", ".join(tensor_type(v.type) for v in op.operands)
        self.line(f"{name} {values} : {types}" if values else name)

    def _results(self, results: Sequence[SSAValue]) -> str:
        if not results:
            return ""
        name = self.fresh()
        self.bind(results, [name] if len(results) == 1 else [f"{name}#{i}" for i in range(len(results))])
        return f"{name}:{len(results)} = " if len(results) > 1 else f"{name} = "

    def truth(self, condition: SSAValue) -> str:
        return self.define(f"tensor.extract {self.of(condition)}[] : {tensor_type(condition.type)}")

    def _carried(self, block: Block, inits: Sequence[SSAValue]) -> str:
        """``iter_args`` text; names the block's arguments."""
        self.bind(block.args, [self.fresh() for _ in block.args])
        return ", ".join(f"{self.of(a)} = {self.of(v)}" for a, v in zip(block.args, inits))

    def loop(self, op: ForOp) -> None:
        if op.break_flag is not None:
            raise ExportError("a loop with a break has no upstream form: scf.for runs all its iterations")
        if op.only is not None:
            raise ExportError("a size that values decide is a dim of ours: upstream's tensors have no such word")
        lower, upper, step = (self.index(e.data) for e in (op.lower, op.upper, op.step))
        carried = self._carried(op.body.block, op.inits)
        types = ", ".join(tensor_type(v.type) for v in op.inits)
        given = f" iter_args({carried}) -> ({types})" if carried else ""
        at = self.fresh()
        with self.scope(f"{self._results(op.results_)}scf.for {at} = {lower} to {upper} step {step}{given} {{"):
            self.env[op.symbol] = at
            self.nested(op.body.block)
            self.end("scf.yield", op.body.block.last_op)

    def repeat(self, op: WhileOp) -> None:
        types = ", ".join(tensor_type(v.type) for v in op.inits)
        carried = self._carried(op.condition.block, op.inits)
        with self.scope(f"{self._results(op.results_)}scf.while ({carried}) : ({types}) -> ({types}) {{", None):
            self.nested(op.condition.block)
            assert op.condition.block.last_op is not None
            holds = self.truth(op.condition.block.last_op.operands[0])
            self.line(f"scf.condition({holds}) {', '.join(map(self.of, op.condition.block.args))} : {types}")
        with self.scope("} do {"):
            self.bind(op.body.block.args, [self.fresh() for _ in op.body.block.args])
            self.line(f"^bb0({', '.join(f'{self.of(a)}: {tensor_type(a.type)}' for a in op.body.block.args)}):")
            self.nested(op.body.block)
            self.end("scf.yield", op.body.block.last_op)

    def condition(self, op: IfOp) -> None:
        holds = self.truth(op.condition)
        types = ", ".join(tensor_type(r.type) for r in op.results_)
        with self.scope(f"{self._results(op.results_)}scf.if {holds} -> ({types}) {{", None):
            self.nested(op.then.block)
            self.end("scf.yield", op.then.block.last_op)
        with self.scope("} else {"):
            self.nested(op.otherwise.block)
            self.end("scf.yield", op.otherwise.block.last_op)

    def scalar(self, op: Operation) -> None:
        if isinstance(op, ReadOp):
            guards = op.guards.data if op.guards is not None else ()
            self.names[op.result] = self.extract(op.source, op.index.data, guards)
        else:
            super().scalar(op)

    def extract(self, source: SSAValue, exprs: Sequence[Dim], guards: Sequence[Dim]) -> str:
        """An element, or zero where a guard is negative."""
        holds, scalar = self.holds(guards), element(source.type)
        if holds is None:
            at = ", ".join(map(self.index, exprs))
            return self.define(f"tensor.extract {self.of(source)}[{at}] : {tensor_type(source.type)}")
        result = self.fresh()
        with self.scope(f"{result} = scf.if {holds} -> ({scalar}) {{", None):
            at = ", ".join(map(self.index, exprs))
            found = self.define(f"tensor.extract {self.of(source)}[{at}] : {tensor_type(source.type)}")
            self.line(f"scf.yield {found} : {scalar}")
        with self.scope("} else {"):
            self.line(f"scf.yield {self.zero(scalar)} : {scalar}")
        return result

    def empty(self, dims: Sequence[Dim], scalar: str) -> str:
        sizes = ", ".join(self.index(d) for d in dims if d.const is None)
        return self.define(f"tensor.empty({sizes}) : {_tensor(dims, scalar)}")

    def operand(self, value: SSAValue, index: IndexMap) -> tuple[str, str, list[str]] | None:
        """``(value, type, affine results)`` of an input as the nest's operand; None where it has to be extracted."""
        dims = shape_of(value.type)[1]
        if index.guards:
            return None
        used: list[int] = []
        slices: list[tuple[Dim, Dim, Dim]] = []  # offset, size, stride of each dim
        for expr in index.exprs:
            split = linear_in(expr, index.bounds)
            if split is None or len(split[0]) > 1:
                return None
            if not split[0]:
                slices.append((expr, Dim.of_terms({(): 1}), Dim.of_terms({(): 1})))
                continue
            ((symbol, stride),) = split[0].items()
            number = list(index.bounds).index(symbol)
            if number in used or stride.const is None or stride.const <= 0:
                return None
            used.append(number)
            slices.append((split[1], index.extents[number], stride))
        scalar = element(value.type)
        exprs = [f"d{i}" for i in used]
        if len(used) == len(dims) and all(
            offset.const == 0 and stride.const == 1 and size is d for (offset, size, stride), d in zip(slices, dims)
        ):
            return self.of(value), tensor_type(value.type), exprs
        kept = _tensor([index.extents[i] for i in used], scalar)
        parts = ["".join(f"[{', '.join(self._static(s[k]) for s in slices)}]") for k in range(3)]
        cut = f"tensor.extract_slice {self.of(value)}{''.join(parts)} : {tensor_type(value.type)} to {kept}"
        return self.define(cut), kept, exprs

    def _static(self, d: Dim) -> str:
        return self.index(d) if d.const is None else str(d.const)

    def generic(self, op: GenericOp) -> None:
        parallel = op.extents.data[: op.n_parallel]
        targets = [r.type for r in op.results_]
        scalars = [element(t) for t in targets]
        direct = [
            m.is_permutation_of_parallel and all(d is parallel[i] for d, i in zip(shape_of(t)[1], m.order))
            for m, t in ((_Target(m, op.n_parallel), t) for m, t in zip(op.maps_out(), targets))
        ]
        if not op.results_:
            raise ExportError("kernel.generic on buffers: only the stages fused and loops are exported")
        if op.is_scan:
            raise ExportError("kernel.generic with a scan: linalg has none; the stage loops is exported")
        # A result that is not one permutation of the iteration space is computed over that space, then inserted.
        permutations = [
            _Target(m, op.n_parallel).order if fits and not op.outs else list(range(op.n_parallel))
            for m, fits in zip(op.maps_out(), direct)
        ]
        outs = [self.empty([parallel[i] for i in p], s) for p, s in zip(permutations, scalars)]
        types = [_tensor([parallel[i] for i in p], s) for p, s in zip(permutations, scalars)]
        maps = [[f"d{i}" for i in p] for p in permutations]
        if op.is_reduction:
            computed = self.reduction(op, outs, types, maps)
        else:
            computed = self.nest(op, op.body.block, list(op.ins), list(op.maps_in()), outs, types, maps, [])
        for i, (result, name) in enumerate(zip(op.results_, computed)):
            if op.outs or not direct[i]:
                into = self.of(op.outs[i]) if op.outs else self.empty(shape_of(result.type)[1], scalars[i])
                name = self.insert(name, types[i], into, result.type, op.maps_out()[i], op.n_parallel)
            self.names[result] = name

    def nest(
        self,
        op: GenericOp,
        block: Block,
        ins: list[SSAValue],
        in_maps: list[IndexMap],
        outs: list[str],
        out_types: list[str],
        out_maps: list[list[str]],
        given: list[tuple[str, str]],
        reduced: bool = False,
    ) -> list[str]:
        """A `linalg.generic`; `given` are tensors over the parallel iterators that the block takes first."""
        rank = len(op.extents.data) if reduced else op.n_parallel
        found = [self.operand(v, m) for v, m in zip(ins, in_maps)]
        everywhere = [f"d{i}" for i in range(op.n_parallel)]
        operands = [(name, kind, everywhere) for name, kind in given] + [f for f in found if f is not None]
        if reduced and not any(f"d{rank - 1}" in exprs for _, _, exprs in operands):
            # Nothing else tells upstream the reduced extent.
            extent = op.extents.data[rank - 1]
            operands.append((self.empty([extent], "i1"), _tensor([extent], "i1"), [f"d{rank - 1}"]))
        maps = ", ".join(_affine(rank, exprs) for exprs in [*(o[2] for o in operands), *out_maps])
        kinds = ", ".join('"parallel"' if i < op.n_parallel else '"reduction"' for i in range(rank))
        name = self.fresh()
        results = f"{name}:{len(outs)}" if len(outs) > 1 else name
        entering = (
            f"ins({', '.join(o[0] for o in operands)} : {', '.join(o[1] for o in operands)}) " if operands else ""
        )
        head = f"{results} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {entering}"
        with self.scope(f"{head}outs({', '.join(outs)} : {', '.join(out_types)}) {{", f"}} -> {_results(out_types)}"):
            scalars = [_scalar(kind) for kind in [*(o[1] for o in operands), *out_types]]
            args = [self.fresh() for _ in scalars]
            self.line(f"^bb0({', '.join(f'{a}: {s}' for a, s in zip(args, scalars))}):")
            for i in range(rank):
                self.env[Sym(f"d{i}")] = self.define(f"linalg.index {i} : index")
            entered = iter(args)
            values = [next(entered) for _ in given]
            for value, index, operand in zip(ins, in_maps, found):
                values.append(self.extract(value, index.exprs, index.guards) if operand is None else next(entered))
            self.body(block, values)
            assert block.last_op is not None
            yielded = [self.of(v) for v in block.last_op.operands]
            if reduced:
                yielded = self.merged(op, args[len(args) - len(outs) :], yielded)
            self.line(f"linalg.yield {', '.join(yielded)} : {', '.join(map(_scalar, out_types))}")
        return [name] if len(outs) == 1 else [f"{name}#{i}" for i in range(len(outs))]

    def merged(self, op: GenericOp, states: list[str], yielded: list[str]) -> list[str]:
        assert op.order is not None and op.identity is not None
        kind = op.combiner.block.args[0].type
        if op.order.data.product == "fma":
            return [self.define(f"math.fma {yielded[0]}, {yielded[1]}, {states[0]} : {kind}")]
        if op.order.data.product == "mul_add":
            yielded = [self.define(f"arith.mulf {yielded[0]}, {yielded[1]} : {kind}")]
        self.body(op.combiner.block, [*states, *yielded])
        assert op.combiner.block.last_op is not None
        return [self.of(v) for v in op.combiner.block.last_op.operands]

    def reduction(self, op: GenericOp, outs: list[str], types: list[str], maps: list[list[str]]) -> list[str]:
        """The reduction to tensors of accumulators, then the epilogue in a nest of its own."""
        assert op.identity is not None
        parallel = op.extents.data[: op.n_parallel]
        everywhere = [f"d{i}" for i in range(op.n_parallel)]
        states, state_types = [], []
        for identity, argument in zip(op.identity.data, op.combiner.block.args):
            kind = _tensor(parallel, str(argument.type))
            value = self.define(f"arith.constant {identity}")
            start = self.empty(parallel, str(argument.type))
            filled = f"linalg.fill ins({value} : {argument.type}) outs({start} : {kind}) -> {kind}"
            states.append(self.define(filled))
            state_types.append(kind)
        count = op.n_element_inputs
        ins, in_maps = list(op.ins), list(op.maps_in())
        folded = self.nest(
            op, op.body.block, ins[:count], in_maps[:count], states, state_types, [everywhere] * len(states), [], True
        )
        post = [IndexMap(parallel, m.exprs, m.guards) for m in in_maps[count:]]
        return self.nest(op, op.epilogue.block, ins[count:], post, outs, types, maps, list(zip(folded, state_types)))

    def insert(self, value: str, kind: str, into: str, target: Attribute, index: IndexMap, rank: int) -> str:
        """Write a tensor over the parallel iterators into `into` through an output map, point by point."""
        whole = tensor_type(target)
        zero, one = self.define("arith.constant 0 : index"), self.define("arith.constant 1 : index")
        bounds = [self.index(e) for e in index.extents[:rank]]

        def level(d: int, carried: str) -> str:
            if d == rank:
                return self._insert_point(value, kind, carried, whole, index, rank)
            result, inner, at = self.fresh(), self.fresh(), self.fresh()
            head = f"{result} = scf.for {at} = {zero} to {bounds[d]} step {one} iter_args({inner} = {carried})"
            with self.scope(f"{head} -> ({whole}) {{"):
                self.env[Sym(f"d{d}")] = at
                self.line(f"scf.yield {level(d + 1, inner)} : {whole}")
            return result

        return level(0, into)

    def _insert_point(self, value: str, kind: str, into: str, whole: str, index: IndexMap, rank: int) -> str:
        at = ", ".join(self.env[Sym(f"d{d}")] for d in range(rank))
        found = self.define(f"tensor.extract {value}[{at}] : {kind}")
        holds = self.holds(index.guards)
        if holds is None:
            return self.define(
                f"tensor.insert {found} into {into}[{', '.join(map(self.index, index.exprs))}] : {whole}"
            )
        result = self.fresh()
        with self.scope(f"{result} = scf.if {holds} -> ({whole}) {{", None):
            where = ", ".join(map(self.index, index.exprs))
            self.line(f"scf.yield {self.define(f'tensor.insert {found} into {into}[{where}] : {whole}')} : {whole}")
        with self.scope("} else {"):
            self.line(f"scf.yield {into} : {whole}")
        return result


class _Target:
    """How an output map uses the parallel iterators."""

    def __init__(self, index: IndexMap, rank: int):
        numbers = {s: i for i, s in enumerate(index.bounds)}
        found = [numbers.get(e.symbol) if e.symbol is not None else None for e in index.exprs]
        self.order = [i for i in found if i is not None]
        self.is_permutation_of_parallel = not index.guards and sorted(self.order) == list(range(rank)) == list(
            range(len(found))
        )


def _scalar(kind: str) -> str:
    return kind[len("tensor<") : -1].rpartition("x")[2]


def _results(types: list[str]) -> str:
    return types[0] if len(types) == 1 else f"({', '.join(types)})"
