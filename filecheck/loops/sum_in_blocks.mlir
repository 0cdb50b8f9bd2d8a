// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// A long sum: the order's blocks in parallel, then their values by the same binary counter.

// CHECK: tx.arena = #tx.dim<64*((4*((n + 1023) // 1024) + 63) // 64)>
// CHECK: %[[PARTIAL:[0-9]+]] = loop.alloc {{.*}} in arena at 0
// CHECK: on cpu_thread
// CHECK: to min(1024*i0 + 1024, n){{.*}} order tree<1024, 64>{{.*}} vector 8
// CHECK: loop.store {{.*}} %[[PARTIAL]][i0]
// CHECK: %[[SUM:[0-9]+]] = loop.reduce {{.*}} order tree<1, 1>
// CHECK: loop.load %[[PARTIAL]][i2]
// CHECK: loop.store %[[SUM]], %y[]
func.func @f(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n">,
parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[] by []">) -> ()
func.return }
