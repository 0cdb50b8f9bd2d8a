"""How a thread of the pool waits, on each platform: LLVM IR to poll gently, to block, and to end a block.

Linux has the futex.  Elsewhere CPython's own lock serves: every platform has it, it needs no GIL, and any thread may
release it.
"""

import ctypes
import platform
import sys

from .pool_layout import Parker

# System call numbers of futex(2), by platform.machine(), for processors whose C `long` has 64 bits.
_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98}

# What a polling loop executes to leave the core to its other hardware thread.  On AArch64 `yield` does nothing on
# most cores, while `isb` waits for the pipeline to drain.
_X86_PAUSE = ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()")
_ARM_BARRIER = ("declare void @llvm.aarch64.isb(i32)", "call void @llvm.aarch64.isb(i32 15)")
_RELAX = {"x86_64": _X86_PAUSE, "AMD64": _X86_PAUSE, "aarch64": _ARM_BARRIER, "arm64": _ARM_BARRIER}

# Both: `@block` returns once the signal for this sleep has come, `@signal` gives it.
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

define internal void @signal(ptr %parker) nounwind {
  call i64 (i64, ...) @syscall(i64 $futex, ptr %parker, i32 129, i32 1)
  ret void
}
"""

# CPython's own lock: on every platform, needs no GIL, may be released by another thread.  Held while no signal is due.
_LOCK = """
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @PyThread_release_lock(ptr)

define internal void @block(ptr %parker) nounwind {
  %lock.at = getelementptr inbounds i8, ptr %parker, i64 $lock
  %lock = load ptr, ptr %lock.at, align 8
  call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  ret void
}

define internal void @signal(ptr %parker) nounwind {
  %lock.at = getelementptr inbounds i8, ptr %parker, i64 $lock
  %lock = load ptr, ptr %lock.at, align 8
  call void @PyThread_release_lock(ptr %lock)
  ret void
}
"""


def has_futex() -> bool:
    """Whether this process can sleep on a futex with a system call number known to us."""
    return sys.platform == "linux" and ctypes.sizeof(ctypes.c_void_p) == 8 and platform.machine() in _FUTEX_NUMBERS


def waiting_source(machine: str, futex: bool) -> str:
    """IR of ``@block`` and ``@signal``, and declarations of what they call."""
    if futex:
        return _FUTEX.replace("$futex", str(_FUTEX_NUMBERS[machine]))
    return _LOCK.replace("$lock", str(Parker.lock.offset))


def waiting_symbols(futex: bool) -> dict[str, int]:
    """Addresses of the functions that :func:`waiting_source` declares."""
    library = ctypes.CDLL(None) if futex else ctypes.pythonapi
    names = ("syscall",) if futex else ("PyThread_acquire_lock", "PyThread_release_lock")
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
