"""The thread pool: every chunk exactly once, whatever the sizes, callers, load, forks and exits."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import llvmlite.binding as llvm
import pytest

from txc.runtime.pool import pool as pool_module
from txc.runtime.pool.ir import source
from txc.runtime.pool.layout import COUNT_BITS, MAX_WORKERS, SLICE_LIMIT, State
from txc.runtime.pool.pool import Pool, get_pool

STRESS_REGIONS = int(os.environ.get("TXC_STRESS_REGIONS", "200000"))
EPOCH_BITS = 64 - 2 * COUNT_BITS
# Only ends a hung test; no result depends on it.
PATIENCE = 60

CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_ARGUMENTS = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="futexes exist on Linux only")
fork_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


def run(pool: Pool, chunk: Callable[[int, int], None], n: int, threads: int, hold_gil: bool = False) -> None:
    """Runs the Python function ``chunk(index, worker)`` as a region."""
    prototype = (ctypes.PYFUNCTYPE if hold_gil else ctypes.CFUNCTYPE)(None, *PARALLEL_ARGUMENTS)
    callback = CHUNK(lambda _, index, worker: chunk(index, worker))
    prototype(pool.parallel_address)(pool.address, ctypes.cast(callback, ctypes.c_void_p), None, n, threads)


def meet(pool: Pool, threads: int) -> bool:
    """Whether *threads* participants with different ids are in one region at the same time."""
    barrier = threading.Barrier(threads)
    met = []

    def chunk(index: int, worker: int) -> None:
        try:
            barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            return
        met.append(worker)

    run(pool, chunk, threads, threads)
    return sorted(met) == list(range(threads))


def wait_until_asleep(pool: Pool) -> None:
    """Returns when every worker sleeps."""
    deadline = time.monotonic() + PATIENCE
    while pool.stats().sleeping < pool.stats().workers:
        assert time.monotonic() < deadline, pool.stats()
        time.sleep(0.001)


@pytest.fixture
def make_pool() -> Iterator[Callable[..., Pool]]:
    """Pools of the test's own, stopped when it ends."""
    made: list[Pool] = []

    def make(**options: int) -> Pool:
        made.append(Pool(**options))  # pyright: ignore[reportArgumentType]
        return made[-1]

    yield make
    for pool in made:
        pool.stop()


# Sizes


@pytest.mark.parametrize("n", [0, -1, -(2**62)])
def test_no_chunks(n: int) -> None:
    ran = []
    run(get_pool(), lambda index, worker: ran.append(index), n, 4)
    assert ran == []


@pytest.mark.parametrize(("n", "threads"), [(1, 4), (7, 1), (7, 0), (7, -3)])
def test_serial_regions_run_in_the_caller_as_worker_0(n: int, threads: int) -> None:
    ran = []
    before = get_pool().stats().regions
    run(get_pool(), lambda index, worker: ran.append((index, worker, threading.get_ident())), n, threads)
    assert ran == [(index, 0, threading.get_ident()) for index in range(n)]
    assert get_pool().stats().regions == before


@pytest.mark.parametrize("threads", [2, 3, 6])
def test_participants_run_at_the_same_time_with_different_ids(threads: int) -> None:
    assert meet(get_pool(), threads)


def test_no_more_participants_than_threads(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    assert pool.ensure(6) == 6
    assert meet(pool, 6)
    workers = set()
    for _ in range(200):
        run(pool, lambda index, worker: workers.add(worker), 20, 3)
    assert workers <= {0, 1, 2}
    assert meet(pool, 3)


@linux_only
@pytest.mark.skipif(sys.platform == "linux" and len(os.sched_getaffinity(0)) < 2, reason="there is one CPU")
def test_workers_wake_on_other_cpus_than_their_caller(make_pool: Callable[..., Pool]) -> None:
    before = os.sched_getaffinity(0)
    pool, (first, second, *_) = make_pool(), sorted(before)
    assert pool.ensure(2) == 2
    (worker,) = (thread.native_id for thread in pool._threads)
    assert worker is not None

    def woken_by(cpu: int) -> set[int]:
        """Where the worker may run after a region of a caller on a CPU."""
        os.sched_setaffinity(0, {cpu})
        wait_until_asleep(pool)
        assert meet(pool, 2)
        return os.sched_getaffinity(worker)

    try:
        wait_until_asleep(pool)
        assert os.sched_getaffinity(worker) == before
        assert woken_by(first) == before - {first}
        assert woken_by(second) == before - {second}
        os.sched_setaffinity(worker, {second})  # somebody's own choice
        assert woken_by(first) == {second}
        assert woken_by(second) == {second}  # there is no other
    finally:
        os.sched_setaffinity(0, before)


def test_large_regions_run_as_slices(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool(slice_limit=7)
    ran = []
    run(pool, lambda index, worker: ran.append(index), 1000, 3)
    assert sorted(ran) == list(range(1000))
    assert pool.stats().regions == -(-1000 // 7)


def test_chunk_numbers_beyond_32_bits(make_pool: Callable[..., Pool]) -> None:
    """Runs the ends of the slices of 2^32 + 4 chunks: each but the last is declared done while both threads are in it.

    Nobody claims meanwhile: one of them waits for the other, which writes.
    """
    pool, both = make_pool(), threading.Barrier(2)
    whole = (2**32 + 4) // SLICE_LIMIT * SLICE_LIMIT
    ran = []

    def chunk(index: int, worker: int) -> None:
        ran.append(index)
        if index >= whole:
            return
        both.wait(PATIENCE)
        if worker == 0:
            unclaimed = pool.state.claim & SLICE_LIMIT
            pool.state.claim -= unclaimed
            pool.state.done += unclaimed
        both.wait(PATIENCE)

    run(pool, chunk, 2**32 + 4, 2)
    ends = [end for first in range(0, whole, SLICE_LIMIT) for end in (first, first + SLICE_LIMIT - 1)]
    assert sorted(ran) == [*ends, *range(whole, 2**32 + 4)]
    assert pool.stats().regions == whole // SLICE_LIMIT + 1


def test_two_threads_have_a_run_of_chunks_each(make_pool: Callable[..., Pool]) -> None:
    pool, both = make_pool(), threading.Barrier(2)
    ran: tuple[list[int], list[int]] = [], []

    def chunk(index: int, worker: int) -> None:
        ran[worker].append(index)
        if len(ran[worker]) == 1:
            both.wait(PATIENCE)

    run(pool, chunk, 100, 2)
    front, back = ran
    assert front == [*range(len(front))]
    assert back == [*range(99, len(front) - 1, -1)]


# Many regions


def run_with_workers(drive: Callable, pool: Pool, regions: int) -> None:
    """Regions until workers ran a part: where other processes have all other CPUs, the caller may be done before."""
    deadline = time.monotonic() + PATIENCE
    while True:
        outcome = drive(pool, regions)
        assert outcome.errors == 0
        if outcome.by_workers:
            return
        assert time.monotonic() < deadline


def test_many_regions(drive: Callable) -> None:
    pool = get_pool()
    run_with_workers(drive, pool, STRESS_REGIONS)
    assert meet(pool, 5)


def test_many_regions_with_threads_that_sleep_at_once(drive: Callable, make_pool: Callable[..., Pool]) -> None:
    run_with_workers(drive, make_pool(spins=0), STRESS_REGIONS // 20)


def test_many_regions_without_futex(drive: Callable, make_pool: Callable[..., Pool]) -> None:
    pool = make_pool(spins=0, futex=False)
    run_with_workers(drive, pool, STRESS_REGIONS // 20)
    wait_until_asleep(pool)
    assert meet(pool, 3)


def test_many_regions_in_slices(drive: Callable, make_pool: Callable[..., Pool]) -> None:
    run_with_workers(drive, make_pool(slice_limit=3), STRESS_REGIONS // 20)


def test_epochs_wrap(drive: Callable, make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    pool.ensure(5)
    wait_until_asleep(pool)
    pool.state.claim = (2**EPOCH_BITS - 500) << 2 * COUNT_BITS
    assert drive(pool, 10_000).errors == 0
    assert 0 < pool.stats().regions < 10_000
    assert meet(pool, 3)


def test_wrapping_waits_for_workers_that_may_hold_an_old_word(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    pool.ensure(2)
    wait_until_asleep(pool)
    pool.state.claim = (2**EPOCH_BITS - 1) << 2 * COUNT_BITS
    straggler = pool.state.slots[MAX_WORKERS]  # no thread has this slot: the test plays its part
    straggler.inside = 1
    ran = []
    caller = threading.Thread(target=run, args=(pool, lambda index, worker: ran.append(index), 2, 2))
    caller.start()
    while not pool.state.busy:
        time.sleep(0.001)
    for _ in range(20):
        time.sleep(0.001)
        assert ran == []
    straggler.inside = 0
    caller.join(PATIENCE)
    assert sorted(ran) == [0, 1]
    assert pool.stats().regions == 0


def test_every_sleep_is_ended(make_pool: Callable[..., Pool]) -> None:
    """Regions that begin while the workers sleep: a wake that got lost would leave the others waiting."""
    pool = make_pool(spins=1)
    for _ in range(100):
        assert meet(pool, 3)
        wait_until_asleep(pool)


@pytest.mark.parametrize("futex", [pytest.param(True, marks=linux_only), False])
@pytest.mark.parametrize("spins", [0, 3, 2000])
def test_no_wake_is_lost(spins: int, futex: bool, drive_meetings: Callable, make_pool: Callable[..., Pool]) -> None:
    """Regions that need two participants begin just while the worker falls asleep."""
    pool = make_pool(spins=spins, futex=futex)
    assert drive_meetings(pool, 5000)
    assert pool.stats().regions == 5000


def test_many_regions_under_load(drive: Callable) -> None:
    """Busy processes preempt workers and caller in the middle of everything."""
    spin = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    load = [subprocess.Popen(spin, stdout=subprocess.PIPE) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        for process in load:
            assert process.stdout is not None and process.stdout.readline()
        outcome = drive(get_pool(), STRESS_REGIONS // 10)
        assert outcome.errors == 0
        assert meet(get_pool(), 3)
    finally:
        for process in load:
            process.kill()
            process.communicate()


# Callers


def test_concurrent_callers(drive: Callable) -> None:
    outcomes = []
    callers = [
        threading.Thread(target=lambda seed=seed: outcomes.append(drive(get_pool(), STRESS_REGIONS // 20, seed=seed)))
        for seed in range(1, 5)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert [outcome.errors for outcome in outcomes] == [0] * 4
    assert meet(get_pool(), 3)


def test_a_caller_that_finds_the_pool_busy_runs_serially(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    inside, leave = threading.Event(), threading.Event()

    def hold(index: int, worker: int) -> None:
        inside.set()
        leave.wait(PATIENCE)

    owner = threading.Thread(target=run, args=(pool, hold, 2, 2))
    owner.start()
    assert inside.wait(PATIENCE)
    ran = []
    run(pool, lambda index, worker: ran.append((index, worker, threading.get_ident())), 9, 4)
    leave.set()
    owner.join(PATIENCE)
    assert ran == [(index, 0, threading.get_ident()) for index in range(9)]


def test_nested_regions_run_serially(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    barrier = threading.Barrier(2)
    ran = []

    def outer(index: int, worker: int) -> None:
        barrier.wait(PATIENCE)
        me = threading.get_ident()
        run(pool, lambda inner, w: ran.append((index, inner, w, threading.get_ident() == me)), 5, 4)

    run(pool, outer, 2, 2)
    assert sorted(ran) == [(index, inner, 0, True) for index in range(2) for inner in range(5)]
    assert pool.stats().regions == 1


def test_a_caller_that_holds_the_gil_can_make_the_pool_grow(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    run(pool, lambda index, worker: None, 1, 4, hold_gil=True)
    assert pool.stats().workers == 0
    empty = _native_empty()
    call = ctypes.PYFUNCTYPE(None, *PARALLEL_ARGUMENTS)(pool.parallel_address)
    call(pool.address, empty, None, 4, 4)
    stats = pool.stats()  # once: workers fall asleep meanwhile
    assert (stats.workers, stats.regions) == (3, 1)


def _native_empty() -> int:
    """A native function that may be called as a chunk and returns at once, whoever holds the GIL."""
    return ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p).value or 0


# Growing and stopping


def test_the_process_has_one_pool() -> None:
    pools = []
    threads = [threading.Thread(target=lambda: pools.append(get_pool())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(pool) for pool in pools}) == 1


def test_the_pool_starts_only_the_threads_asked_for(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    assert [pool.ensure(threads) for threads in (-1, 0, 1, 3, 2)] == [1, 1, 1, 3, 3]
    assert pool.stats().workers == 2
    run(pool, lambda index, worker: None, 2, 5)
    assert pool.stats().workers == 4


def test_regions_run_with_fewer_threads_if_the_system_refuses_more(
    make_pool: Callable[..., Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = make_pool()
    pool.ensure(2)

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.warns(RuntimeWarning, match="only 2 of 4 threads will run: can't start new thread"):
            assert pool.ensure(4) == 2
    ran = []
    run(pool, lambda index, worker: ran.append(index), 10, 4)
    assert sorted(ran) == list(range(10))
    assert pool.stats().workers == 1
    assert pool.ensure(4) == 4


def test_a_stopped_pool_has_no_threads_and_runs_serially(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    assert meet(pool, 4)
    threads = list(pool._threads)
    pool.stop()
    assert not any(thread.is_alive() for thread in threads)
    assert pool.ensure(4) == 1
    ran = []
    run(pool, lambda index, worker: ran.append((index, worker)), 5, 4)
    assert ran == [(index, 0) for index in range(5)]
    pool.stop()


# Fork


def in_child(check: Callable[[], bool]) -> None:
    """Forks, and asserts that *check* holds in the child; a child that hangs is killed by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        passed = False
        try:
            passed = check()
        finally:
            os._exit(0 if passed else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0


@fork_only
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("futex", [pytest.param(True, marks=linux_only), False])
def test_a_forked_child_has_its_own_workers(futex: bool, drive: Callable, make_pool: Callable[..., Pool]) -> None:
    pool = make_pool(futex=futex)
    assert meet(pool, 3)

    def check() -> bool:
        none = pool.stats().workers == 0
        return none and meet(pool, 3) and drive(pool, 1000).errors == 0 and get_pool().ensure(2) == 2

    in_child(check)
    assert meet(pool, 3)


@fork_only
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_runs_a_region(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    inside, leave = threading.Barrier(3), threading.Event()

    def hold(index: int, worker: int) -> None:
        inside.wait(PATIENCE)
        leave.wait(PATIENCE)

    owner = threading.Thread(target=run, args=(pool, hold, 2, 2))
    owner.start()
    inside.wait(PATIENCE)
    in_child(lambda: meet(pool, 3))
    leave.set()
    owner.join(PATIENCE)
    assert meet(pool, 3)


@fork_only
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_while_another_thread_makes_the_pool_grow(make_pool: Callable[..., Pool]) -> None:
    pool = make_pool()
    with pool._lock, pool_module._shared_lock:
        in_child(lambda: meet(pool, 3) and get_pool().ensure(2) == 2)


# Code for other machines


@pytest.mark.parametrize(
    ("machine", "triple", "futex"),
    [
        ("x86_64", "x86_64-unknown-linux-gnu", True),
        ("aarch64", "aarch64-unknown-linux-gnu", True),
        ("riscv64", "riscv64-unknown-linux-gnu", True),
        ("AMD64", "x86_64-pc-windows-msvc", False),
        ("arm64", "arm64-apple-macosx", False),
        ("ppc64le", "powerpc64le-unknown-linux-gnu", False),
    ],
)
def test_the_code_compiles_for(machine: str, triple: str, futex: bool) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(source(machine, futex))
    module.verify()
    features = "+a" if machine == "riscv64" else ""  # atomics are an extension there
    target = llvm.Target.from_triple(triple).create_target_machine(opt=0, features=features)
    assembly = target.emit_assembly(module)
    assert "__atomic_" not in assembly  # library calls that nothing would resolve
    assert ("syscall" in assembly) == futex


def test_what_different_threads_write_lies_on_different_lines() -> None:
    offsets = [getattr(State, name).offset for name in ("workers", "busy", "claim", "fn", "done", "slots")]
    assert all(offset % 128 == 0 for offset in offsets)
    assert len(set(offsets)) == len(offsets)
