"""What native entries share to make results: arrays, scalars and containers; LLVM IR that `ir.py` fills in."""

__all__ = ["DESTINATIONS", "RESULTS", "SEQUENCE"]

DESTINATIONS = """
; Notes an array that the caller gives for a result, where it has that type, rank, these flags and dims.  None is no
; array, and fits.
define i1 @txc_destination(ptr %object, i64 %types, i32 %rank, i32 %flags, ptr %dims, ptr %slot) {
entry:
  %none = icmp eq ptr %object, @_Py_NoneStruct
  br i1 %none, label %yes, label %look
yes:
  ret i1 true
no:
  ret i1 false
look:
  %array = call i1 @txc_is_array(ptr %object, i64 %types, i32 %rank, i32 %flags, i32 %flags)
  br i1 %array, label %measure, label %no
measure:
  %wide = zext i32 %rank to i64
  %fits = call i1 @txc_has_dims(ptr %object, i64 %wide, ptr %dims)
  br i1 %fits, label %note, label %no
note:
  store ptr %object, ptr %slot
  ret i1 true
}

; Whether two arrays, of which either may be null, share no memory.
define i1 @txc_apart(ptr %a, i64 %a.item, ptr %b, i64 %b.item) {
entry:
  %no.a = icmp eq ptr %a, null
  %no.b = icmp eq ptr %b, null
  %missing = or i1 %no.a, %no.b
  br i1 %missing, label %yes, label %compare
yes:
  ret i1 true
compare:
  %shared = call i1 @txc_overlap(ptr %a, i64 %a.item, ptr %b, i64 %b.item)
  %apart = xor i1 %shared, true
  ret i1 %apart
}

; Takes a reference to each object that is noted.
define void @txc_hold(ptr %slots, i64 %count) {
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i.next, %on ]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %one
one:
  %at = getelementptr ptr, ptr %slots, i64 %i
  %object = load ptr, ptr %at
  %i.next = add i64 %i, 1
  %none = icmp eq ptr %object, null
  br i1 %none, label %on, label %take
take:
  call void @Py_IncRef(ptr %object)
  br label %on
on:
  br label %next
out:
  ret void
}

; The memory of an array, or %otherwise where it is null.
define ptr @txc_data(ptr %array, ptr %otherwise) {
entry:
  %none = icmp eq ptr %array, null
  br i1 %none, label %no, label %yes
no:
  ret ptr %otherwise
yes:
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load ptr, ptr %data.at
  ret ptr %data
}
"""

RESULTS = """
; A type number in this process.
define i32 @txc_type_number(i32 %type) {
  %is.bf16 = icmp eq i32 %type, $bf16_number
  %bf16 = load i32, ptr @txc_bf16_number
  %number = select i1 %is.bf16, i32 %bf16, i32 %type
  ret i32 %number
}

; The array %given, which has its reference already, or where that is null a new one.
; Large arrays come from the lists of `buffers/buffer_pool.py`: its handler is NumPy's while this one is made.
define ptr @txc_empty(ptr %given, i32 %rank, ptr %dims, i32 %type, ptr %strides, i32 %flags) {
entry:
  %wanted = icmp eq ptr %given, null
  br i1 %wanted, label %new, label %there
there:
  ret ptr %given
new:
  %number = call i32 @txc_type_number(i32 %type)
  %handler = load ptr, ptr @txc_buffer_handler
  %recycling = icmp ne ptr %handler, null
  br i1 %recycling, label %count, label %plain
count:
  %i = phi i32 [ 0, %new ], [ %i.next, %more ]
  %elements = phi i64 [ 1, %new ], [ %product, %more ]
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
  %recycled = call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank, ptr %dims, i32 %number, ptr %strides, ptr null, i32 0,
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
  %made = call ptr @PyArray_New(ptr @PyArray_Type, i32 %rank, ptr %dims, i32 %number, ptr %strides, ptr null, i32 0,
                                i32 %flags, ptr null)
  ret ptr %made
}

; A new array in the memory of another one, from %offset bytes behind its first element; of that one's type where %type
; is negative, and with those of its %flags.
define ptr @txc_view(ptr %base, i32 %type, i32 %rank, ptr %dims, ptr %strides, i64 %offset, i32 %flags) {
entry:
  %data.at = getelementptr i8, ptr %base, i64 $array_data
  %data = load ptr, ptr %data.at
  %begin = getelementptr i8, ptr %data, i64 %offset
  %flags.at = getelementptr i8, ptr %base, i64 $array_flags
  %all.flags = load i32, ptr %flags.at
  %kept = and i32 %all.flags, %flags
  %same = icmp slt i32 %type, 0
  br i1 %same, label %its, label %other
its:
  %descr.at = getelementptr i8, ptr %base, i64 $array_descr
  %descr = load ptr, ptr %descr.at
  call void @Py_IncRef(ptr %descr)
  br label %make
other:
  %number = call i32 @txc_type_number(i32 %type)
  %found = call ptr @PyArray_DescrFromType(i32 %number)
  %none = icmp eq ptr %found, null
  br i1 %none, label %lost, label %make
lost:
  ret ptr null
make:
  %of = phi ptr [ %descr, %its ], [ %found, %other ]
  %made = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %of, i32 %rank, ptr %dims, ptr %strides, ptr %begin,
                                         i32 %kept, ptr null)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %lost, label %tie
tie:
  call void @Py_IncRef(ptr %base)
  %status = call i32 @PyArray_SetBaseObject(ptr %made, ptr %base)
  %failed = icmp slt i32 %status, 0
  br i1 %failed, label %drop, label %done
drop:
  call void @Py_DecRef(ptr %made)
  ret ptr null
done:
  ret ptr %made
}

; The array %given, which has its reference already, or where that is null a NumPy scalar of the bytes at %data.
define ptr @txc_scalar(ptr %given, ptr %data, i32 %type) {
entry:
  %wanted = icmp eq ptr %given, null
  br i1 %wanted, label %new, label %there
there:
  ret ptr %given
new:
  %number = call i32 @txc_type_number(i32 %type)
  %descr = call ptr @PyArray_DescrFromType(i32 %number)
  %none = icmp eq ptr %descr, null
  br i1 %none, label %lost, label %make
lost:
  ret ptr null
make:
  %made = call ptr @PyArray_Scalar(ptr %data, ptr %descr, ptr null)
  call void @Py_DecRef(ptr %descr)
  ret ptr %made
}

; The first elements of an array of rank 1, which is given up, as an array of these dims: in that memory where they are
; most of it, else a copy, so that the rest is free.
define ptr @txc_sized(ptr %room, i32 %rank, ptr %dims) {
entry:
  br label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %more ]
  %elements = phi i64 [ 1, %entry ], [ %product, %more ]
  %counted = icmp eq i32 %i, %rank
  br i1 %counted, label %use, label %more
more:
  %dim.at = getelementptr i64, ptr %dims, i32 %i
  %dim = load i64, ptr %dim.at
  %product = mul i64 %elements, %dim
  %i.next = add i32 %i, 1
  br label %next
use:
  %used = call ptr @txc_view(ptr %room, i32 -1, i32 %rank, ptr %dims, ptr null, i64 0, i32 $packed_flags)
  %none = icmp eq ptr %used, null
  br i1 %none, label %out, label %judge
judge:
  %sizes.at = getelementptr i8, ptr %room, i64 $array_dims
  %sizes = load ptr, ptr %sizes.at
  %size = load i64, ptr %sizes
  %twice = shl i64 %elements, 1
  %most = icmp sge i64 %twice, %size
  br i1 %most, label %out, label %copy
copy:
  %copied = call ptr @PyArray_NewCopy(ptr %used, i32 0)
  call void @Py_DecRef(ptr %used)
  br label %out
out:
  %made = phi ptr [ %used, %use ], [ %used, %judge ], [ %copied, %copy ]
  call void @Py_DecRef(ptr %room)
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

; A NumPy scalar as a number of one of Python's types.
define ptr @txc_number(ptr %type, ptr %scalar) {
  %made = call ptr @PyObject_CallOneArg(ptr %type, ptr %scalar)
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

; What a class makes of items, which are taken over.
define ptr @txc_named(ptr %class, ptr %items, i64 %count) {
entry:
  %whole = call i1 @complete(ptr %items, i64 %count)
  br i1 %whole, label %make, label %lost
make:
  %made = call ptr @PyObject_Vectorcall(ptr %class, ptr %items, i64 %count, ptr null)
  call void @txc_release(ptr %items, i64 %count)
  ret ptr %made
lost:
  call void @txc_release(ptr %items, i64 %count)
  ret ptr null
}

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
SEQUENCE = """
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
