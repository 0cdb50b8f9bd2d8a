"""LLVM IR of what makes long compiled code interruptible, for `signals.py`.

CPython's handler of a Unix signal only notes it; what it means (`KeyboardInterrupt`) is known when the main thread next
runs Python's own handlers, which it does between bytecodes.  While it runs compiled code it has to be told.  So the
code *polls*: it reads `word` of a pair ``{i64 word, ptr resolve}`` wherever it has run for some thousand instructions,
and where that is not 0 it calls ``i1 resolve(ptr pair)``, which answers whether to leave.

- **Two pairs.**  `txc_never` is for calls that are soon done and for those of other threads than the main one, which
  no signal interrupts.  `txc_signals` is for the call that the main thread is in, of which there is one: what a
  signal's handler calls in the middle of it is not interrupted.
- **Caught** signals have our handler in front of CPython's, which it calls, and then sets the word.  Only signals that
  have one are caught, and only while code runs that has run for a while: `sigaction` takes longer than a small call.
- **A word below 0** counts polls of a call whose length nobody knows; at 0 the clock is read.  From ``$late_ns`` on
  signals are caught.  Work that is known to be long has them caught from its beginning.
- **Resolving** is for the main thread: it takes the GIL and lets Python run its handlers, with theirs in place of ours.
  If they raise, the error is kept for the end of the call, and the word stays 1: every thread of the call that polls
  leaves.  Workers that poll before that go on.
- **Waiting** for workers, the main thread looks every now and then (`txc_signals_wait`).
"""

from __future__ import annotations

import signal
import sys
from string import Template

from .layout import LONG, UNKNOWN_WORK

__all__ = ["source"]

#: Polls between two readings of the clock, and nanoseconds after which signals are caught.
_POLLS, _LATE_NS = 64, 2_000_000
#: Bytes that hold a `struct sigaction` of any system; its first field is the handler.
_ACTION = 256
#: Signals that are caught where Python has a handler of them: Ctrl-C, and what timeouts and shutdowns use.
_SIGNALS = [
    number
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGUSR1")
    if (number := getattr(signal, name, None)) is not None
]

_CODE = """
@txc_never = external global { i64, ptr }
@txc_signals = internal global { i64, ptr } { i64 0, ptr @resolve }
@txc_main_thread = internal global i64 0
@running = internal global i64 0     ; whether the main thread is in a call that may be interrupted
@resolving = internal global i64 0   ; whether it runs Python's handlers in the middle of that
@left = internal global i64 0        ; whether they raised
@caught = internal global i64 0      ; whether our handlers are in place
@started = internal global i64 0     ; the clock when it was first read in this call; 0: it was not
@error = internal global [3 x ptr] zeroinitializer
@before = internal global [$count x [$action x i8]] zeroinitializer
@handlers = internal global [$count x ptr] zeroinitializer
@replaced = internal global [$count x i8] zeroinitializer

declare i64 @PyThread_get_thread_ident()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i1 @is_main() nounwind {
  %here = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @txc_main_thread
  %same = icmp eq i64 %here, %main
  ret i1 %same
}

define internal i64 @now() nounwind {
  %time = alloca [2 x i64], align 8
  call i32 @clock_gettime(i32 $clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Puts our handler in front of the one of signal number %i in the list, if there is one.
define internal void @catch_one(i64 %i, i32 %number, ptr %ours) nounwind {
entry:
  %new = alloca [$action x i8], align 16
  %old = getelementptr [$action x i8], ptr @before, i64 %i
  %handler.at = getelementptr ptr, ptr @handlers, i64 %i
  %replaced.at = getelementptr i8, ptr @replaced, i64 %i
  store i8 0, ptr %replaced.at
  %failed = call i32 @sigaction(i32 %number, ptr null, ptr %old)
  %told = icmp eq i32 %failed, 0
  br i1 %told, label %look, label %out
look:
  %handler = load ptr, ptr %old
  %address = ptrtoint ptr %handler to i64
  %real = icmp ugt i64 %address, 1              ; neither SIG_DFL nor SIG_IGN
  %foreign = icmp ne ptr %handler, %ours
  %wanted = and i1 %real, %foreign
  br i1 %wanted, label %put, label %out
put:
  store i8 1, ptr %replaced.at
  store atomic ptr %handler, ptr %handler.at release, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 $action, i1 false)
  store ptr %ours, ptr %new
  call i32 @sigaction(i32 %number, ptr %new, ptr null)
  br label %out
out:
  ret void
}

define internal void @release_one(i64 %i, i32 %number) nounwind {
entry:
  %replaced.at = getelementptr i8, ptr @replaced, i64 %i
  %replaced = load i8, ptr %replaced.at
  %put = icmp ne i8 %replaced, 0
  br i1 %put, label %back, label %out
back:                                           ; `handlers` stays: in another thread ours may be about to read it
  %old = getelementptr [$action x i8], ptr @before, i64 %i
  call i32 @sigaction(i32 %number, ptr %old, ptr null)
  br label %out
out:
  ret void
}

define internal void @catch() nounwind {
  store i64 1, ptr @caught
  $catch
  ret void
}

define internal void @release() nounwind {
entry:
  %caught = load i64, ptr @caught
  %any = icmp ne i64 %caught, 0
  br i1 %any, label %back, label %out
back:
  store i64 0, ptr @caught
  $release
  br label %out
out:
  ret void
}
$handlers

; Whether the code that polled is to leave.
define internal i1 @resolve(ptr %pair) nounwind {
entry:
  %word = load atomic i64, ptr @txc_signals monotonic, align 8
  %counting = icmp slt i64 %word, 0
  br i1 %counting, label %count, label %signalled
count:                                          ; several threads may count: none of them has to be exact
  %next = add i64 %word, 1
  %due = icmp eq i64 %next, 0
  br i1 %due, label %look, label %store
look:
  %main.here = call i1 @is_main()
  br i1 %main.here, label %clock, label %again
clock:
  %now = call i64 @now()
  %started = load i64, ptr @started
  %first = icmp eq i64 %started, 0
  br i1 %first, label %note, label %compare
note:
  store i64 %now, ptr @started
  br label %again
compare:
  %elapsed = sub i64 %now, %started
  %late = icmp sgt i64 %elapsed, $late_ns
  br i1 %late, label %catch, label %again
again:
  br label %store
store:
  %new = phi i64 [ %next, %count ], [ -$polls, %again ]
  store atomic i64 %new, ptr @txc_signals monotonic, align 8
  ret i1 false
catch:                                          ; a signal may have come before
  call void @catch()
  br label %handle
signalled:
  %left = load atomic i64, ptr @left monotonic, align 8
  %leaving = icmp ne i64 %left, 0
  br i1 %leaving, label %leave, label %who
who:
  %set = icmp ne i64 %word, 0
  %main = call i1 @is_main()
  %ours = and i1 %set, %main
  br i1 %ours, label %handle, label %on
handle:                                         ; handlers that Python runs may exchange handlers
  call void @release()
  store atomic i64 0, ptr @txc_signals seq_cst, align 8
  %gil = call i32 @PyGILState_Ensure()
  store i64 1, ptr @resolving
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %rearm, label %keep
rearm:                                          ; one more look, for what came between
  call void @catch()
  %raised.now = call i32 @PyErr_CheckSignals()
  %quiet.still = icmp eq i32 %raised.now, 0
  br i1 %quiet.still, label %resume, label %keep.now
resume:
  store i64 0, ptr @resolving
  call void @PyGILState_Release(i32 %gil)
  br label %on
keep.now:
  call void @release()
  br label %keep
keep:
  %value.at = getelementptr ptr, ptr @error, i64 1
  %trace.at = getelementptr ptr, ptr @error, i64 2
  call void @PyErr_Fetch(ptr @error, ptr %value.at, ptr %trace.at)
  store i64 0, ptr @resolving
  call void @PyGILState_Release(i32 %gil)
  store atomic i64 1, ptr @left seq_cst, align 8
  store atomic i64 1, ptr @txc_signals seq_cst, align 8
  br label %leave
leave:
  ret i1 true
on:
  ret i1 false
}

; With the GIL.  The pair for a call of so much work; NULL and an exception where a signal's handler raised one.
define ptr @txc_signals_begin(i64 %work) nounwind {
entry:
  %unknown = icmp eq i64 %work, $unknown
  %long = icmp sgt i64 %work, $long
  %may = or i1 %unknown, %long
  br i1 %may, label %thread, label %never
thread:
  %main = call i1 @is_main()
  br i1 %main, label %nested, label %never
nested:
  %resolving = load i64, ptr @resolving
  %inside = icmp ne i64 %resolving, 0
  br i1 %inside, label %never, label %begin
begin:                                          ; a call before may not have come to its end
  call void @release()
  store i64 1, ptr @running
  store atomic i64 0, ptr @left monotonic, align 8
  store i64 0, ptr @started
  br i1 %long, label %catch, label %count
count:
  store atomic i64 -$polls, ptr @txc_signals seq_cst, align 8
  ret ptr @txc_signals
catch:
  store atomic i64 0, ptr @txc_signals seq_cst, align 8
  call void @catch()
  %raised = call i32 @PyErr_CheckSignals()      ; what came before
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %ready, label %lost
ready:
  ret ptr @txc_signals
lost:
  call void @release()
  store i64 0, ptr @running
  ret ptr null
never:
  ret ptr @txc_never
}

; With the GIL, at the end of a call.  1 and an exception where it was left; else 0.
define i32 @txc_signals_end(ptr %pair) nounwind {
entry:
  %ours = icmp eq ptr %pair, @txc_signals
  br i1 %ours, label %end, label %over
end:
  call void @release()
  store atomic i64 0, ptr @txc_signals seq_cst, align 8
  store i64 0, ptr @running
  %left = load atomic i64, ptr @left monotonic, align 8
  %raise = icmp ne i64 %left, 0
  br i1 %raise, label %restore, label %over
restore:
  store atomic i64 0, ptr @left monotonic, align 8
  %kind = load ptr, ptr @error
  %value.at = getelementptr ptr, ptr @error, i64 1
  %value = load ptr, ptr %value.at
  %trace.at = getelementptr ptr, ptr @error, i64 2
  %trace = load ptr, ptr %trace.at
  call void @PyErr_Restore(ptr %kind, ptr %value, ptr %trace)
  ret i32 1
over:
  ret i32 0
}

; The main thread, without the GIL, while it waits for others: does what a poll would.
define void @txc_signals_wait() nounwind {
entry:
  %main = call i1 @is_main()
  br i1 %main, label %call, label %out
call:
  %running = load i64, ptr @running
  %any = icmp ne i64 %running, 0
  br i1 %any, label %look, label %out
look:
  %word = load atomic i64, ptr @txc_signals monotonic, align 8
  %counting = icmp slt i64 %word, 0
  br i1 %counting, label %late, label %ask
late:                                           ; it has waited long enough to sleep
  store atomic i64 1, ptr @txc_signals seq_cst, align 8
  br label %resolve
ask:
  %set = icmp ne i64 %word, 0
  br i1 %set, label %resolve, label %out
resolve:
  call i1 @resolve(ptr @txc_signals)
  br label %out
out:
  ret void
}

; In a process that has this main thread: no call is under way.
define void @txc_signals_forked(i64 %main.thread) nounwind {
  call void @release()
  store i64 %main.thread, ptr @txc_main_thread
  store i64 0, ptr @running
  store i64 0, ptr @resolving
  store atomic i64 0, ptr @left monotonic, align 8
  store atomic i64 0, ptr @txc_signals seq_cst, align 8
  ret void
}
"""

#: CPython's handler first: whoever sees the word finds the signal noted.
_HANDLER = """
define internal void @handler$i(i32 %number, ptr %facts, ptr %context) nounwind {
  %at = getelementptr ptr, ptr @handlers, i64 $i
  %handler = load atomic ptr, ptr %at acquire, align 8
  call void %handler(i32 %number, ptr %facts, ptr %context)
  store atomic i64 1, ptr @txc_signals seq_cst, align 8
  ret void
}
"""


def source() -> str:
    """The module's text for this system."""
    each = list(enumerate(_SIGNALS))
    return Template(_CODE).substitute(
        count=len(each),
        action=_ACTION,
        clock=6 if sys.platform == "darwin" else 1,  # CLOCK_MONOTONIC
        late_ns=_LATE_NS,
        polls=_POLLS,
        long=LONG,
        unknown=UNKNOWN_WORK,
        catch="\n  ".join(f"call void @catch_one(i64 {i}, i32 {int(n)}, ptr @handler{i})" for i, n in each),
        release="\n  ".join(f"call void @release_one(i64 {i}, i32 {int(n)})" for i, n in each),
        handlers="".join(Template(_HANDLER).substitute(i=i) for i, _ in each),
    )
