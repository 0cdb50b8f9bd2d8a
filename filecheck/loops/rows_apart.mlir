// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// Rows across memory that hand each other a number: where a cache does not hold a band of them (columns of whole pages
// take one each), the first fold goes over all of them, and what it gives is memory for all; else both go band by band.
// CHECK-LABEL: @apart
// CHECK: loop.index {expr = #tx.dim<"{{.*4096.*}} - 262144, {{.*}}m - 512{{.*}}">}
// CHECK: "loop.if"
// CHECK: %[[SUMS:[0-9]+]] = loop.alloc {scope = "arena", {{.*}}f32[n] by [1]
// CHECK: order = #tx.order<"serial">
// CHECK: loop.store {{.*}} %[[SUMS]] {index
// CHECK: "loop.parallel"
// CHECK: order = #tx.order<"serial">
// CHECK: loop.load {{.*}}f32[64] by [1]
// CHECK: upper = #tx.dim<"min({{i[0-9]+}} + 64, n)">
func.func @apart(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc {scope = "thread", offset = #tx.dim<"0">} : !loop.buffer<"f32[] by []">
"kernel.rows"() ({
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> ()
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %t: f32):
%d = arith.subf %a, %t : f32
kernel.yield %d : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">],
operandSegmentSizes = array<i32: 2, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n] by [1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }

// What is made of a row is a row again: every element would be read once more.
// CHECK-LABEL: @together
// CHECK-NOT: scope = "arena"
// CHECK-NOT: "loop.if"
func.func @together(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc {scope = "thread", offset = #tx.dim<"0">} : !loop.buffer<"f32[] by []">
"kernel.rows"() ({
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> ()
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }
