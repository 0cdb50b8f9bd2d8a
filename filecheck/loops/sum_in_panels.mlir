// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// A sum of everything goes along rows; where columns are contiguous, some rows at a time are copied to where they are.
// Of whole blocks a row each is folded across the rows, many side by side.
// CHECK-LABEL: @columns
// CHECK: loop.index {expr = #tx.dim<"min(-(m % 1024) + 1, n - 64)">}
// CHECK: "loop.if"
// CHECK: loop.load %x {index = #tx.dims<"[[ROW:i[0-9]+]], 1024*{{.*}} + [[LANE:i[0-9]+]] + 64*i{{[0-9]+}}{{.*}}">}
// CHECK: order = #tx.order<"serial">
// CHECK: iv = "[[ROW]]", {{.*}} vector = 8
// CHECK: %[[FIRST:[0-9]+]] = loop.index
// CHECK-NEXT: loop.bind %[[FIRST]] {symbol = "[[FROM:[.a-z0-9]+]]"}
// CHECK: %[[PANEL:[0-9]+]] = loop.alloc {scope = "thread"
// CHECK: loop.load %x {index = #tx.dims<"{{.*}}[[FROM]]{{.*}}">}
// CHECK: loop.store {{.*}}, %[[PANEL]]
// CHECK: vector = 8 : i64, unroll = 1 : i64
// CHECK: vector = 1 : i64, unroll = 8 : i64
// CHECK: "loop.reduce"
// CHECK: loop.load %[[PANEL]] {index = #tx.dims<"-[[FROM]]*m + {{i[0-9]+}}">} : !loop.buffer<"f32[{{.*}}] by [1]">
// CHECK: order = #tx.order<"tree<1024, 64>">, {{.*}} vector = 8 : i64
func.func @columns(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n*m">,
parallel = 0 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n*m) -> ((d0 // m), (d0 % m))">], out_maps = [#tx.map<"(d0: n*m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> ()
func.return }

// Where rows are contiguous nothing is copied.
// CHECK-LABEL: @rows
// CHECK-NOT: scope = "thread"
func.func @rows(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[] by []">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n*m">,
parallel = 0 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n*m) -> ((d0 // m), (d0 % m))">], out_maps = [#tx.map<"(d0: n*m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">) -> ()
func.return }
