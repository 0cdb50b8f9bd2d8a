"""The native half of `buffer_pool.py`, as LLVM IR text: NumPy's four allocation functions over lists of free blocks.

A block is a header of 64 bytes (its capacity and its class) and then the data.  A class is a capacity: eight to each
power of two, so at most an eighth of a block is not asked for.  Free blocks of a class are linked through their first
data word.  One spin lock guards the lists: it is held for a few loads and stores, and while blocks make room for
others, by threads with or without the GIL.
"""

from __future__ import annotations

__all__ = ["CLASSES", "HEADER", "RECYCLED_ELEMENTS", "SMALLEST", "STATE_BYTES", "source"]

#: Smaller arrays come from malloc's own lists, whose pages are mapped already.
SMALLEST = 256 << 10
#: What native entries go by, which do not know the size of an element.
RECYCLED_ELEMENTS = SMALLEST // 4
HEADER = 64
#: Eight classes for each power of two of an address space.
CLASSES = 8 * 64
#: lock, limit, held, the class that is emptied next, whether pages are to be small ones; then the lists.
STATE_BYTES = 64 + 8 * CLASSES

_CODE = """
%State = type { i64, i64, i64, i64, i64, i64, i64, i64, [CLASSES x ptr] }
@txc_buffers = global %State zeroinitializer, align 64

declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)

define internal void @lock(ptr %state) nounwind {
entry:
  br label %try
try:
  %swap = cmpxchg ptr %state, i64 0, i64 1 acquire monotonic
  %got = extractvalue { i64, i1 } %swap, 1
  br i1 %got, label %out, label %wait
wait:
  %word = load atomic i64, ptr %state monotonic, align 8
  %free = icmp eq i64 %word, 0
  br i1 %free, label %try, label %wait
out:
  ret void
}

define internal void @unlock(ptr %state) nounwind {
  store atomic i64 0, ptr %state release, align 8
  ret void
}

; The class of a size: its leading bit and the three bits below, rounded up.
define internal i64 @class_of(i64 %size) nounwind {
  %small = icmp ult i64 %size, 4096
  %atleast = select i1 %small, i64 4096, i64 %size
  %less = sub i64 %atleast, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 true)
  %shift = sub i64 60, %zeros
  %top = lshr i64 %less, %shift
  %step = and i64 %top, 7
  %power = mul i64 %shift, 8
  %class = add i64 %power, %step
  ret i64 %class
}

define internal i64 @capacity_of(i64 %class) nounwind {
  %shift = lshr i64 %class, 3
  %step = and i64 %class, 7
  %units = add i64 %step, 9
  %capacity = shl i64 %units, %shift
  ret i64 %capacity
}

; A free block of the class, out of its list, or null.  The lock is held.
define internal ptr @pop(ptr %state, i64 %class) nounwind {
  %list = getelementptr %State, ptr %state, i32 0, i32 8, i64 %class
  %block = load ptr, ptr %list
  %none = icmp eq ptr %block, null
  br i1 %none, label %out, label %take
take:
  %next.at = getelementptr i8, ptr %block, i64 HEADER
  %next = load ptr, ptr %next.at
  store ptr %next, ptr %list
  %capacity = load i64, ptr %block
  %held.at = getelementptr %State, ptr %state, i32 0, i32 2
  %held = load i64, ptr %held.at
  %less = sub i64 %held, %capacity
  store i64 %less, ptr %held.at
  br label %out
out:
  ret ptr %block
}

define ptr @txc_buffer_malloc(ptr %state, i64 %size) nounwind {
entry:
  %huge = icmp ugt i64 %size, 140737488355328
  br i1 %huge, label %fail, label %look
look:
  %class = call i64 @class_of(i64 %size)
  call void @lock(ptr %state)
  %found = call ptr @pop(ptr %state, i64 %class)
  call void @unlock(ptr %state)
  %none = icmp eq ptr %found, null
  br i1 %none, label %new, label %out
new:
  %capacity = call i64 @capacity_of(i64 %class)
  %several = icmp uge i64 %capacity, 4194304
  %plain.at = getelementptr %State, ptr %state, i32 0, i32 4
  %plain = load i64, ptr %plain.at
  %wished = icmp eq i64 %plain, 0
  %large = and i1 %several, %wished
  %align = select i1 %large, i64 2097152, i64 4096
  %with = add i64 %capacity, HEADER
  %mask = sub i64 %align, 1
  %up = add i64 %with, %mask
  %inverse = xor i64 %mask, -1
  %bytes = and i64 %up, %inverse
  %made = call ptr @aligned_alloc(i64 %align, i64 %bytes)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail, label %fill
fill:
  br i1 %large, label %advise, label %head
advise:                                 ; 14: MADV_HUGEPAGE, a wish; where the kernel knows none, nothing is lost
  call i32 @madvise(ptr %made, i64 %bytes, i32 14)
  br label %head
head:
  store i64 %capacity, ptr %made
  %class.at = getelementptr i64, ptr %made, i64 1
  store i64 %class, ptr %class.at
  br label %out
out:
  %block = phi ptr [ %found, %look ], [ %made, %head ]
  %data = getelementptr i8, ptr %block, i64 HEADER
  ret ptr %data
fail:
  ret ptr null
}

define void @txc_buffer_free(ptr %state, ptr %data, i64 %size) nounwind {
entry:
  %null = icmp eq ptr %data, null
  br i1 %null, label %out, label %look
look:
  %block = getelementptr i8, ptr %data, i64 -HEADER
  %capacity = load i64, ptr %block
  %class.at = getelementptr i64, ptr %block, i64 1
  %class = load i64, ptr %class.at
  %limit.at = getelementptr %State, ptr %state, i32 0, i32 1
  %held.at = getelementptr %State, ptr %state, i32 0, i32 2
  %hand.at = getelementptr %State, ptr %state, i32 0, i32 3
  call void @lock(ptr %state)
  br label %room
room:                                   ; until it fits, free what other sizes left, one class after another
  %looked = phi i64 [ 0, %look ], [ %looked.next, %onward ], [ 0, %dropped ]
  %limit = load i64, ptr %limit.at
  %held = load i64, ptr %held.at
  %then = add i64 %held, %capacity
  %fits = icmp ule i64 %then, %limit
  br i1 %fits, label %keep, label %full
full:
  %all = icmp uge i64 %looked, CLASSES
  br i1 %all, label %refuse, label %empty
empty:
  %hand = load i64, ptr %hand.at
  %old = call ptr @pop(ptr %state, i64 %hand)
  %nothing = icmp eq ptr %old, null
  br i1 %nothing, label %onward, label %dropped
onward:
  %hand.more = add i64 %hand, 1
  %hand.next = urem i64 %hand.more, CLASSES
  store i64 %hand.next, ptr %hand.at
  %looked.next = add i64 %looked, 1
  br label %room
dropped:
  call void @free(ptr %old)
  br label %room
keep:
  store i64 %then, ptr %held.at
  %list = getelementptr %State, ptr %state, i32 0, i32 8, i64 %class
  %next = load ptr, ptr %list
  store ptr %next, ptr %data
  store ptr %block, ptr %list
  call void @unlock(ptr %state)
  br label %out
refuse:
  call void @unlock(ptr %state)
  call void @free(ptr %block)
  br label %out
out:
  ret void
}

define ptr @txc_buffer_calloc(ptr %state, i64 %count, i64 %each) nounwind {
entry:
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %over = extractvalue { i64, i1 } %product, 1
  br i1 %over, label %fail, label %get
get:
  %bytes = extractvalue { i64, i1 } %product, 0
  %data = call ptr @txc_buffer_malloc(ptr %state, i64 %bytes)
  %none = icmp eq ptr %data, null
  br i1 %none, label %fail, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  ret ptr %data
fail:
  ret ptr null
}

define ptr @txc_buffer_realloc(ptr %state, ptr %data, i64 %size) nounwind {
entry:
  %fresh = icmp eq ptr %data, null
  br i1 %fresh, label %new, label %look
new:
  %made = call ptr @txc_buffer_malloc(ptr %state, i64 %size)
  ret ptr %made
look:
  %block = getelementptr i8, ptr %data, i64 -HEADER
  %capacity = load i64, ptr %block
  %fits = icmp ule i64 %size, %capacity
  br i1 %fits, label %same, label %move
same:
  ret ptr %data
move:
  %bigger = call ptr @txc_buffer_malloc(ptr %state, i64 %size)
  %none = icmp eq ptr %bigger, null
  br i1 %none, label %fail, label %copy
copy:
  %bytes = call i64 @llvm.umin.i64(i64 %capacity, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %bigger, ptr %data, i64 %bytes, i1 false)
  call void @txc_buffer_free(ptr %state, ptr %data, i64 %capacity)
  ret ptr %bigger
fail:
  ret ptr null
}
"""


def source() -> str:
    """The module."""
    return _CODE.replace("CLASSES", str(CLASSES)).replace("HEADER", str(HEADER))
