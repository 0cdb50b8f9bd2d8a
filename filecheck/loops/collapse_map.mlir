// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Both iterators run as one, in parts of which four are a chunk for a thread; lanes along the part.

// CHECK: loop.parallel i1 = 0 to m*n step 4096 on cpu_thread grain 4 {
// CHECK-NEXT: loop.for i0 = i1 to min(i1 + 4096, m*n) vector 8 unroll 4 {
// CHECK-NEXT: loop.prefetch %x[((i0 + 512) // m), ((i0 + 512) % m)]
// CHECK: loop.load %x[(i0 // m), (i0 % m)]
// CHECK: loop.store
// CHECK-NOT: loop.for
// CHECK: return
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Rows with gaps between them stay apart: threads divide the rows, lanes go along each.
// CHECK: @gaps
// CHECK: i0 = {{.*}} to n on cpu_thread
// CHECK: loop.load %x[i0, i1]
// CHECK: i1 = {{.*}} to m vector 8 unroll 4
func.func @gaps(%x: !loop.buffer<"f32[n, m] by [$s, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m, $s">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [$s, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// A number that counts the elements counts on through both; each iterator by itself would keep them apart.
// CHECK: @counted
// CHECK: i1 = {{.*}} to m*n
// CHECK: i0 = {{.*}} vector 4 unroll 8
// CHECK: loop.index ((i0 % 16) + 16*(i0 // 32))
// CHECK: @apart
// CHECK: loop.index (i0 + i1)
// CHECK: i1 = {{.*}} to m
func.func @counted(%x: !loop.buffer<"i64[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">, tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x) ({
%a = loop.index (16*((d0*m + d1) // 32) + (d0*m + d1) % 16)
kernel.yield %a : i64 }, {  }, {  }) {extents = #tx.dims<"n, m">, parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [],
out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], operandSegmentSizes = array<i32: 0, 1>} : (!loop.buffer<"i64[n, m] by [m, 1]">) -> ()
func.return }
func.func @apart(%x: !loop.buffer<"i64[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">, tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x) ({
%a = loop.index (d0 + d1)
kernel.yield %a : i64 }, {  }, {  }) {extents = #tx.dims<"n, m">, parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [],
out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], operandSegmentSizes = array<i32: 0, 1>} : (!loop.buffer<"i64[n, m] by [m, 1]">) -> ()
func.return }
