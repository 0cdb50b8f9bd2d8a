// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s
// RUN: tx-opt %s -p 'tx-schedule-cpu{streaming=false}' | filecheck %s --check-prefix=NONE

// What a nest only writes may go past the caches; what it updates in place is in them already.

// CHECK: @only_written
// CHECK: loop.store {{.*}} %y {index = #tx.dims<"i0">, streaming = 8388608 : i64}
// NONE: @only_written
// NONE-NOT: streaming
// NONE: return
func.func @only_written(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// CHECK: @in_place
// CHECK: loop.store
// CHECK-NOT: streaming
// CHECK: return
func.func @in_place(%y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%y, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// Two results take turns: neither goes past the caches.
// CHECK: @two_results
// CHECK-COUNT-2: loop.store
// CHECK-NOT: streaming
// CHECK: return
func.func @two_results(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">, %z: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y, %z) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b, %a : f32, f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">, #tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 2>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }
