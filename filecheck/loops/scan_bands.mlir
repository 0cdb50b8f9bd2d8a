// RUN: tx-opt %s -p tx-schedule-cpu | filecheck %s

// Neighbouring results are neighbours in memory: a run of the order is written step by step for a band of them, and what
// is left over of the axis under guards.  No thread is given less than 32 lines of a step, whose ends it shares.
// CHECK-LABEL: @across
// CHECK: loop.threads
// CHECK: loop.index {expr = #tx.dim<"min({{.*}}n // 512{{.*}})">}
// CHECK: loop.index {expr = #tx.dim<"min(1024, 16*{{.*}})">}
// CHECK-NEXT: loop.bind %{{[0-9]+}} {symbol = "[[LONGEST:[.a-z0-9]+]]"}
// CHECK: loop.index {expr = #tx.dim<"min([[LONGEST]], {{.*}})">}
// CHECK-NEXT: loop.bind %{{[0-9]+}} {symbol = "[[SIDE:[.a-z0-9]+]]"}
// CHECK-NOT: loop.scan
// CHECK: loop.load %x {index = #tx.dims<"[[COLUMN:i[0-9]+]], [[K:i[0-9]+]] + 3">}
// CHECK: vector = 8 : i64, unroll = 1 : i64
// CHECK: iv = "[[K]]", lower = #tx.dim<"[[FIRST:i[0-9]+]]">, upper = #tx.dim<"4*((min([[FIRST]] + 1024, m)) // 4)">, step = #tx.dim<"4">
// CHECK: loop.load %x {{.*}} guards =
// CHECK: loop.store {{.*}} %y {{.*}} guards =
// CHECK: step = #tx.dim<"[[SIDE]]">, kind = "cpu_thread"
func.func @across(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"prefix<1024, 4>">, identity = [-0.0 : f32], scan = "inclusive"} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
func.return }

// Where they are not, a row is a scan of its own.
// CHECK-LABEL: @along
// CHECK: loop.scan
func.func @along(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"prefix<1024, 4>">, identity = [-0.0 : f32], scan = "inclusive"} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Chains that each lie in a row of memory, some together.
// CHECK-LABEL: @chains
// CHECK: "loop.for"() ({
// CHECK-NEXT: arith.constant
// CHECK-NEXT: "loop.for"(%{{.*}}) ({
// CHECK: iv = "[[COLUMN:i[0-9]+]]", lower = #tx.dim<"[[FIRST:i[0-9]+]]">, upper = #tx.dim<"min([[FIRST]] + 4, m)">, {{.*}} unroll = 4 : i64
// CHECK: iv = "[[FIRST]]", lower = #tx.dim<"0">, upper = #tx.dim<"m">, step = #tx.dim<"4">, kind = "cpu_thread"
func.func @chains(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, post = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"serial">, identity = [-0.0 : f32], scan = "inclusive"} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
func.return }
