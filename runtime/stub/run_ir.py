"""What native entries share to run a kernel: temporaries, threads, the GIL; LLVM IR that `ir.py` fills in."""

__all__ = ["KEPT_BYTES", "RUNNING"]

#: What a waiting block may hold; a larger one is given back to the system after the call.
KEPT_BYTES = 64 << 20

RUNNING = """
; Temporaries that wait for another call, the last one given first.  A block is preceded by {next, bytes, raw}.
@waiting = internal global ptr null

; Memory, aligned to 128; NULL with an exception where there is none.  Only with the GIL.
define internal ptr @take(i64 %bytes) {
entry:
  %first = load ptr, ptr @waiting
  %none = icmp eq ptr %first, null
  br i1 %none, label %allocate, label %look
look:
  %next.at = getelementptr i8, ptr %first, i64 -128
  %next = load ptr, ptr %next.at
  store ptr %next, ptr @waiting
  %size.at = getelementptr i8, ptr %first, i64 -120
  %size = load i64, ptr %size.at
  %enough = icmp uge i64 %size, %bytes
  br i1 %enough, label %reuse, label %discard
reuse:
  ret ptr %first
discard:
  %old.at = getelementptr i8, ptr %first, i64 -112
  %old = load ptr, ptr %old.at
  call void @PyMem_RawFree(ptr %old)
  br label %allocate
allocate:
  %padded = call {i64, i1} @llvm.uadd.with.overflow.i64(i64 %bytes, i64 256)
  %whole = extractvalue {i64, i1} %padded, 0
  %wraps = extractvalue {i64, i1} %padded, 1
  %asked = select i1 %wraps, i64 -1, i64 %whole
  %raw = call ptr @PyMem_RawMalloc(i64 %asked)
  %refused = icmp eq ptr %raw, null
  br i1 %refused, label %lost, label %made
lost:
  call ptr @PyErr_NoMemory()
  ret ptr null
made:
  %number = ptrtoint ptr %raw to i64
  %past = add i64 %number, 255
  %aligned = and i64 %past, -128
  %block = inttoptr i64 %aligned to ptr
  %new.size.at = getelementptr i8, ptr %block, i64 -120
  store i64 %bytes, ptr %new.size.at
  %raw.at = getelementptr i8, ptr %block, i64 -112
  store ptr %raw, ptr %raw.at
  ret ptr %block
}

define internal void @give(ptr %block) {
entry:
  %size.at = getelementptr i8, ptr %block, i64 -120
  %size = load i64, ptr %size.at
  %small = icmp ule i64 %size, $kept_bytes
  br i1 %small, label %keep, label %free
keep:
  %first = load ptr, ptr @waiting
  %next.at = getelementptr i8, ptr %block, i64 -128
  store ptr %first, ptr %next.at
  store ptr %block, ptr @waiting
  ret void
free:
  %raw.at = getelementptr i8, ptr %block, i64 -112
  %raw = load ptr, ptr %raw.at
  call void @PyMem_RawFree(ptr %raw)
  ret void
}

; The threads of a call: the option, else what the environment variable says now; negative with an exception.
define internal i64 @threads(i64 %option) {
entry:
  %said = icmp ne i64 %option, 0
  br i1 %said, label %by.option, label %ask
by.option:
  ret i64 %option
ask:
  %text = call ptr @getenv(ptr @txc_threads_variable)
  %is.set.at = getelementptr i8, ptr @txc_usual, i64 $usual_is_set
  %was.set = load i64, ptr %is.set.at
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %not.set, label %set
not.set:
  %still.unset = icmp eq i64 %was.set, 0
  br i1 %still.unset, label %known, label %count
set:
  %still.set = icmp eq i64 %was.set, 1
  br i1 %still.set, label %compare, label %count
compare:
  %before = getelementptr i8, ptr @txc_usual, i64 $usual_text
  %order = call i32 @strcmp(ptr %text, ptr %before)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %known, label %count
count:
  %answer = call ptr @PyObject_CallNoArgs(ptr @txc_count_threads)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %lost, label %counted
lost:
  ret i64 -1
counted:
  call void @Py_DecRef(ptr %answer)
  br label %known
known:
  %usual = load i64, ptr @txc_usual
  ret i64 %usual
}

; Runs the kernel: alone and with the GIL where there is little to do.  Work that nobody knows is $unknown.  False with
; an exception.
define i1 @txc_run(ptr %record, ptr %kernel, ptr %pointers, ptr %symbols, i64 %work, i64 %arena, i64 %thread.arena) {
entry:
  %runtime = alloca [$runtime_bytes x i8], align 16
  %bounds = alloca [$bounds_bytes x i8], align 8
  %budget.at = getelementptr i8, ptr %record, i64 $budget
  %budget = load i64, ptr %budget.at
  %unbounded = icmp eq i64 %work, $unknown
  %counts.for = select i1 %unbounded, i64 $unknown_counts, i64 %work
  %left = sub i64 %budget, %counts.for
  store i64 %left, ptr %budget.at
  %heavy = icmp sgt i64 %counts.for, $light
  br i1 %heavy, label %count, label %sized
count:
  %option.at = getelementptr i8, ptr %record, i64 $threads
  %option = load i64, ptr %option.at
  %counted = call i64 @threads(i64 %option)
  %uncounted = icmp slt i64 %counted, 0
  br i1 %uncounted, label %lost, label %sized
lost:
  ret i1 false
sized:
  %threads = phi i64 [ 1, %entry ], [ %counted, %count ]
  %arena.past = add i64 %arena, 127
  %arena.lines = and i64 %arena.past, -128
  %stride.past = add i64 %thread.arena, 127
  %stride = and i64 %stride.past, -128
  %each = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %stride, i64 %threads)
  %all = extractvalue {i64, i1} %each, 0
  %wraps = extractvalue {i64, i1} %each, 1
  %sum = call {i64, i1} @llvm.uadd.with.overflow.i64(i64 %all, i64 %arena.lines)
  %total = extractvalue {i64, i1} %sum, 0
  %wraps.too = extractvalue {i64, i1} %sum, 1
  %wrong = or i1 %wraps, %wraps.too
  br i1 %wrong, label %too.much, label %fits
too.much:
  call ptr @PyErr_NoMemory()
  ret i1 false
fits:
  %nothing = icmp eq i64 %total, 0
  br i1 %nothing, label %ready, label %memory
memory:
  %taken = call ptr @take(i64 %total)
  %refused = icmp eq ptr %taken, null
  br i1 %refused, label %lost, label %ready
ready:
  %block = phi ptr [ null, %fits ], [ %taken, %memory ]
  %parallel.at = getelementptr i8, ptr %record, i64 $parallel
  %parallel = load ptr, ptr %parallel.at
  %pool.at = getelementptr i8, ptr %record, i64 $pool
  %pool = load ptr, ptr %pool.at
  %worker.block = getelementptr i8, ptr %block, i64 %arena.lines
  %to.parallel = getelementptr i8, ptr %runtime, i64 $runtime_parallel
  store ptr %parallel, ptr %to.parallel
  %to.pool = getelementptr i8, ptr %runtime, i64 $runtime_pool
  store ptr %pool, ptr %to.pool
  %to.threads = getelementptr i8, ptr %runtime, i64 $runtime_threads
  store i64 %threads, ptr %to.threads
  %to.arena = getelementptr i8, ptr %runtime, i64 $runtime_arena
  store ptr %block, ptr %to.arena
  %to.thread.arena = getelementptr i8, ptr %runtime, i64 $runtime_thread_arena
  store ptr %worker.block, ptr %to.thread.arena
  %to.stride = getelementptr i8, ptr %runtime, i64 $runtime_thread_arena_stride
  store i64 %stride, ptr %to.stride
  %to.bounds = getelementptr i8, ptr %runtime, i64 $runtime_bounds
  store ptr %bounds, ptr %to.bounds
  store ptr null, ptr %bounds
  %to.signals = getelementptr i8, ptr %runtime, i64 $runtime_signals
  br i1 %heavy, label %begin, label %here
here:
  store ptr @txc_never, ptr %to.signals
  %quick = call i32 %kernel(ptr %pointers, ptr %symbols, ptr %runtime)
  br label %ran
begin:
  %signals = call ptr @txc_signals_begin(i64 %work)
  %stopped = icmp eq ptr %signals, null
  br i1 %stopped, label %ran, label %away
away:
  store ptr %signals, ptr %to.signals
  %state = call ptr @PyEval_SaveThread()
  %slow = call i32 %kernel(ptr %pointers, ptr %symbols, ptr %runtime)
  call void @PyEval_RestoreThread(ptr %state)
  %interrupted = call i32 @txc_signals_end(ptr %signals)
  %told = icmp ne i32 %interrupted, 0
  br label %ran
ran:
  %status = phi i32 [ %quick, %here ], [ 0, %begin ], [ %slow, %away ]
  %raised = phi i1 [ false, %here ], [ true, %begin ], [ %told, %away ]
  %borrowed = icmp ne ptr %block, null
  br i1 %borrowed, label %return, label %judge
return:
  call void @give(ptr %block)
  br label %judge
judge:
  br i1 %raised, label %lost, label %look
look:
  %good = icmp eq i32 %status, 0
  br i1 %good, label %yes, label %failed
yes:
  ret i1 true
failed:
  %kind = load ptr, ptr @PyExc_RuntimeError
  %site = load ptr, ptr %bounds
  %inside = icmp eq ptr %site, null
  br i1 %inside, label %unknown, label %outside
outside:
  %index.at = getelementptr i8, ptr %bounds, i64 $bounds_index
  %index = load i64, ptr %index.at
  %size.at = getelementptr i8, ptr %bounds, i64 $bounds_size
  %size = load i64, ptr %size.at
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @outside, ptr %site, i64 %index, i64 %size)
  ret i1 false
unknown:
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @failure, i32 %status)
  ret i1 false
}

; Raises what the word of `runtime/check_errors.py` says; of each check the size of its dim.  Whether it did: if not,
; the call is to be made again.
define i1 @txc_failed(ptr %record, i64 %word, ptr %sizes) {
entry:
  %upper = lshr i64 %word, $index_bits
  %number = sub i64 $checks, %upper
  %size.at = getelementptr i64, ptr %sizes, i64 %number
  %size = load i64, ptr %size.at
  %failed.at = getelementptr i8, ptr %record, i64 $failed
  %failed = load ptr, ptr %failed.at
  %none = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %failed, ptr @two.numbers, i64 %word, i64 %size)
  %raised = icmp eq ptr %none, null
  br i1 %raised, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %none)
  br label %done
done:
  ret i1 %raised
}
@two.numbers = internal constant [3 x i8] c"LL\\00"
@outside = internal constant [$outside_bytes x i8] c"$outside_text\\00"
@failure = internal constant [37 x i8] c"compiled code failed with status %i\\00\\00"
"""
