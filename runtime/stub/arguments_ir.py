"""What native entries share before a kernel runs: choosing a version, binding arguments, checks; LLVM IR to fill in.

`ir.py` says how the parts belong together and fills the ``$names``.
"""

__all__ = ["ARGUMENTS", "DISPATCH"]

DISPATCH = """
define ptr @txc_vectorcall(ptr %self, ptr %args, i64 %flagged, ptr %kwnames) {
entry:
  %count = and i64 %flagged, 9223372036854775807
  %head.at = getelementptr i8, ptr %self, i64 $head
  br label %look
look:
  %from = phi ptr [ %head.at, %entry ], [ %record, %try ], [ %record, %enter ]
  %record = load ptr, ptr %from
  %none = icmp eq ptr %record, null
  br i1 %none, label %python, label %try
try:                                    ; a version that was busy for long: Python is to look at its calls
  %budget.at = getelementptr i8, ptr %record, i64 $budget
  %budget = load i64, ptr %budget.at
  %spent = icmp slt i64 %budget, 0
  br i1 %spent, label %look, label %enter
enter:
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

; Whether every captured value is the object that it was, and a list or dict holds the same objects.  Attributes may run
; any code: this comes first in a call.
define i1 @txc_captured(ptr %record) {
entry:
  %count.at = getelementptr i8, ptr %record, i64 $captures
  %count = load i64, ptr %count.at
  %all.at = getelementptr i8, ptr %record, i64 $captured
  %all = load ptr, ptr %all.at
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %compared ]
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
  %items.at = getelementptr i8, ptr %it, i64 $captured_items
  %items = load i64, ptr %items.at
  %is.object = icmp slt i64 %items, 0
  br i1 %is.object, label %object, label %contents
object:
  %same.object = icmp eq ptr %value, %expected
  br label %compared
contents:
  %keys.at = getelementptr i8, ptr %it, i64 $captured_keys
  %keys = load ptr, ptr %keys.at
  %is.list = icmp eq ptr %keys, null
  br i1 %is.list, label %list, label %dict
list:
  %listed = call ptr @txc_list_items(ptr %value, i64 %items)
  %is.other = icmp eq ptr %listed, null
  br i1 %is.other, label %compared, label %look
dict:
  %held.at = getelementptr i8, ptr %it, i64 $captured_held
  %held = load ptr, ptr %held.at
  %has.keys = call i1 @txc_dict_items(ptr %value, ptr %keys, i64 %items, ptr %held)
  br i1 %has.keys, label %look, label %compared
look:
  %now = phi ptr [ %listed, %list ], [ %held, %dict ]
  %were.at = getelementptr i8, ptr %it, i64 $captured_item_objects
  %were = load ptr, ptr %were.at
  br label %each
each:
  %k = phi i64 [ 0, %look ], [ %k.next, %pair ]
  %all.same = icmp eq i64 %k, %items
  br i1 %all.same, label %compared, label %pair
pair:
  %now.at = getelementptr ptr, ptr %now, i64 %k
  %is = load ptr, ptr %now.at
  %was.at = getelementptr ptr, ptr %were, i64 %k
  %was = load ptr, ptr %was.at
  %same.item = icmp eq ptr %is, %was
  %k.next = add i64 %k, 1
  br i1 %same.item, label %each, label %compared
compared:
  %same = phi i1 [ %same.object, %object ], [ false, %list ], [ false, %dict ], [ true, %each ], [ false, %pair ]
  call void @Py_DecRef(ptr %value)
  %i.next = add i64 %i, 1
  br i1 %same, label %next, label %no
}
"""

ARGUMENTS = """
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
  %its.number = load i32, ptr %number.at
  %bf16 = load i32, ptr @txc_bf16_number
  %is.bf16 = icmp eq i32 %its.number, %bf16
  %number = select i1 %is.bf16, i32 $bf16_number, i32 %its.number
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

; Where the items of an exact tuple or list of that size are, or null.
define ptr @txc_tuple_items(ptr %object, i64 %count) {
entry:
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @PyTuple_Type
  br i1 %exact, label %look, label %no
no:
  ret ptr null
look:
  %size.at = getelementptr i8, ptr %object, i64 $tuple_size
  %size = load i64, ptr %size.at
  %same = icmp eq i64 %size, %count
  %items = getelementptr i8, ptr %object, i64 $tuple_items
  %found = select i1 %same, ptr %items, ptr null
  ret ptr %found
}

define ptr @txc_list_items(ptr %object, i64 %count) {
entry:
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @PyList_Type
  br i1 %exact, label %look, label %no
no:
  ret ptr null
look:
  %size.at = getelementptr i8, ptr %object, i64 $tuple_size
  %size = load i64, ptr %size.at
  %same = icmp eq i64 %size, %count
  %items.at = getelementptr i8, ptr %object, i64 $list_items
  %items = load ptr, ptr %items.at
  %empty = icmp eq i64 %size, 0
  %any = select i1 %empty, ptr %items.at, ptr %items
  %found = select i1 %same, ptr %any, ptr null
  ret ptr %found
}

; The values of an exact dict that has these very keys, in this order.  No key is compared by value: that may run code.
define i1 @txc_dict_items(ptr %object, ptr %keys, i64 %count, ptr %into) {
entry:
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  %type.at = getelementptr i8, ptr %object, i64 $object_type
  %type = load ptr, ptr %type.at
  %exact = icmp eq ptr %type, @PyDict_Type
  br i1 %exact, label %look, label %no
no:
  ret i1 false
look:
  %size = call i64 @PyDict_Size(ptr %object)
  %same.size = icmp eq i64 %size, %count
  store i64 0, ptr %position
  br i1 %same.size, label %next, label %no
next:
  %i = phi i64 [ 0, %look ], [ %i.next, %keep ]
  %more = call i32 @PyDict_Next(ptr %object, ptr %position, ptr %key, ptr %value)
  %none = icmp eq i32 %more, 0
  br i1 %none, label %yes, label %compare
compare:
  %its.key = load ptr, ptr %key
  %expected.at = getelementptr ptr, ptr %keys, i64 %i
  %expected = load ptr, ptr %expected.at
  %same = icmp eq ptr %its.key, %expected
  br i1 %same, label %keep, label %no
keep:
  %its.value = load ptr, ptr %value
  %to = getelementptr ptr, ptr %into, i64 %i
  store ptr %its.value, ptr %to
  %i.next = add i64 %i, 1
  br label %next
yes:
  ret i1 true
}

define i1 @txc_has_dims(ptr %array, i64 %rank, ptr %dims) {
entry:
  %its.at = getelementptr i8, ptr %array, i64 $array_dims
  %its = load ptr, ptr %its.at
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %one ]
  %done = icmp eq i64 %i, %rank
  br i1 %done, label %yes, label %one
one:
  %a.at = getelementptr i64, ptr %its, i64 %i
  %a = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %dims, i64 %i
  %b = load i64, ptr %b.at
  %same = icmp eq i64 %a, %b
  %i.next = add i64 %i, 1
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
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
