// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// One chain a result: neighbouring results fold side by side in lanes.

// CHECK: "loop.reduce"
// CHECK: order = #tx.order<"tree<1024, 1>">, {{.*}} vector = 1 : i64
// CHECK: upper = #tx.dim<"min(i{{[0-9]+}}.b + 128, m)">, {{.*}} vector = 8 : i64, unroll = 16 : i64
// CHECK: step = #tx.dim<"128">, kind = "cpu_thread"
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }
