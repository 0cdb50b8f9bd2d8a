// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Sums of rows, columns contiguous: vectors across rows, although each sum has virtual lanes of its own.
// CHECK-LABEL: @rows
// CHECK: loop.index (max({{.*}}, min(128, max(16, {{.*}} + 128))))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[CHUNK:[.a-z0-9]+]]
// CHECK: to min([[CHUNK]] + i{{[0-9]+}}.b, n){{.*}} vector 8 unroll 16
// CHECK: order tree<1024, 64> init
func.func @rows(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// Sums of columns that are contiguous, one chain each: vectors across columns, by two tiles.
// CHECK-LABEL: @columns
// CHECK: loop.index (max({{.*}}, min(64, max(16, {{.*}} + 64))))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[CHUNK:[.a-z0-9]+]]
// CHECK: to min([[CHUNK]] + i0.b, m){{.*}} vector 8 unroll 2
// CHECK: order tree<1024, 1> init
func.func @columns(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// Rows contiguous: vectors along them.
// CHECK-LABEL: @along
// CHECK: order tree<1024, 64>{{.*}} vector 8
// CHECK-NOT: unroll 16
func.func @along(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }
