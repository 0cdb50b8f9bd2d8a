// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Threads share more than the outermost loop: a task is one of its iterations by a chunk of the next, so that a single
// image is work for all of them, where it is worth handing over.  Places within a task are counted, not divided.

// CHECK: @images
// CHECK: loop.index (((min(((b*m*n) // 16384), 256)) // (max(1, b))) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[WANTED:[.a-z0-9]+]]
// CHECK-NEXT: loop.index ((n // [[WANTED]]) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[SIZE:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (((max({{.*}})) // (max({{.*}}[[SIZE]]{{.*}}))) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[PIECES:[.a-z0-9]+]]
// CHECK-NEXT: loop.parallel [[TASK:i[0-9]+]] = 0 to [[PIECES]]*b
// CHECK-NEXT: loop.index ([[TASK]] // [[PIECES]])
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[IMAGE:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (([[TASK]] % [[PIECES]])*[[SIZE]])
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[ROW:[.a-z0-9]+]]
// CHECK-NEXT: loop.for
// CHECK: = [[IMAGE]] to min([[IMAGE]] + 1, b)
// CHECK-NEXT: loop.for
// CHECK: = [[ROW]] to min([[SIZE]] + [[ROW]], n)
// CHECK-NEXT: loop.for
// CHECK: loop.load %x[i0, i1, i2]
// CHECK: to m
// CHECK: loop.load %x[i0, i1, i2]
// CHECK: return
func.func @images(%x: !loop.buffer<"f32[b, n, m] by [r, k, 1]">, %y: !loop.buffer<"f32[b, n, m] by [n*m, m, 1]">) attributes {tx.symbols = #tx.dims<"b, n, m, r, k">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"b, n, m">,
parallel = 3 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: b, d1: n, d2: m) -> (d0, d1, d2)">], out_maps = [#tx.map<"(d0: b, d1: n, d2: m) -> (d0, d1, d2)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[b, n, m] by [r, k, 1]">, !loop.buffer<"f32[b, n, m] by [n*m, m, 1]">) -> ()
func.return }

// One loop around the vectors is shared as it is.

// CHECK: @rows
// CHECK-NOT: loop.bind
// CHECK: i0 = 0 to n{{.*}} on cpu_thread
// CHECK: return
func.func @rows(%x: !loop.buffer<"f32[n, m] by [k, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m, k">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [k, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }
