"""The thread pool's native half, as LLVM IR text.

One *region* runs ``fn(ctx, chunk, worker)`` once for each chunk.  The protocol:

- **Claim word.**  One 64-bit word holds the region's epoch (upper 22 bits), how many of its chunks were claimed in
  front (21 bits) and how many are unclaimed (21); these are counted downwards, so that an exhausted word claims
  nothing and no second word says where the end is.
- **Two ends.**  The caller claims chunks from the front, workers claim them from the back.  So with two threads each
  has a run of chunks, much the same one in the next region, and finds in its own cache what it worked on before.
- **Claiming** is: read the word, read the region's fields, compare-and-swap the word to one chunk less.  The fields are
  written only while the word is exhausted, and the next region has another epoch.  Hence a swap that succeeds proves
  that the fields just read were this region's; one that fails costs a retry.  (A bare ticket counter has no such
  proof: a late worker takes a ticket of the next region against the old region's size.)
- **Join.**  A participant adds the number of chunks it ran to ``done`` when nothing is left to claim; the region is
  over when ``done == size``.  A participant with chunks not yet added therefore holds the region open.
- **Epochs wrap** after 2^22 regions, and a worker stalled between reading the word and the swap could in theory sleep
  through exactly that many.  So a worker raises ``inside`` before it reads the word, and the caller whose epoch wraps
  to 0 first waits until every worker has been outside: no word of the previous cycle survives.
- **Large regions.**  Counts go to 2^21 - 1, so a region runs as slices of at most ``slice_limit`` chunks.
- **Signals.**  A caller that sleeps wakes every now and then, and for Unix signals, and calls `look`.
- **No worker is needed**: the caller claims chunks too, so sleeping, busy or (after a fork in C) vanished workers
  cost speed, never an answer.  A caller that finds the pool busy, a nested one included, runs its region alone.
- **Sleeping.**  A thread announces that it will sleep (``parker.word = 1``), looks once more, then blocks; a waker
  swaps the word to 0 and signals if it was 1.  Announcing and publishing are sequentially consistent, so one of the
  two sees the other.  Each swap from 1 to 0 by a waker gives exactly one signal, and the sleeper consumes it.
"""

import ctypes
from string import Template

from .futex import relax_source, waiting_source
from .layout import COUNT_BITS, LINE, MAX_WORKERS, SLICE_LIMIT, Slot, State

_CODE = """
@txc_pool = global [$state_bytes x i8] zeroinitializer, align $line

define internal ptr @slot(ptr %pool, i64 %index) nounwind {
  %offset = mul i64 %index, $slot_bytes
  %from = getelementptr inbounds i8, ptr %pool, i64 $slots
  %slot = getelementptr inbounds i8, ptr %from, i64 %offset
  ret ptr %slot
}

; Wakes the owner of %parker if it sleeps or is about to.  Workers, whose slots begin with theirs, wake on other CPUs.
define internal void @unpark(ptr %parker, i1 %worker) nounwind {
  %word = load atomic i32, ptr %parker seq_cst, align 4
  %asleep = icmp eq i32 %word, 1
  br i1 %asleep, label %take, label %out
take:
  %old = atomicrmw xchg ptr %parker, i32 0 seq_cst
  %mine = icmp eq i32 %old, 1
  br i1 %mine, label %wake, label %out
wake:
  br i1 %worker, label %apart, label %signal
apart:
  call void @keep_away(ptr %parker)
  br label %signal
signal:
  call void @signal(ptr %parker)
  br label %out
out:
  ret void
}

; Takes back an announcement to sleep; if a waker was faster, its signal is on the way and must be consumed.
define internal void @cancel(ptr %parker) nounwind {
  %old = atomicrmw xchg ptr %parker, i32 0 seq_cst
  %late = icmp eq i32 %old, 0
  br i1 %late, label %consume, label %out
consume:
  call void @block(ptr %parker)
  br label %out
out:
  ret void
}

; Claims and runs chunks as participant %index until none is left; false: the region does not want this participant.
define internal i1 @work(ptr %pool, i64 %index) nounwind {
entry:
  %claim = getelementptr inbounds i8, ptr %pool, i64 $claim
  $region_fields
  %in_front = icmp eq i64 %index, 0
  %step = select i1 %in_front, i64 $from_front, i64 -1
  %first.word = load atomic i64, ptr %claim seq_cst, align 8
  br label %enter
enter:                                  ; the first claim: the fields count only if the swap succeeds
  %word = phi i64 [ %first.word, %entry ], [ %found, %open ]
  %participants = load atomic i64, ptr %participants.at acquire, align 8
  %wanted = icmp slt i64 %index, %participants
  br i1 %wanted, label %look, label %unwanted
look:
  %unclaimed = and i64 %word, $unclaimed_mask
  %any = icmp ne i64 %unclaimed, 0
  br i1 %any, label %open, label %none
open:                                   ; acquire: having seen a later region's field, the swap must see its word too
  %fn = load atomic ptr, ptr %fn.at acquire, align 8
  %ctx = load atomic ptr, ptr %ctx.at acquire, align 8
  %base = load atomic i64, ptr %base.at acquire, align 8
  %size = load atomic i64, ptr %size.at acquire, align 8
  %less = add i64 %word, %step
  %swap = cmpxchg ptr %claim, i64 %word, i64 %less seq_cst seq_cst
  %found = extractvalue { i64, i1 } %swap, 0
  %claimed = extractvalue { i64, i1 } %swap, 1
  br i1 %claimed, label %run, label %enter
run:                                    ; this participant holds the region open: its fields cannot change
  %taken = phi i64 [ %word, %open ], [ %next.word, %try ]
  %ran = phi i64 [ 0, %open ], [ %ran.now, %try ]
  %left = and i64 %taken, $unclaimed_mask
  %counts = lshr i64 %taken, $count_bits
  %front = and i64 %counts, $unclaimed_mask
  %behind = add i64 %front, %left
  %back = sub i64 %behind, 1
  %place = select i1 %in_front, i64 %front, i64 %back
  %chunk = add i64 %base, %place
  call void %fn(ptr %ctx, i64 %chunk, i64 %index)
  %ran.now = add i64 %ran, 1
  %next.load = load atomic i64, ptr %claim monotonic, align 8
  br label %next
next:
  %next.word = phi i64 [ %next.load, %run ], [ %next.found, %try ]
  %next.left = and i64 %next.word, $unclaimed_mask
  %more = icmp ne i64 %next.left, 0
  br i1 %more, label %try, label %report
try:
  %next.less = add i64 %next.word, %step
  %next.swap = cmpxchg ptr %claim, i64 %next.word, i64 %next.less seq_cst seq_cst
  %next.found = extractvalue { i64, i1 } %next.swap, 0
  %next.claimed = extractvalue { i64, i1 } %next.swap, 1
  br i1 %next.claimed, label %run, label %next
report:
  %before = atomicrmw add ptr %done.at, i64 %ran.now seq_cst
  %done = add i64 %before, %ran.now
  %last = icmp eq i64 %done, %size
  br i1 %last, label %finish, label %none
finish:                                 ; the caller may be gone and in its next region: a stray wake does no harm
  %caller = call ptr @slot(ptr %pool, i64 0)
  call void @unpark(ptr %caller, i1 false)
  ret i1 true
none:
  ret i1 true
unwanted:
  ret i1 false
}

; The life of worker %index.
define void @txc_worker(ptr %pool, i64 %index) nounwind {
entry:
  %claim = getelementptr inbounds i8, ptr %pool, i64 $claim
  %stop.at = getelementptr inbounds i8, ptr %pool, i64 $stop
  %spins.at = getelementptr inbounds i8, ptr %pool, i64 $spins
  %spins = load i64, ptr %spins.at, align 8
  %parker = call ptr @slot(ptr %pool, i64 %index)
  %inside.at = getelementptr inbounds i8, ptr %parker, i64 $inside
  call void @introduce(ptr %parker)
  br label %watch
watch:                                  ; -1 is no epoch: the first look enters a region that is under way
  %seen = phi i64 [ -1, %entry ], [ %seen, %idle ], [ %epoch, %enter ], [ %seen, %sleep ], [ %seen, %stay ]
  %budget = phi i64 [ %spins, %entry ], [ %less, %idle ], [ %left, %enter ], [ %spins, %sleep ], [ 0, %stay ]
  %word = load atomic i64, ptr %claim acquire, align 8
  %epoch = lshr i64 %word, $epoch_shift
  %fresh = icmp ne i64 %epoch, %seen
  br i1 %fresh, label %enter, label %poll
enter:
  store atomic i64 1, ptr %inside.at seq_cst, align 8
  %wanted = call i1 @work(ptr %pool, i64 %index)
  store atomic i64 0, ptr %inside.at release, align 8
  %tired = sub i64 %budget, 1           ; regions that do not want this worker must not keep it awake
  %left = select i1 %wanted, i64 %spins, i64 %tired
  br label %watch
poll:
  %patient = icmp sgt i64 %budget, 0
  br i1 %patient, label %idle, label %announce
idle:
  call void @relax()
  %less = sub i64 %budget, 1
  br label %watch
announce:
  store atomic i32 1, ptr %parker seq_cst, align 4
  %stop = load atomic i64, ptr %stop.at seq_cst, align 8
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %out, label %recheck
recheck:
  %word.again = load atomic i64, ptr %claim seq_cst, align 8
  %epoch.again = lshr i64 %word.again, $epoch_shift
  %quiet = icmp eq i64 %epoch.again, %seen
  br i1 %quiet, label %sleep, label %stay
sleep:
  call void @block(ptr %parker)
  br label %watch
stay:
  call void @cancel(ptr %parker)
  br label %watch
out:
  call void @cancel(ptr %parker)
  ret void
}

; Waits until each worker has been outside once: afterwards none holds a word read before this call.
define internal void @quiesce(ptr %pool) nounwind {
entry:
  br label %look
look:
  %index = phi i64 [ 1, %entry ], [ %next, %outside ]
  %slot = call ptr @slot(ptr %pool, i64 %index)
  %inside.at = getelementptr inbounds i8, ptr %slot, i64 $inside
  br label %poll
poll:
  %inside = load atomic i64, ptr %inside.at seq_cst, align 8
  %busy = icmp ne i64 %inside, 0
  br i1 %busy, label %wait, label %outside
wait:
  call void @relax()
  br label %poll
outside:
  %next = add i64 %index, 1
  %more = icmp sle i64 %next, $max_workers
  br i1 %more, label %look, label %out
out:
  ret void
}

; Runs one slice, chunks %base to %base + %size, with at least two participants; the caller owns the pool.
define internal void @region(ptr %pool, ptr %fn, ptr %ctx, i64 %base, i64 %size, i64 %participants) nounwind {
entry:
  %claim = getelementptr inbounds i8, ptr %pool, i64 $claim
  $region_fields
  %spins.at = getelementptr inbounds i8, ptr %pool, i64 $spins
  %spins = load i64, ptr %spins.at, align 8
  %look.at = getelementptr inbounds i8, ptr %pool, i64 $look
  %joiner = call ptr @slot(ptr %pool, i64 0)
  store atomic i64 0, ptr %done.at release, align 8
  store atomic ptr %fn, ptr %fn.at release, align 8
  store atomic ptr %ctx, ptr %ctx.at release, align 8
  store atomic i64 %base, ptr %base.at release, align 8
  store atomic i64 %size, ptr %size.at release, align 8
  store atomic i64 %participants, ptr %participants.at release, align 8
  %old = load atomic i64, ptr %claim monotonic, align 8
  %old.epoch = and i64 %old, $epoch_mask
  %epoch = add i64 %old.epoch, $epoch_one
  %wrapped = icmp eq i64 %epoch, 0
  br i1 %wrapped, label %wrap, label %publish
wrap:
  call void @quiesce(ptr %pool)
  br label %publish
publish:
  %word = or i64 %epoch, %size
  store atomic i64 %word, ptr %claim seq_cst, align 8
  br label %wake
wake:
  %index = phi i64 [ 1, %publish ], [ %next, %wake ]
  %slot = call ptr @slot(ptr %pool, i64 %index)
  call void @unpark(ptr %slot, i1 true)
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, %participants
  br i1 %more, label %wake, label %take_part
take_part:
  call i1 @work(ptr %pool, i64 0)
  br label %join
join:
  %budget = phi i64 [ %spins, %take_part ], [ %less, %idle ], [ 0, %sleep ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %over = icmp eq i64 %done, %size
  br i1 %over, label %out, label %poll
poll:
  %patient = icmp sgt i64 %budget, 0
  br i1 %patient, label %idle, label %announce
idle:
  call void @relax()
  %less = sub i64 %budget, 1
  br label %join
announce:
  store atomic i32 1, ptr %joiner seq_cst, align 4
  %done.again = load atomic i64, ptr %done.at seq_cst, align 8
  %over.now = icmp eq i64 %done.again, %size
  br i1 %over.now, label %stay, label %sleep
sleep:
  %woken = call i1 @block_for_a_while(ptr %joiner)
  br i1 %woken, label %join, label %look
look:
  %look.fn = load atomic ptr, ptr %look.at acquire, align 8
  %deaf = icmp eq ptr %look.fn, null
  br i1 %deaf, label %sleep, label %ask
ask:
  call void %look.fn()
  br label %sleep
stay:
  call void @cancel(ptr %joiner)
  ret void
out:
  ret void
}

; Runs fn(ctx, chunk, worker) for each chunk in [0, n), by at most %threads participants.
define void @txc_parallel(ptr %pool, ptr %fn, ptr %ctx, i64 %n, i64 %threads) nounwind {
entry:
  %workers.at = getelementptr inbounds i8, ptr %pool, i64 $workers
  %capacity.at = getelementptr inbounds i8, ptr %pool, i64 $capacity
  %grow.at = getelementptr inbounds i8, ptr %pool, i64 $grow
  %limit.at = getelementptr inbounds i8, ptr %pool, i64 $slice_limit
  %busy.at = getelementptr inbounds i8, ptr %pool, i64 $busy
  %several = icmp sgt i64 %n, 1
  %allowed = icmp sgt i64 %threads, 1
  %parallel = and i1 %several, %allowed
  br i1 %parallel, label %own, label %serial
own:
  %owning = cmpxchg ptr %busy.at, i32 0, i32 1 acquire monotonic
  %owned = extractvalue { i32, i1 } %owning, 1
  br i1 %owned, label %staff, label %serial
staff:                                  ; `threads` bounds growth, not n: another region will have more chunks
  %workers.old = load atomic i64, ptr %workers.at acquire, align 8
  %capacity = load atomic i64, ptr %capacity.at acquire, align 8
  %helpers = sub i64 %threads, 1
  %target = call i64 @llvm.smin.i64(i64 %helpers, i64 %capacity)
  %short = icmp sgt i64 %target, %workers.old
  br i1 %short, label %grow, label %count
grow:
  %grow.fn = load atomic ptr, ptr %grow.at acquire, align 8
  call void %grow.fn(i64 %threads)
  br label %count
count:
  %workers = load atomic i64, ptr %workers.at acquire, align 8
  %available = add i64 %workers, 1
  %most = call i64 @llvm.smin.i64(i64 %threads, i64 %available)
  %participants = call i64 @llvm.smin.i64(i64 %most, i64 %n)
  %alone = icmp eq i64 %participants, 1
  br i1 %alone, label %disown, label %slices
slices:
  %limit = load i64, ptr %limit.at, align 8
  br label %slice
slice:
  %base = phi i64 [ 0, %slices ], [ %next.base, %slice ]
  %remaining = sub i64 %n, %base
  %size = call i64 @llvm.smin.i64(i64 %remaining, i64 %limit)
  call void @region(ptr %pool, ptr %fn, ptr %ctx, i64 %base, i64 %size, i64 %participants)
  %next.base = add i64 %base, %size
  %unfinished = icmp slt i64 %next.base, %n
  br i1 %unfinished, label %slice, label %release
release:
  store atomic i32 0, ptr %busy.at release, align 4
  ret void
disown:
  store atomic i32 0, ptr %busy.at release, align 4
  br label %serial
serial:
  %nonempty = icmp sgt i64 %n, 0
  br i1 %nonempty, label %chunk, label %out
chunk:
  %index = phi i64 [ 0, %serial ], [ %next, %chunk ]
  call void %fn(ptr %ctx, i64 %index, i64 0)
  %next = add i64 %index, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %chunk, label %out
out:
  ret void
}

; Lets every worker return after the region it is in; later regions are serial.
define void @txc_pool_stop(ptr %pool) nounwind {
entry:
  %workers.at = getelementptr inbounds i8, ptr %pool, i64 $workers
  %capacity.at = getelementptr inbounds i8, ptr %pool, i64 $capacity
  %stop.at = getelementptr inbounds i8, ptr %pool, i64 $stop
  store atomic i64 0, ptr %capacity.at release, align 8
  %workers = atomicrmw xchg ptr %workers.at, i64 0 seq_cst
  store atomic i64 1, ptr %stop.at seq_cst, align 8
  br label %each
each:
  %index = phi i64 [ 1, %entry ], [ %next, %wake ]
  %any = icmp sle i64 %index, %workers
  br i1 %any, label %wake, label %out
wake:
  %slot = call ptr @slot(ptr %pool, i64 %index)
  call void @unpark(ptr %slot, i1 false)
  %next = add i64 %index, 1
  br label %each
out:
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
"""


def source(machine: str, futex: bool) -> str:
    """The native half as LLVM IR for *machine* (a ``platform.machine()``), sleeping by futex or by CPython's locks."""
    values = {name: getattr(State, name).offset for name, *_ in State._fields_ if not name.startswith("_")}
    region_fields = "\n  ".join(
        f"%{name}.at = getelementptr inbounds i8, ptr %pool, i64 {values[name]}"
        for name in ("fn", "ctx", "base", "size", "participants", "done")
    )
    code = Template(_CODE).substitute(
        values,
        region_fields=region_fields,
        state_bytes=ctypes.sizeof(State),
        slot_bytes=ctypes.sizeof(Slot),
        inside=Slot.inside.offset,
        line=LINE,
        max_workers=MAX_WORKERS,
        count_bits=COUNT_BITS,
        unclaimed_mask=SLICE_LIMIT,
        from_front=SLICE_LIMIT,  # one more claimed in front, one less unclaimed
        epoch_shift=2 * COUNT_BITS,
        epoch_mask=-(2 ** (2 * COUNT_BITS)),
        epoch_one=2 ** (2 * COUNT_BITS),
    )
    return waiting_source(machine, futex) + relax_source(machine) + code
