"""The benchmarks run: small sizes, nothing timed; what is reported follows from the samples."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import host_target

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.ablation import SWITCHES, ablation  # noqa: E402
from benchmarks.first_results import PROGRAMS, report, script  # noqa: E402
from benchmarks.instructions import innermost_loops, map_operations  # noqa: E402
from benchmarks.measure import Effort, Implementation, check, measure  # noqa: E402
from benchmarks.ratios import family_mean, ratio_interval  # noqa: E402
from benchmarks.report import rows_of  # noqa: E402
from benchmarks.worker import Request  # noqa: E402
from benchmarks.workloads import FAMILIES, workloads  # noqa: E402


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_a_quick_run_validates_times_and_reports(tmp_path):
    files = [tmp_path / name for name in ("figures.json", "table.md", "plot.svg")]
    done = run(
        "--family", "softmax-rows,call", "--quick", "--threads", "1", "--seed", "7", "--only", "txc,numpy",
        "--json", str(files[0]), "--markdown", str(files[1]), "--plot", str(files[2]),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(files[0].read_text())["answers"]
    assert [r["family"] for r in answer["records"]] == ["softmax-rows", "call"]
    assert all({"txc", "numpy"} <= set(r["seconds"]) for r in answer["records"])
    assert "| softmax-rows | 64×100 f4 row |" in files[1].read_text() and "seed 7" in files[1].read_text()
    circles = ElementTree.parse(files[2]).iter("{http://www.w3.org/2000/svg}circle")
    assert sum(1 for _ in circles) == 2  # the point and its entry in the legend


def test_the_ablation_measures_every_part_and_marks_what_matters():
    asked: list[Request] = []

    def ask(request: Request) -> dict[str, object]:
        asked.append(request)
        seconds = [2.0 if "tx-fuse" in request.passes else 1.0] * 5
        return {"records": [{"family": "add", "workload": "1000", "seconds": {"txc": seconds}}]}

    head, _, row = ablation(Request(1, ["add"], [], 7), ask).splitlines()
    assert [c.strip() for c in head.split("|")[3:-1]] == [f"without {name}" for name in (*SWITCHES, "nothing")]
    plain = " | ".join(["1.00"] * 8)
    assert row == f"| add 1000 | 1e+03 ms | **2.00** | **2.00** | **2.00** | {plain} |"
    assert {s.passes for s in SWITCHES.values()} == {r.passes for r in asked}
    assert [r.environment for r in asked].count({"TXC_HUGE_PAGES": "0"}) == 1


def test_the_time_to_a_first_result_is_that_of_a_process():
    *_, row = report(["x + 1"], ["numpy"], 1).splitlines()
    seconds, fastest = row.removeprefix("| x + 1 | ").removesuffix(") |").split(" (")
    assert seconds == fastest and 0 < float(seconds) < 60


def test_the_programs_of_first_results_are_the_same_for_each_library():
    for name in PROGRAMS:
        texts = {peer: script(peer, name) or "" for peer in ("txc", "numpy", "jax", "numba")}
        assert " np." not in texts["jax"].partition("@jax.jit")[2].partition("x = np.sin")[0]
        assert texts["txc"].replace("import txc", "").replace("@txc.jit", "") == texts["numpy"]
        assert (not texts["numba"]) is ("fft" in name)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("--family", "nothing"), "there is no family 'nothing'"), (("--only", "fortran"), "no implementation 'fortran'")],
)
def test_unknown_names_are_errors(arguments, says):
    done = run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_every_family_has_three_sizes_and_a_drawn_one_that_its_seed_repeats():
    for name, family in FAMILIES.items():
        assert len(family.sizes) >= 3, name
        drawn = [w.size for seed in (1, 1, 2) for w in workloads([name], seed, quick=False, sizes=[len(family.sizes)])]
        third = len(drawn) // 3
        assert drawn[:third] == drawn[third : 2 * third] != drawn[2 * third :], name


def test_a_wrong_result_is_named():
    right = np.ones(3)
    check({"good": right + 1e-9}, right, 1e-4)
    with pytest.raises(AssertionError, match="bad"):
        check({"bad": right + 1}, right, 1e-4)


def test_contestants_take_turns():
    order: list[str] = []
    implementations = {n: _clocked(order, n, 1.0) for n in "ab"}
    timed = measure(implementations, Effort(3, 3, 0.0, 0.0))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert all(len(times) == 3 for times in timed.seconds.values())


def test_the_subject_is_called_for_a_while_before_its_turns():
    order: list[str] = []
    implementations = {n: Implementation(lambda n=n: order.append(n)) for n in ("peer", "txc")}
    measure(implementations, Effort(1, 1, 0.0, 0.0, warm=0.001))
    assert order[0] == "txc" and "peer" in order


def test_peers_far_behind_leave_after_two_rounds():
    order: list[str] = []
    implementations = {n: _clocked(order, n, s) for n, s in {"txc": 9.0, "best": 1.0, "near": 3.0, "far": 3.1}.items()}
    timed = measure(implementations, Effort(4, 4, 0.0, 0.0))
    assert {name: len(times) for name, times in timed.seconds.items()} == {"txc": 4, "best": 4, "near": 4, "far": 2}
    record = {"family": "add", "workload": "", "seconds": timed.seconds, "bytes": 0.0, "flops": 0.0, "dtype": "f4"}
    (row,) = rows_of({"threads": 1, "ceilings": None, "records": [record]})
    assert (row.best, row.ratio, row.others) == ("best", 9.0, {"near": 3.0, "far": 3.1})


def _clocked(order: list[str], name: str, seconds: float) -> Implementation:
    """An implementation that takes so long by its own clock."""
    return Implementation(lambda: order.append(name) or seconds, own_clock=True)


def test_intervals_and_means_of_ratios():
    assert ratio_interval([2.0] * 5, [1.0] * 5) == (2.0, 2.0)
    low, high = ratio_interval([1.0, 1.0, 1.0, 2.0, 2.0], [1.0] * 5)
    assert (low, high) == (1.0, 2.0)
    assert family_mean({"one": [4.0, 1.0], "two": [8.0]}) == pytest.approx(4.0)


ASSEMBLY = """
f:
\tvbroadcastss\t.LC0(%rip), %zmm3
.LBB0_1:
\tmovq\t%rax, %rbx
.LBB0_2:
\tvmovups\t(%rdi,%rax,4), %zmm0
\tvaddps\t%zmm0, %zmm0, %zmm1
\tvfmadd213ps\t(%rcx), %zmm0, %zmm1
\tvdivps\t%zmm1, %zmm0, %zmm2
\tvmovups\t%zmm2, 64(%rsp)
\tkortestw\t%k0, %k0
\tjne\t.LBB0_4
\tvmovups\t%zmm2, (%rsi,%rax,4)
\tvmovups\t%zmm1, 64(%rsi,%rax,4)
\tjl\t.LBB0_2
.LBB0_3:
\tvmulps\t%zmm0, %zmm0, %zmm1
\tvmovups\t%zmm1, (%rsi) {%k1}
\tjl\t.LBB0_3
\tjl\t.LBB0_1
.LBB0_4:
\tretq
"""


def test_operations_of_a_map_are_those_of_its_loop_of_whole_vectors():
    whole, cut = innermost_loops(ASSEMBLY)
    assert (whole.vector_bits, whole.stores, whole.places) == (512, 2, 1 + 1 + 3)
    assert (cut.stores, cut.places) == (0, 1)
    assert map_operations(ASSEMBLY) == 5.0
    assert map_operations("f:\n\tretq\n") == 0.0


@pytest.mark.skipif(not host_target().has("avx2"), reason="instructions are counted by their x86 names")
def test_operations_of_a_map_of_this_machine():
    code = txc.jit(lambda x: (x + 1.0) * x - 2.0).lower(np.ones(10_000)).as_text("asm")
    assert map_operations(str(code)) == 6.0


def test_functions_over_dask_arrays_are_compared_and_timed():
    pytest.importorskip("dask.array", reason="Dask is not installed")
    command = [sys.executable, "-m", "benchmarks.dask_chunks", "column-sum", "--quick", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()[2::2]
    assert head.startswith("| | txc | txc in map_blocks | Numba in map_blocks | NumPy in map_blocks |")
    assert row.startswith("| column-sum 100×1024 f4, 4 chunks | ") and row.count("|") == head.count("|")
