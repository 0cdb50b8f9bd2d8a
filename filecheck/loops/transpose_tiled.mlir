// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// A transposition runs in tiles of two lines by four, and asks for the next half of one: lanes along the stores; as many rows side by side as lanes, for the emitter to
// transpose in registers.  That stores pieces of lines, so what is stored non-temporally is staged in a tile of a thread's
// own and copied from there in whole lines, if its rows are.

// CHECK-LABEL: @light
// CHECK: loop.index (min(-(m % 16) + 1, 4*m*n - 8388607))
// CHECK: loop.if
// CHECK: on cpu_thread
// CHECK: %[[TILE:[0-9]+]] = loop.alloc f32[64, 64] in thread
// CHECK: loop.for {{[^v]*}} unroll 8 {
// CHECK: vector 8 {
// CHECK: loop.load %x[i1, i0]
// CHECK: loop.store {{.*}}, %[[TILE]][{{.*}}]
// CHECK: vector 8 unroll 4
// CHECK: loop.load %[[TILE]]
// CHECK: loop.store {{.*}} %y[i0, i1] nontemporal 8388608
// CHECK: [[BAND:i[0-9]+]] = {{.*}} to n step 32 on cpu_thread grain max((16384 // (max(1, m*min(32, n)))), 1)
// CHECK: [[START:i[0-9]+]] = {{.*}} to m step 64
// CHECK: i0 = [[BAND]] to min([[BAND]] + 32, n){{.*}} unroll 8
// CHECK: i1 = [[START]] to min([[START]] + 64, m){{.*}} vector 8
// CHECK: loop.prefetch %y[i0, i1 + 32] writes
// CHECK: loop.load %x[i1, i0]
// CHECK: loop.store {{.*}} %y[i0, i1]
func.func @light(%x: !loop.buffer<"f32[m, n] by [n, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1, d0)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m, n] by [n, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Arithmetic between the pieces of a line: nothing is stored non-temporally.
// CHECK-LABEL: @heavy
// CHECK-NOT: loop.if
// CHECK-NOT: nontemporal
func.func @heavy(%x: !loop.buffer<"f32[m, n] by [n, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = math.exp %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1, d0)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m, n] by [n, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Of sizes that are known one way is written: a cache holds these,
// CHECK-LABEL: @small
// CHECK-NOT: loop.alloc
// CHECK-NOT: nontemporal
func.func @small(%x: !loop.buffer<"f32[300, 200] by [200, 1]">, %y: !loop.buffer<"f32[200, 300] by [300, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"200, 300">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 200, d1: 300) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 200, d1: 300) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[300, 200] by [200, 1]">, !loop.buffer<"f32[200, 300] by [300, 1]">) -> ()
func.return }

// these exceed the caches, but their rows are no whole lines,
// CHECK-LABEL: @odd
// CHECK-NOT: loop.alloc
// CHECK-NOT: nontemporal
func.func @odd(%x: !loop.buffer<"f32[3001, 4000] by [4000, 1]">, %y: !loop.buffer<"f32[4000, 3001] by [3001, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"4000, 3001">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 4000, d1: 3001) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 4000, d1: 3001) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[3001, 4000] by [4000, 1]">, !loop.buffer<"f32[4000, 3001] by [3001, 1]">) -> ()
func.return }

// and these are both.
// CHECK-LABEL: @even
// CHECK-NOT: loop.if
// CHECK: in thread at
// CHECK: nontemporal 8388608
func.func @even(%x: !loop.buffer<"f32[3008, 4000] by [4000, 1]">, %y: !loop.buffer<"f32[4000, 3008] by [3008, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"4000, 3008">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 4000, d1: 3008) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 4000, d1: 3008) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[3008, 4000] by [4000, 1]">, !loop.buffer<"f32[4000, 3008] by [3008, 1]">) -> ()
func.return }

// Where the columns of what is read are contiguous it lies as what is written: one loop, no tiles.
// CHECK: @along
// CHECK: i1 = {{.*}} to m*n
// CHECK: i0 = {{.*}} vector 8 unroll 4
// CHECK: loop.store {{.*}} nontemporal
// CHECK-NOT: step 64
func.func @along(%x: !loop.buffer<"f32[m, n] by [1, m]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1, d0)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m, n] by [1, m]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }
