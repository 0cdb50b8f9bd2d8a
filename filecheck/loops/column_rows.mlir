// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// What lies across rows is copied by tiles, 64 rows at a time, whose places in the first cache are a line apart; where it
// lies along them (@along) each row is read where it is.

// CHECK: func.func @across
// CHECK: i0 = 0 to n step 64 on cpu_thread
// CHECK: %[[PANEL:[0-9]+]] = loop.alloc f32[64, m + 16] in thread at 64
// CHECK: loop.load %x[i0 + i2, i3]
// CHECK-NEXT: loop.store %{{[0-9]+}}, %[[PANEL]][i2, i3]
// CHECK: i1 = i0 to min(i0 + 64, n)
// CHECK: loop.reduce
// CHECK-NEXT: loop.load %[[PANEL]][-i0 + i1, i6]
// CHECK: loop.load %[[PANEL]][-i0 + i1, i7]
// CHECK: func.func @along
// CHECK-NOT: loop.alloc {{.*}}m + 16
func.func @across(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc f32[] by [] in thread at 0
"kernel.row_group"() ({ 
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> () 
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }
func.func @along(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc f32[] by [] in thread at 0
"kernel.row_group"() ({ 
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">) -> () 
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }
