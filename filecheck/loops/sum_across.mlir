// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// One chain a result: neighbouring results are reduced side by side in lanes, in chunks.  One thread takes 128 results at a
// time, the vectors of all registers; several take as many each, in whole lines; and a chunk is worth a thread's while.

// CHECK: loop.index (max(((((m + 127) // 128) - 1) // [[THREADS:[.a-z0-9]+]])*{{.*}} + {{.*}}, 1))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[CHUNKS:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (max(16*((max((32768 // (max(1, n))), 1) + 15) // 16), min(128, max(16, 16*((m - 1) // (16*[[CHUNKS]]))*min([[THREADS]] - 1, 1) - 112*min([[THREADS]] - 1, 1) + 128))))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[CHUNK:[.a-z0-9]+]]
// CHECK: step [[CHUNK]] on cpu_thread
// CHECK: to min([[CHUNK]] + i{{[0-9]+}}.b, m){{.*}} vector 8 unroll 16
// CHECK: loop.reduce
// CHECK: order tree<1024, 1> init
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }
