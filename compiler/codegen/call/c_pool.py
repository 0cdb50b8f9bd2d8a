"""The thread pool for exported functions, as LLVM IR: the JIT's (`runtime/pool/ir.py`), with threads of pthreads.

``void f_pool(txc_threads *, int64_t)`` fills in a `txc_threads` whose `parallel` is the pool's; threads start when a
loop first needs them, with all signals blocked.  ``void f_pool_stop(void)`` ends and joins them.
"""

from __future__ import annotations

from string import Template

from ....runtime.pool.ir import source
from ....runtime.pool.layout import MAX_WORKERS, SLICE_LIMIT, SPINS, State
from ...aot.c_signature import CSignature
from ..emit.text import quoted
from ..target.target import Target, TargetError

__all__ = ["POOL_SYMBOLS", "emit_pool"]

#: What the pool needs of the C library, beyond what every object may.
POOL_SYMBOLS = frozenset({"pthread_create", "pthread_join", "pthread_sigmask", "sched_getaffinity", "syscall"})
#: Machines whose Linux has the futex that the pool sleeps on; the numbers below are Linux's too.
_MACHINES = ("x86_64", "aarch64", "riscv64")
#: The largest processor mask that is asked for: 8192 processors.
_MASK_BYTES = 1024

_CODE = """
@pool.ids = internal global [$max_workers x i64] zeroinitializer, align 8

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.smax.i64(i64, i64)

define internal ptr @pool.start(ptr %given) nounwind {
  %index = ptrtoint ptr %given to i64
  call void @txc_worker(ptr @txc_pool, i64 %index)
  ret ptr null
}

; Starts workers until %threads threads, the caller included, can take part; the caller owns the pool.
define internal void @pool.grow(i64 %threads) nounwind {
entry:
  %all = alloca [128 x i8], align 8
  %before = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  call i32 @pthread_sigmask(i32 0, ptr %all, ptr %before)                  ; SIG_BLOCK
  %workers.at = getelementptr inbounds i8, ptr @txc_pool, i64 $workers
  %capacity.at = getelementptr inbounds i8, ptr @txc_pool, i64 $capacity
  %helpers = sub i64 %threads, 1
  br label %look
look:
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %capacity = load atomic i64, ptr %capacity.at acquire, align 8
  %wanted = call i64 @llvm.smin.i64(i64 %helpers, i64 %capacity)
  %short = icmp slt i64 %workers, %wanted
  br i1 %short, label %create, label %out
create:
  %index = add i64 %workers, 1
  %id.at = getelementptr inbounds i64, ptr @pool.ids, i64 %workers
  %given = inttoptr i64 %index to ptr
  %status = call i32 @pthread_create(ptr %id.at, ptr null, ptr @pool.start, ptr %given)
  %created = icmp eq i32 %status, 0
  br i1 %created, label %count, label %refuse
count:
  store atomic i64 %index, ptr %workers.at release, align 8
  br label %look
refuse:                                 ; no further attempt with every loop
  store atomic i64 %workers, ptr %capacity.at release, align 8
  br label %out
out:
  call i32 @pthread_sigmask(i32 2, ptr %before, ptr null)                  ; SIG_SETMASK
  ret void
}

; The processors that this process may use, at least one.
define internal i64 @pool.processors() nounwind {
entry:
  %mask = alloca [$mask_bytes x i8], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 $mask_bytes, i1 false)
  call i32 @sched_getaffinity(i32 0, i64 $mask_bytes, ptr %mask)
  br label %add
add:
  %i = phi i64 [ 0, %entry ], [ %next, %add ]
  %sum = phi i64 [ 0, %entry ], [ %total, %add ]
  %at = getelementptr inbounds i64, ptr %mask, i64 %i
  %word = load i64, ptr %at, align 8
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %total = add i64 %sum, %bits
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, $mask_words
  br i1 %more, label %add, label %out
out:
  %some = call i64 @llvm.smax.i64(i64 %total, i64 1)
  ret i64 %some
}

; Two threads may be in here at once: both store the same.
define void $fill(ptr %threads, i64 %count) nounwind {
entry:
  %spins.at = getelementptr inbounds i8, ptr @txc_pool, i64 $spins
  %limit.at = getelementptr inbounds i8, ptr @txc_pool, i64 $slice_limit
  %grow.at = getelementptr inbounds i8, ptr @txc_pool, i64 $grow
  %capacity.at = getelementptr inbounds i8, ptr @txc_pool, i64 $capacity
  %known = load atomic ptr, ptr %grow.at acquire, align 8
  %fresh = icmp eq ptr %known, null
  br i1 %fresh, label %initialise, label %fill
initialise:
  store atomic i64 $spin_count, ptr %spins.at monotonic, align 8
  store atomic i64 $most_chunks, ptr %limit.at monotonic, align 8
  store atomic i64 $max_workers, ptr %capacity.at monotonic, align 8
  store atomic ptr @pool.grow, ptr %grow.at release, align 8
  br label %fill
fill:
  %asked = icmp sgt i64 %count, 0
  %processors = call i64 @pool.processors()
  %number = select i1 %asked, i64 %count, i64 %processors
  %pool.at = getelementptr { ptr, ptr, i64 }, ptr %threads, i32 0, i32 1
  %threads.at = getelementptr { ptr, ptr, i64 }, ptr %threads, i32 0, i32 2
  store ptr @txc_parallel, ptr %threads
  store ptr @txc_pool, ptr %pool.at
  store i64 %number, ptr %threads.at
  ret void
}

define void $stop() nounwind {
entry:
  %workers.at = getelementptr inbounds i8, ptr @txc_pool, i64 $workers
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  call void @txc_pool_stop(ptr @txc_pool)
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %join ]
  %more = icmp slt i64 %i, %workers
  br i1 %more, label %join, label %out
join:
  %id.at = getelementptr inbounds i64, ptr @pool.ids, i64 %i
  %id = load i64, ptr %id.at, align 8
  call i32 @pthread_join(i64 %id, ptr null)
  %next = add i64 %i, 1
  br label %look
out:
  ret void
}
"""


def emit_pool(signature: CSignature, target: Target) -> str:
    """LLVM IR text of the pool and of the functions that C reaches it by.  TargetError where there are no futexes."""
    if target.arch not in _MACHINES or "linux" not in target.triple:
        raise TargetError(f"the pool of threads is for Linux on {', '.join(_MACHINES)}, not for {target.triple}")
    fields = {name: getattr(State, name).offset for name in ("workers", "capacity", "spins", "slice_limit", "grow")}
    fill, stop = signature.pool_symbols
    code = Template(_CODE).substitute(
        fields,
        fill=quoted(fill),
        stop=quoted(stop),
        max_workers=MAX_WORKERS,
        most_chunks=SLICE_LIMIT,
        spin_count=SPINS,
        mask_bytes=_MASK_BYTES,
        mask_words=_MASK_BYTES // 8,
    )
    return f'target triple = "{target.triple}"\n{source(target.arch, futex=True)}{code}'
