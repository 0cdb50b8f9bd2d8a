// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// Both iterators run as one, in parts of which four are a chunk for a thread; lanes along the part.

// CHECK: "loop.parallel"() ({
// CHECK-NEXT: "loop.for"() ({
// CHECK-NEXT: loop.prefetch %x {index = #tx.dims<"((i0 + 512) // m), ((i0 + 512) % m)">
// CHECK: loop.load %x {index = #tx.dims<"(i0 // m), (i0 % m)">}
// CHECK: loop.store
// CHECK: {iv = "i0", lower = #tx.dim<"i1">, upper = #tx.dim<"min(i1 + 4096, m*n)">, step = #tx.dim<"1">, vector = 8 : i64, unroll = 4 : i64}
// CHECK: {iv = "i1", lower = #tx.dim<"0">, upper = #tx.dim<"m*n">, step = #tx.dim<"4096">, kind = "cpu_thread", grain = #tx.dim<"4">
// CHECK-NOT: loop.for
// CHECK: return
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Rows with gaps between them stay apart: threads divide the rows, lanes go along each.
// CHECK: @gaps
// CHECK: loop.load %x {index = #tx.dims<"i0, i1">}
// CHECK: {iv = "i1", {{.*}} upper = #tx.dim<"m">, step = #tx.dim<"1">, vector = 8 : i64, unroll = 4 : i64}
// CHECK: {iv = "i0", {{.*}} upper = #tx.dim<"n">, step = #tx.dim<"1">, kind = "cpu_thread"
func.func @gaps(%x: !loop.buffer<"f32[n, m] by [$s, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m, $s">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [$s, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// A number that counts the elements counts on through both; each iterator by itself would keep them apart.
// CHECK: @counted
// CHECK: loop.index {expr = #tx.dim<"(i0 % 16) + 16*(i0 // 32)">}
// CHECK: {iv = "i0", {{.*}} vector = 4 : i64, unroll = 8 : i64}
// CHECK: {iv = "i1", {{.*}} upper = #tx.dim<"m*n">
// CHECK: @apart
// CHECK: loop.index {expr = #tx.dim<"i0 + i1">}
// CHECK: {iv = "i1", {{.*}} upper = #tx.dim<"m">
func.func @counted(%x: !loop.buffer<"i64[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">, tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x) ({
%a = loop.index {expr = #tx.dim<"16*((d0*m + d1) // 32) + (d0*m + d1) % 16">} : i64
kernel.yield %a : i64 }, {  }, {  }) {extents = #tx.dims<"n, m">, parallel = 2 : i64, post = 0 : i64, in_maps = [],
out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], operandSegmentSizes = array<i32: 0, 1>} : (!loop.buffer<"i64[n, m] by [m, 1]">) -> ()
func.return }
func.func @apart(%x: !loop.buffer<"i64[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">, tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x) ({
%a = loop.index {expr = #tx.dim<"d0 + d1">} : i64
kernel.yield %a : i64 }, {  }, {  }) {extents = #tx.dims<"n, m">, parallel = 2 : i64, post = 0 : i64, in_maps = [],
out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], operandSegmentSizes = array<i32: 0, 1>} : (!loop.buffer<"i64[n, m] by [m, 1]">) -> ()
func.return }
