// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Neighbouring results are neighbours in memory: a run of the order is written step by step for a tile of them, and what
// is left over of the axis under guards.  No thread is given less than 32 lines of a step, whose ends it shares.
// CHECK-LABEL: @across
// CHECK: loop.threads
// CHECK: loop.index (min({{.*}}n // 512{{.*}}))
// CHECK: loop.index (min(1024, 16*{{.*}}))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[LONGEST:[.a-z0-9]+]]
// CHECK: loop.index (min([[LONGEST]], {{.*}}))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[SIDE:[.a-z0-9]+]]
// CHECK-NOT: loop.scan
// CHECK: step [[SIDE]] on cpu_thread
// CHECK: [[K:i[0-9]+]] = [[FIRST:i[0-9]+]] to 4*((min([[FIRST]] + 1024, m)) // 4) step 4
// CHECK: vector 8 {
// CHECK: loop.load %x{{\[}}[[COLUMN:i[0-9]+]], [[K]] + 3]
// CHECK: loop.load %x[{{.*}}] where (
// CHECK: loop.store {{.*}} %y[{{.*}}] where (
func.func @across(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
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
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"prefix<1024, 4>">, identity = [-0.0 : f32], scan = "inclusive"} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Chains that each lie in a row of memory, some together.
// CHECK-LABEL: @chains
// CHECK: loop.parallel [[FIRST:i[0-9]+]] = 0 to m step 4 on cpu_thread
// CHECK-NEXT: loop.for {{i[0-9]+}} = [[FIRST]] to min([[FIRST]] + 4, m) unroll 4 {
// CHECK-NEXT: arith.constant
// CHECK-NEXT: loop.for {{i[0-9]+}} = 0 to n carry (
func.func @chains(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {
"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"serial">, identity = [-0.0 : f32], scan = "inclusive"} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
func.return }
