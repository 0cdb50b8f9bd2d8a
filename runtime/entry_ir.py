"""The half of native entries that all versions share, as LLVM IR text.

A jitted function's vectorcall slot is `txc_vectorcall`.  It offers the call to the entry of each version, the latest
first; an entry answers with an object, with NULL and an exception, or with MISS, having touched nothing; when all have
missed, Python's ``__call__`` decides.  What an entry (`compiler/codegen/entry.py`) does not write out for its own
arguments it calls here: code for errors and odd cases is compiled once a process, not once a version.

Everything runs with the GIL but for the kernel inside `txc_run`.  References: arguments are borrowed from the caller,
who keeps them for the whole call; ``items`` of `txc_tuple` and its kin are taken over, whatever happens.
"""

from __future__ import annotations

import ctypes
import sys
from string import Template

from . import native_layout as layout
from .buffers import RECYCLED_ELEMENTS
from .call import RuntimeStruct
from .entry_layout import CALLABLE_HEAD, MISS, CapturedStruct, RecordStruct, ThreadsStruct

__all__ = ["DECLARATIONS", "EXPORTED", "LIGHT", "source"]

#: Iterations up to which a kernel runs on the caller's thread and keeps the GIL: a few microseconds.
LIGHT = 1 << 14

#: What entries call, with its type.
EXPORTED = {
    "txc_bind": "i1 (ptr, ptr, i64, ptr, ptr)",
    "txc_captured": "i1 (ptr)",
    "txc_is_array": "i1 (ptr, i64, i32, i32, i32)",
    "txc_integer": "i1 (ptr, ptr)",
    "txc_overlap": "i1 (ptr, i64, ptr, i64)",
    "txc_floordiv": "{i64, i1} (i64, i64)",
    "txc_floormod": "{i64, i1} (i64, i64)",
    "txc_empty": "ptr (i32, ptr, i32, ptr, i32)",
    "txc_run": "i1 (ptr, ptr, ptr, ptr, i64, i64, i64)",
    "txc_scalar": "ptr (ptr, i32)",
    "txc_scalar_of": "ptr (ptr)",
    "txc_tuple": "ptr (ptr, i64)",
    "txc_list": "ptr (ptr, i64)",
    "txc_dict": "ptr (ptr, ptr, i64)",
    "txc_release": "void (ptr, i64)",
    "txc_vectorcall": "ptr (ptr, ptr, i64, ptr)",
}


def _declaration(name: str, type_: str) -> str:
    result, _, parameters = type_.rpartition(" (")
    return f"declare {result} @{name}({parameters}"


#: How a module that uses these functions declares them.
DECLARATIONS = {name: _declaration(name, type_) for name, type_ in EXPORTED.items() if name != "txc_vectorcall"}

_OUTSIDE = """
@PyArray_Type = external global i8
@PyLong_Type = external global i8
@PyExc_RuntimeError = external global ptr
@txc_call_name = external global i8
@txc_count_threads = external global i8
@txc_threads_variable = external global i8
@txc_usual = external global i8

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Format(ptr, ptr, ...)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyDataMem_SetHandler(ptr)
@txc_buffer_handler = external global ptr
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_DescrFromType(i32)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare ptr @getenv(ptr)
declare i32 @strcmp(ptr, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.uadd.with.overflow.i64(i64, i64)
"""

_DISPATCH = """
define ptr @txc_vectorcall(ptr %self, ptr %args, i64 %flagged, ptr %kwnames) {
entry:
  %count = and i64 %flagged, 9223372036854775807
  %head.at = getelementptr i8, ptr %self, i64 $head
  br label %look
look:
  %from = phi ptr [ %head.at, %entry ], [ %record, %try ]
  %record = load ptr, ptr %from
  %none = icmp eq ptr %record, null
  br i1 %none, label %python, label %try
try:
  %entry.at = getelementptr i8, ptr %record, i64 $entry
  %function = load ptr, ptr %entry.at
  %result = call ptr %function(ptr %record, ptr %args, i64 %count, ptr %kwnames)
  %missed = icmp eq ptr %result, inttoptr (i64 $miss to ptr)
  br i1 %missed, label %look, label %done
done:
  ret ptr %result
python:
  %method = call ptr @PyObject_GetAttr(ptr %self, ptr @txc_call_name)
  %failed = icmp eq ptr %method, null
  br i1 %failed, label %lost, label %call
lost:
  ret ptr null
call:
  %answer = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %count, ptr %kwnames)
  call void @Py_DecRef(ptr %method)
  ret ptr %answer
}

; Arguments in the order of the parameters, with keywords and defaults; false where they do not fit.
define i1 @txc_bind(ptr %record, ptr %args, i64 %given, ptr %kwnames, ptr %slots) {
entry:
  %count.at = getelementptr i8, ptr %record, i64 $parameters
  %count = load i64, ptr %count.at
  %positional.at = getelementptr i8, ptr %record, i64 $positional
  %positional = load i64, ptr %positional.at
  %names.at = getelementptr i8, ptr %record, i64 $names
  %names = load ptr, ptr %names.at
  %defaults.at = getelementptr i8, ptr %record, i64 $defaults
  %defaults = load ptr, ptr %defaults.at
  %fits = icmp ule i64 %given, %positional
  br i1 %fits, label %place, label %no
no:
  ret i1 false
place:
  %i = phi i64 [ 0, %entry ], [ %i.next, %store ]
  %placed = icmp eq i64 %i, %count
  br i1 %placed, label %keywords, label %position
position:
  %by.position = icmp ult i64 %i, %given
  br i1 %by.position, label %take, label %store
take:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  br label %store
store:
  %value = phi ptr [ null, %position ], [ %arg, %take ]
  %slot.at = getelementptr ptr, ptr %slots, i64 %i
  store ptr %value, ptr %slot.at
  %i.next = add i64 %i, 1
  br label %place

keywords:
  %no.keywords = icmp eq ptr %kwnames, null
  br i1 %no.keywords, label %fill, label %some
some:
  %size.at = getelementptr i8, ptr %kwnames, i64 $tuple_size
  %size = load i64, ptr %size.at
  br label %keyword
keyword:
  %k = phi i64 [ 0, %some ], [ %k.next, %assign ]
  %assigned = icmp eq i64 %k, %size
  br i1 %assigned, label %fill, label %named
named:
  %items = getelementptr i8, ptr %kwnames, i64 $tuple_items
  %name.at = getelementptr ptr, ptr %items, i64 %k
  %name = load ptr, ptr %name.at
  br label %search
search:                                 ; keywords in source text are interned, so the same name is the same object
  %j = phi i64 [ 0, %named ], [ %j.next, %compare ]
  %unknown = icmp eq i64 %j, %count
  br i1 %unknown, label %no, label %compare
compare:
  %known.at = getelementptr ptr, ptr %names, i64 %j
  %known = load ptr, ptr %known.at
  %match = icmp eq ptr %known, %name
  %j.next = add i64 %j, 1
  br i1 %match, label %found, label %search
found:
  %target = getelementptr ptr, ptr %slots, i64 %j
  %before = load ptr, ptr %target
  %free = icmp eq ptr %before, null
  br i1 %free, label %assign, label %no
assign:
  %from = add i64 %given, %k
  %kwarg.at = getelementptr ptr, ptr %args, i64 %from
  %kwarg = load ptr, ptr %kwarg.at
  store ptr %kwarg, ptr %target
  %k.next = add i64 %k, 1
  br label %keyword

fill:
  %f = phi i64 [ 0, %keywords ], [ 0, %keyword ], [ %f.next, %filled ]
  %complete = icmp eq i64 %f, %count
  br i1 %complete, label %yes, label %check
check:
  %gap.at = getelementptr ptr, ptr %slots, i64 %f
  %gap = load ptr, ptr %gap.at
  %missing = icmp eq ptr %gap, null
  br i1 %missing, label %default, label %filled
default:
  %default.at = getelementptr ptr, ptr %defaults, i64 %f
  %usual = load ptr, ptr %default.at
  store ptr %usual, ptr %gap.at
  %required = icmp eq ptr %usual, null
  br i1 %required, label %no, label %filled
filled:
  %f.next = add i64 %f, 1
  br label %fill
yes:
  ret i1 true
}

; Whether every captured value is the object that it was.  Attributes may run any code: this comes first in a call.
define i1 @txc_captured(ptr %record) {
entry:
  %count.at = getelementptr i8, ptr %record, i64 $captures
  %count = load i64, ptr %count.at
  %all.at = getelementptr i8, ptr %record, i64 $captured
  %all = load ptr, ptr %all.at
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %compare ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %one
yes:
  ret i1 true
no:
  ret i1 false
one:
  %offset = mul i64 %i, $captured_bytes
  %it = getelementptr i8, ptr %all, i64 %offset
  %container = load ptr, ptr %it
  %name.at = getelementptr i8, ptr %it, i64 $captured_name
  %name = load ptr, ptr %name.at
  %expected.at = getelementptr i8, ptr %it, i64 $captured_expected
  %expected = load ptr, ptr %expected.at
  %steps.at = getelementptr i8, ptr %it, i64 $captured_attributes
  %steps = load i64, ptr %steps.at
  %path.at = getelementptr i8, ptr %it, i64 $captured_attribute_names
  %path = load ptr, ptr %path.at
  %is.cell = icmp eq ptr %name, null
  br i1 %is.cell, label %cell, label %global
cell:
  %content.at = getelementptr i8, ptr %container, i64 $cell_content
  %content = load ptr, ptr %content.at
  br label %root
global:
  %item = call ptr @PyDict_GetItemWithError(ptr %container, ptr %name)
  br label %root
root:
  %found = phi ptr [ %content, %cell ], [ %item, %global ]
  %lost = icmp eq ptr %found, null
  br i1 %lost, label %forget, label %hold
forget:
  call void @PyErr_Clear()
  br label %no
hold:
  call void @Py_IncRef(ptr %found)
  br label %walk
walk:
  %value = phi ptr [ %found, %hold ], [ %inner, %step ]
  %s = phi i64 [ 0, %hold ], [ %s.next, %step ]
  %there = icmp eq i64 %s, %steps
  br i1 %there, label %compare, label %step
step:
  %attribute.at = getelementptr ptr, ptr %path, i64 %s
  %attribute = load ptr, ptr %attribute.at
  %inner = call ptr @PyObject_GetAttr(ptr %value, ptr %attribute)
  call void @Py_DecRef(ptr %value)
  %s.next = add i64 %s, 1
  %broken = icmp eq ptr %inner, null
  br i1 %broken, label %forget, label %walk
compare:
  %same = icmp eq ptr %value, %expected
  call void @Py_DecRef(ptr %value)
  %i.next = add i64 %i, 1
  br i1 %same, label %next, label %no
}
"""

_ARGUMENTS = """
; An exact ndarray in native byte order, whose type number is in the set, of that rank and those flags.
define i1 @txc_is_array(ptr %object, i64 %types, i32 %rank, i32 %mask, i32 %wanted) {
entry:
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @PyArray_Type
  br i1 %exact, label %look, label %no
no:
  ret i1 false
look:
  %descr.at = getelementptr i8, ptr %object, i64 $array_descr
  %descr = load ptr, ptr %descr.at
  %number.at = getelementptr i8, ptr %descr, i64 $descr_number
  %number = load i32, ptr %number.at
  %known = icmp ult i32 %number, 64
  %low = and i32 %number, 63
  %shift = zext i32 %low to i64
  %moved = lshr i64 %types, %shift
  %bit = trunc i64 %moved to i1
  %order.at = getelementptr i8, ptr %descr, i64 $descr_order
  %order = load i8, ptr %order.at
  %native = icmp ne i8 %order, $foreign
  %rank.at = getelementptr i8, ptr %object, i64 $array_rank
  %its.rank = load i32, ptr %rank.at
  %same.rank = icmp eq i32 %its.rank, %rank
  %flags.at = getelementptr i8, ptr %object, i64 $array_flags
  %flags = load i32, ptr %flags.at
  %kept = and i32 %flags, %mask
  %same.flags = icmp eq i32 %kept, %wanted
  %a = and i1 %known, %bit
  %b = and i1 %native, %same.rank
  %c = and i1 %a, %b
  %d = and i1 %c, %same.flags
  ret i1 %d
}

; The value of an exact int; false for another type, and for a number beyond 64 bits.
define i1 @txc_integer(ptr %object, ptr %into) {
entry:
  %over = alloca i32
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @PyLong_Type
  br i1 %exact, label %read, label %no
no:
  ret i1 false
read:
  %value = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %over)
  store i64 %value, ptr %into
  %beyond = load i32, ptr %over
  %within = icmp eq i32 %beyond, 0
  ret i1 %within
}

; The bytes that an array of that item size reaches, as [low, high); false where it has no element.
define internal i1 @reach(ptr %array, i64 %item, ptr %range) {
entry:
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load i64, ptr %data.at
  %end = add i64 %data, %item
  %rank.at = getelementptr i8, ptr %array, i64 $array_rank
  %rank = load i32, ptr %rank.at
  %dims.at = getelementptr i8, ptr %array, i64 $array_dims
  %dims = load ptr, ptr %dims.at
  %strides.at = getelementptr i8, ptr %array, i64 $array_strides
  %strides = load ptr, ptr %strides.at
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %extend ]
  %low = phi i64 [ %data, %entry ], [ %low.next, %extend ]
  %high = phi i64 [ %end, %entry ], [ %high.next, %extend ]
  %done = icmp eq i32 %i, %rank
  br i1 %done, label %yes, label %one
yes:
  %high.at = getelementptr i8, ptr %range, i64 8
  store i64 %low, ptr %range
  store i64 %high, ptr %high.at
  ret i1 true
one:
  %size.at = getelementptr i64, ptr %dims, i32 %i
  %size = load i64, ptr %size.at
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %no, label %extend
no:
  ret i1 false
extend:
  %stride.at = getelementptr i64, ptr %strides, i32 %i
  %stride = load i64, ptr %stride.at
  %last = sub i64 %size, 1
  %span = mul i64 %last, %stride
  %down = icmp slt i64 %span, 0
  %below = select i1 %down, i64 %span, i64 0
  %above = select i1 %down, i64 0, i64 %span
  %low.next = add i64 %low, %below
  %high.next = add i64 %high, %above
  %i.next = add i32 %i, 1
  br label %next
}

; Whether two arrays may share memory, by the bytes they reach.
define i1 @txc_overlap(ptr %a, i64 %a.item, ptr %b, i64 %b.item) {
entry:
  %a.range = alloca [2 x i64]
  %b.range = alloca [2 x i64]
  %a.any = call i1 @reach(ptr %a, i64 %a.item, ptr %a.range)
  %b.any = call i1 @reach(ptr %b, i64 %b.item, ptr %b.range)
  %any = and i1 %a.any, %b.any
  br i1 %any, label %compare, label %no
no:
  ret i1 false
compare:
  %a.high.at = getelementptr i8, ptr %a.range, i64 8
  %b.high.at = getelementptr i8, ptr %b.range, i64 8
  %a.low = load i64, ptr %a.range
  %a.high = load i64, ptr %a.high.at
  %b.low = load i64, ptr %b.range
  %b.high = load i64, ptr %b.high.at
  %before = icmp ult i64 %a.low, %b.high
  %after = icmp ult i64 %b.low, %a.high
  %shared = and i1 %before, %after
  ret i1 %shared
}

; Python's // and %, and whether they have no answer in 64 bits.
define {i64, i1} @txc_floordiv(i64 %a, i64 %b) {
entry:
  %zero = icmp eq i64 %b, 0
  %minus = icmp eq i64 %b, -1
  %least = icmp eq i64 %a, -9223372036854775808
  %wraps = and i1 %minus, %least
  %bad = or i1 %zero, %wraps
  %by = select i1 %bad, i64 1, i64 %b
  %cut = sdiv i64 %a, %by
  %back = mul i64 %cut, %by
  %rest = sub i64 %a, %back
  %inexact = icmp ne i64 %rest, 0
  %signs = xor i64 %rest, %by
  %differ = icmp slt i64 %signs, 0
  %down = and i1 %inexact, %differ
  %one = zext i1 %down to i64
  %floor = sub i64 %cut, %one
  %pair = insertvalue {i64, i1} undef, i64 %floor, 0
  %answer = insertvalue {i64, i1} %pair, i1 %bad, 1
  ret {i64, i1} %answer
}

define {i64, i1} @txc_floormod(i64 %a, i64 %b) {
entry:
  %divided = call {i64, i1} @txc_floordiv(i64 %a, i64 %b)
  %floor = extractvalue {i64, i1} %divided, 0
  %back = mul i64 %floor, %b
  %rest = sub i64 %a, %back
  %answer = insertvalue {i64, i1} %divided, i64 %rest, 0
  ret {i64, i1} %answer
}
"""

_RUNNING = """
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

; Runs the kernel: alone and with the GIL where there is little to do.  False with an exception.
define i1 @txc_run(ptr %record, ptr %kernel, ptr %pointers, ptr %symbols, i64 %work, i64 %arena, i64 %thread.arena) {
entry:
  %runtime = alloca [$runtime_bytes x i8], align 16
  %heavy = icmp sgt i64 %work, $light
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
  br i1 %heavy, label %away, label %here
here:
  %quick = call i32 %kernel(ptr %pointers, ptr %symbols, ptr %runtime)
  br label %ran
away:
  %state = call ptr @PyEval_SaveThread()
  %slow = call i32 %kernel(ptr %pointers, ptr %symbols, ptr %runtime)
  call void @PyEval_RestoreThread(ptr %state)
  br label %ran
ran:
  %status = phi i32 [ %quick, %here ], [ %slow, %away ]
  %borrowed = icmp ne ptr %block, null
  br i1 %borrowed, label %return, label %judge
return:
  call void @give(ptr %block)
  br label %judge
judge:
  %good = icmp eq i32 %status, 0
  br i1 %good, label %yes, label %failed
yes:
  ret i1 true
failed:
  %kind = load ptr, ptr @PyExc_RuntimeError
  call ptr (ptr, ptr, ...) @PyErr_Format(ptr %kind, ptr @failure, i32 %status)
  ret i1 false
}
@failure = internal constant [37 x i8] c"compiled code failed with status %i\\00\\00"
"""

_RESULTS = """
; Large arrays come from the lists of `buffers.py`: its handler is NumPy's while this one is made.
define ptr @txc_empty(i32 %rank, ptr %dims, i32 %type, ptr %strides, i32 %flags) {
entry:
  %handler = load ptr, ptr @txc_buffer_handler
  %recycling = icmp ne ptr %handler, null
  br i1 %recycling, label %count, label %plain
count:
  %i = phi i32 [ 0, %entry ], [ %i.next, %more ]
  %elements = phi i64 [ 1, %entry ], [ %product, %more ]
  %counted = icmp eq i32 %i, %rank
  br i1 %counted, label %judge, label %more
more:
  %dim.at = getelementptr i64, ptr %dims, i32 %i
  %dim = load i64, ptr %dim.at
  %product = mul i64 %elements, %dim
  %i.next = add i32 %i, 1
  br label %count
judge:
  %large = icmp uge i64 %elements, $recycled_elements
  br i1 %large, label %recycle, label %plain
recycle:
  %before = call ptr @PyDataMem_SetHandler(ptr %handler)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %lost, label %make
lost:
  ret ptr null
make:
  %recycled = call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank, ptr %dims, i32 %type, ptr %strides, ptr null, i32 0,
                                    i32 %flags, ptr null)
  %ours = call ptr @PyDataMem_SetHandler(ptr %before)
  call void @Py_DecRef(ptr %before)
  %kept = icmp eq ptr %ours, null
  br i1 %kept, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %ours)
  br label %done
done:
  ret ptr %recycled
plain:
  %made = call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank, ptr %dims, i32 %type, ptr %strides, ptr null, i32 0,
                                i32 %flags, ptr null)
  ret ptr %made
}

; A NumPy scalar of the bytes at %data.
define ptr @txc_scalar(ptr %data, i32 %type) {
entry:
  %descr = call ptr @PyArray_DescrFromType(i32 %type)
  %none = icmp eq ptr %descr, null
  br i1 %none, label %lost, label %make
lost:
  ret ptr null
make:
  %made = call ptr @PyArray_Scalar(ptr %data, ptr %descr, ptr null)
  call void @Py_DecRef(ptr %descr)
  ret ptr %made
}

; The scalar that an array of rank 0 holds: NumPy has more than one type for some element types.
define ptr @txc_scalar_of(ptr %array) {
  %descr.at = getelementptr i8, ptr %array, i64 $array_descr
  %descr = load ptr, ptr %descr.at
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load ptr, ptr %data.at
  %made = call ptr @PyArray_Scalar(ptr %data, ptr %descr, ptr %array)
  ret ptr %made
}

define void @txc_release(ptr %items, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %one
one:
  %at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %at
  %i.next = add i64 %i, 1
  %none = icmp eq ptr %item, null
  br i1 %none, label %on, label %drop
drop:
  call void @Py_DecRef(ptr %item)
  br label %on
on:
  br label %next
out:
  ret void
}

define internal i1 @complete(ptr %items, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %one ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %yes, label %one
one:
  %at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %at
  %i.next = add i64 %i, 1
  %none = icmp eq ptr %item, null
  br i1 %none, label %no, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

$tuple
$list

; A dict of borrowed keys and of items, which are taken over.
define ptr @txc_dict(ptr %keys, ptr %items, i64 %count) {
entry:
  %whole = call i1 @complete(ptr %items, i64 %count)
  br i1 %whole, label %make, label %lost
make:
  %made = call ptr @PyDict_New()
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %lost, label %next
next:
  %i = phi i64 [ 0, %make ], [ %i.next, %one ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %one
one:
  %key.at = getelementptr ptr, ptr %keys, i64 %i
  %key = load ptr, ptr %key.at
  %at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %at
  %status = call i32 @PyDict_SetItem(ptr %made, ptr %key, ptr %item)
  %i.next = add i64 %i, 1
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %drop, label %next
drop:
  call void @Py_DecRef(ptr %made)
  br label %lost
lost:
  call void @txc_release(ptr %items, i64 %count)
  ret ptr null
out:
  call void @txc_release(ptr %items, i64 %count)
  ret ptr %made
}
"""

#: A tuple or list of items, which are taken over.
_SEQUENCE = """
define ptr @txc_$kind(ptr %items, i64 %count) {
entry:
  %whole = call i1 @complete(ptr %items, i64 %count)
  br i1 %whole, label %make, label %lost
make:
  %made = call ptr @Py${Kind}_New(i64 %count)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %lost, label %next
lost:
  call void @txc_release(ptr %items, i64 %count)
  ret ptr null
next:
  %i = phi i64 [ 0, %make ], [ %i.next, %one ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %one
one:
  %at = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %at
  call i32 @Py${Kind}_SetItem(ptr %made, i64 %i, ptr %item)
  %i.next = add i64 %i, 1
  br label %next
out:
  ret ptr %made
}
"""

#: What a waiting block may hold; a larger one is given back to the system after the call.
_KEPT_BYTES = 64 << 20


def _offsets(struct: type[ctypes.Structure], prefix: str = "") -> dict[str, int]:
    return {prefix + name: getattr(struct, name).offset for name, *_ in struct._fields_}


def source() -> str:
    """The module's text for this process's CPython and NumPy."""
    values = {
        **_offsets(RecordStruct),
        **_offsets(CapturedStruct, "captured_"),
        **_offsets(ThreadsStruct, "usual_"),
        **_offsets(RuntimeStruct, "runtime_"),
        "head": CALLABLE_HEAD,
        "miss": MISS,
        "light": LIGHT,
        "kept_bytes": _KEPT_BYTES,
        "recycled_elements": RECYCLED_ELEMENTS,
        "captured_bytes": ctypes.sizeof(CapturedStruct),
        "runtime_bytes": ctypes.sizeof(RuntimeStruct),
        "object_type": layout.OBJECT_TYPE,
        "tuple_size": layout.TUPLE_SIZE,
        "tuple_items": layout.TUPLE_ITEMS,
        "cell_content": layout.CELL_CONTENT,
        "array_data": layout.ARRAY_DATA,
        "array_rank": layout.ARRAY_RANK,
        "array_dims": layout.ARRAY_DIMS,
        "array_strides": layout.ARRAY_STRIDES,
        "array_descr": layout.ARRAY_DESCR,
        "array_flags": layout.ARRAY_FLAGS,
        "descr_order": layout.DESCR_BYTE_ORDER,
        "descr_number": layout.DESCR_TYPE_NUMBER,
        "foreign": ord(">" if sys.byteorder == "little" else "<"),
        "tuple": Template(_SEQUENCE).substitute(kind="tuple", Kind="Tuple"),
        "list": Template(_SEQUENCE).substitute(kind="list", Kind="List"),
    }
    return "".join(Template(text).substitute(values) for text in (_OUTSIDE, _DISPATCH, _ARGUMENTS, _RUNNING, _RESULTS))
