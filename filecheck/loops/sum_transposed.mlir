// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// A sum of everything goes along rows; where columns are contiguous, some rows at a time are copied to where they are.
// Of whole blocks a row each is reduced across the rows, many side by side.
// CHECK-LABEL: @columns
// CHECK: loop.index (min(-(m % 1024) + 1, n - 64))
// CHECK: loop.if
// CHECK: [[ROW:i[0-9]+]] = {{.*}} vector 8
// CHECK: order serial
// CHECK: loop.load %x{{\[}}[[ROW]], 1024*{{.*}} + [[LANE:i[0-9]+]] + 64*i{{[0-9]+}}{{.*}}]
// CHECK: %[[FIRST:[0-9]+]] = loop.index
// CHECK-NEXT: loop.bind %[[FIRST]] as [[FROM:[.a-z0-9]+]]
// CHECK: %[[PANEL:[0-9]+]] = loop.alloc f32[{{.*}}] in thread
// CHECK: loop.for {{[^v]*}} unroll 8 {
// CHECK: vector 8 {
// CHECK: loop.load %x[{{.*}}[[FROM]]{{.*}}]
// CHECK: loop.store {{.*}}, %[[PANEL]]
// CHECK: loop.reduce
// CHECK: order tree<1024, 64>{{.*}} vector 8
// CHECK: loop.load %[[PANEL]][-[[FROM]]*m + {{i[0-9]+}}]
func.func @columns(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n*m">,
parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n*m) -> ((d0 // m), (d0 % m))">], out_maps = [#tx.map<"(d0: n*m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> ()
func.return }

// Where rows are contiguous nothing is copied.
// CHECK-LABEL: @rows
// CHECK-NOT: in thread at
func.func @rows(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n*m">,
parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n*m) -> ((d0 // m), (d0 % m))">], out_maps = [#tx.map<"(d0: n*m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">) -> ()
func.return }
