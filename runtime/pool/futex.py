"""How a thread of the pool waits, on each platform: LLVM IR to poll gently, to block, and to end a block.

Linux has the futex.  Elsewhere CPython's own lock serves: every platform has it, it needs no GIL, and any thread may
release it.

Linux may also put a thread that is woken behind the one that wakes it, on the same CPU, although another is idle: in a
virtual machine it takes a CPU that has halted to be taken away by the host (``available_idle_cpu`` in kernel/sched).
Half of a parallel region then waits for the other half, until the next balancing of loads, milliseconds later.  So a
worker that is to be woken is first kept away from the waker's CPU.
"""

import ctypes
import platform
import sys
from string import Template

from .layout import Parker, Slot

# System call numbers, by platform.machine(), for processors whose C `long` has 64 bits.
_CALLS = ("futex", "sched_setaffinity", "sched_getaffinity", "gettid", "getcpu")
_GENERIC = dict(zip(_CALLS, (98, 122, 123, 178, 168)))
_NUMBERS = {
    "x86_64": dict(zip(_CALLS, (202, 203, 204, 186, 309))),
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
}
# A caller that sleeps looks around after so long.
_WHILE_NS = 50_000_000
# Bytes of a set of CPUs: a system with more of them refuses it, and nothing is kept away from anything.
_SET = 1024

# What a polling loop executes to leave the core to its other hardware thread.  On AArch64 `yield` does nothing on
# most cores, while `isb` waits for the pipeline to drain.
_X86_PAUSE = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()")
_ARM_BARRIER = ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)")
_RELAX = {"x86_64": _X86_PAUSE, "AMD64": _X86_PAUSE, "aarch64": _ARM_BARRIER, "arm64": _ARM_BARRIER}

# Both: `@block` returns once the signal for this sleep has come, `@signal` gives it; `@block_for_a_while` may return
# before, and says whether it has come.  `@introduce` is a worker's first
# act; `@keep_away` comes before its signal, and leaves all CPUs but the waker's to it that it had before.
_FUTEX = """
declare i64 @syscall(i64, ...)

define internal void @block(ptr %parker) nounwind {
entry:
  br label %check
check:                                  ; futex returns early for Unix signals and for late wakes
  %word = load atomic i32, ptr %parker seq_cst, align 4
  %asleep = icmp eq i32 %word, 1
  br i1 %asleep, label %sleep, label %out
sleep:                                  ; 128: FUTEX_WAIT | FUTEX_PRIVATE_FLAG
  call i64 (i64, ...) @syscall(i64 $futex, ptr %parker, i32 128, i32 1, ptr null)
  br label %check
out:
  ret void
}

@a_while = internal constant [2 x i64] [i64 0, i64 $while_ns]

define internal i1 @block_for_a_while(ptr %parker) nounwind {
  call i64 (i64, ...) @syscall(i64 $futex, ptr %parker, i32 128, i32 1, ptr @a_while)
  %word = load atomic i32, ptr %parker seq_cst, align 4
  %woken = icmp ne i32 %word, 1
  ret i1 %woken
}

define internal void @signal(ptr %parker) nounwind {
  call i64 (i64, ...) @syscall(i64 $futex, ptr %parker, i32 129, i32 1)
  ret void
}

define internal void @introduce(ptr %slot) nounwind {
  %thread.at = getelementptr inbounds i8, ptr %slot, i64 $thread
  %number = call i64 (i64, ...) @syscall(i64 $gettid)
  %thread = trunc i64 %number to i32
  store atomic i32 %thread, ptr %thread.at release, align 4
  ret void
}

; The byte of a CPU in a set, and its bit there.
define internal { ptr, i8 } @place(ptr %set, i32 %cpu) nounwind {
  %byte = lshr i32 %cpu, 3
  %at = getelementptr inbounds i8, ptr %set, i32 %byte
  %low = and i32 %cpu, 7
  %shifted = shl i32 1, %low
  %bit = trunc i32 %shifted to i8
  %first = insertvalue { ptr, i8 } poison, ptr %at, 0
  %both = insertvalue { ptr, i8 } %first, i8 %bit, 1
  ret { ptr, i8 } %both
}

define internal void @keep_away(ptr %slot) nounwind {
entry:
  %cpu.at = alloca i32, align 4
  %set = alloca [$set x i8], align 8
  %avoids.at = getelementptr inbounds i8, ptr %slot, i64 $avoids
  %thread.at = getelementptr inbounds i8, ptr %slot, i64 $thread
  %unknown = call i64 (i64, ...) @syscall(i64 $getcpu, ptr %cpu.at, ptr null, ptr null)
  %cpu = load i32, ptr %cpu.at, align 4
  %avoid = add i32 %cpu, 1
  %avoids = load atomic i32, ptr %avoids.at monotonic, align 4
  %same = icmp eq i32 %avoid, %avoids
  br i1 %same, label %out, label %ask
ask:
  %thread = load atomic i32, ptr %thread.at acquire, align 4
  %bytes = call i64 (i64, ...) @syscall(i64 $sched_getaffinity, i32 %thread, i64 $set, ptr %set)
  %told = icmp sgt i64 %bytes, 0
  %strange = icmp uge i32 %cpu, $set_bits
  %failed = icmp ne i64 %unknown, 0
  %bad = or i1 %strange, %failed
  %good = xor i1 %bad, true
  %able = and i1 %told, %good
  br i1 %able, label %again, label %out
again:                                  ; the CPU that it was kept away from, unless somebody has moved it since
  %left.at = getelementptr inbounds i8, ptr %slot, i64 $left
  %left = load atomic i64, ptr %left.at monotonic, align 8
  %has = load i64, ptr %set, align 8
  %unmoved = icmp eq i64 %has, %left
  %kept = icmp ne i32 %avoids, 0
  %ours = and i1 %kept, %unmoved
  br i1 %ours, label %give, label %take
give:
  %given = sub i32 %avoids, 1
  %old = call { ptr, i8 } @place(ptr %set, i32 %given)
  %old.at = extractvalue { ptr, i8 } %old, 0
  %old.bit = extractvalue { ptr, i8 } %old, 1
  %old.byte = load i8, ptr %old.at, align 1
  %with = or i8 %old.byte, %old.bit
  store i8 %with, ptr %old.at, align 1
  br label %take
take:                                   ; an empty set is refused, and leaves things as they are
  %new = call { ptr, i8 } @place(ptr %set, i32 %cpu)
  %new.at = extractvalue { ptr, i8 } %new, 0
  %new.bit = extractvalue { ptr, i8 } %new, 1
  %new.byte = load i8, ptr %new.at, align 1
  %others = xor i8 %new.bit, -1
  %without = and i8 %new.byte, %others
  store i8 %without, ptr %new.at, align 1
  %refused = call i64 (i64, ...) @syscall(i64 $sched_setaffinity, i32 %thread, i64 %bytes, ptr %set)
  %done = icmp eq i64 %refused, 0
  br i1 %done, label %note, label %out
note:                                   ; a CPU that it had not will not be given to it later
  %had = icmp ne i8 %without, %new.byte
  %noted = select i1 %had, i32 %avoid, i32 0
  store atomic i32 %noted, ptr %avoids.at monotonic, align 4
  %leaves = load i64, ptr %set, align 8
  store atomic i64 %leaves, ptr %left.at monotonic, align 8
  br label %out
out:
  ret void
}
"""

# CPython's own lock: on every platform, needs no GIL, may be released by another thread.  Held while no signal is due.
_LOCK = """
declare i32 @PyThread_acquire_lock(ptr, i32)
declare i32 @PyThread_acquire_lock_timed(ptr, i64, i32)
declare void @PyThread_release_lock(ptr)

define internal void @block(ptr %parker) nounwind {
  %lock.at = getelementptr inbounds i8, ptr %parker, i64 $lock
  %lock = load ptr, ptr %lock.at, align 8
  call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  ret void
}

define internal i1 @block_for_a_while(ptr %parker) nounwind {
  %lock.at = getelementptr inbounds i8, ptr %parker, i64 $lock
  %lock = load ptr, ptr %lock.at, align 8
  %got = call i32 @PyThread_acquire_lock_timed(ptr %lock, i64 $while_us, i32 0)
  %woken = icmp eq i32 %got, 1
  ret i1 %woken
}

define internal void @signal(ptr %parker) nounwind {
  %lock.at = getelementptr inbounds i8, ptr %parker, i64 $lock
  %lock = load ptr, ptr %lock.at, align 8
  call void @PyThread_release_lock(ptr %lock)
  ret void
}

define internal void @introduce(ptr %slot) nounwind {
  ret void
}

define internal void @keep_away(ptr %slot) nounwind {
  ret void
}
"""


def has_futex() -> bool:
    """Whether this process can sleep on a futex with a system call number known to us."""
    return sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8 and platform.machine() in _NUMBERS


def waiting_source(machine: str, futex: bool) -> str:
    """IR of ``@block`` and ``@signal``, how a thread begins and is kept away, and declarations of what they call."""
    if futex:
        places = {name: getattr(Slot, name).offset for name in ("thread", "avoids", "left")}
        return Template(_FUTEX).substitute(_NUMBERS[machine], **places, set=_SET, set_bits=_SET * 8, while_ns=_WHILE_NS)
    return Template(_LOCK).substitute(lock=Parker.lock.offset, while_us=_WHILE_NS // 1000)


def waiting_symbols(futex: bool) -> dict[str, int]:
    """Addresses of the functions that :func:`waiting_source` declares."""
    library = ctypes.CDLL(None) if futex else ctypes.pythonapi
    blocking = ("PyThread_acquire_lock", "PyThread_acquire_lock_timed", "PyThread_release_lock")
    names = ("syscall",) if futex else blocking
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def relax_source(machine: str) -> str:
    """IR of ``@relax``, one step of a polling loop."""
    declaration, call = _RELAX.get(machine, ("", ""))
    return f"""
{declaration}

define internal void @relax() nounwind {{
  {call}
  ret void
}}
"""
