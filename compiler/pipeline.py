"""The pipeline: every rewrite of a compilation in order, from the expression graph to an object file.

`PIPELINE` is the list, and nothing runs that is no line of it; `run_stages` goes through it.  Between any two lines
stands the observer (`instrumentation.py`), which keeps, dumps, prints, times and verifies what the line made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from ..dialects.attributes import BufferType, DimsAttr, dims_attr, from_attr, tensor_of
from ..dialects.dims.dims import Dim, dim, packed_strides
from ..dialects.matrix_units import allowed_units, wants_amx
from ..dialects.tx_internal import Empty
from ..dialects.verification import verify_distinct
from ..passes.cost.model import Machine
from ..passes.cost.work import work_of
from ..passes.fusion.fusion import FusionPass
from ..passes.fusion.row_fusion import RowFusionPass
from ..passes.fusion.sibling_fusion import SiblingFusionPass
from ..passes.fusion.topological_order import TopologicalOrderPass
from ..passes.memory.bufferize import BufferizePass
from ..passes.schedule.cpu.schedule import ScheduleCpuPass
from ..passes.schedule.gpu.schedule import ScheduleGpuPass
from ..passes.schedule.language.user import scheduled_by
from ..passes.tensor.canonicalize import CanonicalizePass
from ..passes.tensor.eval_insertion import EvalInsertionPass
from ..passes.tensor.layout_swap import LayoutSwapPass
from ..passes.tensor.reduction_order import ReductionOrderPass
from ..passes.tensor.tensor_cores import SelectMmaPass
from ..runtime.calibration import calibrated
from ..runtime.loader.loader import can_load
from ..runtime.stub.native_call import outside
from .call.parameters import CallSignature, NotNative
from .call.plan import CallPlan, make_plan, mutated_inputs
from .call.signature import Signature
from .codegen.call.python_stub import emit_entry, entry_name
from .codegen.emit.module import emit_llvm
from .codegen.target.llvm_backend import (
    compile_llvm,
    emit_asm,
    gpu_target,
    host_target,
    host_with_amx,
    load_object,
    native_target,
)
from .codegen.target.target import Target, object_name
from .config.options import OptionError, Options
from .driver.executable import BufferSpec, CodeSpec, Executable, load_lazily, load_native
from .frontend.trace.graph import Graph
from .instrumentation import InstrumentationOptions, PassInstrumentation, PassRecord
from .lowering import lower
from .pass_options import parse_pass_options
from .stages import STAGES, check_stage

if TYPE_CHECKING:
    from .gpu.launch_plan import Plan

__all__ = [
    "PASSES", "PIPELINE", "Compiled", "Stages", "code_of", "compile_graph", "function_of", "line_of", "machine_of",
    "run_stages", "with_strides",
]  # fmt: skip


@dataclass(frozen=True)
class Stages:
    """What a compilation made.  `module` is the last IR module, `object` the object file where it went that far.

    For a GPU there is `ptx` instead, and the `plan` that launches its kernels.
    """

    program: Graph | ModuleOp
    module: ModuleOp | None
    llvm: str | None
    object: bytes | None
    records: tuple[PassRecord, ...]
    ptx: str | None = None
    plan: Plan | None = None

    def text(self, stage: str) -> str:
        """The program after a stage or pass, where instrumentation kept text; OptionError for one it did not get to."""
        check_stage(stage, PASSES)
        for record in reversed(self.records):
            if stage in (record.stage, record.name.partition("{")[0]) and record.text is not None:
                return record.text
        raise OptionError(f"the compilation did not get to stage {stage!r}")


#: Options of a pass that follow from what is compiled, and for what.
Facts = Callable[["_Run"], dict[str, Any]]


@dataclass(frozen=True)
class Rewrite:
    """A line of the pipeline: a pass that makes a stage, or goes on with it, with the `facts` that it is given."""

    stage: str
    pass_: type[ModulePass]
    facts: Facts = lambda run: {}
    when: Callable[[_Run], bool] = lambda run: True

    @property
    def name(self) -> str:
        return self.pass_.name

    def __call__(self, run: _Run) -> None:
        module, made = run.module_now(), run.chosen(self.pass_, self.facts(run))

        def work() -> ModuleOp:
            made.apply(run.context, module)
            return module

        run.observer.step(self.stage, str(made.pipeline_pass_spec()), work)


@dataclass(frozen=True)
class Translate:
    """A line of the pipeline that makes a stage of another form than the one before: `work` gives what is shown."""

    stage: str
    name: str
    work: Callable[[_Run], Any]
    when: Callable[[_Run], bool] = lambda run: True

    def __call__(self, run: _Run) -> None:
        run.observer.step(self.stage, self.name, lambda: self.work(run))


class Note(Translate):
    """A line of the pipeline that changes no code and shows nothing: it notes a fact for the lines behind it."""

    def __call__(self, run: _Run) -> None:
        self.work(run)


@dataclass
class _Run:
    """One compilation on its way through the pipeline."""

    program: Graph | ModuleOp
    options: Options
    #: What the user says of passes, by their names.
    pass_options: Mapping[str, ArgSpec]
    target: Target
    machine: Machine
    strides: Sequence[tuple[Dim, ...] | None]
    #: Whether code is for this process, and asks in long loops whether a signal came.
    here: bool
    observer: PassInstrumentation
    stop_after: str
    replaced: Callable[[ModulePass], ModulePass]
    completed: Callable[[ModuleOp, str, Dim | None], str]
    module: ModuleOp | None = None
    #: For a GPU: the functions that run there.
    kernels: ModuleOp | None = None
    work: Dim | None = None
    llvm: str = ""
    object: bytes | None = None
    ptx: str | None = None
    plan: Plan | None = None
    context: Context = field(default_factory=Context)

    def module_now(self) -> ModuleOp:
        assert self.module is not None, "the pipeline starts with a graph or a module"
        return self.module

    def chosen(self, kind: type[ModulePass], facts: dict[str, Any]) -> ModulePass:
        """A pass with the user's options and, where the user says nothing, these."""
        spec = self.pass_options.get(kind.name)
        if spec is not None:
            chosen = spec.normalize_parameter_names().parameters
            facts = {name: value for name, value in facts.items() if name not in chosen}
        return self.replaced(replace(kind() if spec is None else kind.from_pass_spec(spec), **facts))


def _lower(run: _Run) -> ModuleOp:
    """The graph as tx ops, whose inputs are stored as the strides say."""
    assert isinstance(run.program, Graph)
    run.module = with_strides(lower(run.program, run.target.has_fma), run.strides)
    return run.module


def _note_machine(run: _Run) -> None:
    """Costs are those of the target from here on."""
    run.machine.attach_to(run.module_now())
    verify_distinct(run.module_now())


def _note_work(run: _Run) -> None:
    run.work = work_of(function_of(run.module_now()))


def _outline(run: _Run) -> ModuleOp:
    """Kernels as functions of their own, and the plan of the host that launches them."""
    from .gpu.outline import outline  # only for GPUs

    run.kernels, run.plan = outline(run.module_now())
    return run.kernels


def _emit(run: _Run) -> str:
    modes = run.options.debug, run.options.check_bounds and on_cpu(run), run.here and on_cpu(run)
    run.llvm = emit_llvm(run.kernels or run.module_now(), run.target, *modes)
    return run.llvm


def _ptx(run: _Run) -> str:
    """The text that the driver compiles, below what the host does."""
    run.ptx = "".join(f"// {line}\n" for line in str(run.plan).splitlines()) + emit_asm(run.llvm, run.target)
    return run.ptx


def _compile(run: _Run) -> bytes:
    text = run.completed(run.module_now(), run.llvm, run.work) if run.llvm else ""
    run.object = compile_llvm(text, run.target, run.options.opt_level)
    return run.object


def _assembly(run: _Run) -> str:
    return emit_asm(run.llvm, run.target, run.options.opt_level)


def _fusion_facts(run: _Run) -> dict[str, Any]:
    return {"has_fma": run.target.has_fma, "locations": run.options.debug}


def _units(run: _Run) -> dict[str, Any]:
    target = run.target
    return {"units": allowed_units(target.capability, run.options.fastmath, target.features.split(","))}


def _rows(run: _Run) -> dict[str, Any]:
    if _is_plain(run):
        return {"enabled": False}
    return {"contractions": "either" if on_gpu(run) else "both", "column_major": on_cpu(run)}


#: Options of `ScheduleCpuPass` by which it makes the fewest loops, and changes no bit of a result.
PLAIN_LOOPS: dict[str, Any] = {
    "lanes": 1, "unroll": 1, "nontemporal": False, "prefetch": False, "inplace_stencils": False,
    "packed_matmuls": False, "column_tiles": False,
}  # fmt: skip


def _vectors(run: _Run) -> dict[str, Any]:
    return {"vector_bits": run.target.vector_bits, **(PLAIN_LOOPS if _is_plain(run) else {})}


def _copies_and_units(run: _Run) -> dict[str, Any]:
    return {"warpgroups": run.target.has_warpgroups, "tma": run.target.has_box_copies}


def _is_plain(run: _Run) -> bool:
    """Whether code is to be made fast, and not to be fast."""
    return run.options.is_plain and on_cpu(run)


def on_cpu(run: _Run) -> bool:
    return not run.target.is_gpu


def on_gpu(run: _Run) -> bool:
    return run.target.is_gpu


def _makes_object(run: _Run) -> bool:
    return on_cpu(run) and run.stop_after == "obj"


def _shows_assembly(run: _Run) -> bool:
    """Assembly is for people: an object file does not need it."""
    return on_cpu(run) and (run.observer.watch.needs_text or run.stop_after == "asm")


#: Every line in order.  One that names a stage again goes on with it: the stage is what the last of them leaves.
PIPELINE: tuple[Rewrite | Translate, ...] = (
    Translate("graph", "stage", lambda run: run.program),
    Translate("tensor", "lower", _lower),
    Rewrite("tensor", ReductionOrderPass),
    Note("tensor", "machine", _note_machine),
    Rewrite("canonical", CanonicalizePass),
    Rewrite("layout", LayoutSwapPass),
    Rewrite("evals", EvalInsertionPass),
    Rewrite("fused", TopologicalOrderPass),
    Rewrite("fused", FusionPass, _fusion_facts),
    Rewrite("fused", SiblingFusionPass),
    Rewrite("fused", SelectMmaPass, _units),
    Rewrite("fused", RowFusionPass, _rows),
    Rewrite("buffers", BufferizePass),
    Note("buffers", "work", _note_work, _makes_object),
    Rewrite("loops", ScheduleCpuPass, _vectors, on_cpu),
    Rewrite("loops", ScheduleGpuPass, _copies_and_units, on_gpu),
    Translate("llvm", "outline", _outline, on_gpu),
    Translate("llvm", "emit", _emit),
    Translate("ptx", "assemble", _ptx, on_gpu),
    Translate("asm", "assemble", _assembly, _shows_assembly),
    Translate("obj", "compile", _compile, on_cpu),
)  # fmt: skip

#: The passes by the names that their options are given under, and after which a compilation may stop.
PASSES: dict[str, type[ModulePass]] = {line.name: line.pass_ for line in PIPELINE if isinstance(line, Rewrite)}


def run_stages(
    program: Graph | ModuleOp,
    options: Options | None = None,
    *,
    start: str = "graph",
    stop_after: str = "obj",
    watch: InstrumentationOptions | None = None,
    strides: Sequence[tuple[Dim, ...] | None] = (),
    target: Target | None = None,
    machine: Machine | None = None,
    replaced: Callable[[ModulePass], ModulePass] = lambda p: p,
    completed: Callable[[ModuleOp, str, Dim | None], str] = lambda _, text, __: text,
) -> Stages:
    """Compile a graph, or a module that is at stage `start`, as far as `stop_after`, for a GPU at most to ``ptx``.

    `stop_after` is a stage or a pass.  `strides` are those of the graph's tensor inputs at run time (None: packed).
    The cost model's `machine` is, where the target is this machine, what was measured of it, else what is usual of its
    kind.  `replaced` may exchange a pass: tests of the bisector put in one that is wrong.  `completed` may add to the
    LLVM IR text what only the object needs; it is also told the work (`passes/cost/work.py`).  Code for no named target
    is for this process, and asks in long loops whether a signal came.  Raises OptionError for unknown stages, passes
    and pass options.
    """
    options = options or Options.of()
    here, target = target is None, target or _target_of(options)
    observer = PassInstrumentation(
        watch or InstrumentationOptions.from_knobs(), program.name if isinstance(program, Graph) else ""
    )
    run = _Run(
        program, options, parse_pass_options(options.passes, PASSES), target, machine or machine_of(target), strides,
        here, observer, stop_after, replaced, completed, program if isinstance(program, ModuleOp) else None,
    )  # fmt: skip
    with scheduled_by(options.schedule):
        for line in _lines(start, stop_after, given=run.module is not None):
            if line.when(run):
                line(run)
    observer.finish()
    records = tuple(observer.records)
    return Stages(program, run.module, run.llvm or None, run.object, records, run.ptx, run.plan)


def _lines(start: str, stop_after: str, *, given: bool) -> Sequence[Rewrite | Translate]:
    """The lines from a stage, or from behind one that is `given`, to the last of a stage, or to a pass."""
    order = list(STAGES)
    first = order.index(check_stage(start)) + given
    return [line for line in PIPELINE[: line_of(stop_after) + 1] if order.index(line.stage) >= first]


def line_of(name: str) -> int:
    """Where in the pipeline a stage is made, or a pass stands.  OptionError for other names."""
    check_stage(name, PASSES)
    return max(i for i, line in enumerate(PIPELINE) if name in (line.stage, line.name))


def _target_of(options: Options) -> Target:
    """What options compile for; a process asks for the leave to use tiles where they may be used."""
    if options.gpu:
        return gpu_target(options.gpu)
    return host_with_amx() if wants_amx(options.fastmath) else host_target()


def machine_of(target: Target) -> Machine:
    """What the cost model takes a target to be: what is usual of its kind; of this machine, what was measured."""
    if target.is_gpu:
        return Machine.of_gpu(target.capability)
    usual = Machine.of_cpu(target.vector_bits, target.vector_registers, target.cpu)
    return usual.with_measurements(calibrated()) if target.without_amx == native_target() else usual


def compile_graph(
    graph: Graph,
    options: Options | None = None,
    *,
    strides: Sequence[tuple[Dim, ...] | None] = (),
    watch: InstrumentationOptions | None = None,
    signature: CallSignature | None = None,
    machine: Machine | None = None,
) -> Compiled:
    """Compile for this machine, load, and say how to call it.  `machine` and errors as of `run_stages`.

    With a `signature` the object also has an entry for calls from Python, or `CodeSpec.by_python` says why not.
    """
    entry = _EntryMaker(graph, signature, options or Options.of())
    stages = run_stages(
        graph, options, strides=strides, watch=watch, machine=machine, completed=entry.complete
    )  # fmt: skip
    assert stages.module is not None and stages.object is not None
    name = function_of(stages.module).sym_name.data
    code = code_of(graph, stages.module)._replace(
        work="" if entry.work is None else str(entry.work),
        entry=object_name(entry_name(name)) if entry.plan else "",
        by_python=entry.reason,
        checked=(options or Options.of()).check_bounds,
    )
    if can_load(stages.object) and not (options and options.debug):  # a debugger is shown one copy of the code
        native = load_lazily(stages.object, code)
    else:
        native = load_native(load_object(stages.object, code.names, outside() if code.entry else None), code)
    return Compiled(Executable(Signature.of(graph), code, native), stages)


def code_of(graph: Graph, module: ModuleOp) -> CodeSpec:
    """How the function of a module at stage `buffers` or `loops`, which a graph became, is called."""
    function = function_of(module)
    attributes = function.attributes
    outputs: tuple[int, ...] = tuple(from_attr(attributes["tx.outputs"]))
    return CodeSpec(
        object_name(function.sym_name.data),
        _texts(from_attr(attributes["tx.symbols"])),
        tuple(_buffer_spec(a.type) for a in function.body.block.args),
        outputs,
        tuple(sorted(mutated_inputs(graph, outputs))),
        str(from_attr(attributes["tx.arena"])),
        str(from_attr(attributes["tx.thread_arena"])),
        check_word=outputs[-1] if graph.checks else -1,
        partial=any(node.op is Empty for node in graph.walk()),
    )


class _EntryMaker:
    """Adds an entry for calls from Python to a module; then `plan` says what it does, or `reason` why there is none.

    `work` estimates the kernel's iterations, where its symbols tell.
    """

    def __init__(self, graph: Graph, signature: CallSignature | None, options: Options):
        self.graph, self.signature, self.most = graph, signature, options.max_temp_bytes
        self.plan: CallPlan | None = None
        self.work: Dim | None = None
        self.reason = "no Python function has it as its body"

    def complete(self, module: ModuleOp, text: str, work: Dim | None) -> str:
        """The LLVM IR text with the entry behind the kernel, which has so much work to do."""
        function = function_of(module)
        symbols: tuple[Dim, ...] = from_attr(function.attributes["tx.symbols"])
        if work is not None and work.symbols() <= {s.symbol for s in symbols}:
            self.work = work
        if self.signature is None:
            return text
        try:
            self.plan = self._plan(self.signature, function)
        except NotNative as why:
            self.reason = str(why)
            return text
        return emit_entry(self.plan, text)

    def _plan(self, signature: CallSignature, function: func.FuncOp) -> CallPlan:
        buffers = [a.type.data for a in function.body.block.args if isinstance(a.type, BufferType)]
        inputs = len(signature.facts)
        attributes = function.attributes
        arena, thread_arena = from_attr(attributes["tx.arena"]), from_attr(attributes["tx.thread_arena"])
        plan = make_plan(
            self.graph,
            signature,
            symbols=from_attr(attributes["tx.symbols"]),
            strides=[b.strides for b in buffers[:inputs]],
            outputs=from_attr(attributes["tx.outputs"]),
            made=[(b.dtype, b.dims, b.strides) for b in buffers[inputs:]],
            arena=arena,
            thread_arena=thread_arena,
            work=self.work,
        )
        if self.most is None:
            return plan
        # More temporaries than allowed: a miss, so that Python says what they are.
        return replace(plan, guards=(*plan.guards, (arena + thread_arena, "<=", dim(self.most))))


@dataclass(frozen=True)
class Compiled:
    """A graph's machine code, loaded, and the stages that led to it."""

    executable: Executable
    stages: Stages


def function_of(module: ModuleOp) -> func.FuncOp:
    """The one function of a module."""
    return next(op for op in module.body.block.ops if isinstance(op, func.FuncOp))


def _buffer_spec(buffer: Attribute) -> BufferSpec:
    assert isinstance(buffer, BufferType)
    info = buffer.data
    return BufferSpec(info.dtype.numpy, _texts(info.dims), _texts(info.strides))


def _texts(dims: Sequence[Dim]) -> tuple[str, ...]:
    return tuple(map(str, dims))


def with_strides(module: ModuleOp, strides: Sequence[tuple[Dim, ...] | None]) -> ModuleOp:
    """Say how the inputs of the module's function are stored; strides that are symbols are passed at run time."""
    if not any(s is not None for s in strides):
        return module
    function = function_of(module)
    types = [tensor_of(a.type) for a in function.body.block.args]
    full = [packed_strides(t.dims) if s is None else s for t, s in zip(types, strides, strict=True)]
    function.attributes["tx.strides"] = ArrayAttr([dims_attr(s) for s in full])
    given = function.attributes["tx.symbols"]
    assert isinstance(given, DimsAttr)
    more = [d for s in full for d in s if d.symbol is not None and d.symbol.name.startswith("$")]
    function.attributes["tx.symbols"] = dims_attr((*given.data, *(d for d in more if d not in given.data)))
    return module
