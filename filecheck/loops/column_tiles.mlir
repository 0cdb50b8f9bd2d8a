// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Rows that are neighbours in memory run as a column tile in lanes; the private sum gets a place for each row of it.  Threads
// share the rows in as many tasks each, and wait once.

// CHECK: loop.if
// CHECK: in arena at
// CHECK: } else {
// CHECK: loop.threads
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[THREADS:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (((max(((m + 15) // 16) - 1, 0)) // (max([[THREADS]], 1))) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[LINES:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (([[LINES]] + 15) // 16)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[PIECES:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (16*((max([[LINES]] - 1, 0)) // [[PIECES]]) + 16)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[SHARE:[.a-z0-9]+]]
// CHECK: loop.parallel [[START:i[0-9]+]] = {{.*}} step [[SHARE]] on cpu_thread
// CHECK: loop.index (min([[SHARE]] + [[START]], m))
// CHECK: loop.bind %{{[0-9]+}} as [[END:[.a-z0-9]+]]
// CHECK: [[BAND:i[0-9]+]] = [[START]] to [[END]] step 64
// CHECK-NOT: loop.parallel
// CHECK: %[[SUMS:[0-9]+]] = loop.alloc f32[64] in thread
// CHECK: to min([[END]], [[BAND]] + 64){{.*}} vector 8 unroll 8
// CHECK: loop.store {{.*}} %[[SUMS]][{{.*}}[[ROW:i[0-9]+]]{{.*}}]
// CHECK: loop.load %[[SUMS]]
// CHECK: arith.divf
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc f32[] by [] in thread at 0
"kernel.row_group"() ({ 
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">) -> () 
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"m, n">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">, #tx.map<"(d0: m, d1: n) -> ()">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }
