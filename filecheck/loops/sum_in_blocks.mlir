// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// A long sum: the order's blocks in parallel, then their values by the same binary counter.

// CHECK: tx.arena = #tx.dim<"64*((4*((n + 1023) // 1024) + 63) // 64)">
// CHECK: %[[PARTIAL:[0-9]+]] = loop.alloc {scope = "arena", offset = #tx.dim<"0">}
// CHECK: upper = #tx.dim<"min(1024*i0 + 1024, n)">, {{.*}} order = #tx.order<"tree<1024, 64>">, {{.*}} vector = 8 : i64
// CHECK: loop.store {{.*}} %[[PARTIAL]] {index = #tx.dims<"i0">}
// CHECK: kind = "cpu_thread"
// CHECK: loop.load %[[PARTIAL]] {index = #tx.dims<"i2">}
// CHECK: order = #tx.order<"tree<1, 1>">
// CHECK-NEXT: loop.store {{.*}} %y
func.func @f(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n">,
parallel = 0 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[] by []">) -> ()
func.return }
