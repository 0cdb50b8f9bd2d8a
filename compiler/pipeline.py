"""The staircase: every stage of a compilation in order, from the expression graph to an object file.

`run_stages` reads top to bottom.  Between any two steps stands the observer (`instrumentation.py`), which keeps, dumps,
prints, times and verifies what the step made.  Which passes run, and in which order, is decided here and nowhere else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError

from ..dialects.attributes import BufferType, DimsAttr, dims_attr, from_attr, tensor_of
from ..dialects.dims.dims import Dim, dim, packed_strides
from ..dialects.matrix_units import allowed_units, wants_tiles
from ..dialects.verification import verify_distinct
from ..passes.cost.model import Machine
from ..passes.cost.work import work_of
from ..passes.fusion.fusion import FusionPass
from ..passes.memory.bufferize import BufferizePass
from ..passes.schedule.cpu.schedule import ScheduleCpuPass
from ..passes.schedule.gpu.schedule import ScheduleGpuPass
from ..passes.tensor.canonicalize import CanonicalizePass
from ..passes.tensor.eval_insertion import EvalInsertionPass
from ..passes.tensor.layout_swap import LayoutSwapPass
from ..passes.tensor.reduction_order import ReductionOrderPass
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
from .driver.executable import BufferSpec, CodeSpec, Executable, load_lazily, load_native
from .driver.options import OptionError, Options
from .frontend.trace.graph import Graph
from .gpu.launch_plan import Plan
from .gpu.outline import outline
from .instrumentation import InstrumentationOptions, PassInstrumentation, PassRecord
from .lowering import lower
from .stages import STAGES, check_stage

__all__ = [
    "PASSES", "Compiled", "Stages", "code_of", "compile_graph", "function_of", "machine_of", "parse_pass_options",
    "run_stages", "with_strides",
]  # fmt: skip

PASSES: dict[str, type[ModulePass]] = {
    p.name: p
    for p in (
        ReductionOrderPass, CanonicalizePass, LayoutSwapPass, EvalInsertionPass, FusionPass, BufferizePass,
        ScheduleCpuPass, ScheduleGpuPass,
    )
}  # fmt: skip
T = TypeVar("T")


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
        """The program after `stage`, where instrumentation kept text; OptionError for a stage it did not get to."""
        check_stage(stage)
        for record in reversed(self.records):
            if record.stage == stage and record.text is not None:
                return record.text
        raise OptionError(f"the compilation did not get to stage {stage!r}")


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

    `strides` are those of the graph's tensor inputs at run time (None: packed).  The cost model's `machine` is, where
    the target is this machine, what was measured of it, else what is usual of its kind.  `replaced` may exchange a
    pass: tests of the bisector put in one that is wrong.  `completed` may add to the LLVM IR text what only the object
    needs; it is also told the work (`passes/cost/work.py`).  Code for no named target is for this process, and asks in
    long loops whether a signal came.  Raises OptionError for unknown stages, passes and pass options.
    """
    options = options or Options.of()
    here = target is None
    target = target or _target_of(options)
    run = _Run(
        program, start, stop_after, options, PassInstrumentation(watch or InstrumentationOptions.from_knobs()), replaced
    )
    machine = machine or machine_of(target)

    if run.reaches("graph"):
        run.watched("graph", "stage", lambda: program)
    if run.reaches("tensor"):
        assert isinstance(program, Graph)
        in_order = run.chosen(ReductionOrderPass)

        def lowered() -> ModuleOp:
            module = with_strides(lower(program, target.has_fma), strides)
            in_order.apply(run.context, module)
            return module

        run.module = run.watched("tensor", "lower", lowered)
        machine.mark(run.module)
        verify_distinct(run.module)
    run.passes("canonical", CanonicalizePass)
    run.passes("layout", LayoutSwapPass)
    run.passes("evals", EvalInsertionPass)
    units = allowed_units(target.capability, options.fastmath, target.features.split(","))
    run.passes(
        "fused", FusionPass, has_fma=target.has_fma, locations=options.debug, matrix_units=units,
        panels="either" if target.is_gpu else "both", across=not target.is_gpu,
    )  # fmt: skip
    run.passes("buffers", BufferizePass)
    work = work_of(function_of(run.module_now())) if run.reaches("obj") and run.reaches("buffers") else None
    if target.is_gpu:
        run.passes("loops", ScheduleGpuPass, warpgroups=target.has_warpgroups, boxes=target.has_box_copies)
        return run.on_gpu(target)
    run.passes("loops", ScheduleCpuPass, vector_bits=target.vector_bits)
    if run.reaches("llvm"):
        modes = options.debug, options.check_bounds, here
        run.llvm = run.watched("llvm", "emit", lambda: emit_llvm(run.module_now(), target, *modes))
    if run.reaches("asm") and (run.wants_text or stop_after == "asm"):
        run.watched("asm", "assemble", lambda: emit_asm(run.llvm or "", target))
    if run.reaches("obj"):
        text = completed(run.module_now(), run.llvm, work) if run.llvm else ""
        run.object = run.watched("obj", "compile", lambda: compile_llvm(text, target))

    return run.finished()


def _target_of(options: Options) -> Target:
    """What options compile for; a process asks for the leave to use tiles where they may be used."""
    if options.gpu:
        return gpu_target(options.gpu)
    return host_with_amx() if wants_tiles(options.fastmath) else host_target()


def machine_of(target: Target) -> Machine:
    """What the cost model takes a target to be: what is usual of its kind; of this machine, what was measured."""
    if target.is_gpu:
        return Machine.of_gpu(target.capability)
    usual = Machine.of_cpu(target.vector_bits, target.vector_registers, target.cpu)
    return usual.measured(calibrated()) if target.without_amx == native_target() else usual


class _Run:
    """The state of one walk down the staircase."""

    def __init__(
        self,
        program: Graph | ModuleOp,
        start: str,
        stop_after: str,
        options: Options,
        observer: PassInstrumentation,
        replaced: Callable[[ModulePass], ModulePass],
    ):
        order = list(STAGES)
        first = order.index(check_stage(start)) + (1 if isinstance(program, ModuleOp) else 0)
        self._wanted = frozenset(order[first : order.index(check_stage(stop_after)) + 1])
        self._options = parse_pass_options(options.passes)
        self._replaced = replaced
        self.observer = observer
        self.module = program if isinstance(program, ModuleOp) else None
        self.program, self.debug = program, options.debug
        self.llvm: str | None = None
        self.object: bytes | None = None
        self.ptx: str | None = None
        self.plan: Plan | None = None
        self.context = Context()
        observer.name = getattr(program, "name", "") if isinstance(program, Graph) else ""

    @property
    def wants_text(self) -> bool:
        return self.observer.watch.needs_text

    def reaches(self, stage: str) -> bool:
        return stage in self._wanted

    def module_now(self) -> ModuleOp:
        assert self.module is not None, "the pipeline starts with a graph or a module"
        return self.module

    def on_gpu(self, target: Target) -> Stages:
        """The stages below `loops` for a GPU: kernels, each a function of its own, and the plan of the host."""
        if self.reaches("llvm"):
            kernels, self.plan = outline(self.module_now())
            self.llvm = self.watched("llvm", "emit", lambda: emit_llvm(kernels, target, self.debug))
        if self.reaches("ptx"):
            plan = "".join(f"// {line}\n" for line in str(self.plan).splitlines())
            self.ptx = self.watched("ptx", "assemble", lambda: plan + emit_asm(self.llvm or "", target))
        return self.finished()

    def finished(self) -> Stages:
        self.observer.finish()
        records = tuple(self.observer.records)
        return Stages(self.program, self.module, self.llvm, self.object, records, self.ptx, self.plan)

    def watched(self, stage: str, name: str, work: Callable[[], T]) -> T:
        return self.observer.step(stage, name, work)

    def passes(self, stage: str, kind: type[ModulePass], **options: Any) -> None:
        """Run the pass that makes a stage, with the user's options and, where the user says nothing, these."""
        if not self.reaches(stage):
            return
        module, made = self.module_now(), self.chosen(kind, **options)

        def work() -> ModuleOp:
            made.apply(self.context, module)
            return module

        self.watched(stage, str(made.pipeline_pass_spec()), work)

    def chosen(self, kind: type[ModulePass], **options: Any) -> ModulePass:
        """A pass with the user's options and, where the user says nothing, these."""
        spec = self._options.get(kind.name)
        if spec is not None:
            chosen = spec.normalize_parameter_names().parameters
            options = {name: value for name, value in options.items() if name not in chosen}
        return self._replaced(replace(kind() if spec is None else kind.from_pass_spec(spec), **options))


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


def parse_pass_options(text: str) -> dict[str, ArgSpec]:
    """Options of passes, ``tx-fuse{rows=false},…``, by pass.  Raises OptionError for what is wrong with them."""
    try:
        specs = list(parse_pipeline(text)) if text.strip() else []
    except ArgSpecParseError as error:
        raise OptionError(
            f"{text!r} is no list of passes: write 'pass{{option=value}}', separated by commas"
        ) from error
    for spec in specs:
        if spec.name not in PASSES:
            near = difflib.get_close_matches(spec.name, PASSES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(PASSES)}"
            raise OptionError(f"there is no pass {spec.name!r}; {hint}")
        known = [f.name for f in fields(PASSES[spec.name])]
        for name in spec.normalize_parameter_names().parameters:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise OptionError(f"pass {spec.name} has no option {name!r}; it has {listed}")
        try:
            PASSES[spec.name].from_pass_spec(spec)
        except (TypeError, ValueError) as error:
            raise OptionError(f"an option of pass {spec.name} has a value that it does not take: {error}") from error
    return {spec.name: spec for spec in specs}
