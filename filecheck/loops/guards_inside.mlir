// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Padding: along the vectors, elements where the guards hold have a loop of their own that does not ask.

// CHECK: @padded
// CHECK: loop.for i0 = i1 to min({{.*}}max(1, i1){{.*}} vector 8 {
// CHECK: loop.load %x[i0 - 1] where (i0 - 1 >= 0, -i0 + n >= 0)
// CHECK: loop.for {{.*}} vector 8 {
// CHECK: loop.load %x[i0 - 1]{{$}}
// CHECK: vector 8 unroll 4
// CHECK: loop.load %x[i0 - 1]
// CHECK: loop.load %x[i0 - 1] where (i0 - 1 >= 0, -i0 + n >= 0)
// CHECK: return
func.func @padded(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n + 2] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n + 2">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n + 2) -> (d0 - 1) where (d0 - 1, -d0 + n)">], out_maps = [#tx.map<"(d0: n + 2) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n + 2] by [1]">) -> ()
func.return }

// A guard over two iterators has no part of one where it holds.

// CHECK: @triangle
// CHECK-COUNT-2: loop.load %x[{{.*}}] where (i0 - i1 >= 0)
// CHECK-NOT: loop.load
// CHECK: return
func.func @triangle(%x: !loop.buffer<"f32[n, n] by [n, 1]">, %y: !loop.buffer<"f32[n, n] by [n, 1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n, n">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: n) -> (d0, d1) where (d0 - d1)">], out_maps = [#tx.map<"(d0: n, d1: n) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, n] by [n, 1]">, !loop.buffer<"f32[n, n] by [n, 1]">) -> ()
func.return }
