"""The pipeline and its observer, options, and executables, on small programs."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import txc
from txc.compiler.config.options import OptionError, Options
from txc.compiler.driver.executable import Executable, GuardFailure
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.instrumentation import InstrumentationOptions, PassError
from txc.compiler.pass_options import parse_pass_options
from txc.compiler.pipeline import PASSES, PIPELINE, Note, compile_graph, function_of, on_gpu, run_stages
from txc.compiler.stages import STAGES
from txc.passes.tensor.canonicalize import CanonicalizePass

ROWS = "def rows(x: f32[n, m], y: f32[m]) -> f32[n]:\n    return (x + y.reshape([1, m]).broadcast([n, 1])).sum([1])\n"


def graph_of(text: str) -> Graph:
    return next(iter(txc.compile_source(text).functions.values())).graph


def executable_of(text: str) -> Executable:
    return compile_graph(graph_of(text)).executable


def test_stages_are_kept_in_order():
    stages = run_stages(graph_of(ROWS), watch=InstrumentationOptions(keep_text=True, verify=True))
    seen = list(dict.fromkeys(r.stage for r in stages.records))
    assert seen == [stage for stage in STAGES if stage != "ptx"]
    assert "tx.sum" in stages.text("tensor")
    assert "kernel.generic" in stages.text("fused")
    assert stages.object is not None and len(stages.object) > 500


def test_each_line_of_the_pipeline_is_seen():
    """All rewrites leave a record, in the order of the list: none runs inside another."""
    records = run_stages(graph_of(ROWS), watch=InstrumentationOptions(keep_text=True)).records
    lines = [line for line in PIPELINE if not isinstance(line, Note) and line.when is not on_gpu]
    assert [(r.stage, r.name.partition("{")[0]) for r in records] == [(line.stage, line.name) for line in lines]


@pytest.mark.parametrize("name", PASSES)
def test_stop_after_a_pass(name: str):
    stages = run_stages(graph_of(ROWS), stop_after=name, watch=InstrumentationOptions(keep_text=True))
    if name != "tx-schedule-gpu":
        assert stages.records[-1].name.partition("{")[0] == name
        assert stages.text(name) == stages.records[-1].text


def test_stop_after_stops():
    stages = run_stages(graph_of(ROWS), stop_after="fused", watch=InstrumentationOptions(keep_text=True))
    assert stages.records[-1].stage == "fused"
    assert stages.llvm is None and stages.object is None
    with pytest.raises(OptionError, match="did not get to stage 'loops'"):
        stages.text("loops")


def test_a_module_goes_on_from_its_stage():
    half = run_stages(graph_of(ROWS), stop_after="buffers")
    assert half.module is not None
    rest = run_stages(half.module, start="buffers", watch=InstrumentationOptions(keep_text=True))
    assert [r.stage for r in rest.records] == ["loops", "llvm", "asm", "obj"]


def test_print_after_change_names_what_is_unchanged():
    shown, everything = io.StringIO(), io.StringIO()
    run_stages(graph_of(ROWS), stop_after="fused", watch=InstrumentationOptions(printing="change", out=shown))
    run_stages(graph_of(ROWS), stop_after="fused", watch=InstrumentationOptions(printing="all", out=everything))
    assert "tx-swap-layout (unchanged)\n// ----" in shown.getvalue()
    assert len(everything.getvalue()) > len(shown.getvalue())


def test_dumps_are_numbered_by_stage_and_pass(tmp_path: Path):
    run_stages(graph_of(ROWS), stop_after="llvm", watch=InstrumentationOptions(dump_dir=tmp_path / "a" / "b"))
    names = sorted(p.name for p in (tmp_path / "a" / "b").iterdir())
    assert names[0] == "00-graph-stage.txt"
    assert names[-1].endswith("-llvm-emit.ll")
    assert any("-fused-tx-fuse.mlir" in n for n in names)


def test_a_pass_that_breaks_the_ir_is_named():
    class Breaks(CanonicalizePass):
        name = "tx-break"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            block = function_of(op).body.block
            first, last = block.first_op, block.last_op
            assert first is not None and last is not None
            first.detach()
            block.insert_op_before(first, last)

    with pytest.raises(PassError, match=r"after tx-break \(stage canonical\) is not valid"):
        run_stages(
            graph_of(ROWS),
            stop_after="canonical",
            watch=InstrumentationOptions(verify=True),
            replaced=lambda p: Breaks() if p.name == "tx-canonicalize" else p,
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"thread": 2}, "no option 'thread'; did you mean 'threads'"),
        ({"threads": -1}, "threads must be a positive integer, not -1"),
        ({"threads": True}, "not True"),
        ({"device": "gpu"}, "there is no device 'gpu'"),
        ({"fastmath": {"nnan"}}, "fastmath has no 'nnan'"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str):
    with pytest.raises(OptionError, match=message):
        Options.of(**given)


def test_device_means_threads():
    assert Options.of(device="cpu:3").threads == 3
    assert Options.of(device="cpu").threads == 0
    assert Options.of(threads=2).compiled == Options.of(threads=5).compiled


def test_an_executable_checks_the_shapes_it_gets():
    executable = executable_of(ROWS)
    x, y = np.ones((3, 4), np.float32), np.arange(4, dtype=np.float32)
    assert executable([x, y])[0].tolist() == [10.0, 10.0, 10.0]
    assert executable([np.ones((0, 4), np.float32), y])[0].shape == (0,)
    with pytest.raises(GuardFailure, match="dim 0 of y must be m = 4, not 5"):
        executable([x, np.ones(5, np.float32)])


def test_sizes_do_not_compile_anew():
    f = txc.jit(lambda x, w: np.tanh(x @ w))
    w = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    for batch in range(2, 65):
        x = np.full((batch, 5), 0.1, np.float32)
        np.testing.assert_allclose(f(x, w), np.tanh(x @ w), rtol=1e-5)
    assert sum(len(v) for v in f._versions.values()) == 1


@pytest.mark.parametrize(
    ("before", "today"),
    [
        ("tx-order-folds{along-memory=false}", "tx-reduction-order{follow-layout=false}"),
        ("tx-swap-layout{keep-results=true}", "tx-swap-layout{row-major-results=true}"),
        ("tx-schedule-cpu{streaming=false}", "tx-schedule-cpu{nontemporal=false}"),
        ("tx-schedule-cpu{ahead=false}", "tx-schedule-cpu{prefetch=false}"),
        ("tx-schedule-cpu{updates=false}", "tx-schedule-cpu{inplace-stencils=false}"),
        ("tx-schedule-cpu{joins=false unroll=2}", "tx-schedule-cpu{fuse-reductions=false unroll=2}"),
        ("tx-schedule-gpu{boxes=true}", "tx-schedule-gpu{tma=true}"),
        ("tx-select-mma{units=bf16_tile,f16}", "tx-select-mma{units=bf16_amx,f16}"),
        ("tx-fuse{matrix-units=bf16x3_tile}", "tx-select-mma{units=bf16x3_amx}"),
    ],
)
def test_names_of_an_earlier_version_mean_the_same(before: str, today: str):
    with pytest.warns(FutureWarning, match="is a name of an earlier version; write "):
        found = parse_pass_options(before, PASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = parse_pass_options(today, PASSES)
    for name, spec in expected.items():
        assert PASSES[name].from_pass_spec(found[name]) == PASSES[name].from_pass_spec(spec)
        assert PASSES[name].from_pass_spec(spec) != PASSES[name]()
