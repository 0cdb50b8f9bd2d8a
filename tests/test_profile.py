"""``f.profile``: what it says of known programs is exact; times are those of one call."""

import itertools
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import txc
from txc.compiler.config import knobs
from txc.compiler.interpret.loops import run as run_loops
from txc.compiler.pipeline import run_stages
from txc.compiler.tools.roofline import ceilings
from txc.passes.cost.instrument import InstrumentPass
from txc.runtime.loader import perf_map
from txc.runtime.loader.loader import can_load

F32, F64 = 4, 8


@txc.jit
def softmax(x, beta):
    e = np.exp((x - x.max(axis=1, keepdims=True)) * beta)
    return e / e.sum(axis=1, keepdims=True)


@txc.jit
def dense(a, b):
    return np.tanh(a @ b) + 1


@txc.jit
def chain(a):
    b = a * 2 + 1
    return np.tanh(b) + b.sum(), b.sum(axis=1)


def one(profile):
    (kernel,) = profile.kernels
    return kernel


def test_rows_are_one_kernel_that_reads_and_writes_each_operand_once():
    kernel = one(softmax.profile(np.ones((30, 70), np.float32), np.float32(2), repeats=1))
    assert kernel.operations == "reduce(select); sub mul exp; reduce(add); div"
    assert (kernel.bytes_read, kernel.bytes_written) == (30 * 70 * F32 + F32, 30 * 70 * F32)
    assert kernel.flops == 30 * 70 * 5  # sub, mul, exp, add, div; comparing is none
    assert kernel.float_bits == 32


def test_code_that_checks_indices():
    profile = txc.jit(softmax.__wrapped__, check_bounds=True).profile(np.ones((30, 70)), np.float32(2), repeats=1)
    assert one(profile).flops == 30 * 70 * 5


def test_contraction_with_its_epilogue():
    kernel = one(dense.profile(np.ones((20, 600)), np.ones((600, 50)), repeats=1))
    assert kernel.operations == "contract tanh add"
    assert (kernel.bytes_read, kernel.bytes_written) == ((20 * 600 + 600 * 50) * F64, 20 * 50 * F64)
    assert kernel.flops == 2 * 20 * 600 * 50 + 2 * 20 * 50
    assert kernel.float_bits == 64


def test_chain_of_three_kernels_names_the_lines_it_came_from():
    kernels = chain.profile(np.ones((40, 60)), repeats=1).kernels
    n, line = 40 * 60, chain.__wrapped__.__code__.co_firstlineno
    assert [k.operations for k in kernels] == ["mul add reduce(add)", "mul add reduce(add)", "mul add tanh"]
    assert sorted(k.bytes for k in kernels) == [n * F64 + F64, (n + 40) * F64, 2 * n * F64 + F64]
    assert [k.flops for k in kernels] == [3 * n, 3 * n, 4 * n]
    places = [place for k in kernels for place in k.places]
    assert len(places) == 3
    assert all(re.fullmatch(rf"{re.escape(__file__)}:{line + 3}:\d+", place) for place in places)


def test_a_slice_counts_what_it_reaches_and_a_broadcast_dim_is_one_element():
    @txc.jit
    def edges(x, y):
        return x[:, :3] + x[:, 1:4] + y

    x, y = np.ones((50, 1000)), np.broadcast_to(np.ones((50, 1)), (50, 3))
    kernel = one(edges.profile(x, y, repeats=1))
    assert (kernel.bytes_read, kernel.bytes_written) == ((2 * 50 * 3 + 50) * F64, 50 * 3 * F64)


def test_integers_and_conversions_are_no_floating_point_operations():
    @txc.jit
    def doubled(x):
        return (x * 2 + 1).astype(np.float64)

    kernel = one(doubled.profile(np.ones(100, np.int64), repeats=1))
    assert (kernel.flops, kernel.bytes) == (0, 2 * 100 * 8)


def test_a_loop_does_what_its_kernels_do_as_often():
    @txc.jit
    def relax(x, y):
        for _ in range(y.shape[0]):
            x = x * 0.5 + 1.0
        return x

    kernels = relax.profile(np.ones(100), np.ones(7), repeats=1).kernels
    (loop,) = [k for k in kernels if k.operations == "for (mul add)"]
    assert (loop.flops, loop.bytes_read, loop.bytes_written) == (7 * 2 * 100, 7 * 100 * F64, 7 * 100 * F64)


def test_a_loop_whose_kernels_grow_adds_them_up():
    @txc.jit
    def ramp(x):
        for i in range(x.shape[0]):
            x[: i + 1] = x[: i + 1] + 1.0
        return x

    loop = one(ramp.profile(np.zeros(20), repeats=1))
    total = 20 * 21 // 2
    assert (loop.flops, loop.bytes_read, loop.bytes_written) == (total, total * F64, total * F64)


def test_what_a_condition_decides_is_not_known():
    @txc.jit
    def halve(x):
        while x.sum() > 1.0:
            x = x / 2
        return x

    profile = halve.profile(np.ones(64), repeats=1)
    (kernel,) = [k for k in profile.kernels if k.operations.startswith("while (")]
    assert kernel.bytes is None and kernel.flops is None and profile.share_of_flops(kernel) is None
    assert "while (" in str(profile) and " - " in str(profile)


@pytest.mark.parametrize("threads", [1, 2])
def test_times_are_those_of_one_call(threads):
    profile = chain.options(threads=threads).profile(np.ones((300, 400)), repeats=5)
    assert (profile.threads, profile.repeats, profile.name) == (threads, 5, "chain")
    assert all(k.seconds > 0 for k in profile.kernels)
    assert sum(k.seconds for k in profile.kernels) <= profile.seconds


def test_rates_and_shares_follow_from_times_and_ceilings():
    profile = dense.profile(np.ones((64, 64)), np.ones((64, 64)), repeats=1)
    kernel, top = one(profile), profile.ceilings
    assert kernel.flops_per_second == kernel.flops / kernel.seconds
    assert profile.share_of_flops(kernel) == kernel.flops_per_second / top.f64_flops_per_second
    assert profile.share_of_bandwidth(kernel) == kernel.bytes / kernel.seconds / top.bytes_per_second
    assert top is ceilings(profile.threads)  # measured once
    assert min(top) > 0


def test_the_table_has_a_line_a_kernel():
    profile = chain.profile(np.ones((40, 60)), repeats=3)
    title, headings, *rows = str(profile).splitlines()
    assert title.startswith("chain: ") and "median of 3" in title and "GB/s" in title
    assert headings.split()[:2] == ["kernel", "time"] and len(rows) == 3
    assert all(row.endswith(f"test_profile.py:{profile.kernels[0].places[0].split(':')[-2]}") for row in rows)


def test_arguments_written_in_place_stay_as_they_are():
    @txc.jit
    def increment(x):
        x += 1
        return x.sum()

    memory = np.zeros((6, 10))
    increment.profile(memory[::2, ::-1], repeats=3)
    assert not memory.any()
    increment(memory)
    assert (memory == 1).all()


def test_a_tx_function_and_its_errors():
    module = txc.compile_source("def f(x: f64[n], y: f64[n]) -> f64[n]:\n    return x * y + x\n")
    kernel = one(module.f.profile(np.ones(9), np.ones(9), repeats=1))
    assert (kernel.flops, kernel.bytes_read, kernel.bytes_written) == (18, 2 * 9 * F64, 9 * F64)
    with pytest.raises(txc.TxcError, match=r"f: .*TX0552"):
        module.f.profile(np.ones(9), np.ones(8))


@pytest.mark.parametrize("repeats", [0, -1, 2.5, "3"])
def test_repeats_must_be_a_positive_int(repeats):
    with pytest.raises(ValueError, match=re.escape(f"profile(repeats={repeats!r}): it takes a positive number of")):
        chain.profile(np.ones((4, 4)), repeats=repeats)


def test_calls_are_not_instrumented():
    x = np.ones((4, 4))
    chain.profile(x, repeats=1)
    assert "loop.timestamp" not in chain.lower(x).as_text("loops")


def test_interpreters_know_clocks():
    x, symbols = np.arange(12.0).reshape(3, 4), {}
    module = run_stages(chain.graph(x), stop_after="buffers").module
    assert module is not None
    InstrumentPass().apply(None, module)  # type: ignore[arg-type]
    module.verify()
    run_stages(module, start="buffers", stop_after="loops")
    arrays = [x, np.empty((3, 4)), np.empty(3), np.zeros(4, np.int64)]
    times = run_loops(module, arrays, symbols)[-1]
    assert all(a > 0 and a <= b for a, b in itertools.pairwise(times.tolist()))


# Perf maps ------------------------------------------------------------------------------------------------------------


def _perf_map_of(tmp_path, value: str) -> subprocess.CompletedProcess[str]:
    """A fresh process that calls a function; it prints where its code is and its own lines of the perf map."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os
        import numpy as np
        import txc

        @txc.jit
        def plus_one(x):
            return x + 1

        plus_one(np.ones((64, 64)))
        (version,) = plus_one._made()
        native = version.executable.native
        import ctypes
        print(ctypes.cast(native._function, ctypes.c_void_p).value)
        path = f"/tmp/perf-{os.getpid()}.map"
        if os.path.exists(path):
            print(open(path).read(), end="")
            os.unlink(path)
        """)
    )
    environment = {**os.environ, "TXC_PERF_MAP": value, "TXC_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not can_load(b"\x7fELF"), reason="the loader is for ELF on processors it knows")
def test_a_perf_map_names_functions_compiled_and_cached(tmp_path):
    for _ in ("compiled", "from the cache"):
        done = _perf_map_of(tmp_path, "1")
        assert done.returncode == 0, done.stderr
        address, *lines = done.stdout.splitlines()
        found = [re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) txc:(\S+)", line) for line in lines]
        assert found and all(found)
        names = [m[3] for m in found if m and int(m[1], 16) <= int(address) < int(m[1], 16) + int(m[2], 16)]
        assert names == ["plus_one"]
        assert any(m[3].startswith("plus_one.") for m in found if m), "the body of its parallel loop has a name too"


def test_without_the_knob_there_is_no_perf_map(tmp_path):
    done = _perf_map_of(tmp_path, "")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_a_wrong_value_of_the_knob_is_an_error(tmp_path, monkeypatch):
    done = _perf_map_of(tmp_path, "yes")
    assert done.returncode and "TXC_PERF_MAP must be 0, 1, false or true, not 'yes'" in done.stderr
    monkeypatch.setenv("TXC_PERF_MAP", "yes")
    with pytest.raises(knobs.KnobError, match="TXC_PERF_MAP='yes': it takes 0, 1, false or true"):
        knobs.PERF_MAP.get()


def test_a_perf_map_follows_no_link(tmp_path, monkeypatch):
    monkeypatch.setattr(perf_map, "perf_map_path", lambda: str(tmp_path / "map"))
    write = perf_map.write_perf_map
    write([perf_map.Function(0x1000, 16, "f")])
    write([perf_map.Function(0x2000, 32, "g.i0")])
    assert (tmp_path / "map").read_text() == "1000 10 txc:f\n2000 20 txc:g.i0\n"
    (tmp_path / "map").rename(tmp_path / "victim")
    (tmp_path / "map").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError):
        write([perf_map.Function(0x3000, 16, "h")])
