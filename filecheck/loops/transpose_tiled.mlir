// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// A transposition runs in square tiles: lanes along the stores; as many rows side by side as lanes, for the emitter to
// transpose in registers; no stores past the caches, because they come in pieces of lines.

// CHECK: "loop.parallel"() ({
// CHECK: loop.load %x {index = #tx.dims<"i1, i0">}
// CHECK: loop.store {{.*}} %y {index = #tx.dims<"i0, i1">} :
// CHECK: {iv = "i1", lower = #tx.dim<"i2">, upper = #tx.dim<"min(i2 + 64, m)">, {{.*}} vector = 8 : i64, unroll = 1 : i64}
// CHECK: {iv = "i0", lower = #tx.dim<"i3">, upper = #tx.dim<"min(i3 + 64, n)">, {{.*}} unroll = 8 : i64}
// CHECK: {iv = "i2", {{.*}} upper = #tx.dim<"m">, step = #tx.dim<"64">
// CHECK: {iv = "i3", {{.*}} upper = #tx.dim<"n">, step = #tx.dim<"64">, kind = "cpu_thread"
func.func @f(%x: !loop.buffer<"f32[m, n] by [n, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1, d0)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m, n] by [n, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Where the columns of what is read are contiguous it lies as what is written: one loop, no tiles.
// CHECK: @along
// CHECK: loop.store {{.*}} streaming
// CHECK: {iv = "i0", {{.*}} vector = 8 : i64, unroll = 4 : i64}
// CHECK: {iv = "i1", {{.*}} upper = #tx.dim<"m*n">
// CHECK-NOT: step = #tx.dim<"64">
func.func @along(%x: !loop.buffer<"f32[m, n] by [1, m]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1, d0)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m, n] by [1, m]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }
