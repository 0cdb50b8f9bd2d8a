"""The cost model: its usual answers, what other machines change, what is measured, and what `explain()` says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import txc
from txc.compiler.cache.disk_cache import code_key
from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.config.options import Options
from txc.compiler.pipeline import compile_graph, run_stages
from txc.compiler.tools import calibrate
from txc.dialects.dims.dims import dim, sym
from txc.dialects.kernel import GenericOp
from txc.passes.cost.model import WORK_UNITS, CostModel, Machine, Work
from txc.passes.cost.remarks import collect
from txc.passes.cost.work import operations_and_chain, point_work
from txc.runtime.loader.loader import can_load
from txc.runtime.stub.layout import LIGHT

X = np.ones((4, 5), np.float32)


def reused(x):
    y = np.exp(x) + x
    return y, y.sum(axis=1)


def stage(function: Any, name: str, machine: Machine | None = None, **options: Any) -> str:
    graph = txc.jit(function).graph(X)
    module = run_stages(graph, Options.of(**options), stop_after=name, machine=machine).module
    return str(module)


@pytest.mark.parametrize(("scalar", "kept"), [(lambda s: np.power(s, 1.5), True), (lambda s: s + 1.5, False)])
def test_a_scalar_is_computed_again_where_that_takes_little_code(scalar: Callable[[Any], Any], kept: bool):
    def several(x, s):
        t = scalar(s)
        return x.T * t, np.cumsum(x * t, axis=0), np.sort(x * t)

    graph = txc.jit(several).graph(X, np.float32(2.0))
    module = str(run_stages(graph, stop_after="evals").module)
    assert ("inlining would repeat more than 32 ops" in module) == kept


def test_the_usual_machine_has_the_sizes_that_were_measured_best():
    costs = CostModel()
    assert (costs.l1_tile, costs.column_tile, costs.scan_chunk, costs.results_in_flight) == (64, 1024, 1 << 18, 64)
    assert costs.nontemporal_threshold == 8 << 20 and costs.rows_per_pass == 8
    assert costs.chunk(costs.point_ns(Work(arithmetic=1, bytes=12))) == 16384  # a + b
    assert [costs.unroll_factor(n, 1) for n in (8, 9, 12, 13)] == [4, 2, 2, 1]
    assert [costs.unroll_for_period(5, n) for n in (1, 2, 4, 8, 16)] == [5, 4, 4, 8, 5]
    assert [costs.unroll_factor(60, chain) for chain in (60, 15, 11, 7, 3)] == [4, 4, 3, 2, 1]
    assert [costs.unroll_factor(12, chain) for chain in (15, 11, 7)] == [4, 3, 2]
    assert costs.unroll_factor(300, 300) == 1
    assert [costs.accumulators(n, 8) for n in (2, 3)] == [16, 8] and costs.accumulators(2, 8, shared=True) == 14


def test_a_quotient_is_waited_for_as_long_as_four_operations():
    def body(function: Any) -> list[Operation]:
        module = run_stages(txc.jit(function).graph(X), Options.of(), stop_after="fused").module
        assert module is not None
        return [*next(op for op in module.walk() if isinstance(op, GenericOp)).body.block.ops]

    assert operations_and_chain(body(lambda x: (x + 1.5) * (x - 0.5))) == (3, 2)
    assert operations_and_chain(body(lambda x: np.sqrt(x + 1.5) / (x - 0.5))) == (4, 9)


def test_the_slowest_port_decides():
    costs = CostModel(Machine(flops_per_ns=10.0, divs_per_ns=2.0, l2_bandwidth=100.0))
    assert costs.point_ns(Work(arithmetic=20, divisions=1, bytes=40)) == 2.0
    assert costs.point_ns(Work(arithmetic=1, divisions=10, bytes=40)) == 5.0
    assert costs.point_ns(Work(arithmetic=1, divisions=0, bytes=800)) == 8.0
    assert costs.point_ns(Work(arithmetic=20, bits=64)) == 4.0


@pytest.mark.parametrize(
    ("function", "bytes_"),
    [
        (lambda x: -x, 4 + 4),
        (lambda x: -x[:, ::2], 8 + 4),
        (lambda x: -x[:, 2], 64 + 4),  # a line each
        (lambda x: x + x.T[:4, :1], 4 + 4),  # of the column there is an element a row
        (lambda x: x[:4, :4] + x[:4, :4].T, 4 + 4 + 4),  # one of the iterators goes along the lines
        (lambda x: x[:-1, 1:] + x[1:, :-1] * x[1:, 1:], 4 + 4),  # a shift brings nothing new
    ],
)
def test_an_element_brings_what_lies_before_the_next(function: Any, bytes_: int):
    module = run_stages(txc.jit(function).graph(X), Options.of(), stop_after="buffers").module
    assert module is not None
    (nest,) = (op for op in module.walk() if isinstance(op, GenericOp))
    assert point_work(nest, CostModel()).bytes == bytes_


@pytest.mark.parametrize(
    ("function", "bytes_"),
    [
        (lambda x, i: np.take(x, i), 64 + 8 + 4),  # a line for each place that data give
        (lambda x, i: np.take(x, i, axis=0), 4 + 4),  # of rows at such places
    ],
)
def test_places_that_are_computed_bring_lines(function: Any, bytes_: int):
    graph = txc.jit(function).graph(X, np.array([0, 3]))
    module = run_stages(graph, Options.of(), stop_after="buffers").module
    assert module is not None
    *_, nest = (op for op in module.walk() if isinstance(op, GenericOp) and not op.is_reduction)
    assert point_work(nest, CostModel()).bytes == bytes_


@pytest.mark.parametrize(("columns", "bytes_"), [(None, 4), (3, 0)])
def test_a_contraction_brings_what_it_reads_once(columns: int | None, bytes_: int):
    """A matrix times a vector waits for the matrix; of two matrices elements are read while they are at hand."""
    right = np.ones(5 if columns is None else (5, columns), np.float32)
    module = run_stages(txc.jit(lambda a, b: a @ b).graph(X, right), stop_after="buffers").module
    assert module is not None
    (nest,) = (op for op in module.walk() if isinstance(op, GenericOp))
    assert point_work(nest, CostModel()).bytes == bytes_


def test_contractions_have_the_longest_vectors():
    graph = txc.jit(lambda a, b: a @ b).graph(X, X[0])
    options = Options.of(passes="tx-schedule-cpu{vector_bits=512}")
    module = run_stages(graph, options, stop_after="loops", machine=Machine.of_cpu(512, 32)).module
    assert module is not None and " vector 16 " in str(module)


def test_vectors_are_as_long_as_a_line_where_arithmetic_decides():
    costs = CostModel(Machine.of_cpu(512, 32))
    assert costs.compute_ns(20) == CostModel().compute_ns(10)
    assert costs.vector_bits(Work(arithmetic=10, bytes=8), 512) == 512
    assert costs.vector_bits(Work(arithmetic=1, bytes=8), 512) == 256  # a cache decides
    assert costs.vector_bits(Work(arithmetic=10, divisions=4, bytes=8), 512) == 256  # the divider
    assert [costs.vector_bits(Work(arithmetic=10), bits) for bits in (128, 256)] == [128, 256]
    assert [costs.vector_bits(Work(bytes=8), bits) for bits in (128, 256)] == [128, 256]


def test_long_vectors_come_with_a_larger_second_cache():
    assert Machine.of_cpu(256, 16) == Machine()
    assert Machine.of_cpu(512, 32).l2_bytes == 2 * Machine().l2_bytes


def test_the_length_of_vectors_is_told():
    def told(bits: int) -> list[str]:
        with collect() as remarks:
            stage(
                lambda x: np.exp(np.exp(x)),
                "loops",
                Machine.of_cpu(bits, 32),
                passes=f"tx-schedule-cpu{{vector_bits={bits}}}",
            )
        return [str(r) for r in remarks if r.kind == "vector-width"]

    (line,) = told(512)
    assert "512 bits: bound by arithmetic" in line
    assert not told(256)


def test_roots_go_by_steps_where_the_divider_is_what_takes_longest():
    costs = CostModel(Machine.of_cpu(512, 32))
    waits = Work(arithmetic=8, divisions=2, bytes=12)
    assert costs.newton_sqrt_cost(waits, 1) == (Work(arithmetic=22, divisions=1, bytes=12), 1)
    assert costs.vector_bits(costs.newton_sqrt_cost(waits, 1)[0], 512) == 512
    assert costs.newton_sqrt_cost(waits, 0) == (waits, 0)
    doubles = Work(arithmetic=8, divisions=2, bytes=24, bits=64)
    assert costs.newton_sqrt_cost(doubles, 1) == (Work(arithmetic=26, divisions=1, bytes=24, bits=64), 1)
    for other in (
        Work(arithmetic=150, divisions=3, bytes=16),
        Work(8, 2, 60),
        Work(8, 2, 160, bits=64),
        Work(8, 2, 6, bits=16),
    ):
        assert costs.newton_sqrt_cost(other, 1) == (other, 0)


def test_a_divider_with_time_to_spare_has_half_of_the_roots():
    waits, fast = Work(arithmetic=8, divisions=2, bytes=12), CostModel(Machine(flops_per_ns=80.0, divs_per_ns=10.0))
    assert fast.newton_sqrt_cost(waits, 1) == (Work(arithmetic=15, divisions=1.5, bytes=12), 2)
    assert CostModel(Machine(flops_per_ns=80.0, divs_per_ns=40.0)).newton_sqrt_cost(waits, 1) == (waits, 0)


def test_light_arithmetic_waits_for_memory():
    costs = CostModel(Machine(flops_per_ns=10.0, dram_bandwidth=2.0))
    assert costs.is_memory_bound(Work(arithmetic=20, bytes=4)) and not costs.is_memory_bound(Work(21, bytes=4))
    assert not costs.is_memory_bound(Work(arithmetic=11, bytes=4, bits=64))


def test_a_unit_of_work_is_what_native_entries_compare_with():
    assert WORK_UNITS == LIGHT
    costs = CostModel()
    assert costs.weight(costs.work_unit_ns * 10) == 10 and costs.weight(0.0) == 1
    assert costs.grain(dim(100), 1.0) == dim(2048 // 100)
    assert costs.grain(sym("n"), 1.0).evaluate({s: 100 for s in sym("n").symbols()}) == 2048 // 100


def test_long_bodies_are_worth_a_thread_earlier():
    def text(function: Any) -> str:
        return stage(function, "loops", Machine())

    assert " step 4096 " in text(lambda x: x.reshape(-1) + 1)
    steps = re.findall(r" step (\d+) on ", text(lambda x: np.exp(np.exp(x.reshape(-1))) / x.reshape(-1)))
    assert steps == ["1024"]


def test_a_module_says_for_which_machine_it_is():
    machine = Machine(l3_bytes=64.0 * (1 << 20), l2_bandwidth=1.0)
    graph = txc.jit(reused).graph(X)
    module = run_stages(graph, stop_after="tensor", machine=machine).module
    assert module is not None and Machine.of(module) == machine == Machine.of(next(iter(module.body.block.ops)))
    assert "tx.machine" not in stage(reused, "tensor", Machine())
    assert "nontemporal 16777216" in stage(lambda x: x + 1, "loops", machine)


def test_where_memory_is_slow_values_are_computed_again():
    assert "tx.eval" in stage(reused, "evals", Machine())
    assert "tx.eval" not in stage(reused, "evals", Machine(l2_bandwidth=1.0))
    assert "tx.eval" not in stage(reused, "evals", Machine(), passes="tx-insert-evals{maps=false}")


def test_explain_compares_both_ways():
    text = txc.jit(reused).explain(X)
    both = r"\(recompute [\d.]+ µs, materialize [\d.]+ µs\)"
    assert re.search(rf"materialize +tx\.add: materialized: 2 uses {both}  at .*test_costs.py:\d+", text)
    assert re.search(r"sibling-fusion +.*: not fused: only one of them is a reduction", text)
    assert re.search(
        r"row-fusion +.*: fused: .*\(fused, rows in L2 [\d.]+ µs, not fused, through DRAM [\d.]+ µs\)", text
    )
    assert re.search(r"threads .*: tasks of \d+ points: .*\(per point [\d.]+ ns, dispatch 2.05 µs\)", text)
    turned = txc.jit(lambda x, y: x.T + y.T).explain(X, X)
    assert re.search(r"layout +tx\.add: layout \[1, 0\]: .*layout \[0, 1\] [\d.]+ \w+, layout \[1, 0\]", turned)
    assert re.search(r"nontemporal +add: non-temporal stores above 8 MiB: .*\(non-temporal [\d.]+ µs, cached", turned)
    apart = txc.jit(lambda x, y: (x + 1, y[:2] * 2)).explain(X, X)
    assert "not fused: they have different iteration spaces" in apart


@pytest.mark.skipif(not can_load(b"\x7fELF"), reason="there is no cache")
def test_what_is_measured_is_kept_and_is_part_of_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / "cache"))
    graph = txc.jit(reused).graph(X)

    def key() -> str:
        made = code_key(graph, (), Options.of())
        assert made is not None
        return made.name

    before, usual = key(), compile_graph(graph).executable([X], (), 1)
    machine = calibrate.calibrate(quick=True)
    of_kind, usual_machine = ("prefetch_min_bytes", "prefetch_reads_bytes"), Machine.of_cpu(512, 32, host_target().cpu)
    assert all(getattr(machine, f.name) > 0 for f in fields(Machine) if f.name not in of_kind)
    assert all(getattr(machine, name) == getattr(usual_machine, name) for name in of_kind)
    assert machine != Machine() and key() != before
    module = run_stages(graph, stop_after="tensor").module
    assert module is not None and Machine.of(module) == machine
    for a, b in zip(compile_graph(graph).executable([X], (), 1), usual, strict=True):
        np.testing.assert_array_equal(a.view("u4"), b.view("u4"))


def test_figures_that_cannot_be_kept_are_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TXC_CACHE_DIR", "0")
    with pytest.raises(calibrate.CalibrationError, match="no folder to keep the figures in: set TXC_CACHE_DIR"):
        calibrate.calibrate(quick=True)


def test_figures_of_other_versions_do_not_count():
    assert Machine.of_figures({"l1_bytes": 1024, "tea": 3.0}) == Machine(l1_bytes=1024.0)
