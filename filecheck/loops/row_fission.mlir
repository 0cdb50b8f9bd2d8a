// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Rows across memory that hand each other a number: where there are fewer than a line for each thread, or a cache does not hold a tile of them (columns of whole pages
// take one each), the first reduction goes over all of them, and what it gives is memory for all; else both go tile by tile.
// CHECK-LABEL: @apart
// CHECK: loop.index ({{.*4096.*}} - 262144, {{.*}}m - 512{{.*}})
// CHECK: loop.if
// CHECK: %[[SUMS:[0-9]+]] = loop.alloc f32[n]{{.*}} in arena
// CHECK: order serial
// CHECK: loop.store {{.*}} %[[SUMS]][
// CHECK: loop.parallel
// CHECK: %[[BAND:[0-9]+]] = loop.alloc f32[64] in thread
// CHECK: to min({{[.a-z0-9]+}}, {{i[0-9]+}} + 64)
// CHECK: loop.load %[[BAND]][
func.func @apart(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
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
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %t: f32):
%d = arith.subf %a, %t : f32
kernel.yield %d : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">],
operandSegmentSizes = array<i32: 2, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n] by [1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }

// What is made of a row may be a row: the map goes over all of them too then, in the order of memory.
// CHECK-LABEL: @made
// CHECK: loop.if
// CHECK: %[[SUMS:[0-9]+]] = loop.alloc f32[n] in arena
// CHECK: loop.parallel [[COLUMN:i[0-9]+]] = 0 to m on cpu_thread
// CHECK-NEXT: loop.for [[ROW:i[0-9]+]] = {{.*}} vector 8
// CHECK: loop.load %x{{\[}}[[ROW]], [[COLUMN]]]
// CHECK-NEXT: loop.load %[[SUMS]]{{\[}}[[ROW]]]
// CHECK-NEXT: arith.divf
// CHECK: } else {
// CHECK: loop.alloc f32[64] in thread
func.func @made(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
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
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }

// What is made lies along rows, and the reduction across them: neither a row nor a column tile is near in memory.
// CHECK-LABEL: @made_along
// CHECK-NOT: loop.alloc f32[64]{{.*}} in thread
// CHECK: loop.alloc f32[n]{{.*}} in arena
// CHECK-NOT: loop.alloc f32[64]{{.*}} in thread
// CHECK: func.return
func.func @made_along(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64">} {
%s = loop.alloc f32[] by [] in thread at 0
"kernel.row_group"() ({
"kernel.generic"(%x, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">) -> ()
"kernel.generic"(%x, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }

// Rows that are handed on have memory of the thread's own, a place for each row of a column tile, and where a cache does not
// hold that, or there are few rows, memory for all, in which they lie across as well.
// CHECK-LABEL: @handed_on
// CHECK-SAME: {{.*}}tx.thread_arena = {{.*}}256*m*min(1, max(-256*m + 524289, 0))
// CHECK: loop.index (max({{.*}} - n, 256*m - 524288))
// CHECK: loop.if
// CHECK: loop.alloc f32[n, m] by [1, n]{{.*}} in arena
// CHECK: } else {
// CHECK: on cpu_thread
// CHECK: %[[E:[0-9]+]] = loop.alloc f32[m, 64]{{.*}} in thread
// CHECK: order tree<1024, 1>
// CHECK: math.exp
// CHECK: loop.store %{{[0-9]+}}, %[[E]]
// CHECK-NEXT: loop.yield
// CHECK: loop.load %[[E]]
// CHECK: arith.divf
func.func @handed_on(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[n, m] by [1, n]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"64*((4*m + 63) // 64) + 64">} {
%e = loop.alloc f32[m] by [1] in thread at 0
%s = loop.alloc f32[] by [] in thread at 64*((4*m + 63) // 64)
"kernel.row_group"() ({
"kernel.generic"(%x, %e) ({ ^bb0(%a: f32):
%c = math.exp %a : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[m] by [1]">) -> ()
"kernel.generic"(%e, %s) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"n, m">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> ()">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[m] by [1]">, !loop.buffer<"f32[] by []">) -> ()
"kernel.generic"(%e, %s, %y) ({ ^bb0(%a: f32, %b: f32):
%c = arith.divf %a, %b : f32
kernel.yield %c : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1)">, #tx.map<"(d0: n, d1: m) -> ()">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 2, 1>} : (!loop.buffer<"f32[m] by [1]">, !loop.buffer<"f32[] by []">, !loop.buffer<"f32[n, m] by [1, n]">) -> ()
kernel.yield }) {shared = 1 : i64} : () -> ()
func.return }
