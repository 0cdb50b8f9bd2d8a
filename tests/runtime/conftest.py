"""A native chunk function that checks its arguments, and a native loop that runs many regions of it."""

import ctypes
import faulthandler
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import llvmlite.binding as llvm
import pytest
from llvmlite.binding.executionengine import ExecutionEngine

from txc.runtime.pool.pool import Pool

MAX_CHUNKS = 40
MAX_THREADS = 5


class Ctx(ctypes.Structure):
    """What `@chunk` is given; `errors` counts everything that must not happen."""

    _fields_ = [
        ("n", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("errors", ctypes.c_int64),
        ("by_workers", ctypes.c_int64),
        ("counters", ctypes.c_int64 * MAX_CHUNKS),
        ("in_use", ctypes.c_int64 * MAX_THREADS),
    ]


# Regions alternate between two contexts, so that a chunk run for the wrong region is noticed: in the other context
# it is out of range or counted twice.
DRIVER = f"""
%Ctx = type {{ i64, i64, i64, i64, [{MAX_CHUNKS} x i64], [{MAX_THREADS} x i64] }}

define void @chunk(ptr %ctx, i64 %chunk, i64 %worker) {{
entry:
  %n.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 0
  %threads.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 1
  %errors.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 2
  %by_workers.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 3
  %n = load i64, ptr %n.at
  %threads = load i64, ptr %threads.at
  %known = icmp ult i64 %chunk, %n
  %allowed = icmp ult i64 %worker, %threads
  %right = and i1 %known, %allowed
  br i1 %right, label %run, label %wrong
wrong:
  atomicrmw add ptr %errors.at, i64 1 seq_cst
  ret void
run:
  %in_use.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 5, i64 %worker
  %twice = atomicrmw xchg ptr %in_use.at, i64 1 seq_cst
  atomicrmw add ptr %errors.at, i64 %twice seq_cst
  %counter.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 4, i64 %chunk
  atomicrmw add ptr %counter.at, i64 1 seq_cst
  %helper = icmp ne i64 %worker, 0
  %helped = zext i1 %helper to i64
  atomicrmw add ptr %by_workers.at, i64 %helped seq_cst
  store atomic i64 0, ptr %in_use.at seq_cst, align 8
  ret void
}}

define void @drive(ptr %parallel, ptr %pool, ptr %pair, i64 %regions, i64 %threads, i64 %seed) {{
entry:
  br label %region
region:
  %i = phi i64 [ 0, %entry ], [ %i.next, %after ]
  %random = phi i64 [ %seed, %entry ], [ %random.next, %after ]
  %product = mul i64 %random, 6364136223846793005
  %random.next = add i64 %product, 1442695040888963407
  %high = lshr i64 %random.next, 33
  %middle = lshr i64 %random.next, 20
  %n.less = urem i64 %high, {MAX_CHUNKS}
  %n = add i64 %n.less, 1
  %t.less = urem i64 %middle, %threads
  %t = add i64 %t.less, 1
  %which = and i64 %i, 1
  %ctx = getelementptr %Ctx, ptr %pair, i64 %which
  %n.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 0
  %threads.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 1
  %errors.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 2
  store i64 %n, ptr %n.at
  store i64 %t, ptr %threads.at
  call void %parallel(ptr %pool, ptr @chunk, ptr %ctx, i64 %n, i64 %t)
  br label %check
check:
  %chunk = phi i64 [ 0, %region ], [ %chunk.next, %check ]
  %counter.at = getelementptr %Ctx, ptr %ctx, i32 0, i32 4, i64 %chunk
  %count = atomicrmw xchg ptr %counter.at, i64 0 seq_cst
  %inside = icmp ult i64 %chunk, %n
  %expected = zext i1 %inside to i64
  %differs = icmp ne i64 %count, %expected
  %error = zext i1 %differs to i64
  atomicrmw add ptr %errors.at, i64 %error seq_cst
  %chunk.next = add i64 %chunk, 1
  %more.chunks = icmp ult i64 %chunk.next, {MAX_CHUNKS}
  br i1 %more.chunks, label %check, label %after
after:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %regions
  br i1 %more, label %region, label %out
out:
  ret void
}}

; Waits until the other chunk of its region of two runs as well; gives up only where nobody would come.
define void @meet(ptr %arrivals, i64 %chunk, i64 %worker) {{
entry:
  %before = atomicrmw add ptr %arrivals, i64 1 seq_cst
  %missing = or i64 %before, 1
  br label %poll
poll:
  %polls = phi i64 [ 0, %entry ], [ %polls.next, %again ]
  %now = load atomic i64, ptr %arrivals seq_cst, align 8
  %met = icmp ugt i64 %now, %missing
  br i1 %met, label %out, label %again
again:
  %polls.next = add i64 %polls, 1
  %hopeless = icmp ugt i64 %polls.next, 20000000000
  br i1 %hopeless, label %fail, label %poll
fail:
  %failures = getelementptr i64, ptr %arrivals, i64 1
  atomicrmw add ptr %failures, i64 1 seq_cst
  ret void
out:
  ret void
}}

define void @drive_meetings(ptr %parallel, ptr %pool, ptr %arrivals, i64 %regions) {{
entry:
  br label %region
region:
  %i = phi i64 [ 0, %entry ], [ %i.next, %region ]
  call void %parallel(ptr %pool, ptr @meet, ptr %arrivals, i64 2, i64 2)
  %failures.at = getelementptr i64, ptr %arrivals, i64 1
  %failures = load i64, ptr %failures.at
  %fine = icmp eq i64 %failures, 0
  %i.next = add i64 %i, 1
  %unfinished = icmp ult i64 %i.next, %regions
  %more = and i1 %fine, %unfinished
  br i1 %more, label %region, label %out
out:
  ret void
}}
"""


@pytest.fixture(autouse=True)
def end_a_hang() -> Iterator[None]:
    """A test that hangs in native code ends the process: nothing else can interrupt it."""
    faulthandler.dump_traceback_later(600, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def driver() -> ExecutionEngine:
    """The compiled driver."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(DRIVER), machine)
    engine.finalize_object()
    return engine


@dataclass(frozen=True)
class Outcome:
    """What the chunks of a run of regions counted."""

    errors: int
    by_workers: int


@pytest.fixture(scope="session")
def drive(driver: ExecutionEngine) -> Callable[..., Outcome]:
    """``drive(pool, regions, threads=, seed=)``: regions of varying size and number of threads, each checked."""
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_uint64] * 3)(
        driver.get_function_address("drive")
    )

    def drive(pool: Pool, regions: int, threads: int = MAX_THREADS, seed: int = 1) -> Outcome:
        pair = (Ctx * 2)()
        native(pool.parallel_address, pool.address, ctypes.addressof(pair), regions, threads, seed)
        return Outcome(sum(ctx.errors for ctx in pair), sum(ctx.by_workers for ctx in pair))

    return drive


@pytest.fixture(scope="session")
def drive_meetings(driver: ExecutionEngine) -> Callable[[Pool, int], bool]:
    """``drive_meetings(pool, regions)``: whether each region, one right after another, had two participants."""
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)(
        driver.get_function_address("drive_meetings")
    )

    def drive_meetings(pool: Pool, regions: int) -> bool:
        arrivals_and_failures = (ctypes.c_int64 * 2)()
        native(pool.parallel_address, pool.address, arrivals_and_failures, regions)
        return list(arrivals_and_failures) == [2 * regions, 0]

    return drive_meetings
